// SPDX-License-Identifier: Apache-2.0

// Statistics: moments of records with their intervals, and their ledgers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, golden } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { using } from './support/statistics.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

const ranges = [
  [0, 100],
  [-1, 3],
];
const target = { numSteps: 40, epsilon: 1, delta: 1e-6, mechanism: 'tree', insecureSeed: 7 };
const what = { statistic: 'moments', ranges, ...target };
/** Negligible noise. */
const clear = { ...what, epsilon: 1e5 };
const records = Float64Array.from({ length: 80 }, (_, k) =>
  k % 2 === 0 ? (37 * k) % 101 : ((5 * k) % 17) / 5,
);

const withStatistic = (options, use) => using(dp, options, use);

/** Moments by definition. */
function momentsOf(rows) {
  const count = rows.length / 2;
  const columns = ranges.map(([low, high], i) =>
    Array.from({ length: count }, (_, k) => Math.min(Math.max(rows[2 * k + i], low), high)),
  );
  const mean = columns.map((column) => column.reduce((sum, x) => sum + x, 0) / count);
  const covariance = columns.map((a, i) =>
    columns.map(
      (b, j) => a.reduce((sum, x, k) => sum + (x - mean[i]) * (b[k] - mean[j]), 0) / count,
    ),
  );
  return { count, mean, variance: covariance.map((row, i) => row[i]), covariance };
}

/** Pairs of moments and their expected values. */
function pairsOf(found, truth) {
  const pairs = [[found.count, truth.count]];
  found.mean.forEach((mean, i) => pairs.push([mean, truth.mean[i]]));
  found.variance.forEach((variance, i) => pairs.push([variance, truth.variance[i]]));
  found.standardDeviation.forEach((it, i) => pairs.push([it, Math.sqrt(truth.variance[i])]));
  found.covariance?.forEach((row, i) =>
    row.forEach((it, j) => pairs.push([it, truth.covariance[i][j]])),
  );
  return pairs;
}

test('moments: with hardly any noise they are those of their definitions, after every step', () => {
  for (const neighbours of ['zero-out', 'replace-one']) {
    for (const covariance of [false, true]) {
      withStatistic({ ...clear, neighbours, covariance }, (statistic) => {
        const all = statistic.releaseMany(records);
        assert.equal(all.length, 40);
        all.forEach((found, t) => {
          assert.equal('covariance' in found, covariance);
          const pairs = pairsOf(found, momentsOf(records.subarray(0, 2 * t + 2)));
          for (const [{ value, low, high, stddev }, truth] of pairs) {
            assert.ok(low <= value && value <= high && stddev > 0);
            close(value, truth, Math.max(8 * stddev, 1e-3 * Math.abs(truth)), `step ${t}`);
          }
        });
      });
    }
  }
});

test('moments: every way of giving records leads to the same bits', () => {
  const options = { ...what, covariance: true };
  const many = withStatistic(options, (it) => it.releaseMany(records));
  const single = withStatistic(options, (it) =>
    Array.from({ length: 40 }, (_, t) => it.release(records.subarray(2 * t, 2 * t + 2))),
  );
  assert.deepEqual(single, many);
  const parts = withStatistic(options, (it) => {
    it.contribute(records.subarray(0, 2));
    const first = it.endSteps();
    it.contribute(records.subarray(2, 4));
    assert.equal(it.step, 1);
    return [...first, ...it.endSteps(2)];
  });
  assert.deepEqual(parts.slice(0, 2), many.slice(0, 2));
  assert.equal(parts.length, 3);
});

test('moments: the certificate is about records, and its distance matches an independent computation', () => {
  const cases = golden('moments');
  assert.equal(cases.length, 15);
  for (const {
    columns,
    covariance,
    neighbours,
    fixed_times: fixedTimes,
    distance_squared: squared,
  } of cases) {
    const some = Array.from({ length: columns }, (_, i) => [i, i + 2]);
    withStatistic(
      { ...what, ranges: some, covariance, neighbours, fixedTimes },
      ({ certificate }) => {
        const times = neighbours === 'replace-one' ? 2 : 1;
        const { clipNorm, noiseStddev, noiseMultiplier, sensitivity } = certificate;
        assert.equal(certificate.neighbours, neighbours);
        assert.equal(certificate.fixedTimes, neighbours === 'replace-one' ? fixedTimes : undefined);
        const ratio = (clipNorm * times) / Math.sqrt(squared);
        assert.ok(ratio >= 1 && ratio <= 1 + 2 ** -13, `${ratio}`);
        close(noiseStddev, noiseMultiplier * sensitivity * clipNorm * times, 1e-9 * noiseStddev);
      },
    );
  }
});

test('statistics: every form makes the noise for records that move, unless times are promised', async () => {
  const stores = [];
  const open = (make) => (options) => {
    stores.push(memoryStore());
    return make.call(dp, { ...options, store: stores.at(-1) });
  };
  const forms = [dp.statistic, dp.peopleStatistic].map(
    (make) => (options) => make.call(dp, options),
  );
  forms.push(open(dp.statisticLedger), open(dp.peopleStatisticLedger));
  const { epsilon, delta } = what;
  const daily = { epsilon, delta, numSteps: 30, neighbours: 'replace-one', insecureSeed: 7 };
  for (const own of [
    { statistic: 'histogram', categories: ['a', 'b'] },
    { statistic: 'moments', ranges: [[0, 1]] },
  ]) {
    for (const participation of ['single', { participations: 2, minSeparation: 1 }]) {
      for (const workload of ['prefix', { window: 7 }, { window: 1 }]) {
        const claims = new Set();
        for (const form of forms) {
          const claimOf = async (changes) => {
            const made = await form({ ...daily, ...own, participation, workload, ...changes });
            const { certificate } = made;
            made.dispose();
            return certificate;
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
        assert.equal(claims.size, 1);
      }
    }
  }
});

test('statistics: a promise of fixed times that means nothing is refused', () => {
  const sums = { statistic: 'sums', workloads: ['prefix', { window: 7 }] };
  const { epsilon, delta, numSteps } = what;
  const refused = (options, constraint) =>
    assert.throws(() => dp.statistic({ epsilon, delta, numSteps, ...options }), {
      parameter: 'fixedTimes',
      constraint,
    });
  for (const own of [
    { statistic: 'histogram', categories: ['a', 'b'] },
    { statistic: 'moments', ranges: [[0, 1]] },
  ]) {
    refused({ ...own, fixedTimes: true }, /false without replace-one/);
    refused({ ...own, fixedTimes: 'yes', neighbours: 'replace-one' }, /true or false|boolean/);
  }
  refused({ ...sums, fixedTimes: true, neighbours: 'replace-one' }, /no option of sums/);
});

test('moments: intervals are as confident as was asked for', () => {
  const truth = momentsOf(records);
  const numTrials = 600;
  for (const confidence of [0.5, 0.95]) {
    const missed = new Array(11).fill(0);
    for (let seed = 0; seed < numTrials; ++seed) {
      const options = { ...what, epsilon: 20, confidence, covariance: true, insecureSeed: seed };
      const found = withStatistic({ ...options, numSteps: 1 }, (it) => {
        it.contribute(records);
        return it.endSteps()[0];
      });
      pairsOf(found, truth).forEach(([{ low, high }, value], i) => {
        if (value < low || value > high) ++missed[i];
      });
    }
    // Each is exceeded with probability 3e-6 if intervals are at least as confident as claimed.
    const deviation = Math.sqrt(numTrials * confidence * (1 - confidence));
    const most = (1 - confidence) * numTrials + 4.5 * deviation;
    for (const count of missed) assert.ok(count <= most, `${confidence}: ${missed}`);
    // The interval of the count is exact.
    assert.ok(missed[0] >= (1 - confidence) * numTrials - 4.5 * deviation, `${missed}`);
  }
});

test('moments: a window forgets what has left it', () => {
  const options = { ...clear, mechanism: 'normalized-square-root', workload: { window: 10 } };
  withStatistic(options, (statistic) => {
    const found = statistic.releaseMany(records).at(-1);
    for (const [{ value, stddev }, truth] of pairsOf(found, momentsOf(records.subarray(60)))) {
      close(value, truth, Math.max(8 * stddev, 1e-3 * Math.abs(truth)));
    }
  });
});

test('moments: the predicted std of the count is that of its estimates', () => {
  withStatistic(what, (statistic) => {
    const all = statistic.endSteps(40);
    all.forEach(({ count }, t) => assert.equal(count.stddev, statistic.stddev(t)));
  });
});

test('moments: what is refused is named, and changes nothing', () => {
  const refused = (act, parameter, code = 'invalid_argument', row = undefined) =>
    assert.throws(act, (error) => {
      assert.equal(error.code, code, error.message);
      assert.equal(error.parameter, parameter, error.message);
      assert.deepEqual(error.row, row);
      return true;
    });
  const make = (changes) => () => dp.statistic({ ...what, ...changes }).dispose();
  refused(make({ statistic: 'median' }), 'statistic');
  refused(make({ statistic: undefined }), 'statistic', 'wrong_type');
  refused(make({ categories: ['a'] }), 'categories', 'wrong_type');
  refused(make({ clipNorm: 1 }), 'clipNorm', 'wrong_type');
  refused(make({ pure: true }), 'pure', 'wrong_type');
  refused(make({ ranges: undefined }), 'ranges', 'wrong_type');
  refused(make({ ranges: [] }), 'ranges');
  refused(make({ ranges: [[1, 2, 3]] }), 'ranges[0]', 'wrong_length');
  refused(
    make({
      ranges: [
        [0, 1],
        ['a', 1],
      ],
    }),
    'ranges[1][0]',
    'wrong_type',
  );
  refused(
    make({
      ranges: [
        [0, 1],
        [1, 1],
      ],
    }),
    'ranges[1]',
  );
  refused(make({ confidence: 1 }), 'confidence');
  refused(make({ covariance: 1 }), 'covariance', 'wrong_type');
  refused(make({ workload: { momentum: 0.9 } }), 'workload');
  assert.throws(make({ workload: { decay: 0.9 } }), /must be 'prefix' or a window, for moments/);
  const before = dp.liveHandles;
  refused(make({ epsilon: -1 }), 'epsilon');
  assert.equal(dp.liveHandles, before);
  for (const changes of [{ epsilon: -1 }, { ranges: [] }]) {
    assert.throws(make(changes), { call: 'statistic' });
  }

  withStatistic({ ...what, numSteps: 2 }, (statistic) => {
    refused(() => statistic.release([1]), 'record', 'wrong_length');
    refused(() => statistic.releaseMany([1, 2, 3]), 'records', 'wrong_length');
    refused(() => statistic.release([1, NaN]), 'record[1]');
    assert.throws(() => statistic.release([1, NaN]), {
      message: 'release: record[1] must be finite, got NaN',
    });
    refused(() => statistic.contribute([1, 2, NaN, 3]), 'record[0]', undefined, {
      kind: 'record',
      index: 1,
    });
    assert.equal(statistic.step, 0);
    assert.throws(
      () => statistic.releaseMany([1, 2, 3, 4, 5, 6]),
      (error) => error.code === 'past_horizon',
    );
    const { step } = statistic;
    statistic.endSteps(2 - step);
    assert.throws(() => statistic.endSteps(), { code: 'past_horizon' });
    statistic.dispose();
    assert.throws(() => statistic.step, { code: 'disposed' });
    assert.throws(() => statistic.release([1, 2]), { code: 'disposed' });
  });
});

test('moments: if sums have no room on the default grid, the error names an option that was given', async () => {
  const many = {
    ranges: Array.from({ length: 200 }, () => [0, 1]),
    covariance: true,
    numSteps: 2 ** 40,
  };
  for (const [changes, parameter, constraint] of [
    [{ epsilon: 1e-12, delta: 1e-15 }, 'epsilon', /^must be larger, for sums and noise/],
    [many, 'numSteps', /^must be smaller, for sums and noise/],
  ]) {
    const options = { ...what, ...changes };
    const wanted = {
      code: 'invalid_argument',
      parameter,
      constraint,
      value: String(options[parameter]),
    };
    assert.throws(() => dp.statistic(options), { ...wanted, call: 'statistic' });
    const opening = dp.statisticLedger({ ...options, store: memoryStore() });
    await assert.rejects(opening, { ...wanted, call: 'statisticLedger' });
  }
});

for (const [kind, make] of [
  ['appends', appendingStore],
  ['only saves', memoryStore],
]) {
  test(`moments: a ledger in a store that ${kind} continues with the same bits as in one process`, async () => {
    const options = { ...what, covariance: true };
    const whole = withStatistic(options, (it) => it.releaseMany(records));
    const store = make();
    const open = (changes) => dp.statisticLedger({ ...options, ...changes, store });
    const memo = Uint8Array.of(4, 2);
    let ledger = await open({});
    const { identity } = ledger;
    assert.equal(ledger.memo, undefined);
    assert.deepEqual(await ledger.release(0, records.subarray(0, 2)), whole[0]);
    assert.deepEqual(await ledger.releaseSteps(1, [records.subarray(2, 4)], memo), [whole[1]]);
    ledger.dispose();

    ledger = await open({});
    assert.equal(ledger.identity, identity);
    assert.deepEqual(ledger.memo, memo);
    assert.equal(ledger.step, 2);
    assert.deepEqual(await ledger.release(0, records.subarray(0, 2)), whole[0]);
    await assert.rejects(ledger.release(0, [1, 1]), { code: 'already_released' });
    assert.deepEqual(await ledger.releaseMany(2, records.subarray(4)), whole.slice(2));
    await assert.rejects(ledger.release(40, [1, 1]), { code: 'invalid_argument' });
    await assert.rejects(ledger.release(3, [1]), { code: 'wrong_length' });
    await assert.rejects(ledger.releaseSteps(40, 7), { code: 'wrong_type' });
    ledger.dispose();

    const others = [
      {
        ranges: [
          [0, 100],
          [-1, 4],
        ],
      },
      { ranges: [[0, 100]] },
      { covariance: false },
      { neighbours: 'replace-one' },
      { neighbours: 'replace-one', fixedTimes: true },
    ];
    const before = dp.liveHandles;
    for (const changes of others) await assert.rejects(open(changes), { code: 'bad_state' });
    assert.equal(dp.liveHandles, before);
    (await open({ confidence: 0.5 })).dispose();
  });
}

test('moments: errors of a ledger name the function called, or the statistic that was disposed of', async () => {
  for (const changes of [{ epsilon: -1 }, { ranges: [] }, { statistic: 'median' }]) {
    const opening = dp.statisticLedger({ ...what, ...changes, store: memoryStore() });
    await assert.rejects(opening, { code: 'invalid_argument', call: 'statisticLedger' });
  }
  let isAsked, goOn;
  const asked = new Promise((resolve) => (isAsked = resolve));
  const pause = { now: async () => {} };
  const ledger = await dp.statisticLedger({ ...what, store: memoryStore(() => pause.now()) });
  pause.now = () => {
    isAsked();
    return new Promise((resolve) => (goOn = resolve));
  };
  const release = ledger.release(0, [1, 2]);
  await asked;
  ledger.dispose();
  goOn();
  await assert.rejects(release, { code: 'disposed', message: 'this statistic was disposed of' });
});

test('moments: a ledger of other sums is refused', async () => {
  const store = memoryStore();
  const sums = withStatistic(what, ({ certificate }) => ({
    ...target,
    clipNorm: certificate.clipNorm,
    dimension: 5,
    grid: 2 ** -18,
    store,
  }));
  const ledger = await dp.ledger(sums);
  await ledger.releaseSteps(0, [], Uint8Array.of(1));
  ledger.dispose();
  await assert.rejects(dp.statisticLedger({ ...what, store }), { code: 'bad_state' });
});
