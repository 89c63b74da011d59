/** What several ops of a job have in common, and what ends up on Chromium's command line: checked here, a job is input. */

import {isIPv4} from 'node:net';
import {basename, isAbsolute, resolve} from 'node:path';

export const FORM_FACTORS = ['mobile', 'desktop'];

// Host patterns as --host-resolver-rules knows them; a comma or a space would start another rule.
export const HOST = /^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i;
const HOST_AND_PORT = /^(.*?)(?::([0-9]{1,5}))?$/;
const SHA256_BASE64 = /^[A-Za-z0-9+/]{43}=$/;

// The worker empties and removes this directory: nothing that was not made for it may be named.
const PROFILE_PREFIX = 'mixedsched-browser-';

/** Check the fields of every op that starts a browser. need(condition, text) throws. */
export function checkBrowserFields({form_factor, address, spki_sha256, profile_dir, limit_s}, need) {
  need(FORM_FACTORS.includes(form_factor), `form_factor must be one of ${FORM_FACTORS.join(', ')}`);
  need(typeof address === 'string' && isIPv4(address), 'address must be an IPv4 address');
  need(isListOf(spki_sha256, SHA256_BASE64), 'spki_sha256 must be a list of base64 SHA-256 hashes');
  need(isProfile(profile_dir), `profile_dir must be an absolute path whose last part starts with ${PROFILE_PREFIX}`);
  need(isPositive(limit_s), 'limit_s must be a positive number of seconds');
}

/** Host names, each with its UDP port. */
export function checkHosts(hosts, need) {
  need(isPlainObject(hosts), 'hosts must map host names to UDP ports');
  for (const [host, port] of Object.entries(hosts)) {
    need(HOST.test(host), `hosts: '${host}' is no host name`);
    need(isPort(port), `hosts: the port of '${host}' must be 1..65535`);
  }
}

/** "host" or "host:port", each with the "address:port" that stands in for it. */
export function checkResolve(stand_ins, need) {
  need(isPlainObject(stand_ins), 'resolve must map hosts to address:port');
  for (const [name, target] of Object.entries(stand_ins)) {
    const [host, port] = partsOf(name);
    need(HOST.test(host) && (port === undefined || isPort(Number(port))), `resolve: '${name}' is no host or host:port`);
    const [address, targetPort] = partsOf(String(target));
    need(typeof target === 'string' && isIPv4(address) && isPort(Number(targetPort)), `resolve: '${target}' for '${name}' is no IPv4 address:port`);
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

export function isPositive(value) {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
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
