// SPDX-License-Identifier: Apache-2.0

// The noise of totals, and the arrays that hold their records.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { namesOf } from './support/mechanisms.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };
const strategies = namesOf(dp);

/** Passes totals to `use` and disposes of them afterwards. */
function withTotals(options, use) {
  const totals = dp.totals({ ...target, dimension: 1, ...options });
  try {
    return use(totals);
  } finally {
    totals.dispose();
  }
}

/** Concatenates the values of readings. */
const valuesOf = (readings) => readings.flatMap(({ values }) => [...values]);
const released = (options, records) =>
  withTotals(options, (totals) => valuesOf(totals.releaseMany(records)));
const noiseOf = (options) =>
  withTotals(options, (totals) => valuesOf(totals.endMany(options.steps)));

test('totals: a seed, as a number or a bigint, determines them, and another gives others', () => {
  for (const strategy of strategies) {
    const options = { strategy, steps: 20, dimension: 2 };
    const first = noiseOf({ ...options, insecureSeed: 7 });
    assert.deepEqual(noiseOf({ ...options, insecureSeed: 7n }), first);
    assert.notDeepEqual(noiseOf({ ...options, insecureSeed: 8 }), first);
  }
  const largest = { steps: 1, insecureSeed: 2n ** 64n - 1n };
  assert.deepEqual(noiseOf(largest), noiseOf(largest));
  const isInsecure = (insecureSeed) =>
    withTotals({ steps: 2, insecureSeed }, ({ insecure }) => insecure);
  assert.deepEqual([0, 0n, undefined].map(isInsecure), [true, true, false]);
});

test('totals: without a seed no two are alike', () => {
  // Five releases of 64 coordinates are equal by chance with probability far below 2^-200.
  const options = { steps: 1, dimension: 64 };
  assert.notDeepEqual(noiseOf(options), noiseOf(options));
});

test('totals: the noise does not depend on the data', () => {
  // With integer records, the difference of two runs with one seed equals the difference of their
  // sums.
  const bits = Float64Array.from({ length: 64 }, (_, i) => Number(i % 3 === 0));
  for (const strategy of strategies) {
    const options = { strategy, steps: 64, insecureSeed: 11 };
    const noise = noiseOf(options);
    const totals = released(options, bits);
    let sum = 0;
    for (let t = 0; t < 64; ++t) assert.equal(totals[t] - noise[t], (sum += bits[t]));
  }
});

test('totals: records are clipped jointly and one by one, and added up', () => {
  const options = { steps: 4, dimension: 2, clip: 1, insecureSeed: 3 };
  const noise = noiseOf(options);
  withTotals(options, (totals) => {
    const near = (value, expected) => assert.ok(Math.abs(value - expected) <= 3 * totals.grid);
    totals.addMany([30, 40, 0, -9, 0.5, 0]);
    const first = totals.end().values;
    near(first[0] - noise[0], 0.6 + 0.5);
    near(first[1] - noise[1], 0.8 - 1);
    const last = valuesOf(totals.endMany(3));
    assert.equal(last[4] - noise[6], first[0] - noise[0]);
  });
});

test('totals: releases are points of the grid', () => {
  const releases = noiseOf({ steps: 32, grid: 0.25, insecureSeed: 1 });
  for (const value of releases) assert.ok(Number.isInteger(value * 4), String(value));
  withTotals({ steps: 4, grid: 2 ** -10 }, ({ grid }) => assert.equal(grid, 2 ** -10));
  withTotals({ steps: 4 }, ({ grid }) => assert.ok(Number.isInteger(Math.log2(grid))));
});

// Noise of 2048 independent coordinates: the sample variance has relative standard deviation
// sqrt(2/2048) = 3.1 %, and the mean of the squares must be within 6 of these. Under the normal
// approximation one check fails by chance with probability 2e-9, and any of the 2 * 9 checks of a
// strategy with 4e-8; the seeds are fixed, so the outcome never varies.
test('totals: the noise has the standard deviation of the certificate', () => {
  const dimension = 2048;
  const steps = 9;
  const tolerance = 6 * Math.sqrt(2 / dimension);
  for (const strategy of strategies) {
    for (const neighbours of ['zero-out', 'replace-one']) {
      const options = { strategy, steps, dimension, neighbours, clip: 2, insecureSeed: 17 };
      withTotals(options, (totals) => {
        const { certificate: it } = totals;
        const stddevs = totals.endMany(steps).map(({ step, values, stddev }) => {
          const ratio = values.reduce((sum, z) => sum + z * z, 0) / dimension / stddev ** 2;
          assert.ok(Math.abs(ratio - 1) < tolerance, `${strategy}, step ${step}: ratio ${ratio}`);
          // The check rejects a standard deviation that is wrong by 2/3 or 3/2.
          for (const wrong of [2 / 3, 3 / 2]) {
            assert.ok(Math.abs(ratio * wrong ** 2 - 1) > tolerance);
          }
          return stddev;
        });
        const distance = neighbours === 'zero-out' ? 1 : 2;
        const largest = it.maxError * it.noiseMultiplier * it.clipNorm * distance;
        close(Math.max(...stddevs), largest, 1e-9);
      });
    }
  }
});

test('totals: several kinds of arrays of numbers are accepted, and others refused', () => {
  const options = { steps: 4, dimension: 2, insecureSeed: 9 };
  const expected = released(options, [1, 0]);
  for (const record of [
    new Float32Array([1, 0]),
    new Int8Array([1, 0]),
    { length: 2, 0: 1, 1: 0 },
  ]) {
    assert.deepEqual(released(options, record), expected);
  }
  withTotals(options, (totals) => {
    for (const [record, message] of [
      [undefined, /record must be an array of numbers, got undefined/],
      [5, /record must be an array of numbers, got number/],
      ['10', /record must be an array of numbers, got string/],
      [['1', 0], /record\[0\] must be a number, got string/],
      [[1, null], /record\[1\] must be a number, got null/],
      [[1, ,], /record\[1\] must be a number, got undefined/],
      [new BigInt64Array(2), /record must be an array of numbers, got BigInt64Array/],
    ]) {
      rejects(() => totals.release(record), TypeError, 'wrong_type', message);
    }
    const three = /records must have a multiple of dimension = 2 entries, got 3/;
    rejects(() => totals.releaseMany([1, 2, 3]), TypeError, 'wrong_length', three);
    assert.equal(totals.step, 0, 'nothing was released');
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

test('totals: arrays that have lost their buffer are refused, and nothing is released', () => {
  withTotals({ steps: 4, dimension: 2, insecureSeed: 9 }, (totals) => {
    const gone = /must be an array with its memory, got one whose buffer was transferred/;
    const [doubles, bytes] = [new Float64Array(2), new Int8Array(2)].map(transferred);
    for (const array of [doubles, bytes, shrunk()]) {
      for (const verb of ['add', 'addMany', 'release', 'releaseBatch', 'releaseMany']) {
        rejects(() => totals[verb](array), TypeError, 'wrong_type', gone);
      }
      const table = { numRows: 1, numColumns: 2, values: array };
      const simulate = () => dp.study.simulation({ steps: 1, ...target, table });
      rejects(simulate, TypeError, 'wrong_type', gone);
    }
    assert.deepEqual([totals.step, totals.waiting], [0, 0]);
    totals.release([1, 0]);
  });
});

test('totals: an array subclass that lies about itself is read by its actual contents', () => {
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
  const options = { steps: 4, dimension: 2, insecureSeed: 9 };
  const expected = released(options, [1, 0, 0, 1]);
  withTotals(options, (totals) => {
    assert.deepEqual(valuesOf(totals.releaseMany(new Liar([1, 0, 0, 1]))), expected);
    const short = /record must have 2 entries, got 4/;
    rejects(() => totals.release(new Liar(4)), TypeError, 'wrong_length', short);
    const { values } = totals.release(new Liar(2));
    assert.equal(Object.getPrototypeOf(values), Float64Array.prototype);
  });
});

test('totals: the records handed over are left alone', () => {
  withTotals({ steps: 4, dimension: 2, insecureSeed: 9 }, (totals) => {
    const records = Float64Array.of(3, 4, 0, 1);
    totals.releaseMany(records);
    totals.release(records.subarray(0, 2));
    assert.deepEqual(records, Float64Array.of(3, 4, 0, 1));
  });
});

test('totals: what does not fit into memory is refused', () => {
  withTotals({ steps: 4 }, (totals) => {
    const message = /: records? must be of a length that memory can hold, got 11258999068/;
    for (const verb of ['release', 'releaseMany']) {
      const call = () => totals[verb]({ length: 2 ** 50 });
      rejects(call, RangeError, 'invalid_argument', message);
    }
  });
  for (const [size, message] of [
    [{ strategy: 'square-root', steps: 2 ** 20, dimension: 2 ** 20 }, /^totals: .* 1 GiB of noise/],
    [{ strategy: 'tree', steps: 2, dimension: 2 ** 31 }, /^totals: not enough memory/],
  ]) {
    const make = () => dp.totals({ ...target, ...size });
    rejects(make, DpError, 'resource_exhausted', message);
  }
  noiseOf({ steps: 2 });
});

test('totals: numbers that no option allows are refused', () => {
  const before = dp.liveHandles;
  for (const [change, message] of [
    [{ dimension: 0 }, /dimension must be .*, got 0/],
    [{ dimension: -1 }, /dimension must be .*, got -1/],
    [{ dimension: 1.5 }, /dimension must be an integer, got 1.5/],
    [{ grid: 0.3 }, /grid must be a power of two, got 0.3/],
    [{ grid: 0 }, /grid must be .*, got 0/],
    [{ grid: -1 }, /grid must be .*, got -1/],
    [{ grid: NaN }, /grid must be .*, got NaN/],
    [{ insecureSeed: -1 }, /insecureSeed must be an integer from 0 to 2\^53 - 1, got -1/],
    [{ insecureSeed: 2 ** 53 }, /insecureSeed must be an integer .*, got 9007199254740992/],
    [{ insecureSeed: 0.5 }, /insecureSeed must be an integer .*, got 0.5/],
    [{ insecureSeed: -1n }, /insecureSeed must be from 0 to 2\^64 - 1, got -1n/],
    [{ insecureSeed: 2n ** 64n }, /insecureSeed must be from .*, got 18446744073709551616n/],
  ]) {
    const make = () => dp.totals({ steps: 4, dimension: 1, ...target, ...change });
    rejects(make, RangeError, 'invalid_argument', message);
  }
  assert.equal(dp.liveHandles, before, 'refused totals leave nothing behind');
});
