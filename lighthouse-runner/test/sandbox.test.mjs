import assert from 'node:assert/strict';
import {test} from 'node:test';

import {RunFailure} from '../src/failure.mjs';
import {Sandbox} from '../src/sandbox.mjs';

// What Chromium 150 said: without user namespaces; with its setuid helper in a container; in a container without chroot.
const COMPLAINTS = [
  '[1:1:1123/035329.806641:ERROR:content/browser/zygote_host/zygote_host_impl_linux.cc:128] No usable sandbox! If this is a Debian system ...',
  'Failed to move to new namespace: ...\n[1:1:1123/035606.227634:FATAL:content/browser/zygote_host/zygote_host_impl_linux.cc:207] Check failed: . : Operation not permitted (1)',
  '[1:1:1123/035416.946606:FATAL:content/browser/zygote_host/zygote_host_impl_linux.cc:221] Check failed: . : No such file or directory (2)',
].map(text => new RunFailure('chrome_start', `Chromium ended (exit code 1): ${text}`));

const OTHER = new RunFailure('chrome_start', 'Chromium ended (exit code 127): libnss3.so: cannot open shared object file');

test('every user but root has the sandbox', () => {
  assert.ok(new Sandbox({isRoot: false, wish: undefined}).isOn);
  assert.ok(new Sandbox({isRoot: false, wish: 'if-possible'}).isOn);
  assert.ok(!new Sandbox({isRoot: true, wish: undefined}).isOn);
});

test('a sandbox that cannot be built fails the load, and stays on', () => {
  for (const wish of [undefined, '', '1', 'never']) {
    const sandbox = new Sandbox({isRoot: false, wish});
    for (const complaint of COMPLAINTS) {
      assert.throws(() => sandbox.giveWay(complaint), {reason: 'no_sandbox', detail: complaint.detail});
    }
    assert.ok(sandbox.isOn);
  }
});

test('where it is asked for only if possible, it goes off once it has failed', () => {
  for (const complaint of COMPLAINTS) {
    const sandbox = new Sandbox({isRoot: false, wish: 'if-possible'});
    sandbox.giveWay(complaint);
    assert.ok(!sandbox.isOn);
    assert.throws(() => sandbox.giveWay(complaint), complaint); // there is nothing left to give way
  }
});

test('failures of other kinds leave the sandbox on', () => {
  const sandbox = new Sandbox({isRoot: false, wish: 'if-possible'});
  assert.throws(() => sandbox.giveWay(OTHER), OTHER);
  assert.ok(sandbox.isOn);
});
