/**
 * The op "firefox": a Firefox, one page load, an answer like that of "run".
 *
 * FCP and LCP are the page's own performance entries, Speed Index is computed by Lighthouse's library from what Firefox recorded
 * of its own compositing. The page is left alone while it loads.
 */

import {setTimeout as sleep} from 'node:timers/promises';

import {screenEmulationMetrics} from 'lighthouse/core/config/constants.js';
import {pageFunctions} from 'lighthouse/core/lib/page-functions.js';
import speedline from 'speedline-core';

import {deadline} from '../deadline.mjs';
import {RunFailure} from '../failure.mjs';
import {framesOf} from '../frames.mjs';
import {WARNING_TOO_SLOW} from '../load-end.mjs';
import {lastChanges, POLL_MS, Settling, untilSettled} from '../settling.mjs';
import {Bidi, BidiError} from './bidi.mjs';
import {askedAtTheEnd, SANDBOX} from './end.mjs';
import {endFilm, NAVIGATION_US, startFilm, traceOf} from './film.mjs';
import {Firefox} from './firefox.mjs';
import {Requests} from './requests.mjs';

const VALUE_OF = {'first-contentful-paint': 'fcp_ms', 'largest-contentful-paint': 'lcp_ms', 'speed-index': 'si_ms'};

/** Do a job. Returns the answer without id. Throws RunFailure. */
export async function runInFirefox(job) {
  const started_ms = performance.now();
  const {expired, cancel} = deadline(job.limit_s);
  try {
    const firefox = await Firefox.start(job, expired);
    const start_ms = performance.now() - started_ms;
    const seen = await seenIn(firefox, job, expired);
    return await answerOf(job, seen, {start_ms, total_ms: seen.ended_ms - started_ms});
  } finally {
    cancel();
  }
}

/** What a load shows. The browser is gone afterwards. */
async function seenIn(firefox, job, expired) {
  const times = {started_ms: performance.now(), loaded_ms: null};
  try {
    const seen = await Promise.race([loadOnce(firefox, job, times), firefox.died(), firefox.overflow(), expired]);
    return {...seen, ended_ms: performance.now()};
  } catch (error) {
    throw whyLate(await firefox.causeOf(error), times);
  } finally {
    await firefox.stop();
  }
}

/** An error, or what is behind it where the time was up after the load: pictures were still being made of it. */
export function whyLate(error, {started_ms, loaded_ms}) {
  if (error.reason !== 'timeout' || loaded_ms === null) return error;
  const moved_s = Math.round((loaded_ms - started_ms) / 1000);
  return new RunFailure('film_too_large', `${error.detail}: the page changed its looks for up to ${moved_s} s, and the film of that was not ready`);
}

/** times: gets the end of the load, as soon as that is known. */
async function loadOnce(firefox, job, times) {
  const requests = new Requests();
  const settling = new Settling(performance.now());
  const bidi = await Bidi.open(firefox.url, event => {
    if (event.method.startsWith('network.') && requests.take(event)) settling.requestBeganOrEnded(performance.now());
  });
  try {
    const [tab, window] = await prepared(bidi, job);
    const benchmark_index = await bidi.run(tab, pageFunctions.computeBenchmarkIndex);
    await bidi.run(window, startFilm);
    const ended = await loaded(bidi, tab, job, requests, settling);
    const {page, repainted_ms} = await askedAtTheEnd(bidi, tab);
    if (ended === 'limit' && !page.is_there) throw new RunFailure('navigation:NO_ANSWER', `the page did not answer within ${job.max_wait_s} s`);
    times.loaded_ms = performance.now();
    const shots = await bidi.run(window, endFilm, [page.time_origin_ms, repainted_ms, page.lcp_ms ?? page.fcp_ms ?? 0]);
    return {page, shots, ended, benchmark_index, requests: requests.list(page.time_origin_ms), version: bidi.capabilities.browserVersion};
  } finally {
    bidi.close();
  }
}

/** A tab with the viewport of the job's device, and the browser's own window. */
async function prepared(bidi, {form_factor}) {
  const {width, height, deviceScaleFactor} = screenEmulationMetrics[form_factor];
  const {contexts: [{context: tab}]} = await bidi.call('browsingContext.getTree');
  const {contexts: [{context: window}]} = await bidi.call('browsingContext.getTree', {'moz:scope': 'chrome'});
  await bidi.call('browsingContext.setViewport', {context: tab, viewport: {width, height}, devicePixelRatio: deviceScaleFactor});
  await bidi.call('session.subscribe', {events: ['network.beforeRequestSent', 'network.responseStarted', 'network.responseCompleted', 'network.fetchError']});
  return [tab, window];
}

/** Load the page, and wait until it is still. Returns 'final' or 'limit'. */
async function loaded(bidi, tab, {url, max_wait_s}, requests, settling) {
  const end_ms = performance.now() + max_wait_s * 1000;
  const navigated = bidi.call('browsingContext.navigate', {context: tab, url, wait: 'complete'}).catch(error => {
    if (!(error instanceof BidiError)) throw error;
    throw new RunFailure(`navigation:${error.code}`, error.text);
  });
  const isLoaded = await Promise.race([navigated.then(() => true), sleep(max_wait_s * 1000, false, {ref: false})]);
  if (!isLoaded) {
    navigated.catch(() => {}); // it may fail while the browser is ended
    return 'limit';
  }
  const ask = async () => {
    try {
      settling.page(await bidi.run(tab, lastChanges, [], {sandbox: SANDBOX}), performance.now());
      return true;
    } catch {
      await sleep(POLL_MS); // it may be on its way to another document
      return false;
    }
  };
  return untilSettled(settling, {network: () => requests.network, ask}, end_ms);
}

async function answerOf(job, {page, shots, ended, benchmark_index, requests, version}, {start_ms, total_ms}) {
  const traceEvents = traceOf(shots);
  const film = await speedline(traceEvents, {timeOrigin: NAVIGATION_US, fastMode: true, include: 'speedIndex'});
  const observed = observedOf(page, shots, film, requests);
  const metrics = Object.fromEntries(Object.entries(job.metrics).map(([name, audit]) => [name, observed[VALUE_OF[audit]]]));
  const warnings = ended === 'limit' ? [`The page ${WARNING_TOO_SLOW} to finish within the time limit.`] : [];
  const [missing] = Object.keys(metrics).filter(name => !Number.isFinite(metrics[name]));
  if (missing) throw new RunFailure(`metric_missing:${missing}`, ['Firefox has no value for it', ...warnings].join(' | '));
  return {
    metrics,
    score: null,
    requests,
    frames: job.frames ? framesOf(traceEvents, NAVIGATION_US, observed) : [],
    lcp_element: page.lcp_element,
    inspection: null,
    warnings,
    versions: {firefox: version, node: process.versions.node},
    sandboxed: null,
    benchmark_index,
    observed,
    timings_ms: {firefox_start: Math.round(start_ms), total: Math.round(total_ms)},
  };
}

function observedOf(page, shots, film, requests) {
  const {ttfb_ms, fcp_ms, lcp_ms, dom_content_loaded_ms, load_ms} = page;
  const hero = requests.find(({url}) => url === page.lcp_url);
  return {
    ttfb_ms, fcp_ms, lcp_ms, dom_content_loaded_ms, load_ms,
    si_ms: film.speedIndex || null,
    first_visual_change_ms: film.first ?? null,
    last_visual_change_ms: film.complete ?? null,
    lcp_load_start_ms: hero?.request_ms ?? null, // as Lighthouse has it: when the request left
    lcp_load_end_ms: hero?.end_ms ?? null,
    trace_end_ms: shots.at(-1).at_ms,
  };
}
