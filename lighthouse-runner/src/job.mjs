/**
 * The jobs that the worker accepts. Everything that ends up on Chromium's command line is checked here: a job is input.
 */

import {isIPv4} from 'node:net';
import {basename, isAbsolute, resolve} from 'node:path';

import {RunFailure} from './failure.mjs';

const OPS = ['ping', 'versions', 'run', 'quit'];
const FORM_FACTORS = ['mobile', 'desktop'];
// Host patterns as --host-resolver-rules knows them; a comma or a space would start another rule.
const HOST = /^(\*\.)?[a-z0-9_]([a-z0-9._-]*[a-z0-9_])?$/i;
const SHA256_BASE64 = /^[A-Za-z0-9+/]{43}=$/;
const FEATURE = /^[A-Za-z0-9_]+$/;
// The worker empties and removes this directory: nothing that was not made for it may be named.
const PROFILE_PREFIX = 'mixedsched-chrome-';

/**
 * Check one line of input. Returns the job with every optional field filled; throws RunFailure bad_job that names the field.
 * The error carries `jobId`, so that an answer can be matched even to a broken job.
 */
export function parseJob(line) {
  let raw;
  try {
    raw = JSON.parse(line);
  } catch (error) {
    throw badJob(null, `the line is not JSON: ${error.message}`);
  }
  if (raw === null || typeof raw !== 'object' || Array.isArray(raw)) throw badJob(null, 'a job is a JSON object');
  const id = ['number', 'string'].includes(typeof raw.id) ? raw.id : null;
  if (id === null) throw badJob(null, 'id must be a number or a string');
  if (!OPS.includes(raw.op)) throw badJob(id, `op must be one of ${OPS.join(', ')}`);
  return raw.op === 'run' ? {id, op: raw.op, ...runFields(id, raw)} : {id, op: raw.op};
}

function runFields(id, raw) {
  const need = (condition, text) => {
    if (!condition) throw badJob(id, text);
  };
  const {
    url, form_factor = 'mobile', hosts = {}, address = '127.0.0.1', spki_sha256 = [], profile_dir, netlog = null,
    limit_s = 90, max_wait_s = 45, own_waits = false, extra_features_off = [], frames = true,
  } = raw;
  need(typeof url === 'string' && URL.canParse(url) && new URL(url).protocol === 'https:', 'url must be an https URL');
  need(FORM_FACTORS.includes(form_factor), `form_factor must be one of ${FORM_FACTORS.join(', ')}`);
  need(isPlainObject(hosts), 'hosts must map host names to UDP ports');
  for (const [host, port] of Object.entries(hosts)) {
    need(HOST.test(host), `hosts: '${host}' is no host name`);
    need(Number.isInteger(port) && port > 0 && port < 65536, `hosts: the port of '${host}' must be 1..65535`);
  }
  need(typeof address === 'string' && isIPv4(address), 'address must be an IPv4 address');
  need(isListOf(spki_sha256, SHA256_BASE64), 'spki_sha256 must be a list of base64 SHA-256 hashes');
  need(isProfile(profile_dir), `profile_dir must be an absolute path whose last part starts with ${PROFILE_PREFIX}`);
  need(netlog === null || (typeof netlog === 'string' && isAbsolute(netlog)), 'netlog must be an absolute path or null');
  need(isPositive(limit_s), 'limit_s must be a positive number of seconds');
  need(isPositive(max_wait_s), 'max_wait_s must be a positive number of seconds');
  need(typeof own_waits === 'boolean', 'own_waits must be true or false');
  need(isListOf(extra_features_off, FEATURE), 'extra_features_off must be a list of feature names');
  need(typeof frames === 'boolean', 'frames must be true or false');
  return {
    url, form_factor, hosts, address, spki_sha256, profile_dir: resolve(profile_dir), netlog,
    limit_s, max_wait_s, own_waits, extra_features_off, frames,
  };
}

function badJob(id, text) {
  return Object.assign(new RunFailure('bad_job', text), {jobId: id});
}

function isProfile(path) {
  return typeof path === 'string' && isAbsolute(path) && basename(resolve(path)).startsWith(PROFILE_PREFIX);
}

function isPlainObject(value) {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isListOf(value, pattern) {
  return Array.isArray(value) && value.every(item => typeof item === 'string' && pattern.test(item));
}

function isPositive(value) {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}
