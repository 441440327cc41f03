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

/** Starts the service with hours of 100 ms, and waits until it listens. */
async function start() {
  const env = { ...process.env, PORT: '0', HOUR_MS: '100' };
  const child = spawn(process.execPath, [visits, 'state'], { cwd: folder, env });
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

test('examples/federated: devices learn together from noisy sums alone', async () => {
  const { code, stdout, stderr } = await node([example('federated/rounds.mjs')], { cwd: folder });
  assert.equal(code, 0, stderr);
  const [first, last] = stdout.trim().split(' ').map(Number);
  // The noise is random: the largest of 60 runs was 0.0092; without noise it is 0.0034.
  assert.ok(first > 0.3 && last < 0.05, stdout);
});
