/**
 * A run that gave no result. `reason` is for machines, `detail` for people.
 *
 * Reasons: bad_job, timeout (limit_s is over), chrome_start, no_sandbox (Chromium cannot build its own, and may not go without),
 * chrome_died, firefox_start, firefox_died, film_too_large, runtime_error:CODE (Lighthouse's own code, such as NO_FCP or PAGE_HUNG),
 * metric_missing:NAME, navigation:CODE (there is no page; the browser's code, such as ERR_NAME_NOT_RESOLVED), page_crashed,
 * internal.
 */
export class RunFailure extends Error {
  constructor(reason, detail) {
    super(`${reason}: ${detail}`);
    this.name = 'RunFailure';
    this.reason = reason;
    this.detail = detail;
  }
}

/** What the caller is told of any error. */
export function failureOf(error) {
  if (error instanceof RunFailure) return {reason: error.reason, detail: error.detail};
  return {reason: 'internal', detail: String(error?.stack ?? error)};
}
