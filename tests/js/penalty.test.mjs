// SPDX-License-Identifier: Apache-2.0

// Penalties that set weights to 0: learner, ledger, twin, bounds, and dp-ftrl learn.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';
import { memoryStore } from './support/stores.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('penalty');

const steps = 60;
const totals = {
  strategy: 'honaker',
  epsilon: 8,
  delta: 1e-6,
  insecureSeed: 5,
  steps,
  dimension: 4,
  clip: 0.5,
};
const target = { ...totals, radius: 2, lambda: 6 };
const random = generator(9);
const features = Float64Array.from({ length: 4 * steps }, () => 2 * random() - 1);
const labels = Float64Array.from({ length: steps }, (_, i) => Number(features[4 * i] > 0));

function learned(options, library = dp) {
  const learner = library.learner({ ...target, ...options });
  try {
    learner.learn(features, labels);
    const { weights, lastWeights, certificate } = learner.model();
    return { weights, lastWeights, certificate, lambda: learner.lambda() };
  } finally {
    learner.dispose();
  }
}

/**
 * Shrinks v by the threshold, each entry or each group of these sizes; unpenalised entries are
 * unchanged.
 */
function shrunk(v, threshold, { groups, numUnpenalised = 0 }) {
  const sizes = groups ?? Array(v.length - numUnpenalised).fill(1);
  let first = 0;
  const parts = sizes.map((size) => v.slice(first, (first += size)));
  const short = parts.map((part) => {
    const norm = Math.hypot(...part);
    return part.map((x) => (norm > threshold ? x * (1 - threshold / norm) : 0));
  });
  return [...short.flat(), ...v.slice(first)];
}

test('penalty: weights are the shrunk and projected sums, for any batch size', () => {
  for (const penalty of [
    { strength: 0.03 },
    { strength: 0.03, numUnpenalised: 1 },
    { strength: 0.06, groups: [1, 2], numUnpenalised: 1 },
    { strength: 0.06, groups: new Float64Array([3, 1]) },
  ]) {
    for (const batchSize of [1, 3]) {
      const sums = dp.totals(totals);
      const learner = dp.learner({ ...target, penalty, batchSize });
      let weights = [0, 0, 0, 0];
      let numZeros = 0;
      for (let t = 1; t <= steps / batchSize; ++t) {
        let totals;
        for (let i = (t - 1) * batchSize; i < t * batchSize; ++i) {
          const x = [...features.subarray(4 * i, 4 * i + 4)];
          const y = labels[i] > 0 ? 1 : -1;
          const score = x.reduce((sum, value, j) => sum + value * weights[j], 0);
          const gradient = x.map((value) => (-y * value) / (1 + Math.exp(y * score)));
          if (i + 1 < t * batchSize) sums.add(gradient);
          else totals = [...sums.release(gradient).values];
        }
        learner.learn(
          features.subarray(4 * (t - 1) * batchSize, 4 * t * batchSize),
          labels.subarray((t - 1) * batchSize, t * batchSize),
        );
        const v = totals.map((total) => -total / batchSize / target.lambda);
        const groups = penalty.groups && Array.from(penalty.groups);
        const next = shrunk(v, (penalty.strength * t) / target.lambda, { ...penalty, groups });
        const norm = Math.hypot(...next);
        weights = next.map((weight) => (norm > 2 ? (weight / norm) * 2 : weight));
        learner.model().lastWeights.forEach((weight, j) => close(weight, weights[j], 1e-9));
        numZeros += learner.model().lastWeights.filter((weight) => weight === 0).length;
      }
      assert.ok(numZeros > 0, 'some weights are exactly 0');
      sums.dispose();
      learner.dispose();
    }
  }
});

test('penalty: strength 0 has no effect, and no strength changes the certificate', () => {
  const plain = learned({});
  assert.deepEqual(learned({ penalty: { strength: 0, groups: [2, 2] } }), plain);
  assert.deepEqual(learned({ penalty: { strength: 0 }, descent: {} }), learned({ descent: {} }));
  const penalised = learned({ penalty: { strength: 0.1 } });
  assert.deepEqual(penalised.certificate, plain.certificate);
  assert.notDeepEqual(penalised.lastWeights, plain.lastWeights);
  const none = learned({ penalty: { strength: 1e308, numUnpenalised: 1 } });
  assert.deepEqual(none.lastWeights.slice(0, 3), [0, 0, 0]);
  assert.notEqual(none.lastWeights[3], 0);
});

test('penalty: with softmax, a group contains the weights of a feature for all classes', () => {
  const penalty = { strength: 0.12, groups: [1, 1, 1, 1] };
  const { lastWeights } = learned({ penalty, loss: { softmax: 3 } });
  assert.equal(lastWeights.length, 12);
  const zeros = [0, 1, 2, 3].map((j) => [0, 1, 2].map((k) => lastWeights[4 * k + j] === 0));
  assert.ok(
    zeros.some((feature) => feature.every(Boolean)),
    'a feature without any weight',
  );
  assert.ok(
    zeros.some((feature) => !feature.some(Boolean)),
    'one with all',
  );
  for (const feature of zeros) assert.equal(new Set(feature).size, 1);
});

test('penalty: bad ones are refused by name', () => {
  const refused = (penalty, code, message, more = {}) =>
    rejects(() => dp.learner({ ...target, penalty, ...more }), Error, code, message);
  for (const strength of [-1, NaN, Infinity]) {
    const constraint =
      /^learner: penalty.strength must be at least 0 and finite, got (-1|NaN|inf)$/;
    refused({ strength }, 'invalid_argument', constraint);
  }
  refused({}, 'wrong_type', /^learner: penalty.strength must be a number, got undefined/);
  refused(0.1, 'wrong_type', /^learner: penalty must be an object, got/);
  refused({ strength: 1, l1: 1 }, 'wrong_type', /l1/);
  refused(
    { strength: 1, groups: [] },
    'invalid_argument',
    /^learner: penalty.groups must be at least one size, got "none"/,
  );
  refused(
    { strength: 1, groups: [1.5, 2.5] },
    'invalid_argument',
    /^learner: penalty.groups must be integers, got 1.5/,
  );
  refused(
    { strength: 1, groups: [2, 1] },
    'invalid_argument',
    /^learner: penalty.groups must be sizes of 4 features together, got sizes of 3/,
  );
  refused(
    { strength: 1, groups: [4, 0] },
    'invalid_argument',
    /penalty.groups must be between 1 and 4, got 0/,
  );
  refused(
    { strength: 1, groups: [4], numUnpenalised: 0.5 },
    'invalid_argument',
    /^learner: penalty.numUnpenalised must be an integer, got 0.5/,
  );
  refused(
    { strength: 1, numUnpenalised: 5 },
    'invalid_argument',
    /penalty.numUnpenalised must be between 0 and 4, got 5/,
  );
  refused({ strength: 1 }, 'unsupported', /penalty.strength must be 0 with descent, got 1/, {
    descent: {},
  });
  refused(
    { strength: 1 },
    'unsupported',
    /domain must be whole-space, ball or box with a penalty, got simplex/,
    { domain: 'simplex' },
  );
  refused(
    { strength: 1, groups: [4] },
    'unsupported',
    /domain must be whole-space or ball with a penalty of groups, got box/,
    { domain: 'box' },
  );
  const simulated = { steps: 8, epsilon: 1, delta: 1e-6, penalty: { strength: 1 } };
  assert.throws(() => dp.study.simulation(simulated), /penalty/);
});

test('penalty: a stored learner goes on with the same weights, and with no other penalty', async () => {
  const penalty = { strength: 0.05, groups: [2, 1], numUnpenalised: 1 };
  const store = memoryStore();
  const options = { ...target, penalty, store };
  for (let first = 0; first < steps; first += 20) {
    const ledger = await dp.learner(options);
    await ledger.learn(
      features.subarray(4 * first, 4 * first + 80),
      labels.subarray(first, first + 20),
    );
    if (first === 40) {
      const { weights, lastWeights } = await ledger.model();
      const whole = learned({ penalty });
      assert.deepEqual(
        { weights, lastWeights },
        { weights: whole.weights, lastWeights: whole.lastWeights },
      );
    }
    await ledger.dispose();
  }
  for (const other of [undefined, { ...penalty, strength: 0.06 }, { ...penalty, groups: [1, 2] }]) {
    await assert.rejects(dp.learner({ ...options, penalty: other }), { code: 'other_options' });
  }
});

test('penalty: the twin applies it, and the regret bounds include its slope', () => {
  const given = { steps, dimension: 4, clip: 0.5, lambda: 6 };
  const run = (penalty) => {
    const twin = dp.study.twin({ ...given, penalty });
    twin.learn(features, labels);
    const weights = twin.weights();
    twin.dispose();
    return weights;
  };
  assert.ok(run({ strength: 0.1 }).includes(0));
  assert.ok(!run(undefined).includes(0));

  const { certificate } = learned({});
  const bounds = (more) =>
    dp.study.regretBounds(certificate, { dimension: 12, lambda: 6, ...more });
  const plain = bounds({}).expected;
  for (const [penalty, numTerms] of [
    [{ strength: 0.1 }, 12],
    [{ strength: 0.1, numUnpenalised: 1 }, 9],
    [{ strength: 0.1, groups: [1, 3] }, 2],
  ]) {
    const { expected, highProbability, hazan } = bounds({ penalty, numClasses: 3 });
    const factor = 1 + (0.1 * Math.sqrt(numTerms)) / 0.5;
    close(expected.noise, factor * plain.noise, 1e-12);
    assert.equal(expected.stability, plain.stability);
    assert.ok(highProbability.total > expected.total && hazan.total > expected.total);
    const learner = dp.learner({
      ...target,
      dimension: 4,
      loss: { softmax: 3 },
      lambda: undefined,
      penalty,
    });
    close(
      bounds({ penalty, numClasses: 3, radius: 2, lambda: undefined }).lambda,
      learner.lambda(),
      1e-12,
    );
    learner.dispose();
  }
  const refused = (more, message) =>
    assert.throws(() => bounds({ penalty: { strength: 1 }, ...more }), message);
  refused({ numClasses: 5 }, /regretBounds: numClasses must be a divisor of dimension 12, got 5/);
  refused({ descent: {} }, /penalty.strength must be 0 with descent/);
  refused(
    { penalty: { strength: 1e308 } },
    { code: 'invalid_argument', parameter: 'penalty.strength' },
  );
  refused({ domain: 'simplex' }, /domain must be whole-space, ball or box with a penalty/);
  assert.ok(DpError.prototype instanceof Error);
});

// ---- The command ----------------------------------------------------------------------------------

const rows = Array.from({ length: steps }, (_, i) => [
  ...features.subarray(4 * i, 4 * i + 3),
  labels[i],
]);
const csv = `red,hue_a,hue_b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`;
const unclipped = ['learn', '--epsilon', '8', '--delta', '1e-6', '--strategy', 'honaker'];
unclipped.push('--label', 'y', '--regularisation', '6', '--radius', '2', '--average', 'last');
const learn = [...unclipped, '--clip', '0.5'];
const seeded = [...learn, '--seed', '5', '--quiet', '--json'];

async function printed(args, options) {
  const { code, stdout, stderr } = await dpFtrl(args, options);
  assert.equal(code, 0, stderr);
  return stdout;
}
const json = async (args, input) => JSON.parse(await printed(args, { input }));

test('learn: --l1 and --group-norm are the penalties of the library, without the intercept', async () => {
  const withIntercept = Float64Array.from({ length: 4 * steps }, (_, i) =>
    i % 4 === 3 ? 1 : features[i],
  );
  for (const [args, penalty] of [
    [['--l1', '0.06'], { strength: 0.06, numUnpenalised: 1 }],
    [['--group-norm', '0.06'], { strength: 0.06, groups: [1, 1, 1], numUnpenalised: 1 }],
    [
      ['--group-norm', '0.06', '--group', 'hue_*'],
      { strength: 0.06, groups: [1, 2], numUnpenalised: 1 },
    ],
  ]) {
    const { weights, certificate } = await json([...seeded, ...args], csv);
    const learner = dp.learner({ ...target, penalty });
    learner.learn(withIntercept, labels);
    const model = learner.model();
    assert.deepEqual(weights, model.lastWeights, args.join(' '));
    assert.deepEqual(certificate, model.certificate);
    assert.ok(weights.includes(0));
    learner.dispose();
  }
});

test('learn: options that a penalty does not go with are refused by name', async () => {
  const told = (args, message) => fails([...learn, ...args], 2, message, { input: csv });
  await told(['--l1', '-1'], /--l1 must be a number of at least 0, got "-1"/);
  await told(['--l1', 'NaN'], /--l1/);
  await told(['--l1', '1', '--group-norm', '1'], /--l1 and --group-norm are two penalties/);
  await told(['--l1', '1', '--group', 'red'], /--group needs --group-norm/);
  await told(['--l1', '1', '--algorithm', 'dp-gd'], /--l1 does not go with --algorithm dp-gd/);
  await told(
    ['--l1', '1', '--domain', 'simplex'],
    /--domain must be whole-space, ball or box with a penalty, got simplex/,
  );
  await told(['--group-norm', '1', '--group', 'blue*'], /unknown feature in --group "blue\*"/);
  await told(
    ['--group-norm', '1', '--group', 'hue*', '--group', '*_b'],
    /"hue_b" is in both "hue\*" and "\*_b"/,
  );
  const apart = ['--columns', 'hue_a', '--columns', 'red', '--columns', 'hue_b'];
  await told(
    [...apart, '--group-norm', '1', '--group', 'hue*'],
    /must be next to each other, but "red" is between them/,
  );
});

test('learn --state: goes on with the same penalty, and with no other', async () => {
  const state = join(folder, 'state');
  const half = csv.split('\n').slice(0, 31).join('\n');
  const rest = [csv.split('\n')[0], ...csv.split('\n').slice(31)].join('\n');
  const horizon = ['--steps', String(steps)];
  const penalty = ['--group-norm', '0.06', '--group', 'hue_*'];
  const whole = await json([...seeded, ...horizon, ...penalty], csv);
  await json([...seeded, ...horizon, ...penalty, '--state', state], half);
  for (const [other, message] of [
    [
      ['--group-norm', '0.07', '--group', 'hue_*'],
      /begun with --group-norm 0.06 for groups of 1, 2, this run has --group-norm 0.07 for groups/,
    ],
    [
      ['--group-norm', '0.06', '--group', 'red'],
      /begun with --group-norm 0.06 for groups of 1, 2, this run has --group-norm 0.06 for groups of 1, 1, 1/,
    ],
    [['--l1', '0.06'], /begun with --group-norm 0.06 for groups of 1, 2, this run has --l1 0.06/],
    [[], /begun with --group-norm 0.06 for groups of 1, 2, this run has none/],
  ]) {
    await fails([...seeded, ...horizon, ...other, '--state', state], 2, message, { input: rest });
  }
  const model = await json([...seeded, ...horizon, ...penalty, '--state', state], rest);
  assert.deepEqual(model.weights, whole.weights);
});

test('learn: the bound on the regret includes the penalty', async () => {
  const file = join(folder, 'bounded.csv');
  writeFileSync(file, csv);
  const boundOf = async (...args) => {
    const clip = ['--clip', '2', '--columns', '*=-1:1'];
    const text = await printed([...unclipped, ...clip, ...args, '--quiet', file]);
    return Number(/^bound on the expected regret +(\S+)$/m.exec(text)[1]);
  };
  const plain = await boundOf();
  const penalised = await boundOf('--l1', '0.5');
  assert.ok(penalised > plain && penalised < 1.44 * plain);
});
