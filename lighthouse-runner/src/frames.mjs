/** The filmstrip: what the page looked like while it loaded, and when. */

/** Ten a second for ten seconds in which each differs from the one before. */
export const FRAMES_MAX = 100;

// What changes later than this after the page is there is an animation or a carousel, not loading.
const AFTER_LOAD_MS = 500;

/**
 * Distinct screenshots of a trace until the page is there, at most FRAMES_MAX.
 *
 * navigationUs: navigation start on the trace's clock. What was on screen at that moment is shown at 0 ms.
 * moments: {fcp_ms, lcp_ms, load_ms}, null where they did not happen; the frames around FCP and LCP are always kept.
 * Source of the frames: Chromium's 'Screenshot' trace events, the same that Speed Index is computed from.
 */
export function framesOf(traceEvents, navigationUs, moments) {
  const shots = traceEvents
    .filter(event => event.name === 'Screenshot' && event.args?.snapshot)
    .sort((a, b) => a.ts - b.ts);
  const before = shots.filter(shot => shot.ts <= navigationUs).slice(-1);
  const after = shots.filter(shot => shot.ts > navigationUs);
  const frames = [...before, ...after].map(shot => ({
    at_ms: Math.max(0, Math.round(shot.ts - navigationUs) / 1000),
    jpeg_base64: shot.args.snapshot,
  }));
  const end_ms = endMs(moments);
  const kept = distinct(frames).filter((frame, index) => index === 0 || frame.at_ms <= end_ms);
  return thin(kept, FRAMES_MAX, [moments.fcp_ms, moments.lcp_ms]);
}

/** When the film ends: never, if the page was still loading when Lighthouse gave up waiting. */
export function endMs({fcp_ms, lcp_ms, load_ms}) {
  return load_ms === null ? Infinity : Math.max(fcp_ms, lcp_ms, load_ms) + AFTER_LOAD_MS;
}

/** Without frames that repeat the one before them. */
export function distinct(frames) {
  return frames.filter((frame, index) => index === 0 || frame.jpeg_base64 !== frames[index - 1].jpeg_base64);
}

/**
 * At most `count` of them: again and again the one goes whose neighbours are nearest to each other in time. The first and the
 * last one stay, and so do the last one before and the first one from each of these moments on.
 */
export function thin(frames, count, moments_ms) {
  const kept = [...frames];
  const fixed = new Set([frames[0], frames.at(-1), ...moments_ms.flatMap(at_ms => around(frames, at_ms))]);
  while (kept.length > count) {
    let least = -1;
    for (let index = 1; index < kept.length - 1; index++) {
      if (fixed.has(kept[index])) continue;
      if (least < 0 || gap(kept, index) < gap(kept, least)) least = index;
    }
    if (least < 0) break;
    kept.splice(least, 1);
  }
  return kept;
}

function around(frames, at_ms) {
  return [frames.findLast(frame => frame.at_ms < at_ms), frames.find(frame => frame.at_ms >= at_ms)];
}

function gap(frames, index) {
  return frames[index + 1].at_ms - frames[index - 1].at_ms;
}
