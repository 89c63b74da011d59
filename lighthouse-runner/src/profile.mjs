/** Chromium's profile directory: made for one run, and removed with everything that Chromium keeps for it elsewhere. */

import {readlinkSync, rmSync} from 'node:fs';
import {mkdir, rm, writeFile} from 'node:fs/promises';
import {basename, dirname, join} from 'node:path';

const PREFERENCES = {
  // Third-party cookies allowed: blocking them splits third parties off to another QUIC connection.
  profile: {cookie_controls_mode: 0},
  // No guessed preconnects or prerenders.
  net: {network_prediction_options: 2},
  // A page that is measured leaves no file with whoever measures it: all downloads are refused.
  download_restrictions: 3,
};

// What Chromium's socket adds to its directory for temporary files, and the shortest limit of systems for paths of sockets.
const SOCKET_TAIL = '/org.chromium.Chromium.XXXXXX/SingletonSocket';
const SOCKET_PATH_MAX = 103;

const REMOVAL = {recursive: true, force: true, maxRetries: 10, retryDelay: 50};

/** An empty profile with our preferences, in place of whatever was there. */
export async function writeProfile(profileDir) {
  await removeProfile(profileDir);
  await mkdir(join(profileDir, 'Default'), {recursive: true});
  await writeFile(join(profileDir, 'Default', 'Preferences'), JSON.stringify(PREFERENCES));
}

/** Temporary files go with the profile (downloads leave some), unless its path is too long for the socket that is among them. */
export function tempDirEnv(profileDir) {
  return Buffer.byteLength(profileDir + SOCKET_TAIL) <= SOCKET_PATH_MAX ? {TMPDIR: profileDir} : {};
}

/** Remove it after its browser has ended. Never throws. */
export async function removeProfile(profileDir) {
  for (const directory of directoriesOf(profileDir)) {
    await rm(directory, REMOVAL).catch(error => console.error(`${directory} not removed: ${error.message}`));
  }
}

/** The same without waiting; what is not removed is swept by its owner's next start. */
export function removeProfileNow(profileDir) {
  for (const directory of directoriesOf(profileDir)) {
    try {
      rmSync(directory, REMOVAL);
    } catch {
      // a dying browser may still write to it
    }
  }
}

/** The profile, and the directory of the socket by which a killed Chromium would have answered a second one. */
function directoriesOf(profileDir) {
  try {
    const socketDir = dirname(readlinkSync(join(profileDir, 'SingletonSocket')));
    if (/^(org|com)\.\w+\.\w+\.\w{6}$/.test(basename(socketDir))) return [socketDir, profileDir];
  } catch {
    // no browser has run here, or it has tidied up
  }
  return [profileDir];
}
