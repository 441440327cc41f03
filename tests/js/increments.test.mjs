// SPDX-License-Identifier: Apache-2.0

// Noisy sums of single steps, and records that the caller clips. Laws of all streams are in
// streams.test.mjs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wellTold } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { appendingStore } from './support/stores.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const target = { steps: 20, epsilon: 2, delta: 1e-6, dimension: 3, insecureSeed: 4 };

const failing = async (call) => {
  try {
    await call();
  } catch (error) {
    wellTold(error);
    return error;
  }
  return assert.fail('nothing was refused');
};

test('increments: they add up to the totals, bit for bit, whoever clips', () => {
  for (const { name: strategy } of dp.strategies) {
    const own = { ...target, strategy };
    for (const [clipping, clip] of [
      [{ clip: 2 }, 2],
      [{ clippedTo: 2 }, undefined],
    ]) {
      const stream = dp.increments({ ...own, ...clipping });
      const { grid, certificate } = stream;
      const totals = dp.totals({ ...own, clip: clip ?? certificate.clipNorm, grid });
      assert.equal(totals.certificate.noiseStddev, certificate.noiseStddev);
      const sum = [0, 0, 0];
      for (let step = 0; step < 20; step++) {
        const record = [grid * step, -1, Math.round(0.3 / grid) * grid];
        stream.release(record).values.forEach((x, i) => (sum[i] += x));
        assert.deepEqual(sum, [...totals.release(record).values], `${strategy}, step ${step}`);
      }
      for (const one of [stream, totals]) one.dispose();
    }
  }
});

test('increments: of clippedTo, the noise is made for the norm and what the grid adds', () => {
  for (const grid of [undefined, 0.25]) {
    const own = { ...target, strategy: 'tree', ...(grid && { grid }) };
    const stream = dp.increments({ ...own, clippedTo: 2 });
    const { clipNorm, clipping, noiseStddev } = stream.certificate;
    const wanted = 2 + Math.sqrt(3) * stream.grid;
    assert.ok(clipNorm >= wanted && clipNorm - wanted < 1e-12, `${clipNorm}`);
    assert.ok(grid ?? stream.grid <= 2 / (1024 * Math.sqrt(3)));
    assert.equal(clipping, 'by the caller');
    const here = dp.increments({ ...own, clip: 2 });
    assert.equal(here.certificate.clipping, undefined);
    // Without what the grid adds there is less noise.
    assert.ok(noiseStddev / here.certificate.noiseStddev >= wanted / 2);
    for (const one of [stream, here]) one.dispose();
  }
});

test('increments: of clippedTo, a long record is taken as it is', () => {
  const own = { ...target, strategy: 'tree', grid: 2 ** -8 };
  const [a, b, c] = [{ clippedTo: 1 }, { clippedTo: 1 }, { clip: 1 }].map((clipping) =>
    dp.increments({ ...own, ...clipping }),
  );
  const [with_, without] = [a.release([3000, -4000, 0]), b.release([0, 0, 0])];
  assert.deepEqual(
    [...with_.values].map((x, i) => x - without.values[i]),
    [3000, -4000, 0],
  );
  assert.ok(Math.abs(c.release([3000, -4000, 0]).values[0]) < 1000);
  for (const one of [a, b, c]) one.dispose();
});

test('increments: readings have the deviations of the noise of single steps', () => {
  const own = { ...target, strategy: 'square-root', dimension: 20_000 };
  const stream = dp.increments({ ...own, clippedTo: 1 });
  const unit = dp.error({ strategy: 'square-root', steps: 20, increments: true }).increments;
  const readings = stream.endMany(20);
  const { noiseStddev } = stream.certificate;
  const all = stream.halfWidth({ probability: 1e-6 });
  for (const [step, { values, stddev, halfWidth }] of readings.entries()) {
    assert.ok(Math.abs(stddev / (noiseStddev * unit[step]) - 1) < 1e-3, `${step}`);
    // A mean of 20,000 squares is off by 6 % with probability below 1e-8.
    const square = values.reduce((sum, x) => sum + x * x, 0) / values.length;
    assert.ok(Math.abs(square / stddev ** 2 - 1) < 0.06, `${step}: ${square / stddev ** 2}`);
    const beyond = values.filter((x) => Math.abs(x) > halfWidth).length / values.length;
    assert.ok(beyond > 0.04 && beyond < 0.06, `${step}: ${beyond}`);
    assert.ok(values.every((x) => Math.abs(x) <= all));
    assert.equal(stream.stddev(step), stddev);
  }
  stream.dispose();
});

test('increments: in a store, steps are read again after a restart', async () => {
  const store = appendingStore();
  const own = { ...target, clippedTo: 2, store };
  const stream = await dp.increments(own);
  const first = await stream.releaseMany([1, 0, 0, 0, 1, 0, 0, 0, 1]);
  await stream.dispose();
  const again = await dp.increments(own);
  for (const step of [2, 0, 1]) assert.deepEqual(await again.at(step), first[step]);
  const next = await again.release([9, 9, 9]);
  assert.deepEqual(await again.at(0), first[0]);
  const plain = dp.increments({ ...target, clippedTo: 2 });
  plain.releaseMany([1, 0, 0, 0, 1, 0, 0, 0, 1]);
  assert.deepEqual(next, plain.release([9, 9, 9]));
  await again.dispose();
  plain.dispose();
  const { insecureSeed, ...secret } = own;
  const error = await failing(() => dp.increments({ ...secret, insecureSeed, clippedTo: 3 }));
  assert.equal(
    error.message,
    'increments: clippedTo must be 2, as when the stored stream was begun, got 3',
  );
});

/**
 * Options that cannot be combined with records that arrive clipped, and the option that errors
 * name.
 */
const RESTRICTED = [
  [{ people: 'once' }, 'people'],
  [{ people: { times: 2, apart: 3 } }, 'people'],
  [{ clip: 1 }, 'clip'],
  [{ delta: 0 }, 'delta'],
  [{ lattice: 'discrete-gaussian' }, 'lattice'],
  [{ workload: { window: 2 } }, 'workload'],
];

test('increments: records that come clipped are refused where they must be clipped here', async () => {
  for (const [kind, own] of [
    ['increments', {}],
    ['gradientLearner', { rate: 0.1 }],
  ]) {
    for (const [more, parameter] of RESTRICTED) {
      const error = await failing(() => dp[kind]({ ...target, ...own, clippedTo: 1, ...more }));
      assert.deepEqual([error.call, error.parameter], [kind, parameter], error.message);
    }
  }
  for (const [kind, own] of [
    ['counter', {}],
    ['totals', { dimension: 1 }],
    ['moments', { columns: { age: [0, 1] } }],
    ['learner', { dimension: 1 }],
  ]) {
    const { dimension, ...plain } = target;
    const error = await failing(() => dp[kind]({ ...plain, ...own, clippedTo: 1 }));
    assert.equal(error.parameter, 'clippedTo');
    assert.match(error.message, /clippedTo is an unknown option/);
  }
});

test('increments: records without room are refused, all or none', async () => {
  const stream = dp.increments({ ...target, clippedTo: 1, grid: 1 });
  const records = [2 ** 40, 0, 0, 1, 2 ** 41, 0];
  for (const verb of ['addMany', 'releaseBatch', 'releaseMany']) {
    const { message, row } = await failing(() => stream[verb](records));
    assert.match(message, /: record 1: record must be within 1.*, the room for an entry, got 2/);
    assert.deepEqual(row, { kind: 'record', index: 1 });
  }
  assert.deepEqual([stream.records, stream.step], [0, 0]);
  stream.release([2 ** 40, -(2 ** 40), 0]);
  stream.dispose();
});

test('increments: a learner takes gradients that come clipped', () => {
  const own = { ...target, rate: 1, start: [0, 0, 0] };
  const learner = dp.gradientLearner({ ...own, clippedTo: 1, batchSize: 2 });
  const totals = dp.increments({ ...target, clippedTo: 1, grid: learner.grid });
  assert.equal(learner.certificate.clipping, 'by the caller');
  const gradients = [0.5, 0, 0, 3000, 0, 0];
  const { weights } = learner.releaseBatch(gradients);
  const { values } = totals.releaseBatch(gradients);
  assert.deepEqual(
    weights,
    values.map((x) => -x / 2),
  );
  for (const one of [learner, totals]) one.dispose();
});

test('increments: beyond 4096 steps the default strategy is one whose increments are known', () => {
  const stream = dp.increments({ ...target, steps: 4097, clippedTo: 1 });
  assert.equal(stream.certificate.mechanism, 'blt');
  assert.ok(stream.release([0, 0, 0]).stddev > 0);
  stream.dispose();
  const short = dp.increments({ ...target, clippedTo: 1 });
  assert.equal(short.certificate.mechanism, 'optimal');
  short.dispose();
});
