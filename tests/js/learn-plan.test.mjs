// SPDX-License-Identifier: Apache-2.0

// learnPlan: what a learner should be made with, from public numbers.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 4, delta: 1e-6 };
const facts = { rows: 500, dimension: 3, ...target };
const longest = Math.sqrt(3) * (1 + 2 ** -40);
const { noiseMultiplier } = dp.calibrate(target);
const optionsOf = (given) => dp.learnPlan(given).options;

test('learn plan: those of a stream follow the rule for any batch size', () => {
  const way = Math.min(320, (3 * 500) / (noiseMultiplier * (1 + Math.log(500) / Math.PI)));
  for (const batchSize of [1, 7]) {
    const steps = Math.ceil(500 / batchSize);
    const { lambda, ...rest } = optionsOf({ ...facts, batchSize });
    const clip = 0.1 * longest;
    const domain = 'whole-space';
    assert.deepEqual(rest, { ...target, dimension: 3, clip, domain, steps, batchSize });
    close(lambda, (clip * steps * Math.sqrt(3)) / way, 1e-12);
  }
});

test('learn plan: those of a table give the same model as learn', () => {
  const random = generator(2);
  const features = Array.from({ length: 1500 }, () => 2 * random() - 1);
  const labels = Array.from({ length: 500 }, (_, i) => Number(features[3 * i] > 0));
  const options = optionsOf({ ...facts, setup: 'table' });
  assert.equal(options.batchSize, 500);
  const learner = dp.learner({ ...options, insecureSeed: 3 });
  for (let step = 0; step < options.steps; ++step) learner.learn(features, labels);
  const { certificate, lastWeights } = learner.model();
  learner.dispose();
  const table = { features, labels, intercept: false };
  const model = dp.learn({ ...target, ...table, precondition: false, insecureSeed: 3 });
  assert.deepEqual(model.certificate, certificate);
  assert.deepEqual(model.weights, lastWeights);
});

test('learn plan: those of a table have the requested rates', () => {
  const descentOf = (more) => optionsOf({ ...facts, setup: 'table', ...more }).descent;
  const { rates, momentum } = descentOf({});
  rates.forEach((rate, step) => close(rate, (119.5 - step) / 60, 1e-15));
  assert.equal(rates.length, 120);
  assert.deepEqual(descentOf({ rates: 'linear' }), { rates, momentum });
  assert.deepEqual(descentOf({ rates: 'constant' }), { momentum });
});

test('learn plan: for a table, the noise per weight decides the clip norm and the distance', () => {
  for (const [numRows, numClasses, share, way] of [
    [20, 2, 0.05, 4],
    [90, 9, 0.05, 4],
    [9 * 54 * noiseMultiplier, 27, 0.06364, 6],
    [1e6, 2, 0.25, 8],
  ]) {
    const count = Math.round(numRows);
    const many = { loss: { softmax: numClasses } };
    const found = optionsOf({ ...facts, ...many, rows: count, setup: 'table' });
    close(found.clip / (Math.SQRT2 * longest * share), 1, 1e-2);
    const length = ((120 * found.clip) / found.lambda / (1 - 0.8)) * Math.sqrt(3);
    close(length / (count / noiseMultiplier), way, 1e-2);
  }
});

test('learn plan: a stream learns with them, and options given after them replace them', () => {
  const random = generator(5);
  const features = Array.from({ length: 1500 }, () => 2 * random() - 1);
  const labels = Array.from({ length: 500 }, (_, i) => Number(features[3 * i + 1] > 0));
  for (const more of [{}, { strategy: 'blt' }, { batchSize: 10 }]) {
    const { batchSize, ...others } = { batchSize: 1, ...more };
    const options = { ...optionsOf({ ...facts, batchSize }), ...others };
    const learner = dp.learner({ ...options, insecureSeed: 1 });
    learner.learn(features, labels);
    const scores = dp.predict(learner.model(), features);
    learner.dispose();
    const right = labels.filter((label, i) => scores[i] >= 0 === label > 0).length;
    assert.ok(right > 425, `${right} of 500 with ${JSON.stringify(more)}`);
  }
  assert.equal(dp.liveHandles, 0);
});

test('learn plan: the unclipped setup only sets the clip norm, to the longest gradient', () => {
  for (const [loss, slope] of [
    [{}, 1],
    [{ loss: 'hinge' }, 1],
    [{ loss: { quantile: 0.8 } }, 0.8],
    [{ loss: { huber: 2 } }, 2],
    [{ loss: { softmax: 4 } }, Math.SQRT2],
  ]) {
    const found = optionsOf({ ...facts, ...loss, setup: 'unclipped' });
    close(found.clip, slope * longest, 1e-12);
    const rest = { ...target, dimension: 3, steps: 500, clip: 0 };
    assert.deepEqual({ ...found, clip: 0 }, { ...loss, ...rest });
  }
});

test('learn plan: for a table, replace-one neighbours halve the distance', () => {
  const ways = ['zero-out', 'replace-one'].map((neighbours) => {
    const found = optionsOf({ ...facts, setup: 'table', neighbours });
    assert.equal(found.neighbours, neighbours);
    return found.clip / found.lambda;
  });
  close(ways[0] / ways[1], 2, 1e-12);
});

test('learn plan: an algorithm decides the setup, and is the one that runs', () => {
  const named = { 'dp-ftrl': 'stream', 'dp-gd': 'table' };
  const said = {
    'dp-ftrl': 'DP-FTRL, one pass, optimal',
    'dp-gd': 'private gradient descent, 120 passes',
  };
  for (const [algorithm, setup] of Object.entries(named)) {
    const options = optionsOf({ ...facts, algorithm });
    assert.deepEqual(options, optionsOf({ ...facts, setup }));
    const learner = dp.learner(options);
    assert.equal(learner.certificate.algorithm, said[algorithm]);
    assert.equal(learner.model().certificate.algorithm, said[algorithm]);
    learner.dispose();
    const unclipped = { ...facts, setup: 'unclipped' };
    assert.deepEqual(optionsOf({ ...unclipped, algorithm }), optionsOf(unclipped));
  }
  assert.deepEqual(optionsOf({ ...facts, algorithm: 'auto' }), optionsOf(facts));
});

test('learn plan: bad options are refused by name', () => {
  const refused = (more, message) =>
    assert.throws(() => dp.learnPlan({ ...facts, ...more }), { message });
  refused({ loss: 'squared' }, /^learnPlan: loss must be one with bounded slopes, got squared/);
  refused({ loss: () => ({ slopes: [] }) }, /^learnPlan: loss must be a name or an object, got/);
  refused({ rates: 'linear' }, /^learnPlan: rates must be for the setup 'table', got/);
  refused({ setup: 'table', rates: 'cosine' }, /^learnPlan: rates must be one of linear, constant/);
  refused({ setup: 'once' }, /^learnPlan: setup must be/);
  refused({ algorithm: 'sgd' }, /^learnPlan: algorithm must be one of auto, dp-ftrl, dp-gd, got/);
  refused(
    { algorithm: 'dp-gd', setup: 'stream' },
    /^learnPlan: setup must be 'table' or 'unclipped' with the algorithm 'dp-gd', got "?stream/,
  );
  refused({ rows: 0 }, /^learnPlan: rows must be/);
  refused({ dimension: 0 }, /^learnPlan: dimension must be/);
  refused({ batchSize: 0 }, /^learnPlan: batchSize must be/);
  refused({ epsilon: 0 }, /epsilon must be/);
  refused({ rows: undefined }, /rows/);
  refused({ clipNorm: 1 }, /clipNorm is an unknown option/);
});
