/** The fields of the op "observe". */

import {resolve as resolvePath} from 'node:path';

import {checkBooleans, checkBrowserFields, checkHosts, checkResolve, checkSeconds, isAbsolutePath, isUrl} from '../checks.mjs';

/** Check and fill them in. need(condition, text) throws. hosts: null for the real network. */
export function observeFields(raw, need) {
  const {
    url, form_factor = 'mobile', hosts = null, address = '127.0.0.1', resolve = {}, spki_sha256 = [], insecure = false,
    profile_dir, netlog, bodies = false, quiet_s = 2, limit_s = 60, screenshot = true, scroll = false,
  } = raw;
  if (hosts !== null) checkHosts(hosts, need);
  const protocols = hosts === null ? ['https:', 'http:'] : ['https:'];
  need(isUrl(url, protocols), `url must be an ${hosts === null ? 'http or https' : 'https'} URL`);
  checkBrowserFields({form_factor, address, spki_sha256, profile_dir, limit_s}, need);
  checkResolve(resolve, need);
  need(hosts === null || Object.keys(resolve).length === 0, 'resolve is for the real network, that is without hosts');
  need(hosts === null || !insecure, 'insecure is for the real network, that is without hosts');
  need(isAbsolutePath(netlog), 'netlog must be an absolute path');
  checkBooleans({insecure, bodies, screenshot, scroll}, need);
  checkSeconds({quiet_s}, need);
  return {
    url, form_factor, hosts, address, resolve, spki_sha256, insecure, profile_dir: resolvePath(profile_dir), netlog, bodies,
    quiet_s, limit_s, screenshot, scroll, extra_features_off: [],
  };
}
