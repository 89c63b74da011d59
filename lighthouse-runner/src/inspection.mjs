/** What Lighthouse knows of a page beside its metrics: bytes and waits that could be saved. For jobs that ask to `inspect`. */

import defaultConfig from 'lighthouse/core/config/default-config.js';

/** Lighthouse's audits by our names for what they find. */
const AUDITS = {
  text_compression: 'uses-text-compression',
  image_format: 'modern-image-formats',
  image_encoding: 'uses-optimized-images',
  image_size: 'uses-responsive-images',
  unused_styles: 'unused-css-rules',
  unused_scripts: 'unused-javascript',
  font_display: 'font-display',
  caching: 'uses-long-cache-ttl',
  server_response: 'server-response-time',
};

export const INSPECTION_AUDITS = Object.values(AUDITS);

const NEEDED = ['CSSUsage', 'ImageElements', 'JsUsage', 'OptimizedImages', 'ResponseCompression', 'Scripts', 'Stylesheets', 'ViewportDimensions'];

/** What these audits need to be gathered, most of it when the load is over. */
export const INSPECTION_ARTIFACTS = defaultConfig.artifacts.filter(({id}) => NEEDED.includes(id));

/**
 * By our name, what each audit lists: {url, total_bytes, wasted_bytes, wasted_ms, cache_s}, numbers or null. An audit that
 * could not be carried out is null. Urls are shortened by Lighthouse where they are long data.
 */
export function inspectionOf(lhr) {
  return Object.fromEntries(Object.entries(AUDITS).map(([name, audit]) => [name, itemsOf(lhr.audits[audit])]));
}

function itemsOf(result) {
  if (!result || result.scoreDisplayMode === 'error') return null;
  return (result.details?.items ?? [])
    .filter(({url}) => typeof url === 'string' && url.startsWith('http'))
    .map(item => ({
      url: item.url,
      total_bytes: finite(item.totalBytes),
      wasted_bytes: finite(item.wastedBytes),
      wasted_ms: finite(item.wastedMs) ?? finite(item.responseTime),
      cache_s: finite(item.cacheLifetimeMs) === null ? null : item.cacheLifetimeMs / 1000,
    }));
}

function finite(value) {
  return Number.isFinite(value) ? value : null;
}
