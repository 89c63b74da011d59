/** What several ops of a job have in common, and what ends up on Chromium's command line: checked here, a job is input. */

import {isIPv4} from 'node:net';
import {basename, isAbsolute, resolve} from 'node:path';

export const FORM_FACTORS = ['mobile', 'desktop'];

// Host patterns as --host-resolver-rules knows them; a comma or a space would start another rule.
const HOST = /^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i;
const HOST_AND_PORT = /^(.*?)(?::([0-9]{1,5}))?$/s;
const SHA256_BASE64 = /^[A-Za-z0-9+/]{43}=$/;

// Node's timers reach about twice as far, and end at once if they are set for longer.
const SECONDS_MAX = 1_000_000;

// The worker empties and removes this directory: nothing that was not made for it may be named.
const PROFILE_PREFIX = 'mixedsched-browser-';

/** Check the fields of every op that starts a browser. need(condition, text) throws. */
export function checkBrowserFields({form_factor, address, spki_sha256, profile_dir, limit_s}, need) {
  need(FORM_FACTORS.includes(form_factor), `form_factor must be one of ${FORM_FACTORS.join(', ')}`);
  need(typeof address === 'string' && isIPv4(address), 'address must be an IPv4 address');
  need(isListOf(spki_sha256, SHA256_BASE64), 'spki_sha256 must be a list of base64 SHA-256 hashes');
  need(isProfile(profile_dir), `profile_dir must be an absolute path whose last part starts with ${PROFILE_PREFIX}`);
  checkSeconds({limit_s}, need);
}

/** Durations, by the names of their fields. */
export function checkSeconds(durations_s, need) {
  for (const [field, duration_s] of Object.entries(durations_s)) {
    const isGood = typeof duration_s === 'number' && duration_s > 0 && duration_s <= SECONDS_MAX;
    need(isGood, `${field} must be a positive number of seconds, at most ${SECONDS_MAX}`);
  }
}

/** What is on or off, by the names of the fields. */
export function checkBooleans(booleans, need) {
  for (const [field, value] of Object.entries(booleans)) need(typeof value === 'boolean', `${field} must be true or false`);
}

/** Host names, each with its UDP port. */
export function checkHosts(hosts, need) {
  need(isPlainObject(hosts), 'hosts must map host names to UDP ports');
  for (const [host, port] of Object.entries(hosts)) {
    need(HOST.test(host), `hosts: '${host}' is not a host name`);
    need(isPort(port), `hosts: the port of '${host}' must be 1..65535`);
  }
}

/** "host" or "host:port", each with the "address:port" that stands in for it. */
export function checkResolve(stand_ins, need) {
  need(isPlainObject(stand_ins), 'resolve must map hosts to address:port');
  for (const [name, target] of Object.entries(stand_ins)) {
    const [host, port] = partsOf(name);
    need(HOST.test(host) && (port === undefined || isPort(Number(port))), `resolve: '${name}' is neither a host nor host:port`);
    const [address, targetPort] = partsOf(String(target));
    need(typeof target === 'string' && isIPv4(address) && isPort(Number(targetPort)), `resolve: '${target}' for '${name}' is not an IPv4 address with a port`);
  }
}

export function isUrl(text, protocols) {
  return typeof text === 'string' && URL.canParse(text) && protocols.includes(new URL(text).protocol);
}

export function isAbsolutePath(value) {
  return typeof value === 'string' && isAbsolute(value);
}

export function isPlainObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

export function isListOf(value, pattern) {
  return Array.isArray(value) && value.every(item => typeof item === 'string' && pattern.test(item));
}

function isProfile(path) {
  return isAbsolutePath(path) && basename(resolve(path)).startsWith(PROFILE_PREFIX);
}

function isPort(port) {
  return Number.isInteger(port) && port > 0 && port < 65536;
}

function partsOf(text) {
  return text.match(HOST_AND_PORT).slice(1);
}
