/** One Firefox for one run, with WebDriver BiDi at a port. */

import {mkdir, readFile, writeFile} from 'node:fs/promises';
import {freemem} from 'node:os';
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

// The film has a picture of the window for each change, and the browser keeps them all until the end. A load whose film fills the
// memory is given up, before the system ends whatever program it chooses.
const LOOK_MS = 500;
const MOST_BYTES = Math.max(2 ** 30, freemem() / 2);

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

  /** A promise that rejects when the film fills the memory; it never resolves. */
  async overflow(most_bytes = MOST_BYTES) {
    for (let bytes = 0; bytes !== null; bytes = await residentBytes(this.process.pid)) {
      if (bytes > most_bytes) {
        throw new RunFailure('film_too_large', `the page kept changing for so long that Firefox took ${Math.round(bytes / 1e6)} MB to record it`);
      }
      await sleep(LOOK_MS, undefined, {ref: false});
    }
    return new Promise(() => {});
  }

  /** A promise that rejects when it should have begun to listen. */
  async silence() {
    await sleep(START_LIMIT_MS, undefined, {ref: false});
    throw new RunFailure('firefox_start', `no WebDriver BiDi after ${START_LIMIT_MS / 1000} s: ${this.stderrTail.trim()}`);
  }
}

/** The memory that a process uses; null where the system does not tell, or it has ended. */
async function residentBytes(pid) {
  const facts = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const [, kb] = facts.match(/^VmRSS:\s+(\d+) kB$/m) ?? [];
  return kb === undefined ? null : Number(kb) * 1024;
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
