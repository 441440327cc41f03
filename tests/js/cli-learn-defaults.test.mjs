// SPDX-License-Identifier: Apache-2.0

// dp-ftrl learn without a clip norm: its default settings, their inputs, and how well they work.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('learn-defaults');
const target = { epsilon: 8, delta: 1e-6 };
const learn = ['learn', '--label', 'y', '--epsilon', '8', '--delta', '1e-6', '--seed', '7'];
/** With this many rows, second moments are estimated first: precondition.test.mjs. */
const plain = [...learn, '--no-precondition'];
const random = generator(3);
/** y is 1 if b is positive; a is irrelevant and exceeds [-1, 1]. */
const rows = Array.from({ length: 400 }, () => {
  const b = 2 * random() - 1;
  return [3 * random(), b, Number(b > 0)];
});
const labels = rows.map(([, , y]) => y);
const features = rows.flatMap(([a, b]) => [Math.min(a, 1), b, 1]);
const textOf = (table) => `a,b,y\n${table.map((row) => `${row.join(',')}\n`).join('')}`;
const path = join(folder, 'rows.csv');
writeFileSync(path, textOf(rows));
const piped = { input: textOf(rows) };

async function shown(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, input);
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}
const modelOf = async (args, input) => JSON.parse((await shown([...args, '--json'], input)).stdout);
/** Longest gradient of three features in [-1, 1], rounded up slightly. */
const longest = Math.sqrt(3) * (1 + 2 ** -40);

const { noiseMultiplier } = dp.calibrate(target);
/** Rows per unit of noise, divided by the root of the number of weights. */
const clearness = 400 / noiseMultiplier / Math.sqrt(3);
const clip = 0.03 * Math.sqrt(clearness / 12) * longest;
const rates = Array.from({ length: 120 }, (_, step) => 2 - (2 * step + 1) / 120);

/** The learner of a whole table, configured through the library. */
function ofTable(lambda) {
  return dp.learner({
    ...target,
    strategy: 'independent',
    steps: 120,
    participation: { epochs: 120 },
    batchSize: 400,
    clip,
    domain: 'whole-space',
    descent: { momentum: 0.8, rates },
    lambda,
    dimension: 3,
    insecureSeed: 7,
  });
}

test('learn defaults: a table is read in 120 steps of all rows, the latest weights are kept', async () => {
  const { stdout, stderr } = await shown([...plain, '--json', path]);
  const model = JSON.parse(stdout);
  // Lambda: clip norm * steps * sqrt(weights) / (8 rows / noise multiplier), times five for the
  // momentum.
  const way = (8 * 400) / noiseMultiplier;
  const learner = ofTable((clip * 120 * Math.sqrt(3)) / way / (1 - 0.8));
  const tail = [0, 0, 0];
  for (let step = 1; step <= 120; ++step) {
    learner.learn(features, labels);
    if (step > 60) learner.model().lastWeights.forEach((weight, j) => (tail[j] += weight / 60));
  }
  const { weights, lastWeights, certificate } = learner.model();
  learner.dispose();
  model.weights.forEach((weight, j) => close(weight, lastWeights[j], 1e-9));
  assert.deepEqual(model.lastWeights, model.weights);
  const mean = await modelOf([...learn, '--average', 'tail', path]);
  mean.weights.forEach((weight, j) => close(weight, tail[j], 1e-9));
  assert.deepEqual(model.certificate, certificate);
  const bounds = { low: -1, high: 1 };
  assert.deepEqual(model.inputs, [
    { name: 'a', ...bounds },
    { name: 'b', ...bounds },
  ]);
  assert.deepEqual((await modelOf([...learn, '--average', 'all', path])).weights, weights);
  assert.deepEqual((await modelOf([...learn, '--average', 'last', path])).weights, lastWeights);
  const unseeded = plain.filter((each) => !['--seed', '7'].includes(each));
  const spoken = (await shown([...unseeded, path])).stderr;
  assert.match(spoken, /horizon 120 batches of 400 rows in 120 passes/);
  assert.match(
    spoken,
    /; private gradient descent, 120 passes; 2 of 2 features clipped to \[-1, 1\] \(see --columns\); each step takes all rows/,
  );
  assert.match(spoken, /rate set by 400 rows, 3 weights per score, epsilon and delta\n$/);
  assert.match(stderr, /NOT private/);
});

test('learn defaults: the noise suffices for a row that takes part in every step', async () => {
  const { certificate } = await modelOf([...plain, path]);
  const { sensitivity, noiseStddev } = certificate;
  close(certificate.clipNorm, clip, 1e-12);
  assert.deepEqual([certificate.maxParticipations, certificate.separation], [120, 1]);
  assert.equal(certificate.sensitivityExactness, 'exact');
  // A row changes each of 120 sums by at most the clip norm, which is sqrt(120) as one long vector.
  const moved = Math.hypot(...Array.from({ length: 120 }, () => 1));
  close(sensitivity, moved, 1e-12);
  const least = noiseMultiplier * moved * clip;
  assert.ok(certificate.noiseMultiplier >= noiseMultiplier && noiseStddev >= least * (1 - 1e-12));
  assert.ok(noiseStddev < 1.001 * least);
  const { certificate: twoRows } = await modelOf([...plain, '--neighbours', 'replace-one', path]);
  close(twoRows.noiseStddev / twoRows.clipNorm / (noiseStddev / clip), 2, 1e-6);
});

test('learn defaults: a budget pays for all steps at once', async () => {
  const budget = join(folder, 'budget.json');
  const limit = ['--budget', budget, '--budget-epsilon', '8', '--budget-delta', '1e-6'];
  const args = [...learn.slice(0, -2), ...limit, path];
  await shown(args);
  const { releases } = JSON.parse(readFileSync(budget, 'utf8'));
  assert.equal(releases.length, 1);
  close(releases[0].mu, 1 / dp.calibrate(target).noiseMultiplier, 1e-9);
  assert.equal(releases[0].unit ?? 'one row', 'one row');
  await fails(args, 2, /must fit what is left of the budget/);
});

test('learn defaults: the choices depend only on public numbers', async () => {
  const choices = ({ certificate, inputs }) => {
    const { mechanism, numSteps, clipNorm, noiseStddev } = certificate;
    return { mechanism, numSteps, clipNorm, noiseStddev, inputs };
  };
  const lambdaOf = ({ stdout }) => /^regularisation +(.*)$/m.exec(stdout)[1];
  const other = join(folder, 'other.csv');
  writeFileSync(other, textOf(rows.map(([a, b]) => [9 * a, b / 7, 1])));
  for (const args of [plain, learn]) {
    const [others, ours] = [await modelOf([...args, other]), await modelOf([...args, path])];
    assert.deepEqual(choices(others), choices(ours));
    assert.deepEqual(others.preconditioning, ours.preconditioning);
  }
  assert.equal(lambdaOf(await shown([...plain, other])), lambdaOf(await shown([...plain, path])));
});

test('learn defaults: rows seen once give the same weights in one run and in several', async () => {
  const once = await modelOf(learn, piped);
  const way = Math.min(320, (3 * 400) / (noiseMultiplier * (1 + Math.log(400) / Math.PI)));
  const learner = dp.learner({
    ...target,
    steps: 400,
    clip: 0.1 * longest,
    domain: 'whole-space',
    lambda: (0.1 * longest * 400 * Math.sqrt(3)) / way,
    dimension: 3,
    insecureSeed: 7,
  });
  learner.learn(features, labels);
  const { lastWeights, weights } = learner.model();
  learner.dispose();
  once.lastWeights.forEach((weight, j) => close(weight, lastWeights[j], 1e-9));
  assert.notDeepEqual(once.weights, weights);

  const state = ['--steps', '400', '--state', join(folder, 'learn.state')];
  const part = (from, to) => modelOf([...learn, ...state], { input: textOf(rows.slice(from, to)) });
  await part(0, 150);
  const whole = await part(150, 400);
  whole.lastWeights.forEach((weight, j) => close(weight, lastWeights[j], 1e-9));
  whole.weights.forEach((weight, j) => close(weight, weights[j], 1e-9));
  const tail = [...learn, ...state, '--average', 'tail'];
  await fails(tail, 2, /--average tail does not go with --state/, piped);
});

test('learn defaults: if options choose the learner, the default clip norm clips nothing', async () => {
  const chosen = async (...more) => (await modelOf([...learn, ...more], piped)).certificate;
  const honaker = await chosen('--strategy', 'honaker');
  assert.deepEqual([honaker.clipNorm, honaker.numSteps], [longest, 400]);
  for (const [more, slope] of [
    [['--passes', '2'], 1],
    [['--radius', '3', '--loss', 'hinge'], 1],
    [['--loss', 'quantile', '--quantile', '0.8'], 0.8],
    [['--loss', 'huber', '--huber-threshold', '2'], 2],
    [['--radius', '3', '--loss', 'softmax', '--classes', '2'], Math.SQRT2],
  ]) {
    close((await chosen(...more, '--strategy', 'honaker')).clipNorm, slope * longest, 1e-12);
  }
  const report = await shown([...learn, '--strategy', 'honaker'], piped);
  assert.match(report.stdout, /^bound on the expected regret +[\d.]+$/m);
  const endless = /--loss squared has unbounded slopes: give --clip/;
  await fails([...learn, '--loss', 'squared'], 2, endless, piped);
});

test('learn defaults: labels are learned, but not when they are shuffled', async () => {
  const share = ({ weights }, table) => {
    const scores = table.map(([a, b]) => weights[0] * Math.min(a, 1) + weights[1] * b + weights[2]);
    return scores.filter((s, i) => s >= 0 === table[i][2] > 0).length / table.length;
  };
  assert.ok(share(await modelOf([...learn, path]), rows) > 0.95);
  const shuffled = join(folder, 'shuffled.csv');
  // Each label is moved to an unrelated row half the table away.
  writeFileSync(shuffled, textOf(rows.map(([a, b], i) => [a, b, labels[(i + 200) % 400]])));
  const lost = share(await modelOf([...learn, shuffled]), rows);
  assert.ok(lost > 0.1 && lost < 0.9, `${lost}`);
});
