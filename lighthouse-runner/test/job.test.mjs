import assert from 'node:assert/strict';
import {test} from 'node:test';

import {parseJob} from '../src/job.mjs';

const RUN = {id: 1, op: 'run', url: 'https://site.test/', profile_dir: '/tmp/mixedsched-browser-1'};

function refusal(job) {
  try {
    parseJob(typeof job === 'string' ? job : JSON.stringify(job));
  } catch (error) {
    return error;
  }
  return assert.fail('the job was accepted');
}

test('a job with nothing optional gets the defaults', () => {
  assert.deepEqual(parseJob(JSON.stringify(RUN)), {
    ...RUN, metrics: {}, form_factor: 'mobile', hosts: {}, address: '127.0.0.1', spki_sha256: [], netlog: null, limit_s: 90, max_wait_s: 45,
    cpu_slowdown: 1, throttling: 'provided', extra_features_off: [], frames: true, inspect: false, over_tcp: false,
  });
});

test('a limit beyond what a timer can be set for, which would be over at once, is refused', () => {
  for (const field of ['limit_s', 'max_wait_s']) assert.match(refusal({...RUN, [field]: 3_000_000}).detail, new RegExp(`^${field}`));
});

test('fields that nobody knows are dropped', () => {
  assert.deepEqual(parseJob('{"id": "a", "op": "ping", "url": 3}'), {id: 'a', op: 'ping'});
});

test('a line that is no job is refused without an id', () => {
  for (const line of ['', '{', 'null', '[]', '7', '"run"', '{"op": "ping"}', '{"id": {}, "op": "ping"}']) {
    const error = refusal(line);
    assert.equal(error.reason, 'bad_job');
    assert.equal(error.jobId, null);
  }
});

test('a broken field is refused with the id of its job and its name', () => {
  const broken = {
    op: 'walk',
    url: 'http://site.test/',
    metrics: {lcp_ms: ['x']},
    form_factor: 'watch',
    hosts: {'a.test': '443'},
    address: 'localhost',
    spki_sha256: 'abc',
    profile_dir: '/',
    netlog: 'net.json',
    limit_s: -1,
    max_wait_s: null,
    cpu_slowdown: 0.5,
    throttling: 'devtools',
    extra_features_off: ['A,B'],
    frames: 1,
    inspect: 'all',
    over_tcp: 1,
  };
  for (const [field, value] of Object.entries(broken)) {
    const error = refusal({...RUN, [field]: value});
    assert.equal(error.jobId, 1);
    assert.match(error.detail, new RegExp(`^${field}`));
  }
});

test('a directory that was not made as a profile is never emptied', () => {
  const precious = [
    '/', '//', '/.', '/home', '/tmp', '/tmp/..', '/tmp/profile', '/tmp/mixedsched-browser-1/..', '/tmp/mixedsched-browser-1/Default',
    'mixedsched-browser-1', './mixedsched-browser-1', '', null,
  ];
  for (const profile_dir of precious) assert.match(refusal({...RUN, profile_dir}).detail, /^profile_dir/, String(profile_dir));
  const job = parseJob(JSON.stringify({...RUN, profile_dir: '/tmp/x/../mixedsched-browser-1/'}));
  assert.equal(job.profile_dir, '/tmp/mixedsched-browser-1');
});

test('the work of a page is slowed down for real, or in Lighthouse\'s model, and not twice', () => {
  assert.equal(parseJob(JSON.stringify({...RUN, cpu_slowdown: 4})).cpu_slowdown, 4);
  assert.match(refusal({...RUN, cpu_slowdown: 4, throttling: 'simulate'}).detail, /^cpu_slowdown/);
});

test('nothing in a host name can start another resolver rule', () => {
  for (const host of ['a.test, MAP * b', 'a test', 'a.test:1', '', '*', '-a', '~NOTFOUND']) {
    assert.match(refusal({...RUN, hosts: {[host]: 4433}}).detail, /^hosts/);
  }
  assert.deepEqual(parseJob(JSON.stringify({...RUN, hosts: {'*.a-b.test': 4433}})).hosts, {'*.a-b.test': 4433});
});

const OBSERVE = {id: 1, op: 'observe', url: 'http://site.test/', profile_dir: '/tmp/mixedsched-browser-1', netlog: '/tmp/net.json'};

test('a load that is only watched is of the real network unless it names hosts', () => {
  assert.deepEqual(parseJob(JSON.stringify(OBSERVE)), {
    ...OBSERVE, form_factor: 'mobile', hosts: null, address: '127.0.0.1', resolve: {}, spki_sha256: [], insecure: false, bodies: false,
    quiet_s: 2, limit_s: 60, screenshot: true, scroll: false, extra_features_off: [],
  });
});

test('a broken field of a watched load is refused by its name', () => {
  const broken = {
    url: 'file:///etc/passwd', form_factor: 'watch', hosts: [], address: '::1', resolve: [], spki_sha256: [1], insecure: 'no', profile_dir: '/',
    netlog: null, bodies: 1, quiet_s: 0, limit_s: Infinity, screenshot: 'yes', scroll: 1,
  };
  for (const [field, value] of Object.entries(broken)) {
    assert.match(refusal({...OBSERVE, [field]: value}).detail, new RegExp(`^${field}`), field);
  }
});

test('in the lab there is only HTTPS, and nothing of the real network', () => {
  const lab = {...OBSERVE, url: 'https://site.test/', hosts: {'site.test': 4433}};
  assert.deepEqual(parseJob(JSON.stringify(lab)).hosts, {'site.test': 4433});
  assert.match(refusal({...lab, url: 'http://site.test/'}).detail, /^url/);
  assert.match(refusal({...lab, insecure: true}).detail, /^insecure/);
  assert.match(refusal({...lab, resolve: {'a.test': '127.0.0.1:1'}}).detail, /^resolve/);
});

test('a stand-in is an address and a port, for a host or one port of it, and no other rule', () => {
  const good = {'a.test': '127.0.0.1:8443', 'b.test:443': '192.0.2.1:1'};
  assert.deepEqual(parseJob(JSON.stringify({...OBSERVE, resolve: good})).resolve, good);
  const bad = [
    ['a.test, MAP * b', '127.0.0.1:1'], ['a\n.test', '127.0.0.1:1'], ['a.test', '127.0.0.1\n:1'], ['a.test:0', '127.0.0.1:1'], ['', '127.0.0.1:1'], ['a.test:70000', '127.0.0.1:1'],
    ['a.test', '127.0.0.1'], ['a.test', 'localhost:1'], ['a.test', '127.0.0.1:99999'], ['a.test', '127.0.0.1:1, MAP * x'], ['a.test', 443], ['a.test', null],
  ];
  for (const [name, target] of bad) assert.match(refusal({...OBSERVE, resolve: {[name]: target}}).detail, /^resolve/, `${name} ${target}`);
});
