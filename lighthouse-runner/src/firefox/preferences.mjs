/** Firefox's preferences for one load: HTTP/3 from the first request on, to the lab and nowhere else. */

// Where nothing listens: connections that are not the site's are refused there.
const DEAD_END = {host: '127.0.0.1', port: 1};

const ALWAYS = {
  // HTTP/3 or nothing: no race with TCP, which a slow handshake would lose, and no doubt because of the lab's certificate.
  'network.http.http3.backup_timer_delay': 0,
  'network.http.http3.disable_when_third_party_roots_found': false,
  'network.http.http3.force-use-alt-svc-mapping-for-testing': true,
  'network.http.happy_eyeballs_enabled': false,
  'network.dns.httpssvc.http3_fast_fallback_timeout': 0,
  'network.dns.disableIPv6': true,
  'network.trr.mode': 5,
  // No guessed connections.
  'network.http.speculative-parallel-limit': 0,
  // Other hosts, this machine's among them, are out of reach.
  'network.proxy.type': 1,
  'network.proxy.http': DEAD_END.host,
  'network.proxy.http_port': DEAD_END.port,
  'network.proxy.ssl': DEAD_END.host,
  'network.proxy.ssl_port': DEAD_END.port,
  'network.proxy.allow_hijacking_localhost': true,
  // Nothing of the browser's own.
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,#remote-settings-dummy/v1',
  'app.update.disabledForTesting': true,
  'app.normandy.enabled': false,
  'extensions.update.enabled': false,
  'browser.safebrowsing.downloads.remote.enabled': false,
  // The page is shown by the process that showed the empty tab: after a change of processes, first paints are often not recorded.
  'fission.autostart': false,
  // Scrollbars take no room, as in Chromium.
  'ui.useOverlayScrollbars': 1,
  // What is measured is not rounded.
  'privacy.reduceTimerPrecision': false,
};

/** All preferences of a job. hosts: UDP port of each name, all at `address`. */
export function preferencesOf({hosts, address}) {
  return {
    ...ALWAYS,
    'network.dns.forceResolve': address,
    'network.http.http3.alt-svc-mapping-for-testing': Object.entries(hosts).map(([host, port]) => `${host};h3=":${port}"`).join(','),
    'network.proxy.no_proxies_on': Object.keys(hosts).join(','),
  };
}

/** The text of a profile's user.js. */
export function userJs(preferences) {
  return Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join('');
}
