// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { close, rejects } from './support/check.mjs';
import { entryUrl, importEntry, installed, node, root } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { loadIntercepted } from './support/intercept.mjs';
import { namesOf } from './support/mechanisms.mjs';
import { importSource } from './support/sources.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const wasm = new Uint8Array(readFileSync(join(installed, 'dist/dp-ftrl.wasm')));
const target = { epsilon: 1, delta: 1e-6 };
const mechanisms = namesOf(dp);

/** Passes a prefix sum to `use` and disposes of it afterwards. */
function withSums(options, use) {
  const sums = dp.prefixSum({ ...target, ...options });
  try {
    return use(sums);
  } finally {
    sums.dispose();
  }
}

function zeros(options, numRecords) {
  const { dimension = 1 } = options;
  return withSums(options, (sums) => sums.releaseMany(new Float64Array(numRecords * dimension)));
}

test('prefix sum: its properties and certificate match the options', () => {
  withSums(
    { mechanism: 'tree', numSteps: 9, dimension: 3, clipNorm: 2, insecureSeed: 1 },
    (sums) => {
      assert.deepEqual([sums.dimension, sums.numSteps, sums.step], [3, 9, 0]);
      assert.equal(sums.certificate.mechanism, 'tree');
      assert.equal(sums.certificate.clipNorm, 2);
      assert.ok(Object.isFrozen(sums.certificate));
      assert.ok(Number.isInteger(Math.log2(sums.grid)));
      sums.releaseMany(new Float64Array(6));
      assert.equal(sums.step, 2);
    },
  );
});

test('prefix sum: a seed, as a number or a bigint, determines the totals, and another gives others', () => {
  for (const mechanism of mechanisms) {
    const options = { mechanism, numSteps: 20, dimension: 2 };
    const first = zeros({ ...options, insecureSeed: 7 }, 20);
    assert.deepEqual(zeros({ ...options, insecureSeed: 7n }, 20), first);
    assert.notDeepEqual(zeros({ ...options, insecureSeed: 8 }, 20), first);
  }
  const largest = zeros({ numSteps: 1, insecureSeed: 2n ** 64n - 1n }, 1);
  assert.deepEqual(zeros({ numSteps: 1, insecureSeed: 2n ** 64n - 1n }, 1), largest);
});

test('prefix sum: without a seed no two are alike', () => {
  // Five releases of 64 coordinates are equal by chance with probability far below 2^-200.
  assert.notDeepEqual(
    zeros({ numSteps: 1, dimension: 64 }, 1),
    zeros({ numSteps: 1, dimension: 64 }, 1),
  );
});

test('prefix sum: one by one, all at once and in pieces give the same totals', () => {
  const records = Float64Array.from({ length: 40 }, (_, i) => Math.sin(i));
  for (const mechanism of mechanisms) {
    const options = { mechanism, numSteps: 20, dimension: 2, insecureSeed: 5 };
    const whole = withSums(options, (sums) => sums.releaseMany(records));
    const single = withSums(options, (sums) =>
      Array.from({ length: 20 }, (_, t) => [...sums.release(records.subarray(2 * t, 2 * t + 2))]),
    );
    const pieces = withSums(options, (sums) => [
      ...sums.releaseMany(records.subarray(0, 14)),
      ...sums.releaseMany([]),
      ...sums.releaseMany(Array.from(records.subarray(14))),
    ]);
    assert.deepEqual(single.flat(), [...whole]);
    assert.deepEqual(pieces, [...whole]);
  }
});

test('prefix sum: the noise does not depend on the data', () => {
  // With integer records, the difference of two runs with one seed equals the difference of their
  // sums.
  const bits = Float64Array.from({ length: 64 }, (_, i) => Number(i % 3 === 0));
  for (const mechanism of mechanisms) {
    const options = { mechanism, numSteps: 64, insecureSeed: 11 };
    const noise = zeros(options, 64);
    const totals = withSums(options, (sums) => sums.releaseMany(bits));
    let sum = 0;
    for (let t = 0; t < 64; ++t) assert.equal(totals[t] - noise[t], (sum += bits[t]));
  }
});

test('prefix sum: records are clipped jointly', () => {
  const options = { numSteps: 1, dimension: 2, clipNorm: 1, insecureSeed: 3 };
  const noise = zeros(options, 1);
  const total = withSums(options, (sums) => sums.release([30, 40]));
  withSums(options, ({ grid }) => {
    assert.ok(Math.abs(total[0] - noise[0] - 0.6) <= grid);
    assert.ok(Math.abs(total[1] - noise[1] - 0.8) <= grid);
  });
});

test('prefix sum: releases are points of the grid', () => {
  const releases = zeros({ numSteps: 32, grid: 0.25, insecureSeed: 1 }, 32);
  for (const value of releases) assert.ok(Number.isInteger(value * 4), String(value));
  withSums({ numSteps: 4, grid: 2 ** -10 }, (sums) => assert.equal(sums.grid, 2 ** -10));
});

// Noise of 2048 independent coordinates: the sample variance has relative standard deviation
// sqrt(2/2048) = 3.1 %, and the mean of the squares must be within 6 of these. Under the normal
// approximation one check fails by chance with probability 2e-9 and 19 mechanisms' 2 * 9 of them
// together with 7e-7; the seeds are fixed, so the outcome never varies.
test('prefix sum: the noise has the standard deviation of the certificate', () => {
  const dimension = 2048;
  const numSteps = 9;
  const tolerance = 6 * Math.sqrt(2 / dimension);
  for (const mechanism of mechanisms) {
    for (const neighbours of ['zero-out', 'replace-one']) {
      const options = { mechanism, numSteps, dimension, neighbours, clipNorm: 2, insecureSeed: 17 };
      withSums(options, (sums) => {
        const noise = sums.releaseMany(new Float64Array(numSteps * dimension));
        let largest = 0;
        for (let t = 0; t < numSteps; ++t) {
          const row = noise.subarray(t * dimension, (t + 1) * dimension);
          const ratio = row.reduce((sum, z) => sum + z * z, 0) / dimension / sums.stddev(t) ** 2;
          assert.ok(Math.abs(ratio - 1) < tolerance, `${mechanism}, step ${t}: ratio ${ratio}`);
          // The check rejects a standard deviation that is wrong by 2/3 or 3/2.
          for (const wrong of [2 / 3, 3 / 2]) {
            assert.ok(Math.abs(ratio * wrong ** 2 - 1) > tolerance);
          }
          largest = Math.max(largest, sums.stddev(t));
        }
        const { certificate: it } = sums;
        const distance = neighbours === 'zero-out' ? 1 : 2;
        close(largest, it.maxError * it.noiseMultiplier * it.clipNorm * distance, 1e-9);
      });
    }
  }
});

test('prefix sum: records past the horizon are refused, and the totals before it are kept', () => {
  withSums({ numSteps: 3, insecureSeed: 1 }, (sums) => {
    sums.release([1]);
    assert.throws(
      () => sums.releaseMany([1, 1, 1, 1]),
      (error) => {
        assert.ok(error instanceof DpError);
        assert.equal(error.code, 'past_horizon');
        assert.match(error.message, /releaseMany: record 2: .*3/);
        assert.equal(error.released.length, 2);
        assert.ok(error.released instanceof Float64Array);
        return true;
      },
    );
    assert.equal(sums.step, 3);
    rejects(() => sums.release([1]), DpError, 'past_horizon', /horizon/);
  });
});

test('prefix sum: a refused record changes nothing, the totals before it are kept', () => {
  const options = { numSteps: 6, dimension: 2, insecureSeed: 4 };
  const expected = withSums(options, (sums) => sums.releaseMany([1, 0, 0, 1, 1, 0, 0, 1]));
  withSums(options, (sums) => {
    const out = new Float64Array(8).fill(-1);
    let failure;
    try {
      sums.releaseMany([1, 0, 0, 1, NaN, 0, 0, 1], out);
    } catch (error) {
      failure = error;
    }
    assert.ok(failure instanceof RangeError);
    assert.equal(failure.code, 'invalid_argument');
    assert.match(failure.message, /releaseMany: record 2: .*record\[0\] must be finite, got NaN/);
    assert.deepEqual([...failure.released], [...expected.subarray(0, 4)]);
    assert.deepEqual([...out], [...expected.subarray(0, 4), -1, -1, -1, -1]);
    assert.equal(sums.step, 2);
    assert.deepEqual([...sums.releaseMany([1, 0, 0, 1])], [...expected.subarray(4)]);
  });
});

test('prefix sum: `out` is filled and returned', () => {
  const options = { numSteps: 4, insecureSeed: 4 };
  const expected = zeros(options, 4);
  withSums(options, (sums) => {
    const out = new Float64Array(4);
    assert.equal(sums.releaseMany([0, 0, 0, 0], out), out);
    assert.deepEqual(out, expected);
  });
});

test('prefix sum: several kinds of arrays of numbers are accepted, and other input is refused', () => {
  const options = { numSteps: 4, dimension: 2, insecureSeed: 9 };
  const expected = withSums(options, (sums) => sums.release([1, 0]));
  for (const record of [
    new Float32Array([1, 0]),
    new Int8Array([1, 0]),
    { length: 2, 0: 1, 1: 0 },
  ]) {
    assert.deepEqual(
      withSums(options, (sums) => sums.release(record)),
      expected,
    );
  }
  withSums(options, (sums) => {
    const type = [
      [() => sums.release(), /record must be an array of numbers, got undefined/],
      [() => sums.release(5), /record must be an array of numbers, got number/],
      [() => sums.release('10'), /record must be an array of numbers, got string/],
      [() => sums.release(['1', 0]), /record\[0\] must be a number, got string/],
      [() => sums.release([1, null]), /record\[1\] must be a number, got null/],
      [() => sums.release([1, ,]), /record\[1\] must be a number, got undefined/],
      [() => sums.release(new BigInt64Array(2)), /record must be an array of numbers, got bigint/],
      [() => sums.releaseMany([1, 0], [0, 0]), /out must be a Float64Array, got array/],
      [() => sums.stddev('0'), /step must be a number, got string/],
    ];
    for (const [call, message] of type) rejects(call, TypeError, 'wrong_type', message);
    const length = [
      [() => sums.release([1]), /release: record must have 2 entries, got 1/],
      [() => sums.release([1, 2, 3]), /record must have 2 entries, got 3/],
      [
        () => sums.releaseMany([1, 2, 3]),
        /records must have a multiple of dimension = 2 entries, got 3/,
      ],
      [() => sums.releaseMany([1, 2], new Float64Array(4)), /out must have 2 entries, got 4/],
    ];
    for (const [call, message] of length) rejects(call, TypeError, 'wrong_length', message);
    const range = [
      [() => sums.release([NaN, 0]), /record\[0\] must be finite, got NaN/],
      [() => sums.release([0, Infinity]), /record\[1\] must be finite, got inf/i],
      [() => sums.stddev(-1), /step must be an integer from 0 to 3, got -1/],
      [() => sums.stddev(4), /step must be an integer from 0 to 3, got 4/],
      [() => sums.stddev(0.5), /step must be an integer from 0 to 3, got 0.5/],
      [() => sums.stddev(NaN), /got NaN/],
    ];
    for (const [call, message] of range) rejects(call, RangeError, 'invalid_argument', message);
    assert.equal(sums.step, 0, 'nothing was released');
  });
});

function transferred(array) {
  structuredClone(array.buffer, { transfer: [array.buffer] });
  return array;
}

/** A view that extends beyond the end of its shrunk buffer. */
function shrunk() {
  const buffer = new ArrayBuffer(64, { maxByteLength: 64 });
  const view = new Float64Array(buffer, 8, 2);
  buffer.resize(16);
  return view;
}

test('prefix sum: arrays that have lost their buffer are refused, and nothing is released', () => {
  withSums({ numSteps: 4, dimension: 2, insecureSeed: 9 }, (sums) => {
    const gone = /must be an array with its memory, got one whose buffer was transferred/;
    const [doubles, bytes] = [new Float64Array(2), new Int8Array(2)].map(transferred);
    for (const array of [doubles, bytes, shrunk()]) {
      rejects(() => sums.release(array), TypeError, 'wrong_type', gone);
      rejects(() => sums.releaseMany(array), TypeError, 'wrong_type', gone);
      const table = { numRows: 1, numColumns: 2, values: array };
      const simulate = () => dp.study.simulation({ numSteps: 1, ...target, table });
      rejects(simulate, TypeError, 'wrong_type', gone);
    }
    for (const out of [transferred(new Float64Array(2)), shrunk()]) {
      rejects(() => sums.releaseMany([1, 0], out), TypeError, 'wrong_type', gone);
      rejects(() => sums.releaseMany([], out), TypeError, 'wrong_type', /out must be an array/);
    }
    assert.equal(sums.step, 0);
    sums.release([1, 0]);
  });
});

test('prefix sum: an array subclass that lies about itself is read by its actual contents', () => {
  class Liar extends Float64Array {
    get length() {
      return 3;
    }
    *[Symbol.iterator]() {
      yield 'nonsense';
    }
    set() {
      throw new Error('must not be called');
    }
    static get [Symbol.species]() {
      return Array;
    }
  }
  const options = { numSteps: 4, dimension: 2, insecureSeed: 9 };
  const expected = withSums(options, (sums) => sums.releaseMany([1, 0, 0, 1]));
  withSums(options, (sums) => {
    const out = new Liar(4);
    sums.releaseMany(new Liar([1, 0, 0, 1]), out);
    assert.deepEqual(Float64Array.prototype.slice.call(new Float64Array(out)), expected);
    const short = /record must have 2 entries, got 4/;
    rejects(() => sums.release(new Liar(4)), TypeError, 'wrong_length', short);
    const none = new Liar(3);
    const long = /out must have 2 entries, got 3/;
    rejects(() => sums.releaseMany([1, 0], none), TypeError, 'wrong_length', long);
    const totals = sums.release(new Float64Array(2));
    assert.equal(Object.getPrototypeOf(totals), Float64Array.prototype);
  });
});

test('prefix sum: the records handed over are left alone', () => {
  withSums({ numSteps: 4, dimension: 2, insecureSeed: 9 }, (sums) => {
    const records = Float64Array.of(1, 0, 0, 1);
    sums.releaseMany(records);
    sums.release(records.subarray(0, 2));
    assert.deepEqual(records, Float64Array.of(1, 0, 0, 1));
  });
});

test('prefix sum: a length that does not fit into memory is refused', () => {
  withSums({ numSteps: 4 }, (sums) => {
    const message = /: records? must be of a length that memory can hold, got 11258999068/;
    for (const name of ['release', 'releaseMany']) {
      const call = () => sums[name]({ length: 2 ** 50 });
      rejects(call, RangeError, 'invalid_argument', message);
    }
  });
});

test('prefix sum: says when its noise is from a fixed seed', () => {
  withSums({ numSteps: 2, insecureSeed: 0 }, (sums) => assert.equal(sums.insecure, true));
  withSums({ numSteps: 2 }, (sums) => assert.equal(sums.insecure, false));
  withSums({ numSteps: 2, insecureSeed: undefined }, (it) => assert.equal(it.insecure, false));
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
    mechanism: 'tree',
    numSteps: 4,
    workload,
    participation: { kind: 'single', times: 1, separation: 1 },
    parameters: {},
  };
  const mechanism = { ...factorization, ...target, clipNorm: 1, neighbours: 'zero-out' };
  const how = { mode: 'grid', latticeNoise: 'discrete-gaussian' };
  const common = { ...mechanism, ...how, dimension: 2 };
  const { value } = core.prefixSumCreate({ ...common, insecureSeed: 1n });
  const reply = core.prefixSumRelease(value.id, new Float64Array(3));
  assert.equal(reply.code, 'wrong_length');
  assert.equal(reply.parameter, 'records');
  assert.equal(reply.constraint, 'must have a length that is a multiple of {dimension} = 2');
  assert.equal(reply.value, '3');
  assert.equal(core.prefixSumStep(value.id).value, 0);
  assert.equal(core.prefixSumCreate(common).code, 'internal', 'neither key nor seed');

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

  for (const numSteps of [2, 0, 2 ** 40]) {
    const given = { ...workload, kind: 'matrix', values: new Float64Array(5) };
    const options = { ...factorization, numSteps, workload: given };
    assert.equal(core.unitError(options).code, 'wrong_length');
  }
});

test('prefix sum: bad options are refused', () => {
  const make = (change) => () => dp.prefixSum({ numSteps: 4, ...target, ...change });
  const cases = [
    [make({ dimension: 0 }), /dimension must be .*, got 0/],
    [make({ dimension: -1 }), /dimension must be .*, got -1/],
    [make({ dimension: 1.5 }), /dimension must be an integer, got 1.5/],
    [make({ grid: 0.3 }), /grid must be a power of two, got 0.3/],
    [make({ grid: 0 }), /grid must be .*, got 0/],
    [make({ grid: -1 }), /grid must be .*, got -1/],
    [make({ grid: NaN }), /grid must be .*, got NaN/],
    [make({ insecureSeed: -1 }), /insecureSeed must be an integer from 0 to 2\^53 - 1, got -1/],
    [make({ insecureSeed: 2 ** 53 }), /insecureSeed must be an integer .*, got 9007199254740992/],
    [make({ insecureSeed: 0.5 }), /insecureSeed must be an integer .*, got 0.5/],
    [make({ insecureSeed: -1n }), /insecureSeed must be from 0 to 2\^64 - 1, got -1n/],
    [
      make({ insecureSeed: 2n ** 64n }),
      /insecureSeed must be from 0 to 2\^64 - 1, got 18446744073709551616n/,
    ],
  ];
  for (const [call, message] of cases) rejects(call, RangeError, 'invalid_argument', message);
  assert.equal(dp.liveHandles, 0, 'a refused prefix sum leaves nothing behind');
});

test('prefix sum: options that need more memory than there is are refused', () => {
  rejects(
    () => {
      const size = { numSteps: 2 ** 20, dimension: 2 ** 20 };
      dp.prefixSum({ mechanism: 'square-root', ...size, ...target });
    },
    DpError,
    'resource_exhausted',
    /memory/,
  );
  zeros({ numSteps: 2 }, 2);
});

test('handles: calls on a disposed handle are refused, and disposing twice is allowed', () => {
  const sums = dp.prefixSum({ numSteps: 4, ...target });
  assert.equal(dp.liveHandles, 1);
  assert.equal(sums.disposed, false);
  sums.dispose();
  sums.dispose();
  assert.equal(sums.disposed, true);
  assert.equal(dp.liveHandles, 0);
  for (const use of [
    () => sums.release([1]),
    () => sums.releaseMany([1]),
    () => sums.step,
    () => sums.stddev(0),
  ]) {
    rejects(use, DpError, 'disposed', /this prefix sum was disposed of/);
  }
  assert.equal(sums.certificate.numSteps, 4);
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

test('handles: Symbol.dispose works where it exists', () => {
  const sums = dp.prefixSum({ numSteps: 4, ...target });
  sums[Symbol.dispose]();
  assert.equal(sums.disposed, true);
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
    const sums = (await load()).prefixSum({ numSteps: 4, epsilon: 1, delta: 1e-6 });
    if ('undefined' in sums) throw new Error('a method called undefined');
    sums.dispose();
    process.stdout.write(String(sums.disposed));`;
  const { stdout, stderr } = await node(['--input-type=module', '-e', code]);
  assert.equal(stderr, '');
  assert.equal(stdout, 'true');
});

test('handles: the garbage collector frees what was forgotten', async () => {
  const code = `
    const { load } = await import('dp-ftrl');
    const dp = await load();
    const options = { numSteps: 4, epsilon: 1, delta: 1e-6 };
    (() => { for (let i = 0; i < 100; ++i) dp.prefixSum(options); })();
    for (let i = 0; i < 200 && dp.liveHandles > 0; ++i) {
      globalThis.gc();
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    process.stdout.write(String(dp.liveHandles));`;
  const { stdout } = await node(['--expose-gc', '--input-type=module', '-e', code]);
  assert.equal(stdout, '0');
});

test('leaks: 10,000 handles come and go on a heap that does not grow', onlyInAll, async () => {
  // Mechanisms that require a search take a second, and allocate in the same way as the others.
  const quick = mechanisms.filter(
    (name) => !['blt', 'blt-normalized', 'blt-scaled'].includes(name),
  );
  const { dp: own, memory } = await loadIntercepted(load, wasm.slice());
  const once = (i) => {
    const mechanism = quick[i % quick.length];
    const sums = own.prefixSum({ mechanism, numSteps: 16, dimension: 8, ...target });
    sums.release(new Float64Array(8));
    sums.dispose();
    if (i % 10 === 0) {
      const people = own.peopleSum({ mechanism: 'tree', numSteps: 4, ...target });
      people.contribute(['a', 'b'], [1, 1]);
      people.endSteps(4);
      people.dispose();
      const learner = own.learner({ strategy: 'tree', steps: 4, dimension: 1, ...target });
      learner.learn([1, 2], [1, 0]);
      learner.dispose();
      const simulation = own.study.simulation({ mechanism, numSteps: 8, ...target });
      simulation.advance(8);
      simulation.dispose();
    }
    // Failures must not leak memory, either.
    assert.throws(() => own.prefixSum({ mechanism: 'tree', numSteps: 4, ...target, grid: 0.3 }));
  };
  for (let i = 0; i < 100; ++i) once(i);
  const before = memory.buffer.byteLength;
  for (let i = 0; i < 10_000; ++i) once(i);
  assert.equal(own.liveHandles, 0);
  assert.equal(memory.buffer.byteLength, before);
});

test('steady state: batches into arrays of the caller allocate no arrays', async () => {
  const code = `
    const { load } = await import('${entryUrl('dp-ftrl')}');
    const dp = await load();
    const target = { mechanism: 'tree', numSteps: 1 << 20, epsilon: 1, delta: 1e-6 };
    const sums = dp.prefixSum({ ...target, dimension: 8 });
    const people = dp.peopleSum({ ...target, dimension: 8 });
    const [records, out] = [new Float64Array(1024), new Float64Array(1024)];
    const loops = {
      releaseMany: () => sums.releaseMany(records, out),
      endSteps: () => sums.endSteps(128, out),
      people: () => people.endSteps(128, out),
      fresh: () => sums.releaseMany(records),
    };
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
  const { fresh, ...grown } = JSON.parse(stdout);
  for (const [name, bytes] of Object.entries(grown)) assert.ok(bytes < 20_000, `${name}: ${bytes}`);
  assert.ok(fresh > 1_000_000, `the check can fail: ${fresh}`);
});

test('messages begin with the method that was called', () => {
  const sums = dp.prefixSum({ ...target, numSteps: 2 });
  const refused = { code: 'invalid_argument' };
  assert.throws(() => sums.release([NaN]), {
    ...refused,
    message: /^release: record\[0\] must be/,
  });
  const second = /^releaseMany: record 1: record\[0\] must be/;
  assert.throws(() => sums.releaseMany([1, NaN]), { ...refused, message: second });
  const first = /^contribute: record 0: record\[0\] must be/;
  assert.throws(() => sums.contribute([NaN]), { ...refused, message: first });
  sums.dispose();
  const large = { ...target, mechanism: 'tree', numSteps: 2, dimension: 2 ** 31 };
  assert.throws(() => dp.prefixSum(large), { message: /^prefixSum: not enough memory/ });
});

test('memory growth between calls: copies stay right, handles go on', async () => {
  const { dp: own, memory } = await loadIntercepted(load, wasm.slice());
  const options = { mechanism: 'honaker', numSteps: 64, dimension: 4, ...target, insecureSeed: 21 };
  const expected = withSums(options, (sums) => sums.releaseMany(new Float64Array(256)));
  const sums = own.prefixSum(options);
  const early = sums.releaseMany(new Float64Array(128));
  const kept = early.slice();

  const before = memory.buffer.byteLength;
  const hungry = own.prefixSum({
    mechanism: 'square-root',
    numSteps: 2 ** 16,
    dimension: 64,
    ...target,
  });
  hungry.release(new Float64Array(64));
  assert.ok(memory.buffer.byteLength > before, 'memory grew');

  assert.deepEqual(early, kept, 'what was handed out is a copy');
  const late = sums.releaseMany(new Float64Array(128));
  assert.deepEqual([...early, ...late], [...expected]);

  // Memory grows within one call, while its input and output are in use.
  const long = Float64Array.from({ length: 1 << 21 }, (_, i) => i % 2);
  const wide = { mechanism: 'tree', numSteps: 1 << 21, ...target, insecureSeed: 2 };
  const inGrowth = own.prefixSum(wide).releaseMany(long);
  assert.deepEqual(
    inGrowth,
    withSums(wide, (it) => it.releaseMany(long)),
  );
});
