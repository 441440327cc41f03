// SPDX-License-Identifier: Apache-2.0

// Histograms over time: counts of categories and their intervals, and their ledgers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, wellTold } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { using } from './support/statistics.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const categories = ['tea', 'coffee', 'rest', '__proto__'];
const target = { numSteps: 60, epsilon: 1, delta: 1e-6, mechanism: 'tree', insecureSeed: 7 };
const what = { statistic: 'histogram', categories, ...target };
/** Negligible noise. */
const clear = { ...what, epsilon: 1e5 };
const records = Array.from({ length: 60 }, (_, k) => categories[(k * k) % 7 === 1 ? 3 : k % 2]);
const fixed = { neighbours: 'replace-one', fixedTimes: true };
const kinds = [{}, { total: true }, fixed, { neighbours: 'replace-one' }];

const withHistogram = (options, use) => using(dp, options, use);

function truthOf(some) {
  return categories.map((category) => some.filter((record) => record === category).length);
}

test('histogram: with hardly any noise it has the counts, after every step', () => {
  for (const changes of kinds) {
    withHistogram({ ...clear, ...changes }, (histogram) => {
      assert.deepEqual(histogram.categories, categories);
      assert.equal(histogram.dimension, 4);
      histogram.releaseMany(records).forEach(({ count, total, share }, t) => {
        const truth = truthOf(records.slice(0, t + 1));
        truth.forEach((value, j) => {
          close(count[j].value, value, 8 * count[j].stddev);
          close(share[j].value, value / (t + 1), 8 * share[j].stddev + 1e-12);
        });
        close(total.value, t + 1, 8 * total.stddev);
        for (const { low, value, high } of [...count, total, ...share]) {
          assert.ok(low <= value && value <= high);
        }
      });
    });
  }
});

test('histogram: every way of giving records leads to the same bits', () => {
  for (const changes of kinds) {
    const options = { ...what, ...changes };
    const many = withHistogram(options, (it) => it.releaseMany(records));
    const single = withHistogram(options, (it) => records.map((record) => it.release(record)));
    assert.deepEqual(single, many);
    const parts = withHistogram(options, (it) =>
      records.flatMap((record) => {
        it.contribute([record]);
        return it.endSteps();
      }),
    );
    assert.deepEqual(parts, many);
  }
});

test('histogram: many records of one step are all counted, or none if one is refused', () => {
  const wide = Array.from({ length: 3000 }, (_, i) => `c${i}`);
  withHistogram({ ...clear, categories: wide, numSteps: 1, mechanism: 'output' }, (histogram) => {
    const some = Array.from({ length: 500 }, (_, k) => wide[(7 * k) % 100]);
    assert.throws(() => histogram.contribute([...some, 'c3000']), { parameter: 'records[500]' });
    histogram.contribute(some);
    histogram.contribute([]);
    const [{ count, total }] = histogram.endSteps();
    close(total.value, 500, 8 * total.stddev);
    assert.equal(count.filter(({ value }) => value > 0.5).length, 100);
  });
});

test('histogram: the claim is about records, and noise is made for their distance', () => {
  for (const changes of kinds) {
    withHistogram({ ...what, ...changes }, ({ certificate }) => {
      const isReplaced = changes.neighbours === 'replace-one';
      const { clipNorm, noiseStddev, noiseMultiplier, sensitivity } = certificate;
      const distance = isReplaced ? Math.SQRT2 : 1;
      assert.equal(certificate.neighbours, changes.neighbours ?? 'zero-out');
      assert.equal(certificate.fixedTimes, isReplaced ? Boolean(changes.fixedTimes) : undefined);
      close(clipNorm, isReplaced ? distance / 2 : 1, 1e-15);
      close(noiseStddev, noiseMultiplier * sensitivity * distance, 1e-9 * noiseStddev);
    });
  }
  const norm = { ...target, neighbours: 'replace-one', clipNorm: 1 };
  const sums = dp.prefixSum(norm);
  withHistogram({ ...what, neighbours: 'replace-one' }, ({ certificate }) => {
    close(certificate.noiseStddev, sums.certificate.noiseStddev / Math.SQRT2, 1e-9);
  });
  sums.dispose();
});

test('histogram: measuring the total costs the counts little, and all stds are as predicted', () => {
  const num = 4;
  const stds = kinds.map((changes) =>
    withHistogram({ ...what, ...changes }, (histogram) => {
      const [{ count, total }] = histogram.endSteps();
      assert.equal(count[0].stddev, count[3].stddev);
      close(count[0].stddev, histogram.stddev(0), 1e-9);
      return [count[0].stddev, total.stddev];
    }),
  );
  const [[plain, sum], [count, total], [replaced, all], [moved, allMoved]] = stds;
  close(sum, 2 * plain, 1e-9 * sum);
  // Least mean squared error of four counts and their total: (m - 1 + sqrt(m + 1))^2 / m.
  const root = Math.sqrt(num + 1);
  close(num * count ** 2 + total ** 2, (plain ** 2 * (num - 1 + root) ** 2) / num, 1e-3 * sum ** 2);
  assert.ok(count < 1.1 * plain && total < 0.8 * sum);
  close(replaced, plain * Math.sqrt((2 * num) / (num + 1)), 1e-4 * plain);
  close(all, replaced, 1e-9 * all);
  // Records that move have the columns of records that are removed.
  close(moved, Math.SQRT2 * plain, 1e-9 * moved);
  close(allMoved, Math.SQRT2 * sum, 1e-9 * allMoved);
});

test('histogram: intervals are as confident as was asked for', () => {
  const truth = truthOf(records);
  const numTrials = 600;
  const missed = new Array(9).fill(0);
  for (let seed = 0; seed < numTrials; ++seed) {
    const options = { ...what, confidence: 0.5, insecureSeed: seed, numSteps: 1 };
    const { count, total, share } = withHistogram(options, (it) => {
      it.contribute(records);
      return it.endSteps()[0];
    });
    const expected = [...truth, 60, ...truth.map((value) => value / 60)];
    [...count, total, ...share].forEach(({ low, high }, i) => {
      if (expected[i] < low || expected[i] > high) ++missed[i];
    });
  }
  // Each is exceeded with probability 3e-6.
  const tolerance = 4.5 * Math.sqrt(numTrials / 4);
  for (const count of missed) assert.ok(count <= numTrials / 2 + tolerance, `${missed}`);
  for (const count of missed.slice(0, 5))
    assert.ok(count >= numTrials / 2 - tolerance, `${missed}`);
});

test('histogram: a window forgets what has left it', () => {
  const options = { ...clear, mechanism: 'normalized-square-root', workload: { window: 10 } };
  withHistogram(options, (histogram) => {
    const { count } = histogram.releaseMany(records).at(-1);
    truthOf(records.slice(50)).forEach((value, j) => close(count[j].value, value, 0.5));
  });
});

test('histogram: consistent counts are closer to the truth, and name their post-processing', () => {
  withHistogram(what, (histogram) => {
    const all = histogram.releaseMany(records);
    const truth = records.map((_, t) => truthOf(records.slice(0, t + 1)));
    const raw = all.map(({ count }) => count.map(({ value }) => value));
    assert.ok(raw.some((row) => row.some((value) => value < 0)));
    for (const kind of ['non-negative', 'monotone']) {
      const found = histogram.consistentCounts(all, kind);
      found.forEach(({ postProcessing, count, total }, t) => {
        assert.equal(postProcessing, kind);
        close(
          total,
          count.reduce((sum, value) => sum + value, 0),
          1e-9,
        );
        count.forEach((value, j) => {
          assert.ok(value >= 0);
          if (kind === 'monotone') assert.ok(t === 0 || value >= found[t - 1].count[j]);
          else assert.equal(value, Math.max(raw[t][j], 0));
        });
      });
      for (let j = 0; j < 4; ++j) {
        const squares = (row) => row.reduce((sum, it, t) => sum + (it - truth[t][j]) ** 2, 0);
        const [before, after] = [raw.map((row) => row[j]), found.map(({ count }) => count[j])];
        assert.ok(squares(after) < squares(before));
      }
    }
    // The estimates themselves are unchanged.
    assert.deepEqual(
      all.map(({ count }) => count.map(({ value }) => value)),
      raw,
    );
    assert.deepEqual(histogram.consistentCounts([], 'monotone'), []);
  });
});

const refused = (act, parameter, code = 'invalid_argument') =>
  assert.throws(act, (error) => {
    assert.equal(error.code, code, error.message);
    assert.equal(error.parameter, parameter, error.message);
    return true;
  });

test('histogram: what is outside of the categories is refused, or counts as other', () => {
  withHistogram(clear, (histogram) => {
    refused(() => histogram.release('milk'), 'record');
    refused(() => histogram.releaseMany(['tea', 'milk']), 'records[1]');
    refused(() => histogram.contribute(['tea', 'toString']), 'records[1]');
    assert.throws(() => histogram.release('milk'), { value: '"milk"', call: 'release' });
    assert.equal(histogram.step, 0);
    close(histogram.release('tea').total.value, 1, 0.5);
  });
  withHistogram({ ...clear, other: 'rest' }, (histogram) => {
    const { count } = histogram.releaseMany(['milk', 'tea', 'constructor', 'rest']).at(-1);
    close(count[0].value, 1, 0.5);
    close(count[2].value, 3, 0.5);
    refused(() => histogram.release(7), 'record', 'wrong_type');
  });
});

test('histogram: bad options and records are named, and change nothing', () => {
  const make = (changes) => () => dp.statistic({ ...what, ...changes }).dispose();
  const before = dp.liveHandles;
  refused(make({ categories: undefined }), 'categories', 'wrong_type');
  refused(make({ categories: 'tea,coffee' }), 'categories', 'wrong_type');
  refused(make({ categories: [] }), 'categories');
  refused(make({ categories: ['tea', 'milk', 'tea'] }), 'categories[2]');
  refused(make({ categories: ['tea', 3] }), 'categories[1]', 'wrong_type');
  refused(make({ categories: ['tea', , 'milk'] }), 'categories[1]', 'wrong_type');
  refused(make({ categories: Array.from({ length: 65537 }, (_, i) => `${i}`) }), 'categories');
  refused(make({ other: 'milk' }), 'other');
  refused(make({ other: 2 }), 'other', 'wrong_type');
  refused(make({ total: 1 }), 'total', 'wrong_type');
  refused(make({ ranges: [[0, 1]] }), 'ranges', 'wrong_type');
  refused(make({ clipNorm: 1 }), 'clipNorm', 'wrong_type');
  refused(make({ pure: true }), 'pure', 'wrong_type');
  for (const confidence of [0, 1, NaN]) refused(make({ confidence }), 'confidence');
  refused(make({ epsilon: NaN }), 'epsilon');
  refused(make({ workload: { momentum: 0.9 } }), 'workload');
  assert.throws(make({ workload: { decay: 0.9 } }), /must be 'prefix' or a window, for histogram/);
  // The default grid has no room for such large noise.
  refused(make({ epsilon: 1e-12, delta: 1e-15 }), 'epsilon');
  assert.throws(make({ categories: [] }), { call: 'statistic' });
  assert.equal(dp.liveHandles, before);

  withHistogram({ ...what, numSteps: 2 }, (histogram) => {
    refused(() => histogram.release(NaN), 'record', 'wrong_type');
    refused(() => histogram.release(undefined), 'record', 'wrong_type');
    refused(() => histogram.releaseMany('tea'), 'records', 'wrong_type');
    refused(() => histogram.contribute([0]), 'records[0]', 'wrong_type');
    const all = [histogram.release('tea')];
    refused(() => histogram.consistentCounts(all, 'sorted'), 'postProcessing');
    refused(() => histogram.consistentCounts(7, 'monotone'), 'histograms', 'wrong_type');
    refused(() => histogram.consistentCounts([{}], 'monotone'), 'histograms[0]', 'wrong_type');
    const short = [{ count: [] }];
    refused(
      () => histogram.consistentCounts(short, 'monotone'),
      'histograms[0].count',
      'wrong_length',
    );
    const holes = [{ count: [{ value: 1 }, null, { value: 1 }, { value: 1 }] }];
    refused(
      () => histogram.consistentCounts(holes, 'monotone'),
      'histograms[0].count[1]',
      'wrong_type',
    );
    assert.throws(
      () => histogram.releaseMany(['tea', 'tea']),
      ({ code, released }) => {
        assert.equal(code, 'past_horizon');
        assert.equal(released.length, 1);
        assert.equal(released[0].count.length, 4);
        return true;
      },
    );
    assert.throws(() => histogram.endSteps(), { code: 'past_horizon' });
    histogram.dispose();
    assert.throws(() => histogram.release('tea'), { code: 'disposed' });
    assert.throws(() => histogram.contribute(['tea']), { code: 'disposed' });
  });
  withHistogram({ ...what, workload: { window: 4 }, mechanism: 'output' }, (histogram) => {
    const all = [histogram.release('tea')];
    refused(() => histogram.consistentCounts(all, 'monotone'), 'postProcessing');
    assert.equal(histogram.consistentCounts(all, 'non-negative').length, 1);
  });
});

for (const [name, make] of [
  ['appends', appendingStore],
  ['only saves', memoryStore],
]) {
  test(`histogram: a ledger in a store that ${name} continues with the same bits as in one process`, async () => {
    for (const changes of kinds) {
      const options = { ...what, ...changes };
      const whole = withHistogram(options, (it) => it.releaseMany(records));
      const store = make();
      const open = (others) => dp.statisticLedger({ ...options, ...others, store });
      let ledger = await open({});
      const { identity } = ledger;
      assert.deepEqual(await ledger.release(0, records[0]), whole[0]);
      const memo = Uint8Array.of(4, 2);
      assert.deepEqual(
        await ledger.releaseSteps(1, [[records[1]], [records[2]]], memo),
        whole.slice(1, 3),
      );
      ledger.dispose();

      ledger = await open({ confidence: 0.95, other: 'rest' });
      assert.deepEqual([ledger.identity, ledger.step], [identity, 3]);
      assert.deepEqual(ledger.memo, memo);
      // A step is only ever released for one record: the same one again, or none.
      assert.deepEqual(await ledger.release(1, records[1]), whole[1]);
      const another = categories.find((category) => category !== records[1]);
      await assert.rejects(ledger.release(1, another), { code: 'already_released' });
      await assert.rejects(ledger.release(3, NaN), { code: 'wrong_type' });
      const rest = await ledger.releaseMany(3, records.slice(3));
      assert.deepEqual(rest, whole.slice(3));
      assert.equal(ledger.consistentCounts([...whole.slice(0, 3), ...rest], 'monotone').length, 60);
      await assert.rejects(ledger.release(60, 'tea'), { code: 'invalid_argument' });
      ledger.dispose();

      const before = dp.liveHandles;
      for (const others of [
        { categories: ['coffee', 'tea', 'rest', '__proto__'] },
        { categories: categories.slice(0, 3) },
        changes.neighbours
          ? { neighbours: 'zero-out', fixedTimes: false }
          : { neighbours: 'replace-one' },
        ...(changes.fixedTimes ? [] : [{ total: !changes.total }]),
        ...(changes.neighbours ? [{ fixedTimes: !changes.fixedTimes }] : []),
      ]) {
        await assert.rejects(open(others), { code: 'bad_state' });
      }
      assert.equal(dp.liveHandles, before);
    }
  });
}

test('histogram: errors of a ledger say what was called', async () => {
  for (const changes of [{ epsilon: -1 }, { categories: [] }]) {
    const opening = dp.statisticLedger({ ...what, ...changes, store: memoryStore() });
    await assert.rejects(opening, { code: 'invalid_argument', call: 'statisticLedger' });
  }
  const ledger = await dp.statisticLedger({ ...what, store: memoryStore() });
  await assert.rejects(ledger.release(0, 'milk'), {
    parameter: 'record',
    code: 'invalid_argument',
  });
  await assert.rejects(ledger.releaseSteps(0, [['tea'], ['milk']]), { parameter: 'steps[1][0]' });
  assert.equal(ledger.step, 0);
  ledger.dispose();
});

test('statistics: an error of releaseSteps names the step, and no step is released', async () => {
  const target = { numSteps: 9, epsilon: 1, delta: 1e-6, mechanism: 'tree', insecureSeed: 4 };
  const counts = { statistic: 'histogram', categories: ['tea', 'coffee'], ...target };
  const moments = {
    statistic: 'moments',
    ranges: [
      [0, 1],
      [0, 1],
    ],
    ...target,
  };
  for (const [options, steps, refusal] of [
    [
      counts,
      [['tea'], [], ['tea', 'milk']],
      { code: 'invalid_argument', part: 'step 3', parameter: 'steps[2][1]' },
    ],
    [counts, [['tea'], 7], { code: 'wrong_type', part: 'step 2', parameter: 'steps[1]' }],
    [
      moments,
      [
        [1, 1],
        [0, 1, 1, NaN],
      ],
      { code: 'invalid_argument', part: 'step 2', row: { kind: 'record', index: 1 } },
    ],
    [moments, [[], [0, 1, 1]], { code: 'wrong_length', part: 'step 2' }],
  ]) {
    const ledger = await dp.statisticLedger({ ...options, store: memoryStore() });
    await ledger.releaseSteps(0, [[]]);
    await assert.rejects(ledger.releaseSteps(1, steps), (error) => {
      for (const [name, value] of Object.entries(refusal)) assert.deepEqual(error[name], value);
      assert.ok(error.message.startsWith(`releaseSteps: ${refusal.part}: `), error.message);
      wellTold(error);
      return true;
    });
    assert.equal(ledger.step, 1);
    ledger.dispose();
  }
});
