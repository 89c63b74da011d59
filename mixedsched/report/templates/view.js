/* Keeps a page of `view` up to date: progress at once, everything else as soon as something has begun or ended. */
'use strict';
(() => {
  const EVERY_MS = 600;
  const news = document.getElementById('news');
  let version = null;

  const say = words => { if (news.textContent !== words) news.textContent = words; };

  const tell = item => {
    const shown = document.querySelector(`.running[data-id="${item.id}"]`);
    if (!shown) return;
    const bar = shown.querySelector('progress');
    if (item.share === null) bar.removeAttribute('value');
    else bar.value = item.share;
    for (const name of ['what', 'said']) {
      const place = shown.querySelector(`.${name}`);
      if (place.textContent !== item[name]) place.textContent = item[name];
    }
  };

  /* Takes parts of the page anew, and leaves focus and ticks as they are. */
  const swap = async () => {
    const answer = await fetch(location.href, {cache: 'no-store'});
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const part of document.querySelectorAll('[data-swap]')) {
      const other = fresh.getElementById(part.id);
      if (!other || other.innerHTML === part.innerHTML) continue;
      const ticked = [...part.querySelectorAll('input:checked')].map(({value}) => value);
      const active = part.contains(document.activeElement) ? document.activeElement : null;
      const held = active && {id: active.id, value: active.value, href: active.getAttribute('href')};
      const scrolled = [...part.querySelectorAll('.scroll')].map(({scrollLeft, scrollTop}) => [scrollLeft, scrollTop]);
      part.replaceChildren(...document.importNode(other, true).childNodes);
      for (const box of part.querySelectorAll('input[type=checkbox]')) box.checked = ticked.includes(box.value);
      [...part.querySelectorAll('.scroll')].forEach((place, index) => { if (scrolled[index]) place.scrollTo(...scrolled[index]); });
      if (held) {
        const again = [...part.querySelectorAll('a, button, input')].find(item =>
          held.id ? item.id === held.id : held.href ? item.getAttribute('href') === held.href : item.value === held.value);
        if (again) again.focus({preventScroll: true});
      }
    }
  };

  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(document.body.dataset.live, {cache: 'no-store'});
        if (!answer.ok) throw new Error(answer.status);
        const now = await answer.json();
        const is_news = version !== null && version !== now.version;
        version = now.version;
        if (is_news) await swap();
        now.running.forEach(tell);
        say(is_news ? 'The results have changed.' : news.textContent.startsWith('mixedsched view') ? '' : news.textContent);
      } catch {
        say('mixedsched view does not answer any more.');
      }
    }
    setTimeout(look, EVERY_MS);
  };

  look();
})();
