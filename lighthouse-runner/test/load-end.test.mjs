import assert from 'node:assert/strict';
import {test} from 'node:test';

import {SETTLED_MS, Settling} from '../src/load-end.mjs';

const START_MS = 5_000;

/** A page that began to load at START_MS and whose last request ended `network_ms` later. */
function loaded(network_ms = 0) {
  const settling = new Settling(START_MS);
  settling.touched(START_MS + network_ms);
  return settling;
}

const STILL = {still_ms: 60_000, animated_ms: 0};

test('a load is final a second after its last request, if nothing else happens', () => {
  const settling = loaded(700);
  settling.told(STILL, START_MS + 800);
  assert.equal(settling.final_ms, START_MS + 700 + SETTLED_MS);
});

test('a paint, a layout shift or a long task begins the second anew', () => {
  const settling = loaded(700);
  settling.told({still_ms: 100, animated_ms: 0}, START_MS + 1_600);
  assert.equal(settling.final_ms, START_MS + 1_500 + SETTLED_MS);
});

test('what the page says later takes back nothing that was seen before', () => {
  const settling = loaded(700);
  settling.told({still_ms: 0, animated_ms: 0}, START_MS + 1_600);
  settling.told(STILL, START_MS + 1_700);
  assert.equal(settling.final_ms, START_MS + 1_600 + SETTLED_MS);
});

test('an animation that ends is waited for, and one that was cut short no longer is', () => {
  const settling = loaded(0);
  settling.told({...STILL, animated_ms: 3_000}, START_MS + 100);
  assert.equal(settling.final_ms, START_MS + 3_100);
  settling.told(STILL, START_MS + 200);
  assert.equal(settling.final_ms, START_MS + SETTLED_MS);
});

test('no animation is waited for longer than Lighthouse would wait by itself', () => {
  const settling = loaded(400);
  settling.told({...STILL, animated_ms: 120_000}, START_MS + 500);
  assert.equal(settling.final_ms, START_MS + 400 + 5_250);
});
