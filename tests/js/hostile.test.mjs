// SPDX-License-Identifier: Apache-2.0

// Thousands of nonsensical calls: each works, or throws an error with a code and a message that
// states what is wrong.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const { serve } = await importEntry('dp-ftrl/worker');
const { connect } = await importEntry('dp-ftrl/worker-client');
const dp = await load();
const NUM_CALLS = 20_000;
const random = generator(11);
const oneOf = (list) => list[Math.floor(random() * list.length)];

const NUMBERS = [0, -0, -1, 1.5, 3, NaN, Infinity, -Infinity, 2 ** 53, 1e300, 5e-324, 3n, -1n];
const TEXTS = ['', 'x', 'optimal', '__proto__', '\n', 'a'.repeat(5000)];
const ARRAYS = [[], [[]], [NaN], ['a'], new Float64Array(3), new ArrayBuffer(8), { length: -1 }];
const OBJECTS = [{}, { a: 1 }, new Map(), new Date(0), /x/, Object.create(null), new Error('e')];
const ODD = [undefined, null, true, Symbol('s'), () => 1, { toString: null }, Promise.resolve()];
const anything = () => oneOf(oneOf([NUMBERS, TEXTS, ARRAYS, OBJECTS, ODD]));
const listOf = (length) => Array.from({ length }, anything);

const VALID = { numSteps: 8, epsilon: 1, delta: 1e-6, mechanism: 'tree', dimension: 1 };
const NAMES = [
  ...[...Object.keys(VALID), 'clipNorm', 'neighbours', 'participation', 'workload', 'objective'],
  ...['bands', 'buffers', 'decays', 'lambda', 'loss', 'numClasses', 'radius', 'domain', 'descent'],
  ...['batchSize', 'mode', 'grid', 'insecureSeed', 'beta', 'features', 'labels', 'columns', 'rule'],
  ...['account', 'costs', 'rho', 'mu', 'maxContributions', 'strategies', 'precisionBits', 'rate'],
  ...['key', 'stream', 'table', 'gap', 'solver', 'noise', 'strategy', 'scores', 'sensitivity'],
];

/** Options, one or two of them nonsensical or missing. */
function options() {
  const made = { ...VALID };
  for (let i = random() < 0.5 ? 1 : 2; i > 0; --i) made[oneOf(NAMES)] = anything();
  if (random() < 0.2) delete made[oneOf(Object.keys(VALID))];
  return made;
}

/** Methods of the objects that the functions return. */
const METHODS = [
  ...[
    'release',
    'releaseMany',
    'contribute',
    'endSteps',
    'stddev',
    'releaseEach',
    'learn',
    'losses',
  ],
  ...[
    'endBatch',
    'model',
    'update',
    'weights',
    'append',
    'best',
    'next',
    'seek',
    'restore',
    'rounded',
  ],
  ...['label', 'labels', 'matrices', 'advance', 'result', 'heldOutRisk', 'step'],
];

let numCalls = 0;
let numErrors = 0;

/**
 * Calls a method of an object. Returns undefined if it throws, which must be an error with a code
 * and a message.
 */
async function attempt(name, target, args) {
  ++numCalls;
  try {
    return await target[name](...args);
  } catch (error) {
    ++numErrors;
    const what = `${name}: ${error?.message}`;
    assert.ok(error instanceof Error, what);
    assert.equal(typeof error.code, 'string', `${what}\n${error.stack}`);
    assert.ok(!/\[object|=>|is not a function|Cannot read/.test(error.message), what);
    assert.ok(error.message.length < 800, what);
    return undefined;
  }
}

/** Calls functions of a library and methods of the objects they return, `count` times in all. */
async function attemptAll(library, count) {
  [numCalls, numErrors] = [0, 0];
  const functions = Object.keys(library).filter(
    (name) => typeof library[name] === 'function' && !['terminate', 'cancel'].includes(name),
  );
  while (numCalls < count) {
    const args = random() < 0.6 ? [options()] : listOf(Math.floor(random() * 4));
    const made = await attempt(oneOf(functions), library, args);
    if (typeof made?.dispose !== 'function') continue;
    for (const method of METHODS.filter((each) => typeof made[each] === 'function')) {
      await attempt(method, made, listOf(Math.floor(random() * 4)));
    }
    await made.dispose();
  }
  assert.ok(numErrors > count / 2, `${numErrors}`);
}

test('hostile: every error of 20,000 senseless calls has a code and a readable message', async () => {
  await attemptAll(dp, NUM_CALLS);
  assert.equal(dp.liveHandles, 0);
});

test('hostile: every error of the module of counters and of a worker client has a code and a readable message', async () => {
  await attemptAll(await (await importEntry('dp-ftrl/counter')).load(), NUM_CALLS / 10);
  const { port1, port2 } = new MessageChannel();
  serve(port1);
  const client = connect({ worker: port2 });
  await attemptAll(client, NUM_CALLS / 10);
  client.terminate();
});

test('hostile: every error of opening, loading and connecting has a code and a readable message', async () => {
  const { FileStore } = await importEntry('dp-ftrl/file-store');
  const { IndexedDbStore } = await importEntry('dp-ftrl/indexed-db');
  const { PostgresStore } = await importEntry('dp-ftrl/postgres-store');
  const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
  const client = { query: anything };
  const entries = [
    // Strings are omitted because each is a valid file name.
    [FileStore, 'open', () => [oneOf([...NUMBERS, ...OBJECTS, ...ODD])]],
    [IndexedDbStore, 'open', () => [anything()]],
    [
      PostgresStore,
      'open',
      () => [oneOf([anything(), { client: anything(), name: 'a' }, { client, name: 'a' }])],
    ],
    [{ serve }, 'serve', () => [anything()]],
    [{ connect }, 'connect', () => [oneOf([anything(), { worker: anything() }])]],
    [
      { privateOptimizer },
      'privateOptimizer',
      () => [anything(), oneOf([dp, anything()]), options()],
    ],
    [{ load }, 'load', () => [oneOf([anything(), { wasm: anything() }, { signal: anything() }])]],
  ];
  [numCalls, numErrors] = [0, 0];
  for (const [target, name, args] of entries) {
    for (let i = 0; i < 200; ++i) await attempt(name, target, args());
  }
  assert.ok(numErrors > numCalls / 2, `${numErrors}`);
});
