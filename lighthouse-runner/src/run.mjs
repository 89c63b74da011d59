/** The op "run": a browser, one page load, an answer; repeated once with longer waits if the short ones lost TTI. */

import {setTimeout as sleep} from 'node:timers/promises';

import {Chrome} from './chrome.mjs';
import {RunFailure} from './failure.mjs';
import {framesOf} from './frames.mjs';
import {lighthouseOnce, WARNING_TOO_SLOW} from './lighthouse-once.mjs';
import {lcpElementOf, metricsOf, missingMetrics, navigationStartUs, observedOf, requestsOf} from './metrics.mjs';

const ORPHAN_WAIT_MS = 2_000;
const EXIT_WAIT_MS = 500;

/** Do a job. Returns the answer without id. Throws RunFailure; `mustRetire` is set on it if Lighthouse still hangs in this process. */
export async function runJob(job) {
  const started_ms = performance.now();
  const {expired, cancel} = deadline(job.limit_s);
  try {
    let fallbackWaits = false;
    let attempt = await attemptOnce(job, {ownWaits: false}, expired);
    if (needsOwnWaits(attempt.lhr)) {
      fallbackWaits = true;
      attempt = await attemptOnce(job, {ownWaits: true}, expired);
    }
    return answerOf(job, attempt, fallbackWaits, performance.now() - started_ms);
  } finally {
    cancel();
  }
}

async function attemptOnce(job, {ownWaits}, expired) {
  const started_ms = performance.now();
  const chrome = await Chrome.start(job, expired);
  const chrome_start_ms = performance.now() - started_ms;
  let pending = null;
  let done = false;
  try {
    const version = await Promise.race([chrome.version(), chrome.died(), expired]);
    pending = lighthouseOnce(chrome.port, job, {ownWaits});
    const {lhr, traceEvents} = await Promise.race([pending, chrome.died(), expired]);
    done = true;
    return {lhr, traceEvents, version, chrome_start_ms, lighthouse_ms: performance.now() - started_ms - chrome_start_ms};
  } catch (error) {
    const cause = await causeOf(error, chrome);
    await chrome.stop();
    if (pending && !(await settles(pending))) cause.mustRetire = true;
    throw cause;
  } finally {
    await chrome.stop({gently: done && job.netlog !== null});
  }
}

/** Lighthouse may notice a dead browser before its exit is known; then the death is the reason. */
async function causeOf(error, chrome) {
  if (error instanceof RunFailure) return error;
  return Promise.race([chrome.died().catch(death => death), sleep(EXIT_WAIT_MS, error)]);
}

/** A page that ran into max_wait_s would do so again; only a late long task is worth the second load. */
function needsOwnWaits(lhr) {
  const missing = missingMetrics(lhr);
  const tooSlow = lhr.runWarnings.some(warning => warning.includes(WARNING_TOO_SLOW));
  return !tooSlow && ('tti_ms' in missing || 'tbt_ms' in missing);
}

function answerOf(job, attempt, fallbackWaits, total_ms) {
  const {lhr, traceEvents, version} = attempt;
  const missing = Object.entries(missingMetrics(lhr));
  if (missing.length) {
    const [[name]] = missing;
    const why = missing.map(([metric, reason]) => `${metric}: ${reason}`).join('; ');
    throw new RunFailure(`metric_missing:${name}`, [why, ...lhr.runWarnings].join(' | '));
  }
  return {
    metrics: metricsOf(lhr),
    requests: requestsOf(lhr),
    frames: job.frames ? framesOf(traceEvents, navigationStartUs(lhr)) : [],
    lcp_element: lcpElementOf(lhr),
    warnings: lhr.runWarnings,
    fallback_waits: fallbackWaits,
    versions: {lighthouse: lhr.lighthouseVersion, chromium: version, node: process.versions.node},
    benchmark_index: lhr.environment.benchmarkIndex,
    observed: observedOf(lhr),
    timings_ms: {
      chrome_start: Math.round(attempt.chrome_start_ms),
      lighthouse: Math.round(attempt.lighthouse_ms),
      total: Math.round(total_ms),
    },
  };
}

function deadline(limit_s) {
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new RunFailure('timeout', `no result within ${limit_s} s`)), limit_s * 1000);
  });
  expired.catch(() => {}); // it may pass while nobody is racing against it
  return {expired, cancel: () => clearTimeout(timer)};
}

/** Whether a Lighthouse call that lost its browser gives up soon: two of them cannot live in one process. */
async function settles(pending) {
  const quiet = pending.then(() => true, () => true);
  return Promise.race([quiet, sleep(ORPHAN_WAIT_MS, false)]);
}
