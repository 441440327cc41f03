// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, renameSync } from 'node:fs';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { cli, dpFtrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('learn');

const privacy = ['--epsilon', '8', '--delta', '1e-6', '--clip', '1', '--strategy', 'honaker'];
const learn = ['learn', ...privacy, '--label', 'y'];
const random = generator(3);
/** y is 1 if b is above the middle of its range. */
const rows = Array.from({ length: 400 }, () => {
  const b = 100 * random();
  return [random(), b, Number(b > 50)];
});
const csv = `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`;
const ranges = ['--columns', 'b=0:100,a=0:1,*'];
/** The learner that the command makes from `learn`, `ranges` and `--seed 7`. */
const sameLearner = {
  strategy: 'honaker',
  steps: 400,
  epsilon: 8,
  delta: 1e-6,
  dimension: 3,
  insecureSeed: 7,
};

test('learn: the model is that of the library for scaled features', async () => {
  const { stdout, stderr } = await dpFtrl([...learn, ...ranges, '--seed', '7', '--json'], {
    input: csv,
  });
  assert.match(stderr, /^dp-ftrl learn: warning: --seed .* NOT private\n$/);
  const learned = JSON.parse(stdout);
  const learner = dp.learner(sameLearner);
  learner.learn(
    rows.flatMap(([a, b]) => [2 * a - 1, (b / 100) * 2 - 1, 1]),
    rows.map(([, , y]) => y),
  );
  const { weights, lastWeights, certificate } = learner.model();
  learner.dispose();
  learned.weights.forEach((weight, j) => close(weight, weights[j], 1e-9));
  learned.lastWeights.forEach((weight, j) => close(weight, lastWeights[j], 1e-9));
  assert.deepEqual(learned.certificate, certificate);
  assert.deepEqual(learned.inputs, [
    { name: 'a', low: 0, high: 1 },
    { name: 'b', low: 0, high: 100 },
  ]);
  assert.deepEqual([learned.intercept, learned.numExamples, learned.private], [true, 400, false]);
});

test('learn: mode lattice gives the model of the library in that mode, and states its guarantee', async () => {
  const seeded = [...learn, '--no-intercept', '--seed', '7', '--json', '--mode', 'lattice'];
  for (const [noise, claim] of [
    ['discrete-gaussian', /mode lattice \(discrete-gaussian, [\d.]+-zCDP\)/],
    ['rounded-gaussian', /mode lattice \(rounded-gaussian, [\d.]+-GDP\)/],
  ]) {
    const run = await dpFtrl([...seeded, '--lattice-noise', noise], { input: csv });
    const learned = JSON.parse(run.stdout);
    const learner = dp.learner({
      strategy: 'honaker',
      steps: 400,
      epsilon: 8,
      delta: 1e-6,
      dimension: 2,
      insecureSeed: 7,
      lattice: noise,
    });
    const labels = rows.map(([, , y]) => y);
    learner.learn(
      rows.flatMap(([a, b]) => [a, b]),
      labels,
    );
    const { weights, certificate } = learner.model();
    learner.dispose();
    learned.weights.forEach((weight, j) => close(weight, weights[j], 1e-9));
    assert.deepEqual(learned.certificate, certificate);
    const spoken = [...learn, '--mode', 'lattice', '--lattice-noise', noise];
    assert.match((await dpFtrl(spoken, { input: csv })).stderr, claim);
  }
  const stray = [...learn, '--lattice-noise', 'rounded-gaussian'];
  await fails(stray, 2, /--lattice-noise goes with --mode lattice/, { input: csv });
  const paid = ['--budget', join(folder, 'lattice-budget'), '--budget-epsilon', '9'];
  const discrete = [...learn, '--mode', 'lattice', ...paid, '--budget-delta', '1e-5'];
  const wanted = /account mu, .*--lattice-noise rounded-gaussian .*--budget-account rho/;
  await fails(discrete, 2, wanted, { input: csv });
  const paying = await dpFtrl([...discrete, '--budget-account', 'rho'], { input: csv });
  assert.equal(paying.code, 0, paying.stderr);
  const { spent, releases } = JSON.parse(readFileSync(paid[1], 'utf8'));
  assert.deepEqual([releases.length, releases[0].mu], [1, undefined]);
  assert.equal(spent.rho, releases[0].rho);
});

test('learn: the output states the guarantee, and the library can read the model', async () => {
  const path = join(folder, 'model.json');
  const { code, stdout, stderr } = await dpFtrl([...learn, ...ranges, '--model', path], {
    input: csv,
  });
  assert.equal(code, 0, stderr);
  assert.equal(
    stderr,
    'dp-ftrl learn: (8, 0.000001)-differentially private: one row is ' +
      'protected, not a person with several (see --participations, a promise that is not ' +
      'checked), its gradient clipped to l2-norm 1; mechanism ' +
      'honaker, mode grid, zero-out neighbours, horizon 400 rows (the number of rows is public); DP-FTRL, one pass, honaker\n',
  );
  for (const line of [
    /^private +yes$/m,
    /^epsilon +8$/m,
    /^delta +0\.000001$/m,
    /^neighbours +zero-out$/m,
    /^protects +one row$/m,
    /^gradients clipped to +1$/m,
    /^weight b +\S+$/m,
    /^weight \(intercept\) +\S+$/m,
  ]) {
    assert.match(stdout, line);
  }
  assert.doesNotMatch(stdout, /NOT private/);
  const model = JSON.parse(readFileSync(path, 'utf8'));
  assert.equal(model.private, true);
  assert.equal(model.nonprivate, undefined);
  const scores = dp.predict(model, [0.5, 90, 0.5, 10]);
  assert.ok(scores[0] > scores[1], `${scores}`);
});

test('learn: losses on the data are shown with --show-nonprivate only', async () => {
  const args = [...learn, ...ranges, '--seed', '7', '--show-nonprivate', '--json'];
  const { stdout, stderr } = await dpFtrl(args, { input: csv });
  assert.match(stderr, /warning: --show-nonprivate adds losses on the data: NOT private/);
  const { nonprivate, private: isPrivate } = JSON.parse(stdout);
  assert.equal(isPrivate, false);
  // Computed step by step, with predictions before each label.
  const learner = dp.learner(sameLearner);
  const predictions = new Float64Array(400);
  const labels = rows.map(([, , y]) => y);
  const features = rows.flatMap(([a, b]) => [2 * a - 1, (b / 100) * 2 - 1, 1]);
  labels.forEach((label, i) => {
    const example = features.slice(3 * i, 3 * i + 3);
    predictions.set(learner.scores(example), i);
    learner.release(example, label);
  });
  learner.dispose();
  const losses = labels.map((y, i) => Math.log1p(Math.exp((y > 0 ? -1 : 1) * predictions[i])));
  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
  close(nonprivate.progressiveLoss, mean(losses), 1e-9);
  close(nonprivate.zeroLoss, Math.log(2), 1e-12);
  close(
    nonprivate.progressiveAccuracy,
    mean(labels.map((y, i) => Number(predictions[i] >= 0 === y > 0))),
    1e-12,
  );
  const twin = dp.study.twin({ steps: 400, dimension: 3 });
  const scores = twin.learn(features, labels);
  twin.dispose();
  const exact = mean(labels.map((y, i) => Math.log1p(Math.exp((y > 0 ? -1 : 1) * scores[i]))));
  close(nonprivate.twin.progressiveLoss, exact, 1e-9);
  assert.ok(exact < nonprivate.progressiveLoss && nonprivate.twin.progressiveAccuracy > 0.5);
  const comparator = dp.study.comparator({ dimension: 3 });
  comparator.append(features, labels);
  const best = comparator.best();
  comparator.dispose();
  close(nonprivate.regret.private, mean(losses) - best.loss, 1e-9);
  close(nonprivate.regret.twin, exact - best.loss, 1e-9);
  assert.ok(nonprivate.regret.gap <= 1e-6 && nonprivate.regret.private > 0);
  const squared = [...learn, '--loss', 'squared', '--show-nonprivate', '--quiet'];
  const report = await dpFtrl(squared, { input: csv });
  assert.match(report.stdout, /^regret against them \(NOT private\) +\S+, at most \S+ more$/m);
  assert.match(report.stdout, /^loss of the best fixed weights \(NOT private\) /m);
  const wide = ['--domain', 'whole-space', '--radius', '0.5'];
  const far = await dpFtrl([...squared, ...wide], { input: csv });
  assert.match(far.stdout, /^loss of the best fixed weights of norm at most 0\.5 \(NOT pr/m);
  assert.match(report.stdout, /^loss without noise \(NOT private\) +\S+$/m);
  // If the steps exceed the number of rows that are kept, a message says so, and all else is
  // present.
  const long = squared.with(squared.indexOf('honaker'), 'independent');
  const kept = await dpFtrl([...long, '--steps', '4194305', '--json'], { input: csv });
  const { nonprivate: rest } = JSON.parse(kept.stdout);
  assert.equal(rest.regret, null);
  assert.ok(rest.twin.progressiveLoss > 0);
  assert.match(report.stdout, /progressive loss \(NOT private\)/);
  assert.doesNotMatch(report.stdout, /accuracy/);
  assert.match(report.stdout, /^private +NO$/m);
});

test('learn: the bound on the regret is printed where nothing can be clipped', async () => {
  const at = (clip, more = []) => {
    const args = learn.with(learn.indexOf('--clip') + 1, String(clip));
    return [...args, '--quiet', ...more];
  };
  const shown = async (args) => {
    const { code, stdout, stderr } = await dpFtrl(args, { input: csv });
    assert.equal(code, 0, stderr);
    return /^bound on the expected regret +(.*)$/m.exec(stdout)[1];
  };
  // Rows have norm at most sqrt(3).
  const options = ['--radius', '2', '--batch', '5', '--seed', '7', '--show-nonprivate', '--json'];
  const args = at(1.74, [...ranges, ...options]);
  const { certificate, nonprivate } = JSON.parse((await dpFtrl(args, { input: csv })).stdout);
  const rule = { dimension: 3, radius: 2, batchSize: 5 };
  const { total } = dp.study.regretBounds(certificate, rule).expected;
  const bound = Number(await shown(at(1.74, [...ranges, ...options.slice(0, 4)])));
  assert.ok(bound >= total && bound < total * (1 + 1e-5), `${bound} ${total}`);
  assert.ok(nonprivate.regret.private < bound);
  const uneven = at(1.74, [...ranges, '--batch', '7']);
  assert.equal(await shown(uneven), 'none: a batch was not full');
  const clipped = /^none: gradients may be clipped \(else [\d.]+\)$/;
  assert.match(await shown(at(1.73, ranges)), clipped);
  assert.match(await shown(at(1.74, ranges.slice(2))), clipped);
  assert.match(await shown(at(9, [...ranges, '--loss', 'squared'])), clipped);
  const wide = ['--loss', 'huber', '--huber-threshold', '2'];
  assert.match(await shown(at(3.4, [...ranges, ...wide])), clipped);
  assert.match(await shown(at(3.5, [...ranges, ...wide])), /^[\d.]+$/);
  const softmax = [...ranges, '--loss', 'softmax', '--classes', '2'];
  assert.match(await shown(at(2.44, softmax)), clipped);
  assert.match(await shown(at(2.45, softmax)), /^[\d.]+$/);
  assert.match(await shown(at(2, [...ranges, '--steps', '500'])), /^[\d.]+ after all 500 steps$/);
  assert.equal(
    await shown(at(2, ['--algorithm', 'dp-gd', ...ranges])),
    'none: no theorem for this descent',
  );
  const point = [
    '--domain',
    'simplex',
    '--no-intercept',
    '--columns',
    'a',
    '--regularisation',
    '1',
  ];
  assert.equal(await shown(at(2, point)), 'none: one point only');
  const lattice = await shown(at(2, [...ranges, '--mode', 'lattice']));
  assert.equal(lattice, 'none: no theorem for mode lattice');
});

test('learn: losses, domains and batches are those of the library', async () => {
  const options = ['--loss', 'quantile', '--quantile', '0.8', '--domain', 'box', '--radius', '2'];
  const more = ['--batch', '30', '--doubling', '--regularisation', '1.5', '--seed', '7', '--json'];
  const { stdout } = await dpFtrl([...learn, ...ranges, ...options, ...more], { input: csv });
  const model = JSON.parse(stdout);
  const learner = dp.learner({
    strategy: 'honaker',
    steps: 14, // for 400 rows, with a short last batch
    epsilon: 8,
    delta: 1e-6,
    dimension: 3,
    loss: { quantile: 0.8 },
    domain: 'box',
    radius: 2,
    batchSize: 30,
    doubling: true,
    lambda: 1.5,
    insecureSeed: 7,
  });
  learner.learn(
    rows.flatMap(([a, b]) => [2 * a - 1, (b / 100) * 2 - 1, 1]),
    rows.map(([, , y]) => y),
  );
  learner.end();
  const expected = learner.model();
  learner.dispose();
  assert.deepEqual(model.lastWeights, expected.lastWeights);
  assert.deepEqual([model.loss, model.numExamples], ['quantile', 400]);
});

test('learn: the noise and the certificate are for the neighbours that are asked for', async () => {
  const args = [...learn, '--neighbours', 'replace-one', '--seed', '7', '--json'];
  const input = 'a,y\n0.5,1\n-0.5,0\n1,1\n';
  const model = JSON.parse((await dpFtrl(args, { input })).stdout);
  const learner = dp.learner({
    strategy: 'honaker',
    steps: 3,
    epsilon: 8,
    delta: 1e-6,
    dimension: 2,
    neighbours: 'replace-one',
    insecureSeed: 7,
  });
  learner.learn([0.5, 1, -0.5, 1, 1, 1], [1, 0, 1]);
  const expected = learner.model();
  learner.dispose();
  assert.deepEqual(model.certificate, expected.certificate);
  assert.equal(model.certificate.neighbours, 'replace-one');
  assert.deepEqual(model.lastWeights, expected.lastWeights);
});

test('learn: one range for all features, but for those that have their own', async () => {
  const star = [...learn, '--seed', '7', '--json', '--columns'];
  const inputs = async (...more) => {
    const { code, stdout, stderr } = await dpFtrl([...star, ...more], { input: csv });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).inputs;
  };
  const [a, b] = [
    { name: 'a', low: 0, high: 1 },
    { name: 'b', low: 0, high: 100 },
  ];
  assert.deepEqual(await inputs('*=0:100', '--columns', 'a=0:1'), [a, b]);
  assert.deepEqual(await inputs('a=0:1', '--columns', '*=0:100'), [a, b]);
  assert.deepEqual(await inputs('*=0:1'), [a, { ...b, high: 1 }]);
  const twice = [...star, '*=0:1', '--columns', '*=0:2'];
  await fails(twice, 2, /column "\*" is given twice/, { input: csv });
});

test('learn: ranges from the data are not private, and say so', async () => {
  const args = [...learn, '--columns', 'a=0:1,*', '--ranges-from-data'];
  await fails(args, 2, /--ranges-from-data reveals data: it needs --show-nonprivate/, {
    input: csv,
  });
  const { stdout, stderr } = await dpFtrl([...args, '--show-nonprivate', '--json'], { input: csv });
  assert.match(stderr, /warning: --ranges-from-data reads the ranges off the data: NOT private/);
  const { inputs, private: isPrivate } = JSON.parse(stdout);
  const seen = rows.map(([, b]) => b);
  assert.equal(isPrivate, false);
  assert.deepEqual(inputs, [
    { name: 'a', low: 0, high: 1 },
    { name: 'b', low: Math.min(...seen), high: Math.max(...seen) },
  ]);
});

test('learn: a run is charged to the budget, and another one beyond the limit is refused', async () => {
  const path = join(folder, 'budget.json');
  const limit = ['--budget', path, '--budget-epsilon', '8', '--budget-delta', '1e-6'];
  const first = await dpFtrl([...learn, ...limit, '--quiet'], { input: csv });
  assert.equal(first.code, 0, first.stderr);
  const { releases, unit } = JSON.parse(readFileSync(path, 'utf8'));
  assert.deepEqual([releases.length, unit, releases[0].columns], [1, 'one row', ['a', 'b', 'y']]);
  await fails([...learn, ...limit], 2, /must fit what is left of the budget/, { input: csv });
});

test('learn: without --steps a bad label is reported before a budget is spent', async () => {
  const budget = join(folder, 'unspent.json');
  const limit = ['--budget', budget, '--budget-epsilon', '9', '--budget-delta', '1e-5'];
  for (const [options, label, wanted] of [
    [
      [],
      '2',
      '(line 3): label must be -1, 0 or 1; for more classes give --loss softmax --classes K\n',
    ],
    [
      ['--loss', 'softmax', '--classes', '3'],
      '3',
      '(line 3): label must be an integer from 0 to 2\n',
    ],
  ]) {
    const input = `a,y\n0.5,1\n0.5,${label}\n`;
    const run = (more) =>
      fails([...learn, ...options, ...more], 2, /row 2 \(line 3\): /, { input });
    const { stderr } = await run([...limit, '--quiet']);
    assert.ok(stderr.includes(wanted), stderr);
    assert.ok(!existsSync(budget));
    // The words are the same as during learning, but for the advice.
    assert.equal(
      (await run(['--steps', '5', '--quiet'])).stderr,
      stderr.replace(/; for more classes .*/, ''),
    );
  }
});

test('learn: misuse gives a one-line error, and nothing is written', async () => {
  const path = join(folder, 'none.json');
  const cases = [
    [['--label', 'z'], csv, /unknown column "z"; known are a, b, y$/],
    [['--label', 'y', '--columns', 'y'], csv, /the label cannot be a feature as well/],
    [['--label', 'y', '--columns', 'x'], csv, /unknown column "x"/],
    [['--label', 'y', '--columns', 'c=0:1,*'], csv, /unknown column "c"/],
    [
      ['--label', 'y', '--columns', 'a=1:1,*'],
      csv,
      /--columns must be NAME or NAME=LOW:HIGH with LOW < HIGH/,
    ],
    [['--label', 'y', '--columns', 'a=0:1,a=0:2,*'], csv, /column "a" is given twice/],
    [['--label', 'y', '--loss', '0-1'], csv, /--loss must be one of logistic, hinge, squared/],
    [['--label', 'y', '--quantile', '0.3'], csv, /--quantile needs --loss quantile/],
    [['--label', 'y', '--huber-threshold', '2'], csv, /--huber-threshold needs --loss huber/],
    [['--label', 'y', '--domain', 'cube'], csv, /--domain must be one of ball, whole-space, box/],
    [['--label', 'y', '--batch', '0'], csv, /--batch must be a whole number/],
    [['--label', 'y', '--batch', '2', '--epochs', '2'], csv, /--batch protects one row/],
    [['--label', 'y'], 'y\n1\n', /there is no feature, only the label/],
    [['--label', 'y'], 'a,y\n1,1\n2,5\n', /row 2 \(line 3\): .*label must be/],
    [['--label', 'y'], 'a,y\n1,1\nx,0\n', /row 2 \(line 3\), column "a" is not a number/],
    [['--label', 'y', '--steps', '1'], 'a,y\n1,1\n2,0\n', /row 2 \(line 3\) is past the horizon/],
    [['--label', 'y', '--radius', '0'], csv, /--radius must be a positive number/],
    [
      ['--label', 'y', '--user-column', 'a'],
      csv,
      /option "--user-column"; --user-column is an option of count, active, release, moments, histogram, queries and choose$/,
    ],
    [[], csv, /--label is required/],
  ];
  for (const [args, input, message] of some(cases, 3)) {
    const all = ['learn', ...privacy, ...args, '--model', path];
    const { stdout } = await fails(all, 2, message, { input });
    assert.equal(stdout, '');
    assert.ok(!existsSync(path));
  }
  await fails([...learn, '--model', join(folder, 'no/such.json')], 2, /the folder does not exist/, {
    input: csv,
  });
});

test('learn: softmax, descent and the loss on a test file agree with the library', async () => {
  const path = join(folder, 'test.csv');
  writeFileSync(path, csv);
  const show = ['--show-nonprivate', '--seed', '4', '--json', ...ranges];
  const run = async (...more) => {
    const { code, stdout, stderr } = await dpFtrl([...learn, ...show, ...more], { input: csv });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout);
  };
  const softmax = await run('--loss', 'softmax', '--classes', '2', '--test', path);
  assert.equal(softmax.weights.length, 6);
  const { average, last } = softmax.nonprivate.heldOutLoss;
  const scores = dp.predict(
    softmax,
    rows.flatMap(([a, b]) => [a, b]),
  );
  const losses = rows.map(([, , y], i) => {
    const gap = scores[2 * i + 1 - y] - scores[2 * i + y];
    return Math.log1p(Math.exp(gap));
  });
  close(average, losses.reduce((sum, value) => sum + value, 0) / rows.length, 1e-9);
  assert.ok(last < average && average < Math.log(2));
  assert.ok(softmax.nonprivate.progressiveAccuracy > 0.6);

  const sgd = ['--strategy', 'independent', '--algorithm', 'dp-gd', '--momentum', '0.5'];
  const privacy = ['--epsilon', '8', '--delta', '1e-6', '--clip', '1', '--label', 'y'];
  const descent = await dpFtrl(['learn', ...privacy, ...sgd, ...show], { input: csv });
  const learner = dp.learner({
    strategy: 'independent',
    steps: 400,
    epsilon: 8,
    delta: 1e-6,
    dimension: 3,
    insecureSeed: 4,
    descent: { momentum: 0.5 },
  });
  learner.learn(
    rows.flatMap(([a, b]) => [2 * a - 1, (b / 100) * 2 - 1, 1]),
    rows.map(([, , y]) => y),
  );
  const { weights } = learner.model();
  learner.dispose();
  JSON.parse(descent.stdout).weights.forEach((weight, j) => close(weight, weights[j], 1e-9));

  await fails([...learn, '--classes', '2'], 2, /--classes needs --loss softmax/);
  await fails([...learn, '--loss', 'softmax'], 2, /--loss softmax needs --classes/);
  await fails([...learn, '--momentum', '0.5'], 2, /--momentum needs --algorithm dp-gd/);
  await fails(
    [...learn, '--algorithm', 'dp-gd', '--momentum', '1'],
    2,
    /--momentum must be a number from 0/,
  );
});

test('learn: several passes are one stream in which every row comes again', async () => {
  const path = join(folder, 'passes.csv');
  writeFileSync(path, csv);
  const show = [...learn, ...ranges, '--seed', '7', '--json', '--show-nonprivate'];
  const passes = await dpFtrl([...show, '--passes', '2', path]);
  assert.equal(passes.code, 0, passes.stderr);
  const twice = `${csv}${csv.slice(csv.indexOf('\n') + 1)}`;
  const byHand = await dpFtrl([...show, '--epochs', '2', '--steps', '800'], { input: twice });
  const [ours, theirs] = [passes, byHand].map(({ stdout }) => JSON.parse(stdout));
  assert.deepEqual(ours.weights, theirs.weights);
  assert.deepEqual(ours.lastWeights, theirs.lastWeights);
  assert.deepEqual(ours.certificate, theirs.certificate);
  assert.equal(ours.certificate.participation, 'fixed-epoch');
  assert.deepEqual([ours.numExamples, ours.protects], [800, 'one row']);
  // The first pass alone was made before the labels were known; regret covers both passes.
  const [mine, other] = [ours.nonprivate, theirs.nonprivate];
  close(mine.regret.private, other.regret.private, 3e-6);
  close(mine.regret.twin, other.regret.twin, 3e-6);
  assert.ok(mine.progressiveLoss > other.progressiveLoss);

  // From a pipe, with a short last batch in each pass.
  const batches = ['--passes', '3', '--batch', '30', '--steps', '42'];
  const piped = await dpFtrl([...learn, ...ranges, '--seed', '7', '--json', ...batches], {
    input: csv,
  });
  const learner = dp.learner({
    strategy: 'honaker',
    steps: 42,
    participation: { epochs: 3 },
    epsilon: 8,
    delta: 1e-6,
    dimension: 3,
    batchSize: 30,
    insecureSeed: 7,
  });
  const features = rows.flatMap(([a, b]) => [2 * a - 1, (b / 100) * 2 - 1, 1]);
  for (let pass = 0; pass < 3; ++pass) {
    learner.learn(
      features,
      rows.map(([, , y]) => y),
    );
    learner.end();
  }
  assert.deepEqual(JSON.parse(piped.stdout).lastWeights, learner.model().lastWeights);
  learner.dispose();

  const { stderr } = await dpFtrl([...learn, '--passes', '2', path]);
  assert.match(stderr, /: one row is protected in all 2 passes, not a person with several, /);
  assert.match(
    stderr,
    /horizon 800 rows in 2 passes \(the number of rows is public\); DP-FTRL, 2 passes, [a-z-]+; 2 of 2 /,
  );
  const inBatches = await dpFtrl([...learn, '--columns', 'b=0:100,*', '--batch', '30', path]);
  assert.match(inBatches.stderr, /; mechanism honaker, .* horizon 14 batches of 30 rows \(the num/);
  assert.match(inBatches.stderr, /; 1 of 2 features used as they are \(see --columns\)\n$/);
  const bothWays = await dpFtrl([...learn, '--batch', '30', '--passes', '2', path]);
  assert.match(bothWays.stderr, /horizon 28 batches of 30 rows in 2 passes \(/);
  const wrong = ['--passes', '2', '--steps', '801', path];
  await fails([...learn, ...wrong], 2, /2 passes over 400 rows: 800 steps, not 801/);
  await fails([...learn, '--passes', '2', '--epochs', '2', path], 2, /: not with --epochs/);
});

test('learn: if rows change between two passes, the command fails without a model', async () => {
  const path = join(folder, 'changing.csv');
  const same = '0.5,1\n'.repeat(50_000);
  writeFileSync(path, `a,y\n${same}0.5,1\n`);
  writeFileSync(`${path}.new`, `a,y\n${same}0.5,0\n`);
  const quick = learn.with(learn.indexOf('honaker'), 'independent');
  const child = spawn(cli, [...quick, '--passes', '8', path]);
  const output = { stdout: '', stderr: '' };
  for (const name of Object.keys(output)) {
    child[name].setEncoding('utf8').on('data', (text) => (output[name] += text));
  }
  // The guarantee is printed after the rows are counted and before the first pass.
  child.stderr.once('data', () => renameSync(`${path}.new`, path));
  const [code] = await once(child, 'close');
  assert.equal(code, 2, output.stderr);
  assert.match(output.stderr, /the rows of pass \d are not those that were read before\n$/);
  assert.equal(output.stdout, '');
});
