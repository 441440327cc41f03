// SPDX-License-Identifier: Apache-2.0

// Benchmarks for a learner: its twin, the best fixed weights, and the bounds of the regret
// theorems.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { strategy: 'honaker', steps: 60, epsilon: 2, delta: 1e-6, clip: 1.5 };
const random = generator(4);
const features = Float64Array.from({ length: 120 }, () => 2 * random() - 1);
const labels = Float64Array.from({ length: 60 }, (_, i) => Number(features[2 * i] > 0.1));
const table = { numRows: 60, numColumns: 2, values: features, labels };

function using(handle, use) {
  try {
    return use(handle);
  } finally {
    handle.dispose();
  }
}

test('hindsight: twin and regret are those of the simulation', () => {
  for (const rule of [
    { loss: 'logistic', radius: 2 },
    { loss: 'hinge', domain: 'box', doubling: true },
    { loss: 'squared', domain: 'whole-space', lambda: 9, descent: { momentum: 0.5 } },
  ]) {
    const { lambda, descent, doubling, ...fixed } = rule;
    const { domain, radius } = fixed;
    using(dp.study.simulation({ ...target, ...rule, table, noiseSeed: 3 }), (play) => {
      const { twinLoss, privateLoss, regret } = play.advance(100);
      const options = { ...rule, steps: 60, clip: 1.5, dimension: 2 };
      const predictions = new Float64Array(60);
      using(dp.study.twin(options), (twin) => {
        twin.learn(features.subarray(0, 40), labels.subarray(0, 20));
        predictions.set(twin.learn(features.subarray(40), labels.subarray(20)), 20);
      });
      const learner = dp.learner({ ...target, ...fixed, dimension: 2, insecureSeed: 3 });
      const losses = using(learner, (it) => it.losses(predictions, labels));
      for (let i = 20; i < 60; ++i) close(losses[i], twinLoss[i], 1e-12);
      using(dp.study.comparator({ ...fixed, dimension: 2, gap: 1e-7 }), (comparator) => {
        comparator.append(features, labels);
        const { loss, gap, certified, weights } = comparator.best();
        assert.ok(certified && gap <= 1e-7 && weights.length === 2);
        const mean = (values) => values.reduce((sum, value) => sum + value, 0) / 60;
        close(mean(privateLoss) - loss, regret.private.at(-1), 2e-6);
        close(mean(twinLoss) - loss, regret.twin.at(-1), 2e-6);
      });
      if (descent) return;
      const bounded = { domain, radius, lambda, doubling, dimension: 2 };
      const { expected } = dp.study.regretBounds(play.certificate, bounded);
      close(expected.total, play.regretBound.private, 1e-12);
      close(expected.regularisation + expected.stability + expected.noise, expected.total, 1e-12);
    });
  }
});

test('twin: its weights are those used for the next batch', () => {
  const options = { loss: { softmax: 3 }, batchSize: 4, steps: 15, dimension: 2 };
  using(dp.study.twin(options), (twin) => {
    assert.deepEqual([...twin.weights()], [0, 0, 0, 0, 0, 0], 'nothing is learned yet');
    const classes = labels.map((label, i) => (i % 2 === 0 ? 2 : label));
    twin.learn(features.subarray(0, 16), classes.subarray(0, 8));
    const weights = twin.weights();
    // With less than a batch, both use the same weights, which do not change.
    const scores = twin.learn(features.subarray(16, 20), classes.subarray(8, 10));
    for (let i = 0; i < 6; ++i) {
      const [x, y] = features.subarray(16 + 2 * Math.floor(i / 3));
      close(scores[i], weights[2 * (i % 3)] * x + weights[2 * (i % 3) + 1] * y, 1e-12);
    }
    assert.ok(weights.some((weight) => Math.abs(weight) > 0.01));
    assert.deepEqual(twin.weights(), weights);
    twin.endBatch();
    assert.notDeepEqual(twin.weights(), weights);
  });
});

test('regretBounds: truncation takes at most batchSize / 8 of the noise at the default grid', () => {
  const largest = [];
  for (const strategy of ['tree', 'independent', 'square-root', 'output']) {
    for (const steps of [1, 100, 2 ** 12, 2 ** 18]) {
      if (strategy === 'square-root' && steps > 2 ** 12) continue; // all of its noise is stored
      for (const epsilon of [0.01, 1, 100]) {
        for (const [dimension, batchSize, clip] of [
          [1, 1, 1],
          [300, 7, 0.2],
          [3, 1, 50],
        ]) {
          const privacy = { epsilon, delta: 1e-6, clip };
          const how = { strategy, steps, dimension, batchSize, ...privacy, insecureSeed: 1 };
          const learner = dp.learner(how);
          const { grid, certificate } = learner;
          learner.dispose();
          const { lambda, expected } = dp.study.regretBounds(certificate, { dimension, batchSize });
          // Sums up to step t are too small by at most t batches of grids per coordinate.
          const taken = (clip * grid * Math.sqrt(dimension) * steps) / (2 * lambda);
          assert.ok(taken <= (batchSize / 8) * expected.noise, JSON.stringify({ ...how, grid }));
          largest.push(taken / (batchSize * expected.noise));
        }
      }
    }
  }
  assert.ok(Math.max(...largest) > 1 / 32, 'the bound is not idle');
});

test('hindsight: each term of a bound equals its formula, and bounds are null where there are none', () => {
  const certificate = dp.certificate(target);
  const rule = { dimension: 3, radius: 2, batchSize: 4 };
  const { lambda, expected, highProbability, hazan } = dp.study.regretBounds(certificate, {
    ...rule,
    failureProbability: 0.01,
  });
  const [n, L, D] = [60, 1.5, 2];
  const noise = (certificate.noiseMultiplier * certificate.meanError) / 4;
  close(lambda, (L / D) * Math.sqrt(n * (1 + 2 * Math.sqrt(3) * noise)), 1e-12);
  const learner = dp.learner({ ...target, ...rule });
  close(
    lambda,
    using(learner, (it) => it.lambda()),
    1e-12,
  );
  close(expected.regularisation, (lambda * D * D) / (2 * n), 1e-12);
  close(expected.stability, (L * L) / (2 * lambda), 1e-12);
  close(expected.noise, ((L * L) / lambda) * Math.sqrt(3) * noise, 1e-12);
  const growth = 1 + Math.sqrt((2 * Math.log(100)) / 3);
  close(highProbability.noise, expected.noise * growth, 1e-12);
  close(highProbability.total, expected.total + expected.noise * (growth - 1), 1e-12);
  close(hazan.stability, 4 * expected.stability, 1e-12);
  const { byMaxError } = dp.study.regretBounds(certificate, { ...rule, failureProbability: 0.01 });
  const largest = (certificate.noiseMultiplier * certificate.maxError) / 4;
  const most = (events) => Math.sqrt(3) + Math.sqrt(2 * Math.log(events));
  close(byMaxError.expected.noise, ((L * L) / lambda) * most(n) * largest, 1e-12);
  close(byMaxError.highProbability.noise, ((L * L) / lambda) * most(n / 0.01) * largest, 1e-12);
  assert.ok(byMaxError.expected.total > expected.total);
  assert.ok(byMaxError.highProbability.total > highProbability.total);

  const doubling = dp.study.regretBounds(certificate, { ...rule, doubling: true });
  close(doubling.lambda, lambda / Math.sqrt(n), 1e-12);
  assert.ok(doubling.highProbability.noise > doubling.expected.noise && doubling.hazan === null);
  const none = dp.study.regretBounds(certificate, { ...rule, descent: {} });
  const { lambda: _, ...all } = none;
  assert.deepEqual(all, { expected: null, highProbability: null, byMaxError: null, hazan: null });
  const independent = dp.certificate({ ...target, strategy: 'independent' });
  assert.ok(dp.study.regretBounds(independent, { ...rule, descent: {} }).expected.noise > 0);
  assert.equal(dp.study.regretBounds(independent, { descent: { momentum: 0.5 } }).expected, null);
});

test('hindsight: misuse is refused by name', () => {
  const kinds = { wrong_type: TypeError, wrong_length: TypeError, unsupported: DpError };
  const refuse = (call, code, message) => rejects(call, kinds[code] ?? RangeError, code, message);
  refuse(() => dp.study.twin({}), 'wrong_type', /twin: steps must be a number/);
  refuse(() => dp.study.twin({ steps: 0 }), 'invalid_argument', /steps must be/);
  refuse(
    () => dp.study.twin({ steps: 5, epsilon: 1 }),
    'wrong_type',
    /epsilon is an unknown option/,
  );
  const own = () => ({ slopes: [] });
  refuse(
    () => dp.study.twin({ steps: 5, loss: own }),
    'unsupported',
    /loss must be given by name here, got a function/,
  );
  refuse(() => dp.study.comparator({ lambda: 1 }), 'wrong_type', /lambda is an unknown option/);
  refuse(
    () => dp.study.comparator({ gap: 0 }),
    'invalid_argument',
    /gapTolerance must be positive/,
  );
  using(dp.study.comparator({ dimension: 2 }), (comparator) => {
    refuse(() => comparator.best(), 'invalid_argument', /numExamples must be/);
    refuse(() => comparator.append([1], [1]), 'wrong_length', /features must have 2 entries/);
    refuse(() => comparator.append([1, 2, 3, 4], [1, 7]), 'invalid_argument', /example 1: .*label/);
  });
  using(dp.study.twin({ steps: 5 }), (twin) => {
    refuse(() => twin.learn([1, 2], [1, 7]), 'invalid_argument', /example 1: .*label/);
  });
  const certificate = dp.certificate(target);
  const bounds = (change, rule) => () => dp.study.regretBounds({ ...certificate, ...change }, rule);
  refuse(
    () => dp.study.regretBounds(3),
    'wrong_type',
    /certificate must be a certificate, got number/,
  );
  refuse(bounds({ lattice: {} }), 'unsupported', /no bound for mode lattice/);
  refuse(bounds({ workload: 'window=3' }), 'invalid_argument', /workload must be "prefix"/);
  refuse(bounds({ maxError: -1 }), 'invalid_argument', /largestNoise must be/);
  refuse(bounds({ meanError: -1 }), 'invalid_argument', /releaseNoise must be/);
  refuse(bounds({}, { failureProbability: 1 }), 'invalid_argument', /failureProbability must be/);
  refuse(bounds({}, { batchSize: 0 }), 'invalid_argument', /batchSize must be at least 1/);
  refuse(bounds({}, { doubling: true, descent: {} }), 'invalid_argument', /doubling must be false/);
  assert.equal(dp.liveHandles, 0);
});
