/**
 * Ends a load as soon as the metrics that were asked for are final. Without TTI that is not 5 s of quiet later, and with it not twice.
 *
 * FCP is final once it is there, and Lighthouse waits for it and for the load event. The others can change as long as the page
 * does; settling.mjs says when it has stood still for long enough.
 */

import {setTimeout as sleep} from 'node:timers/promises';

import BaseGatherer from 'lighthouse/core/gather/base-gatherer.js';
import {NetworkRequest} from 'lighthouse/core/lib/network-request.js';

import {lastChanges, POLL_MS, Settling, untilSettled} from './settling.mjs';

// In Lighthouse's warning of a page that was still loading when the time for it was over.
export const WARNING_TOO_SLOW = 'loaded too slowly';

// They stay open, and belong to no load.
const STREAMS = ['EventSource', 'WebSocket'];

/** As a gatherer of Lighthouse it must be listed before the trace, which ends when it has. Its artifact: {ended: 'final' or 'limit'}. */
export class LoadEnd extends BaseGatherer {
  meta = {supportedModes: ['navigation']};

  /** forTti: the metrics asked for include TTI. */
  constructor(limit_ms, {forTti}) {
    super();
    this.limit_ms = limit_ms;
    this.forTti = forTti;
  }

  startSensitiveInstrumentation({driver}) {
    const start_ms = performance.now();
    this.end_ms = start_ms + this.limit_ms;
    this.settling = new Settling(start_ms, {forTti: this.forTti});
    for (const event of ['requeststarted', 'requestfinished']) {
      driver.networkMonitor.on(event, () => {
        const now_ms = performance.now();
        this.settling.requestBeganOrEnded(now_ms);
        this.settling.network(networkOf(driver.networkMonitor), now_ms); // a burst may be shorter than a poll
      });
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

  /** Returns how it ended. */
  async untilFinal(driver) {
    const network = () => networkOf(driver.networkMonitor);
    return untilSettled(this.settling, {network, ask: () => this.ask(driver)}, this.end_ms);
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
