// SPDX-License-Identifier: Apache-2.0

// Readings without noise beside those of a release.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

const target = { steps: 5, epsilon: 1, delta: 1e-6, insecureSeed: 3 };
const bound = { times: 2, apart: 2 };
/** Step, person and number of each record. */
const records = [
  [0, 'ann', 3],
  [0, 'ann', 0.1],
  [1, 'bob', -0.25],
  [1, 'ann', 1],
  [2, 'ann', 0.5],
  [4, 'bob', 2],
  [4, 'ann', 1],
];
/** The records that count, by the bound. */
const counting = records
  .filter(([step, person]) => step % 2 === 0 || person === 'bob')
  .slice(0, -1);

/** One number per step, computed from the records of that step. */
const inSteps = (all, of) =>
  Array.from({ length: target.steps }, (_, step) => of(all.filter(([at]) => at === step)));
const clip = (value) => Math.min(1, Math.max(-1, value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const byRecord = (all) => sum(all.map(([, , value]) => clip(value)));
const byPerson = (all) =>
  sum(['ann', 'bob'].map((who) => clip(sum(all.filter((it) => it[1] === who).map((it) => it[2])))));

/** Weights of the records of k steps ago. */
const workloads = [
  ['prefix', () => 1],
  [{ window: 2 }, (k) => Number(k < 2)],
  [{ decay: 0.5 }, (k) => 0.5 ** k],
  [{ momentum: 0.5 }, (k) => 2 - 0.5 ** k],
];
const weighted = (steps, weight) =>
  steps.map((_, t) => sum(steps.slice(0, t + 1).map((value, j) => weight(t - j) * value)));

/** Readings of all steps. */
function read(make, options, recordOf = ([, , value]) => value) {
  const stream = make({ ...target, ...options, showNonprivate: true });
  return inSteps(records, (all) => {
    const people = options.people ? [all.map(([, person]) => person)] : [];
    return stream.releaseBatch(...people, all.map(recordOf));
  });
}

test('nonprivate: sums are those of the records that count, clipped and weighted', () => {
  for (const [workload, weight] of workloads) {
    const [alone, people] = [{ workload }, { workload, people: bound }].map((options) =>
      read(dp.counter, options).map(({ nonprivate }) => nonprivate.value),
    );
    const rows = weighted(inSteps(records, byRecord), weight);
    const persons = weighted(inSteps(counting, byPerson), weight);
    rows.forEach((value, t) => close(alone[t], value, 1e-12));
    persons.forEach((value, t) => close(people[t], value, 1e-12));
    const totals = read(dp.totals, { workload, dimension: 1 });
    assert.deepEqual(
      totals.map(({ nonprivate }) => nonprivate.values[0]),
      alone,
    );
  }
  const names = ['all', 'last', 'fading', 'average'];
  const each = Object.fromEntries(workloads.map(([workload], i) => [names[i], workload]));
  const sums = read(dp.sums, { workloads: each });
  workloads.forEach(([, weight], i) => {
    const wanted = weighted(inSteps(records, byRecord), weight);
    wanted.forEach((value, t) => close(sums[t].nonprivate.sums[names[i]].value, value, 1e-12));
  });
});

test('nonprivate: without a delta, records are clipped in the l1-norm', () => {
  const stream = dp.totals({ ...target, delta: 0, dimension: 2, clip: 2, showNonprivate: true });
  const { values, nonprivate } = stream.release([3, 1]);
  assert.deepEqual([...nonprivate.values], [1.5, 0.5]);
  assert.notDeepEqual([...values], [1.5, 0.5]);
});

test('nonprivate: moments and histograms are those of the records that count', () => {
  const recordOf = ([, , value]) => ({ x: value });
  const columns = { x: [0, 2] };
  const [{ nonprivate: last }] = read(dp.moments, { columns }, recordOf).slice(-1);
  const values = records.map(([, , value]) => Math.min(2, Math.max(0, value)));
  const mean = sum(values) / values.length;
  close(last.count.value, values.length, 1e-12);
  close(last.mean.x.value, mean, 1e-12);
  close(last.variance.x.value, sum(values.map((x) => (x - mean) ** 2)) / values.length, 1e-12);
  const categories = ['ann', 'bob'];
  const nameOf = ([, person]) => person;
  const [{ nonprivate: counts, count }] = read(dp.histogram, { categories }, nameOf).slice(-1);
  assert.deepEqual([counts.count.ann.value, counts.count.bob.value], [5, 2]);
  close(counts.share.bob.value, 2 / 7, 1e-12);
  assert.notEqual(count.ann.value, 5);
});

test('nonprivate: all verbs show it, and the release is the same', () => {
  const [plain, shown] = [false, true].map((showNonprivate) =>
    dp.counter({ ...target, showNonprivate }),
  );
  for (const stream of [plain, shown]) stream.add(1);
  const readings = [plain, shown].map((stream) => [
    stream.end(),
    stream.release(1),
    ...stream.releaseMany([1, 0.5]),
    ...stream.endMany(1),
  ]);
  assert.deepEqual(
    readings[1].map(({ nonprivate }) => nonprivate.value),
    [1, 2, 3, 3.5, 3.5],
  );
  assert.deepEqual(
    readings[1].map(({ nonprivate: _, ...reading }) => reading),
    readings[0],
  );
  assert.ok(readings[0].every((reading) => !('nonprivate' in reading)));
});

test('nonprivate: nothing is shown by a stream in a store, nor paid from a budget', async () => {
  const options = { ...target, insecureSeed: undefined, showNonprivate: true };
  delete options.insecureSeed;
  await assert.rejects(dp.counter({ ...options, store: memoryStore() }), {
    code: 'invalid_argument',
    message: 'counter: showNonprivate must be left out with store, got true',
  });
  const budget = dp.budget({ epsilon: 1, delta: 1e-6 });
  assert.throws(() => dp.counter({ ...options, budget }), {
    message: 'counter: showNonprivate must be left out with budget, got true',
  });
  assert.throws(() => dp.increments({ ...options, dimension: 1 }), { code: 'wrong_type' });
});

test('nonprivate: the module of counters has none', async () => {
  const { load: loadCounter } = await importEntry('dp-ftrl/counter');
  const counters = await loadCounter();
  assert.throws(() => counters.counter({ ...target, showNonprivate: true }), {
    code: 'unsupported',
    message: /showNonprivate must be left out: readings without noise are in the whole package/,
  });
});
