import assert from 'node:assert/strict';
import {test} from 'node:test';

import {distinct, endMs, framesOf, FRAMES_MAX, thin} from '../src/frames.mjs';
import {INSPECTION_AUDITS, inspectionOf} from '../src/inspection.mjs';
import {configOf} from '../src/lighthouse-config.mjs';
import {progressOf} from '../src/lighthouse-once.mjs';
import {lcpElementOf, metricsOf, missingMetrics, observedOf, requestsOf, scoreOf} from '../src/metrics.mjs';

const MOMENTS = {fcp_ms: 1, lcp_ms: 8, load_ms: 6};

const shot = (ts, snapshot) => ({name: 'Screenshot', ts, args: {snapshot}});

test('frames are distinct, in order, and count from navigation start', () => {
  const events = [shot(5_000, 'b'), shot(900, 'a'), {name: 'Paint', ts: 1}, shot(7_000, 'b'), shot(9_500, 'c')];
  assert.deepEqual(framesOf(events, 1_000, MOMENTS), [
    {at_ms: 0, jpeg_base64: 'a'},
    {at_ms: 4, jpeg_base64: 'b'},
    {at_ms: 8.5, jpeg_base64: 'c'},
  ]);
});

test('of the frames before navigation start only the last one is shown', () => {
  const frames = framesOf([shot(100, 'x'), shot(200, 'y'), shot(1_500, 'z')], 1_000, MOMENTS);
  assert.deepEqual(frames.map(frame => frame.jpeg_base64), ['y', 'z']);
});

const framesAt = times => times.map(at_ms => ({at_ms, jpeg_base64: String(at_ms)}));
const timesOf = frames => frames.map(frame => frame.at_ms);

test('an animation after the page is there takes no frame: the film ends 0.5 s after load, FCP and LCP', () => {
  const events = Array.from({length: 300}, (_, index) => shot(1_000 + index * 33_000, `picture ${index}`));
  const frames = framesOf(events, 1_000, {fcp_ms: 880, lcp_ms: 2_870, load_ms: 2_500});
  assert.ok(frames.at(-1).at_ms <= 3_370 && frames.at(-1).at_ms > 3_300);
  assert.equal(frames.length, FRAMES_MAX);
  assert.equal(endMs({fcp_ms: 880, lcp_ms: 2_870, load_ms: 5_500}), 6_000);
});

test('a page that never finished loading has its whole film', () => {
  assert.equal(endMs({fcp_ms: 880, lcp_ms: 2_870, load_ms: null}), Infinity);
});

test('many frames are thinned by time, with the first and the last one kept', () => {
  const burst = Array.from({length: 360}, (_, index) => 4_000 + index);
  const sparse = Array.from({length: 201}, (_, index) => index * 20);
  const kept = timesOf(thin(framesAt([...sparse, ...burst.slice(1)]), FRAMES_MAX, []));
  assert.equal(kept.length, FRAMES_MAX);
  assert.equal(kept[0], 0);
  assert.equal(kept.at(-1), 4_359);
  assert.ok(kept.filter(at_ms => at_ms > 4_000).length <= 12, 'a tenth of the time has no more than its share of the frames');
});

test('the frames around FCP and LCP are never thinned out', () => {
  const frames = framesAt(Array.from({length: 1_000}, (_, index) => index * 10));
  const kept = timesOf(thin(frames, FRAMES_MAX, [883.2, 2_870]));
  assert.equal(kept.length, FRAMES_MAX);
  for (const at_ms of [880, 890, 2_860, 2_870]) assert.ok(kept.includes(at_ms), String(at_ms));
  const gaps = kept.slice(1).map((at_ms, index) => at_ms - kept[index]);
  assert.ok(Math.max(...gaps) <= 600, `widest gap ${Math.max(...gaps)} ms`);
});

test('a frame that returns later is kept', () => {
  const frames = ['a', 'a', 'b', 'a'].map((jpeg_base64, at_ms) => ({at_ms, jpeg_base64}));
  assert.deepEqual(distinct(frames).map(frame => frame.at_ms), [0, 2, 3]);
});

const NUMBERS = {
  'first-contentful-paint': {numericValue: 100.5},
  'largest-contentful-paint': {numericValue: 200.25},
  'total-blocking-time': {numericValue: 0},
  'speed-index': {numericValue: 150},
  'cumulative-layout-shift': {numericValue: 0.01},
};

const METRICS = {
  fcp_ms: 'first-contentful-paint', lcp_ms: 'largest-contentful-paint', si_ms: 'speed-index', tbt_ms: 'total-blocking-time',
  cls: 'cumulative-layout-shift', tti_ms: 'interactive',
};

test('metrics are unrounded, zero is a value, and a missing one has its reason', () => {
  const lhr = {audits: {...NUMBERS, interactive: {numericValue: undefined, errorMessage: 'NO_TTI_CPU_IDLE_PERIOD'}}};
  assert.deepEqual(metricsOf(lhr, METRICS), {fcp_ms: 100.5, lcp_ms: 200.25, si_ms: 150, tbt_ms: 0, cls: 0.01, tti_ms: null});
  assert.deepEqual(missingMetrics(lhr, METRICS), {tti_ms: 'NO_TTI_CPU_IDLE_PERIOD'});
});

test('the metrics of a job are any of Lighthouse\'s audits', () => {
  const lhr = {audits: {'server-response-time': {numericValue: 12}}};
  assert.deepEqual(metricsOf(lhr, {ttfb_ms: 'server-response-time'}), {ttfb_ms: 12});
  assert.ok(configOf({metrics: {ttfb_ms: 'server-response-time'}, max_wait_s: 45}).audits.includes('server-response-time'));
});

test('the trace waits for the end of the load, which comes after 5 s of quiet where an observed TTI is asked for', () => {
  const {tti_ms, ...others} = METRICS;
  for (const [metrics, throttling, forTti] of [[METRICS, 'provided', true], [METRICS, 'simulate', false], [others, 'provided', false]]) {
    const {artifacts} = configOf({metrics, throttling, max_wait_s: 45});
    assert.deepEqual(artifacts.slice(0, 3).map(({id}) => id), ['LoadEnd', 'DevtoolsLog', 'Trace']);
    assert.equal(artifacts[0].gatherer.instance.forTti, forTti, tti_ms);
  }
});

test('the score weighs what Lighthouse weighs, of 100, and is null where that is not complete', () => {
  const {auditRefs} = configOf({metrics: {}, max_wait_s: 45}).categories.performance;
  assert.equal(auditRefs.reduce((sum, {weight}) => sum + weight, 0), 100);
  assert.ok(!auditRefs.some(({id}) => id === 'interactive'));
  assert.equal(scoreOf({categories: {performance: {score: 0.57}}}), 57);
  assert.equal(scoreOf({categories: {performance: {score: null}}}), null);
});

test('requests count from navigation start, in order of their start', () => {
  const item = (url, start) => ({
    url, protocol: 'h3', priority: 'Low', resourceType: 'Image', statusCode: 200, transferSize: 9, resourceSize: 8,
    rendererStartTime: start, networkRequestTime: start + 1, networkEndTime: start + 2, finished: true,
  });
  const lhr = {
    audits: {
      metrics: {details: {items: [{observedTimeOriginTs: 1_000_000, timeToFirstByte: 12}]}},
      'network-requests': {
        details: {items: [item('https://a/2', 5), item('https://a/1', 0), item('data:,', 3)], debugData: {networkStartTimeTs: 1_002_500}},
      },
      'load-facts': {
        details: {requests: [
          {url: 'https://a/2', rendererStartTime: 1_000, type: 'script', by: 'https://a/old.js', failure: null},
          {url: 'https://a/2', rendererStartTime: 1_002.5 + 5, type: 'parser', by: 'https://a/1', failure: 'net::ERR_QUIC_PROTOCOL_ERROR'},
        ]},
      },
    },
  };
  const requests = requestsOf(lhr);
  assert.deepEqual(requests.map(({asked_by, asked_how}) => [asked_by, asked_how]), [[null, null], ['https://a/1', 'parser']]);
  assert.deepEqual(requests.map(({failure}) => failure), [null, 'net::ERR_QUIC_PROTOCOL_ERROR']);
  assert.deepEqual(requests.map(({url, start_ms, end_ms}) => [url, start_ms, end_ms]), [['https://a/1', 2.5, 4.5], ['https://a/2', 7.5, 9.5]]);
  assert.equal(observedOf(lhr).ttfb_ms, 12);
  assert.equal(observedOf(lhr).load_ms, null);
});

test('of a load without a result it is told how far it had come', () => {
  const record = (url, networkEndTime, state = {finished: true}) => ({url, rendererStartTime: 1_000, networkEndTime, failed: false, ...state});
  assert.equal(progressOf([record('data:,', 1_001)]), 'Nothing had been requested.');
  assert.equal(progressOf([record('https://a/', NaN, {finished: false})]), 'Of 1 requests 0 had been answered.');
  const records = [record('https://a/', 3_100), record('https://a/x', 9_000, {finished: true, failed: true}), record('https://a/y', NaN, {finished: false})];
  assert.equal(progressOf(records), 'Of 3 requests 1 had been answered, the last 2.1 s after the first was made.');
});

test('without a largest contentful paint there is no element', () => {
  assert.equal(lcpElementOf({audits: {}}), null);
});

test('an inspection lists files with their numbers, and null for an audit that failed', () => {
  const audits = Object.fromEntries(INSPECTION_AUDITS.map(id => [id, {scoreDisplayMode: 'metricSavings', details: {items: []}}]));
  audits['uses-text-compression'].details.items = [
    {url: 'https://a.test/x.js', totalBytes: 900, wastedBytes: 600}, {url: 'data:text/css,', wastedBytes: 3}, {url: undefined},
  ];
  audits['uses-long-cache-ttl'].details.items = [{url: 'https://a.test/x.js', totalBytes: 900, cacheLifetimeMs: 60_000}];
  audits['server-response-time'].details.items = [{url: 'https://a.test/', responseTime: 320}];
  audits['font-display'] = {scoreDisplayMode: 'error'};
  const found = inspectionOf({audits});
  const nothing = {total_bytes: null, wasted_bytes: null, wasted_ms: null, cache_s: null};
  assert.deepEqual(found.text_compression, [{...nothing, url: 'https://a.test/x.js', total_bytes: 900, wasted_bytes: 600}]);
  assert.deepEqual(found.caching, [{...nothing, url: 'https://a.test/x.js', total_bytes: 900, cache_s: 60}]);
  assert.deepEqual(found.server_response, [{...nothing, url: 'https://a.test/', wasted_ms: 320}]);
  assert.equal(found.font_display, null);
  assert.deepEqual(found.unused_styles, []);
});

test('only a job that asks for it gathers what an inspection needs', () => {
  const config = inspect => configOf({metrics: {lcp_ms: 'largest-contentful-paint'}, inspect, max_wait_s: 45});
  const ids = inspect => config(inspect).artifacts.map(({id}) => id);
  assert.ok(ids(true).includes('ResponseCompression'));
  assert.ok(!ids(false).includes('ResponseCompression'));
  assert.ok(!config(false).settings.onlyAudits.includes('uses-text-compression'));
});
