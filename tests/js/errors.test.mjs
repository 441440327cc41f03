// SPDX-License-Identifier: Apache-2.0

// Errors are data: every interface builds its message from their fields, and no code parses a
// message.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { wellTold } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { entryUrl, importEntry, root } from './support/consumer.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };

function errorOf(call) {
  try {
    call();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing thrown');
}

test('errors: a value out of range, a wrong type and a failure have the expected fields', () => {
  const low = errorOf(() => dp.counter({ steps: 4, ...target, clip: -1 }));
  assert.ok(low instanceof RangeError);
  assert.deepEqual(
    { ...low },
    {
      code: 'invalid_argument',
      call: 'counter',
      parameter: 'clip',
      constraint: 'must be positive and finite',
      value: '-1',
    },
  );
  assert.equal(low.message, 'counter: clip must be positive and finite, got -1');
  const kind = errorOf(() => dp.counter({ steps: '4', ...target }));
  assert.ok(kind instanceof TypeError);
  const { code, parameter, constraint, value } = kind;
  assert.deepEqual([code, parameter, value], ['wrong_type', 'steps', 'string "4"']);
  assert.equal(constraint, 'must be a number');
  const counter = dp.counter({ steps: 1, ...target });
  counter.release(1);
  const past = errorOf(() => counter.release(1));
  assert.deepEqual(
    [past.code, past.call, past.parameter, past.value],
    ['past_horizon', 'release', 'step', '1'],
  );
  counter.dispose();
});

test('errors: a constraint names other parameters in braces, the message without them', () => {
  const steps = 6;
  const error = errorOf(() => dp.error({ strategy: 'tree', steps, participation: { epochs: 4 } }));
  assert.equal(error.constraint, 'must be a divisor of {steps} = 6');
  assert.equal(error.message, 'error: epochs must be a divisor of steps = 6, got 4');
  const core = errorOf(() => dp.error({ strategy: { name: 'tree', completeEpochs: true }, steps }));
  assert.equal(core.parameter, 'completeEpochs');
  assert.equal(core.constraint, 'must be given together with {epochLength}');
});

/** All names in an object, including those of nested objects. */
function namesIn(value) {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...namesIn(inner)]);
}

const steps = 8;
const example = { steps: 8, ...target, dimension: 1 };
const REFUSED = [
  ['calibrate', { epsilon: -1, delta: 0.1 }],
  ['calibrate', { mu: 0, delta: 0.1 }],
  ['calibrate', { rho: 1, delta: 2 }],
  ['budget', { ...target, pure: 2 }],
  ['error', { strategy: 'tree', steps: 0 }],
  ['error', { strategy: { name: 'blt', decays: [0.5], weights: [2 ** 30] }, steps }],
  ['error', { strategy: { name: 'blt', decays: [1.5], weights: [0.1] }, steps }],
  ['error', { strategy: { name: 'blt', decays: [0.5], weights: [] }, steps }],
  ['error', { strategy: { name: 'blt', decays: [0.5], weights: [0.1], buffers: 3 }, steps }],
  ['error', { strategy: { name: 'tree', bands: 3 }, steps }],
  ['error', { strategy: { name: 'tree-k', arity: 1 }, steps }],
  ['error', { strategy: { name: 'tree-k', arity: 4, subtractive: true }, steps }],
  ['error', { strategy: { name: 'nu', nu: 1 }, steps }],
  ['error', { strategy: { name: 'lambda-cgd', lambda: 1 }, steps }],
  ['error', { strategy: { name: 'log-perturbed', alpha: 2 }, steps }],
  ['error', { strategy: { name: 'log-perturbed', loglogPower: 2 }, steps }],
  ['error', { strategy: { name: 'log-perturbed', horizonCap: 2 }, steps }],
  ['error', { strategy: { name: 'tree', epochLength: 9 }, steps }],
  ['error', { strategy: { name: 'tree', completeEpochs: true }, steps }],
  ['error', { strategy: { name: 'optimal', buffers: 65 }, steps }],
  ['error', { strategy: { name: 'banded', bands: 0 }, steps }],
  ['error', { strategy: 'tree', steps, workload: { momentum: 1 } }],
  ['error', { strategy: 'tree', steps, workload: { momentum: 0.5, decay: 2 } }],
  ['error', { strategy: 'tree', steps, workload: { window: 0 } }],
  ['error', { strategy: 'tree', steps: 2, workload: { rates: [1, 0] } }],
  ['error', { strategy: 'tree', steps: 2, workload: { matrix: [1, 2, 3, 4] } }],
  ['error', { strategy: 'tree', steps, participation: { times: 0, apart: 1 } }],
  ['error', { strategy: 'tree', steps, participation: { times: 2, apart: 0 } }],
  ['optimize', { strategy: 'tree', steps }],
  ['optimize', { strategy: 'blt', steps, gap: 0.1 }],
  ['optimize', { strategy: 'optimal', steps, solver: 'none', maxIterations: 3 }],
  ['optimize', { strategy: 'optimal', steps, maxIterations: 0 }],
  ['optimize', { strategy: { name: 'optimal', objective: 'mean' }, steps, queryWeights: [1] }],
  ['optimize', { strategy: 'blt', steps, queryWeights: [1, 1, 1, 1, 1, 1, 1, 1] }],
  ['counter', { steps, ...target, clip: 0 }],
  ['counter', { steps, epsilon: 0, delta: 1e-6 }],
  ['counter', { steps, epsilon: 1, delta: 1 }],
  ['counter', { steps, ...target, grid: 3 }],
  ['totals', { steps, ...target, dimension: 0 }],
  [
    'counter',
    {
      steps,
      ...target,
      lattice: { noise: 'discrete-gaussian', precisionBits: 99 },
      strategy: 'tree',
    },
  ],
  ['counter', { steps, ...target, lattice: 'discrete-gaussian', strategy: 'haar' }],
  ['counter', { steps, ...target, workload: { decay: 0 } }],
  ['counter', { steps, ...target, workload: { window: 0 } }],
  ['counter', { steps, ...target, people: { epochs: 2 } }],
  ['learner', { ...example, loss: { huber: 0 } }],
  ['learner', { ...example, loss: { quantile: 1 } }],
  ['learner', { ...example, loss: 'cube' }],
  ['learner', { ...example, loss: 'squared', radius: 0 }],
  ['learner', { ...example, loss: 'squared', lambda: -1 }],
  ['learner', { ...example, loss: 'squared', batchSize: 0 }],
  ['learner', { ...example, loss: 'squared', descent: { momentum: 1 } }],
  ['learner', { ...example, loss: 'squared', descent: {}, doubling: true }],
  ['learner', { ...example, loss: { softmax: 1 } }],
  ['noise', { strategy: 'tree', steps, dimension: 0 }],
  ['noise', { strategy: 'tree', steps, workload: { momentum: 0.9 }, increments: true }],
  ['increments', { steps, ...target, dimension: 1, clippedTo: 1, grid: 3 }],
  ['noise', { strategy: 'tree', steps, ...target }],
  ['queries.linear', { workload: { identity: 5000 }, ...target }],
  ['queries.linear', { workload: { marginals: [2, 1], order: 1 }, ...target }],
  ['queries.linear', { workload: { parities: 12, order: 1 }, ...target }],
  ['queries.linear', { workload: { union: [{ prefix: 2 }, { prefix: 3 }] }, ...target }],
  ['queries.linear', { workload: { matrix: [[0, 0]] }, ...target }],
  ['queries.linear', { workload: { prefix: 2 }, ...target, maxContributions: 0 }],
  ['queries.choose', { utilities: [], sensitivity: 1, epsilon: 1 }],
  ['queries.choose', { utilities: [1], sensitivity: 0, epsilon: 1 }],
  ['queries.winner', { histogram: [1, 2], epsilon: 0 }],
  ['study.simulation', { steps, ...target, stream: 'river' }],
  ['study.simulation', { steps, ...target, batchSize: 0 }],
  ['study.simulation', { steps, ...target, dimension: 0 }],
];

test('errors: a refusal names an option that the caller wrote', () => {
  const wrong = [];
  for (const [path, options] of REFUSED) {
    const names = path.split('.');
    const call = names.reduce((object, name) => object[name], dp);
    const error = errorOf(() => call(options).dispose?.());
    wellTold(error);
    assert.equal(error.call, names.at(-1), error.message);
    const [written] = error.parameter?.split(/[[(.]/) ?? [];
    if (!namesIn(options).includes(written)) wrong.push(`${path}: ${error.message}`);
  }
  assert.deepEqual(wrong, []);
});

test('errors: they come out of a worker with their fields', async () => {
  const { connect } = await importEntry('dp-ftrl/worker-client');
  const client = connect({ worker: new Worker(entryUrl('dp-ftrl/worker')) });
  try {
    const options = { steps: 4, ...target, clip: -1 };
    const here = errorOf(() => dp.certificate(options));
    const there = await client.certificate(options).catch((error) => error);
    assert.ok(there instanceof RangeError);
    assert.deepEqual({ ...there }, { ...here });
    assert.equal(there.message, here.message);
    const learner = await client.learner({ ...example, steps: 4000, insecureSeed: 1n });
    const labels = new Float64Array(3000).fill(1);
    labels[2500] = 7;
    const refused = await learner.learn(new Float64Array(3000), labels).catch((error) => error);
    assert.deepEqual(refused.row, { kind: 'record', index: 2500 });
    assert.equal(learner.records, 0);
    wellTold(refused);
  } finally {
    client.terminate();
  }
});

test('errors: the command names the option that was typed', async () => {
  const error = ['error', '--steps', '8', '--strategy'];
  const cases = [
    [
      [...error, 'blt', '--decays', '0.5', '--weights', '2e9'],
      /blt: --weights\[0\] must be between/,
    ],
    [
      [...error, 'tree', '--complete-epochs'],
      /--complete-epochs must be given together with --epoch/,
    ],
    [[...error, 'tree', '--bands', '3'], /: --bands is not a parameter of tree/],
    [[...error, 'log-perturbed', '--horizon-cap', '2'], /: --horizon-cap must be between/],
    [[...error, 'tree', '--epoch-length', '9'], /: --epoch-length must be between/],
    [[...error, 'tree', '--workload', 'momentum=1'], /: --workload momentum must be at least 0/],
    [
      [...error, 'optimal', '--normalize', '--workload', 'window=3'],
      /: --normalize cannot be given/,
    ],
  ];
  for (const [args, message] of cases) await fails(args, 2, message);
});

/** Sources of a kind below a folder, without comments. */
function sourcesOf(folder, kind) {
  return readdirSync(join(root, folder), { recursive: true })
    .filter((file) => kind.test(file))
    .map((file) => [`${folder}/${file}`, readFileSync(join(root, folder, file), 'utf8')])
    .map(([file, text]) => [file, text.replaceAll(/^ *(\/\/|\*|\/\*).*$/gm, '')]);
}

test('errors: every parameter in an error of the core is an identifier in its code', () => {
  const sources = [...sourcesOf('cpp', /pp$/), ...sourcesOf('wasm', /\.[ch]pp$/)];
  const code = sources.map(([, text]) => text.replaceAll(/"([^"\\\n]|\\.)*"/g, '""')).join('\n');
  const names = new Set(code.match(/\b[a-z]\w*\b/g));
  const call =
    /\b(fail|fail_argument|require_(?!state)[a-z_]+)\(\s*(?:ErrorCode::\w+,\s*)?[^,"()]*(?:"[^"]*")?,\s*"([^"]*)"/g;
  const found = sources.flatMap(([file, text]) =>
    [...text.matchAll(call)].map(([, , parameter]) => [file, parameter]),
  );
  assert.ok(found.length > 300, `${found.length} places`);
  const wrong = found.filter(([, parameter]) => {
    const [name] = parameter.split(/[[(.]/);
    return name !== '' && !names.has(name);
  });
  assert.deepEqual(wrong, []);
});

test('errors: no text of an error is searched or edited', () => {
  const reads =
    /message\s*(\)?\.)(replace|match|search|split|startsWith|includes|slice)|\.(exec|test)\((\w+\.)?message\)|\.message\s*(=|\+=)[^=]/;
  assert.match("error.message.replace('a', 'b')", reads);
  assert.match('/ step /.exec(message)', reads);
  const wrong = [...sourcesOf('wasm/src', /\.ts$/), ...sourcesOf('web/src', /\.ts$/)].filter(
    ([, text]) => reads.test(text),
  );
  assert.deepEqual(
    wrong.map(([file]) => file),
    [],
  );
});
