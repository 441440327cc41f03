// SPDX-License-Identifier: Apache-2.0

// The optimizer of dp-ftrl/tfjs with the real TensorFlow.js.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { layers as tfLayers, tf, useBackend } from './support/tensorflow.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
const dp = await load();
const { layers } = tfLayers;
const target = { steps: 6, epsilon: 2, delta: 1e-6, clip: 0.5, insecureSeed: 9, rate: 0.1 };

/** A generator of uniform numbers in [-1, 1). */
function uniforms(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  };
}

/** An optimizer and its inner learner, whose weights have not been rounded to single precision. */
function opened(variables, options) {
  let learner;
  const library = { gradientLearner: (given) => (learner = dp.gradientLearner(given)) };
  const optimizer = privateOptimizer(tf, library, { ...target, variables, ...options });
  return { optimizer, learner };
}

/** The variables of a layered model. */
const variablesOf = (model) => model.trainableWeights.map((weight) => weight.read());

/** A variable that shares its memory with no tensor. */
function variable(values, shape) {
  return tf.tidy(() => tf.variable(tf.tensor(values, shape)));
}

/**
 * Sum of a batch with the noise of the first step, which is the same for all batches; restores the
 * variables.
 */
function noisySum(variables, lossOf, batch, clip) {
  const start = variables.map((it) => tf.clone(it));
  const options = { strategy: 'tree', rule: 'ftrl', rate: 1, clip };
  const { optimizer, learner } = opened(variables, options);
  const before = learner.weights();
  optimizer.minimize(lossOf, ...batch);
  const sum = learner.weights().map((w, i) => before[i] - w);
  optimizer.dispose();
  variables.forEach((it, i) => it.assign(start[i]));
  return { sum, grid: learner.grid };
}

/** A logistic model of two variables: its loss in TensorFlow.js, and its gradient by hand. */
function logistic() {
  const w = variable([0.5, -0.25, 1], [3, 1]);
  const b = variable([0.125], [1]);
  const lossOf = (x, y) => tf.losses.sigmoidCrossEntropy(y, tf.add(tf.matMul(x, w), b));
  const gradient = ([w0, w1, w2, bias], x, y) => {
    const score = w0 * x[0] + w1 * x[1] + w2 * x[2] + bias;
    const slope = 1 / (1 + Math.exp(-score)) - y;
    return [...x.map((value) => slope * value), slope];
  };
  const values = () => [...w.dataSync(), ...b.dataSync()];
  return { variables: [w, b], lossOf, gradient, values, dispose: () => tf.dispose([w, b]) };
}

const random = uniforms(5);
const numbers = (count, scale = 1) => Array.from({ length: count }, () => scale * random());
const examples = Array.from({ length: 4 }, (_, i) => ({ x: numbers(3, i), y: i % 2 }));
const tensorsOf = (some) => [
  tf.tensor2d(
    some.map(({ x }) => x),
    [some.length, 3],
  ),
  tf.tensor2d(
    some.map(({ y }) => [y]),
    [some.length, 1],
  ),
];

/** Runs steps with these examples and returns the variables after each. */
function play(options, batches, use = (optimizer, ...given) => optimizer.minimize(...given)) {
  const model = logistic();
  const { optimizer } = opened(model.variables, options);
  const rows = batches.map((batch) => {
    tf.tidy(() => use(optimizer, model.lossOf, ...tensorsOf(batch)));
    return model.values();
  });
  optimizer.dispose();
  model.dispose();
  return rows;
}

function close(actual, expected, most) {
  assert.equal(actual.length, expected.length);
  actual.forEach((x, i) =>
    assert.ok(Math.abs(x - expected[i]) <= most, `${actual}, not ${expected}`),
  );
}

for (const backend of ['cpu', 'wasm']) {
  test(`tfjs, ${backend}: variables are those of gradientLearner with gradients of single examples`, async () => {
    await useBackend(backend);
    for (const options of [
      { strategy: 'tree', batchSize: 4 },
      { strategy: 'optimal', rule: 'ftrl', radius: 0.5, batchSize: 3 },
      { strategy: 'blt-rational', rule: { adam: {} }, batchSize: 4 },
    ]) {
      const model = logistic();
      const { variables, lossOf, gradient, values } = model;
      const { optimizer } = opened(variables, options);
      const start = values();
      const learner = dp.gradientLearner({ ...target, ...options, dimension: 4, start });
      assert.deepEqual(optimizer.certificate, learner.certificate);
      assert.deepEqual([optimizer.steps, optimizer.insecure], [6, true]);
      for (let step = 0; step < target.steps; ++step) {
        assert.equal(optimizer.step, step);
        const at = values();
        const gradients = examples.flatMap(({ x, y }) => gradient(at, x, y));
        const { weights: next } = learner.releaseBatch(gradients);
        tf.tidy(() => optimizer.minimize(lossOf, ...tensorsOf(examples)));
        // A gradient that differs by a rounding error may fall on another point of the grid.
        close(values(), [...next], 1e-5 + 4 * target.rate * learner.grid);
      }
      assert.ok(optimizer.insecure && !optimizer.disposed);
      optimizer.dispose();
      learner.dispose();
      model.dispose();
    }
  });
}

/** The default initializer needs more of TensorFlow.js than is loaded here. */
const recurrentInitializer = 'glorotUniform';

/** Models of several kinds, each with an input and a loss. */
const kinds = [
  (draw) => {
    const units = () => 1 + Math.floor(6 * Math.abs(draw()));
    const activation = draw() > 0 ? 'tanh' : 'relu';
    const all = [layers.dense({ units: units(), activation, inputShape: [5] })];
    if (draw() > 0) all.push(layers.layerNormalization(), layers.dense({ units: units() }));
    return [...all, layers.dense({ units: 3 })];
  },
  () => [
    layers.reshape({ targetShape: [5, 1], inputShape: [5] }),
    layers.conv1d({ filters: 2, kernelSize: 3, activation: 'tanh' }),
    layers.flatten(),
    layers.dense({ units: 3 }),
  ],
  () => [
    layers.reshape({ targetShape: [5, 1], inputShape: [5] }),
    layers.lstm({ units: 3, recurrentInitializer }),
    layers.dense({ units: 3 }),
  ],
  () => [
    layers.batchNormalization({ inputShape: [5] }), // not in training mode
    layers.dense({ units: 3 }),
  ],
];

/** Gradient of one example, variable by variable. */
function gradientsOf(variables, lossOf, example) {
  return tf.tidy(() => {
    const { grads } = tf.variableGrads(() => lossOf(...example), variables);
    return variables.map(({ name, size }) => [
      ...(grads[name]?.dataSync() ?? new Array(size).fill(0)),
    ]);
  });
}

test('tfjs: an example moves the sum by its gradient over all variables, clipped to the clip norm', async () => {
  await useBackend('cpu');
  let clipped = 0;
  let longerByVariable = 0;
  for (let trial = 0; trial < 24; ++trial) {
    const draw = uniforms(trial + 1);
    const model = tfLayers.sequential({ layers: kinds[trial % kinds.length](draw) });
    // Randomises biases as well: many models initialise them to zero, which hides errors.
    model.setWeights(
      model.getWeights().map((w) => {
        return tf.tensor(
          Float32Array.from({ length: w.size }, () => 0.5 + 0.4 * draw()),
          w.shape,
        );
      }),
    );
    const variables = variablesOf(model);
    const lossOf = (x, y) => tf.losses.softmaxCrossEntropy(y, model.apply(x));
    const scale = 10 ** (2 * draw());
    const inputs = Array.from({ length: 4 }, () => Array.from({ length: 5 }, () => scale * draw()));
    const wanted = inputs.map((_, i) => [0, 1, 2].map((k) => (k === i % 3 ? 1 : 0)));
    const clip = 10 ** draw();
    const batchOf = (rows) =>
      [inputs, wanted].map((all) => tf.tensor2d(rows.map((row) => all[row])));
    const sumOf = (rows) => noisySum(variables, lossOf, batchOf(rows), clip);
    tf.tidy(() => {
      const { sum, grid } = sumOf([0, 1, 2, 3]);
      const without = trial % 4;
      const others = sumOf([0, 1, 2, 3].filter((row) => row !== without)).sum;
      const moved = sum.map((x, i) => x - others[i]);
      assert.ok(Math.hypot(...moved) <= clip * (1 + 1e-9), `model ${trial}`);
      const parts = gradientsOf(variables, lossOf, batchOf([without]));
      const length = Math.hypot(...parts.flat());
      const factor = Math.min(1, clip / length);
      const places = parts.flat().map((x) => factor * x);
      close([...moved], places, 1e-5 * clip + 2 * grid);
      const bound = Math.hypot(...parts.map((part) => Math.min(clip, Math.hypot(...part))));
      clipped += factor < 1;
      longerByVariable += bound > 1.1 * clip;
    });
    model.dispose();
  }
  // Some examples are clipped, some are not, and some would stay too long if clipped per variable.
  assert.ok(
    clipped >= 6 && clipped <= 20 && longerByVariable >= 4,
    `${clipped}, ${longerByVariable}`,
  );
  assert.equal(dp.liveHandles, 0);
});

test('tfjs: batches have any number of rows, at once or in parts, and may be empty', () => {
  const options = { strategy: 'tree', batchSize: 2 };
  const batches = [examples, [], examples.slice(0, 1), examples.slice(1)];
  const inParts = (optimizer, lossOf, x, y) => {
    const [numRows] = x.shape;
    const part = (tensor, begin, count) => tf.slice(tensor, [begin, 0], [count, -1]);
    const half = Math.floor(numRows / 2);
    optimizer.add(lossOf, part(x, 0, half), part(y, 0, half));
    optimizer.minimize(lossOf, part(x, half, numRows - half), part(y, half, numRows - half));
  };
  const rows = play(options, batches);
  assert.deepEqual(play(options, batches, inParts), rows);
  assert.notDeepEqual(play(options, [examples, [], examples.slice(1, 2)])[2], rows[2]);
  // With an empty batch, the variables change by noise alone.
  assert.notDeepEqual(rows[1], rows[0]);
  assert.deepEqual(play(options, [[]]), play({ ...options, clip: 0.5 }, [[]]));
});

test('tfjs: no tensor is leaked, whether calls succeed or fail', () => {
  const model = logistic();
  const count = () => [tf.memory().numTensors, tf.memory().numDataBuffers];
  const { optimizer } = opened(model.variables, { strategy: 'tree', batchSize: 4 });
  const batch = tensorsOf(examples);
  const before = count();
  for (let step = 0; step < target.steps; ++step) {
    optimizer.minimize(model.lossOf, ...batch);
    assert.deepEqual(count(), before);
    const bad = () => tf.sum(tf.div(model.variables[1], tf.scalar(0)));
    const writes = (x, y) => {
      model.variables[1].assign(tf.add(model.variables[1], tf.mean(x)));
      return model.lossOf(x, y);
    };
    for (const lossOf of [bad, writes, () => tf.scalar(1), () => assert.fail('no')]) {
      assert.throws(() => optimizer.minimize(lossOf, ...batch));
      assert.deepEqual(count(), before);
    }
  }
  optimizer.dispose();
  assert.deepEqual(count(), before);
  assert.equal(dp.liveHandles, 0);
  model.dispose();
  tf.dispose(batch);
});

test('tfjs: a variable that the loss of an example leaves out has gradient 0 there', () => {
  const [unused, w, other] = [variable([3], []), variable([1, 2], [2]), variable([5], [])];
  tf.tidy(() => {
    // The first example has the gradient of w, the second that of another variable.
    const lossOf = (x) => (x.dataSync()[0] > 0 ? tf.sum(tf.mul(x, w)) : tf.mul(other, 2));
    const sumOf = (rows) =>
      noisySum([unused, w, other], lossOf, [tf.tensor2d(rows, [rows.length, 2])], 6);
    const { sum, grid } = sumOf([
      [3, 4],
      [0, 0],
    ]);
    close([...sum.map((x, i) => x - sumOf([]).sum[i])], [0, 3, 4, 2], 2 * grid);
  });
  tf.dispose([unused, w, other]);
});

/** Expects a refused call to leave the variables and the next step unaffected. */
function changesNothing(call, Kind, code, message) {
  const options = { strategy: 'tree', batchSize: 4 };
  const model = logistic();
  const { optimizer } = opened(model.variables, options);
  const before = model.values();
  tf.tidy(() => {
    for (const name of ['minimize', 'add']) {
      const give = (...given) => optimizer[name](...given);
      rejects(() => call(give, model, tensorsOf(examples)), Kind, code, message);
    }
    assert.deepEqual([optimizer.step, ...model.values()], [0, ...before]);
    optimizer.minimize(model.lossOf, ...tensorsOf(examples));
  });
  assert.deepEqual([model.values()], play(options, [examples]));
  optimizer.dispose();
  model.dispose();
}

test('tfjs: gradients that are not finite are refused with their example and variable', () => {
  const at =
    (bad) =>
    (give, { lossOf, variables: [, b] }, [x, y]) => {
      const factor = tf.tensor2d([[1], [1], [bad], [1]]);
      return give(
        (one, wanted, by) => tf.add(lossOf(one, wanted), tf.sum(tf.mul(by, b))),
        x,
        y,
        factor,
      );
    };
  const told = (value) =>
    new RegExp(`: example 2: lossOf must have a finite gradient by variable \\d+, got ${value}$`);
  changesNothing(at(NaN), RangeError, 'invalid_argument', told(NaN));
  changesNothing(at(Infinity), RangeError, 'invalid_argument', told(Infinity));
});

test('tfjs: a loss that writes to variables is refused, and they are put back', () => {
  const leak = variable([7], [1]);
  changesNothing(
    (give, { lossOf }, batch) => {
      const counting = (x, y) => {
        leak.assign(tf.add(leak, tf.mean(x)));
        return lossOf(x, y);
      };
      give(counting, ...batch);
    },
    DpError,
    'unsupported',
    /: lossOf must change no variable, but changed \d+$/,
  );
  assert.deepEqual([...leak.dataSync()], [7]);
  leak.dispose();
  changesNothing(
    (give, { lossOf, variables: [w] }, batch) => {
      give((x, y) => tf.tidy(() => (w.assign(tf.mul(w, 2)), lossOf(x, y))), ...batch);
    },
    DpError,
    'unsupported',
    /lossOf must change no variable/,
  );
  const named = () => Object.keys(tf.engine().registeredVariables).length;
  const numVariables = named();
  for (let call = 0; call < 2; ++call) {
    changesNothing(
      (give, { lossOf }, batch) => give((x, y) => (tf.variable(x), lossOf(x, y)), ...batch),
      DpError,
      'unsupported',
      /: lossOf must make no variable, but made \d+$/,
    );
  }
  assert.equal(named(), numVariables);
  const kept = [];
  changesNothing(
    (give, { lossOf }, batch) =>
      give((x, y) => (kept.push(tf.keep(tf.clone(x))), lossOf(x, y)), ...batch),
    DpError,
    'unsupported',
    /: lossOf must depend on its example alone, but keeps tensors$/,
  );
  tf.dispose(kept);
});

/** Trains a model of layers for one step; `training` is passed to its layers. */
function step(all, training) {
  const model = tfLayers.sequential({ layers: all });
  const before = model.getWeights().map((w) => [...w.dataSync()]);
  const { optimizer } = opened(undefined, { model, strategy: 'tree', batchSize: 4 });
  const lossOf = (x, y) => tf.losses.meanSquaredError(y, model.apply(x, { training }));
  try {
    tf.tidy(() => optimizer.minimize(lossOf, tf.ones([4, 3]), tf.ones([4, 2])));
    return { step: optimizer.step };
  } catch (error) {
    const after = model.getWeights().map((w) => [...w.dataSync()]);
    return {
      error,
      step: optimizer.step,
      isRestored: JSON.stringify(after) === JSON.stringify(before),
    };
  } finally {
    optimizer.dispose();
    model.dispose();
  }
}

test('tfjs: layers whose state goes from example to example are refused, dropout is not', () => {
  const normalised = () => [
    layers.dense({ units: 3, inputShape: [3] }),
    layers.batchNormalization(),
    layers.dense({ units: 2 }),
  ];
  const { error, isRestored, ...rest } = step(normalised(), true);
  assert.equal(error.code, 'unsupported');
  assert.match(
    error.message,
    /changed batch_normalization_\w+\/moving_mean, batch_normalization_\w+\/moving_variance$/,
  );
  assert.ok(isRestored);
  assert.equal(rest.step, 0);
  assert.deepEqual(step(normalised(), false), { step: 1 });
  const recurrent = (stateful) => [
    layers.reshape({ targetShape: [3, 1], batchInputShape: [1, 3] }),
    layers.gru({ units: 2, stateful, recurrentInitializer }),
  ];
  for (const training of [true, false])
    assert.deepEqual(step(recurrent(false), training), { step: 1 });
  for (const wrap of [(it) => it, (it) => [tfLayers.sequential({ layers: it })]]) {
    const model = tfLayers.sequential({ layers: wrap(recurrent(true)) });
    const make = () => opened(undefined, { model });
    rejects(make, DpError, 'unsupported', /^privateOptimizer: model must have no stateful layer/);
    // If the model is given as variables, the optimizer notices only when tensors are left behind.
    const { optimizer } = opened(variablesOf(model), { strategy: 'tree' });
    const lossOf = (x) => tf.sum(model.apply(x, { training: true }));
    const minimize = () => optimizer.minimize(lossOf, tf.ones([2, 3]));
    rejects(() => tf.tidy(minimize), DpError, 'unsupported', /keeps tensors/);
    optimizer.dispose();
    model.dispose();
  }
  // The model does not report this if a layer is wrapped in another.
  const layer = layers.gru({ units: 2, stateful: true, recurrentInitializer });
  const wrapped = layers.timeDistributed({ layer, batchInputShape: [1, 4, 3, 1] });
  const model = tfLayers.sequential({ layers: [wrapped] });
  assert.equal(model.stateful, false);
  rejects(() => opened(undefined, { model }), DpError, 'unsupported', /stateful layer/);
  model.dispose();
  const dropped = [layers.dropout({ rate: 0.5, inputShape: [3] }), layers.dense({ units: 2 })];
  assert.deepEqual(step(dropped, true), { step: 1 });
});

test('tfjs: variables that others changed are refused, and so are steps past the horizon', () => {
  const model = logistic();
  const { optimizer } = opened(model.variables, { strategy: 'tree', steps: 2 });
  const batch = tensorsOf(examples);
  const minimize = () => optimizer.minimize(model.lossOf, ...batch);
  minimize();
  minimize();
  rejects(minimize, DpError, 'past_horizon', /^minimize: step must be below the horizon 2, got 2$/);
  optimizer.dispose();
  assert.ok(optimizer.disposed);
  rejects(minimize, DpError, 'disposed', /was disposed of/);
  const other = opened(model.variables, { strategy: 'tree' }).optimizer;
  tf.train.sgd(0.1).minimize(() => model.lossOf(...batch), false, model.variables);
  rejects(
    () => other.minimize(model.lossOf, ...batch),
    DpError,
    'bad_state',
    /^minimize: variable \d+ was changed by others: make a new optimizer$/,
  );
  other.dispose();
  model.dispose();
  tf.dispose(batch);
});

test('tfjs: a moving average that others changed between two steps is refused', () => {
  const model = tfLayers.sequential({
    layers: [
      tfLayers.layers.batchNormalization({ inputShape: [3] }),
      tfLayers.layers.dense({ units: 1 }),
    ],
  });
  const optimizer = privateOptimizer(tf, dp, { ...target, model });
  const batch = tensorsOf(examples);
  const lossOf = (x) => tf.tidy(() => tf.mean(model.apply(x, { training: false })));
  optimizer.minimize(lossOf, batch[0]);
  tf.tidy(() => void model.apply(batch[0], { training: true }));
  rejects(
    () => optimizer.minimize(lossOf, batch[0]),
    DpError,
    'bad_state',
    /moving_mean was changed by others/,
  );
  optimizer.dispose();
  model.dispose();
  tf.dispose(batch);
});

test('tfjs: after a lack of memory the next call ends the step, without repeating its batch', () => {
  const model = logistic();
  let failures = 1;
  const failing = {
    gradientLearner: (options) => {
      const learner = dp.gradientLearner(options);
      const end = learner.end.bind(learner);
      learner.end = () => {
        if (failures-- > 0)
          throw Object.assign(new Error('no memory'), { code: 'resource_exhausted' });
        return end();
      };
      return learner;
    },
  };
  const options = { ...target, variables: model.variables };
  const optimizer = privateOptimizer(tf, failing, options);
  const batch = tensorsOf(examples);
  assert.throws(() => optimizer.minimize(model.lossOf, ...batch));
  optimizer.minimize(model.lossOf, ...batch);
  const after = model.variables.map((v) => [...v.dataSync()]);
  const other = logistic();
  const plain = privateOptimizer(tf, dp, { ...target, variables: other.variables });
  plain.minimize(other.lossOf, ...batch);
  assert.deepEqual(
    after,
    other.variables.map((v) => [...v.dataSync()]),
  );
  for (const it of [optimizer, plain, model, other]) it.dispose();
  tf.dispose(batch);
});

test('tfjs: invalid losses, batches and models are refused by name', () => {
  const model = logistic();
  const { optimizer } = opened(model.variables, { strategy: 'tree' });
  const batch = tensorsOf(examples);
  for (const loss of [(x) => x, () => undefined, () => 1, async () => tf.scalar(1)]) {
    rejects(
      () => optimizer.minimize(loss, ...batch),
      TypeError,
      'wrong_type',
      /lossOf must be a function that returns a scalar/,
    );
  }
  for (const shape of [[-1, 2], [NaN, 2], ['a', 2], [1.5, 2], []]) {
    rejects(
      () => optimizer.minimize(model.lossOf, { shape }),
      TypeError,
      'wrong_type',
      /batch\[0\] must be a tensor/,
    );
  }
  assert.equal(optimizer.step, 0);
  for (const bad of [
    { trainableWeights: [1] },
    { trainableWeights: [{ read: () => model.variables[0] }] },
  ]) {
    rejects(
      () => privateOptimizer(tf, dp, { ...target, model: bad }),
      TypeError,
      'wrong_type',
      /model must be a built model/,
    );
  }
  optimizer.dispose();
  model.dispose();
  tf.dispose(batch);
});

test('tfjs: weights too large for single precision are reported, and the step ends', () => {
  const w = variable([0], []);
  const options = { strategy: 'tree', rate: 1e38, clip: 100, epsilon: 1000 };
  const { optimizer } = opened([w], options);
  const minimize = () => optimizer.minimize((x) => tf.mul(w, tf.sum(x)), tf.tensor1d([50]));
  rejects(
    () => tf.tidy(minimize),
    DpError,
    'bad_state',
    /^minimize: the weights left single precision/,
  );
  assert.equal(optimizer.step, 1);
  optimizer.dispose();
  const far = opened([w], { ...options, rate: 1e308, clip: 1e6 }).optimizer;
  const lose = () => far.minimize((x) => tf.mul(w, tf.sum(x)), tf.tensor1d([1e5, 1e5]));
  rejects(() => tf.tidy(lose), DpError, 'bad_state', /the weights left the doubles/);
  assert.equal(far.step, 1);
  rejects(() => tf.tidy(lose), DpError, 'bad_state', /^minimize: the weights left the doubles/);
  assert.equal(far.step, 1, 'no further step is spent');
  far.dispose();
  w.dispose();
});

test('tfjs: bad options and batches are refused', () => {
  const model = logistic();
  const make = (options) => () => opened(model.variables, options).optimizer;
  for (const own of [{ dimension: 4 }, { start: [0, 0, 0, 0] }, { clippedTo: 1 }]) {
    const [name] = Object.keys(own);
    rejects(
      make(own),
      TypeError,
      'wrong_type',
      new RegExp(`^privateOptimizer: ${name} must be left out`),
    );
  }
  for (const unused of [{ store: {} }, { people: 'once' }]) {
    const [name] = Object.keys(unused);
    const message = new RegExp(`^privateOptimizer: ${name} must be left out: with it, compute`);
    rejects(make(unused), DpError, 'unsupported', message);
  }
  const frozen = tf.variable(tf.scalar(1), false);
  const whole = tf.variable(tf.scalar(1, 'int32'));
  const [w] = model.variables;
  for (const [variables, message] of [
    [undefined, /variables must be an array of variables of TensorFlow.js, got undefined$/],
    [[], /variables must be an array/],
    [[w, undefined], /variables\[1\] must be a trainable variable of TensorFlow.js/],
    [[tf.scalar(1)], /variables\[0\] must be a trainable variable/],
    [[frozen], /variables\[0\] must be a trainable variable/],
    [[whole], /variables\[0\] must be a trainable variable .* float32/],
    [[w, w], /variables\[1\] must not be there twice$/],
  ]) {
    rejects(make({ variables }), TypeError, 'wrong_type', message);
  }
  const modelOf = (trainableWeights) => make({ variables: undefined, model: { trainableWeights } });
  for (const weights of [undefined, []]) {
    const message =
      /^privateOptimizer: model must be a built model of TensorFlow.js with weights to train/;
    rejects(modelOf(weights), TypeError, 'wrong_type', message);
  }
  rejects(
    make({ model: {} }),
    TypeError,
    'wrong_type',
    /variables must be left out where model is given$/,
  );
  rejects(
    make({ rate: 0 }),
    RangeError,
    'invalid_argument',
    /^privateOptimizer: rate must be positive/,
  );
  rejects(
    make({ clipNorm: 1 }),
    TypeError,
    'wrong_type',
    /^privateOptimizer: clipNorm is an unknown option/,
  );
  rejects(
    () => privateOptimizer(tf, dp),
    TypeError,
    'wrong_type',
    /^privateOptimizer: options must be an object/,
  );
  frozen.dispose();
  whole.dispose();
  model.dispose();
  const wrong = (Kind, code, message, change) =>
    changesNothing(
      (give, { lossOf }, batch) => give(...change(lossOf, batch)),
      Kind,
      code,
      message,
    );
  wrong(TypeError, 'wrong_type', /: lossOf must be a function, got undefined$/, (_, batch) => [
    undefined,
    ...batch,
  ]);
  wrong(TypeError, 'wrong_type', /: batch must be tensors with a row/, (lossOf) => [lossOf]);
  wrong(TypeError, 'wrong_type', /: batch\[1\] must be a tensor with a row/, (lossOf, [x]) => [
    lossOf,
    x,
    tf.scalar(1),
  ]);
  wrong(TypeError, 'wrong_type', /: batch\[0\] must be a tensor with a row/, (lossOf) => [
    lossOf,
    [1, 2],
  ]);
  const short = (lossOf, [x]) => [lossOf, x, tf.ones([3, 1])];
  wrong(
    TypeError,
    'wrong_length',
    /: batch\[1\] must have as many rows as the first, 4, got 3$/,
    short,
  );
  assert.equal(dp.liveHandles, 0);
});
