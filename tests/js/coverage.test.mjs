// SPDX-License-Identifier: Apache-2.0

// Intervals contain the number without noise as often as they claim, over 400 runs with fixed
// seeds. With few records the intervals of means and variances are wider, because they hold for any
// records.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { EACH_KIND } from './support/streams.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const RUNS = 400;
const STEPS = 4;
const RECORDS = 1000;
/** Largest distance of a share from its claim, with these seeds. */
const MARGIN = 0.015;

const COLOURS = ['red', 'blue', 'green'];
const colourOf = (i) => ['red', 'red', 'blue', 'green'][i % 4];
const sizeOf = (i) => (i * 37) % 100;

const sum = (values) => values.reduce((all, value) => all + value, 0);

const COUNTS = {
  kind: 'histogram',
  own: { categories: COLOURS, total: true },
  record: colourOf,
  estimates: ({ count, total }) => [...COLOURS.map((name) => count[name]), total],
  truths: (seen) => [
    ...COLOURS.map((name) => sum(seen.map((i) => Number(colourOf(i) === name)))),
    seen.length,
  ],
};

const MOMENTS = {
  kind: 'moments',
  own: { columns: { size: [0, 100] } },
  record: (i) => ({ size: sizeOf(i) }),
  estimates: ({ count, mean, variance }) => [count, mean.size, variance.size],
  truths(seen) {
    const mean = sum(seen.map(sizeOf)) / seen.length;
    return [seen.length, mean, sum(seen.map((i) => (sizeOf(i) - mean) ** 2)) / seen.length];
  },
};

const TOTALS = {
  kind: 'counter',
  own: { clip: 100 },
  record: sizeOf,
  estimates: (total) => [total],
  truths: (seen) => [sum(seen.map(sizeOf))],
};

const SUMS = {
  kind: 'sums',
  own: { clip: 100, workloads: { all: 'prefix', twice: 'prefix' } },
  record: sizeOf,
  estimates: ({ sums }) => [sums.all],
  truths: (seen) => [sum(seen.map(sizeOf))],
};

/** Everybody comes in each step. */
const PEOPLE = {
  kind: 'active',
  own: { windows: { all: 4 } },
  record: (i) => `p${i % RECORDS}`,
  estimates: ({ active }) => [active.all],
  truths: () => [RECORDS],
};

const CASES = [
  ...[0.5, 0.9, 0.95].map((confidence) => ['counts of categories', COUNTS, { confidence }]),
  ...[0.9, 0.95].map((confidence) => ['totals', TOTALS, { confidence }]),
  ['sums of two workloads', SUMS, { confidence: 0.9 }],
  ['active people', PEOPLE, { confidence: 0.9 }],
  ['moments', MOMENTS, { confidence: 0.95 }],
  ['moments of single steps', MOMENTS, { confidence: 0.95, workload: { window: 1 } }],
  ['totals of single steps', TOTALS, { confidence: 0.9, workload: { window: 1 } }],
  ['totals without a delta', TOTALS, { confidence: 0.95, delta: 0 }],
  ['single steps without a delta', TOTALS, { confidence: 0.9, delta: 0, workload: { window: 1 } }],
];

test('intervals: every kind of stream that has some is among the cases', () => {
  const tested = CASES.map(([, { kind }]) => kind);
  for (const { kind, options, many } of EACH_KIND) {
    const stream = dp[kind](options);
    const hasIntervals = JSON.stringify(stream.releaseBatch(...many())).includes('"low":');
    stream.dispose();
    assert.ok(!hasIntervals || tested.includes(kind), `add ${kind} to CASES of this file`);
  }
});

for (const [name, { kind, own, record, estimates, truths }, options] of CASES) {
  test(`intervals: ${name} at confidence ${options.confidence}`, () => {
    const places = (from, to) =>
      Array.from({ length: (to - from) * RECORDS }, (_, k) => from * RECORDS + k);
    const batches = Array.from({ length: STEPS }, (_, step) => places(step, step + 1).map(record));
    const known = batches.map((_, step) => truths(places(options.workload ? step : 0, step + 1)));
    let [within, all] = [0, 0];
    for (let insecureSeed = 0; insecureSeed < RUNS; ++insecureSeed) {
      const target = { steps: STEPS, epsilon: 1, delta: 1e-6, insecureSeed };
      const stream = dp[kind]({ ...target, ...own, ...options });
      for (const [step, batch] of batches.entries()) {
        estimates(stream.releaseBatch(batch)).forEach(({ low, high }, j) => {
          within += Number(low <= known[step][j] && known[step][j] <= high);
          all += 1;
        });
      }
      stream.dispose();
    }
    const share = within / all;
    assert.ok(Math.abs(share - options.confidence) <= MARGIN, `${share} of ${all}`);
  });
}
