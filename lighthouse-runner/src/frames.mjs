/** The filmstrip: what the page looked like, and when. */

export const FRAMES_MAX = 40;

/**
 * Distinct screenshots of a trace, thinned evenly to FRAMES_MAX with the first and the last one kept.
 *
 * navigationUs: navigation start on the trace's clock. What was on screen at that moment is shown at 0 ms.
 * Source of the frames: Chromium's 'Screenshot' trace events, the same that Speed Index is computed from.
 */
export function framesOf(traceEvents, navigationUs) {
  const shots = traceEvents
    .filter(event => event.name === 'Screenshot' && event.args?.snapshot)
    .sort((a, b) => a.ts - b.ts);
  const before = shots.filter(shot => shot.ts <= navigationUs).slice(-1);
  const after = shots.filter(shot => shot.ts > navigationUs);
  const frames = [...before, ...after].map(shot => ({
    at_ms: Math.max(0, Math.round(shot.ts - navigationUs) / 1000),
    jpeg_base64: shot.args.snapshot,
  }));
  return thin(distinct(frames), FRAMES_MAX);
}

/** Without frames that repeat the one before them. */
export function distinct(frames) {
  return frames.filter((frame, index) => index === 0 || frame.jpeg_base64 !== frames[index - 1].jpeg_base64);
}

/** At most count of them (count >= 2), evenly spread by number, first and last included. */
export function thin(frames, count) {
  if (frames.length <= count) return frames;
  return Array.from({length: count}, (_, index) => frames[Math.round((index * (frames.length - 1)) / (count - 1))]);
}
