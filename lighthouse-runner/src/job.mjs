/** The jobs that the worker accepts. */

import {resolve} from 'node:path';

import {checkBooleans, checkBrowserFields, checkHosts, checkSeconds, isAbsolutePath, isListOf, isPlainObject, isUrl} from './checks.mjs';
import {RunFailure} from './failure.mjs';
import {firefoxFields} from './firefox/job.mjs';
import {observeFields} from './observe/job.mjs';

const FIELDS = {run: runFields, firefox: firefoxFields, observe: observeFields, versions: versionsFields};
const OPS = [...Object.keys(FIELDS), 'ping', 'stop', 'quit'];
const BROWSERS = ['chromium', 'firefox'];
const THROTTLINGS = ['provided', 'simulate'];
const FEATURE = /^[A-Za-z0-9_]+$/;
const AUDIT = /^[a-z0-9-]+$/;

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
  if (!isPlainObject(raw)) throw badJob(null, 'a job is a JSON object');
  const id = ['number', 'string'].includes(typeof raw.id) ? raw.id : null;
  if (id === null) throw badJob(null, 'id must be a number or a string');
  if (!OPS.includes(raw.op)) throw badJob(id, `op must be one of ${OPS.join(', ')}`);
  const need = (condition, text) => {
    if (!condition) throw badJob(id, text);
  };
  return {id, op: raw.op, ...FIELDS[raw.op]?.(raw, need)};
}

function versionsFields({browser = 'chromium'}, need) {
  need(BROWSERS.includes(browser), `browser must be one of ${BROWSERS.join(', ')}`);
  return {browser};
}

function runFields(raw, need) {
  const {
    url, metrics = {}, form_factor = 'mobile', hosts = {}, address = '127.0.0.1', spki_sha256 = [], profile_dir, netlog = null,
    limit_s = 90, max_wait_s = 45, cpu_slowdown = 1, throttling = 'provided', extra_features_off = [], frames = true,
    inspect = false, over_tcp = false,
  } = raw;
  need(isUrl(url, ['https:']), 'url must be an https URL');
  need(isPlainObject(metrics) && isListOf(Object.values(metrics), AUDIT), "metrics must map names to Lighthouse's audits");
  checkHosts(hosts, need);
  checkBrowserFields({form_factor, address, spki_sha256, profile_dir, limit_s}, need);
  need(netlog === null || isAbsolutePath(netlog), 'netlog must be an absolute path or null');
  checkSeconds({max_wait_s}, need);
  need(Number.isFinite(cpu_slowdown) && cpu_slowdown >= 1, 'cpu_slowdown must be a number from 1 on');
  need(THROTTLINGS.includes(throttling), `throttling must be one of ${THROTTLINGS.join(', ')}`);
  need(throttling === 'provided' || cpu_slowdown === 1, "cpu_slowdown goes with throttling 'provided'");
  need(isListOf(extra_features_off, FEATURE), 'extra_features_off must be a list of feature names');
  checkBooleans({frames, inspect, over_tcp}, need);
  return {
    url, metrics, form_factor, hosts, address, spki_sha256, profile_dir: resolve(profile_dir), netlog,
    limit_s, max_wait_s, cpu_slowdown, throttling, extra_features_off, frames, inspect, over_tcp,
  };
}

function badJob(id, text) {
  return Object.assign(new RunFailure('bad_job', text), {jobId: id});
}
