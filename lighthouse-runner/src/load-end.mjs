/**
 * Ends a load whose TTI nobody asked for: as soon as FCP, LCP, TBT, Speed Index and CLS are final, and not 5 s of quiet later.
 *
 * FCP is final once it is there, and Lighthouse waits for it and for the load event. The others can change as long as the page
 * does, so it must have stood still for SETTLED_MS: no request under way, begun or ended, no candidate for LCP, no layout
 * shift, no long task. A second is what closes a session window of CLS, and leaves time to decode and paint what came last.
 * Animations and transitions that end move Speed Index, and are waited for; those without end are not.
 *
 * Pages that never stand still, with a carousel or a beacon a second, are given as long as Lighthouse gives them. What a page does
 * by a timer, later than that second, is not seen; Lighthouse's own wait of 5.25 s would see some of it.
 */

import {setTimeout as sleep} from 'node:timers/promises';

import BaseGatherer from 'lighthouse/core/gather/base-gatherer.js';
import {NetworkRequest} from 'lighthouse/core/lib/network-request.js';

// In Lighthouse's warning of a page that was still loading when the time for it was over.
export const WARNING_TOO_SLOW = 'loaded too slowly';

export const SETTLED_MS = 1_000;

// Lighthouse's own wait, after the load event and the last time that more was under way than it overlooks.
const LIGHTHOUSE_WAIT_MS = 5_250;
const POLL_MS = 25;

// They stay open, and belong to no load.
const STREAMS = ['EventSource', 'WebSocket'];

/** What the page was last seen to do. All times are on one clock, the monotonic one of this process. */
export class Settling {
  constructor(start_ms) {
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
    const network_ms = this.isIdle ? this.request_ms + SETTLED_MS : Infinity;
    const settled_ms = Math.max(network_ms, this.look_ms + SETTLED_MS, this.animated_until_ms);
    return Math.max(this.work_ms + SETTLED_MS, Math.min(settled_ms, this.busy_ms + LIGHTHOUSE_WAIT_MS));
  }
}

/** As a gatherer of Lighthouse it must be listed before the trace, which ends when it has. Its artifact: {ended: 'final' or 'limit'}. */
export class LoadEnd extends BaseGatherer {
  meta = {supportedModes: ['navigation']};

  constructor(limit_ms) {
    super();
    this.limit_ms = limit_ms;
  }

  startSensitiveInstrumentation({driver}) {
    const start_ms = performance.now();
    this.end_ms = start_ms + this.limit_ms;
    this.settling = new Settling(start_ms);
    for (const event of ['requeststarted', 'requestfinished']) {
      driver.networkMonitor.on(event, () => this.settling.requestBeganOrEnded(performance.now()));
    }
  }

  async stopSensitiveInstrumentation({driver, baseArtifacts}) {
    this.ended = await this.untilFinal(driver);
    const warnings = baseArtifacts.LighthouseRunWarnings;
    if (this.ended === 'limit' && !warnings.some(saysTooSlow)) warnings.push(`The page ${WARNING_TOO_SLOW} to finish within the time limit.`);
  }

  getArtifact() {
    return {ended: this.ended};
  }

  /** Returns how it ended. The page is asked only when the network has been quiet: asking costs it a little time. */
  async untilFinal(driver) {
    this.settling.loaded(performance.now());
    await this.ask(driver); // from here on it keeps account of its changes
    while (performance.now() < this.end_ms) {
      this.settling.network(networkOf(driver.networkMonitor), performance.now());
      if (performance.now() < this.settling.final_ms) await sleep(this.pause_ms());
      else if (await this.ask(driver) && performance.now() >= this.settling.final_ms) return 'final';
    }
    return 'limit';
  }

  pause_ms() {
    const now_ms = performance.now();
    return Math.max(1, Math.min(POLL_MS, this.settling.final_ms - now_ms, this.end_ms - now_ms));
  }

  /** Whether the page has answered; it may be on its way to another document. */
  async ask(driver) {
    try {
      driver.defaultSession.setNextProtocolTimeout(Math.max(1, this.end_ms - performance.now()));
      this.settling.page(await driver.executionContext.evaluate(lastChanges, {args: [], useIsolation: true}), performance.now());
      return true;
    } catch {
      await sleep(POLL_MS);
      return false;
    }
  }
}

/** Of a warning of ours, or of Lighthouse's own, which are not in words yet. */
function saysTooSlow(warning) {
  return String(warning.formattedDefault ?? warning).includes(WARNING_TOO_SLOW);
}

function networkOf(monitor) {
  const underWay = monitor.getInflightRequests().filter(
    request => !STREAMS.includes(request.resourceType) && !NetworkRequest.isNonNetworkRequest(request));
  return {isIdle: underWay.length === 0, isNearlyIdle: monitor.is2Idle() && monitor.isCriticalIdle()};
}

/** Runs in the page, in a world of its own. How long ago it last worked for long, and changed its looks; how long animations will last. */
function lastChanges() {
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
    .map(animation => (animation.effect.getComputedTiming().endTime - animation.currentTime) / animation.playbackRate);
  const now_ms = performance.now();
  return {
    work_ago_ms: now_ms - watch.work_ms, look_ago_ms: now_ms - watch.look_ms, animated_ms: Math.max(0, ...left_ms.filter(Number.isFinite)),
  };
}
