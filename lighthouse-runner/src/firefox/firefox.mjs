/** One Firefox for one run, with WebDriver BiDi at a port. */

import {execFileSync} from 'node:child_process';
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
const POLL_MS = 20;
const LISTENING = /WebDriver BiDi listening on (ws:\/\/\S+)/;

// The window is larger than the page's viewport by its bars, and never as narrow as a phone.
const WINDOW_MIN_PX = 500;
const BARS_PX = 140;

/** Path of the browser: FIREFOX_PATH, else one in the PATH. Throws RunFailure firefox_start. */
export function findFirefox() {
  const found = process.env.FIREFOX_PATH || findProgram('firefox-esr') || findProgram('firefox');
  if (!found) throw new RunFailure('firefox_start', 'no Firefox found: install one (Debian: apt-get install firefox-esr) or set FIREFOX_PATH');
  return found;
}

/** Such as "153.7.0"; asks the program itself. */
export function firefoxVersion() {
  try {
    const said = execFileSync(findFirefox(), ['--version'], {encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore']});
    return said.match(/\d+(\.\d+)+/)?.[0] ?? '';
  } catch (error) {
    if (error instanceof RunFailure) throw error;
    throw new RunFailure('firefox_start', `the browser does not tell its version: ${error.message}`);
  }
}

export class Firefox extends BrowserProcess {
  /** Start the browser of a job and wait until it listens. expired: a promise that rejects when the run is out of time. */
  static async start(job, expired) {
    const firefox = new Firefox('Firefox', job.profile_dir);
    try {
      await removeProfile(job.profile_dir);
      await mkdir(job.profile_dir, {recursive: true});
      await writeFile(join(job.profile_dir, 'user.js'), userJs(preferencesOf(job)));
      firefox.spawn(findFirefox(), [
        '--headless', '--no-remote', '--profile', job.profile_dir, '--remote-debugging-port=0', '--remote-allow-system-access', 'about:blank',
      ], environmentOf(job));
      firefox.url = await Promise.race([firefox.listening(), firefox.died('firefox_start'), expired]);
      return firefox;
    } catch (error) {
      await firefox.stop();
      throw error;
    }
  }

  async died(reason = 'firefox_died') {
    return super.died(reason);
  }

  /** Where it listens. */
  async listening() {
    for (let waited_ms = 0; waited_ms < START_LIMIT_MS; waited_ms += POLL_MS) {
      const match = this.stderrTail.match(LISTENING);
      if (match) return match[1];
      await sleep(POLL_MS);
    }
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
