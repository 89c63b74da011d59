import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {test} from 'node:test';
import {fileURLToPath} from 'node:url';

const WORKER = fileURLToPath(new URL('../worker.mjs', import.meta.url));

/** Give the real worker these lines, then the end of input. Returns its answers and its exit code. */
async function converse(lines, {env = {}, endInput = true} = {}) {
  const worker = spawn(process.execPath, [WORKER], {stdio: ['pipe', 'pipe', 'inherit'], env: {...process.env, ...env}});
  let text = '';
  const answered = new Promise(resolve => {
    worker.stdout.setEncoding('utf8').on('data', part => {
      text += part;
      if (text.split('\n').length > lines.filter(line => line.trim()).length) resolve();
    });
  });
  const exit = once(worker, 'exit');
  worker.stdin.write(`${lines.join('\n')}\n`);
  await Promise.race([answered, exit]);
  if (endInput) worker.stdin.end();
  const [code] = await exit;
  return {answers: text.trim().split('\n').map(line => JSON.parse(line)), code};
}

test('each line has one answer, in order, and a bad one harms nobody', async () => {
  const {answers, code} = await converse(['{"id": 1, "op": "ping"}', 'rubbish', '', '{"id": 2, "op": "run"}', '{"id": 3, "op": "ping"}']);
  assert.deepEqual(answers.map(({id, ok, reason}) => [id, ok, reason]), [
    [1, true, undefined],
    [null, false, 'bad_job'],
    [2, false, 'bad_job'],
    [3, true, undefined],
  ]);
  assert.equal(code, 0);
});

test('stop is answered at once, also when nothing is under way', async () => {
  const {answers} = await converse(['{"id": "s", "op": "stop"}', '{"id": 1, "op": "ping"}']);
  assert.deepEqual(answers, [{id: 's', ok: true}, {id: 1, ok: true}]);
});

test('quit ends the worker while its input is still open', async () => {
  const {answers, code} = await converse(['{"id": "q", "op": "quit"}'], {endInput: false});
  assert.deepEqual(answers, [{id: 'q', ok: true}]);
  assert.equal(code, 0);
});

/** The answer to a load with this shell script in the place of the browser. op: "run", or "firefox". */
async function loadWith(t, script, env = {}, op = 'run') {
  const directory = mkdtempSync(join(tmpdir(), 'runner-test-'));
  t.after(() => rmSync(directory, {recursive: true}));
  const browser = join(directory, 'chrome');
  writeFileSync(browser, `#!/bin/sh\n${script}\n`, {mode: 0o755});
  const job = {id: 7, op, url: 'https://site.test/', profile_dir: join(directory, 'mixedsched-browser-1')};
  const {answers} = await converse([JSON.stringify(job)], {env: {CHROME_PATH: browser, FIREFOX_PATH: browser, ...env}});
  return answers[0];
}

test('a browser that does not start is a failure with its last words', async t => {
  const {reason, detail} = await loadWith(t, 'echo out of order >&2; exit 3');
  assert.equal(reason, 'chrome_start');
  assert.match(detail, /exit code 3.*out of order/s);
});

test('a Firefox that says a lot is heard, and its death is the reason although it can no longer be reached', async t => {
  const script = "echo 'WebDriver BiDi listening on ws://127.0.0.1:9' >&2; head -c 20000 /dev/zero | tr '\\0' x >&2; exit 5";
  const {reason, detail} = await loadWith(t, script, {}, 'firefox');
  assert.equal(reason, 'firefox_died');
  assert.match(detail, /exit code 5.*xxx/s);
});

test('temporary files of a browser go with its profile', async t => {
  const {detail} = await loadWith(t, 'echo "they go to $TMPDIR." >&2; exit 3');
  assert.match(detail, /they go to \S*mixedsched-browser-1\./);
});

const WITHOUT_NAMESPACES = `case "$*" in *--no-sandbox*) echo no page here >&2; exit 4;; esac
echo 'zygote_host_impl_linux.cc:128] No usable sandbox!' >&2; exit 1`;

test('a browser without sandbox is started only where that is allowed', {skip: process.getuid?.() === 0 && 'root has no sandbox'}, async t => {
  const refused = await loadWith(t, WITHOUT_NAMESPACES, {MIXEDSCHED_SANDBOX: ''});
  assert.equal(refused.reason, 'no_sandbox');
  const allowed = await loadWith(t, WITHOUT_NAMESPACES, {MIXEDSCHED_SANDBOX: 'if-possible'});
  assert.equal(allowed.reason, 'chrome_start');
  assert.match(allowed.detail, /exit code 4.*no page here/s);
});
