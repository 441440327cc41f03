// SPDX-License-Identifier: Apache-2.0

// Numbers that scenes of the story compute themselves, compared with the library, without a
// browser.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { importSources } from './support.mjs';

const dp = await load();
const { tree, floor, yours } = await importSources(
  'web/src/story/errors',
  ['tree', 'floor', 'yours'].map((name) => `export * as ${name} from './${name}-numbers.ts';`),
);

function assertNear(actual, expected, what, tolerance = 1e-9) {
  assert.ok(
    Math.abs(actual / expected - 1) <= tolerance,
    `${what}: ${actual} instead of ${expected}`,
  );
}

/** Seeded uniform numbers in [0, 1). */
function uniforms(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

test('the blocks of a total are dyadic and adjacent, and give the error of the library', () => {
  for (const numSteps of [1, 2, 3, 7, 8, 20, 21, 1000, 1024]) {
    const stddev = dp.error({ strategy: 'tree', steps: numSteps, perStep: true }).perStep;
    const heights = tree.numHeights(numSteps);
    for (let step = 1; step <= numSteps; ++step) {
      const blocks = tree.blocksOf(step);
      let end = 0;
      for (const { height, start } of blocks) {
        assert.equal(start, end, `${step}: no gap`);
        assert.equal(start % 2 ** height, 0, `${step}: a node of the tree`);
        assert.ok(start / 2 ** height < tree.numBlocks(numSteps, height), `${step}: inside`);
        end += 2 ** height;
      }
      assert.equal(end, step);
      const expected = Math.sqrt(heights * blocks.length);
      assertNear(stddev[step - 1], expected, `step ${step} of ${numSteps}`);
    }
  }
});

test('the plain tree beats fresh noise from 21 steps on, and before only at 13 and 14', () => {
  // The error of the tree changes only at powers of two and one step before them; in between, only
  // the error of fresh noise increases.
  const short = Array.from({ length: 300 }, (_, i) => i + 1);
  const long = [511, 512, 513, 1023, 1024, 1025, 2047, 2049, 337, 480, 700, 777, 900, 1100];
  const better = [];
  for (const numSteps of [...short, ...long]) {
    const [plain, fresh] = ['tree', 'independent'].map(
      (mechanism) => dp.error({ strategy: mechanism, steps: numSteps }).maxError,
    );
    if (plain < fresh * (1 - 1e-12)) better.push(numSteps);
  }
  assert.deepEqual(better, [13, 14, ...short.slice(20), ...long]);
});

test('bars: the square root, one bar and two bars have the errors of the library', () => {
  const { squareRootBars, errorsOfBars } = floor;
  assert.deepEqual([...squareRootBars(5)], [1, -1 / 2, -1 / 8, -1 / 16, -5 / 128]);
  for (const numSteps of [1, 2, 3, 7, 8, 1024]) {
    for (const [bars, options] of [
      [squareRootBars(numSteps), { mechanism: 'square-root' }],
      [Float64Array.of(1), { mechanism: 'independent' }],
      [Float64Array.of(1, -0.97), { mechanism: 'lambda-cgd', lambda: 0.97 }],
    ]) {
      const what = `${options.mechanism} at ${numSteps} steps`;
      const own = errorsOfBars(bars, numSteps);
      const { mechanism: name, ...parameters } = options;
      const problem = { strategy: { name, ...parameters }, steps: numSteps };
      const { sensitivity, maxError } = dp.error(problem);
      assertNear(own.sensitivity, sensitivity, `${what}, sensitivity`);
      assertNear(own.worst, maxError, `${what}, worst step`);
      const stddev = dp.error({ ...problem, perStep: true }).perStep;
      own.stddev.forEach((value, i) => assertNear(value, stddev[i], `${what}, step ${i}`));
    }
  }
});

test('bars: any of them have the errors of C and A C^-1 written out', () => {
  const uniform = uniforms(1);
  const numSteps = 9;
  for (let round = 0; round < 50; ++round) {
    const bars = Float64Array.from({ length: 1 + (round % numSteps) }, (_, j) =>
      j === 0 ? 1 : 2 * uniform() - 1,
    );
    // Forward substitution on every column of the identity gives C.
    const entry = (i, j) => (i >= j ? (bars[i - j] ?? 0) : 0);
    const columns = Array.from({ length: numSteps }, (_, j) => {
      const column = [];
      for (let i = 0; i < numSteps; ++i) {
        let value = i === j ? 1 : 0;
        for (let k = 0; k < i; ++k) value -= entry(i, k) * column[k];
        column.push(value);
      }
      return column;
    });
    const sensitivity = Math.max(...columns.map((column) => Math.hypot(...column)));
    const own = floor.errorsOfBars(bars, numSteps);
    assertNear(own.sensitivity, sensitivity, 'sensitivity');
    for (let i = 0; i < numSteps; ++i) {
      const row = Array.from({ length: numSteps }, (_, j) => {
        let sum = 0;
        for (let k = 0; k <= i; ++k) sum += entry(k, j);
        return sum;
      });
      assertNear(own.stddev[i], sensitivity * Math.hypot(...row), `step ${i}`);
    }
    const last = Array.from({ length: numSteps }, (_, j) => entry(numSteps - 1, j));
    assertNear(own.increment, sensitivity * Math.hypot(...last), 'increment');
  }
});

test('bars: beyond the range of doubles the errors are infinite, never NaN', () => {
  const { sensitivity, worst, increment } = floor.errorsOfBars(Float64Array.of(1, -1, -1), 1024);
  assert.ok(sensitivity > 1e100);
  assert.ok(worst > 1e100 && increment > 1e100);
  const wild = floor.errorsOfBars(Float64Array.of(1, -1, -1, -1, -1), 4096);
  assert.deepEqual([wild.sensitivity, wild.worst, wild.increment], [Infinity, Infinity, Infinity]);
});

test('bars: no random change beats the square root, whose error is above the floor', () => {
  const numSteps = 1024;
  const best = floor.squareRootBars(numSteps);
  const least = floor.errorsOfBars(best, numSteps).worst;
  const { lowerBound } = dp.error({ strategy: 'optimal', steps: numSteps });
  assert.ok(least > 1.1 * lowerBound);
  const uniform = uniforms(2);
  for (let round = 0; round < 200; ++round) {
    const bars = best.slice(0, round % 2 === 0 ? numSteps : 9);
    const size = 0.3 * uniform() ** 4;
    for (let j = 1; j < 9; ++j) bars[j] += size * (2 * uniform() - 1);
    assert.ok(floor.errorsOfBars(bars, numSteps).worst >= least * (1 - 1e-12));
  }
});

test('bars: the more they take back, the larger the sensitivity', () => {
  const numSteps = 64;
  const uniform = uniforms(3);
  for (let round = 0; round < 50; ++round) {
    const bars = Float64Array.from({ length: 5 }, (_, j) => (j === 0 ? 1 : -uniform() / 2));
    const before = floor.errorsOfBars(bars, numSteps).sensitivity;
    bars[1 + (round % 4)] -= 0.05;
    assert.ok(floor.errorsOfBars(bars, numSteps).sensitivity > before, `${bars}`);
  }
});

test('bars: the square root makes an increment noisier and the worst total quieter', () => {
  const numSteps = 1024;
  const root = floor.errorsOfBars(floor.squareRootBars(numSteps), numSteps);
  const fresh = floor.errorsOfBars(Float64Array.of(1), numSteps);
  assert.equal((root.increment / fresh.increment).toFixed(2), '2.04');
  assert.equal((fresh.worst / root.worst).toFixed(1), '9.8');
  // Variance of the last of 64 increments, from the library's covariance of the totals.
  const { noiseCovariance: cov } = dp.error({
    strategy: 'square-root',
    steps: 64,
    matrices: true,
  }).matrices;
  const at = (i, j) => cov[64 * i + j];
  const variance = at(63, 63) + at(62, 62) - 2 * at(63, 62);
  const own = floor.errorsOfBars(floor.squareRootBars(64), 64);
  assertNear(own.increment, Math.sqrt(variance), 'increment');
});

test('the table over the horizon: rows computed again are the same', () => {
  const { horizons, rankedMechanisms } = yours;
  assert.deepEqual([horizons[0].numSteps, horizons.at(-1).numSteps], [1, 1_000_000]);
  for (const { numSteps, errors, floor: bound } of horizons) {
    assert.ok(
      errors.every((error) => error >= bound * (1 - 2e-6)),
      `${numSteps}: the floor`,
    );
    rankedMechanisms.forEach((mechanism, i) => {
      // The optimum for more than 20,000 steps takes longer than all other rows together.
      if (mechanism === 'optimal' && (numSteps > 20_000 || Math.log10(numSteps) % 1 > 0.1)) return;
      const found = dp.error({ strategy: mechanism, steps: numSteps });
      assertNear(errors[i], found.maxError, `${mechanism} at ${numSteps} steps`, 6e-6);
      if (mechanism === 'optimal') assertNear(bound, found.lowerBound, `floor, ${numSteps}`, 6e-6);
    });
  }
});

test('the nearest horizon is nearest in ratio', () => {
  const { horizons, nearestHorizon } = yours;
  horizons.forEach(({ numSteps }, index) => assert.equal(nearestHorizon(numSteps), index));
  assert.equal(horizons[nearestHorizon(1024)].numSteps, 1000);
  assert.equal(horizons[nearestHorizon(1e9)].numSteps, 1_000_000);
});

test('the epsilon of a bearable margin gives noise of that size', () => {
  const delta = 1e-6;
  for (const { numSteps, errors } of yours.horizons.filter((_, i) => i % 12 === 0)) {
    for (const margin of [5, 25, 400]) {
      for (const error of errors) {
        const noiseMultiplier = yours.bearableMultiplier(margin, error);
        const { epsilon } = dp.calibrate({ mu: 1 / noiseMultiplier, delta });
        const again = dp.calibrate({ epsilon, delta }).noiseMultiplier;
        assertNear(2 * again * error, margin, `${margin} at ${numSteps} steps`, 1e-6);
      }
    }
  }
});
