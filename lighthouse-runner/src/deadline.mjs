/** The end of a job's time. */

import {RunFailure} from './failure.mjs';

/** Returns {expired, cancel}: a promise that rejects with RunFailure timeout after limit_s, and a function that calls it off. */
export function deadline(limit_s) {
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new RunFailure('timeout', `no result within ${limit_s} s`)), limit_s * 1000);
  });
  expired.catch(() => {}); // it may pass while nobody is racing against it
  return {expired, cancel: () => clearTimeout(timer)};
}
