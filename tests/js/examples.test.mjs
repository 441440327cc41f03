// SPDX-License-Identifier: Apache-2.0

// Examples that are programs, run as their first lines say.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { freshConsumer, node, root } from './support/consumer.mjs';

const folder = freshConsumer();
after(() => rmSync(folder, { recursive: true }));

function example(path) {
  const name = path.split('/').at(-1);
  copyFileSync(join(root, 'examples', path), join(folder, name));
  return name;
}

const visits = example('server/visits.mjs');
const totalsFile = join(folder, 'state/totals.txt');
const lines = () =>
  existsSync(totalsFile) ? readFileSync(totalsFile, 'utf8').split('\n').slice(0, -1) : [];

/** Starts a service with hours, or days, of 100 ms, and waits until it listens. */
async function start(program = visits, state = 'state') {
  const env = { ...process.env, PORT: '0', HOUR_MS: '100', DAY_MS: '100' };
  const child = spawn(process.execPath, [program, state], { cwd: folder, env });
  let said = '';
  child.stderr.on('data', (data) => (said += data));
  const [address] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    once(child, 'exit').then(() => assert.fail(said)),
  ]);
  return { child, address };
}

test('examples/server: no hour is published twice, however often the service is killed', async () => {
  let before = [];
  for (let life = 0; life < 4; life++) {
    const { child, address } = await start();
    try {
      const wanted = before.length + 3;
      while (lines().length < wanted) {
        const { status } = await fetch(`${address}/visit`, { method: 'POST' });
        assert.equal(status, 204);
        await sleep(10);
      }
      const shown = await (await fetch(`${address}/totals`)).text();
      assert.deepEqual(shown.split('\n').slice(0, before.length), before);
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    before = lines();
    const hours = before.map((line) => Number(line.split(' ')[0]));
    hours.forEach((hour, i) => assert.ok(i === 0 || hour > hours[i - 1], `${hours}`));
    assert.ok(before.every((line) => Number.isFinite(Number(line.split(' ')[1]))));
  }
});

test('examples/server: no day has two counts of people, however often the service is killed', async () => {
  const active = example('server/active.mjs');
  const post = (address, path) => fetch(`${address}${path}`, { method: 'POST' });
  let before = [];
  for (let life = 0; life < 3; life++) {
    const { child, address } = await start(active, 'active');
    try {
      let shown = [];
      while (shown.length < before.length + 3) {
        assert.equal((await post(address, '/seen/ann')).status, 204);
        assert.equal((await post(address, '/forget/bob')).status, 204);
        assert.equal((await post(address, '/seen/')).status, 404);
        shown = (await (await fetch(`${address}/active`)).text()).split('\n').slice(0, -1);
      }
      assert.deepEqual(shown.slice(0, before.length), before);
      before = shown;
    } finally {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  }
  const days = before.map((line) => JSON.parse(line));
  days.forEach(({ step }, i) => assert.ok(i === 0 || step > days[i - 1].step, before.join('\n')));
  assert.deepEqual(Object.keys(days[0].active), ['day', 'week', 'month']);
});

test('examples/server: a nightly job counts a day once', async () => {
  const nightly = example('server/active-nightly.mjs');
  const count = (day, log) => node([nightly, 'nightly', day], { cwd: folder, input: log });
  const first = await count('0', 'ann\nbob\nann\n');
  assert.equal(first.code, 0, first.stderr);
  assert.equal((await count('0', 'ann\nbob\nann\n')).stdout, first.stdout);
  const other = await count('0', 'ann\n');
  assert.notEqual(other.code, 0);
  assert.match(other.stderr, /must not be one that was released for other records/);
  const skipped = await count('2', 'ann\n');
  assert.notEqual(skipped.code, 0);
  const next = await count('1', '');
  assert.equal(next.code, 0, next.stderr);
  assert.ok(Number.isFinite(JSON.parse(next.stdout).month.value));
});

test('examples/federated: devices learn together from noisy sums alone', async () => {
  const { code, stdout, stderr } = await node([example('federated/rounds.mjs')], { cwd: folder });
  assert.equal(code, 0, stderr);
  const [first, last] = stdout.trim().split(' ').map(Number);
  // The noise is random: the largest of 60 runs was 0.0092; without noise it is 0.0034.
  assert.ok(first > 0.3 && last < 0.05, stdout);
});
