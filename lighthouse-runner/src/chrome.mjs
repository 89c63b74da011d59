/**
 * One Chromium for one run: started on a fresh profile, and gone afterwards whatever happens.
 *
 * It leads a process group of its own, so that one SIGKILL reaches all its helpers. Where setpriv exists the kernel kills it
 * when this worker dies, even by kill -9.
 *
 * Words after the worker's own command are put before the browser's: a program that makes it such a leader and runs it. Without
 * them it leads a session of its own, and so, on Linux, a group that shares the processors with all other sessions' as an equal.
 */

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {setTimeout as sleep} from 'node:timers/promises';

import puppeteer from 'puppeteer-core';

import {chromeFlags} from './chrome-flags.mjs';
import {RunFailure} from './failure.mjs';
import {findChrome, findProgram} from './find-chrome.mjs';
import {removeProfile, removeProfileNow, tempDirEnv, writeProfile} from './profile.mjs';
import {Sandbox} from './sandbox.mjs';

const START_LIMIT_MS = 20_000;
const POLL_MS = 20;
const GENTLE_STOP_MS = 3_000;
const STDERR_TAIL_CHARS = 4_000;
const LAST_WORDS_MS = 200;

const running = new Set();
const sandbox = new Sandbox();

export class Chrome {
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
    running.add(chrome);
    try {
      await writeProfile(job.profile_dir);
      chrome.spawn(chromeFlags(job, chrome));
      chrome.port = await Promise.race([chrome.debuggingPort(), chrome.died('chrome_start'), expired]);
      return chrome;
    } catch (error) {
      await chrome.stop();
      throw error;
    }
  }

  constructor(profileDir) {
    this.profileDir = profileDir;
    this.sandboxed = sandbox.isOn;
    this.port = null;
    this.process = null;
    this.exited = null;
    this.silent = null;
    this.stderrTail = '';
  }

  spawn(flags) {
    const setpriv = process.platform === 'linux' ? findProgram('setpriv') : null;
    const wordsBefore = process.argv.slice(2);
    const command = [...wordsBefore, ...(setpriv ? [setpriv, '--pdeathsig', 'KILL'] : []), findChrome(), ...flags];
    this.process = spawn(command[0], command.slice(1), {
      detached: wordsBefore.length === 0, stdio: ['ignore', 'ignore', 'pipe'], env: {...process.env, ...tempDirEnv(this.profileDir)},
    });
    this.process.stderr.setEncoding('utf8').on('data', text => {
      this.stderrTail = (this.stderrTail + text).slice(-STDERR_TAIL_CHARS);
    });
    this.silent = once(this.process.stderr, 'close');
    this.exited = new Promise(resolve => {
      this.process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
      this.process.once('error', error => resolve(error.message));
    });
  }

  /** A promise that rejects with this reason once the browser is gone. */
  async died(reason = 'chrome_died') {
    const how = await this.exited;
    await Promise.race([this.silent, sleep(LAST_WORDS_MS)]); // what it said may be under way still, and a helper may hold the line
    throw new RunFailure(reason, `Chromium ended (${how}): ${this.stderrTail.trim() || 'it said nothing'}`);
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

  /** End it and remove its profile. gently: give it time to close its NetLog first. Never throws. */
  async stop({gently = false} = {}) {
    if (!running.has(this)) return;
    if (this.process?.pid) {
      if (gently) await Promise.race([this.askToClose(), sleep(GENTLE_STOP_MS)]);
      this.kill();
      await this.exited;
    }
    await removeProfile(this.profileDir);
    running.delete(this);
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

  /** SIGKILL to the whole group, also to what is left of it after the leader has gone. */
  kill() {
    if (!this.process?.pid) return;
    try {
      process.kill(-this.process.pid, 'SIGKILL');
    } catch {
      this.process.kill('SIGKILL'); // it does not lead a group yet, or is gone already
    }
  }
}

/** For every exit of the worker: no browser and no profile stays. */
export async function stopAll() {
  await Promise.all([...running].map(chrome => chrome.stop()));
}

/** The same without waiting, for the last moment of the process. */
export function killAllNow() {
  for (const chrome of running) {
    chrome.kill();
    removeProfileNow(chrome.profileDir);
  }
}
