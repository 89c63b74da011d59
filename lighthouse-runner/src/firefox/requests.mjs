/** The requests of a load, from BiDi's network events, in the words that run.mjs has for Chromium's. */

// More than any page needs: a script that asks in a loop fills no memory.
const REQUESTS_MAX = 10_000;

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
    this.underWay = new Set(); // without streams of events, which stay open and belong to no load
  }

  /** Take an event of the module "network". Returns whether a request has begun or ended. Requests beyond REQUESTS_MAX are not kept. */
  take({method, params}) {
    const {request, redirectCount, response, errorText} = params;
    if (!/^https?:/.test(request.url)) return false;
    const key = `${request.request}/${redirectCount}`;
    const begins = method === 'network.beforeRequestSent';
    const isOver = method === 'network.responseCompleted' || method === 'network.fetchError';
    if (isOver || typeOf(request) === EVENT_STREAM) this.underWay.delete(key);
    else if (begins) this.underWay.add(key);
    const record = this.found.get(key) ?? {response: null, isOver: false};
    if (this.found.has(key) || this.found.size < REQUESTS_MAX) {
      this.found.set(key, {request, response: response ?? record.response, failure: errorText ?? null, isOver: record.isOver || isOver});
    }
    return begins || isOver;
  }

  /** What Settling.network takes. */
  get network() {
    return {isIdle: this.underWay.size === 0, isNearlyIdle: this.underWay.size <= OVERLOOKED};
  }

  /** All that went over the network, in order of their start. timeOrigin_ms: of the page, Unix time. */
  list(timeOrigin_ms) {
    return [...this.found.values()]
      .filter(({response}) => !response?.fromCache) // images that are shown twice, for instance
      .map(record => describe(record, timeOrigin_ms))
      .sort((a, b) => a.start_ms - b.start_ms);
  }
}

function describe({request, response, failure, isOver}, timeOrigin_ms) {
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
