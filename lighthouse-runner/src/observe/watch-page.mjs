/**
 * What runs in every document before its own scripts, in a world of its own so that neither disturbs the other: it tells how
 * elements sit in the page when they are first seen, also those that scripts remove again, and what the browser measures.
 */

export const WORLD = 'mixedsched';
export const BINDING = 'mixedschedTell';

export const WATCH_SOURCE = `(${watchPage})(${JSON.stringify(BINDING)})`;

function watchPage(binding) {
  const tell = globalThis[binding];
  if (typeof tell !== 'function') return;
  const seen = new WeakMap();
  let firstImage = null;

  const isAbsolute = url => /^https?:/.test(url ?? '');

  function placeOf(element, parent) {
    const inTree = element.isConnected ? element : parent;
    const isElement = inTree?.nodeType === Node.ELEMENT_NODE;
    return {
      in_head: isElement && inTree.closest('head') !== null,
      after_image: firstImage !== null && isAfter(firstImage, inTree),
    };
  }

  function isAfter(first, second) {
    if (!first.isConnected || !second?.isConnected) return true; // one has gone already: seen later is later
    return (first.compareDocumentPosition(second) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
  }

  const FACTS = {
    script: element => ({url: element.src, is_async: element.async, defer: element.defer, module: element.type === 'module'}),
    link: element => ({url: element.href, rel: element.rel, media: element.media}),
    img: element => ({url: element.currentSrc || element.src, lazy: element.loading === 'lazy'}),
    iframe: element => ({url: element.src, lazy: element.loading === 'lazy'}),
  };

  function see(element, parent) {
    const facts = Object.hasOwn(FACTS, element.localName) ? FACTS[element.localName](element) : null;
    if (facts === null) return null;
    if (element.localName === 'img') firstImage ??= element;
    if (!isAbsolute(facts.url) || seen.get(element) === facts.url) return null;
    seen.set(element, facts.url);
    return {tag: element.localName, ...facts, ...placeOf(element, parent)};
  }

  function seeTree(node, parent, found) {
    if (node.nodeType !== Node.ELEMENT_NODE) return;
    for (const element of [node, ...node.querySelectorAll('script, link, img, iframe')]) {
      const facts = see(element, parent);
      if (facts) found.push(facts);
    }
  }

  function tellMutations(records) {
    const found = [];
    for (const record of records) {
      if (record.type === 'attributes') seeTree(record.target, record.target.parentNode, found);
      else for (const node of record.addedNodes) seeTree(node, record.target, found);
    }
    if (found.length) tell(JSON.stringify({elements: found}));
  }

  new MutationObserver(tellMutations).observe(document, {
    childList: true, subtree: true, attributes: true, attributeFilter: ['src', 'srcset', 'href', 'rel'],
  });
  if (window !== window.top) return;

  function openingTag(element) {
    if (!element) return null;
    const elsewhere = document.implementation.createHTMLDocument(); // in the page, a copy would load media, or run the page's code
    return elsewhere.importNode(element, false).outerHTML.replace(/<\/[^<>]*>$/, '').slice(0, 300);
  }

  const watch = (type, change) => new PerformanceObserver(list => {
    tell(JSON.stringify({[type]: list.getEntries().map(change)}));
  }).observe({type, buffered: true});
  const origin_ms = performance.timeOrigin;
  watch('largest-contentful-paint', entry => ({
    at_ms: entry.startTime, origin_ms, url: entry.url || null, element: openingTag(entry.element),
  }));
  watch('resource', entry => ({url: entry.name, blocking: entry.renderBlockingStatus === 'blocking'}));
}
