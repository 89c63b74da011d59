/**
 * Chromium's command line for one run. Each switch is there once: Chromium honours only the last of a doubled switch, so
 * a second --disable-features would silently switch the features of the first one on again.
 */

import {Launcher} from 'chrome-launcher';

// Of chrome-launcher's defaults, what does not belong into a lab: it fixes a field trial, and we want none at all.
const LAUNCHER_FLAGS_LEFT_OUT = new Set(['--force-fieldtrials']);

// Beside chrome-launcher's list: features that change connections, requests or paint between runs.
const FEATURES_OFF = [
  'AcceptCHFrame',
  'BackForwardCache',
  'DSEPreconnect2',
  'HeavyAdPrivacyMitigations',
  'HttpsUpgrades',
  'LocalNetworkAccessChecks',
  'PreconnectToSearch',
];

const OWN_FLAGS = [
  '--headless=new',
  '--remote-debugging-port=0',
  '--origin-to-force-quic-on=*',
  '--no-proxy-server',
  '--disable-field-trial-config',
  '--disable-breakpad',
  '--disable-crash-reporter',
  '--disable-dev-shm-usage',
  '--disable-search-engine-choice-screen',
  '--force-color-profile=srgb',
  '--hide-scrollbars',
  // Pages draw the same numbers in every run: schemes are compared on equal pages.
  '--js-flags=--random-seed=1157259157',
  '--window-size=1366,1080',
];

/** The whole list for a job. isRoot: Chromium's sandbox refuses to run as uid 0, so there and only there it is off. */
export function chromeFlags(job, {isRoot}) {
  const switches = new Map();
  const add = flag => {
    const [name] = flag.split('=', 1);
    switches.set(name, flag);
  };
  const {flags: launcherFlags, featuresOff} = launcherDefaults();
  launcherFlags.forEach(add);
  OWN_FLAGS.forEach(add);
  add(`--user-data-dir=${job.profile_dir}`);
  add(`--host-resolver-rules=${hostResolverRules(job.hosts, job.address)}`);
  add(`--disable-features=${[...new Set([...featuresOff, ...FEATURES_OFF, ...job.extra_features_off])].join(',')}`);
  if (job.spki_sha256.length) add(`--ignore-certificate-errors-spki-list=${job.spki_sha256.join(',')}`);
  if (job.netlog) {
    add(`--log-net-log=${job.netlog}`);
    add('--net-log-capture-mode=Default');
  }
  if (isRoot) add('--no-sandbox');
  return [...switches.values(), 'about:blank'];
}

/**
 * The page's hosts lead to one address, every other name leads nowhere. No EXCLUDE for localhost: DevTools listens, it
 * resolves nothing, and a page has no business on this machine's other ports.
 */
export function hostResolverRules(hosts, address) {
  const rules = Object.entries(hosts).map(([host, port]) => `MAP ${host} ${address}:${port}`);
  return [...rules, 'MAP * ~NOTFOUND'].join(', ');
}

function launcherDefaults() {
  const prefix = '--disable-features=';
  const all = Launcher.defaultFlags();
  const featuresOff = all.filter(flag => flag.startsWith(prefix)).flatMap(flag => flag.slice(prefix.length).split(','));
  const flags = all.filter(flag => !flag.startsWith(prefix) && !LAUNCHER_FLAGS_LEFT_OUT.has(flag.split('=', 1)[0]));
  return {flags, featuresOff};
}
