/** JSON lines: jobs in on stdin, one answer each out on stdout, in order, one job at a time. */

import {createInterface} from 'node:readline';

import {failureOf} from './failure.mjs';
import {parseJob} from './job.mjs';

/**
 * Serve until `quit` or the end of input; both end a job in progress.
 * handle(job) returns the answer's fields or throws; stop() makes a load that is only watched answer with what came so far;
 * onEnd() is called once there is nothing more to do; retire() is called after an
 * answer that leaves this process unfit for another run (the caller starts a new one).
 */
export function serveLines({input, output, handle, stop, onEnd, retire}) {
  const write = (id, answer) =>
    new Promise(resolve => output.write(`${JSON.stringify({id, ...answer})}\n`, resolve));
  let queue = Promise.resolve();

  const lines = createInterface({input, crlfDelay: Infinity});
  lines.on('line', line => {
    if (!line.trim()) return;
    let job;
    try {
      job = parseJob(line);
    } catch (error) {
      queue = queue.then(() => write(error.jobId, {ok: false, ...failureOf(error)}));
      return;
    }
    if (job.op === 'quit') {
      write(job.id, {ok: true}).then(onEnd);
      return;
    }
    if (job.op === 'stop') {
      stop();
      write(job.id, {ok: true});
      return;
    }
    queue = queue.then(() => answer(job));
  });
  lines.on('close', onEnd);

  async function answer(job) {
    try {
      await write(job.id, {ok: true, ...(await handle(job))});
    } catch (error) {
      await write(job.id, {ok: false, ...failureOf(error)});
      if (error.mustRetire) retire();
    }
  }
}
