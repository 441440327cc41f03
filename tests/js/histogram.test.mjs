// SPDX-License-Identifier: Apache-2.0

// Histograms over time: counts of categories and their intervals.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const categories = ['tea', 'coffee', 'rest', '__proto__'];
const target = { steps: 60, epsilon: 1, delta: 1e-6, strategy: 'tree', insecureSeed: 7 };
const what = { categories, ...target };
/** Negligible noise. */
const clear = { ...what, epsilon: 1e5 };
const records = Array.from({ length: 60 }, (_, k) => categories[(k * k) % 7 === 1 ? 3 : k % 2]);
const fixed = { neighbours: 'replace-one', fixedTimes: true };
const kinds = [{}, { total: true }, fixed, { neighbours: 'replace-one' }];

/** Calls `use` with the stream, and returns its result. */
function withHistogram(options, use) {
  const histogram = dp.histogram(options);
  try {
    return use(histogram);
  } finally {
    histogram.dispose();
  }
}

/** The numbers of the categories, in their order. */
const listed = (named) => categories.map((category) => named[category]);

function truthOf(some) {
  return categories.map((category) => some.filter((record) => record === category).length);
}

test('histogram: with hardly any noise it has the counts, after every step', () => {
  for (const changes of kinds) {
    withHistogram({ ...clear, ...changes }, (histogram) => {
      histogram.releaseMany(records).forEach((reading, t) => {
        const [count, share] = [listed(reading.count), listed(reading.share)];
        const truth = truthOf(records.slice(0, t + 1));
        truth.forEach((value, j) => {
          close(count[j].value, value, 8 * count[j].stddev);
          close(share[j].value, value / (t + 1), 8 * share[j].stddev + 1e-12);
        });
        close(reading.total.value, t + 1, 8 * reading.total.stddev);
        for (const { low, value, high } of [...count, reading.total, ...share]) {
          assert.ok(low <= value && value <= high);
        }
      });
    });
  }
});

test('histogram: many records of one step are all counted, or none if one is refused', () => {
  const wide = Array.from({ length: 3000 }, (_, i) => `c${i}`);
  withHistogram({ ...clear, categories: wide, steps: 1, strategy: 'output' }, (histogram) => {
    const some = Array.from({ length: 500 }, (_, k) => wide[(7 * k) % 100]);
    const stray = { parameter: 'categories[500]' };
    assert.throws(() => histogram.addMany([...some, 'c3000']), stray);
    histogram.addMany(some);
    const { count, total } = histogram.end();
    close(total.value, 500, 8 * total.stddev);
    assert.equal(Object.values(count).filter(({ value }) => value > 0.5).length, 100);
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
  const counter = dp.counter({ ...target, neighbours: 'replace-one' });
  withHistogram({ ...what, neighbours: 'replace-one' }, ({ certificate }) => {
    close(certificate.noiseStddev, counter.certificate.noiseStddev / Math.SQRT2, 1e-9);
  });
  counter.dispose();
});

test('histogram: measuring the total costs the counts little, and all stds are as predicted', () => {
  const num = 4;
  const stds = kinds.map((changes) =>
    withHistogram({ ...what, ...changes }, (histogram) => {
      const { count, total } = histogram.end();
      assert.equal(count.tea.stddev, listed(count)[3].stddev);
      return [count.tea.stddev, total.stddev];
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
    const options = { ...what, confidence: 0.5, insecureSeed: seed, steps: 1 };
    const { count, total, share } = withHistogram(options, (it) => it.releaseBatch(records));
    const expected = [...truth, 60, ...truth.map((value) => value / 60)];
    [...listed(count), total, ...listed(share)].forEach(({ low, high }, i) => {
      if (expected[i] < low || expected[i] > high) ++missed[i];
    });
  }
  // Each bound is exceeded with probability 3e-6.
  const tolerance = 4.5 * Math.sqrt(numTrials / 4);
  for (const count of missed) assert.ok(count <= numTrials / 2 + tolerance, `${missed}`);
  for (const count of missed.slice(0, 5))
    assert.ok(count >= numTrials / 2 - tolerance, `${missed}`);
});

test('histogram: a window forgets what has left it', () => {
  const options = { ...clear, strategy: 'normalized-square-root', workload: { window: 10 } };
  withHistogram(options, (histogram) => {
    const count = listed(histogram.releaseMany(records).at(-1).count);
    truthOf(records.slice(50)).forEach((value, j) => close(count[j].value, value, 0.5));
  });
});

test('histogram: consistent counts are closer to the truth', () => {
  const all = withHistogram(what, (histogram) => histogram.releaseMany(records));
  const kept = structuredClone(all);
  const truth = records.map((_, t) => truthOf(records.slice(0, t + 1)));
  const raw = all.map(({ count }) => listed(count).map(({ value }) => value));
  assert.ok(raw.some((row) => row.some((value) => value < 0)));
  for (const how of ['non-negative', 'monotone']) {
    const found = dp.consistent(all, how).map(({ count }) => listed(count));
    for (let j = 0; j < 4; ++j) {
      const squares = (rows) => rows.reduce((sum, row, t) => sum + (row[j] - truth[t][j]) ** 2, 0);
      assert.ok(squares(found) < squares(raw));
    }
  }
  assert.deepEqual(structuredClone(all), kept, 'the estimates are unchanged');
});

test('histogram: what is outside of the categories is refused, or counts as other', () => {
  withHistogram(clear, (histogram) => {
    const refused = (act, parameter) => assert.throws(act, { code: 'invalid_argument', parameter });
    refused(() => histogram.release('milk'), 'category');
    refused(() => histogram.releaseMany(['tea', 'milk']), 'categories[1]');
    refused(() => histogram.addMany(['tea', 'toString']), 'categories[1]');
    assert.throws(() => histogram.release('milk'), { value: '"milk"', call: 'release' });
    assert.equal(histogram.step, 0);
    close(histogram.release('tea').total.value, 1, 0.5);
  });
  withHistogram({ ...clear, categories: ['tea', 'coffee'], other: 'rest' }, (histogram) => {
    const { count } = histogram.releaseMany(['milk', 'tea', 'constructor', 'rest']).at(-1);
    close(count.tea.value, 1, 0.5);
    close(count.rest.value, 3, 0.5);
  });
  const many = Array.from({ length: 65537 }, (_, i) => `${i}`);
  assert.throws(() => dp.histogram({ ...what, categories: many }), { parameter: 'categories' });
  const hole = { ...what, categories: ['tea', , 'milk'] };
  assert.throws(() => dp.histogram(hole), { code: 'wrong_type', parameter: 'categories[1]' });
});
