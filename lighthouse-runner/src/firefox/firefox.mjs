/** One Firefox for one run, with WebDriver BiDi at a port. */

import {mkdir, writeFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

import {screenEmulationMetrics} from 'lighthouse/core/config/constants.js';

import {BrowserProcess} from '../browser-process.mjs';
import {RunFailure} from '../failure.mjs';
import {findProgram} from '../find-chrome.mjs';
import {removeProfile} from '../profile.mjs';
import {preferencesOf, userJs} from './preferences.mjs';

const START_LIMIT_MS = 30_000;
const LISTENING = /WebDriver BiDi listening on (ws:\/\/\S+)\s/;

// The window is larger than the page's viewport by its bars, and never as narrow as a phone.
const WINDOW_MIN_PX = 500;
const BARS_PX = 140;

/** Path of the browser: FIREFOX_PATH, else one in the PATH. Throws RunFailure firefox_start. */
export function findFirefox() {
  const found = process.env.FIREFOX_PATH || findProgram('firefox-esr') || findProgram('firefox');
  if (!found) throw new RunFailure('firefox_start', 'no Firefox found: install one (Debian: apt-get install firefox-esr) or set FIREFOX_PATH');
  return found;
}

export class Firefox extends BrowserProcess {
  /** Start the browser of a job and wait until it listens. expired: a promise that rejects when the run is out of time. */
  static async start(job, expired) {
    const firefox = new Firefox(job.profile_dir);
    try {
      await removeProfile(job.profile_dir);
      await mkdir(job.profile_dir, {recursive: true});
      await writeFile(join(job.profile_dir, 'user.js'), userJs(preferencesOf(job)));
      firefox.spawn(findFirefox(), [
        '--headless', '--no-remote', '--profile', job.profile_dir, '--remote-debugging-port=0', '--remote-allow-system-access', 'about:blank',
      ], environmentOf(job));
      firefox.url = await Promise.race([firefox.listening, firefox.silence(), firefox.died('firefox_start'), expired]);
      return firefox;
    } catch (error) {
      await firefox.stop();
      throw error;
    }
  }

  constructor(profileDir) {
    super('Firefox', profileDir);
    this.listening = new Promise(resolve => (this.announce = resolve)); // where
  }

  heard(text) {
    super.heard(text);
    const match = text.match(LISTENING);
    if (match) this.announce(match[1]);
  }

  async died(reason = 'firefox_died') {
    return super.died(reason);
  }

  /** A promise that rejects when it should have begun to listen. */
  async silence() {
    await sleep(START_LIMIT_MS, undefined, {ref: false});
    throw new RunFailure('firefox_start', `no WebDriver BiDi after ${START_LIMIT_MS / 1000} s: ${this.stderrTail.trim()}`);
  }
}

/** Whatever it keeps outside its profile, downloads too, goes there as well. */
function environmentOf({profile_dir, form_factor}) {
  const {width, height} = screenEmulationMetrics[form_factor];
  return {
    HOME: profile_dir,
    TMPDIR: profile_dir,
    MOZ_CRASHREPORTER_DISABLE: '1',
    MOZ_HEADLESS_WIDTH: String(Math.max(WINDOW_MIN_PX, width)),
    MOZ_HEADLESS_HEIGHT: String(height + BARS_PX),
  };
}
