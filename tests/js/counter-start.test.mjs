// SPDX-License-Identifier: Apache-2.0

// How long the small entry point takes until its first release.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryUrl, node } from './support/consumer.mjs';

/**
 * Processor time from import to first release in a separate process, as a multiple of what Node
 * needed to start it.
 */
async function firstRelease(strategy, steps) {
  const program = `const start = process.cpuUsage();
    const { load } = await import(${JSON.stringify(entryUrl('dp-ftrl/counter').href)});
    const dp = await load();
    dp.counter({ strategy: '${strategy}', steps: ${steps}, epsilon: 1, delta: 1e-6 }).release(1);
    const { user, system } = process.cpuUsage(start);
    console.log((user + system) / (start.user + start.system));`;
  const { stdout, stderr } = await node(['--input-type=module', '-e', program]);
  assert.equal(stderr, '');
  return Number(stdout);
}

test('counter: loading and the first release take little more processor time than Node to start', async (t) => {
  for (const [strategy, steps] of [
    ['tree', 1000],
    ['honaker', 1000],
    ['optimal', 365],
  ]) {
    let least = Infinity;
    // Other processes disturb either time.
    for (let i = 0; i < 15 && !(least < 1); ++i)
      least = Math.min(least, await firstRelease(strategy, steps));
    t.diagnostic(`${strategy}: ${least.toFixed(2)}`);
    assert.ok(least > 0 && least < 1.5, `${strategy}: ${least}`);
  }
});
