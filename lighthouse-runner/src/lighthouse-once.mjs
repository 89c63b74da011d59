/** One Lighthouse run in a browser that is already there, on the network as it is. */

import lighthouse from 'lighthouse';
import {nonSimulatedSettingsOverrides, screenEmulationMetrics} from 'lighthouse/core/config/constants.js';

import {RunFailure} from './failure.mjs';
import {auditsFor} from './metrics.mjs';
import {shortenBenchmark} from './short-benchmark.mjs';

shortenBenchmark();

// Lighthouse raises its waits to 5.25 s whenever it does not simulate; the last of them, for the CPU, comes on top of the
// others. TTI needs 5 s of quiet inside the trace, and the network's wait provides them, unless a long task comes late.
const OWN_CPU_WAIT_MS = nonSimulatedSettingsOverrides.cpuQuietThresholdMs;

export const WARNING_TOO_SLOW = 'loaded too slowly';

/**
 * Load the job's page once. With own_waits it waits exactly as long as Lighthouse would by itself (some 5 s longer).
 * Returns Lighthouse's result and the trace. Throws RunFailure runtime_error:CODE when the page gave no result.
 */
export async function lighthouseOnce(port, job) {
  nonSimulatedSettingsOverrides.cpuQuietThresholdMs = cpuWaitMs(job);
  let result;
  try {
    result = await lighthouse(job.url, flagsOf(port, job));
  } catch (error) {
    if (error.code) throw new RunFailure(`runtime_error:${error.code}`, error.friendlyMessage ?? error.message);
    throw error;
  }
  const {lhr, artifacts} = result;
  if (lhr.runtimeError) throw new RunFailure(`runtime_error:${lhr.runtimeError.code}`, lhr.runtimeError.message);
  return {lhr, traceEvents: artifacts.Trace.traceEvents};
}

function cpuWaitMs(job) {
  return job.own_waits ? OWN_CPU_WAIT_MS : 0;
}

function flagsOf(port, job) {
  const max_wait_ms = job.max_wait_s * 1000;
  return {
    port,
    hostname: '127.0.0.1',
    output: [],
    logLevel: 'error',
    onlyAudits: auditsFor(job.metrics),
    formFactor: job.form_factor,
    screenEmulation: screenEmulationMetrics[job.form_factor],
    // The browser says what it is: the file server has one page for all.
    emulatedUserAgent: false,
    throttlingMethod: 'provided',
    maxWaitForLoad: max_wait_ms,
    maxWaitForFcp: max_wait_ms,
    cpuQuietThresholdMs: cpuWaitMs(job),
    disableFullPageScreenshot: true,
    // The profile is new: there is no storage to clear.
    disableStorageReset: true,
  };
}
