/** One Lighthouse run in a browser that is already there, on the network as it is. */

import {NetworkRecords} from 'lighthouse/core/computed/network-records.js';
import {nonSimulatedSettingsOverrides, screenEmulationMetrics, throttling} from 'lighthouse/core/config/constants.js';
import {navigationGather} from 'lighthouse/core/gather/navigation-runner.js';
import {Runner} from 'lighthouse/core/runner.js';

import {RunFailure} from './failure.mjs';
import {configOf} from './lighthouse-config.mjs';
import {shortenBenchmark} from './short-benchmark.mjs';

shortenBenchmark();

// LoadEnd waits, not Lighthouse, which raises its waits to 5.25 s whenever it does not simulate, the one for the main thread after the
// one for the network. It still waits for FCP, which it would not with a pause of 0.
const SHORTEST_WAITS = {pauseAfterFcpMs: 1, pauseAfterLoadMs: 0, networkQuietThresholdMs: 0, cpuQuietThresholdMs: 0};
Object.assign(nonSimulatedSettingsOverrides, SHORTEST_WAITS);

/**
 * Load the job's page once, until the metrics that it asks for are final.
 * Returns what was gathered, for `audit`; the browser is no longer needed. Throws RunFailure runtime_error:CODE.
 */
export async function gather(port, job) {
  return inOurWords(navigationGather(undefined, job.url, {flags: flagsOf(port, job), config: configOf(job)}));
}

/** Lighthouse's result and the trace. Throws RunFailure runtime_error:CODE when the page gave no result. */
export async function audit({artifacts, runnerOptions}) {
  const {lhr} = await inOurWords(Runner.audit(artifacts, runnerOptions));
  if (lhr.runtimeError) throw new RunFailure(`runtime_error:${lhr.runtimeError.code}`, await inDetail(lhr.runtimeError.message, artifacts));
  return {lhr, traceEvents: artifacts.Trace.traceEvents};
}

/** Lighthouse's words, which blame the window for whatever kept a page from being painted, and how far the load had come. */
async function inDetail(message, {DevtoolsLogError: log}) {
  return log ? `${message} ${progressOf(await NetworkRecords.request(log, {computedCache: new Map()}))}` : message;
}

/** How far a load had come, in a sentence. records: Lighthouse's network records; their times are ms. */
export function progressOf(records) {
  const asked = records.filter(({url}) => url.startsWith('http'));
  if (asked.length === 0) return 'Nothing had been requested.';
  const complete = asked.filter(({finished, failed}) => finished && !failed);
  const first_ms = Math.min(...asked.map(({rendererStartTime}) => rendererStartTime));
  const last_ms = Math.max(...complete.map(({networkEndTime}) => networkEndTime));
  const last = complete.length ? `, the last ${((last_ms - first_ms) / 1000).toFixed(1)} s after the first was made` : '';
  return `Of ${asked.length} requests ${complete.length} had been answered${last}.`;
}

async function inOurWords(promise) {
  try {
    return await promise;
  } catch (error) {
    if (error.code) throw new RunFailure(`runtime_error:${error.code}`, error.friendlyMessage ?? error.message);
    throw error;
  }
}

/**
 * What slows the load down besides the network as it is: nothing, DevTools' brake on the page's own work, or, in the numbers
 * only, Lighthouse's model of a slow phone or desktop, with the settings that Lighthouse has for it.
 */
function throttlingOf({throttling: method, form_factor, cpu_slowdown}) {
  if (method === 'simulate') {
    return {throttlingMethod: 'simulate', throttling: form_factor === 'desktop' ? throttling.desktopDense4G : throttling.mobileSlow4G};
  }
  if (cpu_slowdown === 1) return {throttlingMethod: 'provided'};
  const noNetwork = {rttMs: 0, throughputKbps: 0, requestLatencyMs: 0, downloadThroughputKbps: 0, uploadThroughputKbps: 0};
  return {throttlingMethod: 'devtools', throttling: {...noNetwork, cpuSlowdownMultiplier: cpu_slowdown}};
}

function flagsOf(port, job) {
  const max_wait_ms = job.max_wait_s * 1000;
  return {
    port,
    hostname: '127.0.0.1',
    output: [],
    logLevel: 'error',
    formFactor: job.form_factor,
    screenEmulation: screenEmulationMetrics[job.form_factor],
    // The browser says what it is: the file server has one page for all.
    emulatedUserAgent: false,
    ...throttlingOf(job),
    maxWaitForLoad: max_wait_ms,
    maxWaitForFcp: max_wait_ms,
    ...(job.throttling === 'simulate' ? {} : SHORTEST_WAITS),
    disableFullPageScreenshot: true,
    // The profile is new: there is no storage to clear.
    disableStorageReset: true,
  };
}
