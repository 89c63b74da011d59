/**
 * One browser for one run: started on a fresh profile, and gone afterwards whatever happens.
 *
 * It leads a process group of its own, so that one SIGKILL reaches all its helpers. Where setpriv exists the kernel kills it
 * when this worker dies, even by kill -9.
 *
 * Words after the worker's own command are put before the browser's: a program that makes it such a leader and runs it. Without
 * them it leads a session of its own, and so, on Linux, a group that shares the processors with all other sessions' as an equal.
 */

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {setTimeout as sleep} from 'node:timers/promises';

import {RunFailure} from './failure.mjs';
import {findProgram} from './find-chrome.mjs';
import {removeProfile, removeProfileNow} from './profile.mjs';

// A browser that closes by itself takes some tenths of a second, and several on a busy machine. Whoever waits for a load's answer
// grants 15 s beyond the load's own limit.
const GENTLE_STOP_MS = 10_000;
const STDERR_TAIL_CHARS = 4_000;
const LAST_WORDS_MS = 200;
const DEATH_WAIT_MS = 2_000;

const running = new Set();

export class BrowserProcess {
  /** name: for messages. */
  constructor(name, profileDir) {
    this.name = name;
    this.profileDir = profileDir;
    this.process = null;
    this.exited = null;
    this.silent = null;
    this.stderrTail = '';
    running.add(this);
  }

  /** environment: variables beside our own. */
  spawn(program, args, environment) {
    if (!running.has(this)) throw new Error(`${this.name} was stopped before it started`);
    const setpriv = process.platform === 'linux' ? findProgram('setpriv') : null;
    const wordsBefore = process.argv.slice(2);
    const command = [...wordsBefore, ...(setpriv ? [setpriv, '--pdeathsig', 'KILL'] : []), program, ...args];
    this.process = spawn(command[0], command.slice(1), {
      detached: wordsBefore.length === 0, stdio: ['ignore', 'ignore', 'pipe'], env: {...process.env, ...environment},
    });
    this.process.stderr.setEncoding('utf8').on('data', text => this.heard(this.stderrTail + text));
    this.silent = once(this.process.stderr, 'close');
    this.exited = new Promise(resolve => {
      this.process.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`));
      this.process.once('error', error => resolve(error.message));
    });
  }

  /** It has written to standard error. text: the latest, with the end of what came before. */
  heard(text) {
    this.stderrTail = text.slice(-STDERR_TAIL_CHARS);
  }

  /** A promise that rejects with this reason once the browser is gone. */
  async died(reason = 'chrome_died') {
    const how = await this.exited;
    await Promise.race([this.silent, sleep(LAST_WORDS_MS)]); // what it said may be under way still, and a helper may hold the line
    throw new RunFailure(reason, `${this.name} ended (${how}): ${this.stderrTail.trim() || 'it said nothing'}`);
  }

  /** Why a load failed. A browser that dies breaks connections first, so that it may be its death that is behind the error. */
  async causeOf(error) {
    if (error instanceof RunFailure) return error;
    return Promise.race([this.died().catch(death => death), sleep(DEATH_WAIT_MS, error)]);
  }

  /** End it and remove its profile. gently: give it time to close by itself first. Never throws. */
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
  await Promise.all([...running].map(browser => browser.stop()));
}

/** The same without waiting, for the last moment of the process. */
export function killAllNow() {
  for (const browser of running) {
    browser.kill();
    removeProfileNow(browser.profileDir);
  }
}
