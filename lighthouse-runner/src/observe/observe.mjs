/** The op "observe": a browser, one page load that is watched, an answer. The NetLog beside it is the caller's to read. */

import {Chrome} from '../chrome.mjs';
import {deadline} from '../deadline.mjs';
import {connect, openPage} from './devtools.mjs';
import {Page} from './page.mjs';
import {nowTick} from './requests.mjs';
import {SCROLL_LIMIT_S, scrollThrough} from './scroll.mjs';

// Beside the time that the page has: starting the browser, asking, ending it.
const OVERHEAD_S = 45;

/** Do a job. stopped: an AbortSignal, after which it answers with what came so far. Returns the answer without id. Throws RunFailure. */
export async function observeJob(job, stopped) {
  const {expired, cancel} = deadline(job.limit_s + (job.scroll ? SCROLL_LIMIT_S : 0) + OVERHEAD_S);
  try {
    const chrome = await Chrome.start(job, expired);
    let done = false;
    try {
      const answer = await Promise.race([observeIn(chrome, job, stopped), chrome.died(), expired]);
      done = true;
      return answer;
    } catch (error) {
      throw await chrome.causeOf(error);
    } finally {
      await chrome.stop({gently: done});
    }
  } finally {
    cancel();
  }
}

async function observeIn(chrome, job, stopped) {
  const version = await chrome.version();
  const connection = await connect(chrome.port);
  try {
    const {session, targetId} = await openPage(connection);
    const page = new Page(session, job);
    await page.oddities.watchBrowser(connection, targetId);
    await page.prepare(version);
    const ended = await page.load(stopped);
    const answer = {main_frame_id: targetId, ...(await answerOf(page, ended, version))};
    if (!job.scroll || ended !== 'quiet') return answer; // what asks on and on does not do so because of the scrolling
    return {...answer, ...(await scrolled(page, stopped))};
  } finally {
    connection.dispose();
  }
}

async function answerOf(page, ended, chromium) {
  const screens = await page.ask();
  const [top] = screens;
  const screenshot = page.job.screenshot && top ? await page.screenshot() : null; // a page that hangs draws nothing
  if (!top) page.oddities.note('it did not answer at the end: what is in the first screen is not known');
  else if (!screens.every(screen => screen?.is_complete ?? true)) page.oddities.note('it has so many elements that only the first ones were looked at');
  const told = screens.filter(Boolean);
  return {
    ended,
    final_url: page.navigations.at(-1) ?? page.job.url,
    navigations: [...page.navigations],
    ...requestsSoFar(page),
    elements: [...page.elements],
    blocking: [...page.blocking],
    images: told.flatMap(({images}) => images),
    used_fonts: told.flatMap(({fonts}) => fonts),
    font_faces: [...page.faces.values()],
    paint: page.paint,
    moments: top?.moments ?? null,
    title: top?.title ?? '',
    notes: page.oddities.list(),
    viewport_px: page.viewport_px,
    chromium,
    screenshot_base64: screenshot,
  };
}

/**
 * The requests, and when that was. What is asked for later is not the page's: without DevTools the emulated device goes, so that
 * other images fit, and service workers start.
 */
function requestsSoFar(page, first = 0) {
  return {requests: page.requests.copies(first), watched_until_tick_ms: nowTick()};
}

/** What an answer has in addition after scrolling. All else is of the page as it was before. */
async function scrolled(page, stopped) {
  const before = page.requests.copies();
  await scrollThrough(page, stopped);
  const {requests, ...watched} = requestsSoFar(page, before.length);
  return {
    ...watched,
    requests: [...before, ...requests.map(request => ({...request, after_scroll: true}))],
    notes: page.oddities.list(),
  };
}
