// SPDX-License-Identifier: Apache-2.0

// The optimizer of dp-ftrl/tfjs learns to read handwriting as well as a reference in JAX. This runs
// one seed each with correlated noise and without noise; scripts/test tensorflow runs ten, and
// independent noise, too.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { train } from './support/digit-network.mjs';
import { onlyInAll } from './support/extent.mjs';
import { digits, golden } from './support/handwriting.mjs';
import { networkLayers, tf, useBackend } from './support/tensorflow.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const { privateOptimizer } = await importEntry('dp-ftrl/tfjs');
const { settings, accuracies: reference } = golden;
/** Largest difference from the mean of the reference, in percentage points. */
const BAR = 2;
const isAsked = Boolean(process.env.DPFTRL_TENSORFLOW);
const seeds = Array.from({ length: isAsked ? reference.none.length : 1 }, (_, i) => i + 1);

const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
const spread = (values) =>
  Math.hypot(...values.map((x) => x - mean(values))) / Math.sqrt(values.length - 1);
const percent = (share) => (100 * share).toFixed(1);

const data = digits();
await useBackend('cpu');
const libraries = { tf, layers: networkLayers, dp, privateOptimizer };
const readBy = (noise, more) =>
  seeds.map((seed) => train(libraries, { data, settings, noise, seed, ...more }));
let correlated;

/** Fails unless the mean is within BAR of the reference. */
function assertNear(measured, expected, what) {
  const difference = 100 * Math.abs(mean(measured) - mean(expected));
  assert.ok(
    difference <= BAR,
    `${what}: ${percent(mean(measured))}, not ${percent(mean(expected))}`,
  );
}

function show(t, noise, measured) {
  const columns = [measured, reference[noise]].map((values) => {
    const deviation = values.length > 1 ? ` (${percent(spread(values))})` : '';
    return `${percent(mean(values))}${deviation}`;
  });
  t.diagnostic(`${noise.padEnd(11)} TensorFlow.js ${columns[0].padEnd(12)} JAX ${columns[1]}`);
}

test(
  'handwriting: without privacy, SGD of TensorFlow.js is as accurate as JAX, seed by seed',
  onlyInAll,
  (t) => {
    const measured = readBy('none');
    show(t, 'none', measured);
    measured.forEach((share, i) => {
      // Three images in a thousand are allowed, since weights differ by rounding errors.
      assert.ok(Math.abs(share - reference.none[i]) <= 0.0031, `seed ${seeds[i]}: ${share}`);
    });
  },
);

test(
  'handwriting: with correlated noise, it is as accurate as JAX with the noise of jax_privacy',
  onlyInAll,
  (t) => {
    const measured = (correlated = readBy('optimal'));
    show(t, 'optimal', measured);
    assertNear(measured, reference.optimal, 'optimal');
    // BAR is small enough to distinguish it from both alternatives.
    for (const other of ['none', 'independent']) {
      assert.throws(() => assertNear(measured, reference[other], other), /not \d/);
    }
  },
);

test('handwriting: with independent noise, it is less accurate', { skip: !isAsked }, (t) => {
  const measured = readBy('independent');
  show(t, 'independent', measured);
  assertNear(measured, reference.independent, 'independent');
  assert.ok(mean(correlated) - mean(measured) > 0.02);
});

test('handwriting: a quarter of epsilon visibly changes the accuracy', { skip: !isAsked }, (t) => {
  const weaker = readBy('optimal', { epsilon: settings.epsilon / 4 });
  t.diagnostic(`optimal     at epsilon ${settings.epsilon / 4}: ${percent(mean(weaker))}`);
  assert.throws(() => assertNear(weaker, reference.optimal, 'optimal'), /not \d/);
});
