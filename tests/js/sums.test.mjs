// SPDX-License-Identifier: Apache-2.0

// Sums of several workloads of one stream, with one noise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const target = { steps: 40, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
const workloads = {
  all: 'prefix',
  week: { window: 7 },
  month: { window: 30 },
  fading: { decay: 0.9 },
};
const names = Object.keys(workloads);
const what = { workloads, dimension: 2, ...target };
const records = Float64Array.from({ length: 80 }, (_, k) => ((7 * k) % 11) / 20);

/** Calls `use` with the stream, and returns its result. */
function withSums(options, use) {
  const sums = dp.sums(options);
  try {
    return use(sums);
  } finally {
    sums.dispose();
  }
}

/** Sums of the numbers of column j by definition, after step t. */
function truthOf(t, j) {
  const values = Array.from({ length: t + 1 }, (_, i) => records[2 * i + j]);
  const last = (width) => values.slice(-width).reduce((sum, x) => sum + x, 0);
  const fading = values.reduce((sum, x) => 0.9 * sum + x, 0);
  return { all: last(1000), week: last(7), month: last(30), fading };
}

test('sums: with hardly any noise they are those of their definitions, after every step', () => {
  withSums({ ...what, epsilon: 1e5 }, (stream) => {
    stream.releaseMany(records).forEach(({ sums }, t) => {
      for (const j of [0, 1]) {
        for (const [name, truth] of Object.entries(truthOf(t, j))) {
          const { values, stddev, halfWidth } = sums[name];
          assert.ok(stddev > 0 && halfWidth > stddev);
          close(values[j], truth, 8 * stddev + 1e-3, `step ${t}, ${name}`);
        }
      }
    });
  });
});

test('sums: a window is the difference of two totals up to rounding, since they share their noise', () => {
  withSums({ ...what, dimension: undefined }, (stream) => {
    const all = stream.endMany(40).map(({ sums }) => sums);
    all.forEach(({ all: total, week }, t) => {
      const before = t < 7 ? 0 : all[t - 7].all.value;
      // Three roundings of half a grid, compared with a noise standard deviation of hundreds of
      // grids.
      close(week.value, total.value - before, 1e-2 * week.stddev, `step ${t}`);
    });
  });
});

test('sums: errors are given for each workload and for all, and match the measured noise', () => {
  const dimension = 4000;
  const importance = { all: 1, week: 2, month: 3, fading: 4 };
  withSums({ ...what, dimension, importance }, (stream) => {
    const { certificate } = stream;
    const errors = certificate.workloads;
    assert.deepEqual(Object.keys(errors), names);
    assert.equal(certificate.workload, 'prefix + window=7 + window=30 + momentum=0,decay=0.9');
    assert.equal(certificate.objective, 'mean');
    const mean = names.reduce(
      (sum, name) => sum + (importance[name] / 10) * errors[name].meanError ** 2,
      0,
    );
    close(certificate.meanError, Math.sqrt(mean), 1e-9);
    const largest = Math.max(...names.map((name) => errors[name].maxError));
    assert.equal(certificate.maxError, largest);
    const problem = { workloads: Object.values(workloads), importance: [1, 2, 3, 4] };
    const { lowerBound } = dp.error({ steps: 40, ...problem });
    assert.ok(lowerBound <= certificate.meanError && lowerBound > 0.99999 * certificate.meanError);
    const all = stream.endMany(40);
    for (const name of names) {
      let total = 0;
      for (const { sums } of all) for (const value of sums[name].values) total += value * value;
      const measured = Math.sqrt(total / (40 * dimension));
      // The mean of 4000 squares has a standard deviation of 2 %, its root one of 1 %, and less
      // over all steps.
      close(measured / (errors[name].meanError * certificate.noiseMultiplier), 1, 0.02, name);
    }
  });
});

test('sums: one budget for all gives each less noise than a share of its own', () => {
  const { fading, ...three } = workloads;
  const joint = withSums({ ...what, workloads: three }, (it) => it.certificate.workloads);
  for (const [name, { meanError }] of Object.entries(joint)) {
    const options = { steps: 40, strategy: { name: 'optimal', objective: 'mean' } };
    const alone = dp.error({ ...options, workload: workloads[name] }).meanError;
    assert.ok(meanError < 0.9 * Math.sqrt(3) * alone, name);
  }
});

test('sums: they take the strategies, participations and neighbours of running totals', () => {
  for (const strategy of ['normalized-square-root', 'honaker', 'blt']) {
    const options = {
      ...{ ...what, strategy, neighbours: 'replace-one', clip: 3 },
      participation: { times: 2, apart: 7 },
    };
    withSums(options, ({ certificate }) => {
      assert.equal(certificate.mechanism, strategy);
      assert.equal(certificate.neighbours, 'replace-one');
      assert.equal(certificate.clipNorm, 3);
      assert.equal(certificate.maxParticipations, 2);
      const { noiseMultiplier, sensitivity, noiseStddev } = certificate;
      close(noiseStddev / (noiseMultiplier * sensitivity * 3 * 2), 1, 1e-6);
    });
  }
  withSums({ ...what, steps: 200 }, ({ certificate }) =>
    assert.equal(certificate.mechanism, 'normalized-square-root'),
  );
});
