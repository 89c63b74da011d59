/**
 * Ends a load whose TTI nobody asked for: as soon as FCP, LCP, TBT, Speed Index and CLS are final, and not 5 s of quiet later.
 *
 * FCP is final once it is there, and Lighthouse waits for it and for the load event. The others can change as long as the page
 * does, so it must have stood still for SETTLED_MS: no request under way, begun or ended, no candidate for LCP, no layout
 * shift, no long task. A second is what closes a session window of CLS, and leaves time to decode and paint what came last.
 * Animations and transitions that end move Speed Index, and are waited for; those without end are not.
 *
 * What a page does by a timer, later than that second, is not seen; Lighthouse's own wait of 5.25 s would see some of it.
 */

import {setTimeout as sleep} from 'node:timers/promises';

import BaseGatherer from 'lighthouse/core/gather/base-gatherer.js';
import {NetworkRequest} from 'lighthouse/core/lib/network-request.js';

// In Lighthouse's warning of a page that was still loading when the time for it was over.
export const WARNING_TOO_SLOW = 'loaded too slowly';

export const SETTLED_MS = 1_000;

// After the network has gone quiet nothing is waited for longer than Lighthouse would by itself.
const ANIMATIONS_MAX_MS = 5_250;
const POLL_MS = 25;

// They stay open, and belong to no load.
const STREAMS = ['EventSource', 'WebSocket'];

/** What the page was last seen to do: `ms` are on one clock, the monotonic one of this process. */
export class Settling {
  constructor(start_ms) {
    this.network_ms = start_ms;
    this.page_ms = start_ms;
    this.animated_until_ms = start_ms;
  }

  /** A request has begun or ended. */
  touched(now_ms) {
    this.network_ms = now_ms;
  }

  /** What lastChanges() says of the page. */
  told({still_ms, animated_ms}, now_ms) {
    this.page_ms = Math.max(this.page_ms, now_ms - still_ms);
    this.animated_until_ms = now_ms + animated_ms;
  }

  /** When all will be final, if nothing happens until then. */
  get final_ms() {
    const animated_until_ms = Math.min(this.animated_until_ms, this.network_ms + ANIMATIONS_MAX_MS);
    return Math.max(this.network_ms + SETTLED_MS, this.page_ms + SETTLED_MS, animated_until_ms);
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
      driver.networkMonitor.on(event, () => this.settling.touched(performance.now()));
    }
  }

  async stopSensitiveInstrumentation({driver, baseArtifacts}) {
    this.ended = await this.untilFinal(driver);
    const warnings = baseArtifacts.LighthouseRunWarnings;
    if (this.ended === 'limit' && warnings.length === 0) warnings.push(`The page ${WARNING_TOO_SLOW} to finish within the time limit.`);
  }

  getArtifact() {
    return {ended: this.ended};
  }

  /** Returns how it ended. The page is asked only when the network has been quiet: asking costs it a little time. */
  async untilFinal(driver) {
    await this.ask(driver); // from here on it keeps account of its changes
    while (performance.now() < this.end_ms) {
      if (underWay(driver.networkMonitor.getInflightRequests())) this.settling.touched(performance.now());
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
      this.settling.told(await driver.executionContext.evaluate(lastChanges, {args: [], useIsolation: true}), performance.now());
      return true;
    } catch {
      await sleep(POLL_MS);
      return false;
    }
  }
}

function underWay(requests) {
  return requests.some(request => !STREAMS.includes(request.resourceType) && !NetworkRequest.isNonNetworkRequest(request));
}

/** Runs in the page, in a world of its own. How long its looks and its main thread have been still, and how long animations last. */
function lastChanges() {
  const watch = (globalThis.mixedschedWatch ??= {last_ms: 0, observers: null});
  const take = entries => {
    for (const entry of entries) watch.last_ms = Math.max(watch.last_ms, entry.startTime + entry.duration);
  };
  watch.observers ??= ['longtask', 'layout-shift', 'largest-contentful-paint'].map(type => {
    const observer = new PerformanceObserver(list => take(list.getEntries()));
    observer.observe({type, buffered: true});
    return observer;
  });
  for (const observer of watch.observers) take(observer.takeRecords());
  const left = document.getAnimations()
    .filter(animation => animation.playState === 'running' && typeof animation.currentTime === 'number')
    .map(animation => (animation.effect.getComputedTiming().endTime - animation.currentTime) / animation.playbackRate);
  return {still_ms: performance.now() - watch.last_ms, animated_ms: Math.max(0, ...left.filter(Number.isFinite))};
}
