// SPDX-License-Identifier: Apache-2.0

// learnTuned, tuningCost and dp-ftrl learn --tune: settings chosen from the data, privately.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { close, golden, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, entryUrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('tune');
const target = { epsilon: 8, delta: 1e-6, insecureSeed: 7 };
const random = generator(4);
const rows = Array.from({ length: 301 }, () => {
  const b = 12 * random();
  return [random(), b, Number(b > 5)];
});
const inputs = [{ name: 'a' }, { name: 'b', low: 0, high: 10 }];
const table = { features: rows.flatMap(([a, b]) => [a, b]), labels: rows.map(([, , y]) => y), inputs };
const candidates = [
  { rate: 1, clip: 1 },
  { rate: 4, clip: 1 },
];
const path = join(folder, 'rows.csv');
const textOf = (some) => `a,b,y\n${some.map((row) => `${row.join(',')}\n`).join('')}`;
writeFileSync(path, textOf(rows));
const learn = ['learn', '--label', 'y', '--epsilon', '8', '--delta', '1e-6', '--range', 'b=0:10'];
const tuned = [...learn, '--tune', '1,4'];

test('tune: the epsilon left for the learners matches an independent integration', () => {
  for (const { deltas, learnerEpsilon, mu, ...given } of golden('tuning')) {
    const cost = dp.tuningCost(given);
    assert.ok(cost.learnerEpsilon <= learnerEpsilon * (1 + 1e-6), JSON.stringify(given));
    close(cost.learnerEpsilon / learnerEpsilon, 1, 1e-3);
    assert.equal(cost.selectionEpsilon, given.epsilon);
    // Compares exact deltas of ranked outcomes with the guarantee: they are below the target, and
    // for two candidates within a factor of 2.5, so no bound can be much tighter.
    const found = Object.values(deltas);
    for (const delta of found) assert.ok(delta <= given.delta, JSON.stringify(given));
    if (given.numCandidates === 2) assert.ok(Math.max(...found) > given.delta / 2.5);
  }
});

test('tune: an account is charged for all learners, and never less than for the choice', () => {
  const given = { epsilon: 1, delta: 1e-6, numCandidates: 3 };
  const alone = dp.tuningCost(given);
  const composed = dp.tuningCost({ ...given, composes: true });
  const each = dp.calibrate({ epsilon: alone.learnerEpsilon, delta: 1e-6 }).mu;
  close(composed.mu / (each * Math.sqrt(3)), 1, 1e-9);
  close(composed.rho / (1.5 * each ** 2), 1, 1e-9);
  assert.ok(dp.pureMu(composed.selectionEpsilon) <= composed.mu);
  assert.ok(dp.pureMu(1.001 * composed.selectionEpsilon) > composed.mu);
  assert.equal(alone.mu, dp.pureMu(1));
  assert.equal(alone.rho, dp.pureRho(1));
});

test('tune: the model is one of the candidates, with the guarantee of the whole', () => {
  const plain = { ...target, ...table, candidates, precondition: false };
  const model = dp.learnTuned(plain);
  const { tuning, certificate } = model;
  const { mu, rho, ...cost } = dp.tuningCost({ epsilon: 8, delta: 1e-6, numCandidates: 2 });
  assert.deepEqual(tuning, { ...cost, candidates, chosen: tuning.chosen, numHeldOut: 31 });
  assert.deepEqual([certificate.epsilon, certificate.delta], [8, 1e-6]);
  assert.deepEqual([certificate.mu, certificate.rho], [mu, rho]);
  // The noise is that of the smaller epsilon, for every candidate.
  const { noiseMultiplier } = dp.calibrate({ epsilon: cost.learnerEpsilon, delta: 1e-6 });
  const wanted = noiseMultiplier * Math.sqrt(120) * certificate.clipNorm;
  assert.ok(certificate.noiseStddev >= wanted * (1 - 1e-12));
  close(certificate.noiseStddev, wanted, 1e-3);
  assert.equal(model.numExamples, 120 * 270);
  assert.deepEqual(dp.learnTuned(plain), model);
  assert.equal(model.private, false); // with a seed
  const { insecureSeed: _, ...safe } = target;
  const [one, two] = [safe, safe].map((given) => dp.learnTuned({ ...given, ...table }));
  assert.equal(one.private, true);
  assert.notDeepEqual(one.weights, two.weights);
  const scores = dp.predict(one, table.features);
  assert.ok(scores.filter((score, i) => score >= 0 === table.labels[i] > 0).length > 0.9 * 301);
  assert.deepEqual(dp.predict(JSON.parse(JSON.stringify(one)), table.features), scores);
  assert.equal(dp.liveHandles, 0);
});

test('tune: no candidate learns from the rows that choose', () => {
  const few = { features: table.features.slice(0, 40), labels: table.labels.slice(0, 20), inputs };
  const model = dp.learnTuned({ ...target, ...few });
  const isUnmoved = few.labels.map((label, row) => {
    const labels = few.labels.with(row, 1 - label);
    const other = dp.learnTuned({ ...target, ...few, labels });
    assert.equal(other.tuning.chosen, model.tuning.chosen, 'another seed is needed');
    return other.weights.every((weight, i) => weight === model.weights[i]);
  });
  assert.equal(isUnmoved.filter(Boolean).length, 2);
  assert.equal(model.tuning.numHeldOut, 2);
});

test('tune: the better candidate is chosen, except when coins leave it out', () => {
  // The first candidate learns from noise alone.
  const odds = { candidates: [{ clip: 1e6 }, {}] };
  const chosen = Array.from({ length: 60 }, (_, seed) =>
    dp.learnTuned({ ...target, ...table, ...odds, insecureSeed: 100 + seed }).tuning.chosen,
  );
  // The second candidate is among the participants in 4 of 5 cases. Otherwise the first is chosen,
  // 12 times on average with standard deviation 3.1; without coins it would be 0.
  const numFirst = chosen.filter((each) => each === 0).length;
  assert.ok(numFirst >= 1 && numFirst <= 26, `${numFirst}`);
});

test('tune: bad input is refused, and the error names the parameter', () => {
  const refused = (more, Kind, code, message) =>
    rejects(() => dp.learnTuned({ ...target, ...table, ...more }), Kind, code, message);
  const range = [RangeError, 'invalid_argument'];
  const type = [TypeError, 'wrong_type'];
  refused({ candidates: [{}] }, ...range, /^learnTuned: numCandidates must be .*got 1$/);
  refused({ candidates: {} }, ...type, /^learnTuned: candidates must be an array/);
  refused({ candidates: [{}, { rate: 0 }] }, ...range, /^learnTuned: candidates\[1\]: rate must be positive and finite, got 0$/);
  refused({ candidates: [{ clip: NaN }, {}] }, ...range, /candidates\[0\]: clip must be/);
  refused({ candidates: [{ lambda: 1 }, {}] }, ...type, /lambda/);
  refused({ labels: table.labels.with(300, 7) }, ...range, /^learnTuned: labels\[300\] must be 0 or 1/);
  const softmax = { loss: 'softmax', numClasses: 2 };
  refused({ ...softmax, labels: table.labels.with(9, 2) }, ...range, /labels\[9\] must be 0 to 1, got 2$/);
  refused({ ...softmax, labels: table.labels.with(9, -1) }, ...range, /labels\[9\] must be 0 to 1/);
  refused({ features: [1, 1], labels: [1] }, ...range, /^learnTuned: labels must be at least two/);
  refused({ epsilon: -1 }, ...range, /^learnTuned: epsilon must be positive/);
  const cost = { epsilon: 1, delta: 1e-6, numCandidates: 65 };
  rejects(() => dp.tuningCost(cost), ...range, /^tuningCost: numCandidates must be .*got 65$/);
  assert.equal(dp.liveHandles, 0);
});

test('tune: a worker chooses the same', async () => {
  const { connect } = await importEntry('dp-ftrl/worker-client');
  const client = connect({ worker: new Worker(entryUrl('dp-ftrl/worker')) });
  try {
    const softmax = { ...target, ...table, loss: 'softmax', numClasses: 2 };
    assert.deepEqual(await client.learnTuned(softmax), dp.learnTuned(softmax));
    const cost = { epsilon: 1, delta: 1e-6, numCandidates: 3 };
    assert.deepEqual(await client.tuningCost(cost), dp.tuningCost(cost));
  } finally {
    client.terminate();
  }
});

test('learn --tune: the model is that of the library, and its cost is reported', async () => {
  const args = [...tuned, '--tune-clip', '1,2', '--rates', 'linear', '--json', path];
  const { stdout } = await dpFtrl([...args, '--seed', '7']);
  const grid = [1, 4].flatMap((rate) => [1, 2].map((clip) => ({ rate, clip })));
  const model = dp.learnTuned({ ...target, ...table, candidates: grid, rates: 'linear' });
  assert.deepEqual(JSON.parse(stdout), model);
  const file = join(folder, 'model.json');
  const others = join(folder, 'others.csv');
  writeFileSync(others, textOf([...rows].reverse()));
  const shown = await dpFtrl([...tuned, '--model', file, '--test', others, path]);
  const { learnerEpsilon } = dp.tuningCost({ epsilon: 8, delta: 1e-6, numCandidates: 2 });
  assert.match(
    shown.stderr,
    new RegExp(
      `\\(8, 0.000001\\)-differentially private: one row is .* one of 2 ` +
        `candidates, each learned with epsilon ${learnerEpsilon.toPrecision(4)} in place of 8.* ` +
        'choose, with epsilon 8; second moments of the features come first, with epsilon [0-9.]+, and leave [0-9.]+ to the learner; ' +
        'zero-out neighbours, all 301 rows together, whose number is public; set up for a whole table: 120 ' +
        'steps of all rows.* and rates that fall linearly to 0; clip norm and rate set by 301 rows, 3 weights .*; 1 of 2 features clipped to \\[-1, 1\\]',
    ),
  );
  assert.match(shown.stdout, /^examples +301 rows, of which 31 only chose the model$/m);
  assert.match(shown.stdout, /^candidates +rate times 1; rate times 4$/m);
  assert.match(shown.stdout, /^chosen +rate times [14]$/m);
  assert.match(shown.stdout, /^accuracy on them \(NOT private unless the file is public\) +(0\.9|1$)/m);
  const saved = JSON.parse(readFileSync(file, 'utf8'));
  assert.equal(saved.test, undefined);
  const { code } = await dpFtrl(['predict', '--model', file, '--quiet', path]);
  assert.equal(code, 0);
});

test('learn --tune: a budget is charged for all learners before they learn', async () => {
  const file = join(folder, 'budget.json');
  const budget = ['--budget', file, '--budget-epsilon', '12', '--budget-delta', '1e-6'];
  const { code, stdout, stderr } = await dpFtrl([...tuned, '--json', ...budget, path]);
  assert.equal(code, 0, stderr);
  const given = { epsilon: 8, delta: 1e-6, numCandidates: 2, composes: true };
  const { mu, selectionEpsilon } = dp.tuningCost(given);
  const { certificate, tuning } = JSON.parse(stdout);
  assert.equal(certificate.mu, mu);
  assert.equal(tuning.selectionEpsilon, selectionEpsilon);
  const { releases } = JSON.parse(readFileSync(file, 'utf8'));
  assert.deepEqual([releases.length, releases[0].mu], [1, mu]);
  await fails([...tuned, ...budget, path], 2, /beyond the limit \(12, 0.000001\)/);
});

test('learn --tune: options that do not go with it are refused', async () => {
  const refused = (more, message, input) => fails([...tuned, ...more], 2, message, input);
  const text = readFileSync(path, 'utf8');
  await refused([], /--tune needs a FILE, --loss logistic, hinge or softmax/, { input: text });
  await refused(['--clip', '1', path], /--tune needs a FILE/);
  await refused(['--passes', '3', path], /--tune needs a FILE/);
  await refused(['--loss', 'huber', path], /--tune needs a FILE/);
  await refused(['--show-nonprivate', path], /--tune does not go with --show-nonprivate/);
  await refused(['--average', 'last', path], /--tune does not go with --average/);
  const linear = [...learn, '--rates', 'linear'];
  await fails([...linear, '--clip', '1', path], 2, /--rates linear is for the rate that is chosen for a FILE/);
  await fails([...linear, '--momentum', '0.5', path], 2, /--momentum needs --descent/);
  await refused(['--missing', 'skip', path], /--tune does not go with --missing skip/);
  const other = (value, message) => fails([...learn, '--tune', value, path], 2, message);
  await other('1', /2 and 64|between 2/);
  await other('1,0', /--tune must have numbers > 0, got 0/);
  await other('x', /--tune must be numbers separated by commas/);
});
