#!/usr/bin/env node
/**
 * Long-lived worker: JSON lines in, JSON lines out (see README.md). Lighthouse is loaded once. However this process ends, its
 * Chromium ends with it.
 */

import {createRequire} from 'node:module';

import {killAllNow, stopAll} from './src/chrome.mjs';
import {chromeVersion} from './src/find-chrome.mjs';
import {observeJob} from './src/observe/observe.mjs';
import {serveLines} from './src/protocol.mjs';
import {runJob} from './src/run.mjs';

// stdout belongs to the protocol; whatever a library wants to say goes to stderr.
console.log = console.info = console.debug = console.error;

function versions() {
  const {version} = createRequire(import.meta.url)('lighthouse/package.json');
  const chromium = chromeVersion().match(/\d+(\.\d+)+/)?.[0] ?? '';
  return {versions: {lighthouse: version, chromium, node: process.versions.node}};
}

async function handle(job, stopped) {
  if (job.op === 'ping') return {};
  if (job.op === 'versions') return versions();
  return job.op === 'observe' ? observeJob(job, stopped) : runJob(job);
}

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
  handle,
  onEnd: () => leave(0),
  retire: () => leave(0),
});
