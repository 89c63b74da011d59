/** What a page is asked when its load is over. */

import {setTimeout as sleep} from 'node:timers/promises';

import {BidiError} from './bidi.mjs';
import {repaint} from './film.mjs';

/** The name of a world of our own in the page. */
export const SANDBOX = 'mixedsched';

const SNIPPET_CHARS = 200;
const TRIES = 5;
const PAUSE_MS = 100;

/**
 * Ask the page for its moments and have it painted once more. Returns {page, repainted_ms}.
 *
 * A page may become another document meanwhile, above all one whose document comes just when the time is up: then that is asked.
 */
export async function askedAtTheEnd(bidi, tab) {
  for (let left = TRIES - 1; ; left--) {
    try {
      const page = await bidi.run(tab, whatThePageTells, [SNIPPET_CHARS], {sandbox: SANDBOX});
      return {page, repainted_ms: await bidi.run(tab, repaint, [], {sandbox: SANDBOX})};
    } catch (error) {
      if (!(error instanceof BidiError) || left === 0) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/** Runs in the page: whether it is one, or still the empty tab; moments, in ms since its time origin, and the largest paint. */
async function whatThePageTells(snippet_chars) {
  const largest = await new Promise(resolve => {
    new PerformanceObserver(list => resolve(list.getEntries().at(-1))).observe({type: 'largest-contentful-paint', buffered: true});
    setTimeout(() => resolve(null), 500); // there was none
  });
  const [navigation = {}] = performance.getEntriesByType('navigation'); // an empty tab has none
  const past = moment_ms => (moment_ms > 0 ? moment_ms : null);
  return {
    is_there: location.protocol !== 'about:',
    time_origin_ms: performance.timeOrigin,
    ttfb_ms: past(navigation.responseStart),
    dom_content_loaded_ms: past(navigation.domContentLoadedEventEnd),
    load_ms: past(navigation.loadEventEnd),
    fcp_ms: performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null,
    lcp_ms: largest?.startTime ?? null,
    lcp_url: largest?.url || null,
    lcp_element: largest?.element?.outerHTML.slice(0, snippet_chars) ?? null,
  };
}
