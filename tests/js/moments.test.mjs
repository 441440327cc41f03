// SPDX-License-Identifier: Apache-2.0

// Moments of records with their intervals, and the noise of statistics for records that move.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, golden } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { memoryStore } from './support/stores.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const columns = { a: [0, 100], b: [-1, 3] };
const names = Object.keys(columns);
const target = { steps: 40, epsilon: 1, delta: 1e-6, strategy: 'tree', insecureSeed: 7 };
const what = { columns, ...target };
/** Negligible noise. */
const clear = { ...what, epsilon: 1e5 };
const records = Array.from({ length: 40 }, (_, k) => ({
  a: (74 * k) % 101,
  b: ((10 * k + 5) % 17) / 5,
}));

/** Calls `use` with the stream, and returns its result. */
function withMoments(options, use) {
  const moments = dp.moments(options);
  try {
    return use(moments);
  } finally {
    moments.dispose();
  }
}

/** Moments by definition. */
function momentsOf(rows) {
  const count = rows.length;
  const clipped = names.map((name) => {
    const [low, high] = columns[name];
    return rows.map((row) => Math.min(Math.max(row[name], low), high));
  });
  const mean = clipped.map((column) => column.reduce((sum, x) => sum + x, 0) / count);
  const covariance = clipped.map((a, i) =>
    clipped.map(
      (b, j) => a.reduce((sum, x, k) => sum + (x - mean[i]) * (b[k] - mean[j]), 0) / count,
    ),
  );
  return { count, mean, variance: covariance.map((row, i) => row[i]), covariance };
}

/** Pairs of moments and their expected values. */
function pairsOf(found, truth) {
  const pairs = [[found.count, truth.count]];
  names.forEach((name, i) => {
    pairs.push([found.mean[name], truth.mean[i]]);
    pairs.push([found.variance[name], truth.variance[i]]);
    pairs.push([found.standardDeviation[name], Math.sqrt(truth.variance[i])]);
    const row = found.covariance?.[name];
    if (row) names.forEach((other, j) => pairs.push([row[other], truth.covariance[i][j]]));
  });
  return pairs;
}

test('moments: with hardly any noise they are those of their definitions, after every step', () => {
  for (const neighbours of ['zero-out', 'replace-one']) {
    for (const covariance of [false, true]) {
      withMoments({ ...clear, neighbours, covariance }, (moments) => {
        moments.releaseMany(records).forEach((found, t) => {
          assert.equal('covariance' in found, covariance);
          const pairs = pairsOf(found, momentsOf(records.slice(0, t + 1)));
          for (const [{ value, low, high, stddev }, truth] of pairs) {
            assert.ok(low <= value && value <= high && stddev > 0);
            close(value, truth, Math.max(8 * stddev, 1e-3 * Math.abs(truth)), `step ${t}`);
          }
        });
      });
    }
  }
});

test('moments: the certificate is about records, and its distance matches an independent computation', () => {
  const cases = golden('moments');
  assert.equal(cases.length, 15);
  for (const {
    columns: numColumns,
    covariance,
    neighbours,
    fixed_times: fixedTimes,
    distance_squared: squared,
  } of cases) {
    const some = Object.fromEntries(
      Array.from({ length: numColumns }, (_, i) => [`c${i}`, [i, i + 2]]),
    );
    const options = { ...what, columns: some, covariance, neighbours, fixedTimes };
    withMoments(options, ({ certificate }) => {
      const times = neighbours === 'replace-one' ? 2 : 1;
      const { clipNorm, noiseStddev, noiseMultiplier, sensitivity } = certificate;
      assert.equal(certificate.neighbours, neighbours);
      assert.equal(certificate.fixedTimes, neighbours === 'replace-one' ? fixedTimes : undefined);
      const ratio = (clipNorm * times) / Math.sqrt(squared);
      assert.ok(ratio >= 1 && ratio <= 1 + 2 ** -13, `${ratio}`);
      close(noiseStddev, noiseMultiplier * sensitivity * clipNorm * times, 1e-9 * noiseStddev);
    });
  }
});

const STATISTICS = [
  ['histogram', { categories: ['a', 'b'] }],
  ['moments', { columns: { x: [0, 1] } }],
];

test('statistics: everywhere the noise is made for records that move, unless times are promised', async () => {
  const { epsilon, delta } = what;
  const daily = { epsilon, delta, steps: 30, neighbours: 'replace-one', insecureSeed: 7 };
  for (const [kind, own] of STATISTICS) {
    for (const bound of ['once', { times: 2, apart: 1 }]) {
      for (const workload of ['prefix', { window: 7 }, { window: 1 }]) {
        const claims = new Set();
        for (const who of [{ participation: bound }, { people: bound }]) {
          for (const where of [() => ({}), () => ({ store: memoryStore() })]) {
            const claimOf = async (changes) => {
              const options = { ...daily, ...own, ...who, ...where(), workload, ...changes };
              const stream = await dp[kind](options);
              await stream.dispose();
              return stream.certificate;
            };
            const moving = await claimOf({});
            const promised = await claimOf({ fixedTimes: true });
            assert.deepEqual([moving.fixedTimes, promised.fixedTimes], [false, true]);
            const ratio = moving.noiseStddev / promised.noiseStddev;
            close(moving.sensitivity / promised.sensitivity, ratio, 1e-9);
            if (workload.window === 7) assert.ok(ratio > 1.08 && ratio <= Math.SQRT2, `${ratio}`);
            else close(ratio, 1, 1e-9);
            claims.add(JSON.stringify([moving, promised]));
          }
        }
        assert.equal(claims.size, 1);
      }
    }
  }
});

test('statistics: a promise of fixed times that means nothing is refused', () => {
  const { epsilon, delta, steps } = what;
  const refused = (kind, options, constraint) =>
    assert.throws(() => dp[kind]({ epsilon, delta, steps, ...options }), {
      parameter: 'fixedTimes',
      constraint,
    });
  for (const [kind, own] of STATISTICS) {
    refused(kind, { ...own, fixedTimes: true }, /false without replace-one/);
    refused(kind, { ...own, fixedTimes: 'yes', neighbours: 'replace-one' }, /a boolean/);
  }
  const sums = { workloads: { all: 'prefix' }, fixedTimes: true, neighbours: 'replace-one' };
  refused('sums', sums, /unknown option/);
});

test('moments: intervals are as confident as was asked for', () => {
  const truth = momentsOf(records);
  const numTrials = 600;
  for (const confidence of [0.5, 0.95]) {
    const missed = new Array(11).fill(0);
    for (let seed = 0; seed < numTrials; ++seed) {
      const options = { ...what, epsilon: 20, confidence, covariance: true, insecureSeed: seed };
      const found = withMoments({ ...options, steps: 1 }, (it) => it.releaseBatch(records));
      pairsOf(found, truth).forEach(([{ low, high }, value], i) => {
        if (value < low || value > high) ++missed[i];
      });
    }
    // Each bound is exceeded with probability 3e-6 if intervals are at least as confident as
    // claimed.
    const deviation = Math.sqrt(numTrials * confidence * (1 - confidence));
    const most = (1 - confidence) * numTrials + 4.5 * deviation;
    for (const count of missed) assert.ok(count <= most, `${confidence}: ${missed}`);
    // The interval of the count is exact.
    assert.ok(missed[0] >= (1 - confidence) * numTrials - 4.5 * deviation, `${missed}`);
  }
});

test('moments: a window forgets what has left it', () => {
  const options = { ...clear, strategy: 'normalized-square-root', workload: { window: 10 } };
  withMoments(options, (moments) => {
    const found = moments.releaseMany(records).at(-1);
    for (const [{ value, stddev }, truth] of pairsOf(found, momentsOf(records.slice(30)))) {
      close(value, truth, Math.max(8 * stddev, 1e-3 * Math.abs(truth)));
    }
  });
});

test('moments: if sums have no room on the default grid, the error names what makes room', async () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`c${i}`, [0, 1]]));
  for (const [changes, constraint] of [
    [{ epsilon: 1e-12, delta: 1e-15 }, /^must be larger, for noise/],
    [{ columns: many, covariance: true, steps: 2 ** 40 }, /^must be larger, or \{steps\} smaller,/],
  ]) {
    const options = { ...what, ...changes };
    const wanted = {
      code: 'invalid_argument',
      call: 'moments',
      parameter: 'epsilon',
      constraint,
      value: String(options.epsilon),
    };
    assert.throws(() => dp.moments(options), wanted);
    await assert.rejects(dp.moments({ ...options, store: memoryStore() }), wanted);
  }
});
