// SPDX-License-Identifier: Apache-2.0

// The small entry point: its results equal those of the whole package to the bit, and it refuses
// everything else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { memoryStore } from './support/stores.mjs';

const { load, DpError } = await importEntry('dp-ftrl/counter');
const counter = await load();
const whole = await (await importEntry('dp-ftrl')).load();

const steps = 60;
const target = { steps, epsilon: 1, delta: 1e-6, insecureSeed: 7n };
const saved = (name, participation = 'once') =>
  whole
    .optimize({
      strategy: { name, ...(participation === 'once' && { buffers: 3 }) },
      steps,
      participation,
    })
    .result();
const strategies = [
  'tree',
  'honaker',
  { name: 'blt', decays: [0.9, 0.5], weights: [0.1, 0.2] },
  saved('blt'),
  saved('optimal'),
];
const participations = ['once', { epochs: 4 }, { times: 3, apart: 9 }];
const records = Float64Array.from({ length: 2 * steps }, (_, i) => Math.sin(i));

/** Calls `use` with the options of every strategy under every participation. */
function each(use) {
  for (const strategy of strategies) {
    for (const participation of participations) use({ ...target, strategy, participation });
  }
}

test('counter: totals and certificates are those of the whole package', () =>
  each((options) => {
    const [own, theirs] = [counter, whole].map((dp) => dp.totals({ ...options, dimension: 2 }));
    assert.deepEqual(own.certificate, theirs.certificate);
    assert.equal(own.stddev(17), theirs.stddev(17));
    assert.deepEqual(own.releaseMany(records), theirs.releaseMany(records));
    assert.throws(() => own.release([0, 0]), { code: 'past_horizon' });
  }));

test('counter: counts of people are those of the whole package', () =>
  each(({ participation, ...options }) => {
    if (participation.epochs) return; // no bound on people
    const people = Array.from({ length: steps }, (_, i) => `person ${i % 20}`);
    const [own, theirs] = [counter, whole].map((dp) => {
      const counts = dp.counter({ ...options, people: participation });
      const readings = counts.releaseMany(people, records.subarray(0, steps));
      return { readings, dropped: counts.dropped };
    });
    assert.deepEqual(own, theirs);
  }));

test('counter: a store of either package goes on in the other', async () => {
  for (const strategy of strategies) {
    const options = { ...target, strategy };
    const plain = whole.counter(options).releaseMany(records.subarray(0, steps));
    const store = memoryStore();
    const readings = [];
    for (const [life, dp] of [counter, whole, counter, whole].entries()) {
      const stream = await dp.counter({ ...options, store });
      assert.equal(stream.step, 15 * life);
      const part = records.subarray(15 * life, 15 * life + 15);
      readings.push(...(await stream.releaseMany(part)));
      await stream.dispose();
    }
    assert.deepEqual(readings, plain);
  }
});

test('counter: optimal without a saved strategy is that in closed form, up to 2.8 % above the best', () => {
  for (const horizon of [1, 2, 12, 1024]) {
    const options = { ...target, steps: horizon };
    const problem = { strategy: 'optimal', steps: horizon };
    const strategy = whole.optimize({ ...problem, solver: 'none' }).result();
    const own = counter.counter({ ...options, strategy: 'optimal' });
    const theirs = whole.counter({ ...options, strategy });
    assert.deepEqual(own.certificate, theirs.certificate);
    const ratio = own.certificate.maxError / whole.error(problem).maxError;
    assert.ok(ratio > 1 - 1e-9 && ratio < 1.028, `${horizon} steps: ${ratio}`);
    assert.deepEqual(own.endMany(horizon), theirs.endMany(horizon));
  }
});

test('counter: counts over a long horizon equal those of the whole package', () => {
  const long = 2 ** 17 + 40;
  const problem = { strategy: 'optimal', steps: long, solver: 'none' };
  const strategy = whole.optimize(problem).result();
  const [own, theirs] = [counter, whole].map((dp) =>
    Float64Array.from(
      dp.counter({ ...target, steps: long, strategy }).endMany(long),
      ({ value }) => value,
    ),
  );
  assert.ok(own.every((value, i) => Object.is(value, theirs[i])));
});

test('counter: optimal by name differs from that of the whole package, and no store mixes them', async () => {
  for (const [first, second] of [
    [counter, whole],
    [whole, counter],
  ]) {
    const store = memoryStore();
    const options = { steps: 30, epsilon: 1, delta: 1e-6, store };
    const stream = await first.counter(options);
    await stream.release(1);
    await stream.dispose();
    await assert.rejects(second.counter(options), { code: 'bad_state' });
  }
});

test('counter: it has four mechanisms of the whole package, described alike except for optimal', () => {
  const known = whole.strategies;
  const own = counter.strategies;
  assert.deepEqual(own.map(({ name }) => name).sort(), ['blt', 'honaker', 'optimal', 'tree']);
  for (const entry of own) {
    const { limits, ...theirs } = known.find(({ name }) => name === entry.name);
    assert.equal(limits !== undefined, entry.name === 'optimal', 'only the whole package searches');
    if (entry.name === 'optimal')
      theirs.summary = 'close to the optimum, in closed form, streamed with few buffers';
    assert.deepEqual(entry, theirs);
  }
});

test('counter: options that it does not support are refused by name', () => {
  const fading = whole.optimize({ strategy: 'optimal', steps, workload: { decay: 0.9 } }).result();
  for (const [options, code, message] of [
    [
      { strategy: 'square-root' },
      'invalid_argument',
      /strategy must be one of tree, honaker, blt, optimal/,
    ],
    [{ strategy: 'blt' }, 'unsupported', /decays and weights must be given, or a saved strategy/],
    [
      { strategy: 'optimal', steps: 2 ** 22 + 1 },
      'invalid_argument',
      /steps must be between 1 and 4194304/,
    ],
    [
      { strategy: saved('optimal', { epochs: 2 }) },
      'unsupported',
      /columns are a dense factorization/,
    ],
    [
      { strategy: 'tree', lattice: 'discrete-gaussian' },
      'unsupported',
      /lattice must be left out: .*whole package/,
    ],
    [
      { strategy: { name: 'tree', epochLength: 4 } },
      'unsupported',
      /epochLength must be left out: .*whole/,
    ],
    [
      { strategy: { name: 'tree', normalizeColumns: true } },
      'unsupported',
      /normalizeColumns must be left out/,
    ],
    ...[
      { decay: 0.9 },
      { window: 3 },
      { momentum: 0.5 },
      { rates: [1, 2] },
      { matrix: [1, 0, 1, 1] },
    ].map((workload) => [
      { steps: 2 + (workload.window ?? 0), workload },
      'unsupported',
      /workload must be left out: .*whole/,
    ]),
    [{ strategy: fading }, 'unsupported', /workload must be left out: .*whole/],
    [{ strategy: 'tree', epsilon: -0 }, 'invalid_argument', /epsilon must be .*got -0/],
    [{ strategy: 'tree', epsilon: -1e-7 }, 'invalid_argument', /epsilon must be .*got -1e-7/],
    [{ strategy: 'tree', epsilon: NaN }, 'invalid_argument', /epsilon must be .*got NaN/],
  ]) {
    assert.throws(
      () => counter.counter({ ...target, ...options }),
      (error) => error.code === code && message.test(error.message),
      String(message),
    );
  }
  assert.deepEqual(Object.keys(counter).sort(), [
    'counter',
    'liveHandles',
    'strategies',
    'totals',
    'version',
  ]);
});

test('counter: another WebAssembly module is refused', async () => {
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  await assert.rejects(load({ wasm: empty }), (error) => {
    assert.ok(error instanceof DpError);
    return error.code === 'load_failed' && /not the one of dp-ftrl/.test(error.message);
  });
});
