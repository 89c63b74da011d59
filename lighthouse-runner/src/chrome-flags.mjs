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

// HTTP/3 for everything, even before a server offers it.
const LAB_FLAGS = ['--origin-to-force-quic-on=*'];

// Servers that nobody prepared, as a first visit goes, and those of the lab that are to be compared with HTTP/3.
const OVER_TCP_FLAGS = ['--disable-quic'];

// Frames of all sites in one process, so that one DevTools session sees them all.
const OBSERVE_FLAGS = ['--disable-site-isolation-trials'];

/** The whole list for a job. sandboxed: whether Chromium is to keep pages in its sandbox (sandbox.mjs). */
export function chromeFlags(job, {sandboxed}) {
  const switches = new Map();
  const add = flag => {
    const [name] = flag.split('=', 1);
    switches.set(name, flag);
  };
  const {flags: launcherFlags, featuresOff} = launcherDefaults();
  launcherFlags.forEach(add);
  OWN_FLAGS.forEach(add);
  (job.hosts === null || job.over_tcp ? OVER_TCP_FLAGS : LAB_FLAGS).forEach(add);
  if (job.op === 'observe') OBSERVE_FLAGS.forEach(add);
  add(`--user-data-dir=${job.profile_dir}`);
  const rules = job.hosts === null ? standInRules(job.resolve) : hostResolverRules(job.hosts, job.address);
  if (rules) add(`--host-resolver-rules=${rules}`);
  if (job.insecure) add('--ignore-certificate-errors');
  add(`--disable-features=${[...new Set([...featuresOff, ...FEATURES_OFF, ...job.extra_features_off])].join(',')}`);
  if (job.spki_sha256.length) add(`--ignore-certificate-errors-spki-list=${job.spki_sha256.join(',')}`);
  if (job.netlog) {
    add(`--log-net-log=${job.netlog}`);
    add(`--net-log-capture-mode=${captureMode(job)}`);
  }
  if (!sandboxed) add('--no-sandbox');
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

/** Some hosts of the real network are somewhere else. stand_ins: "host" or "host:port" -> "address:port". */
export function standInRules(stand_ins) {
  return Object.entries(stand_ins).map(([host, target]) => `MAP ${host} ${target}`).join(', ');
}

/** Watched loads are logged with headers as they were sent, and with every byte if bodies are wanted. */
function captureMode({op, bodies}) {
  if (op !== 'observe') return 'Default';
  return bodies ? 'Everything' : 'IncludeSensitive';
}

function launcherDefaults() {
  const prefix = '--disable-features=';
  const all = Launcher.defaultFlags();
  const featuresOff = all.filter(flag => flag.startsWith(prefix)).flatMap(flag => flag.slice(prefix.length).split(','));
  const flags = all.filter(flag => !flag.startsWith(prefix) && !LAUNCHER_FLAGS_LEFT_OUT.has(flag.split('=', 1)[0]));
  return {flags, featuresOff};
}
