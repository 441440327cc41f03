// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { freshConsumer, importEntry, node, root } from './support/consumer.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = {
  numSteps: 12,
  epsilon: 2,
  delta: 1e-6,
  clipNorm: 2,
  insecureSeed: 9,
  dimension: 3,
};
const batchSize = 2;
const start = [0.5, 0, -1];
const mechanisms = ['independent', 'tree', 'blt-rational', 'banded-toeplitz', 'optimal'];

function withLearner(options, use) {
  const learner = dp.gradientLearner({ ...target, batchSize, start, rate: 0.1, ...options });
  try {
    return use(learner);
  } finally {
    learner.dispose();
  }
}

/** Gradients of the examples of a step, which depend on the weights. */
const gradientsAt = (weights, step) =>
  [1, 2].map((k) => Array.from(weights, (w, i) => 0.3 * w + Math.sin(step + k * i)));

/** Totals after each step: of `prefixSum`, or of sums with noise added by `addNoiseTo`. */
function totalsOf({ mechanism, clipping }) {
  if (clipping === undefined) {
    const sums = dp.prefixSum({ ...target, mechanism });
    const after = (gradients) => (sums.contribute(gradients.flat()), sums.endSteps());
    return { after, dispose: () => sums.dispose() };
  }
  const noise = dp.noise({ ...target, mechanism, increments: true });
  const total = new Float64Array(3);
  const after = ([first, second], step) => {
    const noisy = noise.addNoiseTo(
      first.map((x, i) => x + second[i]),
      step,
    );
    noisy.forEach((x, i) => (total[i] += x));
    return total.slice();
  };
  return { after, dispose: () => noise.dispose() };
}

/** Weights after each step, by a rule of the test. */
function play(options, next) {
  const totals = totalsOf(options);
  const weights = [Float64Array.from(start)];
  let before = new Float64Array(3);
  for (let step = 0; step < target.numSteps; step++) {
    const total = totals.after(gradientsAt(weights.at(-1), step), step);
    const increment = total.map((x, i) => (x - before[i]) / batchSize);
    weights.push(
      next(
        weights.at(-1),
        increment,
        total.map((x) => x / batchSize),
      ),
    );
    before = total;
  }
  totals.dispose();
  return weights.slice(1);
}

function close(actual, expected, where) {
  actual.forEach((row, step) =>
    row.forEach((x, i) => {
      const most = 1e-9 * (1 + Math.abs(expected[step][i]));
      assert.ok(Math.abs(x - expected[step][i]) <= most, `${where}, step ${step}: ${x}`);
    }),
  );
}

function run(options) {
  return withLearner(options, (learner) => {
    const rows = [];
    let weights = learner.weights();
    assert.deepEqual([...weights], start);
    for (let step = 0; step < learner.numSteps; step++) {
      const [first, second] = gradientsAt(weights, step);
      if (learner.clipping === 'by the caller') {
        weights = learner.update(first.map((x, i) => x + second[i]));
      } else if (step % 2) {
        learner.contribute(first);
        weights = learner.update(second);
      } else {
        weights = learner.update([...first, ...second]);
      }
      assert.equal(learner.step, step + 1);
      assert.deepEqual(learner.weights(), weights);
      rows.push(weights);
    }
    return rows;
  });
}

/** Independent implementation of Adam, with the variance of the noise from the matrices. */
function adamOracle(mechanism, certificate, grid) {
  const { numSteps: n } = target;
  const { B } = matricesOf(mechanism);
  const noise = B.map((row, t) =>
    row.reduce((sum, b, j) => sum + (b - (B[t - 1]?.[j] ?? 0)) ** 2, 0),
  );
  const phi = noise.map((h) => (certificate.noiseStddev ** 2 * h + grid ** 2 / 6) / batchSize ** 2);
  const gradients = [];
  const average = (values, beta) =>
    values.reduce((sum, x, s) => sum + (1 - beta) * beta ** (values.length - 1 - s) * x, 0) /
    (1 - beta ** values.length);
  assert.equal(noise.length, n);
  return (weights, increment) => {
    gradients.push(increment);
    const variance = average(phi.slice(0, gradients.length), 0.99);
    return weights.map((w, i) => {
      const own = gradients.map((g) => g[i]);
      const mean = average(own, 0.8);
      const square = average(
        own.map((x) => x * x),
        0.99,
      );
      return w - (0.1 * mean) / Math.sqrt(Math.max(square - variance, 0.01));
    });
  };
}

function matricesOf(mechanism) {
  const { decoder } = dp.matrices({ mechanism, numSteps: target.numSteps });
  const width = decoder.length / target.numSteps;
  return {
    B: Array.from({ length: target.numSteps }, (_, t) => [
      ...decoder.slice(t * width, (t + 1) * width),
    ]),
  };
}

test('gradient learner: FTRL and descent are functions of the private sums', () => {
  const towards = (point, radius) => {
    const distance = Math.hypot(...point.map((x, i) => x - start[i]));
    const factor = distance > radius ? radius / distance : 1;
    return Float64Array.from(point, (x, i) => start[i] + factor * (x - start[i]));
  };
  for (const mechanism of mechanisms) {
    const lead = (_, __, total) =>
      towards(
        total.map((sum, i) => start[i] - 0.1 * sum),
        0.7,
      );
    close(run({ mechanism, rule: 'ftrl', radius: 0.7 }), play({ mechanism }, lead), mechanism);
    let velocity = [0, 0, 0];
    const descend = (weights, increment) => {
      velocity = velocity.map((v, i) => 0.5 * v + increment[i]);
      return towards(
        weights.map((w, i) => w - 0.1 * velocity[i]),
        0.7,
      );
    };
    close(run({ mechanism, momentum: 0.5, radius: 0.7 }), play({ mechanism }, descend), mechanism);
  }
});

test('gradient learner: Adam subtracts the variance of correlated noise from its second moment', () => {
  for (const mechanism of mechanisms) {
    const options = { mechanism, rule: 'adam', beta1: 0.8, beta2: 0.99, floor: 0.01 };
    const { certificate, grid } = withLearner(options, (it) => it);
    const oracle = adamOracle(mechanism, certificate, grid);
    close(run(options), play({ mechanism }, oracle), mechanism);
  }
});

test('gradient learner: the default floor is the spread of the second moment under noise alone', () => {
  // With one step, the second moment is the square itself, whose mean is phi for zero gradients.
  const options = { ...target, mechanism: 'independent', numSteps: 1, dimension: 4000 };
  const learner = dp.gradientLearner({ ...options, batchSize, rule: 'adam', rate: 1 });
  const phi = (learner.certificate.noiseStddev ** 2 + learner.grid ** 2 / 6) / batchSize ** 2;
  const steps = learner.update();
  learner.dispose();
  const floor = Math.sqrt((2 * (1 - 0.999)) / (1 + 0.999)) * phi;
  const noise = dp.prefixSum(options);
  const gradient = noise.endSteps().map((x) => x / batchSize);
  noise.dispose();
  gradient.forEach((g, i) => {
    const expected = -g / Math.sqrt(Math.max(g * g - phi, floor));
    assert.ok(Math.abs(steps[i] - expected) <= 1e-9 * Math.abs(expected), `${steps[i]}`);
  });
});

test('gradient learner: sums clipped by the caller get the same noise as from addNoiseTo', () => {
  for (const mechanism of mechanisms.slice(1)) {
    const options = { mechanism, clipping: 'by the caller' };
    const { certificate } = withLearner(options, (it) => it);
    assert.equal(certificate.clipping, 'by the caller');
    assert.ok(certificate.clipNorm > 2);
    const descend = (weights, increment) => weights.map((w, i) => w - 0.1 * increment[i]);
    close(run(options), play(options, descend), mechanism);
  }
  withLearner({}, (it) => assert.equal(it.certificate.clipping, undefined));
});

test('gradient learner: each gradient is clipped by itself', () => {
  const last = (gradients) => withLearner({ rate: 1, batchSize: 1 }, (it) => it.update(gradients));
  const nothing = last([0, 0, 0]);
  const far = last([1e6, 0, 0, 0, -1e9, 0, 0, 0.5, 0]);
  const moved = far.map((w, i) => nothing[i] - w);
  const grid = withLearner({}, (it) => it.grid);
  [2, -1.5, 0].forEach((x, i) => assert.ok(Math.abs(moved[i] - x) <= 3 * grid, `${moved}`));
});

test('gradient learner: a call with a bad gradient adds nothing and can be repeated', () => {
  const [good, bad] = [
    [1, 0, 0],
    [0, 0, Infinity],
  ];
  for (const call of ['contribute', 'update']) {
    const [once, again] = [false, true].map((isRefused) =>
      withLearner({}, (it) => {
        if (isRefused) {
          const wanted = new RegExp(`^${call}: gradients\\[5\\] must be finite, got Infinity`);
          rejects(() => it[call]([...good, ...bad]), RangeError, 'invalid_argument', wanted);
          assert.equal(it.step, 0);
        }
        return it.update(good);
      }),
    );
    assert.deepEqual(again, once, call);
  }
});

test('gradient learner: one gradient changes the integer sums by at most the clip norm', () => {
  const sumsOf = (gradients, options) =>
    withLearner({ ...options, rule: 'ftrl', rate: 1, batchSize: 1, start: undefined }, (it) => {
      it.update(gradients);
      const weights = it.update();
      return { totals: [...weights].map((w) => -w / it.grid), grid: it.grid };
    });
  const ulps = (x, count) => x * (1 + count * 2 ** -52);
  for (const clipNorm of [1, 0.1, Math.PI, 1e-8, 1e12]) {
    const options = { mechanism: 'tree', clipNorm };
    const other = [0.3, -7, 1e5].map((x) => x * clipNorm);
    const before = sumsOf(other, options);
    const most = clipNorm / before.grid;
    for (const direction of [
      [1, 0, 0],
      [1, 1, 1],
      [3, -4, 12],
      [1e-9, 1, -1],
    ]) {
      const norm = Math.hypot(...direction);
      for (const length of [0, 1e-320, 0.5, 1, ulps(1, 1), ulps(1, 3), ulps(1, -1), 2, 1e290]) {
        const gradient = direction.map(
          (x) => (x / norm) * (length === 1e-320 ? length : length * clipNorm),
        );
        const { totals } = sumsOf([...other, ...gradient], options);
        const moved = totals.map((x, i) => BigInt(x - before.totals[i]));
        const squared = Number(moved.reduce((sum, x) => sum + x * x, 0n));
        const where = `clip ${clipNorm}, length ${length}, direction ${direction}`;
        assert.ok(squared <= most ** 2, where);
        if (length >= 0.5) assert.ok(squared >= (0.4 * most) ** 2, where);
      }
    }
  }
});

test('gradient learner: bad gradients and options are refused', () => {
  withLearner({}, (it) => {
    rejects(
      () => it.update([1, 2]),
      TypeError,
      'wrong_length',
      /^update: gradients must have a multiple of dimension = 3/,
    );
    rejects(
      () => it.contribute([1, NaN, 0]),
      RangeError,
      'invalid_argument',
      /^contribute.*finite/,
    );
    rejects(() => it.update('abc'), TypeError, 'wrong_type', /gradients must be/);
    assert.equal(it.step, 0);
    for (let step = 0; step < 12; step++) it.update();
    rejects(
      () => it.update(),
      DpError,
      'past_horizon',
      /^update: step must be below the horizon 12/,
    );
  });
  withLearner({ clipping: 'by the caller' }, (it) => {
    rejects(() => it.contribute([1, 2, 3]), DpError, 'unsupported', /given to update as a sum/);
    rejects(() => it.update([1, 2]), TypeError, 'wrong_length', /gradients must have 3 entries/);
    rejects(() => it.update(), TypeError, 'wrong_type', /gradients must be/);
    rejects(() => it.update([1, Infinity, 0]), RangeError, 'invalid_argument', /^update.*finite/);
    assert.equal(it.step, 0);
  });
  withLearner({ rate: 1e300, clipping: 'by the caller' }, (it) => {
    rejects(() => it.update([1e10, 0, 0]), DpError, 'bad_state', /left the doubles/);
  });
  const make = (more) => () => withLearner(more, () => {});
  for (const [more, text] of [
    [{ rate: 0 }, /rate must be positive/],
    [{ momentum: 1 }, /momentum must be at least 0 and below 1/],
    [{ rule: 'ftrl', momentum: 0.5 }, /momentum must be left out/],
    [{ rule: 'adam', radius: 1 }, /radius must be left out/],
    [{ beta2: 0.9 }, /beta2 must be left out/],
    [{ rule: 'adam', floor: 0 }, /floor must be positive/],
    [{ start: [1, NaN, 0] }, /start\[1\] must be finite/],
    [{ batchSize: 0 }, /batchSize must be at least 1/],
    [{ dimension: 0, start: [] }, /dimension must be at least 1/],
    [{ rule: 'newton' }, /rule must be one of/],
    [{ clipNorm: 0 }, /clipNorm must be positive/],
  ]) {
    assert.throws(
      make(more),
      (error) => error.code === 'invalid_argument' && text.test(error.message),
      `${text}`,
    );
  }
  rejects(make({ start: [1] }), TypeError, 'wrong_length', /start must have 3 entries/);
  const long = { numSteps: 5000, mechanism: 'tree', rule: 'adam' };
  rejects(
    make(long),
    DpError,
    'unsupported',
    /numSteps must be at most 4096 for an encoder that is not Toeplitz/,
  );
  assert.equal(dp.liveHandles, 0);
});

test('examples/network: a two-layer network learns privately what no linear model can', async () => {
  const folder = freshConsumer();
  try {
    copyFileSync(join(root, 'examples/network/two_layers.js'), join(folder, 'two_layers.mjs'));
    const { code, stdout, stderr } = await node(['two_layers.mjs'], { cwd: folder });
    assert.equal(code, 0, stderr);
    const [before, after] = stdout.trim().split(' ').map(Number);
    // The noise is random: the smallest of 20 seeds was 1, docs/math/learning.md, section 9.
    assert.ok(before < 0.75 && after > 0.9, stdout);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
