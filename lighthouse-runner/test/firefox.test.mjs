import assert from 'node:assert/strict';
import {mkdtempSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {setTimeout as sleep} from 'node:timers/promises';

import {RunFailure} from '../src/failure.mjs';
import {BidiError} from '../src/firefox/bidi.mjs';
import {askedAtTheEnd} from '../src/firefox/end.mjs';
import {endFilm, NAVIGATION_US, traceOf} from '../src/firefox/film.mjs';
import {Firefox} from '../src/firefox/firefox.mjs';
import {whyLate} from '../src/firefox/load.mjs';
import {preferencesOf, userJs} from '../src/firefox/preferences.mjs';
import {Requests} from '../src/firefox/requests.mjs';
import {parseJob} from '../src/job.mjs';

const JOB = {id: 1, op: 'firefox', url: 'https://site.test/', profile_dir: '/tmp/mixedsched-browser-1', hosts: {'site.test': 4433}};

test('a job with nothing optional gets the defaults', () => {
  assert.deepEqual(parseJob(JSON.stringify(JOB)), {
    ...JOB, metrics: {}, form_factor: 'mobile', address: '127.0.0.1', limit_s: 90, max_wait_s: 45, frames: true,
  });
});

test('what would end up in preferences, or cannot be measured, is refused', () => {
  const broken = [
    {hosts: {'*.site.test': 1}}, {hosts: {'a";b': 1}}, {address: 'localhost'}, {metrics: {tbt_ms: 'total-blocking-time'}}, {profile_dir: '/tmp'},
    {url: 'http://site.test/'}, {max_wait_s: 0},
  ];
  for (const fields of broken) assert.throws(() => parseJob(JSON.stringify({...JOB, ...fields})), {reason: 'bad_job'}, JSON.stringify(fields));
});

test("the site's hosts lead to the lab over HTTP/3, and nothing else is reached", () => {
  const preferences = preferencesOf({hosts: {'site.test': 4433, 'cdn.test': 4434}, address: '10.0.0.2'});
  assert.equal(preferences['network.dns.forceResolve'], '10.0.0.2');
  assert.equal(preferences['network.http.http3.alt-svc-mapping-for-testing'], 'site.test;h3=":4433",cdn.test;h3=":4434"');
  assert.equal(preferences['network.proxy.no_proxies_on'], 'site.test,cdn.test');
  assert.match(userJs(preferences), /^user_pref\("network\.proxy\.type", 1\);$/m);
});

function event(method, {request = 'a', redirectCount = 0, url = 'https://site.test/x', headers = [], destination = 'image', timings = {}, ...params} = {}) {
  const times = {requestTime: 1_000_010, requestStart: 1_000_020, responseEnd: 1_000_050, ...timings};
  return {
    method: `network.${method}`,
    params: {redirectCount, request: {request, url, headers, destination, initiatorType: 'img', timings: times}, ...params},
  };
}

const ANSWER = {response: {protocol: 'h3', status: 200, fromCache: false, bytesReceived: 100, bodySize: 90}};

test('a request is described from its events, in ms since the time origin', () => {
  const requests = new Requests();
  assert.equal(requests.take(event('beforeRequestSent')), true);
  assert.deepEqual(requests.network, {isIdle: false, isNearlyIdle: true});
  const headers = [{name: 'Priority', value: {type: 'string', value: 'u=5, i'}}];
  assert.equal(requests.take(event('responseStarted', {headers, ...ANSWER})), false);
  assert.equal(requests.take(event('responseCompleted', {headers, ...ANSWER})), true);
  assert.deepEqual(requests.network, {isIdle: true, isNearlyIdle: true});
  assert.deepEqual(requests.list(1_000_000), [{
    url: 'https://site.test/x', protocol: 'h3', priority: 'u=5, i', resource_type: 'Image', status: 200, transfer_bytes: 100, resource_bytes: 90,
    start_ms: 10, request_ms: 20, end_ms: 50, finished: true, asked_by: null, asked_how: 'img', failure: null,
  }]);
});

test('redirects are requests of their own, what was in memory is none, and what is open or failed is told', () => {
  const requests = new Requests();
  requests.take(event('beforeRequestSent', {request: 'a'}));
  requests.take(event('responseCompleted', {request: 'a', response: {...ANSWER.response, status: 301}}));
  requests.take(event('beforeRequestSent', {request: 'a', redirectCount: 1, url: 'https://site.test/y'}));
  requests.take(event('beforeRequestSent', {request: 'b'}));
  requests.take(event('responseCompleted', {request: 'b', response: {...ANSWER.response, fromCache: true}}));
  requests.take(event('beforeRequestSent', {request: 'c', url: 'https://site.test/z'}));
  requests.take(event('fetchError', {request: 'c', url: 'https://site.test/z', errorText: 'NS_ERROR_NET_RESET'}));
  requests.take(event('beforeRequestSent', {request: 'd', url: 'data:image/png;base64,'}));
  assert.deepEqual(
    requests.list(1_000_000).map(({url, status, finished, failure}) => [url, status, finished, failure]),
    [
      ['https://site.test/x', 301, true, null],
      ['https://site.test/y', -1, false, null],
      ['https://site.test/z', -1, true, 'NS_ERROR_NET_RESET'],
    ],
  );
});

test('streams of events stay open, and nobody waits for them', () => {
  const requests = new Requests();
  const headers = [{name: 'Accept', value: {type: 'string', value: 'text/event-stream'}}];
  requests.take(event('beforeRequestSent', {headers, destination: ''}));
  assert.equal(requests.network.isIdle, true);
  assert.equal(requests.list(1_000_000)[0].resource_type, 'EventSource');
});

test('a page that asks in a loop fills no memory, and its requests are waited for all the same', () => {
  const requests = new Requests();
  const asked = number => ({request: `${number}`, url: `https://site.test/${number}`});
  for (let number = 0; number <= 10_000; number++) requests.take(event('beforeRequestSent', asked(number)));
  for (let number = 0; number < 10_000; number++) requests.take(event('responseCompleted', {...asked(number), ...ANSWER}));
  assert.equal(requests.network.isIdle, false);
  assert.equal(requests.take(event('responseCompleted', {...asked(10_000), ...ANSWER})), true);
  assert.equal(requests.network.isIdle, true);
  const listed = requests.list(1_000_000);
  assert.equal(listed.length, 10_000);
  assert.ok(listed.every(({finished}) => finished));
});

test('what keeps Firefox from a page has the code that Firefox gives it', () => {
  const codes = {
    NS_ERROR_CONNECTION_REFUSED: 'NS_ERROR_CONNECTION_REFUSED',
    'Error: NS_ERROR_UNKNOWN_HOST': 'NS_ERROR_UNKNOWN_HOST',
    'Reached error page: about:neterror?e=connectionFailure&u=https%3A//a.test/&f=regular': 'connectionFailure',
    'Navigation timed out': 'FAILED',
    '': 'FAILED',
  };
  for (const [text, code] of Object.entries(codes)) assert.equal(new BidiError('browsingContext.navigate', text).code, code);
});

test('a page whose document comes just when the time is up is asked again', async () => {
  const gone = new BidiError('script.callFunction', 'the document is gone');
  const answers = [gone, {fcp_ms: null}, gone, {fcp_ms: 7}, 1234];
  const run = async () => {
    const answer = answers.shift();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  assert.deepEqual(await askedAtTheEnd({run}, 'tab'), {page: {fcp_ms: 7}, repainted_ms: 1234});
});

test('a browser that is gone, or a page that is never there, is not asked for ever', async () => {
  const failing = error => askedAtTheEnd({run: () => Promise.reject(error)}, 'tab');
  await assert.rejects(failing(new Error('Firefox has closed the connection')), /closed the connection/);
  await assert.rejects(failing(new BidiError('script.callFunction', 'no such frame')), /no such frame/);
});

test('a page that moves for so long that its film fills the memory is given up', async () => {
  const firefox = new Firefox(mkdtempSync(join(tmpdir(), 'runner-test-')));
  firefox.spawn('/bin/sh', ['-c', 'exec sleep 60'], {});
  await assert.rejects(firefox.overflow(1), {reason: 'film_too_large'});
  assert.equal(await Promise.race([firefox.overflow(2 ** 40), sleep(700, 'within bounds')]), 'within bounds');
  await firefox.stop();
});

/** Make the browser's own window, as far as endFilm needs it, of a record with so many pictures; the page is repainted at 100 s. */
function windowWith(t, times_ms) {
  let latest = null; // on the canvas
  class Image {
    decode() {
      latest = this.src;
    }
  }
  const drawing = {fillRect() {}, setTransform() {}, drawImage() {}};
  const createElementNS = () => {
    const canvas = {getContext: () => Object.assign(Object.create(drawing), {canvas}), toDataURL: () => `data:,${latest}`};
    return canvas;
  };
  const frames = times_ms.map(at_ms => ({timeOffset: at_ms, dataUri: `picture at ${at_ms}`}));
  globalThis.document = {createElementNS};
  globalThis.window = {
    windowUtils: {stopCompositionRecording: async () => ({recordingStart: 0, frames})},
    gBrowser: {selectedBrowser: {getBoundingClientRect: () => ({left: 0, top: 0, width: 412, height: 823})}},
    innerWidth: 412, innerHeight: 823, Image,
  };
  t.after(() => {
    delete globalThis.document;
    delete globalThis.window;
  });
}

test('a film has all pictures, and the one of the repaint counts from the largest paint on', async t => {
  windowWith(t, [100, 200, 300, 100_010]);
  const shots = await endFilm(50, 100_000, 280);
  assert.deepEqual(shots.map(({at_ms}) => at_ms), [-50, 50, 150, 250, 280]);
  assert.equal(shots.at(-1).jpeg_base64, 'picture at 100010');
});

test('of a page that moves all the time a film has every n-th picture, and the last one', async t => {
  windowWith(t, Array.from({length: 2701}, (_, place) => 10 * place));
  const shots = await endFilm(0, 100_000, 0);
  assert.ok(shots.length <= 452, `${shots.length} shots`);
  assert.deepEqual([shots[1].at_ms, shots.at(-1).at_ms, shots.at(-1).jpeg_base64], [0, 27_000, 'picture at 27000']);
});

test('where the time is up after the load, it is the film that took too long', () => {
  const late = new RunFailure('timeout', 'no result within 180 s');
  const {reason, detail} = whyLate(late, {started_ms: 1000, loaded_ms: 161_000});
  assert.equal(reason, 'film_too_large');
  assert.equal(detail, 'no result within 180 s: the page changed its looks for up to 160 s, and the film of that was not ready');
  assert.equal(whyLate(late, {started_ms: 1000, loaded_ms: null}), late);
  const other = new RunFailure('firefox_died', 'it ended');
  assert.equal(whyLate(other, {started_ms: 1000, loaded_ms: 161_000}), other);
});

test('a film is a trace of screenshots', () => {
  const [shot] = traceOf([{at_ms: 12.5, jpeg_base64: 'abc'}]);
  assert.deepEqual([shot.name, shot.ts - NAVIGATION_US, shot.args], ['Screenshot', 12_500, {snapshot: 'abc'}]);
});
