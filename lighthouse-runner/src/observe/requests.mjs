/** Collects the requests of a page and its helpers from DevTools' Network events, each redirect as a request of its own. */

// More than any page needs: a script that asks in a loop fills no memory.
const REQUESTS_MAX = 10_000;

export class Requests {
  constructor() {
    this.all = [];
    this.running = new Map(); // by request id
    this.received_bytes = 0;
    this.activity_ms = performance.now();
    this.isFull = false;
  }

  /** Listen to a session; its requests are told apart by id, which is unique in the browser. */
  watch(session) {
    const on = (name, handle) => session.on(`Network.${name}`, event => {
      const running = this.running.get(event.requestId);
      if (running && !isEndless(running.record)) this.activity_ms = performance.now();
      handle(event);
    });
    on('requestWillBeSent', event => this.sent(event, session));
    on('responseReceived', event => this.answered(event));
    on('requestServedFromCache', ({requestId}) => this.change(requestId, request => (request.from_cache = true)));
    on('resourceChangedPriority', ({requestId, newPriority}) => this.change(requestId, request => (request.final_priority = newPriority)));
    on('dataReceived', event => this.received(event));
    on('loadingFinished', event => this.ended(event));
    on('loadingFailed', event => this.ended(event));
  }

  /** The requests from this number on, as they are now. */
  copies(first = 0) {
    return this.all.slice(first).map(request => ({...request}));
  }

  /** A target has gone, and nobody will tell how its requests ended. */
  forget(session) {
    for (const [id, request] of this.running) if (request.session === session) this.running.delete(id);
  }

  /** Whether the page waits for something. stalled_ms: a media response without data for so long is only buffered. */
  isBusy(stalled_ms) {
    const now_ms = performance.now();
    return [...this.running.values()].some(({record, data_ms}) =>
      !isEndless(record) && !(record.type === 'Media' && now_ms - data_ms > stalled_ms));
  }

  sent(event, session) {
    const {requestId, redirectResponse} = event;
    const before = this.running.get(requestId);
    if (before && before.session !== session) return; // a worker's script is told of twice
    if (before && redirectResponse) {
      Object.assign(before.record, answerOf(redirectResponse), {complete_tick_ms: tick(event.timestamp), is_finished: true});
    }
    if (!/^https?:/.test(event.request.url)) return;
    if (this.all.length >= REQUESTS_MAX) {
      this.isFull = true;
      return;
    }
    const record = recordOf(event, before && redirectResponse ? before.record : null);
    record.index = this.all.push(record) - 1;
    this.activity_ms = performance.now();
    this.running.set(requestId, {record, session, data_ms: this.activity_ms});
  }

  answered({requestId, response, type}) {
    this.change(requestId, record => Object.assign(record, answerOf(response), type === 'Preflight' ? {} : {type}));
  }

  received({requestId, dataLength}) {
    const running = this.running.get(requestId);
    if (!running) return;
    running.data_ms = performance.now();
    running.record.decoded_bytes += dataLength;
    this.received_bytes += dataLength;
  }

  ended({requestId, timestamp, errorText, blockedReason, canceled}) {
    this.change(requestId, record => {
      record.complete_tick_ms = tick(timestamp);
      record.is_finished = errorText === undefined;
      if (errorText !== undefined) record.failure = [errorText, blockedReason, canceled && 'canceled'].filter(Boolean).join(', ');
    });
    this.running.delete(requestId);
  }

  change(requestId, apply) {
    const running = this.running.get(requestId);
    if (running) apply(running.record);
  }
}

/** Streams of events are meant to stay open: no page waits for them. */
function isEndless(record) {
  return record.type === 'EventSource' || record.mime === 'text/event-stream';
}

function recordOf(event, before) {
  const {request, initiator, type, documentURL, timestamp} = event;
  return {
    url: request.url.replace(/#.*$/s, ''),
    method: request.method,
    type: type ?? 'Other',
    priority: request.initialPriority,
    final_priority: request.initialPriority,
    is_preload: request.isLinkPreload === true,
    has_body: request.hasPostData === true,
    request_headers: request.headers,
    initiator: before ? {type: 'redirect', url: before.url, line: null, column: null} : initiatorOf(initiator),
    document_url: documentURL,
    frame_id: event.frameId ?? null,
    redirected_from: before ? before.index : null,
    asked_tick_ms: tick(timestamp),
    asked_wall_ms: event.wallTime * 1000,
    decoded_bytes: 0,
    status: 0,
    mime: '',
    protocol: '',
    response_headers: {},
    from_cache: false,
    sent_tick_ms: null,
    first_byte_tick_ms: null,
    complete_tick_ms: null,
    is_finished: false,
    failure: null,
  };
}

function answerOf(response) {
  const {timing} = response;
  const at = offset_ms => (timing && offset_ms >= 0 ? timing.requestTime * 1000 + offset_ms : null);
  return {
    status: response.status,
    mime: response.mimeType,
    protocol: response.protocol ?? '',
    response_headers: response.headers,
    from_cache: Boolean(response.fromDiskCache || response.fromPrefetchCache),
    sent_tick_ms: at(timing?.sendStart),
    first_byte_tick_ms: at(timing?.receiveHeadersStart ?? timing?.receiveHeadersEnd),
  };
}

/** Who asked. A script is the innermost function of a file, looking back through what it was called from later. */
export function initiatorOf({type, url, lineNumber, columnNumber, stack}) {
  for (let part = stack; part; part = part.parent) {
    const frame = part.callFrames.find(({url: file}) => /^https?:/.test(file));
    if (frame) return {type, url: frame.url, line: frame.lineNumber, column: frame.columnNumber};
  }
  return {type, url: url || null, line: lineNumber ?? null, column: columnNumber ?? null};
}

/** Now, on the clock of the ticks. */
export function nowTick() {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** DevTools counts seconds of the machine's monotonic clock; NetLogs count milliseconds of the same. */
function tick(timestamp_s) {
  return timestamp_s * 1000;
}
