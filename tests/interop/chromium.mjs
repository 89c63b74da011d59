/**
 * `chromium.mjs JOB`: has Chromium fetch files by script, with the flags of the lighthouse-runner, and prints what the page found.
 *
 * JOB is JSON: chromium, profile_dir, url, hosts, spki_sha256, paths. The page at url defines collect(paths).
 */

import {createRequire} from 'node:module';
import process from 'node:process';

import {chromeFlags} from '../../lighthouse-runner/src/chrome-flags.mjs';
import {Sandbox} from '../../lighthouse-runner/src/sandbox.mjs';

const require = createRequire(new URL('../../lighthouse-runner/package.json', import.meta.url));
const puppeteer = require('puppeteer-core');

const job = {extra_features_off: [], netlog: null, ...JSON.parse(process.argv[2])};
// By a pipe: Chromium ends with it, also if this process is killed because it took too long.
const flags = chromeFlags(job, {sandboxed: new Sandbox().isOn}).filter(flag => !flag.startsWith('--remote-debugging-port'));
const browser = await puppeteer.launch({
  executablePath: job.chromium,
  ignoreDefaultArgs: true,
  args: ['--remote-debugging-pipe', ...flags],
  pipe: true,
});
try {
  const page = await browser.newPage();
  await page.goto(job.url);
  const result = await page.evaluate(paths => window.collect(paths), job.paths);
  process.stdout.write(JSON.stringify(result));
} finally {
  await browser.close();
}
