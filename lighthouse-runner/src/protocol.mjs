/** JSON lines: jobs in on stdin, one answer each out on stdout, in order, one job at a time. */

import {createInterface} from 'node:readline';

import {failureOf} from './failure.mjs';
import {parseJob} from './job.mjs';

/**
 * Serve until `quit` or the end of input; both end a job in progress.
 * handle(job, stopped) returns the answer's fields or throws; stopped, an AbortSignal, is raised by `stop` for the jobs that came
 * before it. onEnd() is called once there is nothing more to do, and after an answer that leaves this process unfit for another
 * job (the caller starts a new one).
 */
export function serveLines({input, output, handle, onEnd}) {
  const write = (id, answer) =>
    new Promise(resolve => output.write(`${JSON.stringify({id, ...answer})}\n`, resolve));
  let queue = Promise.resolve();
  let stopping = new AbortController();

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
      stopping.abort();
      stopping = new AbortController();
      write(job.id, {ok: true});
      return;
    }
    const {signal} = stopping;
    queue = queue.then(() => answer(job, signal));
  });
  lines.on('close', onEnd);

  async function answer(job, stopped) {
    try {
      await write(job.id, {ok: true, ...(await handle(job, stopped))});
    } catch (error) {
      await write(job.id, {ok: false, ...failureOf(error)});
      if (error.mustRetire) onEnd();
    }
  }
}
