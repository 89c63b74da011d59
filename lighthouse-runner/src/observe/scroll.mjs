/**
 * Scrolling through a page that is quiet: what lazy images and scripts ask for on the way. The way is bounded, since some pages
 * grow as long as somebody scrolls.
 */

import {setTimeout as sleep} from 'node:timers/promises';

import {within} from './devtools.mjs';
import {WORLD} from './watch-page.mjs';

/** How long scrolling takes at most, waiting included. */
export const SCROLL_LIMIT_S = 30;

const SCREENS_MAX = 40;
// What listens to scrolling often waits until it pauses.
const PAUSE_MS = 200;
const STEP_LIMIT_MS = 3_000;

/** Scroll a page to its end and wait until it is quiet there. stopped: an AbortSignal. What keeps it from its end is noted. */
export async function scrollThrough(page, stopped, screensMax = SCREENS_MAX) {
  if (page.tooMuch() !== null) return;
  const end_ms = performance.now() + SCROLL_LIMIT_S * 1000;
  const isOver = () => performance.now() > end_ms;
  const hindrance = watchFor(page, stopped);
  const step = await stepper(page.session);
  const way = {screens: 0, moved_ms: -Infinity, end: null}; // end: why it is gone no further, although it goes on
  for (;;) {
    const hasMoved = way.end === null && (await step());
    if (hasMoved) {
      way.screens += 1;
      way.moved_ms = performance.now();
      way.end = tooLong(way.screens, screensMax, isOver());
    }
    const isQuiet = !hasMoved && page.isQuiet() && performance.now() - way.moved_ms >= page.job.quiet_s * 1000;
    const given_up = hindrance() ?? (hasMoved === null ? 'it did not answer' : null);
    if (given_up !== null || isQuiet || isOver()) {
      const reason = given_up ?? way.end;
      if (reason !== null) page.oddities.note(`it was not scrolled to its end: ${reason}`);
      return;
    }
    await sleep(PAUSE_MS);
  }
}

/** A function that tells what ends the scrolling although the page has not ended; null if nothing. */
function watchFor(page, stopped) {
  let isCrashed = false;
  page.crashed.catch(() => (isCrashed = true));
  const navigations = page.navigations.length;
  return () => {
    if (stopped.aborted) return 'it was interrupted';
    if (isCrashed) return 'its process crashed';
    return page.navigations.length > navigations ? 'it went to another page' : page.tooMuch();
  };
}

function tooLong(screens, screensMax, isOver) {
  if (screens >= screensMax) return `it is longer than ${screensMax} screens, or grows on the way`;
  return isOver ? `it took more than ${SCROLL_LIMIT_S} s` : null;
}

/** A function that scrolls on by a screen: true if there was something left, false at the end, null if there is no answer. */
async function stepper(session) {
  const world = await within(STEP_LIMIT_MS, (async () => {
    const {frameTree} = await session.send('Page.getFrameTree');
    return session.send('Page.createIsolatedWorld', {frameId: frameTree.frame.id, worldName: WORLD});
  })());
  return async () => {
    if (world === null) return null;
    const answer = await within(STEP_LIMIT_MS, session.send('Runtime.callFunctionOn', {
      functionDeclaration: scrollOn.toString(), executionContextId: world.executionContextId, awaitPromise: true, returnByValue: true,
    }));
    return answer?.result.value ?? null;
  };
}

/** Runs in the page. What scrolls is the document or, where an element fills the screen in its place, that element. */
function scrollOn() {
  const SLACK_PX = 2;
  const leftOf = element => element.scrollHeight - element.clientHeight - element.scrollTop;
  const isScroller = element => ['auto', 'scroll', 'overlay'].includes(getComputedStyle(element).overflowY);
  const root = document.scrollingElement ?? document.documentElement;

  function scrollers() {
    const found = [];
    for (let at = document.elementFromPoint(innerWidth / 2, innerHeight / 2); at && at !== root; at = at.parentElement) {
      if (at.clientHeight > innerHeight / 2 && isScroller(at)) found.push(at);
    }
    return [root, ...found];
  }

  const next = scrollers().find(element => {
    const before_px = element.scrollTop;
    if (leftOf(element) > SLACK_PX) element.scrollBy({top: Math.min(innerHeight, element.clientHeight), behavior: 'instant'});
    return element.scrollTop > before_px;
  });
  const drawn = new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  return Promise.race([drawn, new Promise(resolve => setTimeout(resolve, 1000))]).then(() => next !== undefined);
}
