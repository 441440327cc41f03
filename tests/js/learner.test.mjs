// SPDX-License-Identifier: Apache-2.0

// Learners of linear models, and their models. Laws that hold for all streams are in
// streams.test.mjs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { strategy: 'honaker', epsilon: 8, delta: 1e-6, insecureSeed: 5 };

/** Labels are 1 if the first feature is greater. */
function examples(numExamples) {
  const random = generator(9);
  const features = Float64Array.from({ length: 2 * numExamples }, () => 2 * random() - 1);
  const labels = Float64Array.from({ length: numExamples }, (_, i) =>
    Number(features[2 * i] > features[2 * i + 1]),
  );
  return { features, labels };
}

function withLearner(options, use) {
  const learner = dp.learner({ ...target, dimension: 2, ...options });
  try {
    return use(learner);
  } finally {
    learner.dispose();
  }
}

test('learner: weights are a function of the releases alone', () => {
  // One pass step by step: clipped gradients into a prefix sum with the same noise, followed by
  // FTRL.
  const { features, labels } = examples(50);
  const options = { steps: 50, clip: 0.3, radius: 2 };
  const sums = dp.totals({ ...target, steps: 50, clip: 0.3, dimension: 2 });
  withLearner(options, (learner) => {
    assert.equal(learner.grid, sums.grid);
    let weights = [0, 0];
    const played = [0, 0];
    for (let t = 0; t < 50; ++t) {
      const x = features.subarray(2 * t, 2 * t + 2);
      const score = weights[0] * x[0] + weights[1] * x[1];
      close(learner.scores(x)[0], score, 1e-12);
      const y = labels[t] > 0 ? 1 : -1;
      const slope = -y / (1 + Math.exp(y * score));
      weights.forEach((weight, j) => (played[j] += weight / 50));
      learner.learn(x, labels.subarray(t, t + 1));
      const { values } = sums.release([slope * x[0], slope * x[1]]); // clips like the learner
      const next = [...values].map((value) => -value / learner.lambda());
      const norm = Math.hypot(...next);
      weights = next.map((value) => (norm > 2 ? (value / norm) * 2 : value));
    }
    const model = learner.model();
    model.lastWeights.forEach((weight, j) => close(weight, weights[j], 1e-9));
    model.weights.forEach((weight, j) => close(weight, played[j], 1e-9));
  });
  sums.dispose();
});

test('learner: the model does not depend on how examples are split into calls, and it learns', () => {
  const { features, labels } = examples(2000);
  const whole = withLearner({ steps: 2000 }, (learner) => {
    learner.learn(features, labels);
    assert.equal(learner.step, 2000);
    return learner.model();
  });
  const pieces = withLearner({ steps: 2000 }, (learner) => {
    for (let i = 0; i < 2000; i += 125) {
      learner.learn(features.subarray(2 * i, 2 * i + 250), labels.subarray(i, i + 125));
    }
    return learner.model();
  });
  assert.deepEqual(pieces, whole);
  assert.deepEqual(
    [whole.private, whole.numExamples, whole.certificate.epsilon, whole.certificate.neighbours],
    [false, 2000, 8, 'zero-out'],
  );
  const scores = dp.predict(whole, features);
  const numRight = labels.filter((label, i) => scores[i] >= 0 === label > 0).length;
  assert.ok(numRight > 1900, `${numRight} of 2000`);
});

test('learner: a batch is one step, with every gradient clipped by itself', () => {
  const { features, labels } = examples(10);
  const options = { steps: 4, clip: 0.3, grid: 2 ** -20 };
  const sums = dp.totals({ ...target, ...options, dimension: 2 });
  withLearner({ ...options, batchSize: 3, domain: 'whole-space', lambda: 2 }, (learner) => {
    learner.learn(features, labels);
    assert.deepEqual([learner.step, learner.waiting], [3, 1]);
    let weights = [0, 0];
    const state = () => learner.model().lastWeights;
    for (let t = 0; t < 3; ++t) {
      for (let i = 3 * t; i < 3 * t + 3; ++i) {
        const x = features.subarray(2 * i, 2 * i + 2);
        const y = labels[i] > 0 ? 1 : -1;
        const slope = -y / (1 + Math.exp(y * (weights[0] * x[0] + weights[1] * x[1])));
        sums.add([slope * x[0], slope * x[1]]);
      }
      weights = [...sums.end().values].map((value) => -value / 3 / 2);
    }
    state().forEach((weight, j) => close(weight, weights[j], 1e-9));
    learner.end();
    assert.deepEqual([learner.step, learner.waiting], [4, 0]);
    assert.equal(learner.model().numExamples, 10);
    assert.throws(() => learner.end(), { code: 'past_horizon' });
  });
  sums.dispose();
});

test('learner: every loss works with every domain, and losses match their formulas', () => {
  const { features, labels } = examples(300);
  const pinball = (p, y) => (p < y ? 0.8 * (y - p) : 0.2 * (p - y));
  const huber = (r) => (Math.abs(r) <= 0.5 ? (r * r) / 2 : 0.5 * (Math.abs(r) - 0.25));
  const formulas = {
    logistic: (p, y) => Math.log1p(Math.exp(y > 0 ? -p : p)),
    hinge: (p, y) => Math.max(0, 1 - (y > 0 ? p : -p)),
    squared: (p, y) => (p - y) ** 2 / 2,
    absolute: (p, y) => Math.abs(p - y),
  };
  const all = [
    ...Object.entries(formulas),
    [{ huber: 0.5 }, (p, y) => huber(p - y)],
    [{ quantile: 0.8 }, pinball],
  ];
  for (const [loss, formula] of all) {
    for (const domain of ['ball', 'whole-space', 'box', 'simplex', 'simplex-entropic']) {
      const options = { steps: 300, loss, domain };
      withLearner(options, (learner) => {
        learner.learn(features, labels);
        const { weights } = learner.model();
        assert.ok(weights.every(Number.isFinite), `${JSON.stringify(loss)} ${domain}`);
        if (domain.startsWith('simplex')) close(weights[0] + weights[1], 1, 1e-9);
        const predictions = [-2, -0.3, 0, 0.9, 4, 1.5];
        const known = [0, 1, 0, 1, 1, 0];
        learner
          .losses(predictions, known)
          .forEach((value, i) => close(value, formula(predictions[i], known[i]), 1e-12));
      });
    }
  }
});

test('learner: a loss given as a function teaches what the loss of that name teaches', () => {
  const { features, labels } = examples(40);
  const options = { steps: 14, batchSize: 3, domain: 'box' };
  const sizes = [];
  const huber = (predictions, known) => {
    sizes.push(predictions.length);
    const errors = predictions.map((p, i) => p - known[i]);
    return {
      slopes: errors.map((e) => Math.max(-1, Math.min(1, e))),
      values: errors.map((e) => (Math.abs(e) <= 1 ? e ** 2 / 2 : Math.abs(e) - 0.5)),
    };
  };
  const run = (loss) =>
    withLearner({ ...options, loss }, (learner) => {
      learner.learn(features.subarray(0, 2), labels.subarray(0, 1));
      learner.learn(features.subarray(2), labels.subarray(1));
      const { loss: name, ...model } = learner.model();
      return { model, losses: learner.losses(learner.scores(features), labels) };
    });
  const [named, own] = [run({ huber: 1 }), run(huber)];
  assert.deepEqual(own, named);
  assert.deepEqual(sizes.slice(0, 4), [1, 2, 3, 3], 'once for all that meet the same weights');
  withLearner({ ...options, loss: () => ({ slopes: [1, 2] }) }, (learner) => {
    rejects(
      () => learner.learn([1, 1], [1]),
      TypeError,
      'wrong_length',
      /loss: slopes must have 1 entry, got 2/,
    );
    assert.equal(learner.waiting, 0);
  });
  withLearner({ ...options, loss: (p) => ({ slopes: p.map(() => NaN) }) }, (learner) => {
    assert.throws(() => learner.learn([1, 1], [1]), /slopes\[0\] must be finite/);
  });
});

test('learner: no example is learned from twice, even if a custom loss fails or calls the learner', () => {
  let calls = 0;
  const failing = (p) => {
    if (++calls === 2) throw new RangeError('no slope');
    return { slopes: p.map(() => 0) };
  };
  const four = [new Float64Array(8), new Float64Array(4)];
  withLearner({ steps: 9, batchSize: 2, loss: failing }, (learner) => {
    assert.throws(() => learner.learn(...four), { message: 'no slope' });
    assert.deepEqual([learner.step, learner.records], [1, 2]);
  });
  const about = {};
  const nested = (p) => {
    about.learner.learn([1, 1], [1]);
    return { slopes: p.map(() => 0) };
  };
  withLearner({ steps: 9, loss: nested }, (learner) => {
    about.learner = learner;
    assert.throws(() => learner.learn(...four), /learn: called by the loss of this learner/);
    assert.equal(learner.step, 0);
  });
});

test('learner: softmax has a score for each class, and with two classes it is logistic', () => {
  const { features, labels } = examples(200);
  const options = { steps: 200, clip: 10, domain: 'whole-space', lambda: 5, epsilon: 1e5 };
  const model = withLearner({ ...options, loss: { softmax: 2 } }, (learner) => {
    assert.equal(learner.scores([1, 0]).length, 2);
    learner.learn(features, labels);
    const [value] = learner.losses([3, 1], [1]);
    close(value, Math.log1p(Math.exp(2)), 1e-12);
    return learner.model();
  });
  assert.deepEqual([model.loss, model.numClasses, model.weights.length], ['softmax', 2, 4]);
  // Scores of the two classes are opposite; their difference is the score of the logistic model,
  // which moves half as far for its lambda.
  const logistic = withLearner({ ...options, lambda: 2.5 }, (learner) => {
    learner.learn(features, labels);
    return learner.model();
  });
  const { lastWeights: w } = model;
  logistic.lastWeights.forEach((weight, j) => close(w[2 + j] - w[j], weight, 0.02));
  const read = JSON.parse(JSON.stringify(model));
  const scores = dp.predict(read, features);
  assert.equal(scores.length, 400);
  const { weights } = model;
  close(scores[3], weights[2] * features[2] + weights[3] * features[3], 1e-12);
  const numRight = labels.filter((y, i) => scores[2 * i + 1] >= scores[2 * i] === y > 0).length;
  assert.ok(numRight > 180, `${numRight} of 200`);
});

test('learner: descent with momentum is a function of the releases', () => {
  const { features, labels } = examples(30);
  const descent = { momentum: 0.9, rates: [1, 0.5, 0.25] };
  const strategy = 'square-root';
  const options = { strategy, steps: 30, domain: 'whole-space', lambda: 40 };
  const sums = dp.totals({ ...target, strategy, steps: 30, dimension: 2 });
  withLearner({ ...options, descent }, (learner) => {
    let [weights, velocity, before] = [
      [0, 0],
      [0, 0],
      [0, 0],
    ];
    for (let t = 0; t < 30; ++t) {
      const x = features.subarray(2 * t, 2 * t + 2);
      const y = labels[t] > 0 ? 1 : -1;
      const slope = -y / (1 + Math.exp(y * (weights[0] * x[0] + weights[1] * x[1])));
      learner.learn(x, labels.subarray(t, t + 1));
      const total = [...sums.release([slope * x[0], slope * x[1]]).values];
      velocity = velocity.map((v, j) => 0.9 * v + total[j] - before[j]);
      const rate = descent.rates[Math.min(t, 2)] / 40;
      weights = weights.map((w, j) => w - rate * velocity[j]);
      before = total;
    }
    learner.model().lastWeights.forEach((weight, j) => close(weight, weights[j], 1e-9));
  });
  sums.dispose();
  const through = (more) =>
    withLearner({ ...options, descent: { momentum: 0.9, ...more } }, (learner) => {
      learner.learn(features, labels);
      return learner.model();
    });
  const [own, after] = [through({ through: 'workload' }), through({})];
  assert.notDeepEqual(own.weights, after.weights);
  assert.notEqual(own.certificate.meanError, after.certificate.meanError);
  const make = (more) => () => dp.learner({ ...target, steps: 4, dimension: 2, ...more });
  const workload = { momentum: 0.9, through: 'workload' };
  rejects(
    make({ descent: workload }),
    DpError,
    'unsupported',
    /honaker: descent must be one .*, got momentum=0.9/,
  );
  const rates = { rates: [1, 0.5], through: 'workload' };
  rejects(
    make({ descent: rates }),
    DpError,
    'unsupported',
    /honaker: descent must be one .*, got rates/,
  );
  withLearner({ ...options, strategy: 'optimal', descent: rates }, ({ certificate }) => {
    assert.equal(certificate.workload, 'prefix');
    assert.equal(certificate.objective, 'mean');
    const own = { strategy: { name: 'optimal', objective: 'mean' }, steps: options.steps };
    const { meanError } = dp.error(own);
    assert.ok(certificate.meanError > 1.001 * meanError);
  });
  rejects(
    make({ descent: {}, doubling: true }),
    RangeError,
    'invalid_argument',
    /doubling must be false: it is for FTRL, and rates/,
  );
});

test('learner: the algorithm is the one that is asked for, and the certificate names it', () => {
  const { features, labels } = examples(8);
  // In the whole space both have the same weights.
  const learned = (more) =>
    withLearner({ steps: 8, radius: 0.1, ...more }, (learner) => {
      learner.learn(features, labels);
      const { weights, certificate } = learner.model();
      return { weights, algorithm: certificate.algorithm };
    });
  const [ftrl, descent] = [learned({}), learned({ descent: {} })];
  assert.notDeepEqual(ftrl.weights, descent.weights);
  assert.deepEqual(learned({ algorithm: 'auto' }), ftrl);
  assert.deepEqual(learned({ algorithm: 'dp-ftrl' }), ftrl);
  assert.deepEqual(learned({ algorithm: 'dp-gd' }), descent);
  assert.deepEqual(learned({ algorithm: 'auto', descent: {} }), descent);
  for (const [more, words] of [
    [{ strategy: 'tree' }, 'DP-FTRL, one pass, tree'],
    [{ strategy: 'tree', participation: { epochs: 2 } }, 'DP-FTRL, 2 passes, tree'],
    [{ strategy: 'independent' }, 'DP-FTRL, one pass, independent'],
    [{ strategy: 'independent', algorithm: 'dp-gd' }, 'private gradient descent, one pass'],
    [{ strategy: 'tree', algorithm: 'dp-gd' }, 'private gradient descent, one pass, tree'],
  ]) {
    assert.equal(learned(more).algorithm, words);
  }
  const make = (more) => () => dp.learner({ ...target, steps: 4, dimension: 2, ...more });
  const both = /descent must be left out with the algorithm 'dp-ftrl'/;
  rejects(make({ algorithm: 'dp-ftrl', descent: {} }), RangeError, 'invalid_argument', both);
  const known = /algorithm must be one of auto, dp-ftrl, dp-gd, got/;
  rejects(make({ algorithm: 'sgd' }), RangeError, 'invalid_argument', known);
});

test('learner: a doubling lambda grows with the square root of the steps', () => {
  const { features, labels } = examples(5);
  withLearner({ steps: 8, lambda: 3, doubling: true }, (learner) => {
    const seen = [];
    for (let i = 0; i < 5; ++i) {
      seen.push(learner.lambda() / 3);
      learner.learn(features.subarray(2 * i, 2 * i + 2), labels.subarray(i, i + 1));
    }
    [1, 2, 4, 4, 8].forEach((power, i) => close(seen[i], Math.sqrt(power), 1e-12));
  });
});

test('learner: without a seed it is private, and no two are alike', () => {
  const models = [1, 2].map(() =>
    withLearner({ steps: 8, insecureSeed: undefined }, (learner) => {
      assert.equal(learner.insecure, false);
      learner.learn([1, 0], [1]);
      return learner.model();
    }),
  );
  assert.equal(models[0].private, true);
  assert.notDeepEqual(models[0].lastWeights, models[1].lastWeights);
  withLearner({ steps: 8, insecureSeed: 1 }, (learner) => {
    learner.learn([1, 0], [1]);
    assert.equal(learner.insecure, true);
    assert.equal(learner.model().private, false, 'its noise is known to anyone');
  });
});

const model = {
  format: 'dp-ftrl model',
  version: 1,
  loss: 'squared',
  inputs: [{ name: 'a', low: 0, high: 10 }, { name: 'b' }],
  intercept: true,
  weights: [1, 2, 100],
  lastWeights: [0, 0, 0],
  numExamples: 1,
  private: true,
  certificate: {},
};

test('predict: ranges and the intercept are applied', () => {
  const rows = [0, 0, 10, 0, 5, 3, -7, 0, 1000, 1];
  const expected = [99, 101, 106, 99, 103];
  assert.deepEqual([...dp.predict(model, rows)], expected);
  assert.deepEqual([...dp.predict(JSON.parse(JSON.stringify(model)), rows)], expected);
});

test('predict: invalid models are refused, and the error names the field', () => {
  const cases = [
    [5, TypeError, /model must be a learned model, got number/],
    [{ ...model, format: 'x' }, RangeError, /format must be "dp-ftrl model", got "x"/],
    [{ ...model, version: 2 }, RangeError, /version must be 1/],
    [{ ...model, wieghts: [] }, TypeError, /wieghts is an unknown option/],
    [{ ...model, weights: [1] }, TypeError, /weights must be one weight for each .* 3, got 1/],
    [{ ...model, weights: [1, 2, NaN] }, RangeError, /weights\[2\] must be finite, got NaN/],
    [{ ...model, inputs: 'ab' }, TypeError, /inputs must be an array, got string/],
    [{ ...model, inputs: [{}, {}] }, TypeError, /inputs\[0\]: name must be a string/],
    [
      { ...model, inputs: [{ name: 'a', low: 1, high: 1 }, { name: 'b' }] },
      RangeError,
      /inputs\[0\]: high must be finite and above low = 1, got 1/,
    ],
    [{ ...model, intercept: 1 }, TypeError, /intercept must be a boolean/],
  ];
  for (const [value, Kind, message] of cases) {
    assert.throws(
      () => dp.predict(value, [1, 1]),
      (error) => error instanceof Kind && message.test(error.message),
      String(message),
    );
  }
  rejects(() => dp.predict(model, [1]), TypeError, 'wrong_length', /a multiple of 2 entries/);
  rejects(
    () => dp.predict(model, [1, Infinity]),
    RangeError,
    'invalid_argument',
    /features\[1\] must be finite/,
  );
});

test('bad input: the error names a refused example, and nothing of its call is learned', () => {
  withLearner({ steps: 3 }, (learner) => {
    for (const verb of ['learn', 'releaseMany', 'releaseBatch', 'addMany']) {
      assert.throws(
        () => learner[verb]([1, 0, 0, 1], [1, 5]),
        ({ code, row, message }) =>
          code === 'invalid_argument' && row.index === 1 && /record 1: .*label/.test(message),
      );
    }
    assert.deepEqual([learner.step, learner.records], [0, 0]);
    rejects(() => learner.learn([1], [1]), TypeError, 'wrong_length', /features must have 2/);
    learner.learn([1, 0, 0, 1, 1, 1], [1, 0, 1]);
    rejects(() => learner.learn([1, 1], [1]), DpError, 'past_horizon', /horizon 3/);
    rejects(() => learner.losses([1], [1, 2]), TypeError, 'wrong_length', /scores must have 2/);
    rejects(() => learner.scores([1]), TypeError, 'wrong_length', /features must have a multiple/);
    rejects(() => learner.scores([1, NaN]), RangeError, 'invalid_argument', /features\[1\]/);
  });
});

test('learner: a loss of the caller sees nothing that was not stored', async () => {
  const { features, labels } = examples(6);
  let stored = 0;
  const seen = [];
  const store = {
    load: async () => undefined,
    save: async () => void (stored += 1),
    close: async () => {},
  };
  const loss = (scores) => {
    seen.push([scores.length, stored]);
    return { slopes: scores.map(() => 1) };
  };
  const options = { ...target, steps: 4, dimension: 2, batchSize: 2, loss, store };
  const learner = await dp.learner(options);
  await learner.learn(features, labels);
  assert.deepEqual(seen, [
    [2, 0],
    [2, 1],
    [2, 2],
  ]);
  assert.equal(stored, 3);
  await learner.dispose();
});

test('learner: the examples of a person count once, and keep their place', () => {
  const options = { steps: 3, batchSize: 2 };
  const { features, labels } = examples(6);
  const people = ['ann', 'bob', 'ann', 'carl', 'dora', 'dora'];
  const own = withLearner({ ...options, people: 'once' }, (learner) => {
    learner.learn(people, features, labels);
    assert.deepEqual([learner.step, learner.dropped], [3, 2]);
    return learner.weights();
  });
  const blank = features.slice();
  for (const i of [2, 5]) blank.fill(0, 2 * i, 2 * i + 2);
  const same = withLearner(options, (learner) => {
    learner.learn(blank, labels);
    return learner.weights();
  });
  assert.deepEqual(own, same);
});
