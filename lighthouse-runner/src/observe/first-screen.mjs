/**
 * What is in the first screen once the page is quiet; runs in every frame. Visible: some pixel of the element's box is in the
 * viewport, and no ancestor clips it away (frames included), hides it or makes it transparent. What other elements cover counts.
 */

/** Returns {images: [{url, lazy, visible}], fonts: [{families, weight, style}], moments, title}. */
export async function firstScreen() {
  const ELEMENTS_MAX = 30_000;
  const ANSWER_LIMIT_MS = 2_000;
  const IMAGE_PROPERTIES = ['background-image', 'border-image-source', 'list-style-image', 'mask-image', 'content'];

  function* elementsOf(root) {
    for (const element of root.querySelectorAll('*')) {
      yield element;
      if (element.shadowRoot) yield* elementsOf(element.shadowRoot);
    }
  }

  function ownImageOf(element) {
    switch (element.localName) {
      case 'img': return element.currentSrc || element.src;
      case 'input': return element.type === 'image' ? element.src : null;
      case 'video': return element.poster;
      case 'image': return resolved(element.href?.baseVal, element.baseURI);
      case 'object': return element.data;
      case 'embed': return element.src;
      default: return null;
    }
  }

  function resolved(url, base) {
    return url && URL.canParse(url, base) ? new URL(url, base).href : null;
  }

  function* styleImagesOf(element) {
    for (const pseudo of [null, '::before', '::after']) {
      const style = getComputedStyle(element, pseudo);
      if (pseudo && style.content === 'none') continue;
      for (const property of IMAGE_PROPERTIES) {
        const value = style.getPropertyValue(property);
        if (!value.includes('url(')) continue;
        for (const [, url] of value.matchAll(/url\("([^"\\]*(?:\\.[^"\\]*)*)"\)/g)) yield url.replace(/\\(.)/g, '$1');
      }
    }
  }

  function hasText(element) {
    return [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
  }

  function visibleOf(elements) {
    const visible = new Set();
    if (!elements.length) return visible;
    return new Promise(resolve => {
      const observer = new IntersectionObserver(entries => {
        for (const {target, isIntersecting, intersectionRect: {width, height}} of entries) {
          if (isIntersecting && width > 0 && height > 0 && isShown(target)) visible.add(target);
        }
        resolve(visible);
      });
      elements.forEach(element => observer.observe(element));
      setTimeout(() => resolve(visible), ANSWER_LIMIT_MS); // a frame that is not drawn is never told of
    });
  }

  // document.title itself may be an element of that name.
  const titleOf = Object.getOwnPropertyDescriptor(Document.prototype, 'title').get;

  const isShown = element => element.checkVisibility?.({visibilityProperty: true, opacityProperty: true}) ?? true;

  function momentsOf() {
    const [navigation] = performance.getEntriesByType('navigation');
    const [paint] = performance.getEntriesByName('first-contentful-paint');
    return {
      origin_ms: performance.timeOrigin,
      fcp_ms: paint?.startTime ?? null,
      dom_content_loaded_ms: navigation?.domContentLoadedEventEnd || null,
      load_ms: navigation?.loadEventEnd || null,
    };
  }

  const images = new Map();
  const texts = [];
  let count = 0;
  for (const element of elementsOf(document)) {
    if (++count > ELEMENTS_MAX) break;
    const urls = [ownImageOf(element), ...styleImagesOf(element)].filter(url => /^https?:/.test(url ?? ''));
    if (urls.length) images.set(element, urls);
    if (hasText(element)) texts.push(element);
  }
  const visible = await visibleOf([...new Set([...images.keys(), ...texts])]);
  const fonts = new Set();
  for (const element of texts.filter(text => visible.has(text))) {
    const {fontFamily: families, fontWeight: weight, fontStyle: style} = getComputedStyle(element);
    fonts.add(JSON.stringify({families, weight, style}));
  }
  return {
    images: [...images].flatMap(([element, urls]) => urls.map(url => ({
      url: url.replace(/#.*$/s, ''), lazy: element.loading === 'lazy', visible: visible.has(element),
    }))),
    fonts: [...fonts].map(text => JSON.parse(text)),
    moments: momentsOf(),
    title: titleOf.call(document).slice(0, 500),
    is_complete: count <= ELEMENTS_MAX,
  };
}
