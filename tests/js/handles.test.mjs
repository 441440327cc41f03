// SPDX-License-Identifier: Apache-2.0

// Handles of the core: their memory is freed, does not leak, and may grow under them.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { entryUrl, importEntry, installed, node, root } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { loadIntercepted } from './support/intercept.mjs';
import { namesOf } from './support/mechanisms.mjs';
import { importSource } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const wasm = new Uint8Array(readFileSync(join(installed, 'dist/dp-ftrl.wasm')));
const target = { epsilon: 1, delta: 1e-6 };

test('handles: calls on a disposed handle are refused, and disposing twice is allowed', () => {
  const counter = dp.counter({ steps: 4, ...target });
  assert.equal(dp.liveHandles, 1);
  assert.equal(counter.disposed, false);
  counter.dispose();
  counter.dispose();
  assert.equal(counter.disposed, true);
  assert.equal(dp.liveHandles, 0);
  const refused = { code: 'disposed', message: /this stream was disposed of/ };
  for (const use of [() => counter.release(1), () => counter.step, () => counter.stddev(0)]) {
    assert.throws(use, refused);
  }
  assert.equal(counter.certificate.numSteps, 4);
  const other = dp.counter({ steps: 4, ...target });
  other[Symbol.dispose]();
  assert.equal(other.disposed, true);
});

test('handles: the core disposes of an object once, however often it is asked for', async () => {
  const { CoreHandle } = await importSource('core/handle.ts');
  const calls = [];
  const core = { aborted: false, call: (...args) => calls.push(args) };
  const backstop = {
    watch: (_, id) => calls.push(['watch', id]),
    forget: () => calls.push(['forget']),
  };
  class Thing extends CoreHandle {
    constructor() {
      super({ core, backstop }, 7, 'thing');
    }
  }
  const thing = new Thing();
  thing.dispose();
  thing.dispose();
  assert.deepEqual(calls, [['watch', 7], ['forget'], ['dispose', 7]]);
  // A stopped instance is not called.
  core.aborted = true;
  new Thing().dispose();
  assert.deepEqual(calls.slice(3), [['watch', 7], ['forget']]);
});

test('handles: work where Symbol.dispose is missing', async () => {
  const code = `
    const real = Symbol;
    const without = function (name) { return real(name); };
    for (const key of Object.getOwnPropertyNames(real)) {
      if (!['dispose', 'prototype', 'length', 'name'].includes(key)) without[key] = real[key];
    }
    globalThis.Symbol = without;
    const { load } = await import('dp-ftrl');
    const counter = (await load()).counter({ steps: 4, epsilon: 1, delta: 1e-6 });
    if ('undefined' in counter) throw new Error('a method called undefined');
    counter.dispose();
    process.stdout.write(String(counter.disposed));`;
  const { stdout, stderr } = await node(['--input-type=module', '-e', code]);
  assert.equal(stderr, '');
  assert.equal(stdout, 'true');
});

test('handles: the garbage collector frees what was forgotten', async () => {
  const code = `
    const { load } = await import('dp-ftrl');
    const dp = await load();
    const options = { steps: 4, epsilon: 1, delta: 1e-6 };
    (() => { for (let i = 0; i < 100; ++i) dp.counter(options); })();
    for (let i = 0; i < 200 && dp.liveHandles > 0; ++i) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    process.stdout.write(String(dp.liveHandles));`;
  const { stdout } = await node(['--expose-gc', '--input-type=module', '-e', code]);
  assert.equal(stdout, '0');
});

test('leaks: 10,000 handles come and go on a heap that does not grow', onlyInAll, async () => {
  // Strategies that require a search take a second, and allocate in the same way as the others.
  const quick = namesOf(dp).filter(
    (name) => !['blt', 'blt-normalized', 'blt-scaled'].includes(name),
  );
  const { dp: own, memory } = await loadIntercepted(load, wasm.slice());
  const once = (i) => {
    const strategy = quick[i % quick.length];
    const totals = own.totals({ strategy, steps: 16, dimension: 8, ...target });
    totals.release(new Float64Array(8));
    totals.dispose();
    if (i % 10 === 0) {
      const people = own.counter({ strategy: 'tree', steps: 4, people: 'once', ...target });
      people.addMany(['a', 'b'], [1, 1]);
      people.endMany(4);
      people.dispose();
      const learner = own.learner({ strategy: 'tree', steps: 4, dimension: 1, ...target });
      learner.learn([1, 2], [1, 0]);
      learner.dispose();
      const simulation = own.study.simulation({ strategy, steps: 8, ...target });
      simulation.advance(8);
      simulation.dispose();
    }
    // Failures must not leak memory, either.
    assert.throws(() => own.counter({ strategy: 'tree', steps: 4, ...target, grid: 0.3 }));
  };
  for (let i = 0; i < 100; ++i) once(i);
  const before = memory.buffer.byteLength;
  for (let i = 0; i < 10_000; ++i) once(i);
  assert.equal(own.liveHandles, 0);
  assert.equal(memory.buffer.byteLength, before);
});

test('steady state: with reuse, readings allocate no arrays', async () => {
  const code = `
    const { load } = await import('${entryUrl('dp-ftrl')}');
    const dp = await load();
    const target = { strategy: 'tree', steps: 1 << 20, epsilon: 1, delta: 1e-6, dimension: 1024 };
    const [totals, fresh] = [true, false].map((reuse) => dp.totals({ ...target, reuse }));
    const loops = { reused: () => totals.end(), fresh: () => fresh.end() };
    const grown = {};
    for (const [name, once] of Object.entries(loops)) {
      for (let i = 0; i < 10; ++i) once();
      gc();
      const before = process.memoryUsage().arrayBuffers;
      for (let i = 0; i < 400; ++i) once();
      grown[name] = process.memoryUsage().arrayBuffers - before;
    }
    process.stdout.write(JSON.stringify(grown));`;
  const { stdout, stderr } = await node(['--expose-gc', '--input-type=module', '-e', code]);
  assert.equal(stderr, '');
  const { reused, fresh } = JSON.parse(stdout);
  assert.ok(reused < 20_000, `${reused}`);
  assert.ok(fresh > 1_000_000, `the check can fail: ${fresh}`);
});

test('memory growth between calls: copies stay right, handles go on', async () => {
  const { dp: own, memory } = await loadIntercepted(load, wasm.slice());
  const options = { strategy: 'honaker', steps: 64, dimension: 4, ...target, insecureSeed: 21 };
  const expected = dp.totals(options).endMany(64);
  const totals = own.totals(options);
  const early = totals.endMany(32);
  const kept = structuredClone(early);

  const before = memory.buffer.byteLength;
  const size = { steps: 2 ** 16, dimension: 64 };
  const hungry = own.totals({ strategy: 'square-root', ...size, ...target });
  hungry.release(new Float64Array(64));
  assert.ok(memory.buffer.byteLength > before, 'memory grew');

  assert.deepEqual(early, kept, 'what was handed out is a copy');
  assert.deepEqual([...early, ...totals.endMany(32)], expected);

  // Memory grows within one call, while its input and output are in use.
  const long = Float64Array.from({ length: 1 << 21 }, (_, i) => i % 2);
  const wide = { strategy: 'tree', steps: 4, dimension: long.length, ...target, insecureSeed: 2 };
  const [inGrowth, plain] = [own, dp].map((it) => it.totals(wide).release(long).values);
  assert.deepEqual(inGrowth, plain);
});

test('core: it checks lengths itself, since memory safety depends on them', async () => {
  const glue = pathToFileURL(join(root, 'build/wasm/wasm/dp-ftrl.mjs'));
  const { default: create } = await import(glue);
  const core = await create({
    instantiateWasm(imports, receive) {
      WebAssembly.instantiate(wasm, imports).then((it) => receive(it.instance, it.module));
      return {};
    },
  });
  const workload = { kind: 'prefix', momentum: 0, decay: 1, width: 0 };
  const factorization = {
    strategy: 'tree',
    steps: 4,
    workload,
    participation: { kind: 'single', times: 1, separation: 1 },
    parameters: {},
  };
  const mechanism = { ...factorization, ...target, clip: 1, neighbours: 'zero-out' };
  const how = { mode: 'grid', latticeNoise: 'discrete-gaussian' };
  const common = { ...mechanism, ...how, dimension: 2 };
  const totals = { ...common, kind: 'totals', pure: false, confidence: 0.95, about: '' };
  const { value } = core.streamCreate({ ...totals, insecureSeed: 1n });
  for (const verb of ['streamRelease', 'streamReleaseBatch', 'streamAdd', 'streamCheck']) {
    const reply = core[verb](value.id, undefined, new Float64Array(3), new Float64Array(4));
    assert.deepEqual([reply.code, reply.parameter, reply.value], ['wrong_length', 'records', '3']);
  }
  assert.equal(core.streamPlace(value.id).value.step, 0);
  assert.equal(core.streamCreate(totals).code, 'internal', 'neither key nor seed');

  const learning = { stream: 'stationary', streamSeed: 1n, noiseSeed: 1n, loss: 'logistic' };
  const rest = { ...learning, domain: 'ball', radius: 1, numRegretPrefixes: 0 };
  const shapes = [
    [2, 2],
    [3, 2],
    [0, 2],
    [2 ** 40, 2 ** 40],
  ];
  for (const [numRows, numColumns] of shapes) {
    const table = { numRows, numColumns, values: new Float64Array(5) };
    const options = { ...common, ...rest, dimension: undefined, table };
    assert.equal(core.simulationCreate(options).code, 'wrong_length');
  }

  for (const steps of [2, 0, 2 ** 40]) {
    const given = { ...workload, kind: 'matrix', values: new Float64Array(5) };
    const options = { ...factorization, steps, workload: given };
    assert.equal(core.unitError(options).code, 'wrong_length');
  }
});
