/** One Chromium for one run, with DevTools at a port. */

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

import puppeteer from 'puppeteer-core';

import {BrowserProcess} from './browser-process.mjs';
import {chromeFlags} from './chrome-flags.mjs';
import {RunFailure} from './failure.mjs';
import {findChrome} from './find-chrome.mjs';
import {tempDirEnv, writeProfile} from './profile.mjs';
import {Sandbox} from './sandbox.mjs';

const START_LIMIT_MS = 20_000;
const POLL_MS = 20;

const sandbox = new Sandbox();

export class Chrome extends BrowserProcess {
  /** Start the browser of a job and wait until DevTools answers. expired: a promise that rejects when the run is out of time. */
  static async start(job, expired) {
    try {
      return await Chrome.startOnce(job, expired);
    } catch (error) {
      sandbox.giveWay(error);
      return Chrome.startOnce(job, expired);
    }
  }

  static async startOnce(job, expired) {
    const chrome = new Chrome(job.profile_dir);
    try {
      await writeProfile(job.profile_dir);
      chrome.spawn(findChrome(), chromeFlags(job, chrome), tempDirEnv(job.profile_dir));
      chrome.port = await Promise.race([chrome.debuggingPort(), chrome.died('chrome_start'), expired]);
      return chrome;
    } catch (error) {
      await chrome.stop();
      throw error;
    }
  }

  constructor(profileDir) {
    super('Chromium', profileDir);
    this.sandboxed = sandbox.isOn;
    this.port = null;
  }

  async debuggingPort() {
    const portFile = join(this.profileDir, 'DevToolsActivePort');
    for (let waited_ms = 0; waited_ms < START_LIMIT_MS; waited_ms += POLL_MS) {
      const lines = (await readFile(portFile, 'utf8').catch(() => '')).split('\n');
      if (lines.length > 1) return Number(lines[0]);
      await sleep(POLL_MS);
    }
    throw new RunFailure('chrome_start', `no DevTools after ${START_LIMIT_MS / 1000} s: ${this.stderrTail.trim()}`);
  }

  /** Full version, such as "156.0.7000.12"; DevTools knows it, user agents hide it. */
  async version() {
    const answer = await fetch(`http://127.0.0.1:${this.port}/json/version`);
    return (await answer.json()).Browser.replace(/^.*\//, '');
  }

  /** Only a browser that closes by itself completes its NetLog; on SIGTERM it does not. Never throws. */
  async askToClose() {
    try {
      const browser = await puppeteer.connect({browserURL: `http://127.0.0.1:${this.port}`, defaultViewport: null});
      await browser.close();
    } catch {
      // it hangs up while it closes, or is gone already
    }
    await this.exited;
  }
}
