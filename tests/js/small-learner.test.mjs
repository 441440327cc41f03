// SPDX-License-Identifier: Apache-2.0

// The small entry point for learning: its results equal those of the whole package to the bit.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { memoryStore } from './support/stores.mjs';

const { load, DpError } = await importEntry('dp-ftrl/learner');
const small = await load();
const whole = await (await importEntry('dp-ftrl')).load();

const numSteps = 40;
const target = { numSteps, dimension: 2, epsilon: 2, delta: 1e-6, clipNorm: 1, insecureSeed: 7n };
const strategies = [
  { mechanism: 'independent' },
  { mechanism: 'independent', participation: { epochs: 4 } },
  { mechanism: 'tree' },
  { mechanism: 'honaker', participation: { participations: 3, minSeparation: 9 } },
  { mechanism: 'blt', decays: [0.9, 0.5], weights: [0.1, 0.2] },
  { mechanism: whole.optimize({ mechanism: 'optimal', numSteps, buffers: 3 }) },
];
const features = Float64Array.from({ length: 2 * numSteps }, (_, i) => Math.sin(3 * i) / 2);
const labels = Float64Array.from({ length: numSteps }, (_, i) => (features[2 * i] > 0 ? 1 : -1));

/** Requires `use` to give the same result with either package. */
function same(use) {
  const [own, theirs] = [small, whole].map((dp) => {
    const handle = use.make(dp);
    try {
      return use.run(handle);
    } finally {
      handle.dispose();
    }
  });
  assert.deepEqual(own, theirs);
}

test('small learner: scores, weights and certificates are those of the whole package', () => {
  for (const strategy of strategies) {
    for (const loss of ['logistic', 'squared', 'hinge']) {
      same({
        make: (dp) => dp.learner({ ...target, ...strategy, loss }),
        run: (learner) => {
          const scores = learner.learn(features, labels);
          assert.throws(() => learner.learn([0, 0], [1]), { code: 'past_horizon' });
          return [scores, learner.model(), learner.certificate];
        },
      });
    }
  }
});

test('small learner: gradient learners give the results of the whole package', () => {
  for (const strategy of strategies) {
    for (const rule of ['ftrl', 'descent', 'adam']) {
      same({
        make: (dp) => dp.gradientLearner({ ...target, ...strategy, batchSize: 2, rate: 0.1, rule }),
        run: (learner) => {
          for (let i = 0; i < features.length; i += 4) learner.update(features.subarray(i, i + 4));
          return [learner.weights(), learner.certificate];
        },
      });
    }
  }
});

test('small learner: noise is that of the whole package', () => {
  const { numSteps, dimension, insecureSeed } = target;
  for (const strategy of strategies) {
    for (const increments of [false, true]) {
      same({
        make: (dp) => dp.noise({ numSteps, dimension, insecureSeed, ...strategy, increments }),
        run: (noise) => {
          noise.seek(5);
          return noise.rounded({ numRows: 4, scale: 1000 });
        },
      });
    }
    same({
      make: (dp) => dp.noise({ ...target, ...strategy, increments: true }),
      run: (noise) => Array.from(labels, (label, i) => noise.addNoiseTo([label, 0], i)),
    });
  }
});

test('small learner: models of tables, their defaults and predictions are those of the whole package', () => {
  const inputs = [{ name: 'a' }, { name: 'b', low: -2, high: 2 }];
  const [own, theirs] = [small, whole].map((dp) => {
    const model = dp.learn({ features, labels, inputs, epsilon: 4, delta: 1e-6, insecureSeed: 5n });
    const facts = { numRows: 500, dimension: 4, epsilon: 1, delta: 1e-6 };
    return [model, dp.predict(model, features), dp.learnerDefaults({ ...facts, setup: 'table' })];
  });
  assert.deepEqual(own, theirs);
});

test('small learner: a state of either package goes on in the other', async () => {
  for (const strategy of strategies) {
    const options = { ...target, ...strategy };
    delete options.insecureSeed;
    const store = memoryStore();
    for (const [life, dp] of [small, whole, small, whole].entries()) {
      const ledger = await dp.learnerLedger({ ...options, store });
      assert.equal(ledger.step, 10 * life);
      const from = 10 * life;
      await ledger.learn(features.subarray(2 * from, 2 * from + 20), labels.subarray(from, from + 10));
      ledger.dispose();
    }
  }
});

test('small learner: missing features are refused, and the error names them', () => {
  for (const [options, code, message] of [
    [{ mechanism: 'square-root' }, 'invalid_argument', /must be one of independent, tree, honaker, blt, optimal/],
    [{ mechanism: 'blt' }, 'unsupported', /decays and weights must be given, or a saved strategy/],
    [{ mechanism: 'tree', mode: 'lattice' }, 'unsupported', /mode must be left out: .*whole package/],
    [{ mechanism: 'tree', epochLength: 4 }, 'unsupported', /epochLength must be left out: .*whole/],
    [{ descent: { momentum: 0.5, through: 'workload' } }, 'unsupported', /workload must be left out: .*whole/],
  ]) {
    assert.throws(
      () => small.learner({ ...target, ...options }),
      (error) => error.code === code && message.test(error.message),
      String(message),
    );
  }
  assert.deepEqual(
    Object.keys(small).sort(),
    [
      ...['gradientLearner', 'learn', 'learner', 'learnerDefaults', 'learnerLedger', 'liveHandles'],
      ...['mechanisms', 'noise', 'preconditioningCost', 'predict', 'version'],
    ],
  );
  const known = whole.mechanisms();
  for (const entry of small.mechanisms()) {
    const theirs = known.find(({ name }) => name === entry.name);
    if (entry.name === 'optimal') theirs.summary = 'close to the optimum, in closed form, streamed with few buffers';
    assert.deepEqual(entry, theirs);
  }
});

test('small learner: a WebAssembly module of another program is refused', async () => {
  const empty = Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0);
  await assert.rejects(load({ wasm: empty }), (error) => {
    assert.ok(error instanceof DpError);
    return error.code === 'load_failed' && /not the one of dp-ftrl/.test(error.message);
  });
});
