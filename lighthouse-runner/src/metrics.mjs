/** What a run keeps of Lighthouse's result: metrics, observed moments, requests. Times in ms from navigation start. */

const OBSERVED = {
  ttfb_ms: 'timeToFirstByte',
  fcp_ms: 'observedFirstContentfulPaint',
  lcp_ms: 'observedLargestContentfulPaint',
  si_ms: 'observedSpeedIndex',
  first_paint_ms: 'observedFirstPaint',
  dom_content_loaded_ms: 'observedDomContentLoaded',
  load_ms: 'observedLoad',
  first_visual_change_ms: 'observedFirstVisualChange',
  last_visual_change_ms: 'observedLastVisualChange',
  lcp_load_start_ms: 'lcpLoadStart',
  lcp_load_end_ms: 'lcpLoadEnd',
  trace_end_ms: 'observedTraceEnd',
};

/** The metrics by name; null where Lighthouse has no number. */
export function metricsOf(lhr, metrics) {
  return mapValues(metrics, audit => numberOf(lhr, audit));
}

/** Names of missing metrics with Lighthouse's reason: {tti_ms: "NO_TTI_CPU_IDLE_PERIOD"}. */
export function missingMetrics(lhr, metrics) {
  const missing = Object.entries(metrics).filter(([, audit]) => numberOf(lhr, audit) === null);
  return Object.fromEntries(missing.map(([name, audit]) => [name, lhr.audits[audit]?.errorMessage ?? 'no value']));
}

/** Moments that help to explain the metrics; null where they did not happen. */
export function observedOf(lhr) {
  const details = lhr.audits.metrics?.details?.items?.[0] ?? {};
  return mapValues(OBSERVED, name => finite(details[name]));
}

/** Navigation start on the trace's clock, in µs; null without a trace. */
export function navigationStartUs(lhr) {
  return finite(lhr.audits.metrics?.details?.items?.[0]?.observedTimeOriginTs);
}

/** All requests in order of their start. Lighthouse counts from the first request's start; we count from navigation start. */
export function requestsOf(lhr) {
  const details = lhr.audits['network-requests']?.details;
  const firstStartUs = finite(details?.debugData?.networkStartTimeTs);
  const navigationUs = navigationStartUs(lhr);
  const shift_ms = firstStartUs === null || navigationUs === null ? 0 : (firstStartUs - navigationUs) / 1000;
  const facts = lhr.audits['load-facts']?.details?.requests ?? [];
  const firstStartMs = firstStartUs === null ? null : firstStartUs / 1000;
  const shifted = time_ms => (finite(time_ms) === null ? null : Math.round((time_ms + shift_ms) * 1000) / 1000);
  return (details?.items ?? [])
    .filter(item => item.url.startsWith('http'))
    .map(item => ({
      url: item.url,
      protocol: item.protocol ?? '',
      priority: item.priority ?? '',
      resource_type: item.resourceType ?? '',
      status: finite(item.statusCode) ?? -1,
      transfer_bytes: finite(item.transferSize) ?? 0,
      resource_bytes: finite(item.resourceSize) ?? 0,
      start_ms: shifted(item.rendererStartTime),
      request_ms: shifted(item.networkRequestTime),
      end_ms: shifted(item.networkEndTime),
      finished: item.finished === true,
      ...factsOf(item, facts, firstStartMs),
    }))
    .sort((a, b) => a.start_ms - b.start_ms);
}

/**
 * What Lighthouse's list does not tell of a request: who asked for it, {asked_by: a URL or null, asked_how: DevTools' word, such as
 * "parser" or "script", or null}, and Chromium's word for why it failed, for the list calls that finished, too; null if it did not.
 */
function factsOf({url, rendererStartTime}, facts, firstStartMs) {
  // Lighthouse's list counts from the first request's start, its records from the machine's.
  const found = facts.find(fact => fact.url === url && Math.abs(fact.rendererStartTime - firstStartMs - rendererStartTime) < 0.5);
  return {asked_by: found?.by ?? null, asked_how: found?.type ?? null, failure: found?.failure ?? null};
}

/** Lighthouse's overall performance score, 0 to 100; null if one of the metrics that it weighs is missing. */
export function scoreOf(lhr) {
  const score = finite(lhr.categories.performance?.score);
  return score === null ? null : Math.round(score * 100);
}

/** The HTML of the largest contentful paint's element, shortened by Lighthouse; null if there was none. */
export function lcpElementOf(lhr) {
  return lhr.audits['load-facts']?.details?.lcp_element ?? null;
}

/** `numericValue` is the unrounded one. */
function numberOf(lhr, audit) {
  return finite(lhr.audits[audit]?.numericValue);
}

function finite(value) {
  return Number.isFinite(value) ? value : null;
}

function mapValues(object, change) {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value)]));
}
