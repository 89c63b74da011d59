/**
 * Chromium's own sandbox: on wherever it can be.
 *
 * Chromium builds it of user namespaces, which containers and some systems refuse to ordinary users, and ends at once where it
 * cannot. A load then fails with `no_sandbox`. Only where MIXEDSCHED_SANDBOX=if-possible was asked for, because something
 * else, such as a container, keeps the browser in, do this worker's browsers go on without it. Root never has it: Chromium
 * refuses to run as root with it.
 */

import {RunFailure} from './failure.mjs';

// The source file of Chromium that sets the sandbox up: it is named in whatever Chromium says when that fails.
const COMPLAINT = /zygote_host_impl_linux/;

export class Sandbox {
  constructor({isRoot = process.getuid?.() === 0, wish = process.env.MIXEDSCHED_SANDBOX} = {}) {
    this.isOn = !isRoot;
    this.isOptional = wish === 'if-possible';
  }

  /**
   * Decides after a browser that did not start. Returns if it is worth another try, from now on without sandbox. Throws the
   * failure itself if the sandbox had no part in it, and no_sandbox if it may not be left out.
   */
  giveWay(failure) {
    if (!this.isOn || !COMPLAINT.test(failure.detail)) throw failure;
    if (!this.isOptional) throw new RunFailure('no_sandbox', failure.detail);
    this.isOn = false;
    console.error('Chromium cannot build its sandbox here; pages are loaded without it, as MIXEDSCHED_SANDBOX says');
  }
}
