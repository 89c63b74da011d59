/** The requests of a load, from BiDi's network events, in the words that run.mjs has for Chromium's. */

// How many requests under way Lighthouse overlooks.
const OVERLOOKED = 2;

const EVENT_STREAM = 'EventSource';

const RESOURCE_TYPES = {
  document: 'Document', iframe: 'Document', frame: 'Document', style: 'Stylesheet', script: 'Script', image: 'Image', font: 'Font',
  audio: 'Media', video: 'Media', track: 'TextTrack', manifest: 'Manifest', worker: 'Script', sharedworker: 'Script', serviceworker: 'Script',
};
const WITHOUT_DESTINATION = {xmlhttprequest: 'XHR', fetch: 'Fetch'};

export class Requests {
  constructor() {
    this.found = new Map();
    this.underWay = new Set();
  }

  /** Take an event of the module "network". Returns whether a request has begun or ended. */
  take({method, params}) {
    const {request, redirectCount} = params;
    if (!/^https?:/.test(request.url)) return false;
    const key = `${request.request}/${redirectCount}`;
    const record = this.found.get(key) ?? {};
    this.found.set(key, {...record, request, response: params.response ?? record.response ?? null, failure: params.errorText ?? null});
    if (method === 'network.beforeRequestSent') this.underWay.add(key);
    if (method === 'network.responseCompleted' || method === 'network.fetchError') {
      this.found.get(key).isOver = true;
      this.underWay.delete(key);
      return true;
    }
    return method === 'network.beforeRequestSent';
  }

  /** What Settling.network takes: streams of events stay open, and belong to no load. */
  get network() {
    const count = [...this.underWay].filter(key => typeOf(this.found.get(key).request) !== EVENT_STREAM).length;
    return {isIdle: count === 0, isNearlyIdle: count <= OVERLOOKED};
  }

  /** All that went over the network, in order of their start. timeOrigin_ms: of the page, Unix time. */
  list(timeOrigin_ms) {
    return [...this.found.values()]
      .filter(({response}) => !response?.fromCache) // images that are shown twice, for instance
      .map(record => describe(record, timeOrigin_ms))
      .sort((a, b) => a.start_ms - b.start_ms);
  }
}

function describe({request, response, failure, isOver = false}, timeOrigin_ms) {
  const since = unix_ms => (unix_ms > 0 ? Math.max(0, Math.round((unix_ms - timeOrigin_ms) * 1000) / 1000) : null);
  const {requestTime, requestStart, responseEnd} = request.timings;
  return {
    url: request.url,
    protocol: response?.protocol ?? '',
    priority: headerOf(request, 'priority'),
    resource_type: typeOf(request),
    status: response?.status ?? -1,
    transfer_bytes: response?.bytesReceived ?? 0,
    resource_bytes: response?.bodySize ?? 0,
    start_ms: since(requestTime),
    request_ms: since(requestStart),
    end_ms: isOver ? since(responseEnd) : null,
    finished: isOver,
    asked_by: null,
    asked_how: request.initiatorType,
    failure,
  };
}

function typeOf(request) {
  const {destination, initiatorType} = request;
  if (headerOf(request, 'accept') === 'text/event-stream') return EVENT_STREAM;
  return RESOURCE_TYPES[destination] ?? WITHOUT_DESTINATION[initiatorType] ?? 'Other';
}

/** The value of a header; "" if there is none. */
function headerOf({headers}, name) {
  return headers.find(header => header.name.toLowerCase() === name)?.value.value ?? '';
}
