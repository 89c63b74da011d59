import assert from 'node:assert/strict';
import {test} from 'node:test';

import {distinct, framesOf, FRAMES_MAX, thin} from '../src/frames.mjs';
import {lcpElementOf, metricsOf, missingMetrics, observedOf, requestsOf} from '../src/metrics.mjs';

const shot = (ts, snapshot) => ({name: 'Screenshot', ts, args: {snapshot}});

test('frames are distinct, in order, and count from navigation start', () => {
  const events = [shot(5_000, 'b'), shot(900, 'a'), {name: 'Paint', ts: 1}, shot(7_000, 'b'), shot(9_500, 'c')];
  assert.deepEqual(framesOf(events, 1_000), [
    {at_ms: 0, jpeg_base64: 'a'},
    {at_ms: 4, jpeg_base64: 'b'},
    {at_ms: 8.5, jpeg_base64: 'c'},
  ]);
});

test('of the frames before navigation start only the last one is shown', () => {
  const frames = framesOf([shot(100, 'x'), shot(200, 'y'), shot(1_500, 'z')], 1_000);
  assert.deepEqual(frames.map(frame => frame.jpeg_base64), ['y', 'z']);
});

test('many frames are thinned evenly, with the first and the last one kept', () => {
  const frames = Array.from({length: 400}, (_, index) => ({at_ms: index, jpeg_base64: String(index)}));
  const kept = thin(frames, FRAMES_MAX);
  assert.equal(kept.length, FRAMES_MAX);
  assert.equal(kept[0], frames[0]);
  assert.equal(kept.at(-1), frames.at(-1));
  const gaps = kept.slice(1).map((frame, index) => frame.at_ms - kept[index].at_ms);
  assert.ok(Math.max(...gaps) - Math.min(...gaps) <= 1);
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

test('metrics are unrounded, zero is a value, and a missing one has its reason', () => {
  const lhr = {audits: {...NUMBERS, interactive: {numericValue: undefined, errorMessage: 'NO_TTI_CPU_IDLE_PERIOD'}}};
  assert.deepEqual(metricsOf(lhr), {fcp_ms: 100.5, lcp_ms: 200.25, tbt_ms: 0, si_ms: 150, cls: 0.01, tti_ms: null});
  assert.deepEqual(missingMetrics(lhr), {tti_ms: 'NO_TTI_CPU_IDLE_PERIOD'});
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
    },
  };
  const requests = requestsOf(lhr);
  assert.deepEqual(requests.map(({url, start_ms, end_ms}) => [url, start_ms, end_ms]), [['https://a/1', 2.5, 4.5], ['https://a/2', 7.5, 9.5]]);
  assert.equal(observedOf(lhr).ttfb_ms, 12);
  assert.equal(observedOf(lhr).load_ms, null);
});

test('without a largest contentful paint there is no element', () => {
  assert.equal(lcpElementOf({audits: {}}), null);
});
