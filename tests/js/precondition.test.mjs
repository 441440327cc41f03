// SPDX-License-Identifier: Apache-2.0

// learn and dp-ftrl learn with precondition: second moments are estimated first, then a learner
// works in transformed coordinates.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { generator, importSource } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('precondition');
const target = { epsilon: 4, delta: 1e-6, insecureSeed: 7, precondition: true };
const random = generator(4);
/** y is 1 if b is above a; the two are always close. */
const rows = Array.from({ length: 600 }, () => {
  const a = 1.8 * random() - 0.9;
  const b = a + 0.1 * (2 * random() - 1);
  return [a, b, Number(b > a)];
});
const features = rows.flatMap(([a, b]) => [a, b]);
const labels = rows.map(([, , y]) => y);
const table = { features, labels };

const shareOf = (model) =>
  dp.predict(model, features).filter((score, i) => score >= 0 === labels[i] > 0).length / 600;

test('precondition: both parts together spend the target, and the noise fits the part of the learner', () => {
  for (const [epsilon, delta] of [
    [0.5, 1e-5],
    [4, 1e-6],
    [20, 1e-9],
  ]) {
    const { certificate, preconditioning } = dp.learn({ ...target, ...table, epsilon, delta });
    const { momentsEpsilon, learnerEpsilon } = preconditioning;
    const whole = dp.calibrate({ epsilon, delta });
    const [moments, learner] = [momentsEpsilon, learnerEpsilon].map((part) =>
      dp.calibrate({ epsilon: part, delta }),
    );
    close((moments.mu / whole.mu) ** 2, 0.1, 1e-7);
    close((learner.mu / whole.mu) ** 2, 0.9, 1e-7);
    const budget = dp.budget({ epsilon, delta });
    for (const part of [moments, learner]) budget.charge('part', part);
    assert.deepEqual([certificate.epsilon, certificate.delta], [epsilon, delta]);
    assert.ok(certificate.mu <= whole.mu && certificate.mu > 0.999 * whole.mu);
    assert.ok(certificate.rho >= (certificate.mu ** 2 / 2) * (1 - 1e-12));
    const wanted = learner.noiseMultiplier * Math.sqrt(120) * certificate.clipNorm;
    assert.ok(certificate.noiseStddev >= wanted * (1 - 1e-12));
    close(certificate.noiseStddev, wanted, 1e-3);
  }
});

/** Solves L x = y and L^T x = y independently of the package. */
const solve = (L, y) => {
  const x = [];
  y.forEach((value, i) =>
    x.push((value - x.reduce((sum, v, j) => sum + L[i][j] * v, 0)) / L[i][i]),
  );
  return x;
};
const transposed = (L) => L.map((_, i) => L.map((row) => row[i]));
const solveTransposed = (L, y) => {
  const U = transposed(L);
  const flipped = U.map((row) => [...row].reverse()).reverse();
  return solve(flipped, [...y].reverse()).reverse();
};

/** Weights computed through the public functions alone. */
function byParts(neighbours) {
  const { preconditioning } = dp.learn({ ...target, ...table, neighbours });
  const { momentsEpsilon, learnerEpsilon } = preconditioning;
  const xs = rows.map(([a, b]) => [a, b, 1]);
  const common = { delta: 1e-6, neighbours };
  const sum = dp.totals({
    ...common,
    strategy: 'independent',
    steps: 1,
    dimension: 6,
    epsilon: momentsEpsilon,
    insecureSeed: 2n ** 63n + 7n,
  });
  const root = Math.SQRT2;
  const products = ([a, b, c]) => [a * a, root * a * b, root * a * c, b * b, root * b * c, c * c];
  for (const x of xs) {
    const record = products(x).map((value) => value / 3);
    assert.ok(Math.hypot(...record) <= 1 + 1e-15);
    sum.add(record);
  }
  const { values, stddev } = sum.end();
  const [aa, ab, ac, bb, bc, cc] = values.map((value) => value / 600);
  const raise = (stddev * Math.sqrt(6)) / 600;
  sum.dispose();
  const M = [
    [aa + raise, ab / root, ac / root],
    [ab / root, bb + raise, bc / root],
    [ac / root, bc / root, cc + raise],
  ];
  const l11 = Math.sqrt(M[0][0]);
  const [l21, l31] = [M[1][0] / l11, M[2][0] / l11];
  const l22 = Math.sqrt(M[1][1] - l21 ** 2);
  const l32 = (M[2][1] - l31 * l21) / l22;
  const L = [
    [l11, 0, 0],
    [l21, l22, 0],
    [l31, l32, Math.sqrt(M[2][2] - l31 ** 2 - l32 ** 2)],
  ];
  const facts = { setup: 'table', rows: 600, dimension: 3, ...common, epsilon: learnerEpsilon };
  const how = dp.learnPlan(facts).options;
  const learner = dp.learner({
    ...how,
    clip: (10 / 3) * how.clip,
    lambda: (10 / 3) * how.lambda,
    insecureSeed: 7,
  });
  const ys = xs.flatMap((x) =>
    solve(
      L,
      x.map((value) => value / Math.sqrt(3)),
    ),
  );
  for (let step = 0; step < 120; ++step) learner.learn(ys, labels);
  const { lastWeights } = learner.model();
  learner.dispose();
  return solveTransposed(L, lastWeights).map((weight) => weight / Math.sqrt(3));
}

test('precondition: the model equals one that is computed from public functions', () => {
  for (const neighbours of ['zero-out', 'replace-one']) {
    const { lastWeights } = dp.learn({ ...target, ...table, neighbours });
    byParts(neighbours).forEach((weight, i) => close(lastWeights[i] / weight, 1, 1e-6));
  }
  assert.equal(dp.liveHandles, 0);
});

test('precondition: correlated features are learned better than without preconditioning', () => {
  const plain = [1, 2, 3].map((seed) =>
    shareOf(dp.learn({ ...target, ...table, precondition: false, insecureSeed: seed })),
  );
  const better = [1, 2, 3].map((seed) =>
    shareOf(dp.learn({ ...target, ...table, insecureSeed: seed })),
  );
  assert.ok(Math.min(...better) > 0.9, `${better}`);
  assert.ok(Math.max(...plain) < Math.min(...better), `${plain} ${better}`);
  const linear = dp.learn({ ...target, ...table, rates: 'linear' });
  assert.deepEqual(linear.weights, linear.lastWeights);
  const classes = labels.map((label) => 2 * label);
  const softmax = { loss: { softmax: 3 }, labels: classes };
  const model = dp.learn({ ...target, ...table, ...softmax });
  const scores = dp.predict(model, features);
  const best = classes.map((_, i) => {
    const own = scores.subarray(3 * i, 3 * i + 3);
    return own.indexOf(Math.max(...own));
  });
  assert.ok(best.filter((each, i) => each === classes[i]).length > 0.85 * 600);
});

test('precondition: learnPlan gives both parts from public numbers', () => {
  const { preconditioning, certificate } = dp.learn({ ...target, ...table });
  const given = { epsilon: 4, delta: 1e-6, dimension: 3, rows: 600 };
  const { options, precondition, ...parts } = dp.learnPlan(given);
  assert.deepEqual(parts, preconditioning);
  assert.equal(precondition, true);
  const { mu, rho } = dp.calibrate({ epsilon: 4, delta: 1e-6 });
  close(certificate.mu / mu, 1, 1e-8);
  close(certificate.rho / rho, 1, 1e-8);
  const few = dp.learnPlan({ ...given, rows: 20, neighbours: 'replace-one' });
  assert.equal(few.precondition, false);
  const refused = (more, ...expected) =>
    rejects(() => dp.learnPlan({ ...given, ...more }), ...expected);
  refused({ epsilon: 0 }, RangeError, 'invalid_argument', /^learnPlan: epsilon must be positive/);
  refused({ dimension: 0 }, RangeError, 'invalid_argument', /^learnPlan: dimension must be/);
  refused({ rows: NaN }, RangeError, 'invalid_argument', /^learnPlan: rows must be/);
  refused({ neighbours: 'none' }, RangeError, 'invalid_argument', /^learnPlan: neighbours must be/);
  refused({ numRows: 1 }, TypeError, 'wrong_type', /numRows/);
});

test('precondition: noise is fresh in every run, and one row or features of 0 give finite weights', () => {
  const { insecureSeed: _, ...safe } = target;
  const [one, two] = [safe, safe].map((given) => dp.learn({ ...given, ...table }));
  assert.equal(one.private, true);
  assert.notDeepEqual(one.weights, two.weights);
  const zeros = { features: new Float64Array(1200), labels };
  for (const tiny of [zeros, { features: [0.5, 0.5], labels: [1] }]) {
    assert.ok(dp.learn({ ...target, ...tiny }).weights.every(Number.isFinite));
  }
  const same = { ...target, ...table, insecureSeed: 0 };
  assert.deepEqual(dp.learn(same), dp.learn({ ...same, insecureSeed: 0n }));
});

/** Makes a meaningless table of `numRows` rows. */
const tableOf = (numRows, width = 2) => ({
  features: Array.from({ length: numRows * width }, (_, i) => ((i * 37) % 101) / 101),
  labels: Array.from({ length: numRows }, (_, i) => i % 2),
});

/** Number of rows at which the noise of the moments is half of their mean. */
function borderOf({ epsilon, delta }, { width, neighbours }) {
  const stddev = dp.calibrate({ epsilon, delta }).noiseMultiplier / Math.sqrt(0.1);
  return 2 * (neighbours === 'replace-one' ? 2 : 1) * stddev * Math.SQRT2 * width ** 1.5;
}

test('precondition: the default depends on public numbers alone, and is on where noise is low enough', () => {
  const usual = { ...target, precondition: undefined };
  for (const [more, width] of [
    [{}, 3],
    [{ epsilon: 0.5, delta: 1e-4 }, 3],
    [{ neighbours: 'replace-one', intercept: false }, 2],
  ]) {
    const given = { ...usual, ...more };
    const border = borderOf(given, { width, ...more });
    for (const [numRows, isFirst] of [
      [Math.floor(border), false],
      [Math.ceil(border), true],
    ]) {
      const some = { ...given, ...tableOf(numRows) };
      const model = dp.learn(some);
      assert.equal('preconditioning' in model, isFirst, `${numRows} rows`);
      assert.deepEqual(model, dp.learn({ ...some, precondition: isFirst }));
      const others = dp.learn({ ...some, features: some.features.map((value) => 1 - 3 * value) });
      assert.deepEqual(others.certificate, model.certificate);
    }
  }
  // If second moments cannot come first, the model is made without them and nothing is refused.
  const delta = { ...usual, epsilon: 0.01, delta: 0.5, ...tableOf(400) };
  assert.deepEqual(dp.learn(delta), dp.learn({ ...delta, precondition: false }));
  const wide = { ...usual, epsilon: 1e5, ...tableOf(400, 512) };
  assert.deepEqual(dp.learn(wide), dp.learn({ ...wide, precondition: false }));
  assert.ok('preconditioning' in dp.learn({ ...wide, intercept: false }));
});

test('precondition: bad input is refused by name', async () => {
  const refused = (more, Kind, code, message) =>
    rejects(() => dp.learn({ ...target, ...table, ...more }), Kind, code, message);
  refused({ precondition: 1 }, TypeError, 'wrong_type', /^learn: precondition must be a boolean/);
  const wide = { features: new Float64Array(1024), labels: [0, 1] };
  refused(
    wide,
    RangeError,
    'invalid_argument',
    /^learn: features must be at most 512 per row.*got 513$/,
  );
  refused(
    { epsilon: 0.01, delta: 0.5 },
    RangeError,
    'invalid_argument',
    /^learn: delta must be smaller/,
  );
  refused({ insecureSeed: 0.5 }, RangeError, 'invalid_argument', /^learn: insecureSeed must be/);
  assert.equal(dp.liveHandles, 0);
});

test('learn --precondition: the model is that of the library, a budget pays the target', async () => {
  const path = join(folder, 'rows.csv');
  writeFileSync(path, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const args = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    '--precondition',
    '--columns',
    '*=-1:1',
    path,
  ];
  const named = { columns: { a: [-1, 1], b: [-1, 1] } };
  const { stdout } = await dpFtrl([...args, '--json', '--seed', '7']);
  assert.deepEqual(JSON.parse(stdout), dp.learn({ ...target, ...table, ...named }));
  const budget = join(folder, 'budget.json');
  const paid = ['--budget', budget, '--budget-epsilon', '4', '--budget-delta', '1e-6'];
  const shown = await dpFtrl([...args, ...paid]);
  assert.equal(shown.code, 0, shown.stderr);
  assert.match(
    shown.stderr,
    /\(4, 0.000001\)-differentially private.*second moments of the features come first, with epsilon 1\.\d+, and leave 3\.\d+ to the learner; zero-out neighbours, all 600 rows together/,
  );
  assert.match(shown.stdout, /^epsilon of the second moments +1\.\d+$/m);
  const { releases } = JSON.parse(readFileSync(budget, 'utf8'));
  close(releases[0].mu, dp.calibrate({ epsilon: 4, delta: 1e-6 }).mu, 1e-12);
});

test('learn: the command says whether second moments come first, or which option prevents it', async () => {
  const path = join(folder, 'default.csv');
  writeFileSync(path, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const args = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    '--columns',
    '*=-1:1',
    path,
  ];
  const shown = async (...more) => {
    const { code, stdout, stderr } = await dpFtrl([...args, ...more]);
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  };
  const modelOf = async (...more) =>
    JSON.parse((await shown('--seed', '7', '--json', ...more)).stdout);
  assert.deepEqual(await modelOf(), await modelOf('--precondition'));
  const plain = await modelOf('--no-precondition');
  assert.ok(!('preconditioning' in plain));
  const without = /without second moments first, because of --/;
  assert.match(
    (await shown()).stderr,
    /second moments of the features come first.*; private gradient descent, 120 passes;/,
  );
  assert.doesNotMatch((await shown('--no-precondition')).stderr, /moments/);
  assert.match(
    (await shown('--average', 'last')).stderr,
    new RegExp(`${without.source}average$`, 'm'),
  );
  assert.deepEqual(await modelOf('--average', 'last'), plain);
  const skipping = await shown('--missing', 'skip');
  assert.match(skipping.stderr, new RegExp(`${without.source}missing skip$`, 'm'));
  assert.match((await shown('--plot', join(folder, 'weights.svg'))).stderr, without);
  assert.match(
    (await shown('--show-nonprivate')).stderr,
    new RegExp(`${without.source}show-nonprivate$`, 'm'),
  );
  const few = join(folder, 'few.csv');
  writeFileSync(few, `a,b,y\n0.5,0.25,1\n0.25,0.5,0\n`);
  const ofFew = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    '--average',
    'last',
    few,
  ];
  assert.doesNotMatch((await dpFtrl(ofFew)).stderr, /moments/);
  await fails(
    [...args, '--precondition', '--no-precondition'],
    2,
    /--precondition does not go with --no-precondition/,
  );
  await fails(
    [...args, '--precondition', '--average', 'last'],
    2,
    /--precondition does not go with --average/,
  );
  await fails([...args, '--clip', '1', '--no-precondition'], 2, /--no-precondition needs a FILE/);
});

test('learn: a table too large to keep has second moments first only on request', async () => {
  const { momentsFirst, withoutText } = await importSource('cli/commands/learn/whole.ts');
  const target = { epsilon: 4, delta: 1e-6, neighbours: 'zero-out' };
  const problem = (batchSize) => ({ batchSize, inputs: [{ name: 'a' }] });
  const settings = (whole) => ({
    target,
    intercept: true,
    whole: { precondition: undefined, without: undefined, ...whole },
  });
  const [small, large] = [problem(2 ** 23), problem(2 ** 23 + 1)];
  assert.ok(momentsFirst(dp, settings({}), small).precondition);
  assert.equal(momentsFirst(dp, settings({}), large), undefined);
  assert.match(
    withoutText(dp, settings({}), large),
    /^without second moments first, as the table has more than 16,777,216 cells/,
  );
  assert.ok(momentsFirst(dp, settings({ precondition: true }), large).precondition);
  assert.equal(withoutText(dp, settings({ precondition: false }), large), '');
});

test('learn: a refused --precondition costs no budget, and --test gives a warning', async () => {
  const wide = join(folder, 'wide.csv');
  const names = Array.from({ length: 512 }, (_, i) => `x${i}`);
  const cells = names.map(() => '0.5').join(',');
  writeFileSync(wide, `${names.join(',')},y\n${cells},1\n${cells},0\n`);
  const narrow = join(folder, 'narrow.csv');
  writeFileSync(narrow, `a,b,y\n${rows.map((row) => `${row.join(',')}\n`).join('')}`);
  const budget = join(folder, 'untouched.json');
  const limits = ['--budget', budget, '--budget-epsilon', '9', '--budget-delta', '0.5'];
  const learn = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    ...limits,
    '--precondition',
  ];
  const tooWide = /--precondition is for up to 512 features, the intercept included, got 513/;
  await fails([...learn, wide], 2, tooWide);
  const large = learn.map((each) => (each === '4' ? '0.01' : each === '1e-6' ? '0.5' : each));
  await fails([...large, narrow], 2, /--precondition needs a smaller --delta, got 0\.5/);
  assert.ok(!existsSync(budget));
  const others = join(folder, 'others.csv');
  writeFileSync(others, 'a,b,y\n0.5,0.25,0\n');
  const measured = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '4',
    '--delta',
    '1e-6',
    '--test',
    others,
    narrow,
  ];
  const { stderr, stdout } = await dpFtrl(measured);
  assert.match(
    stderr,
    /--test measures on .*: NOT private unless it is public and shares no rows with the table/,
  );
  assert.match(stdout, /^epsilon of the second moments/m);
});
