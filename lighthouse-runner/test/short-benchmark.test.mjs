import assert from 'node:assert/strict';
import {test} from 'node:test';

import {pageFunctions} from 'lighthouse/core/lib/page-functions.js';

import {shortened} from '../src/short-benchmark.mjs';

test('the benchmark of the pinned Lighthouse is the one that can be shortened', () => {
  const short = shortened(pageFunctions.computeBenchmarkIndex);
  assert.notEqual(short, pageFunctions.computeBenchmarkIndex);
  assert.equal(short.name, 'computeBenchmarkIndex');
  assert.ok(short() > 0);
});

test('another function stays as it is', () => {
  const other = () => 42;
  assert.equal(shortened(other), other);
});
