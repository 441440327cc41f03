// SPDX-License-Identifier: Apache-2.0

// Sums of several workloads of one stream, with one noise.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { using } from './support/statistics.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

const target = { numSteps: 40, epsilon: 1, delta: 1e-6, insecureSeed: 7 };
const workloads = ['prefix', { window: 7 }, { window: 30 }, { decay: 0.9 }];
const what = { statistic: 'sums', workloads, dimension: 2, ...target };
const records = Float64Array.from({ length: 80 }, (_, k) => ((7 * k) % 11) / 20);

const withStatistic = (options, use) => using(dp, options, use);

/** Sums of the numbers of column j by definition, after step t. */
function truthOf(t, j) {
  const values = Array.from({ length: t + 1 }, (_, i) => records[2 * i + j]);
  const last = (width) => values.slice(-width).reduce((sum, x) => sum + x, 0);
  return [last(1000), last(7), last(30), values.reduce((sum, x) => 0.9 * sum + x, 0)];
}

const refusal = (call) => {
  try {
    call();
  } catch (error) {
    return error.parameter;
  }
  return 'none';
};

test('sums: with hardly any noise they are those of their definitions, after every step', () => {
  withStatistic({ ...what, epsilon: 1e5 }, (statistic) => {
    const all = statistic.releaseMany(records);
    assert.equal(all.length, 40);
    all.forEach(({ sum }, t) => {
      for (const j of [0, 1]) {
        truthOf(t, j).forEach((truth, i) => {
          const { value, low, high, stddev } = sum[i][j];
          assert.ok(low < value && value < high && stddev > 0);
          close(value, truth, 8 * stddev + 1e-3, `step ${t}, workload ${i}`);
        });
      }
    });
  });
});

test('sums: every way of giving records leads to the same bits', () => {
  const many = withStatistic(what, (it) => it.releaseMany(records));
  const single = withStatistic(what, (it) =>
    Array.from({ length: 40 }, (_, t) => it.release(records.subarray(2 * t, 2 * t + 2))),
  );
  assert.deepEqual(single, many);
  const parts = withStatistic(what, (it) =>
    Array.from({ length: 40 }, (_, t) => {
      it.contribute(records.subarray(2 * t, 2 * t + 2));
      return it.endSteps()[0];
    }),
  );
  assert.deepEqual(parts, many);
});

test('sums: a window is the difference of two totals up to rounding, since they share their noise', () => {
  withStatistic({ ...what, dimension: 1 }, (statistic) => {
    const all = statistic.endSteps(40).map(({ sum }) => sum.map(([estimate]) => estimate.value));
    all.forEach(([total, week], t) => {
      const before = t < 7 ? 0 : all[t - 7][0];
      // Three roundings of half a grid, compared with a noise standard deviation of hundreds of
      // grids.
      close(week, total - before, 1e-2 * statistic.stddev(t, 1), `step ${t}`);
    });
  });
});

test('sums: errors are given for each workload and for all, and match the measured noise', () => {
  const dimension = 4000;
  withStatistic({ ...what, dimension, importance: [1, 2, 3, 4] }, (statistic) => {
    assert.deepEqual(
      statistic.workloads.map(({ workload }) => workload),
      ['prefix', 'window=7', 'window=30', 'momentum=0,decay=0.9'],
    );
    const { certificate } = statistic;
    assert.equal(certificate.workload, 'prefix + window=7 + window=30 + momentum=0,decay=0.9');
    assert.equal(certificate.objective, 'mean');
    const squares = statistic.workloads.map(({ meanError }) => meanError ** 2);
    const mean = squares.reduce((sum, square, i) => sum + ((i + 1) / 10) * square, 0);
    close(certificate.meanError, Math.sqrt(mean), 1e-9);
    const largest = Math.max(...statistic.workloads.map(({ maxError }) => maxError));
    assert.equal(certificate.maxError, largest);
    const bound = statistic.lowerBound();
    assert.ok(bound <= certificate.meanError && bound > 0.99999 * certificate.meanError);
    const all = statistic.endSteps(40);
    statistic.workloads.forEach(({ meanError }, i) => {
      let total = 0;
      all.forEach(({ sum }) => sum[i].forEach(({ value }) => (total += value * value)));
      const measured = Math.sqrt(total / (40 * dimension));
      // 4000 streams: a mean of squares has a standard deviation of 2 %, its root 1 %, and less
      // over several steps.
      close(measured / (meanError * certificate.noiseMultiplier), 1, 0.02, `workload ${i}`);
    });
    assert.equal(statistic.stddev(5, 2), all[5].sum[2][0].stddev);
    assert.equal(statistic.stddev(5), all[5].sum[0][0].stddev);
  });
});

test('sums: one budget for all gives each less noise than a share of its own', () => {
  const joint = withStatistic({ ...what, workloads: workloads.slice(0, 3) }, (it) => it.workloads);
  joint.forEach(({ meanError }, i) => {
    const options = { steps: 40, strategy: { name: 'optimal', objective: 'mean' } };
    const alone = dp.error({ ...options, workload: workloads[i] }).meanError;
    assert.ok(meanError < 0.9 * Math.sqrt(3) * alone, `workload ${i}`);
  });
});

test('sums: they take the mechanisms, participations and neighbours of running totals', () => {
  for (const mechanism of ['normalized-square-root', 'honaker', 'blt']) {
    const options = {
      ...{ ...what, mechanism, neighbours: 'replace-one', clipNorm: 3 },
      participation: { participations: 2, minSeparation: 7 },
    };
    withStatistic(options, ({ certificate }) => {
      assert.equal(certificate.mechanism, mechanism);
      assert.equal(certificate.neighbours, 'replace-one');
      assert.equal(certificate.clipNorm, 3);
      assert.equal(certificate.maxParticipations, 2);
      const { noiseMultiplier, sensitivity, noiseStddev } = certificate;
      close(noiseStddev / (noiseMultiplier * sensitivity * 3 * 2), 1, 1e-6);
    });
  }
  withStatistic({ ...what, numSteps: 200 }, ({ certificate }) =>
    assert.equal(certificate.mechanism, 'normalized-square-root'),
  );
});

test('sums: a ledger releases each step for a single record, and continues where it stopped', async () => {
  for (const store of [memoryStore(), appendingStore()]) {
    const { insecureSeed, ...options } = what;
    const open = (more) => dp.statisticLedger({ ...options, insecureSeed, store, ...more });
    const ledger = await open();
    const first = await ledger.release(0, [0.5, 0.25]);
    assert.deepEqual(await ledger.release(0, [0.5, 0.25]), first);
    await assert.rejects(ledger.release(0, [0.5, 0.5]), { code: 'already_released' });
    const [second] = await ledger.releaseSteps(1, [[0.1, 0.2, 0.3, 0.4]]);
    ledger.dispose();
    const again = await open();
    assert.equal(again.step, 2);
    assert.deepEqual(await again.release(0, [0.5, 0.25]), first);
    assert.deepEqual((await again.releaseSteps(1, [[0.1, 0.2, 0.3, 0.4]]))[0], second);
    again.dispose();
    const other = { workloads: ['prefix', { window: 8 }, { window: 30 }, { decay: 0.9 }] };
    await assert.rejects(open(other), { code: 'bad_state', parameter: 'store.statistic' });
    await assert.rejects(open({ epsilon: 2 }), { code: 'bad_state', parameter: 'store.mechanism' });
    const expected = withStatistic(what, (it) => {
      const one = it.release([0.5, 0.25]);
      it.contribute([0.1, 0.2, 0.3, 0.4]);
      return [one, ...it.endSteps()];
    });
    assert.deepEqual([first, second], expected);
  }
});

test('sums: a person counts in the steps that the pattern allows, with records clipped together', () => {
  const participation = { participations: 2, minSeparation: 2 };
  const of = { ...what, participation, mechanism: 'tree' };
  const steps = [
    [
      ['ann', [0.9, 0]],
      ['bob', [0.25, 0.5]],
      ['ann', [0.6, 0]],
    ], // ann has 1.5, of which 1 counts
    [
      ['ann', [1, 1]],
      ['eve', [0, 0.5]],
    ], // ann's is too early
    [
      ['bob', [0.5, 0]],
      ['ann', [0, 0.25]],
    ],
    [['eve', [1, 0]]],
    [
      ['ann', [1, 0]],
      ['bob', [1, 0]],
    ], // both have counted twice
  ];
  const counting = [[1, 0, 0.25, 0.5], [0, 0.5], [0.5, 0, 0, 0.25], [1, 0], []];
  const expected = withStatistic(of, (sums) =>
    counting.map((own) => {
      sums.contribute(own);
      return sums.endSteps()[0];
    }),
  );
  const people = dp.peopleStatistic(of);
  const found = steps.map((rows) => {
    people.contribute(
      rows.map(([who]) => who),
      rows.flatMap(([, record]) => record),
    );
    return people.endSteps()[0];
  });
  assert.deepEqual(found, expected);
  assert.equal(people.numDropped, 3);
  assert.deepEqual(
    people.workloads,
    withStatistic(of, ({ workloads: errors }) => errors),
  );
  assert.equal(people.certificate.maxParticipations, 2);
  assert.equal(
    refusal(() => people.contribute(['ann'], [1])),
    'records',
  );
  people.dispose();
  const epochs = { ...of, participation: { epochs: 2 } };
  assert.equal(
    refusal(() => dp.peopleStatistic(epochs)),
    'participation',
  );
});

test('sums: bad options and arguments are refused by name', () => {
  const of = (options) => refusal(() => dp.statistic({ ...what, ...options }).dispose());
  assert.equal(of({ workloads: undefined }), 'workloads');
  assert.equal(of({ workloads: 'prefix' }), 'workloads');
  assert.equal(of({ workloads: [] }), 'workloads');
  assert.equal(of({ workloads: ['prefix', 'suffix'] }), 'workload');
  assert.equal(of({ workloads: ['prefix', undefined] }), 'workloads[1]');
  assert.equal(of({ workloads: [{}] }), 'workload');
  assert.equal(of({ workload: 'prefix' }), 'workload');
  assert.equal(of({ importance: [1, 2] }), 'importance');
  assert.equal(of({ importance: [1, 2, 3, 0] }), 'importance[3]');
  assert.equal(of({ dimension: 0 }), 'dimension');
  assert.equal(of({ clipNorm: -1 }), 'clipNorm');
  assert.equal(of({ confidence: 1 }), 'confidence');
  assert.equal(of({ mechanism: 'optimal', objective: 'max' }), 'objective');
  assert.equal(of({ ranges: [[0, 1]] }), 'ranges');
  assert.equal(of({ grid: 1 }), 'grid');
  assert.throws(() => dp.statistic({ ...what, workloads: ['prefix', 'suffix'] }), /workloads\[1\]/);
  withStatistic(what, (it) => {
    assert.equal(
      refusal(() => it.release([1])),
      'record',
    );
    assert.equal(
      refusal(() => it.releaseMany([1, 2, 3])),
      'records',
    );
    assert.equal(
      refusal(() => it.contribute([1, Number.NaN])),
      'record[1]',
    );
    assert.equal(
      refusal(() => it.stddev(0, 4)),
      'workload',
    );
    assert.equal(
      refusal(() => it.stddev(40)),
      'step',
    );
    assert.equal(it.step, 0);
  });
});
