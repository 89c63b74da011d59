import assert from 'node:assert/strict';
import {PassThrough} from 'node:stream';
import {test} from 'node:test';

import {serveLines} from '../src/protocol.mjs';

test('stop is for the jobs that came before it, also those that have not begun', async () => {
  const input = new PassThrough();
  const output = new PassThrough();
  const seen = [];
  const ended = new Promise(onEnd => serveLines({
    input, output, onEnd,
    async handle(job, stopped) {
      await new Promise(setImmediate);
      seen.push([job.id, stopped.aborted]);
      if (seen.length === 3) input.end();
      return {};
    },
  }));
  input.write(['ping', 'ping', 'stop', 'ping'].map((op, id) => `${JSON.stringify({id, op})}\n`).join(''));
  await ended;
  assert.deepEqual(seen, [[0, true], [1, true], [3, false]]);
});
