import assert from 'node:assert/strict';
import {test} from 'node:test';

import {chromeFlags, hostResolverRules} from '../src/chrome-flags.mjs';
import {tempDirEnv} from '../src/profile.mjs';

const JOB = {
  profile_dir: '/tmp/mixedsched-browser-1', hosts: {'a.test': 4001, 'b.test': 4002}, address: '127.0.0.1', spki_sha256: ['AAAA', 'BBBB'], netlog: '/tmp/net.json',
  extra_features_off: ['SomethingNew', 'Translate'],
};

function valueOf(flags, name) {
  return flags.filter(flag => flag.startsWith(`${name}=`)).map(flag => flag.slice(name.length + 1));
}

test('no switch is there twice', () => {
  const names = chromeFlags(JOB, {sandboxed: false}).map(flag => flag.split('=', 1)[0]);
  assert.equal(new Set(names).size, names.length);
});

test('features of chrome-launcher, of ours and of the job are off in one list', () => {
  const [list, ...others] = valueOf(chromeFlags(JOB, {sandboxed: true}), '--disable-features');
  assert.equal(others.length, 0);
  const features = list.split(',');
  for (const name of ['Translate', 'OptimizationHints', 'AcceptCHFrame', 'SomethingNew']) assert.ok(features.includes(name), name);
  assert.equal(new Set(features).size, features.length);
});

test('no field trial is forced', () => {
  const flags = chromeFlags(JOB, {sandboxed: true});
  assert.deepEqual(valueOf(flags, '--force-fieldtrials'), []);
  assert.ok(flags.includes('--disable-field-trial-config'));
});

test('the sandbox is on unless it is said to be off', () => {
  assert.ok(chromeFlags(JOB, {sandboxed: false}).includes('--no-sandbox'));
  assert.ok(!chromeFlags(JOB, {sandboxed: true}).includes('--no-sandbox'));
});

test('hosts lead to ports of one address and everything else to nothing', () => {
  assert.equal(
    hostResolverRules(JOB.hosts, '198.18.0.1'),
    'MAP a.test 198.18.0.1:4001, MAP b.test 198.18.0.1:4002, MAP * ~NOTFOUND',
  );
  assert.equal(hostResolverRules({}), 'MAP * ~NOTFOUND');
});

test('keys are trusted and a NetLog is written only if the job says so', () => {
  const flags = chromeFlags(JOB, {sandboxed: true});
  assert.deepEqual(valueOf(flags, '--ignore-certificate-errors-spki-list'), ['AAAA,BBBB']);
  assert.deepEqual(valueOf(flags, '--log-net-log'), ['/tmp/net.json']);
  const bare = chromeFlags({...JOB, spki_sha256: [], netlog: null}, {sandboxed: true}).join(' ');
  assert.ok(!bare.includes('spki') && !bare.includes('net-log'));
});

const OBSERVE = {...JOB, op: 'observe', hosts: null, resolve: {'a.test': '127.0.0.1:1', 'b.test:443': '127.0.0.1:2'}, insecure: false, bodies: true, extra_features_off: []};

test('in the lab all is HTTP/3, unless a job asks for TCP; on the real network nothing is', () => {
  const lab = chromeFlags(JOB, {sandboxed: true});
  assert.ok(lab.includes('--origin-to-force-quic-on=*') && !lab.includes('--disable-quic'));
  for (const overTcp of [{...JOB, over_tcp: true}, OBSERVE]) {
    const flags = chromeFlags(overTcp, {sandboxed: true});
    assert.ok(!flags.includes('--origin-to-force-quic-on=*') && flags.includes('--disable-quic'));
  }
});

test('on the real network some hosts are elsewhere, and the others where they are', () => {
  const rules = resolve => valueOf(chromeFlags({...OBSERVE, resolve}, {sandboxed: true}), '--host-resolver-rules');
  assert.deepEqual(rules(OBSERVE.resolve), ['MAP a.test 127.0.0.1:1, MAP b.test:443 127.0.0.1:2']);
  assert.deepEqual(rules({}), []);
});

test('certificates are checked unless the job says not to', () => {
  const flag = '--ignore-certificate-errors';
  assert.ok(!chromeFlags(OBSERVE, {sandboxed: true}).includes(flag));
  assert.ok(chromeFlags({...OBSERVE, insecure: true}, {sandboxed: true}).includes(flag));
});

test('a log has headers of watched loads, bytes only if bodies are wanted, and neither of other runs', () => {
  const mode = job => valueOf(chromeFlags(job, {sandboxed: true}), '--net-log-capture-mode')[0];
  assert.deepEqual([mode(OBSERVE), mode({...OBSERVE, bodies: false}), mode(JOB)], ['Everything', 'IncludeSensitive', 'Default']);
});

test('temporary files go with the profile, if the path of the socket among them is short enough', () => {
  assert.deepEqual(tempDirEnv('/tmp/profile'), {TMPDIR: '/tmp/profile'});
  assert.deepEqual(tempDirEnv(`/tmp/${'x'.repeat(60)}`), {});
});
