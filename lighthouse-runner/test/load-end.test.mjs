import assert from 'node:assert/strict';
import {test} from 'node:test';

import {LoadEnd} from '../src/load-end.mjs';
import {lastChanges, SETTLED_MS, Settling} from '../src/settling.mjs';

const LOADED_MS = 5_000;
const IDLE = {isIdle: true, isNearlyIdle: true};
const STILL = {work_ago_ms: 60_000, look_ago_ms: 60_000, animated_ms: 0};

/** A page that was loaded at LOADED_MS, with the end of its last request. */
function loaded(options) {
  const settling = new Settling(0, options);
  settling.requestBeganOrEnded(LOADED_MS);
  settling.loaded(LOADED_MS);
  settling.network(IDLE, LOADED_MS);
  settling.page(STILL, LOADED_MS);
  return settling;
}

test('a load is final a second after its last request, if nothing else happens', () => {
  const settling = loaded();
  assert.equal(settling.final_ms, LOADED_MS + SETTLED_MS);
  settling.requestBeganOrEnded(LOADED_MS + 300);
  assert.equal(settling.final_ms, LOADED_MS + 300 + SETTLED_MS);
});

for (const [what, ago] of [['a paint or a layout shift', 'look_ago_ms'], ['a long task', 'work_ago_ms']]) {
  test(`${what} begins the second anew`, () => {
    const settling = loaded();
    settling.page({...STILL, [ago]: 100}, LOADED_MS + 900);
    assert.equal(settling.final_ms, LOADED_MS + 800 + SETTLED_MS);
    settling.page(STILL, LOADED_MS + 950);
    assert.equal(settling.final_ms, LOADED_MS + 800 + SETTLED_MS, 'what was seen before stays');
  });
}

test('while a request is under way nothing is final, but two of no importance are waited for only as long as Lighthouse would', () => {
  const settling = loaded();
  settling.network({isIdle: false, isNearlyIdle: true}, LOADED_MS + 100);
  assert.equal(settling.final_ms, LOADED_MS + 5_250);
  settling.network({isIdle: false, isNearlyIdle: false}, LOADED_MS + 200);
  assert.equal(settling.final_ms, LOADED_MS + 200 + 5_250);
  settling.network(IDLE, LOADED_MS + 300);
  assert.equal(settling.final_ms, LOADED_MS + SETTLED_MS);
});

test('an animation that ends is waited for, and one that was cut short no longer is', () => {
  const settling = loaded();
  settling.page({...STILL, animated_ms: 3_000}, LOADED_MS + 100);
  assert.equal(settling.final_ms, LOADED_MS + 3_100);
  settling.page(STILL, LOADED_MS + 200);
  assert.equal(settling.final_ms, LOADED_MS + SETTLED_MS);
});

test('an animation lasts until its end, or its beginning if it runs backwards', t => {
  const effect = {getComputedTiming: () => ({endTime: 5_000})};
  const animation = {playState: 'running', effect, currentTime: 2_000};
  t.after(() => ['document', 'mixedschedWatch'].forEach(name => delete globalThis[name]));
  for (const [playbackRate, animated_ms] of [[1, 3_000], [2, 1_500], [-1, 2_000], [-4, 500], [0, 0]]) {
    globalThis.document = {getAnimations: () => [{...animation, playbackRate}]};
    assert.equal(lastChanges().animated_ms, animated_ms);
  }
});

test('a page that never stands still is given as long as Lighthouse gives it', () => {
  for (const restless of [{look_ago_ms: 0}, {animated_ms: 120_000}]) {
    const settling = loaded();
    settling.page({...STILL, ...restless}, LOADED_MS + 5_200);
    assert.equal(settling.final_ms, LOADED_MS + 5_250);
  }
  const settling = loaded();
  settling.requestBeganOrEnded(LOADED_MS + 5_200); // beacons
  assert.equal(settling.final_ms, LOADED_MS + 5_250);
});

test('long tasks are waited for as long as they go on: they all count', () => {
  const settling = loaded();
  settling.page({...STILL, work_ago_ms: 0}, LOADED_MS + 9_000);
  assert.equal(settling.final_ms, LOADED_MS + 9_000 + SETTLED_MS);
});

test('TTI needs 5 s in which no task is long and hardly a request is under way, and nothing beyond', () => {
  const settling = loaded({forTti: true});
  assert.equal(settling.final_ms, LOADED_MS + 5_250);
  settling.page({work_ago_ms: 500, look_ago_ms: 0, animated_ms: 9_000}, LOADED_MS + 4_000);
  assert.equal(settling.final_ms, LOADED_MS + 3_500 + 5_250, 'after the last long task, and not once more after the network');
  settling.network({isIdle: false, isNearlyIdle: false}, LOADED_MS + 4_500);
  settling.network({isIdle: false, isNearlyIdle: true}, LOADED_MS + 4_600);
  assert.equal(settling.final_ms, LOADED_MS + 4_500 + 5_250);
});

test('a burst of requests shorter than a poll begins the quiet of TTI anew', () => {
  const handlers = {};
  const driver = {networkMonitor: {
    on: (event, handler) => (handlers[event] = handler), getInflightRequests: () => [], is2Idle: () => false, isCriticalIdle: () => true,
  }};
  const loadEnd = new LoadEnd(0, {forTti: true});
  loadEnd.startSensitiveInstrumentation({driver});
  loadEnd.settling.busy_ms = -Infinity;
  handlers.requeststarted();
  assert.ok(loadEnd.settling.busy_ms > 0);
});

for (const [what, before, count] of [
  ['also beside a warning of a redirect', [{formattedDefault: 'The page may not be loading as expected because it was redirected'}], 2],
  ['and not twice', [{formattedDefault: 'The page loaded too slowly to finish within the time limit.'}], 1],
]) {
  test(`a load that was not final in time is said to be too slow, ${what}`, async () => {
    const loadEnd = new LoadEnd(0, {forTti: false});
    loadEnd.untilFinal = async () => 'limit';
    const LighthouseRunWarnings = [...before];
    await loadEnd.stopSensitiveInstrumentation({driver: null, baseArtifacts: {LighthouseRunWarnings}});
    assert.equal(LighthouseRunWarnings.length, count);
    assert.match(String(LighthouseRunWarnings.at(-1).formattedDefault ?? LighthouseRunWarnings.at(-1)), /loaded too slowly/);
  });
}
