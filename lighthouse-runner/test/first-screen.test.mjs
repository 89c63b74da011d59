import assert from 'node:assert/strict';
import {test} from 'node:test';

import {firstScreen} from '../src/observe/first-screen.mjs';

/** Makes this process a page of these elements, as far as firstScreen asks: all in view. An element's `style` is its computed one. */
function showPage(t, elements) {
  class Document {
    get title() {
      return 'A page';
    }
  }
  class IntersectionObserver {
    constructor(tell) {
      this.seen = [];
      queueMicrotask(() => tell(this.seen));
    }

    observe(target) {
      this.seen.push({target, isIntersecting: true, intersectionRect: {width: 1, height: 1}});
    }
  }
  const document = Object.assign(new Document(), {querySelectorAll: () => elements});
  const getComputedStyle = ({style = {}}, pseudo) => ({content: pseudo ? 'none' : 'normal', getPropertyValue: name => style[name] ?? ''});
  const page = {Document, document, IntersectionObserver, getComputedStyle, Node: {TEXT_NODE: 3}};
  Object.assign(globalThis, page);
  t.after(() => Object.keys(page).forEach(name => delete globalThis[name]));
  t.mock.method(globalThis, 'setTimeout', () => {}); // its limit for an answer
  return document;
}

const HERO = {localName: 'img', currentSrc: 'https://a.test/hero.png', childNodes: []};

async function imagesBeside(t, element) {
  showPage(t, [element, HERO]);
  return (await firstScreen()).images.map(({url, visible}) => [url, visible]);
}

test('an image whose address is none hides no other', async t => {
  const broken = {localName: 'image', href: {baseVal: 'http://['}, baseURI: 'https://a.test/', childNodes: []};
  assert.deepEqual(await imagesBeside(t, broken), [['https://a.test/hero.png', true]]);
});

test('addresses in vector images are those of the document', async t => {
  const vector = {localName: 'image', href: {baseVal: 'logo.png'}, baseURI: 'https://a.test/x/', childNodes: []};
  assert.deepEqual(await imagesBeside(t, vector), [['https://a.test/x/logo.png', true], ['https://a.test/hero.png', true]]);
});

test('a style with whole files in it is read to its end', async t => {
  const style = {'background-image': `url("data:image/png;base64,${'A'.repeat(20_000_000)}"), url("https://a.test/a\\"b.png")`};
  const box = {localName: 'div', style, childNodes: []};
  assert.deepEqual(await imagesBeside(t, box), [['https://a.test/a"b.png', true], ['https://a.test/hero.png', true]]);
});

test('an element that is named title is not the title', async t => {
  const document = showPage(t, [HERO]);
  Object.defineProperty(document, 'title', {value: HERO}); // as <img name="title"> does
  assert.equal((await firstScreen()).title, 'A page');
});
