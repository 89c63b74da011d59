/** The op "observe": a browser, one page load that is watched, an answer. The NetLog beside it is the caller's to read. */

import {Chrome} from '../chrome.mjs';
import {deadline} from '../deadline.mjs';
import {connect, openPage} from './devtools.mjs';
import {Page} from './page.mjs';

// Beside the time that the page has: starting the browser, asking, ending it.
const OVERHEAD_S = 45;

let stop = () => {};

/** End the load in progress; it answers with what came so far. */
export function stopObserving() {
  stop();
}

/** Do a job. Returns the answer without id. Throws RunFailure. */
export async function observeJob(job) {
  const {expired, cancel} = deadline(job.limit_s + OVERHEAD_S);
  const stopped = new Promise(resolve => (stop = resolve));
  try {
    const chrome = await Chrome.start(job, expired);
    let done = false;
    try {
      const answer = await Promise.race([observeIn(chrome, job, stopped), chrome.died(), expired]);
      done = true;
      return answer;
    } finally {
      await chrome.stop({gently: done});
    }
  } finally {
    cancel();
    stop = () => {};
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
    return {main_frame_id: targetId, ...(await answerOf(page, ended, version))};
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
    navigations: page.navigations,
    requests: page.requests.all,
    elements: page.elements,
    blocking: [...page.blocking],
    images: told.flatMap(({images}) => images),
    used_fonts: told.flatMap(({fonts}) => fonts),
    font_faces: [...page.faces.values()],
    paint: page.paints.at(-1) ?? null,
    moments: top?.moments ?? null,
    title: top?.title ?? '',
    notes: page.oddities.list(),
    viewport_px: page.viewport_px,
    chromium,
    screenshot_base64: screenshot,
  };
}
