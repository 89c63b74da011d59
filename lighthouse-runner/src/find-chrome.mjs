/** Where Chromium is: CHROME_PATH, else the first one that chrome-launcher finds. */

import {execFileSync} from 'node:child_process';
import {accessSync, constants} from 'node:fs';
import {delimiter, join} from 'node:path';

import {Launcher} from 'chrome-launcher';

import {RunFailure} from './failure.mjs';

const VERSION_LIMIT_MS = 20_000;

let found = null;

/** Path of the browser; looked for once. Throws RunFailure chrome_start. */
export function findChrome() {
  found ??= process.env.CHROME_PATH || firstInstallation();
  return found;
}

/** A browser's version, such as "156.0.7000.0", by asking the program itself; "" if its answer has none. Throws RunFailure `reason`. */
export function versionOf(program, reason, limit_ms = VERSION_LIMIT_MS) {
  try {
    const stdio = ['ignore', 'pipe', 'ignore'];
    const said = execFileSync(program, ['--version'], {encoding: 'utf8', stdio, timeout: limit_ms, killSignal: 'SIGKILL'});
    return said.match(/\d+(\.\d+)+/)?.[0] ?? '';
  } catch (error) {
    throw new RunFailure(reason, `the browser does not tell its version: ${error.message}`);
  }
}

/** Path of a program of the PATH, or null. */
export function findProgram(name) {
  for (const directory of (process.env.PATH ?? '').split(delimiter)) {
    const path = join(directory, name);
    try {
      accessSync(path, constants.X_OK);
      return path;
    } catch {
      // not in this directory
    }
  }
  return null;
}

function firstInstallation() {
  try {
    const path = Launcher.getFirstInstallation();
    if (path) return path;
  } catch {
    // chrome-launcher throws when there is none; the sentence below says it better
  }
  throw new RunFailure('chrome_start', 'no Chromium found: install one (Debian, Ubuntu: apt-get install chromium) or set CHROME_PATH');
}
