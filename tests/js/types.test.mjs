// SPDX-License-Identifier: Apache-2.0

// The declarations compile in strict projects of every kind, and reject what the library rejects.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { onlyInAll, some } from './support/extent.mjs';
import { compile } from './support/types.mjs';

const source = `
import { createInstance, DpError, load } from 'dp-ftrl';
import type { Certificate, DpFtrl, ErrorCode, LearnedModel } from 'dp-ftrl';
import type { ComparedMechanism, Comparison, ErrorOptions, Matrices } from 'dp-ftrl';
import type { Estimates, Moments, SavedStrategy, Total } from 'dp-ftrl';
import { load as loadExternal } from 'dp-ftrl/external';
import { connect, type Async, type Client, type Simulation, type Twin } from 'dp-ftrl/worker-client';
import { serve } from 'dp-ftrl/worker';

const multiplierOf = (dp: DpFtrl): number => dp.calibrate({ mu: 1, delta: 1e-6 }).noiseMultiplier;

export async function use(): Promise<Certificate> {
  const dp: DpFtrl = await load();
  await loadExternal({ wasm: new Uint8Array(8) });
  const target = { epsilon: 1, delta: 1e-6 };
  const counter = dp.counter({ strategy: 'tree', steps: 8, ...target, insecureSeed: 1n });
  const [first]: Total[] = counter.releaseMany([1, 2, 3]);
  const day: Float64Array = dp.totals({ steps: 8, ...target, dimension: 2 }).end().values;
  counter.release(first!.value);
  counter.addMany(day);
  const open: boolean = counter.insecure;
  if (!open) counter.dispose();
  const multiplier: number = dp.calibrate({ rho: 1, delta: 1e-6 }).noiseMultiplier;
  const bound: number | null = dp.error({ strategy: 'honaker', steps: multiplier }).lowerBound;
  if (bound === null) throw new DpError('internal', 'no bound');
  const client: Client = connect({ worker: { postMessage() {} } });
  const costs: number[] = [dp.calibrate(target).mu, (await client.calibrate(target)).mu];
  if (!dp.budget(target).fits({ mu: costs[0]! })) throw new DpError('internal', 'no');
  const remote: Async<Simulation> = await client.study.simulation({ steps: 8, ...target });
  const { noisySums } = await remote.advance(4, { maxMilliseconds: 8 });
  noisySums.fill(0);
  client.cancel();
  serve({ postMessage() {} });
  const code: ErrorCode = 'past_horizon';
  const people = dp.counter({ steps: 8, ...target, people: 'once' });
  people.add('ann', 1);
  people.addMany(['ann', 'bob'], day);
  const learner = dp.learner({ steps: 8, loss: 'squared', radius: 2, dimension: 1, ...target });
  learner.learn(day, [1, 0]);
  const model: LearnedModel = learner.model();
  dp.predict(model, [1, 2]).fill(multiplierOf(await createInstance()));
  const remoteTwin: Async<Twin> = await client.study.twin({ steps: 8, loss: { huber: 1 } });
  const scores: Float64Array = await remoteTwin.learn([1], [1], { signal: AbortSignal.timeout(9) });
  await remoteTwin.dispose();
  const queries = await client.queries.linear({ workload: { prefix: 2 }, ...target });
  scores.fill(queries.mu, (await queries.release([1, 2])).answers.length);
  // @ts-expect-error a handle in a worker is disposed of later
  { using lost = queries; }
  // @ts-expect-error not a name
  people.add(7, 1);
  // @ts-expect-error no such loss
  dp.learner({ steps: 8, loss: '0-1', dimension: 1, ...target });
  const banded: ErrorOptions = {
    strategy: { name: 'banded-square-root', bands: 4 },
    steps: 8,
    workload: { momentum: 0.9 },
    participation: { times: 2, apart: 4 },
  };
  const covariance: Float64Array = dp.error({ ...banded, matrices: true }).matrices!.noiseCovariance;
  const strategy = { name: 'blt', decays: [0.5], weights: covariance } as const;
  dp.certificate({ strategy, steps: 8, ...target, participation: { epochs: 2 } });
  const rows: ComparedMechanism[] = dp.compare({ steps: 8, objective: 'mean' }).result().mechanisms;
  const { mechanism, parameters } = rows[0]!;
  dp.error({ strategy: { name: mechanism, ...parameters }, steps: 8, workload: { rates: new Float32Array(8) } });
  const { matrices, perStep } = await client.error({ ...banded, matrices: true, perStep: true });
  const all: Matrices | undefined = matrices;
  // @ts-expect-error only for one workload
  dp.error({ steps: 8, workloads: ['prefix'], perStep: true });
  const comparison: Promise<Comparison> = client.compare({ steps: 8 });
  covariance.fill((await comparison).mechanisms.length, all?.numSteps, perStep?.length);
  const saved: SavedStrategy = dp.optimize({ steps: 8, strategy: { name: 'optimal', buffers: 2 } }).result();
  const fractions: number[] = [];
  const onProgress = ({ fraction }: { fraction: number }) => fractions.push(fraction);
  const again: SavedStrategy = await client.optimize({ steps: 8 }, { onProgress });
  dp.counter({ strategy: saved, steps: 8, ...target });
  dp.compare({ steps: 8, strategies: [saved, again] }).result();
  // @ts-expect-error not a saved strategy
  dp.error({ strategy: { ...saved, version: 1 }, steps: 8 });
  // @ts-expect-error no such workload
  dp.compare({ steps: 8, workload: 'sums' }).result();
  // @ts-expect-error not a number
  dp.error({ ...banded, workload: { window: '4' } });
  // @ts-expect-error the separation is missing
  dp.error({ ...banded, participation: { times: 2 } });
  // @ts-expect-error not a boolean
  dp.error({ ...banded, strategy: { name: 'tree', normalizeColumns: 1 } });
  // @ts-expect-error unknown mechanism
  dp.error({ strategy: 'best', steps: 8 });
  // @ts-expect-error misspelt option
  dp.counter({ steps: 8, epsilon: 1, delta: 1e-6, neighbors: 'zero-out' });
  // @ts-expect-error rho-zCDP has no mu
  const none: number = dp.calibrate({ rho: 1, delta: 1e-6 }).mu;
  // @ts-expect-error no such account
  dp.budget({ account: 'epsilon', ...target }).fits({ mu: none });
  // @ts-expect-error delta is missing
  dp.calibrate({ epsilon: 1 });
  // @ts-expect-error pure privacy has no noise multiplier of its own
  dp.calibrate({ epsilon: 1, delta: 0 }).noiseMultiplier;
  // @ts-expect-error a search is asked for its result
  dp.compare({ steps: 8 }).mechanisms;
  // @ts-expect-error a worker gives the result
  (await client.compare({ steps: 8 })).result();
  // @ts-expect-error queries is a group of functions
  dp.queries({ workload: { prefix: 2 }, ...target });
  // @ts-expect-error the horizon is an option
  dp.bounds(64);
  // @ts-expect-error strategies is a list
  dp.strategies();
  // @ts-expect-error nobody changes the list
  dp.strategies[0]!.parameters.push('bands');
  for (const { fraction } of dp.optimize({ steps: 8 })) fraction satisfies number;
  const store = { load: async () => undefined, save: async () => {}, close: async () => {} };
  const kept = { steps: 8, ...target, store, people: 'once', durable: 'step' } as const;
  const drinks = await dp.histogram({ categories: ['tea'], ...kept });
  await drinks.add('ann', 'tea');
  const { tea } = (await drinks.end()).count;
  const counts: number[] = [tea.value];
  const workloads = { all: 'prefix' } as const;
  const several = await dp.sums({ workloads, dimension: 2, ...kept });
  const estimates: Estimates = (await several.endMany(2))[0]!.sums.all;
  counts.push(...estimates.values);
  const ages = dp.moments({ columns: { age: [0, 100] }, steps: 8, ...target });
  const moments: Moments<'age'> = ages.release({ age: 7 });
  counts.push(moments.mean.age.value);
  // @ts-expect-error records of this stream are categories
  await drinks.add('ann', 1);
  // @ts-expect-error none of the categories
  await drinks.add('ann', 'milk');
  // @ts-expect-error no such way to be durable
  dp.counter({ ...kept, durable: 'always' });
  // @ts-expect-error not a code
  new DpError('oops', code);
  return counter.certificate;
}
`;
const ports = `
import { connect } from 'dp-ftrl/worker-client';
import { serve } from 'dp-ftrl/worker';
export const own = connect({ worker: new Worker('x') });
export const other = connect({ worker: new MessageChannel().port1, wasm: new URL('x:y') });
serve(new MessageChannel().port2);
own.optimize({ steps: 8 }, { signal: AbortSignal.timeout(10) });
// @ts-expect-error not a port
connect({ worker: {} });
`;
const nodePorts = `
import { connect } from 'dp-ftrl/worker-client';
import { serve } from 'dp-ftrl/worker';
import { load } from 'dp-ftrl';
import { readFile } from 'node:fs/promises';
import { parentPort, Worker } from 'node:worker_threads';
export const own = connect({ worker: new Worker('x') });
if (parentPort) serve(parentPort);
export const dp = load({ wasm: await readFile('x'), signal: AbortSignal.timeout(10) });
`;
const disposal = `
import { load } from 'dp-ftrl';
export async function use(): Promise<number> {
  using counter = (await load()).counter({ steps: 8, epsilon: 1, delta: 1e-6 });
  return counter.step;
}
`;
const tensorFlow = `
import * as tf from '@tensorflow/tfjs-core';
import { sequential } from '@tensorflow/tfjs-layers';
import { load } from 'dp-ftrl';
import { privateOptimizer, type TfOptimizer } from 'dp-ftrl/tfjs';
const dp = await load();
const target = { steps: 8, epsilon: 1, delta: 1e-6, rate: 1 };
const model = sequential();
const ofModel: TfOptimizer<tf.Tensor> = privateOptimizer(tf, dp, { ...target, model });
const variables = [tf.variable(tf.zeros([2]))];
const ofVariables = privateOptimizer(tf, dp, { ...target, variables });
const lossOf = (x: tf.Tensor, y: tf.Tensor) =>
  tf.losses.softmaxCrossEntropy(y, model.apply(x) as tf.Tensor);
ofModel.minimize(lossOf, tf.zeros([2, 3]), tf.zeros([2]));
ofVariables.add((x) => tf.sum(x), tf.tensor2d([[1]]));
// @ts-expect-error nothing learns
privateOptimizer(tf, dp, target);
// @ts-expect-error one of the two
privateOptimizer(tf, dp, { ...target, model, variables });
// @ts-expect-error it follows from the variables
privateOptimizer(tf, dp, { ...target, model, dimension: 3 });
// @ts-expect-error a loss is a tensor
ofModel.minimize(() => 3, tf.zeros([2, 3]));
`;

const dom = ['ES2022', 'DOM'];
const projects = [
  ['node16', { module: 'Node16', moduleResolution: 'Node16', target: 'ES2022', lib: dom }, false],
  [
    'nodenext',
    { module: 'NodeNext', moduleResolution: 'NodeNext', target: 'ES2022', lib: dom },
    false,
  ],
  ['bundler', { module: 'ESNext', moduleResolution: 'Bundler', target: 'ES2022', lib: dom }, false],
  [
    'a worker',
    {
      module: 'ESNext',
      moduleResolution: 'Bundler',
      target: 'ES2022',
      lib: ['ES2022', 'WebWorker'],
    },
    false,
  ],
  [
    'Node without DOM',
    { module: 'NodeNext', moduleResolution: 'NodeNext', target: 'ES2022', lib: ['ES2022'] },
    true,
  ],
  [
    'neither DOM nor Node',
    { module: 'ESNext', moduleResolution: 'Bundler', target: 'ES2022', lib: ['ES2022'] },
    false,
  ],
  ['node10', { module: 'ESNext', moduleResolution: 'Node10', target: 'ES2022', lib: dom }, false],
];

for (const [name, options, nodeTypes] of some(projects, 2)) {
  test(`types compile strictly: ${name}`, async () => {
    const { code, stdout } = await compile(source, options, nodeTypes);
    assert.equal(stdout, '');
    assert.equal(code, 0);
  });
}

test('types: `using` works on handles', async () => {
  const { code, stdout } = await compile(disposal, projects[2][1], false);
  assert.equal(stdout, '');
  assert.equal(code, 0);
});

test('types: workers and ports of the browser and of Node are accepted', onlyInAll, async () => {
  for (const [text, project] of [
    [ports, projects[0]],
    [nodePorts, projects[4]],
  ]) {
    const { code, stdout } = await compile(text, project[1], project[2]);
    assert.equal(stdout, '');
    assert.equal(code, 0);
  }
});

test('types: TensorFlow.js has the types that the optimizer takes', async () => {
  // TensorFlow.js's own declarations are not strict.
  const options = { ...projects[2][1], skipLibCheck: true };
  const { code, stdout } = await compile(tensorFlow, options, false, ['@tensorflow']);
  assert.equal(stdout, '');
  assert.equal(code, 0);
});

test('types: the check can fail', async () => {
  const { code, stdout } = await compile(
    "import 'dp-ftrl/nowhere'; export const x: string = 1;",
    projects[2][1],
  );
  assert.notEqual(code, 0);
  assert.match(stdout, /TS2322/);
});
