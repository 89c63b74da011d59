/**
 * What the page looked like while it loaded: Firefox's own record of what it composited, made into screenshots of the viewport.
 *
 * startFilm and endFilm run in the browser's own window, repaint in the page. Firefox records only what has changed, bottom up, as
 * PNG: endFilm puts each on top of the former, and makes JPEGs as large as Chromium's. That happens when the load is over.
 *
 * Firefox records a composite only if a page has given it something new, and sometimes that is shown by the following composite,
 * which is not recorded. So the page is painted once more at the end: what only this shows has been there since the last record, or
 * since the largest paint if that came later.
 */

/** Starts the record. */
export async function startFilm() {
  await window.windowUtils.startCompositionRecording();
}

/** Makes the page give the compositor something new that looks as before. Returns when that began, in Unix ms. */
export async function repaint() {
  const began_ms = performance.timeOrigin + performance.now();
  const {style} = document.documentElement;
  const before = style.opacity;
  for (const opacity of ['0.999', before]) {
    style.opacity = opacity;
    await new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  }
  return began_ms;
}

/**
 * Ends it. timeOrigin_ms: of the page, Unix time; repainted_ms: when it was repainted; largest_ms: its largest paint, since its
 * time origin. Returns screenshots, {at_ms, jpeg_base64}, in order, since then; those from before have times below 0. Of a page that
 * moves all the time, only every n-th is taken.
 */
export async function endFilm(timeOrigin_ms, repainted_ms, largest_ms) {
  const LARGEST_PX = 500; // as in Chromium's traces,
  const SHOTS_MAX = 450; // which have so many; each takes Speed Index some hundredths of a second
  const {recordingStart, frames} = await window.windowUtils.stopCompositionRecording(false);
  const {left, top, width, height} = window.gBrowser.selectedBrowser.getBoundingClientRect();
  const drawing = (width_px, height_px) => {
    const canvas = document.createElementNS('http://www.w3.org/1999/xhtml', 'canvas');
    Object.assign(canvas, {width: Math.round(width_px), height: Math.round(height_px)});
    return canvas.getContext('2d', {alpha: false, willReadFrequently: true});
  };
  const scale = Math.min(1, LARGEST_PX / Math.max(width, height));
  const whole = drawing(window.innerWidth, window.innerHeight);
  const shot = drawing(width * scale, height * scale);
  whole.fillStyle = 'white';
  whole.fillRect(0, 0, whole.canvas.width, whole.canvas.height);
  // Before the first frame the viewport is empty.
  shot.fillStyle = 'white';
  shot.fillRect(0, 0, shot.canvas.width, shot.canvas.height);
  const shots = [];
  const picture = () => shot.canvas.toDataURL('image/jpeg', 0.8).split(',')[1];
  const take = at_ms => shots.push({at_ms, jpeg_base64: picture()});
  take(recordingStart - timeOrigin_ms);
  const count = frames.filter(({timeOffset}) => recordingStart + timeOffset < repainted_ms).length;
  const every = Math.max(1, Math.ceil(count / SHOTS_MAX));
  for (const [place, {timeOffset, dataUri}] of frames.entries()) {
    const image = new window.Image();
    image.src = dataUri;
    await image.decode();
    whole.setTransform(1, 0, 0, -1, 0, image.height);
    whole.drawImage(image, 0, 0);
    const taken_ms = recordingStart + timeOffset;
    if (taken_ms < repainted_ms && place < count - 1 && place % every !== 0) continue;
    shot.drawImage(whole.canvas, left, top, width, height, 0, 0, shot.canvas.width, shot.canvas.height);
    if (taken_ms < repainted_ms) take(taken_ms - timeOrigin_ms);
    else if (shots.at(-1).at_ms < largest_ms) take(largest_ms);
    else shots.at(-1).jpeg_base64 = picture();
  }
  return shots;
}

/** Navigation start on the clock of `traceOf`, in µs. */
export const NAVIGATION_US = 1_000_000_000;

/** Screenshots as the events of a trace, which Speed Index and filmstrips are made of. */
export function traceOf(shots) {
  return shots.map(({at_ms, jpeg_base64}) => ({
    cat: 'disabled-by-default-devtools.screenshot', name: 'Screenshot', ph: 'O', pid: 1, tid: 1,
    ts: NAVIGATION_US + Math.round(at_ms * 1000), args: {snapshot: jpeg_base64},
  }));
}
