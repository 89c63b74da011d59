import assert from 'node:assert/strict';
import {test} from 'node:test';

import {RunFailure} from '../src/failure.mjs';
import {inTime} from '../src/run.mjs';

const timeOver = () => Promise.reject(new RunFailure('timeout', 'no result within 90 s'));

test('a worker whose Lighthouse computes on when the time is over does no other job', async () => {
  await assert.rejects(inTime(new Promise(() => {}), timeOver()), {reason: 'timeout', mustRetire: true});
});

test('a Lighthouse that has ended, well or badly, harms no later job', async () => {
  const never = new Promise(() => {});
  assert.equal(await inTime(Promise.resolve('result'), never), 'result');
  for (const pending of [Promise.reject(new RunFailure('runtime_error:NO_FCP', 'nothing was painted')), new Promise(resolve => setTimeout(resolve, 100))]) {
    await assert.rejects(inTime(pending, timeOver()), error => error instanceof RunFailure && error.mustRetire === undefined);
  }
});
