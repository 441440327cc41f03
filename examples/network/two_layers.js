// SPDX-License-Identifier: Apache-2.0

// Trains a two-layer network privately in plain JavaScript. The example computes per-example
// gradients; dp-ftrl does clipping, noise and Adam.
//
//   node examples/network/two_layers.js [SEED]

import { load } from 'dp-ftrl';

const NUM_INPUTS = 2;
const NUM_HIDDEN = 16;
/** Weights and biases of the hidden layer, then weights and bias of the output. */
const NUM_WEIGHTS = NUM_HIDDEN * (NUM_INPUTS + 1) + NUM_HIDDEN + 1;

/** Seeded generator of uniform numbers for reproducible data. Not for noise. */
function uniforms(seed) {
  let state = (seed >>> 0) + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Points on two concentric rings, which no linear model can separate. */
function rings(numExamples, random) {
  return Array.from({ length: numExamples }, (_, i) => {
    const label = i % 2;
    const radius = (label ? 1 : 0.4) + 0.1 * (random() - 0.5);
    const angle = 2 * Math.PI * random();
    return { x: [radius * Math.cos(angle), radius * Math.sin(angle)], label };
  });
}

function startWeights(random) {
  return Float64Array.from({ length: NUM_WEIGHTS }, () => 2 * (random() - 0.5));
}

/** Probability of label 1, and the activations of the hidden layer. */
function predict(weights, [x, y]) {
  const output = 3 * NUM_HIDDEN;
  const hidden = new Float64Array(NUM_HIDDEN);
  let score = weights[output + NUM_HIDDEN];
  for (let k = 0; k < NUM_HIDDEN; k++) {
    hidden[k] = Math.tanh(weights[3 * k] * x + weights[3 * k + 1] * y + weights[3 * k + 2]);
    score += weights[output + k] * hidden[k];
  }
  return { probability: 1 / (1 + Math.exp(-score)), hidden };
}

/** Gradient of the logistic loss of one example. */
function gradient(weights, { x, label }) {
  const output = 3 * NUM_HIDDEN;
  const { probability, hidden } = predict(weights, x);
  const slope = probability - label;
  const result = new Float64Array(NUM_WEIGHTS);
  for (let k = 0; k < NUM_HIDDEN; k++) {
    const back = slope * weights[output + k] * (1 - hidden[k] ** 2);
    result.set([back * x[0], back * x[1], back], 3 * k);
    result[output + k] = slope * hidden[k];
  }
  result[output + NUM_HIDDEN] = slope;
  return result;
}

function accuracy(weights, examples) {
  const right = examples.filter(
    ({ x, label }) => predict(weights, x).probability > 0.5 === (label === 1),
  );
  return right.length / examples.length;
}

/** Makes one pass over all examples per epoch; the noise protects each example in all epochs. */
function train(dp, examples, { epochs, batchSize, start, ...options }) {
  const perEpoch = examples.length / batchSize;
  const learner = dp.gradientLearner({
    steps: epochs * perEpoch,
    participation: { epochs },
    dimension: NUM_WEIGHTS,
    batchSize,
    start,
    ...options,
  });
  let weights = learner.weights();
  for (let step = 0; step < learner.steps; step++) {
    const first = (step % perEpoch) * batchSize;
    for (const example of examples.slice(first, first + batchSize)) {
      learner.add(gradient(weights, example));
    }
    ({ weights } = learner.end());
  }
  learner.dispose();
  return weights;
}

const random = uniforms(Number(process.argv[2] ?? 1));
const [examples, others] = [rings(2000, random), rings(1000, random)];
const dp = await load();
const settings = { epochs: 4, batchSize: 100, start: startWeights(random), clip: 1 };
const target = { strategy: { name: 'banded-square-root', bands: 20 }, epsilon: 4, delta: 1e-6 };
const weights = train(dp, examples, { ...settings, ...target, rule: { adam: {} }, rate: 0.05 });
console.log(accuracy(settings.start, others), accuracy(weights, others));
