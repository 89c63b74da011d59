/**
 * When a page has stood still long enough for its metrics to be final, whichever browser shows it: no request under way, begun or
 * ended for SETTLED_MS, no candidate for LCP, no layout shift, no long task. A second is what closes a session window of CLS, and
 * leaves time to decode and paint what came last. Animations and transitions that end move Speed Index, and are waited for; those
 * without end are not.
 *
 * Pages that never stand still, with a carousel or a beacon a second, are given as long as Lighthouse gives them. What a page does
 * by a timer, later than that second, is not seen; Lighthouse's own wait of 5.25 s would see some of it.
 *
 * TTI needs more: 5 s in which at most two requests are under way and no task is long. Lighthouse waits for a quiet network and
 * then again for a quiet main thread; one wait for both at once sees the same window.
 */

import {setTimeout as sleep} from 'node:timers/promises';

export const SETTLED_MS = 1_000;
export const POLL_MS = 25;

// Lighthouse's own wait, after the load event and the last time that more was under way than it overlooks: the 5 s of TTI, and some
// to spare.
const LIGHTHOUSE_WAIT_MS = 5_250;

/** What the page was last seen to do. All times are on one clock, the monotonic one of this process. forTti: TTI must be final, too. */
export class Settling {
  constructor(start_ms, {forTti = false} = {}) {
    this.forTti = forTti;
    this.isIdle = true; // no request is under way
    this.request_ms = start_ms; // one has begun or ended
    this.busy_ms = start_ms; // Lighthouse would have begun to wait anew
    this.work_ms = start_ms; // end of a long task
    this.look_ms = start_ms; // a candidate for LCP, or a layout shift
    this.animated_until_ms = start_ms;
  }

  loaded(now_ms) {
    this.busy_ms = now_ms;
  }

  requestBeganOrEnded(now_ms) {
    this.request_ms = now_ms;
  }

  /** isNearlyIdle: Lighthouse would overlook what is under way. */
  network({isIdle, isNearlyIdle}, now_ms) {
    this.isIdle = isIdle;
    if (!isNearlyIdle) this.busy_ms = now_ms;
  }

  /** What lastChanges() says of the page. */
  page({work_ago_ms, look_ago_ms, animated_ms}, now_ms) {
    this.work_ms = Math.max(this.work_ms, now_ms - work_ago_ms);
    this.look_ms = Math.max(this.look_ms, now_ms - look_ago_ms);
    this.animated_until_ms = now_ms + animated_ms;
  }

  /** When all will be final, if nothing happens until then. */
  get final_ms() {
    if (this.forTti) return Math.max(this.work_ms, this.busy_ms) + LIGHTHOUSE_WAIT_MS;
    const network_ms = this.isIdle ? this.request_ms + SETTLED_MS : Infinity;
    const settled_ms = Math.max(network_ms, this.look_ms + SETTLED_MS, this.animated_until_ms);
    return Math.max(this.work_ms + SETTLED_MS, Math.min(settled_ms, this.busy_ms + LIGHTHOUSE_WAIT_MS));
  }
}

/**
 * Wait until a page that has loaded has settled, or until end_ms. Returns 'final' or 'limit'.
 *
 * network(): what Settling.network takes. ask(): tells the settling what lastChanges() says; false if the page has not answered.
 * The page is asked only when the network has been quiet: asking costs it a little time.
 */
export async function untilSettled(settling, {network, ask}, end_ms) {
  settling.loaded(performance.now());
  await ask(); // from here on the page keeps account of its changes
  while (performance.now() < end_ms) {
    settling.network(network(), performance.now());
    if (performance.now() < settling.final_ms) await sleep(pause_ms(settling.final_ms, end_ms));
    else if (await ask() && performance.now() >= settling.final_ms) return 'final';
  }
  return 'limit';
}

function pause_ms(...until_ms) {
  return Math.max(1, Math.min(POLL_MS, ...until_ms.map(at_ms => at_ms - performance.now())));
}

/** Runs in the page, in a world of its own. How long ago it last worked for long, and changed its looks; how long animations will last. */
export function lastChanges() {
  const watch = (globalThis.mixedschedWatch ??= {work_ms: 0, look_ms: 0, observers: null});
  const kinds = {longtask: 'work_ms', 'layout-shift': 'look_ms', 'largest-contentful-paint': 'look_ms'};
  const take = entries => {
    for (const {entryType, startTime, duration} of entries) {
      watch[kinds[entryType]] = Math.max(watch[kinds[entryType]], startTime + duration);
    }
  };
  watch.observers ??= Object.keys(kinds).map(type => {
    const observer = new PerformanceObserver(list => take(list.getEntries()));
    observer.observe({type, buffered: true});
    return observer;
  });
  for (const observer of watch.observers) take(observer.takeRecords());
  const left_ms = document.getAnimations()
    .filter(animation => animation.playState === 'running' && typeof animation.currentTime === 'number')
    .map(({effect, currentTime, playbackRate: rate}) => (rate < 0 ? currentTime : effect.getComputedTiming().endTime - currentTime) / Math.abs(rate));
  const now_ms = performance.now();
  return {
    work_ago_ms: now_ms - watch.work_ms, look_ago_ms: now_ms - watch.look_ms, animated_ms: Math.max(0, ...left_ms.filter(Number.isFinite)),
  };
}
