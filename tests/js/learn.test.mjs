// SPDX-License-Identifier: Apache-2.0

// learn: from a table and a target to a private model.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { close, rejects } from './support/check.mjs';
import { dpFtrl, entryUrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('learn');
const target = { epsilon: 8, delta: 1e-6, insecureSeed: 7 };
const random = generator(4);
/** y is 1 if b is above the middle of its range; a is irrelevant. Both exceed their ranges. */
const rows = Array.from({ length: 300 }, () => {
  const b = 12 * random();
  return [3 * random(), b, Number(b > 5)];
});
const features = rows.flatMap(([a, b]) => [a, b]);
const labels = rows.map(([, , y]) => y);
const columns = { a: [-1, 1], b: [0, 10] };
const table = { features, labels, columns };

const shareOf = (model) =>
  dp.predict(model, features).filter((score, i) => score >= 0 === labels[i] > 0).length / 300;

test('learn: the model is that of the command for the same table', async () => {
  const path = join(folder, 'rows.csv');
  writeFileSync(path, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const args = ['learn', '--label', 'y', '--epsilon', '8', '--delta', '1e-6', '--seed', '7'];
  const { stdout } = await dpFtrl([...args, '--json', '--columns', 'b=0:10,*', path]);
  const model = dp.learn({ ...target, ...table });
  assert.deepEqual(model, JSON.parse(stdout));
  const named = [
    { name: 'a', low: -1, high: 1 },
    { name: 'b', low: 0, high: 10 },
  ];
  assert.deepEqual(model.inputs, named);
  assert.equal(model.private, false); // with a seed
  assert.equal(dp.liveHandles, 0);
});

test('learn: linearly falling rates have the mean of constant ones and keep the latest weights', async () => {
  const path = join(folder, 'linear.csv');
  writeFileSync(path, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const args = ['learn', '--label', 'y', '--epsilon', '8', '--delta', '1e-6', '--seed', '7'];
  const linear = [...args, '--rates', 'linear', '--no-precondition', '--columns', 'b=0:10,*', path];
  const { stdout } = await dpFtrl([...linear, '--json']);
  const model = dp.learn({ ...target, ...table, rates: 'linear', precondition: false });
  assert.deepEqual(model, JSON.parse(stdout));
  assert.deepEqual(model.weights, model.lastWeights);
  assert.ok(shareOf(model) > 0.9);
  const facts = { setup: 'table', rows: 300, dimension: 3, epsilon: 8, delta: 1e-6 };
  const { descent, ...chosen } = dp.learnPlan(facts).options;
  const rates = Array.from({ length: 120 }, (_, step) => (119.5 - step) / 60);
  close(
    rates.reduce((sum, rate) => sum + rate, 0),
    120,
    1e-12,
  );
  const falling = { ...descent, rates };
  const learner = dp.learner({ ...chosen, descent: falling, insecureSeed: 7 });
  const clip = (value, low, high) =>
    (2 * (Math.min(high, Math.max(low, value)) - low)) / (high - low) - 1;
  const examples = rows.flatMap(([a, b]) => [clip(a, -1, 1), clip(b, 0, 10), 1]);
  for (let step = 0; step < 120; ++step) learner.learn(examples, labels);
  model.weights.forEach((weight, i) => close(weight, learner.weights()[i], 1e-9));
  learner.dispose();
  const { stderr } = await dpFtrl(linear.filter((each) => !['--seed', '7'].includes(each)));
  assert.match(stderr, /with momentum and rates that fall linearly to 0; clipped to/);
});

test('learn: with constant rates, command and library give the mean of the later weights', async () => {
  const path = join(folder, 'constant.csv');
  writeFileSync(path, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const args = ['learn', '--label', 'y', '--epsilon', '8', '--delta', '1e-6', '--seed', '7'];
  const constant = ['--rates', 'constant', '--no-precondition'];
  const { stdout } = await dpFtrl([...args, ...constant, '--json', '--columns', 'b=0:10,*', path]);
  const model = dp.learn({ ...target, ...table, rates: 'constant', precondition: false });
  assert.deepEqual(model, JSON.parse(stdout));
  assert.deepEqual(
    dp.learn({ ...target, ...table, rates: 'linear' }),
    dp.learn({ ...target, ...table }),
  );
  const facts = { setup: 'table', rows: 300, dimension: 3, epsilon: 8, delta: 1e-6 };
  const { descent, ...chosen } = dp.learnPlan(facts).options;
  const learner = dp.learner({
    ...chosen,
    descent: { momentum: descent.momentum },
    insecureSeed: 7,
  });
  const examples = rows.flatMap(([a, b]) => [
    2 * Math.min(1, (a + 1) / 2) - 1,
    Math.min(10, b) / 5 - 1,
    1,
  ]);
  const tail = [0, 0, 0];
  for (let step = 1; step <= 120; ++step) {
    learner.learn(examples, labels);
    if (step > 60) learner.weights().forEach((weight, i) => (tail[i] += weight / 60));
  }
  learner.dispose();
  model.weights.forEach((weight, i) => close(weight, tail[i], 1e-9));
});

test('learn: the labels are learned, with fresh noise, and softmax learns as well', () => {
  const { insecureSeed: _, ...safe } = target;
  const [one, two] = [dp.learn({ ...safe, ...table }), dp.learn({ ...safe, ...table })];
  assert.equal(one.private, true);
  assert.notDeepEqual(one.weights, two.weights);
  for (const model of [one, dp.learn({ ...safe, ...table, loss: 'hinge' })]) {
    assert.ok(shareOf(model) > 0.9, `${shareOf(model)}`);
  }
  const classes = rows.map(([, b]) => Math.min(2, Math.floor(b / 4)));
  const softmax = { loss: { softmax: 3 }, labels: classes };
  const model = dp.learn({ ...target, ...table, ...softmax });
  assert.deepEqual([model.numClasses, model.weights.length], [3, 9]);
  const scores = dp.predict(model, features);
  const best = classes.map((_class, i) => {
    const own = scores.subarray(3 * i, 3 * i + 3);
    return own.indexOf(Math.max(...own));
  });
  assert.ok(best.filter((each, i) => each === classes[i]).length > 0.6 * 300);
});

test('learn: the noise suffices for a row in each of 120 steps, for both kinds of neighbours', () => {
  const plain = { ...target, ...table, precondition: false };
  const { certificate } = dp.learn(plain);
  const { noiseMultiplier } = dp.calibrate({ epsilon: 8, delta: 1e-6 });
  const wanted = noiseMultiplier * Math.sqrt(120) * certificate.clipNorm;
  assert.ok(certificate.noiseStddev >= wanted * (1 - 1e-12));
  close(certificate.noiseStddev, wanted, 1e-3);
  const other = dp.learn({ ...plain, neighbours: 'replace-one' }).certificate;
  const relative = ({ noiseStddev, clipNorm }) => noiseStddev / clipNorm;
  close(relative(other) / relative(certificate), 2, 1e-6);
  // The certificate does not depend on the contents of the rows.
  const strange = { features: features.map((value) => 1e6 - value), labels: labels.map(() => 1) };
  assert.deepEqual(dp.learn({ ...plain, ...strange }).certificate, certificate);
  const usual = { ...plain, precondition: undefined };
  assert.deepEqual(dp.learn({ ...usual, ...strange }).certificate, dp.learn(usual).certificate);
});

test('learn: features without a description are in [-1, 1], with or without an intercept', () => {
  const flat = { features, labels };
  const named = ['x1', 'x2'].map((name) => ({ name, low: -1, high: 1 }));
  const model = dp.learn({ ...target, ...flat });
  assert.deepEqual(model.inputs, named);
  const ranges = { x1: [-1, 1], x2: [-1, 1] };
  assert.deepEqual(model, dp.learn({ ...target, ...flat, columns: ranges }));
  const moved = features.map((value) => Math.min(1, Math.max(-1, value)));
  assert.deepEqual(model, dp.learn({ ...target, labels, features: moved }));
  const bare = dp.learn({ ...target, ...flat, intercept: false });
  assert.equal(bare.weights.length, 2);
  assert.equal(dp.learn({ ...target, features: [0.5], labels: [1] }).numExamples, 120);
});

test('learn: bad input is refused, and the error names the parameter', () => {
  const refused = (more, Kind, code, message) =>
    rejects(() => dp.learn({ ...target, ...table, ...more }), Kind, code, message);
  const range = [RangeError, 'invalid_argument'];
  const type = [TypeError, 'wrong_type'];
  const length = [TypeError, 'wrong_length'];
  refused({ epsilon: -1 }, ...range, /^learn: epsilon must be positive and finite, got -1$/);
  refused({ delta: undefined }, ...type, /^learn: delta must be a number/);
  refused({ labels: [] }, ...range, /^learn: labels must be at least one/);
  refused({ features: features.slice(1) }, ...length, /^learn: features must have .*600.*got 599$/);
  const unnamed = { features: features.slice(1), columns: undefined };
  refused(unnamed, ...length, /^learn: features must have a multiple of 300 .*got 599$/);
  refused({ features: [], columns: undefined }, ...length, /got 0$/);
  const broken = features.slice();
  broken[3] = NaN;
  refused({ features: broken }, ...range, /^learn: features\[3\] must be finite, got NaN$/);
  const labelled = labels.slice();
  labelled[2] = 7;
  refused({ labels: labelled }, ...range, /^learn: record 2: label must be .*got 7$/);
  refused({ loss: 'squared' }, ...range, /^learn: loss must be one of logistic, hinge, softmax/);
  refused({ rates: 'cosine' }, ...range, /^learn: rates must be one of linear, constant/);
  refused({ loss: { softmax: 1 } }, ...range, /^learn: loss.softmax must be/);
  refused({ columns: [[0, 1]] }, ...type, /^learn: columns must be an object with a range/);
  const empty = { ...columns, a: [1, 1] };
  refused({ columns: empty }, ...range, /^learn: columns.a must be a finite range \[low, high\]/);
  refused({ columns: { b: [0, 1], 7: [0, 1] } }, ...range, /^learn: columns\["7"\] must not be an/);
  refused({ inputs: [{ name: 'a' }, { name: 'b' }] }, ...type, /inputs is an unknown option/);
  refused({ clipNorm: 1 }, ...type, /clipNorm/);
  assert.equal(dp.liveHandles, 0);
});

test('learn: a worker learns the same', async () => {
  const { connect } = await importEntry('dp-ftrl/worker-client');
  const client = connect({ worker: new Worker(entryUrl('dp-ftrl/worker')) });
  try {
    assert.deepEqual(
      await client.learn({ ...target, ...table }),
      dp.learn({ ...target, ...table }),
    );
  } finally {
    client.terminate();
  }
});
