import assert from 'node:assert/strict';
import {test} from 'node:test';

import {Oddities} from '../src/observe/oddities.mjs';
import {scrollThrough} from '../src/observe/scroll.mjs';

/** A page of so many screens below the first. answer(screen): what else happens when it is scrolled to one. */
function pageOf(screens, answer = () => {}) {
  const page = {
    job: {quiet_s: 0.05},
    crashed: new Promise(() => {}),
    navigations: ['https://a.test/'],
    oddities: new Oddities(),
    seen: 0,
    isQuiet: () => true,
    tooMuch: () => null,
  };
  page.session = {
    async send(method) {
      if (method === 'Page.getFrameTree') return {frameTree: {frame: {id: 'F'}}};
      if (method === 'Page.createIsolatedWorld') return {executionContextId: 1};
      if (page.seen >= screens) return {result: {value: false}};
      page.seen += 1;
      answer(page);
      return {result: {value: true}};
    },
  };
  return page;
}

const running = new AbortController().signal;

test('a page is scrolled to its end', async () => {
  const page = pageOf(3);
  await scrollThrough(page, running);
  assert.equal(page.seen, 3);
  assert.deepEqual(page.oddities.list(), []);
});

test('a page that grows for ever is scrolled so far and no further, and waited for', async () => {
  let waits = 2;
  const page = pageOf(Infinity);
  page.isQuiet = () => --waits < 0;
  await scrollThrough(page, running, 3);
  assert.equal(page.seen, 3);
  assert.equal(waits, -1);
  assert.match(page.oddities.list()[0], /longer than 3 screens, or grows/);
});

test('scrolling ends with the page', async () => {
  const hindrances = {
    'another page': page => page.navigations.push('https://a.test/next'),
    'on sending': page => (page.tooMuch = () => 'it goes on sending'),
    'no answer': page => (page.session.send = () => Promise.reject(new Error('gone'))),
    crashed: page => (page.crash()),
  };
  for (const [word, hinder] of Object.entries(hindrances)) {
    const page = pageOf(Infinity, hinder);
    page.crashed = new Promise((_, reject) => (page.crash = () => reject(new Error('crashed'))));
    page.crashed.catch(() => {});
    await scrollThrough(page, running);
    assert.equal(page.oddities.list().length, 1, word);
    assert.match(page.oddities.list()[0], new RegExp(word.replace('no answer', 'did not answer')));
  }
});

test('scrolling can be interrupted, and does not begin where too much was asked for already', async () => {
  const page = pageOf(Infinity);
  await scrollThrough(page, AbortSignal.abort());
  assert.match(page.oddities.list()[0], /interrupted/);
  const greedy = {...pageOf(Infinity), tooMuch: () => 'it goes on asking'};
  await scrollThrough(greedy, running);
  assert.deepEqual([greedy.seen, greedy.oddities.list()], [0, []]);
});
