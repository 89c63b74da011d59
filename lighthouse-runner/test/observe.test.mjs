import assert from 'node:assert/strict';
import {EventEmitter} from 'node:events';
import {test} from 'node:test';

import {attachAll} from '../src/observe/devtools.mjs';
import {Oddities} from '../src/observe/oddities.mjs';
import {Page} from '../src/observe/page.mjs';
import {Requests} from '../src/observe/requests.mjs';

/** A DevTools session that answers every command with nothing. sent: the commands, in order. */
function sessionOf(children = new Map()) {
  const session = new EventEmitter();
  session.sent = [];
  session.send = async method => void session.sent.push(method);
  session.connection = () => ({session: id => children.get(id)});
  return session;
}

test('a target that cannot be prepared runs on all the same, and the page with it', async () => {
  const child = sessionOf();
  const page = sessionOf(new Map([['C', child]]));
  const prepare = async session => {
    if (session === child) throw new Error("'Network.enable' wasn't found");
  };
  await attachAll(page, 'page', prepare);
  page.emit('Target.attachedToTarget', {sessionId: 'C', targetInfo: {type: 'worklet'}});
  await new Promise(setImmediate);
  assert.equal(child.sent.at(-1), 'Runtime.runIfWaitingForDebugger');
});

test('a service worker does not begin', async () => {
  const worker = sessionOf();
  const page = sessionOf(new Map([['W', worker]]));
  await attachAll(page, 'page', session => session.send('Network.enable'));
  page.emit('Target.attachedToTarget', {sessionId: 'W', targetInfo: {type: 'service_worker'}});
  await new Promise(setImmediate);
  assert.deepEqual(worker.sent, []);
});

test('a page that cannot be prepared is not loaded', async () => {
  await assert.rejects(attachAll(sessionOf(), 'page', () => Promise.reject(new Error('gone'))), /gone/);
});

test('any number of elements may come at once; so many are kept', () => {
  const page = new Page(sessionOf(), {});
  const elements = Array.from({length: 500_000}, () => ({tag: 'img'}));
  page.told({elements: elements.slice(0, 10)});
  page.told({elements});
  assert.equal(page.elements.length, 50_000);
});

test('any number of fonts may be loaded; so many are kept, and of those in a data URL not the font itself', async () => {
  const session = sessionOf();
  const page = new Page(session, {});
  await page.watchDocuments(session);
  const loaded = (fontFamily, src) => session.emit('CSS.fontsUpdated', {font: {fontFamily, fontWeight: '400', fontStyle: 'normal', src}});
  loaded('Own', `data:font/woff2;base64,${'A'.repeat(1_000_000)}`);
  for (let number = 0; number < 20_000; number++) loaded(`Font ${number % 15_000}`, 'https://a.test/font.woff2');
  session.emit('CSS.fontsUpdated', {}); // of what has not been loaded
  const faces = [...page.faces.values()];
  assert.equal(faces.length, 10_000);
  assert.ok(faces[0].url.startsWith('data:font/woff2') && faces[0].url.length < 100);
  assert.deepEqual(faces[1], {family: 'Font 0', weight: '400', style: 'normal', url: 'https://a.test/font.woff2'});
});

test('of the paints the last one is the largest', () => {
  const page = new Page(sessionOf(), {});
  page.told({'largest-contentful-paint': [{at_ms: 1}, {at_ms: 2}]});
  page.told({elements: []});
  assert.deepEqual(page.paint, {at_ms: 2});
});

test('what is not asked of a server keeps no page from being quiet', () => {
  const session = sessionOf();
  const requests = new Requests();
  requests.watch(session);
  const asked = (requestId, url) => session.emit('Network.requestWillBeSent', {
    requestId, request: {url, method: 'GET', headers: {}}, initiator: {type: 'script'}, timestamp: 1,
  });
  requests.activity_ms = 0;
  asked('a', 'data:image/png;base64,AAAA');
  session.emit('Network.loadingFinished', {requestId: 'a', timestamp: 1});
  assert.equal(requests.activity_ms, 0);
  for (const happen of [() => asked('b', 'https://a.test/'), () => session.emit('Network.dataReceived', {requestId: 'b', dataLength: 1})]) {
    requests.activity_ms = 0;
    happen();
    assert.ok(requests.activity_ms > 0);
  }
});

test('a note is for people, however long an address is', () => {
  const oddities = new Oddities();
  oddities.note(`it began a download, which was refused: data:,${'x'.repeat(1_000_000)}`);
  const [note] = oddities.list();
  assert.ok(note.startsWith('it began a download, which was refused: data:,xxx'));
  assert.ok(note.length < 1_000);
});
