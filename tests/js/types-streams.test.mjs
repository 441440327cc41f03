// SPDX-License-Identifier: Apache-2.0

// The types of streams: programs of every kind compile, and each wrong use is an error.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from './support/types.mjs';

const STRICT = {
  module: 'NodeNext',
  moduleResolution: 'NodeNext',
  target: 'ES2022',
  lib: ['ES2022', 'ESNext.Disposable', 'DOM'],
  noUncheckedIndexedAccess: true,
};

const programs = `
import { load, type Async, type Stream, type Total } from 'dp-ftrl';
import { load as loadCounter } from 'dp-ftrl/counter';
import { FileStore } from 'dp-ftrl/file-store';
import { connect } from 'dp-ftrl/worker-client';
const dp = await load();
const year = { steps: 365, epsilon: 1, delta: 1e-6 };
export const numbers: number[] = [];
{
  // Streams that draw from one budget; with a budget in a store, each stream is a promise.
  using budget = dp.budget({ epsilon: 1, delta: 1e-6, pure: 0.25 });
  using visits = dp.counter({ steps: 365, ...budget.share(1 / 3), budget });
  using pages = dp.histogram({ categories: ['a', 'b'], steps: 365, ...budget.left, budget });
  numbers.push(visits.release().value, pages.step, budget.spent.epsilon, budget.pureLeft);
  const isRoom: boolean = budget.fits(visits.certificate) && budget.fits(dp.calibrate({ rho: 1, delta: 1e-6 }));
  await using account = await FileStore.open('budget.state');
  await using kept = await dp.budget({ epsilon: 1, delta: 1e-6, store: account });
  const report = await dp.histogram({ categories: ['a'], steps: 1, ...(await kept.share(0.5)), budget: kept });
  numbers.push(report.release('a').count.a.value, kept.left.epsilon, Number(isRoom));
  const store = await FileStore.open('visits.state');
  await using lasting = await dp.counter({ ...year, store, budget: kept });
  numbers.push((await lasting.release()).value);
  await kept.charge('survey', { epsilon: 0.1, delta: 0 });
}
{
  using visits = dp.counter(year);
  const { step, value, low, high, stddev } = visits.release();
  visits.addMany([1, 0, 1]);
  const bound = visits.halfWidth({ probability: 0.05, step: 3 });
  numbers.push(step, value, low, high, stddev, visits.end().value, bound, visits.stddev(7));
  for (const total of visits.releaseMany(new Uint8Array(5))) numbers.push(total.value);
}
{
  using small = (await loadCounter()).totals({ ...year, dimension: 2, reuse: true, delta: 0 });
  for (const { values, halfWidth } of small.releaseMany([0.6, 0.8, 0, 1])) numbers.push(...values, halfWidth);
}
{
  using minutes = dp.counter({ ...year, people: { times: 12, apart: 30 }, clip: 90 });
  minutes.addMany(['ann', 'bob', 'ann'], [40, 60, 20]);
  minutes.add('carl');
  minutes.release('dora', 25);
  numbers.push(minutes.dropped);
}
{
  await using store = await FileStore.open('visits.state');
  await using visits = await dp.counter({ ...year, people: 'once', store, durable: 'step', about: 'x' });
  await visits.add('ann', 3, { signal: AbortSignal.timeout(10) });
  await visits.addMany(['ann'], [1]);
  const repeated: Total = await visits.releaseAt(0, ['ann', 'ann'], [3, 1]);
  numbers.push(repeated.value, (await visits.at(-1)).low, visits.identity.length, visits.records);
  await visits.endMany(3, { onProgress: ({ fraction }) => numbers.push(fraction) });
}
{
  const columns = { height: [140, 210], weight: [40, 140] } as const;
  using bodies = dp.moments({ ...year, columns, covariance: true, neighbours: 'replace-one', fixedTimes: true });
  const now = bodies.releaseBatch([{ height: 171, weight: 64 }]);
  numbers.push(now.count.value, now.mean.height.low, now.covariance?.height.weight.value ?? 0);
}
{
  using drinks = dp.histogram({ ...year, categories: ['tea', 'coffee'], other: 'else', people: 'once' });
  drinks.addMany(['ann', 'bob'], ['tea', 'milk']);
  const { count, share, total } = drinks.end();
  numbers.push(count.tea.value, share.else.high, total.stddev);
}
{
  using orders = dp.sums({ ...year, workloads: { all: 'prefix', week: { window: 7 } }, importance: { all: 1, week: 3 } });
  numbers.push(orders.release(3).sums.week.low, orders.certificate.workloads?.['week']?.maxError ?? 0);
  using rows = dp.sums({ ...year, workloads: { all: 'prefix' }, dimension: 2 });
  numbers.push(...rows.release([1, 2]).sums.all.values);
}
{
  const model = { ...year, dimension: 2, rate: 0.1, rule: { adam: { beta1: 0.8 } } };
  using learner = dp.gradientLearner({ ...model, start: [0, 1], batchSize: 2 });
  numbers.push(...learner.weights(), ...learner.releaseBatch([1, 2, 3, 4]).weights);
  const bound = { people: 'once', store: await FileStore.open('m') } as const;
  await using kept = await dp.gradientLearner({ ...model, ...bound });
  const { weights, step } = await kept.release('ann', await kept.weights());
  numbers.push(...weights, step, (await kept.at(-1)).step);
}
{
  using sums = dp.increments({ ...year, dimension: 2, clippedTo: 1, reuse: true });
  numbers.push(...sums.release([1, 2]).values, sums.certificate.clipping === undefined ? 0 : 1);
  using own = dp.increments({ ...year, dimension: 2, clip: 3, people: 'once' });
  own.add('ann', [1, 2]);
  numbers.push(own.end().stddev);
}
{
  const client = connect({ worker: { postMessage() {} } });
  const far = await client.histogram({ ...year, categories: ['a', 'b'] }, { signal: AbortSignal.timeout(9) });
  numbers.push((await far.release('a')).count.b.value, far.step, await far.stddev(3));
  await far.dispose();
}
{
  const header: string[] = JSON.parse('["tea","coffee"]');
  using drinks = dp.histogram({ ...year, categories: header });
  numbers.push(drinks.release('tea').count['tea']?.value ?? 0);
  const columns = Object.fromEntries(header.map((name) => [name, [0, 1] as const]));
  numbers.push(dp.moments({ ...year, columns }).release({ tea: 1, coffee: 0 }).mean['tea']?.value ?? 0);
  const maybe: number | undefined = header.length > 1 ? 0.9 : undefined;
  dp.counter({ ...year, confidence: maybe, workload: undefined });
  const path = header[0];
  const either = path === undefined ? dp.counter(year) : await dp.counter({ ...year, store: await FileStore.open(path) });
  numbers.push((await either.release(1)).value, either.step);
  await either.dispose();
}
export function drain<A extends readonly unknown[], R>(stream: Stream<A, R>, records: readonly A[]): R[] {
  return records.map((record) => stream.release(...record));
}
export async function drainLater<A extends readonly unknown[], R>(stream: Async<Stream<A, R>>): Promise<R[]> {
  return stream.endMany(2) as Promise<R[]>;
}
const totals: Total[] = drain(dp.counter(year), [[1], [], [2]]);
const lasting = await dp.counter({ ...year, store: await FileStore.open('s') });
numbers.push(totals.length, (await drainLater(lasting)).length);
`;

const before = `
import { load } from 'dp-ftrl';
import { connect } from 'dp-ftrl/worker-client';
import { FileStore } from 'dp-ftrl/file-store';
const dp = await load();
const store = await FileStore.open('x');
const year = { steps: 365, epsilon: 1, delta: 1e-6 };
const kept = await dp.counter({ ...year, store });
declare const maybe: FileStore | undefined;
const far = connect();
`;

/** Wrong uses, each of which is an error of its own. */
const WRONG = [
  'dp.counter({ steps: 365, epsilon: 1 });',
  'dp.counter({ epsilon: 1, delta: 1e-6 });',
  'dp.counter({ ...year, pure: true });',
  'dp.counter({ ...year, mu: 1 });',
  'dp.counter({ ...year, store }).release(1);',
  'kept.release(1).value;',
  'dp.counter({ ...year, clipNorm: 2 });',
  'dp.counter({ ...year, numSteps: 2 });',
  'dp.counter({ ...year, dimension: 2 });',
  'dp.counter({ ...year, fixedTimes: true });',
  'dp.moments({ ...year, ranges: [[0, 100]] });',
  'dp.moments({ ...year, columns: { age: [0] } });',
  'dp.moments({ ...year, columns: { age: [0, 100] }, lattice: "discrete-gaussian" });',
  'dp.counter(year).release([1]);',
  'dp.totals({ ...year, dimension: 2 }).release(1);',
  'dp.totals(year);',
  'dp.moments({ ...year, columns: { age: [0, 100] } }).release({ ages: 37 });',
  'dp.moments({ ...year, columns: { age: [0, 1], height: [1, 2] } }).release({ age: 37 });',
  "dp.histogram({ ...year, categories: ['tea', 'coffee'] }).release('milk');",
  "dp.histogram({ ...year, categories: ['tea'], other: 'else' }).release(3);",
  "dp.histogram({ ...year, categories: ['tea', 'coffee'] }).end().count.milk;",
  "dp.counter({ ...year, people: 'once' }).release(1);",
  "dp.histogram({ ...year, categories: ['tea'], people: 'once' }).add('tea');",
  "dp.histogram({ ...year, categories: ['tea'] }).add('ann', 'tea');",
  'dp.counter({ ...year, people: true });',
  'dp.counter({ ...year, people: { epochs: 3 } });',
  'dp.counter({ ...year, people: { participations: 12, minSeparation: 30 } });',
  "dp.counter({ ...year, strategy: 'honacker' });",
  "dp.counter({ ...year, strategy: 'blt', buffers: 4 });",
  'dp.counter(year).at(0);',
  'far.then((client) => client.counter(year));',
  'far.counter({ ...year, store });',
  'kept.release(kept.step, [1]);',
  'dp.sums({ ...year, workloads: { week: { window: 7 } } }).end().sums.month;',
  "dp.sums({ ...year, workloads: ['prefix', { window: 7 }] });",
  "dp.sums({ ...year, workloads: { a: 'prefix' }, importance: { b: 1 } });",
  '{ using lost = kept; }',
  "dp.counter({ ...year, store: FileStore.open('x') });",
  "dp.counter({ ...year, workload: 'window=7' });",
  'dp.counter({ ...year, store: maybe });',
  'const reading = await kept.release(1); reading.values;',
  'dp.increments({ ...year, clippedTo: 1 });',
  'dp.totals({ ...year, dimension: 2, clippedTo: 1 });',
  'dp.gradientLearner({ ...year, dimension: 2 });',
  'dp.gradientLearner({ ...year, dimension: 2, rate: 1, confidence: 0.9 });',
  "dp.gradientLearner({ ...year, dimension: 2, rate: 1, rule: 'adam' });",
  'dp.counter(year).weights();',
  'dp.counter({ ...year, budget: maybe });',
  'dp.budget({ steps: 365, epsilon: 1, delta: 1e-6 });',
  'dp.budget({ epsilon: 1, delta: 1e-6 }).charge({ mu: 1 });',
  'const later = await dp.budget({ epsilon: 1, delta: 1e-6, store }); dp.counter({ ...year, budget: later }).release();',
  'far.counter({ ...year, budget: dp.budget({ epsilon: 1, delta: 1e-6 }) });',
  'dp.counter(year).end({ signal: undefined });',
];

test('types of streams: programs compile', async () => {
  const { code, stdout } = await compile(programs, STRICT, true);
  assert.equal(stdout, '');
  assert.equal(code, 0);
});

test('types of streams: each wrong use is an error', async () => {
  const right = 'export const total: number = dp.counter(year).release().value;';
  const lines = [...WRONG, right].map((line) =>
    `{\n// @ts-expect-error\n${line}\n}`.replace('export ', ''),
  );
  const { stdout } = await compile(before + lines.join('\n'), STRICT, true);
  // Only the last use is right, so only its directive is reported as unused.
  const unused = stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.replace(/^.*use\.ts/, 'use.ts'));
  const places = before.split('\n').length + 4 * WRONG.length + 1;
  assert.deepEqual(unused, [
    `use.ts(${places},1): error TS2578: Unused '@ts-expect-error' directive.`,
  ]);
});
