// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const key = Uint8Array.from({ length: 32 }, (_, i) => i);
const options = { strategy: 'blt-rational', steps: 40, key };

function withNoise(more, use) {
  const noise = dp.noise({ ...options, ...more });
  try {
    return use(noise);
  } finally {
    noise.dispose();
  }
}

const all = (more, scale = 64) =>
  withNoise(more, (noise) => noise.rounded({ numRows: noise.steps, scale }));

test('noise: shards have the numbers of the whole', () => {
  for (const mechanism of ['tree', 'blt-rational', 'square-root']) {
    const whole = all({ strategy: mechanism, dimension: 10 });
    const left = all({ strategy: mechanism, dimension: 7 });
    const right = all({ strategy: mechanism, dimension: 3, firstCoordinate: 7 });
    const joined = Array.from({ length: 40 }, (_, t) => [
      ...left.subarray(7 * t, 7 * t + 7),
      ...right.subarray(3 * t, 3 * t + 3),
    ]);
    assert.deepEqual(joined.flat(), [...whole]);
  }
});

test('noise: rows do not depend on how many are asked for at once, nor on where they go', () => {
  for (const place of [
    { dimension: 3 },
    { dimension: 300 },
    { dimension: 300, increments: true },
  ]) {
    const { dimension } = place;
    const whole = all(place);
    withNoise(place, (noise) => {
      for (let step = 0; step < 16; step++) {
        const row = noise.rounded({ numRows: 1, scale: 64 });
        assert.deepEqual(row, whole.slice(step * dimension, (step + 1) * dimension));
      }
      const out = new Float64Array(24 * dimension);
      assert.equal(noise.rounded({ numRows: 24, scale: 64 }, out), out);
      assert.deepEqual(out, whole.slice(16 * dimension));
    });
  }
});

test('noise: seeking changes no number', () => {
  const whole = all({});
  withNoise({}, (noise) => {
    for (const step of [30, 7, 8, 39, 0]) {
      noise.seek(step);
      assert.equal(noise.step, step);
      assert.equal(noise.rounded({ numRows: 1, scale: 64 })[0], whole[step]);
    }
  });
});

test('noise: a stream continues from a checkpoint, and a damaged checkpoint is refused', () => {
  const whole = all({});
  const bytes = withNoise({}, (noise) => {
    noise.rounded({ numRows: 11, scale: 64 });
    return noise.checkpoint();
  });
  withNoise({}, (noise) => {
    noise.restore(bytes);
    assert.deepEqual(noise.rounded({ numRows: 29, scale: 64 }), whole.slice(11));
    bytes[70] ^= 1;
    rejects(() => noise.restore(bytes), DpError, 'bad_state', /must have its own checksum/);
  });
});

test('noise: increments of few bands add up to the noise of sums, and need no state', () => {
  for (const mechanism of ['independent', 'lambda-cgd', 'banded-inverse-square-root']) {
    const sums = all({ strategy: mechanism, dimension: 3 }, 2 ** 20);
    const increments = all({ strategy: mechanism, dimension: 3, increments: true }, 2 ** 20);
    const total = [0, 0, 0];
    increments.forEach((x, i) => {
      total[i % 3] += x;
      assert.ok(Math.abs(total[i % 3] - sums[i]) <= i / 3 + 1, `${mechanism}, entry ${i}`);
    });
    withNoise({ strategy: mechanism, increments: true }, (noise) => {
      noise.seek(39);
      assert.equal(noise.checkpoint().length, 64);
    });
  }
  assert.throws(() => dp.noise({ ...options, increments: 1 }), /increments must be a boolean, got/);
});

const fewBands = ['independent', 'lambda-cgd', 'banded-inverse-square-root'];
const others = dp.strategies.filter(({ name }) => !fewBands.includes(name));

test('noise: increments of every mechanism add up to the rows of totals bit for bit', () => {
  for (const { name: mechanism } of others) {
    const sums = all({ strategy: mechanism, dimension: 3 }, 2 ** 20);
    const added = all({ strategy: mechanism, dimension: 3, increments: true }, 2 ** 20);
    for (let i = 3; i < added.length; i++) added[i] += added[i - 3];
    assert.deepEqual(added, sums, mechanism);
  }
  const momentum = { ...options, strategy: 'tree', workload: { momentum: 0.9 }, increments: true };
  rejects(() => dp.noise(momentum), DpError, 'unsupported', /strategy must be one for prefix sums/);
});

test('noise: increments are the same after seeking and after a checkpoint', () => {
  for (const { name: mechanism } of others) {
    const place = { strategy: mechanism, dimension: 2, increments: true };
    const whole = all(place);
    withNoise(place, (noise) => {
      for (const step of [30, 7, 8, 39, 0, 20]) {
        noise.seek(step);
        const row = noise.rounded({ numRows: 1, scale: 64 });
        assert.deepEqual(row, whole.slice(2 * step, 2 * step + 2), mechanism);
      }
      withNoise(place, (other) => {
        other.restore(noise.checkpoint());
        assert.equal(other.step, 21);
        assert.deepEqual(other.rounded({ numRows: 19, scale: 64 }), whole.slice(42), mechanism);
      });
    });
  }
});

test('noise: a privacy target is for streams', () => {
  rejects(
    () => dp.noise({ ...options, increments: true, epsilon: 1, delta: 1e-6 }),
    TypeError,
    'wrong_type',
    /epsilon is an unknown option/,
  );
});

// Checkpoints recorded by a native build: tests/cpp/noise/checkpoint_test.cpp.
const native = [
  [
    'tree',
    '647066630100010011000000000000001100000000000000821cfd18c541fa0da6cd37089a710275' +
      '4380cef22fddf051751f59b11014e8ad0d6495a284331e3b',
  ],
  [
    { name: 'blt', decays: [0.875, 0.5], weights: [0.25, 0.375] },
    '647066630100010011000000000000001100000000000000ef0618c62ab35ec0b3fda07c1c26526c' +
      '4380cef22fddf051751f59b11014e8ad69041a23300912ea46c22d30f86be93f60e83547cc00acbf' +
      '1a1a8cad2f55f63f2a133f295346c13f08241ab33c14dbbf98b2c50965f2e53f',
  ],
];

const bytesOf = (hex) => Uint8Array.from(hex.match(/../g), (pair) => Number.parseInt(pair, 16));

test('noise: checkpoints are those of a native build, and can be restored', () => {
  for (const [strategy, hex] of native) {
    const place = { dimension: 2, firstCoordinate: 2, key: undefined, insecureSeed: 5 };
    const wanted = { numRows: 40 - 17, scale: 64 };
    withNoise({ strategy, ...place }, (walked) => {
      walked.rounded({ numRows: 17, scale: 64 });
      assert.deepEqual(walked.checkpoint(), bytesOf(hex));
      const rest = walked.rounded(wanted);
      withNoise({ strategy, ...place }, (resumed) => {
        resumed.restore(bytesOf(hex));
        assert.equal(resumed.step, 17);
        assert.deepEqual(resumed.rounded(wanted), rest);
      });
    });
  }
});

test('noise: rows are exactly rounded at every scale', () => {
  // Rounding twice equals rounding once except within 2^-21 of a boundary, and no value here is
  // that close.
  const fine = all({}, 2 ** 20);
  const coarse = all({}, 1);
  fine.forEach((value, i) => assert.equal(Math.floor(value / 2 ** 20 + 0.5), coarse[i]));
});

test('noise: bad options are refused', () => {
  const make = (more) => () => withNoise(more, () => {});
  rejects(make({ key: new Uint8Array(31) }), TypeError, 'wrong_length', /32 bytes, got 31/);
  rejects(make({ key: new Uint8Array(32) }), RangeError, 'invalid_argument', /key .* got zeros/);
  rejects(make({ key: 'secret' }), TypeError, 'wrong_type', /key must be a Uint8Array/);
  rejects(
    make({ insecureSeed: 1 }),
    TypeError,
    'wrong_type',
    /key must be given, or else insecureSeed, and only one of them, got both/,
  );
  rejects(make({ firstCoordinate: -1 }), RangeError, 'invalid_argument', /firstCoordinate/);
  withNoise({}, (noise) => {
    const rows = (numRows, scale) => () => noise.rounded({ numRows, scale });
    rejects(rows(41, 1), RangeError, 'invalid_argument', /numRows must be .* 0 to 40, got 41/);
    const into = (out) => () => noise.rounded({ numRows: 2, scale: 1 }, out);
    rejects(into(new Float64Array(1)), TypeError, 'wrong_length', /out must have 2 entries, got 1/);
    rejects(into(new Float32Array(2)), TypeError, 'wrong_type', /out must be a Float64Array/);
    rejects(
      () => noise.rounded({ numRows: 2, scale: 1, out: [] }),
      TypeError,
      'wrong_type',
      /out is an unknown option/,
    );
    const huge = { numRows: 40, scale: 2 ** 40 };
    assert.ok(noise.rounded(huge).every(Number.isSafeInteger));
    noise.seek(0);
    rejects(rows(1, NaN), RangeError, 'invalid_argument', /scale must be between 0 and 2\^40/);
    rejects(() => noise.seek(41), RangeError, 'invalid_argument', /step must be .* 0 to 40/);
    rejects(() => noise.restore([1]), TypeError, 'wrong_type', /bytes must be a Uint8Array/);
  });
  assert.equal(dp.liveHandles, 0);
});
