/** The jobs of the op "firefox". */

import {resolve} from 'node:path';

import {checkBooleans, checkBrowserFields, checkHosts, checkSeconds, isPlainObject, isUrl} from '../checks.mjs';

/** What Firefox lets one measure, by Lighthouse's names: it has neither long tasks nor layout shifts. */
export const AUDITS = ['first-contentful-paint', 'largest-contentful-paint', 'speed-index'];

/** Check a job's fields. need(condition, text) throws. Returns them with every optional one filled. */
export function firefoxFields(raw, need) {
  const {url, metrics = {}, form_factor = 'mobile', hosts = {}, address = '127.0.0.1', profile_dir, limit_s = 90, max_wait_s = 45, frames = true} = raw;
  need(isUrl(url, ['https:']), 'url must be an https URL');
  need(isPlainObject(metrics) && Object.values(metrics).every(audit => AUDITS.includes(audit)), `metrics must map names to some of ${AUDITS.join(', ')}`);
  checkHosts(hosts, need);
  need(!Object.keys(hosts).some(host => host.startsWith('*')), 'hosts must be names without *');
  checkBrowserFields({form_factor, address, spki_sha256: [], profile_dir, limit_s}, need);
  checkSeconds({max_wait_s}, need);
  checkBooleans({frames}, need);
  return {url, metrics, form_factor, hosts, address, profile_dir: resolve(profile_dir), limit_s, max_wait_s, frames};
}
