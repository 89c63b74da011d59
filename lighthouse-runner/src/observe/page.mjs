/** One observed page: prepared before it loads, watched until it is quiet, asked at the end. */

import {setTimeout as sleep} from 'node:timers/promises';

import {screenEmulationMetrics, userAgents} from 'lighthouse/core/config/constants.js';

import {RunFailure} from '../failure.mjs';
import {attachAll, within} from './devtools.mjs';
import {firstScreen} from './first-screen.mjs';
import {Oddities} from './oddities.mjs';
import {Requests} from './requests.mjs';
import {BINDING, WATCH_SOURCE, WORLD} from './watch-page.mjs';

const POLL_MS = 50;
const QUESTION_LIMIT_MS = 6_000;
const SCREENSHOT_LIMIT_MS = 10_000;
const RECEIVED_BYTES_MAX = 512 * 1024 * 1024;
const ELEMENTS_MAX = 50_000;
const FACES_MAX = 10_000;
// Of the address of a font that is no address, but the font itself.
const INLINE_CHARS = 40;
// A page may send its visitor elsewhere, and on from there; one that goes on doing so never ends.
const NAVIGATIONS_MAX = 8;
// A load event that does not come although nothing is under way is waited for a little longer.
const LOAD_PATIENCE_MS = 2_000;

export class Page {
  constructor(session, job) {
    this.session = session;
    this.job = job;
    this.requests = new Requests();
    this.oddities = new Oddities();
    this.elements = [];
    this.blocking = new Set();
    this.faces = new Map();
    this.paint = null; // the largest so far
    this.navigations = [];
    this.isLoaded = false;
    this.crashed = new Promise((_, reject) => (this.crash = reject));
    this.crashed.catch(() => {});
  }

  async prepare(chromiumVersion) {
    await this.emulate(chromiumVersion);
    await attachAll(this.session, 'page', (session, type) => this.watch(session, type));
  }

  async emulate(chromiumVersion) {
    const {width, height, deviceScaleFactor, mobile} = screenEmulationMetrics[this.job.form_factor];
    this.viewport_px = [width, height];
    await this.session.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor, mobile});
    await this.session.send('Emulation.setTouchEmulationEnabled', {enabled: mobile});
    // In the lab the browser says what it is, as in every other run; servers out there look at the name.
    if (this.job.hosts !== null) return;
    await this.session.send('Network.setUserAgentOverride', userAgentOf(this.job.form_factor, chromiumVersion));
  }

  async watch(session, type) {
    this.requests.watch(session);
    this.oddities.watchNetwork(session);
    session.on('sessiondetached', child => this.requests.forget(child));
    await session.send('Network.enable', {maxTotalBufferSize: 0, maxResourceBufferSize: 0, maxPostDataSize: 0});
    if (type === 'page' || type === 'iframe') await this.watchDocuments(session);
  }

  async watchDocuments(session) {
    this.oddities.watchPage(session);
    session.on('Runtime.bindingCalled', ({name, payload}) => name === BINDING && this.told(JSON.parse(payload)));
    session.on('CSS.fontsUpdated', ({font}) => font && this.loadedFace(faceOf(font)));
    session.on('Inspector.targetCrashed', () => this.crash(new RunFailure('page_crashed', "the page's process crashed")));
    if (session === this.session) this.watchNavigations();
    await session.send('Page.enable');
    await session.send('Network.setBypassServiceWorker', {bypass: true});
    await session.send('Runtime.enable');
    await session.send('Runtime.addBinding', {name: BINDING, executionContextName: WORLD});
    await session.send('Page.addScriptToEvaluateOnNewDocument', {source: WATCH_SOURCE, worldName: WORLD, runImmediately: true});
    await session.send('DOM.enable');
    await session.send('CSS.enable');
    await session.send('Inspector.enable');
  }

  watchNavigations() {
    this.session.on('Page.frameNavigated', ({frame}) => {
      if (frame.parentId || !/^https?:/.test(frame.url)) return;
      this.navigations.push(frame.url);
      this.isLoaded = false;
    });
    this.session.on('Page.loadEventFired', () => (this.isLoaded = this.navigations.length > 0));
  }

  told({elements = [], resource = [], 'largest-contentful-paint': paints = []}) {
    for (const element of elements.slice(0, ELEMENTS_MAX - this.elements.length)) this.elements.push(element);
    for (const {url, blocking} of resource) if (blocking) this.blocking.add(url.replace(/#.*$/s, ''));
    this.paint = paints.at(-1) ?? this.paint;
  }

  loadedFace(face) {
    if (this.faces.size < FACES_MAX) this.faces.set(JSON.stringify(face), face);
  }

  /**
   * Load the job's page until it is quiet. Returns how that ended: quiet, limit, interrupted. stopped: an AbortSignal.
   * Throws RunFailure navigation:CODE if there is no page, page_crashed.
   */
  async load(stopped) {
    if (stopped.aborted) throw nothingCame('interrupted', this.job.limit_s);
    const state = {ended: null, failure: null};
    this.crashed.catch(error => (state.failure = error));
    const end_ms = performance.now() + this.job.limit_s * 1000;
    const limit_ms = this.job.limit_s * 1000 + QUESTION_LIMIT_MS;
    this.session.send('Page.navigate', {url: this.job.url}, {timeout: limit_ms}).then(
      ({errorText, isDownload}) => (state.failure ??= errorText ? navigationFailure(errorText, isDownload) : null),
      error => (state.failure ??= error),
    );
    while (state.ended === null && state.failure === null) {
      await sleep(POLL_MS);
      if (stopped.aborted) state.ended = 'interrupted';
      else if (this.isQuiet()) state.ended = 'quiet';
      else if (performance.now() > end_ms || this.tooMuch() !== null) state.ended = 'limit';
    }
    if (state.failure !== null) throw state.failure;
    if (state.ended === 'limit' && this.tooMuch() !== null) this.oddities.note(this.tooMuch());
    if (this.navigations.length === 0) throw nothingCame(state.ended, this.job.limit_s);
    return state.ended;
  }

  isQuiet() {
    const idle_ms = performance.now() - this.requests.activity_ms;
    const quiet_ms = this.job.quiet_s * 1000;
    const patience_ms = this.isLoaded ? 0 : LOAD_PATIENCE_MS;
    return this.navigations.length > 0 && !this.requests.isBusy(quiet_ms) && idle_ms >= quiet_ms + patience_ms;
  }

  /** What the page did so much of that nobody watches any longer, in words; null if nothing. */
  tooMuch() {
    if (this.requests.received_bytes > RECEIVED_BYTES_MAX) {
      return `it goes on sending: watching stopped after ${Math.round(RECEIVED_BYTES_MAX / 1e6)} MB`;
    }
    if (this.requests.isFull) return `it goes on asking: watching stopped after ${this.requests.all.length} requests`;
    if (this.navigations.length > NAVIGATIONS_MAX) {
      return `it loads itself, or other pages, again and again: watching stopped after ${NAVIGATIONS_MAX} times`;
    }
    return null;
  }

  /** What only the finished page knows, from all frames; null entries where a frame gave no answer in time. */
  async ask() {
    const tree = await within(QUESTION_LIMIT_MS, this.session.send('Page.getFrameTree'));
    if (tree === null) return [];
    return Promise.all([...framesOf(tree.frameTree)].map(frame => within(QUESTION_LIMIT_MS, this.askFrame(frame.id))));
  }

  async askFrame(frameId) {
    const {executionContextId} = await this.session.send('Page.createIsolatedWorld', {frameId, worldName: WORLD});
    const {result} = await this.session.send('Runtime.callFunctionOn', {
      functionDeclaration: firstScreen.toString(), executionContextId, awaitPromise: true, returnByValue: true,
    });
    return result.value ?? null;
  }

  /** PNG of the first screen in base64; null if the page does not draw. */
  async screenshot() {
    await within(QUESTION_LIMIT_MS, this.session.send('Runtime.evaluate', {
      expression: `(${still})()`, awaitPromise: true, userGesture: false,
    }));
    const shot = await within(SCREENSHOT_LIMIT_MS, this.session.send('Page.captureScreenshot', {format: 'png'}));
    return shot?.data ?? null;
  }
}

/** Shows what moves for ever as it begins, and all other movement as it ends, so that two loads of a page look the same. */
function still() {
  for (const animation of document.getAnimations()) {
    try {
      if (Number.isFinite(animation.effect.getComputedTiming().endTime)) animation.finish();
      else animation.currentTime = 0;
      animation.pause();
    } catch { /* one that cannot be stopped */ }
  }
  return new Promise(resolve => requestAnimationFrame(() => requestAnimationFrame(() => resolve())));
}

function* framesOf({frame, childFrames = []}) {
  yield frame;
  for (const child of childFrames) yield* framesOf(child);
}

function faceOf({fontFamily: family, fontWeight: weight, fontStyle: style, src}) {
  return {family, weight, style, url: /^https?:/.test(src) ? src : src.slice(0, INLINE_CHARS)};
}

function navigationFailure(errorText, isDownload) {
  const code = errorText.replace(/^net::/, '');
  return new RunFailure(`navigation:${code}`, isDownload ? 'the address is a download, no page' : reasonOf(code));
}

function reasonOf(code) {
  switch (code) {
    case 'ERR_INVALID_AUTH_CREDENTIALS': return 'the page wants a login (it was answered with status 401)';
    case 'ERR_TOO_MANY_REDIRECTS': return 'the page sends its visitor on and on, in a loop (too many redirects)';
    case 'ERR_ABORTED': return 'the address gives no page: its answer has no content, or nothing that a browser shows';
    case 'ERR_NAME_NOT_RESOLVED': return 'there is no host of this name (ERR_NAME_NOT_RESOLVED)';
    case 'ERR_CONNECTION_REFUSED': return 'no server listens there (ERR_CONNECTION_REFUSED)';
  }
  return code.startsWith('ERR_CERT_') ? `its certificate is not to be trusted (${code})` : `the page cannot be opened (${code})`;
}

function nothingCame(ended, limit_s) {
  return ended === 'interrupted'
    ? new RunFailure('navigation:INTERRUPTED', 'it was interrupted before the page answered')
    : new RunFailure('navigation:NO_ANSWER', `the page did not answer within ${limit_s} s`);
}

/** Lighthouse's device, under the name of the browser that really loads. */
function userAgentOf(form_factor, chromiumVersion) {
  const major = chromiumVersion.split('.', 1)[0];
  const isMobile = form_factor === 'mobile';
  const brands = [{brand: 'Not:A-Brand', version: '8'}, {brand: 'Chromium', version: major}];
  return {
    userAgent: userAgents[form_factor].replace(/Chrome\/[\d.]+/, `Chrome/${major}.0.0.0`),
    userAgentMetadata: {
      brands,
      fullVersion: chromiumVersion,
      platform: isMobile ? 'Android' : 'macOS',
      platformVersion: isMobile ? '11.0' : '10.15.7',
      architecture: isMobile ? '' : 'x86',
      model: isMobile ? 'moto g power (2022)' : '',
      mobile: isMobile,
    },
  };
}
