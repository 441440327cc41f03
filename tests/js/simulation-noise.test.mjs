// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const ARRAYS = { float32: Float32Array, float64: Float64Array };
const PRECISIONS = Object.keys(ARRAYS);
const NUM_STEPS = 40;
const options = { strategy: 'blt', steps: NUM_STEPS, seed: 3 };

function withRows(more, use) {
  const noise = dp.study.noise({ ...options, ...more });
  try {
    return use(noise);
  } finally {
    noise.dispose();
  }
}

const all = (more) => withRows(more, (noise) => noise.next(noise.steps));

/** Reads every row by a separate call. */
const oneByOne = (more) =>
  withRows(more, (noise) => {
    const rows = Array.from({ length: noise.steps }, () => [...noise.next(1)]);
    return ARRAYS[more.precision].from(rows.flat());
  });

test('study.noise: rows do not depend on how many are asked for at once', () => {
  const mechanisms = dp.strategies.map(({ name }) => name);
  assert.ok(mechanisms.length > 20);
  for (const mechanism of some(mechanisms, 3)) {
    for (const precision of PRECISIONS) {
      // Narrow rows, rows of a few tiles, and a width at which pieces of 4096 numbers end mid-row.
      for (const dimension of [1, 3, 300]) {
        const place = { strategy: mechanism, precision, dimension };
        const wanted = oneByOne(place);
        assert.ok(wanted.some((x) => x !== 0) && wanted.every(Number.isFinite));
        assert.deepEqual(all(place), wanted, `${mechanism}, ${precision}, ${dimension}`);
        withRows(place, (noise) => {
          const out = new ARRAYS[precision](17 * dimension);
          noise.next(2, out.subarray(0, 2 * dimension));
          assert.equal(noise.next(17, out), out);
          assert.deepEqual(out, wanted.slice(2 * dimension, 19 * dimension), mechanism);
        });
      }
    }
  }
});

test('study.noise: many short rows are the same when read at once or one by one', () => {
  for (const precision of PRECISIONS) {
    const place = { strategy: 'tree', steps: 9000, precision };
    assert.deepEqual(all(place), oneByOne(place));
  }
});

test('study.noise: doubles round to the numbers of noise with the same seed', () => {
  for (const mechanism of ['blt', 'tree', 'optimal', 'square-root']) {
    const rows = all({ strategy: mechanism, precision: 'float64', dimension: 90 });
    const noise = dp.noise({
      strategy: mechanism,
      steps: NUM_STEPS,
      dimension: 90,
      insecureSeed: 3,
    });
    // No entry is within 2^-40 of a boundary.
    const rounded = noise.rounded({ numRows: NUM_STEPS, scale: 1024 });
    assert.deepEqual(
      rows.map((x) => Math.floor(1024 * x + 0.5)),
      rounded,
      mechanism,
    );
    noise.dispose();
  }
});

test('study.noise: rows of both precisions have the covariance of the mechanism', () => {
  const dimension = 4096;
  // Each variance has a relative standard error of sqrt(2 / 4096) = 2.2 %. Seven of these give a
  // false alarm below 1e-9.
  const tolerance = 0.155;
  const { decoder } = dp.error({ strategy: 'blt', steps: NUM_STEPS, matrices: true }).matrices;
  const rowOf = (step) => decoder.subarray(step * NUM_STEPS, (step + 1) * NUM_STEPS);
  const covariance = (s, t) => rowOf(s).reduce((sum, x, i) => sum + x * rowOf(t)[i], 0);
  for (const precision of PRECISIONS) {
    const rows = all({ dimension, precision });
    const worst = (factor) =>
      Math.max(
        ...Array.from({ length: NUM_STEPS }, (_, step) => {
          const row = rows.subarray(step * dimension, (step + 1) * dimension);
          const variance = row.reduce((sum, x) => sum + (factor * x) ** 2, 0) / dimension;
          return Math.abs(variance / covariance(step, step) - 1);
        }),
      );
    assert.ok(worst(1) < tolerance, `${precision}: ${worst(1)}`);
    assert.ok(worst(2 / 3) > tolerance && worst(3 / 2) > tolerance, 'a wrong scale is noticed');
    const first = rows.subarray(0, dimension);
    const next = rows.subarray(dimension, 2 * dimension);
    const both = first.reduce((sum, x, i) => sum + x * next[i], 0) / dimension;
    assert.ok(Math.abs(both / covariance(0, 1) - 1) < 2 * tolerance, `${both}`);
  }
});

test('study.noise: each precision gives different numbers', () => {
  const floats = all({ dimension: 70 });
  const doubles = all({ precision: 'float64', dimension: 70 });
  assert.ok(floats.filter((x, i) => Math.abs(x - doubles[i]) < 1e-3).length < 30);
});

test('study.noise: shards with a seed have the numbers of the whole, and seeks change none', () => {
  for (const precision of PRECISIONS) {
    const whole = all({ precision, dimension: 100 });
    const right = { precision, dimension: 37, firstCoordinate: 63 };
    withRows(right, (noise) => {
      for (const step of [30, 7, 8, 39, 0]) {
        noise.seek(step);
        assert.equal(noise.step, step);
        assert.deepEqual(noise.next(1), whole.slice(100 * step + 63, 100 * step + 100));
      }
    });
  }
});

test('study.noise: without a seed every stream is different', () => {
  assert.deepEqual(all({ seed: 4n }), all({ seed: 4 }));
  assert.notDeepEqual(all({ seed: 4 }), all({}));
  assert.notDeepEqual(all({ seed: undefined }), all({ seed: undefined }));
});

test('study.noise: next(0) gives an empty array, and bad arguments change nothing', () => {
  for (const precision of PRECISIONS) {
    withRows({ precision, dimension: 2 }, (noise) => {
      const Rows = ARRAYS[precision];
      const Other = precision === 'float32' ? Float64Array : Float32Array;
      assert.deepEqual(noise.next(0), new Rows(0));
      assert.deepEqual(noise.next(0, new Rows(0)), new Rows(0));
      noise.next(38);
      const refused = (args, Kind, code, message) =>
        rejects(() => noise.next(...args), Kind, code, message);
      for (const numRows of [3, -1, 0.5, NaN, Infinity]) {
        refused(
          [numRows],
          RangeError,
          'invalid_argument',
          /next: numRows must be an integer from 0 to 2/,
        );
      }
      refused([], TypeError, 'wrong_type', /numRows must be a number, got undefined/);
      refused(['1'], TypeError, 'wrong_type', /numRows must be a number/);
      for (const length of [0, 1, 3, 4]) {
        refused(
          [1, new Rows(length)],
          TypeError,
          'wrong_length',
          RegExp(`out must have 2 entries, got ${length}`),
        );
      }
      refused([1, new Other(2)], TypeError, 'wrong_type', RegExp(`out must be a ${Rows.name}`));
      refused([1, [0, 0]], TypeError, 'wrong_type', RegExp(`out must be a ${Rows.name}`));
      const gone = new Rows(2);
      structuredClone(gone.buffer, { transfer: [gone.buffer] });
      refused([1, gone], TypeError, 'wrong_type', /out must be an array with its memory/);
      assert.equal(noise.step, 38);
      assert.deepEqual(noise.next(2), all({ precision, dimension: 2 }).slice(76));
      refused([1], RangeError, 'invalid_argument', /from 0 to 0, got 1/);
      rejects(
        () => noise.seek(41),
        RangeError,
        'invalid_argument',
        /step must be .* 0 to 40, got 41/,
      );
      rejects(() => noise.seek(NaN), RangeError, 'invalid_argument', /step must be an integer/);
    });
  }
  const noise = dp.study.noise(options);
  noise.dispose();
  rejects(() => noise.next(1), DpError, 'disposed', /this simulation noise was disposed of/);
  assert.equal(dp.liveHandles, 0);
});

test('study.noise: a subclass cannot change what is written, nor where', () => {
  class Odd extends Float32Array {
    get length() {
      return 1000;
    }
    get buffer() {
      return new ArrayBuffer(4000);
    }
    set() {
      throw new Error('the instance would be lost');
    }
  }
  const out = new Odd(new ArrayBuffer(24), 8, 3);
  withRows({ dimension: 3 }, (noise) => noise.next(1, out));
  const written = Array.from({ length: 3 }, (_, i) => out[i]);
  assert.deepEqual(written, [...all({ dimension: 3 }).slice(0, 3)]);
});

test('study.noise: what belongs to a release is refused, and so are bad options', () => {
  const make = (more) => () => withRows(more, () => {});
  const key = new Uint8Array(32).fill(1);
  for (const [name, value] of Object.entries({ epsilon: 1, delta: 1e-6, clip: 1, key })) {
    const message = RegExp(
      `${name} must be left out: noise in floating point makes no release private`,
    );
    rejects(make({ [name]: value }), RangeError, 'invalid_argument', message);
  }
  rejects(
    make({ insecureSeed: 1 }),
    TypeError,
    'wrong_type',
    /insecureSeed is an unknown option; known are (?!.*epsilon)/,
  );
  rejects(
    make({ precision: 'float16' }),
    RangeError,
    'invalid_argument',
    /precision must be one of float32, float64/,
  );
  for (const dimension of [0, -1, NaN, 2 ** 60]) {
    rejects(make({ dimension }), RangeError, 'invalid_argument', /noise: dimension must be/);
  }
  rejects(make({ firstCoordinate: -1 }), RangeError, 'invalid_argument', /firstCoordinate/);
  rejects(make({ steps: 0 }), RangeError, 'invalid_argument', /steps/);
  rejects(make({ seed: -1 }), RangeError, 'invalid_argument', /seed must be/);
  rejects(
    make({ strategy: 'gaussian' }),
    RangeError,
    'invalid_argument',
    /strategy must be one of/,
  );
  rejects(() => dp.study.noise(), TypeError, 'wrong_type', /options must be an object/);
  assert.equal(dp.liveHandles, 0);
});

test('study.noise: streams, budgets and optimisers take none of it', async () => {
  const noise = dp.study.noise(options);
  const target = { steps: 4, epsilon: 1, delta: 1e-6, noise };
  const store = { load: async () => undefined, save: async () => {}, close: async () => {} };
  const unknown = { code: 'wrong_type', parameter: 'noise' };
  for (const more of [{}, { people: 'once' }]) {
    assert.throws(() => dp.counter({ ...target, ...more }), unknown);
    await assert.rejects(dp.counter({ ...target, ...more, store }), unknown);
  }
  const search = { strategy: 'blt', steps: 4, noise };
  rejects(
    () => dp.optimize(search).result(),
    TypeError,
    'wrong_type',
    /noise is an unknown option/,
  );
  const budget = dp.budget({ epsilon: 1, delta: 1e-6 });
  rejects(() => budget.charge('it', noise), TypeError, 'wrong_type', /cost must have mu, rho, or/);
  for (const name of ['rounded', 'checkpoint', 'certificate', 'grid']) {
    assert.equal(noise[name], undefined, name);
  }
  noise.dispose();
});
