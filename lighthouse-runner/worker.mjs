#!/usr/bin/env node
/**
 * Long-lived worker: JSON lines in, JSON lines out (see README.md). Lighthouse is loaded once. However this process ends, its
 * Chromium ends with it.
 */

import {createRequire} from 'node:module';

import {killAllNow, stopAll} from './src/browser-process.mjs';
import {findChrome, versionOf} from './src/find-chrome.mjs';
import {findFirefox} from './src/firefox/firefox.mjs';
import {runInFirefox} from './src/firefox/load.mjs';
import {observeJob} from './src/observe/observe.mjs';
import {serveLines} from './src/protocol.mjs';
import {runJob} from './src/run.mjs';

// stdout belongs to the protocol; whatever a library wants to say goes to stderr.
console.log = console.info = console.debug = console.error;

function versions({browser}) {
  const {node} = process.versions;
  if (browser === 'firefox') return {versions: {firefox: versionOf(findFirefox(), 'firefox_start'), node}};
  const {version} = createRequire(import.meta.url)('lighthouse/package.json');
  return {versions: {lighthouse: version, chromium: versionOf(findChrome(), 'chrome_start'), node}};
}

const HANDLERS = {ping: () => ({}), versions, run: runJob, firefox: runInFirefox, observe: observeJob};

let leaving = false;

async function leave(exitCode) {
  if (leaving) return;
  leaving = true;
  await stopAll();
  process.exit(exitCode);
}

process.on('exit', killAllNow);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => leave(1));
process.stdout.on('error', () => leave(1)); // the reader is gone
process.on('uncaughtException', error => {
  console.error(error);
  leave(1);
});
// A late answer from a browser that was killed is no reason to stop.
process.on('unhandledRejection', error => console.error('unhandled rejection:', error));

serveLines({
  input: process.stdin,
  output: process.stdout,
  handle: (job, stopped) => HANDLERS[job.op](job, stopped),
  onEnd: () => leave(0),
});
