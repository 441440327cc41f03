// SPDX-License-Identifier: Apache-2.0

// Factorizations by the caller's own encoder C, with B = A C^-1.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import golden from '../golden/encoders.json' with { type: 'json' };
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };

/** Uniform numbers from 0 to 1, the same in every run. */
function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state * 48271) % 2147483647;
    return state / 2147483647;
  };
}

/** Lower-triangular rows of full length; entries fade so that C stays far from singular. */
function randomEncoder(size, seed, least = -0.5) {
  const next = randomNumbers(seed);
  return Array.from({ length: size }, (_, i) =>
    Array.from({ length: size }, (_, j) => {
      if (j > i) return 0;
      return i === j ? 0.5 + next() : (least + next()) / (i - j + 1);
    }),
  );
}

/** B = A C^-1 by back substitution along each row. */
function decoderOf(workload, encoder) {
  return workload.map((sums) => {
    const row = new Array(sums.length).fill(0);
    for (let j = sums.length - 1; j >= 0; --j) {
      let rest = sums[j];
      for (let k = j + 1; k < sums.length; ++k) rest -= row[k] * encoder[k][j];
      row[j] = rest / encoder[j][j];
    }
    return row;
  });
}

const sumOfSquares = (values) => values.reduce((sum, value) => sum + value * value, 0);
const prefixSums = (size) =>
  Array.from({ length: size }, (_, i) => Array.from({ length: size }, (_, j) => Number(j <= i)));
const columnOf = (rows, j) => rows.map((row) => row[j]);

/** The encoders of tests/reference/encoder_oracle.py. */
function oracleEncoder(size, seed) {
  let state = seed;
  const next = () => {
    state = (state * 48271) % 2147483647;
    return state % 1025;
  };
  const entry = (i, j) => (i === j ? (next() + 512) / 1024 : (next() - 512) / 4096);
  return Array.from({ length: size }, (_, i) =>
    Array.from({ length: i + 1 }, (_, j) => entry(i, j)),
  );
}

const ORACLE = golden.encoders;

test('encoder: sensitivity and errors are those of an independent program', () => {
  assert.deepEqual([...new Set(ORACLE.map(({ num_steps: steps }) => steps))], [1, 4, 64, 256]);
  for (const { num_steps: steps, seed, width, increments, ...errors } of ORACLE) {
    const strategy = { encoder: oracleEncoder(steps, seed) };
    const found = dp.error({ strategy, steps, workload: { window: width } });
    const names = { sensitivity: 'sensitivity', maxError: 'max_error', meanError: 'mean_error' };
    for (const [name, wanted] of Object.entries(names)) close(found[name], errors[wanted], 1e-11);
    assert.equal(found.sensitivityExactness, 'exact');
    assert.deepEqual(found.effectiveParameters, { bands: steps });
    assert.ok(found.decoderResidual < 1e-9, `${found.decoderResidual}`);
    if (width < steps) continue;
    const { increments: all } = dp.error({ strategy, steps, increments: true });
    const some = [0, Math.floor(steps / 2), steps - 1].map((step) => all[step]);
    for (const [i, value] of some.entries()) close(value, increments[i], 1e-11);
  }
});

test('encoder: with epochs and C >= 0 the sensitivity is that of the sum of two columns', () => {
  const steps = 64;
  const encoder = randomEncoder(steps, 9, 0);
  const phases = Array.from({ length: 32 }, (_, j) =>
    Math.sqrt(sumOfSquares(encoder.map((row) => row[j] + row[j + 32]))),
  );
  const found = dp.error({ strategy: { encoder }, steps, participation: { epochs: 2 } });
  close(found.sensitivity, Math.max(...phases), 1e-9);
  assert.equal(found.sensitivityExactness, 'exact');
});

test('encoder: typed rows, and rows that end at the diagonal, are the same', () => {
  const encoder = randomEncoder(4, 1);
  const whole = dp.error({ strategy: { encoder }, steps: 4 });
  for (const rows of [
    encoder.map((row) => Float64Array.from(row)),
    encoder.map((row, i) => row.slice(0, i + 1)),
  ])
    assert.deepEqual(dp.error({ strategy: { encoder: rows }, steps: 4 }), whole);
});

test('encoder: compare, certificate, noise and learners take it', () => {
  const encoder = randomEncoder(4, 1);
  const strategy = { encoder };
  const { sensitivity, maxError, meanError } = dp.error({ strategy, steps: 4 });
  const row = dp
    .compare({ strategies: [strategy], steps: 4 })
    .result()
    .mechanisms.find(({ saved }) => saved);
  assert.deepEqual(
    [row.sensitivity, row.maxError, row.meanError],
    [sensitivity, maxError, meanError],
  );
  const noise = dp.noise({ strategy, steps: 4, dimension: 1, insecureSeed: 5 });
  const plain = dp.noise({ strategy: 'output', steps: 4, dimension: 1, insecureSeed: 5 });
  const decoder = decoderOf(prefixSums(4), encoder);
  const learner = dp.learner({ strategy, steps: 4, dimension: 2, lambda: 1, ...target });
  const certificates = [dp.certificate({ strategy, steps: 4, ...target }), learner.certificate];
  for (const certificate of certificates) {
    assert.equal(certificate.sensitivity, sensitivity);
    assert.equal(certificate.maxError, maxError);
  }
  // The noise of output perturbation is Z itself; that of the encoder is B Z.
  const scale = 2 ** 36;
  const [own, z] = [noise, plain].map((it) => it.rounded({ numRows: 4, scale }));
  for (const [t, row] of decoder.entries()) {
    const wanted = row.reduce((sum, it, j) => sum + it * z[j], 0);
    assert.ok(Math.abs(own[t] - wanted) < 8, `${own[t]} ${wanted}`);
  }
  for (const it of [noise, plain, learner]) it.dispose();
});

/** Noise of all steps, each with one independent number per dimension, and its deviation. */
function noiseOf(encoder, dimension) {
  const steps = encoder.length;
  const options = { strategy: { encoder }, steps, dimension, ...target, insecureSeed: 17 };
  const totals = dp.totals(options);
  const zeros = new Float64Array(dimension);
  const rows = encoder.map(() => Array.from(totals.release(zeros).values));
  const { noiseStddev } = totals.certificate;
  totals.dispose();
  return { rows, noiseStddev };
}

function dot(a, b) {
  let sum = 0;
  for (let i = 0; i < a.length; ++i) sum += a[i] * b[i];
  return sum;
}

/**
 * Largest distance, in standard deviations, of the sample covariance of single steps, the
 * differences of the totals, from that of C^-1 Z: (C^T C)^-1 times a variance.
 */
function distanceFrom(encoder, { rows, noiseStddev }) {
  const steps = rows.map((row, t) =>
    Float64Array.from(row, (it, k) => it - (t === 0 ? 0 : rows[t - 1][k])),
  );
  const unit = encoder.map((_, i) => encoder.map((_, j) => Number(i === j)));
  const inverse = decoderOf(unit, encoder).map((row) => Float64Array.from(row));
  const covariance = inverse.map((a) => inverse.map((b) => noiseStddev ** 2 * dot(a, b)));
  let most = 0;
  for (const [i, a] of steps.entries()) {
    for (let j = 0; j <= i; ++j) {
      const variance = covariance[i][i] * covariance[j][j] + covariance[i][j] ** 2;
      const error = dot(a, steps[j]) / a.length - covariance[i][j];
      most = Math.max(most, Math.abs(error) / Math.sqrt(variance / a.length));
    }
  }
  return most;
}

// The probability that one of 10, 2080 and 32,896 entries is beyond 5, 6 and 6.5 standard
// deviations is 2e-5, with a factor of 2 for the tails of sums of products.
test('encoder: the covariance of the released noise is that of C, and of no other C', () => {
  for (const [steps, seed, dimension, limit] of [
    [4, 1, 20000, 5],
    [64, 2, 4000, 6],
    [256, 3, 2000, 6.5],
  ]) {
    const encoder = oracleEncoder(steps, seed);
    const noise = noiseOf(encoder, dimension);
    const distance = distanceFrom(encoder, noise);
    assert.ok(distance < limit, `${steps}: ${distance}`);
    const others = [
      oracleEncoder(steps, seed + 7),
      prefixSums(steps),
      encoder.map((row) => row.map((it) => it * 1.1)),
    ];
    for (const other of others) assert.ok(distanceFrom(other, noise) > limit);
  }
});

test('encoder: a seed repeats the releases, and other signs of a row of C change them', () => {
  const encoder = randomEncoder(4, 1);
  assert.deepEqual(noiseOf(encoder, 3), noiseOf(encoder, 3));
  const other = encoder.map((row, i) => row.map((it, j) => (i === j ? it : -it)));
  assert.notDeepEqual(noiseOf(encoder, 3), noiseOf(other, 3));
});

test('encoder: a stored stream goes on with the same C, and with no other one', async () => {
  const encoder = randomEncoder(6, 4);
  const open = (store, strategy) =>
    dp.counter({ strategy, steps: 6, ...target, store, insecureSeed: 3 });
  const whole = dp.counter({ strategy: { encoder }, steps: 6, ...target, insecureSeed: 3 });
  const wanted = whole.releaseMany([1, 1, 1, 1, 1, 1]).map(({ value }) => value);
  const store = memoryStore();
  const first = await open(store, { encoder });
  const values = [await first.release(1), await first.release(1)].map(({ value }) => value);
  await first.dispose();
  const other = encoder.map((row) => row.map((it) => 2 * it));
  await assert.rejects(
    async () => open(store, { encoder: other }),
    (error) => error.code === 'other_options' && error.parameter === 'strategy',
  );
  const second = await open(store, { encoder });
  for (let step = 2; step < 6; ++step) values.push((await second.release(1)).value);
  await second.dispose();
  whole.dispose();
  assert.deepEqual(values, wanted);
});

const BAD = [
  [
    [
      [1, 0.1],
      [0, 1],
    ],
    RangeError,
    'invalid_argument',
    /strategy\.encoder\[0\]\[1\] must be 0, as it is above the diagonal of a stream, got 0\.1$/,
  ],
  [
    [[1], [1, 0]],
    RangeError,
    'invalid_argument',
    /strategy\.encoder\[1\]\[1\] must be positive, as it is on the diagonal, got 0$/,
  ],
  [
    [[1], [1, -2]],
    RangeError,
    'invalid_argument',
    /strategy\.encoder\[1\]\[1\] must be positive, .*; change the signs of its whole row, got -2$/,
  ],
  [
    [[1], [NaN, 1]],
    RangeError,
    'invalid_argument',
    /strategy\.encoder\[1\]\[0\] must be finite, got NaN$/,
  ],
  [
    [[1], [1, Infinity]],
    RangeError,
    'invalid_argument',
    /strategy\.encoder\[1\]\[1\] must be finite, got Infinity$/,
  ],
  [[], TypeError, 'wrong_length', /strategy\.encoder must have 1 to 2048 rows, got 0 rows$/],
  [
    new Array(2049).fill([1]),
    TypeError,
    'wrong_length',
    /strategy\.encoder must have 1 to 2048 rows, got 2049 rows$/,
  ],
  [[[1]], TypeError, 'wrong_length', /strategy\.encoder must have 2 rows, one per step, got 1$/],
  [
    [[1], [1, 1, 1]],
    TypeError,
    'wrong_length',
    /\[1\] must have 2 numbers, as C is square for streams; linear queries .* as measure, got 3$/,
  ],
  [
    [
      [1, 0, 0],
      [1, 1, 0],
    ],
    TypeError,
    'wrong_length',
    /strategy\.encoder\[0\] must have 1 or 2 numbers, as C is square .* as measure, got 3$/,
  ],
  ['C.csv', TypeError, 'wrong_type', /strategy\.encoder must be an array of rows, got string/],
  [[1, 2], TypeError, 'wrong_type', /strategy\.encoder\[0\] must be an array of numbers, got/],
  [[['1'], [1, 1]], TypeError, 'wrong_type', /strategy\.encoder\[0\]\[0\] must be a number, got/],
  [
    [[1], [1, 1e-100]],
    Error,
    'unsupported',
    /^error: strategy\.encoder must be far enough from singular for double precision$/,
  ],
];

test('encoder: what is not an encoder is refused in one sentence that names the place', () => {
  for (const [encoder, Kind, code, message] of BAD)
    rejects(() => dp.error({ strategy: { encoder }, steps: 2 }), Kind, code, message);
  const good = { encoder: [[1], [1, 1]] };
  const [singular] = BAD.at(-1);
  for (const [encoder, message] of [
    [singular, /^compare: strategies\[1\]\.encoder must be far enough from singular/],
    [[[1]], /^compare: strategies\[1\]\.encoder must have 2 rows, one per step, got 1$/],
  ]) {
    const compare = () => dp.compare({ steps: 2, strategies: [good, { encoder }] }).result();
    assert.throws(compare, { message });
  }
  const saved = dp.optimize({ steps: 2, strategy: 'banded' }).result();
  saved.parameters.columns = [1, 1, 1e-100, 0];
  assert.throws(() => dp.error({ strategy: saved, steps: 2 }), { message: /^error: banded: / });
});

test('encoder: parameters and a delta of 0 do not go with it', () => {
  const encoder = [[1], [1, 1]];
  const error = (strategy) => () => dp.error({ strategy, steps: 2 });
  rejects(
    error({ encoder, bands: 1 }),
    TypeError,
    'wrong_type',
    /strategy: bands is an unknown option; known are encoder, decoder$/,
  );
  rejects(
    () => dp.counter({ strategy: { encoder }, steps: 2, epsilon: 1, delta: 0 }),
    RangeError,
    'invalid_argument',
    /strategy must be a name with delta = 0, got "an encoder"$/,
  );
});

/** A of every kind of workload, from the core. */
function workloadsOf(steps) {
  const rates = Array.from({ length: steps }, (_, i) => 1 / (i + 1));
  const matrix = randomEncoder(steps, 21).flat();
  return [
    'prefix',
    { window: 3 },
    { momentum: 0.5, decay: 0.75 },
    { rates, momentum: 0.25 },
    { matrix },
  ].map((workload) => {
    const options = { strategy: 'independent', steps, workload, matrices: true };
    const { decoder } = dp.error(options).matrices;
    const rows = Array.from({ length: steps }, (_, i) => decoder.slice(i * steps, (i + 1) * steps));
    return { workload, rows: rows.map((row) => Array.from(row)) };
  });
}

test('decoder: A C^-1 is accepted for every workload, and changes nothing', async () => {
  for (const steps of [1, 2, 7, 64]) {
    const encoder = randomEncoder(steps, 3);
    for (const { workload, rows } of workloadsOf(steps)) {
      const decoder = decoderOf(rows, encoder);
      const problem = { steps, workload };
      const plain = dp.error({ ...problem, strategy: { encoder } });
      const triangle = decoder.map((row, i) => row.slice(0, i + 1));
      const rounded = decoder.map((row) => row.map((it) => Number(it.toPrecision(7))));
      for (const given of [decoder, triangle, rounded])
        assert.deepEqual(dp.error({ ...problem, strategy: { encoder, decoder: given } }), plain);
    }
  }
  const encoder = randomEncoder(4, 1);
  const decoder = decoderOf(prefixSums(4), encoder);
  const rows = dp.compare({ strategies: [{ encoder, decoder }], steps: 4 }).result().mechanisms;
  assert.equal(rows.filter(({ saved }) => saved).length, 1);
  const store = memoryStore();
  for (const strategy of [{ encoder, decoder }, { encoder }]) {
    const stream = await dp.counter({ strategy, steps: 4, ...target, store, insecureSeed: 3 });
    await stream.release(1);
    await stream.dispose();
  }
});

/** A number as an integer in units of 2^-200; exact for multiples of 2^-200. */
const exact = (value) => BigInt(value * 2 ** 200);
const magnitude = (it) => (it < 0n ? -it : it);

/**
 * Largest ratio of |B C - A| to the bound that is promised for an accepted B, computed without
 * rounding.
 */
function residualRatio(decoder, encoder, rows) {
  const n = rows.length;
  let most = 0;
  for (const [t, row] of rows.entries()) {
    const size = Math.max(...decoder[t].map(Math.abs));
    for (let j = 0; j <= t; ++j) {
      let residual = -(exact(row[j]) << 200n);
      let [bound, rounding] = [0, 0];
      for (let k = j; k <= t; ++k) {
        residual += exact(decoder[t][k]) * exact(encoder[k][j]);
        bound += 1.00001e-6 * size * Math.abs(encoder[k][j]);
        rounding += Math.abs(decoder[t][k] * encoder[k][j]) + size * 1e-6 * Math.abs(encoder[k][j]);
      }
      const allowed = BigInt(Math.ceil((bound + 2 * n * 2 ** -53 * rounding) * 2 ** 400));
      const ratio = Number((magnitude(residual) * 2n ** 40n) / (allowed + 1n)) / 2 ** 40;
      most = Math.max(most, ratio);
    }
  }
  return most;
}

test('decoder: what is accepted has the residual that is proved', () => {
  const steps = 12;
  const next = randomNumbers(77);
  const counts = { accepted: 0, refused: 0, beyond: 0 };
  const isAccepted = (strategy, workload) => {
    try {
      dp.error({ steps, workload, strategy });
      return true;
    } catch (error) {
      assert.match(error.message, /strategy\.decoder\[\d+\]\[\d+\] must be .*as B is A C\^-1/);
      return false;
    }
  };
  for (const { workload, rows } of workloadsOf(steps)) {
    // A smaller diagonal is closer to singular: condition up to 1e12.
    for (const diagonal of [1, 0.3, 0.1]) {
      const encoder = randomEncoder(steps, 5).map((row, i) =>
        row.map((it, j) => (i === j ? diagonal * it : it)),
      );
      const right = decoderOf(rows, encoder);
      for (const size of [0, 1e-9, 5e-7, 2e-6, 1e-3]) {
        const t = Math.floor(next() * steps);
        const j = Math.floor(next() * (t + 1));
        const decoder = right.map((row) => [...row]);
        decoder[t][j] += size * Math.max(...right[t].map(Math.abs));
        const accepted = isAccepted({ encoder, decoder }, workload);
        const ratio = residualRatio(decoder, encoder, rows);
        if (accepted) assert.ok(ratio <= 1, `${ratio}`);
        if (diagonal === 1) assert.equal(accepted, size < 1e-6, `${size}`);
        ++counts[accepted ? 'accepted' : 'refused'];
        counts.beyond += Number(ratio > 1);
      }
    }
  }
  // The bound can fail, and fails for most of what is refused.
  assert.ok(counts.accepted > 20 && counts.refused > 20 && counts.beyond > 10, `${counts}`);
});

test('decoder: what is not A C^-1 is refused in one sentence that names the place', () => {
  const encoder = [[1], [1, 2]];
  const wrong = [
    [
      [[1], [0.5, 0.75]],
      RangeError,
      /\[1\]\[1\] must be 0\.5, as B is A C\^-1 \(the difference, 0\.25, is the largest relative to its row\), got 0\.75$/,
    ],
    [[[1], [0, 0.5]], RangeError, /\[1\]\[0\] must be 0\.5, .* difference, 0\.5, .* got 0$/],
    [[[0], [0.5, 0.5]], RangeError, /\[0\]\[0\] must be 1, as B is A C\^-1 .* got 0$/],
    [
      [
        [1, 1],
        [0.5, 0.5],
      ],
      RangeError,
      /\[0\]\[1\] must be 0, as it is above the diagonal .* got 1$/,
    ],
    [[[1], [NaN, 0.5]], RangeError, /\[1\]\[0\] must be finite, got NaN$/],
    [[[1], [0.5]], TypeError, /\[1\] must have 2 numbers, as B is square, as C is, got 1$/],
    [[[1]], TypeError, /strategy\.decoder must have 2 rows, as C has, got 1$/],
    [[], TypeError, /strategy\.decoder must have 2 rows, as C has, got 0$/],
    ['B.csv', TypeError, /strategy\.decoder must be an array of rows, got string/],
    [[['1'], [0.5, 0.5]], TypeError, /strategy\.decoder\[0\]\[0\] must be a number, got/],
  ];
  for (const [decoder, Kind, message] of wrong) {
    const code =
      Kind === RangeError
        ? 'invalid_argument'
        : /have/.test(message)
          ? 'wrong_length'
          : 'wrong_type';
    rejects(() => dp.error({ strategy: { encoder, decoder }, steps: 2 }), Kind, code, message);
  }
  const decoder = [[1], [0.5, 0.5]];
  const error = (options) => () =>
    dp.error({ strategy: { encoder, decoder }, steps: 2, ...options });
  rejects(
    error({ workload: { window: 1 } }),
    RangeError,
    'invalid_argument',
    /strategy\.decoder\[1\]\[0\] must be -0\.5, /,
  );
  rejects(
    error({ workloads: ['prefix', { window: 1 }] }),
    RangeError,
    'invalid_argument',
    /strategy\.decoder must be left out with workloads, each of which has its own, got array$/,
  );
  rejects(
    () => dp.error({ strategy: { encoder: [[1e-320]], decoder: [[1]] }, steps: 1 }),
    Error,
    'unsupported',
    /must be far enough from singular for double precision$/,
  );
});
