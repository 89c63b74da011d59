/** The op "run": a browser, one page load, an answer. */

import {setTimeout as sleep} from 'node:timers/promises';

import {Chrome} from './chrome.mjs';
import {deadline} from './deadline.mjs';
import {RunFailure} from './failure.mjs';
import {framesOf} from './frames.mjs';
import {inspectionOf} from './inspection.mjs';
import {audit, gather} from './lighthouse-once.mjs';
import {lcpElementOf, metricsOf, missingMetrics, navigationStartUs, observedOf, requestsOf, scoreOf} from './metrics.mjs';

const ORPHAN_WAIT_MS = 2_000;

/** Do a job. Returns the answer without id. Throws RunFailure; `mustRetire` is set on it if Lighthouse still hangs in this process. */
export async function runJob(job) {
  const started_ms = performance.now();
  const {expired, cancel} = deadline(job.limit_s);
  try {
    const load = await loadOnce(job, expired);
    return answerOf(job, load, performance.now() - started_ms);
  } finally {
    cancel();
  }
}

async function loadOnce(job, expired) {
  const started_ms = performance.now();
  const chrome = await Chrome.start(job, expired);
  const chrome_start_ms = performance.now() - started_ms;
  const {version, gathered} = await gatherIn(chrome, job, expired);
  const stopped = chrome.stop({gently: job.netlog !== null}); // it closes its NetLog while Lighthouse computes
  try {
    const {lhr, traceEvents} = await inTime(audit(gathered), expired);
    return {
      lhr, traceEvents, version, sandboxed: chrome.sandboxed, chrome_start_ms,
      lighthouse_ms: performance.now() - started_ms - chrome_start_ms,
    };
  } finally {
    await stopped;
  }
}

async function gatherIn(chrome, job, expired) {
  let pending = null;
  try {
    const version = await Promise.race([chrome.version(), chrome.died(), expired]);
    pending = gather(chrome.port, job);
    return {version, gathered: await Promise.race([pending, chrome.died(), expired])};
  } catch (error) {
    const cause = await chrome.causeOf(error);
    await chrome.stop();
    throw pending ? await marked(cause, pending) : cause;
  }
}

/** What Lighthouse computes without a browser. Throws what `expired` rejects with, if that comes first. */
export async function inTime(pending, expired) {
  try {
    return await Promise.race([pending, expired]);
  } catch (error) {
    throw await marked(error, pending);
  }
}

function inWords(missing, warnings) {
  return [Object.entries(missing).map(([metric, reason]) => `${metric}: ${reason}`).join('; '), ...warnings].join(' | ');
}

function answerOf(job, load, total_ms) {
  const {lhr, traceEvents, version} = load;
  const missing = missingMetrics(lhr, job.metrics);
  const [first] = Object.keys(missing);
  if (first) throw new RunFailure(`metric_missing:${first}`, inWords(missing, lhr.runWarnings));
  const observed = observedOf(lhr);
  return {
    metrics: metricsOf(lhr, job.metrics),
    score: scoreOf(lhr),
    requests: requestsOf(lhr),
    frames: job.frames ? framesOf(traceEvents, navigationStartUs(lhr), observed) : [],
    lcp_element: lcpElementOf(lhr),
    inspection: job.inspect ? inspectionOf(lhr) : null,
    warnings: lhr.runWarnings,
    versions: {lighthouse: lhr.lighthouseVersion, chromium: version, node: process.versions.node},
    sandboxed: load.sandboxed,
    benchmark_index: lhr.environment.benchmarkIndex,
    observed,
    timings_ms: {
      chrome_start: Math.round(load.chrome_start_ms),
      lighthouse: Math.round(load.lighthouse_ms),
      total: Math.round(total_ms),
    },
  };
}

/** A failure, with mustRetire if the Lighthouse call that it has ended does not give up soon: two of them cannot live in one process. */
async function marked(failure, pending) {
  const gaveUp = await Promise.race([pending.then(() => true, () => true), sleep(ORPHAN_WAIT_MS, false)]);
  return gaveUp ? failure : Object.assign(failure, {mustRetire: true});
}
