'use strict';

// Plays the films of a document: the screens of several loads, and the bytes of their responses, on one time line.

class Player {
  constructor(root) {
    const {end_ms, steps, reels} = JSON.parse(root.querySelector('script').textContent);
    this.root = root;
    this.end_ms = end_ms;
    this.steps = steps;
    this.at_ms = 0;
    this.speed = 1;
    this.began = null; // {clock_ms, at_ms} while it plays
    this.button = root.querySelector('[data-do=play]');
    this.slider = root.querySelector('input[type=range]');
    this.clock = root.querySelector('.clock');
    const figures = root.querySelectorAll('.reel');
    const responses = [...root.querySelectorAll('.response')];
    this.reels = reels.map((reel, column) => {
      const tracks = responses.map(response => response.querySelectorAll('.track')[column]);
      return new Reel(reel, figures[column], tracks, steps);
    });
    const changes = reels.flatMap(reel => [...reel.frames.map(frame => frame[0]), ...reel.moments]);
    this.changes = [...new Set(changes)].sort((a, b) => a - b);
    this.listen();
    root.hidden = false;
    this.show(0);
  }

  listen() {
    this.button.addEventListener('click', () => this.toggle());
    this.root.querySelector('[data-do=before]').addEventListener('click', () => this.jump(-1));
    this.root.querySelector('[data-do=after]').addEventListener('click', () => this.jump(1));
    this.slider.addEventListener('input', () => this.goTo(Number(this.slider.value)));
    for (const moment of this.root.querySelectorAll('.moment')) {
      moment.addEventListener('click', () => this.goTo(Number(moment.dataset.at)));
    }
    for (const choice of this.root.querySelectorAll('.speeds input')) {
      choice.addEventListener('change', () => this.setSpeed(Number(choice.value)));
    }
    this.root.addEventListener('keydown', event => this.onKey(event));
  }

  onKey(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const isControl = event.target.closest('button, .speeds');
    if (event.key === ' ' && !isControl) this.toggle();
    else if (event.key === ',') this.jump(-1);
    else if (event.key === '.') this.jump(1);
    else return;
    event.preventDefault();
  }

  toggle() {
    if (this.began) return this.stop();
    if (this.at_ms >= this.end_ms) this.at_ms = 0;
    this.began = {clock_ms: performance.now(), at_ms: this.at_ms};
    this.label('Stop');
    requestAnimationFrame(() => this.tick());
  }

  stop() {
    this.began = null;
    this.label('Play');
    this.describe();
  }

  label(text) {
    this.button.classList.toggle('playing', text === 'Stop');
    this.button.setAttribute('aria-label', text);
  }

  tick() {
    if (!this.began) return;
    const {clock_ms, at_ms} = this.began;
    this.show(Math.min(this.end_ms, at_ms + (performance.now() - clock_ms) * this.speed));
    if (this.at_ms >= this.end_ms) this.stop();
    else requestAnimationFrame(() => this.tick());
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.began) this.began = {clock_ms: performance.now(), at_ms: this.at_ms};
  }

  goTo(at_ms) {
    if (this.began) this.stop();
    this.show(at_ms);
    this.describe();
  }

  jump(way) {
    const next = way > 0
      ? this.changes.find(change => change > this.at_ms + 0.05)
      : this.changes.findLast(change => change < this.at_ms - 0.05);
    this.goTo(next ?? (way > 0 ? this.end_ms : 0));
  }

  show(at_ms) {
    this.at_ms = at_ms;
    this.slider.value = at_ms;
    this.clock.textContent = `${(at_ms / 1000).toFixed(2)} s`;
    const step = Math.floor(at_ms / this.end_ms * this.steps);
    for (const reel of this.reels) reel.show(at_ms, step);
  }

  /** In words, for those who do not see it; not while it plays, when nobody could listen as fast. */
  describe() {
    const said = this.reels.map(reel => reel.inWords());
    this.slider.setAttribute('aria-valuetext', `${this.clock.textContent}. ${said.join('. ')}`);
  }
}

/** One load: its screen and its column of responses. Only what changes is touched, so that it plays smoothly. */
class Reel {
  constructor({label, frames, rows}, figure, tracks, steps) {
    this.label = label;
    this.frames = frames;
    this.picture = figure.querySelector('use');
    this.received = figure.querySelector('.received');
    this.shown = null;
    this.told = null;
    this.rows = rows.map((row, index) => row && new Row(row, tracks[index], steps)).filter(Boolean);
    rows.forEach((row, index) => row || tracks[index].classList.add('never'));
  }

  show(at_ms, step) {
    const name = this.frames.findLast(frame => frame[0] <= at_ms)?.[1] ?? null;
    if (name !== this.shown) {
      if (name === null) this.picture.removeAttribute('href');
      else this.picture.setAttribute('href', `#frame-${name}`);
      this.shown = name;
    }
    let bytes = 0;
    for (const row of this.rows) bytes += row.show(at_ms, step);
    const text = inBytes(bytes);
    if (text !== this.told) this.received.textContent = this.told = text;
  }

  inWords() {
    const done = this.rows.filter(row => row.isDone).length;
    return `${this.label}: ${this.told}, ${done} of ${this.rows.length} responses complete`;
  }
}

/** One response of one load. */
class Row {
  constructor({asked, end, bytes, received}, track, steps) {
    Object.assign(this, {asked, end, bytes, track, got: track.firstElementChild});
    this.parts = new Uint16Array(steps + 1); // thousandths by step
    let step = 0;
    let part = 0;
    for (let index = 0; index < received.length; index += 2) {
      const next = step + received[index];
      this.parts.fill(part, step, next);
      part += received[index + 1];
      step = next;
    }
    this.parts.fill(part, step);
    this.part = 0;
    this.isAsked = this.isDone = false;
  }

  /** Returns the bytes that have come. */
  show(at_ms, step) {
    const part = this.parts[step];
    if (part !== this.part) this.got.style.transform = `scaleX(${part / 1000})`;
    const isAsked = at_ms >= this.asked;
    const isDone = this.end !== null && at_ms >= this.end;
    if (isAsked !== this.isAsked) this.track.classList.toggle('asked', isAsked);
    if (isDone !== this.isDone) this.track.classList.toggle('done', isDone);
    Object.assign(this, {part, isAsked, isDone});
    return this.bytes * part / 1000;
  }
}

function inBytes(bytes) {
  return bytes < 999_500 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(2)} MB`;
}

for (const root of document.querySelectorAll('.player')) new Player(root);
