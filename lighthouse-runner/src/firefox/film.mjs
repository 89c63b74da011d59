/**
 * What the page looked like while it loaded: Firefox's own record of what it composited, made into screenshots of the viewport.
 *
 * Both functions run in the browser's own window, not in the page. Firefox records only what has changed, bottom up, as PNG:
 * the second one puts each on top of the former, and makes JPEGs as large as Chromium's. That happens when the load is over.
 */

/** Starts the record. */
export function startFilm() {
  window.windowUtils.startCompositionRecording();
}

/**
 * Ends it. timeOrigin_ms: of the page, Unix time. Returns screenshots, {at_ms, jpeg_base64}, in order, since the page's time
 * origin; those from before it have times below 0.
 */
export async function endFilm(timeOrigin_ms) {
  const LARGEST_PX = 500; // as in Chromium's traces
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
  const take = at_ms => {
    const jpeg = shot.canvas.toDataURL('image/jpeg', 0.8);
    shots.push({at_ms, jpeg_base64: jpeg.slice(jpeg.indexOf(',') + 1)});
  };
  take(recordingStart - timeOrigin_ms);
  for (const {timeOffset, dataUri} of frames) {
    const image = new window.Image();
    image.src = dataUri;
    await image.decode();
    whole.setTransform(1, 0, 0, -1, 0, image.height);
    whole.drawImage(image, 0, 0);
    shot.drawImage(whole.canvas, left, top, width, height, 0, 0, shot.canvas.width, shot.canvas.height);
    take(recordingStart + timeOffset - timeOrigin_ms);
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
