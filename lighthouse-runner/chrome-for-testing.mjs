#!/usr/bin/env node
/**
 * Chrome for Testing: which build belongs to this package, where it is to be had, and unpacking it. One order as JSON on the
 * command line, one answer as a line of JSON on stdout. The download in between is the caller's, who can go on with one that
 * was cut off.
 *
 * {"op": "plan", "folder", "mirror", "build"} -> {"build", "url", "archive"}: where the archive is to be put; mirror and build
 *   may be null
 * {"op": "unpack", "folder", "build"} -> {"program"}: the archive is removed
 */

import {basename, join} from 'node:path';

import {Browser, detectBrowserPlatform, getDownloadUrl, install} from '@puppeteer/browsers';
import {PUPPETEER_REVISIONS} from 'puppeteer-core/internal/revisions.js';

const browser = Browser.CHROME;
const platform = detectBrowserPlatform();

function plan({folder, mirror, build}) {
  const buildId = build ?? PUPPETEER_REVISIONS.chrome;
  const url = getDownloadUrl(browser, platform, buildId, mirror ?? undefined);
  return {build: buildId, url: url.href, archive: join(folder, browser, `${buildId}-${basename(url.pathname)}`)};
}

async function unpack({folder, build}) {
  const {executablePath} = await install({browser, platform, buildId: build, cacheDir: folder});
  return {program: executablePath};
}

const ops = {plan, unpack};
const {op, ...order} = JSON.parse(process.argv[2]);
try {
  console.log(JSON.stringify(await ops[op](order)));
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
