import assert from 'node:assert/strict';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';

import {BrowserProcess, stopAll} from '../src/browser-process.mjs';
import {RunFailure} from '../src/failure.mjs';
import {versionOf} from '../src/find-chrome.mjs';

/** A shell script in the place of a browser. */
function started(script) {
  const browser = new BrowserProcess('It', mkdtempSync(join(tmpdir(), 'runner-test-')));
  browser.spawn('/bin/sh', ['-c', script], {});
  return browser;
}

test('a browser that was stopped before it began is not started: nobody would stop it again', async () => {
  const browser = new BrowserProcess('It', mkdtempSync(join(tmpdir(), 'runner-test-')));
  await stopAll();
  assert.equal(existsSync(browser.profileDir), false);
  assert.throws(() => browser.spawn('/bin/sh', ['-c', 'exec sleep 60'], {}), /stopped before it started/);
});

test('what breaks when a browser dies is told as its death', async () => {
  const browser = started('sleep 0.2; echo out of memory >&2; exit 3');
  const cause = await browser.causeOf(new Error('the connection was closed'));
  assert.equal(cause.reason, 'chrome_died');
  assert.match(cause.detail, /exit code 3.*out of memory/s);
  const told = new RunFailure('timeout', 'no result');
  assert.equal(await browser.causeOf(told), told);
  await browser.stop();
});

test('a browser that closes slowly, as on a busy machine, completes its log', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'runner-test-'));
  t.after(() => rmSync(directory, {recursive: true}));
  const log = join(directory, 'net.json');
  const browser = started(`sleep 4; echo complete > ${log}`);
  browser.askToClose = () => browser.exited;
  await browser.stop({gently: true});
  assert.equal(readFileSync(log, 'utf8'), 'complete\n');
});

test('a browser is asked for its version, and not waited for if it does not tell it', t => {
  const directory = mkdtempSync(join(tmpdir(), 'runner-test-'));
  t.after(() => rmSync(directory, {recursive: true}));
  const program = (name, script) => {
    writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`, {mode: 0o755});
    return join(directory, name);
  };
  assert.equal(versionOf(program('good', 'echo Chromium 156.0.7000.0 built on Debian'), 'chrome_start'), '156.0.7000.0');
  assert.equal(versionOf(program('odd', 'echo no number'), 'chrome_start'), '');
  assert.throws(() => versionOf(program('hung', 'exec sleep 60'), 'firefox_start', 300), {reason: 'firefox_start', detail: /ETIMEDOUT/});
});
