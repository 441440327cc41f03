// SPDX-License-Identifier: Apache-2.0

// Federated learning with correlated noise: devices clip their gradients, the server adds them up
// with the noise of the round, and models are computed from noisy sums only.
//
//   node examples/federated/rounds.mjs [SEED]
//
// A device takes part in at most 4 rounds, 25 rounds apart, and all of its records are protected
// together. SEED determines the synthetic data; the noise is always fresh. Prints the mean squared
// error of the first and of the last model over all data, which is not private.

import { load } from 'dp-ftrl';

const NUM_DEVICES = 2000;
const NUM_ROUNDS = 100;
const GROUP = NUM_DEVICES / 25;
const TRUTH = [0.8, -0.5, 0.3];

/** Seeded generator of uniform numbers for reproducible data. Not for noise. */
function uniforms(seed) {
  let state = (seed >>> 0) + 1;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const random = uniforms(Number(process.argv[2] ?? 1));
const devices = Array.from({ length: NUM_DEVICES }, () =>
  Array.from({ length: 5 }, () => {
    const x = TRUTH.map(() => 2 * random() - 1);
    return { x, y: TRUTH.reduce((sum, w, i) => sum + w * x[i], 0.2 * (random() - 0.5)) };
  }),
);

const residual = (weights, { x, y }) => weights.reduce((sum, w, i) => sum + w * x[i], -y);

/** Returns the gradient that a device sends, over its own examples and clipped to norm 1. */
function clippedGradient(weights, examples) {
  const gradient = weights.map((_, i) =>
    examples.reduce((sum, one) => sum + residual(weights, one) * one.x[i], 0),
  );
  const norm = Math.hypot(...gradient);
  return norm > 1 ? gradient.map((g) => g / norm) : gradient;
}

const error = (weights) => {
  const all = devices.flat();
  return all.reduce((sum, one) => sum + residual(weights, one) ** 2, 0) / all.length;
};

const dp = await load();
const rounds = dp.increments({
  steps: NUM_ROUNDS,
  participation: { times: 4, apart: 25 },
  epsilon: 2,
  delta: 1e-6,
  clippedTo: 1,
  dimension: TRUTH.length,
});

let weights = TRUTH.map(() => 0);
const before = error(weights);
for (let round = 0; round < NUM_ROUNDS; round++) {
  // The devices of a round come back 25 rounds later.
  const group = devices.slice((round % 25) * GROUP, ((round % 25) + 1) * GROUP);
  const sum = TRUTH.map(() => 0);
  for (const device of group) {
    clippedGradient(weights, device).forEach((g, i) => (sum[i] += g));
  }
  const { values } = rounds.release(sum);
  weights = weights.map((w, i) => w - (0.5 * values[i]) / GROUP);
}
rounds.dispose();
console.log(before.toFixed(4), error(weights).toFixed(4));
