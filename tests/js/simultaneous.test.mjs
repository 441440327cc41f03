// SPDX-License-Identifier: Apache-2.0

// Errors of all steps at once, and bounds on arbitrary mechanisms: the package and its command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails, json } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

test('error: beta adds simultaneous errors, scaled as all others', () => {
  const problem = { strategy: 'square-root', steps: 8 };
  const plain = dp.error(problem);
  assert.equal('simultaneousError' in plain, false);
  const found = dp.error({ ...problem, beta: 0.05 });
  close(found.simultaneousUnion, 4.39403394703703, 1e-9); // tests/golden/simultaneous.json
  close(found.simultaneousError, 4.321856948173319, 1e-3);
  assert.equal(found.simultaneousMethod, 'neighbours');
  assert.deepEqual([found.beta, found.dimension], [0.05, 1]);
  assert.equal(found.simultaneousNorm, found.simultaneousError);
  close(found.frobeniusRms, found.meanError * Math.sqrt(8), 1e-9);
  assert.ok(found.frobeniusError > found.frobeniusRms);
  const wide = dp.error({ ...problem, beta: 0.05, dimension: 3, neighbours: 'replace-one' });
  const narrow = dp.error({ ...problem, beta: 0.05, dimension: 3 });
  for (const name of ['Error', 'Union', 'Norm']) {
    close(wide[`simultaneous${name}`], 2 * narrow[`simultaneous${name}`], 1e-12);
    assert.ok(narrow[`simultaneous${name}`] > found[`simultaneous${name}`]);
  }
  close(wide.frobeniusError, 2 * narrow.frobeniusError, 1e-12);
  close(wide.maxError, 2 * plain.maxError, 1e-12);
});

test('error: rows that are independent have the product bound', () => {
  const found = dp.error({ strategy: 'output', steps: 4, beta: 0.05 });
  assert.equal(found.simultaneousMethod, 'product');
  close(found.simultaneousError, 4.981830262038271, 1e-9); // 2 sqrt(2) erfinv(0.95^(1/4)), by mpmath
});

test('error: simulated streams give a lower level, and the same seed gives the same one', () => {
  const problem = { strategy: 'square-root', steps: 64, beta: 0.05 };
  const plain = dp.error(problem);
  assert.equal('simultaneousSampled' in plain, false);
  const found = dp.error({ ...problem, numPaths: 20000 });
  const { simultaneousSampled, simultaneousPaths, simultaneousRisk, ...rest } = found;
  assert.deepEqual(rest, plain);
  assert.deepEqual([simultaneousPaths, simultaneousRisk], [20000, 1e-6]);
  assert.ok(simultaneousSampled < plain.simultaneousError);
  assert.ok(simultaneousSampled > 0.95 * plain.simultaneousError);
  const sampled = (more) => dp.error({ ...problem, numPaths: 20000, ...more }).simultaneousSampled;
  assert.equal(sampled({ seed: 0 }), simultaneousSampled);
  assert.notEqual(sampled({ seed: 1n }), simultaneousSampled);
  assert.equal(sampled({ neighbours: 'replace-one' }), 2 * simultaneousSampled);
  assert.ok(sampled({ dimension: 10 }) > simultaneousSampled);
  assert.equal(sampled({ numPaths: 250 }), null);
  for (const [more, parameter] of [
    [{ numPaths: 0 }, 'numPaths'],
    [{ numPaths: 2 ** 20 + 1 }, 'numPaths'],
    [{ numPaths: 1.5 }, 'numPaths'],
    [{ numPaths: 100, seed: -1 }, 'seed'],
    [{ seed: 1 }, 'numPaths'],
    [{ beta: undefined, numPaths: 100 }, 'beta'],
  ]) {
    assert.throws(() => dp.error({ ...problem, ...more }), { parameter });
  }
});

test('error: a bad beta or dimension is refused by name', () => {
  const problem = { strategy: 'tree', steps: 4 };
  for (const beta of [0, 1, -1, NaN, Infinity]) {
    assert.throws(() => dp.error({ ...problem, beta }), { parameter: 'beta' });
  }
  for (const dimension of [0, -1, 1.5, NaN]) {
    assert.throws(() => dp.error({ ...problem, beta: 0.1, dimension }), { parameter: 'dimension' });
  }
  assert.throws(() => dp.error({ ...problem, dimension: 2 }), { parameter: 'beta' });
  assert.throws(() => dp.error({ ...problem, beta: '0.1' }), { parameter: 'beta' });
});

test('error: without a delta, the error is that of the released totals', () => {
  const target = { steps: 40, epsilon: 0.5, delta: 0, clip: 3, neighbours: 'replace-one' };
  const found = dp.error({ ...target, beta: 0.05, dimension: 2 });
  const sums = dp.totals({ ...target, dimension: 2, insecureSeed: 1 });
  const stds = Array.from({ length: 40 }, (_, step) => sums.stddev(step));
  close(found.maxError, Math.max(...stds), 1e-12);
  close(found.meanError, Math.hypot(...stds) / Math.sqrt(40), 1e-12);
  assert.equal(found.simultaneousError, sums.halfWidth({ probability: 0.05 }));
  assert.deepEqual(found.effectiveParameters, sums.certificate.effectiveParameters);
  const { mechanism, neighbours, epsilon, clipNorm, simultaneousMethod, dimension } = found;
  assert.deepEqual([mechanism, neighbours, epsilon, clipNorm], ['tree-k', 'replace-one', 0.5, 3]);
  assert.deepEqual([simultaneousMethod, dimension], ['union', 2]);
  sums.dispose();
  const plain = dp.error(target);
  assert.equal('simultaneousError' in plain, false);
  assert.ok(dp.error({ ...target, beta: 0.05 }).simultaneousError < found.simultaneousError);
  const before = dp.liveHandles;
  for (const [more, parameter] of [
    [{ beta: 0 }, 'beta'],
    [{ beta: 1 }, 'beta'],
    [{ beta: NaN }, 'beta'],
    [{ beta: 1e-300 }, 'beta'],
    [{ beta: '0.1' }, 'beta'],
    [{ dimension: 2 }, 'beta'],
    [{ beta: 0.1, dimension: 0 }, 'dimension'],
    [{ beta: 0.1, numPaths: 1000 }, 'numPaths'],
    [{ epsilon: undefined }, 'epsilon'],
    [{ epsilon: 0 }, 'epsilon'],
    [{ clip: Infinity }, 'clip'],
    [{ delta: 1e-6 }, 'epsilon'],
    [{ workload: { window: 3 } }, 'workload'],
    [{ strategy: 'honaker' }, 'strategy'],
    [{ strategy: { name: 'tree-k', bands: 3 } }, 'strategy.bands'],
    [{ pure: true }, 'pure'],
    [{ delta: undefined }, 'epsilon'],
  ]) {
    assert.throws(() => dp.error({ ...target, ...more }), { call: 'error', parameter }, parameter);
  }
  assert.equal(dp.liveHandles, before);
});

/** Generates a stream of standard normals (Box-Muller) from a fixed seed. */
function normals(seed) {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next());
}

/** Lower-triangular rows L such that L L^T is the matrix. */
function cholesky(matrix, n) {
  const rows = [];
  for (let i = 0; i < n; ++i) {
    const row = [];
    for (let j = 0; j <= i; ++j) {
      const other = j === i ? row : rows[j];
      const left = matrix[i * n + j] - row.reduce((sum, x, k) => sum + x * other[k], 0);
      row.push(j === i ? Math.sqrt(left) : left / rows[j][j]);
    }
    rows.push(row);
  }
  return rows;
}

test('error: several workloads keep to their levels together', () => {
  const numSteps = 24;
  const workloads = ['prefix', { window: 2 }, { window: 5 }, { momentum: 0, decay: 0.75 }];
  const beta = 0.1;
  const found = dp.error({ steps: numSteps, workloads, beta });
  assert.equal(found.workload, 'prefix + window=2 + window=5 + momentum=0,decay=0.75');
  const named = Object.fromEntries(workloads.map((workload, i) => [`w${i}`, workload]));
  const sums = dp.sums({ workloads: named, steps: numSteps, epsilon: 1, delta: 1e-6 });
  const { certificate } = sums;
  sums.dispose();
  for (const name of ['mechanism', 'sensitivity', 'maxError', 'meanError', 'objective']) {
    assert.equal(found[name], certificate[name], name);
  }
  assert.deepEqual(
    found.workloads.map(({ maxError, meanError }) => ({ maxError, meanError })),
    Object.values(certificate.workloads),
  );
  assert.deepEqual(
    found.workloads.map(({ workload }) => workload),
    ['prefix', 'window=2', 'window=5', 'momentum=0,decay=0.75'],
  );
  close(found.ratio, found.meanError / found.lowerBound, 1e-12);
  // More than 530 of 4000 draws exceed true levels with probability below 5e-10 (Chernoff). The
  // noise of totals is drawn from its covariance, which for a tree is the same without other
  // workloads; the noise of other sums is computed from differences of totals.
  const { noiseCovariance } = dp.error({
    strategy: 'tree',
    steps: numSteps,
    matrices: true,
  }).matrices;
  const tree = dp.error({ strategy: 'tree', steps: numSteps, workloads, beta });
  const levels = tree.workloads.map((own) => own.simultaneousError);
  const root = cholesky(noiseCovariance, numSteps);
  const normal = normals(7);
  let beyond = 0;
  for (let draw = 0; draw < 4000; ++draw) {
    const z = Array.from({ length: numSteps }, normal);
    const total = root.map((row) => row.reduce((sum, x, j) => sum + x * z[j], 0));
    const at = (t) => (t < 0 ? 0 : total[t]);
    const noises = [(t) => total[t], (t) => total[t] - at(t - 2), (t) => total[t] - at(t - 5)];
    let decaying = 0;
    const decays = total.map((_, t) => (decaying = 0.75 * decaying + total[t] - at(t - 1)));
    noises.push((t) => decays[t]);
    const isBeyond = noises.some((noise, i) =>
      total.some((_, t) => Math.abs(noise(t)) > levels[i]),
    );
    beyond += isBeyond ? 1 : 0;
  }
  assert.ok(beyond <= 530, `${beyond} draws of 4000`);
  assert.ok(beyond >= 80, `so loose levels would pass unseen: ${beyond}`);
});

test('error: several workloads: errors scale with neighbours, and bad options are refused by name', () => {
  const problem = { steps: 8, workloads: ['prefix', { window: 3 }] };
  const wide = dp.error({ ...problem, beta: 0.05, dimension: 3, neighbours: 'replace-one' });
  const narrow = dp.error({ ...problem, beta: 0.05, dimension: 3 });
  wide.workloads.forEach((own, i) => {
    for (const name of ['maxError', 'simultaneousError', 'simultaneousNorm']) {
      close(own[name], 2 * narrow.workloads[i][name], 1e-12);
    }
    assert.ok(own.simultaneousNorm > own.simultaneousError);
  });
  const [one] = dp.error({ steps: 8, workloads: [{ window: 3 }], beta: 0.05 }).workloads;
  assert.equal(one.workload, 'window=3');
  // Alongside others, a workload must hold with a higher probability, so its level is higher.
  const alone = dp.error({ steps: 8, strategy: 'tree', beta: 0.05 });
  const beside = dp.error({ ...problem, strategy: 'tree', beta: 0.05 });
  assert.ok(beside.workloads[0].simultaneousError > alone.simultaneousError);
  for (const [more, parameter] of [
    [{ beta: 0 }, 'beta'],
    [{ beta: NaN }, 'beta'],
    [{ beta: Infinity }, 'beta'],
    [{ dimension: 2 }, 'beta'],
    [{ beta: 0.1, dimension: 0 }, 'dimension'],
    [{ beta: 0.1, numPaths: 1000 }, 'numPaths'],
    [{ workload: 'prefix' }, 'workload'],
    [{ importance: [1] }, 'importance'],
    [{ importance: [1, 0] }, 'importance[1]'],
    [{ workloads: [] }, 'workloads'],
    [{ workloads: 'prefix' }, 'workloads'],
    [{ epsilon: 1 }, 'epsilon'],
  ]) {
    assert.throws(() => dp.error({ ...problem, ...more }), { call: 'error', parameter }, parameter);
  }
  assert.throws(() => dp.error({ steps: 8, strategy: 'tree', importance: [1] }), {
    parameter: 'importance',
  });
});

test('command: error --pure and error of several workloads print the numbers of the package', async () => {
  const pure = ['error', '--pure', '--epsilon', '0.5', '--clip', '3', '--steps', '40'];
  const target = { steps: 40, epsilon: 0.5, delta: 0, clip: 3, beta: 0.05 };
  const asked = [...pure, '--beta', '0.05'];
  const { steps, parameters, ...rest } = await json([...asked, '--dimension', '2']);
  assert.deepEqual({ numSteps: steps, ...rest }, dp.error({ ...target, dimension: 2 }));
  assert.deepEqual(parameters, {});
  const { stdout } = await dpFtrl(asked);
  const { simultaneousError } = dp.error(target);
  assert.match(stdout, /bound on errors, except with probability 0.05 \(union bound\)/);
  assert.ok(stdout.includes(String(Number(simultaneousError.toPrecision(13)))), stdout);
  const both = ['--workloads', 'total=prefix,week=window:7'];
  const several = ['error', '--steps', '30', ...both, '--beta', '0.05', '--importance', '1,4'];
  const found = await json(several);
  const workloads = ['prefix', { window: 7 }];
  const own = dp.error({ steps: 30, workloads, beta: 0.05, importance: [1, 4] });
  assert.deepEqual(found.workloads, own.workloads);
  assert.deepEqual([found.lowerBound, found.ratio, found.steps], [own.lowerBound, own.ratio, 30]);
  const table = (await dpFtrl(several)).stdout;
  assert.match(table, /week: bound on errors, except with probability 0.05 overall/);
  for (const [args, text] of [
    [['error', '--steps', '9', '--epsilon', '1'], /--epsilon needs --pure/],
    [['error', '--steps', '9', '--pure'], /--pure needs --epsilon/],
    [[...pure, '--workload', 'window=3'], /--workload does not go with --pure/],
    [[...asked, '--paths', '1000'], /--paths does not go with --pure/],
    [[...pure, '--beta', '1'], /--beta must be/],
    [[...pure, '--strategy', 'honaker'], /--strategy must be tree-k/],
    [[...several, '--paths', '1000'], /--paths does not go with --workloads/],
    [
      ['error', '--steps', '9', '--workloads', 'a=prefix,a=window:2'],
      /--workloads has the name a twice/,
    ],
    [['error', '--steps', '9', '--importance', '1,2'], /--importance needs --workloads/],
  ]) {
    await fails(args, 2, text);
  }
});

test('bounds: rho or a pure epsilon adds bounds for mechanisms of any kind', () => {
  const plain = dp.bounds({ steps: 1024 });
  assert.equal('mechanisms' in plain, false);
  const { mechanisms: concentrated } = dp.bounds({ steps: 1024, rho: 0.5 });
  close(concentrated.unbiased.max, plain.max / Math.sqrt(Math.E - 1), 1e-9);
  close(concentrated.unbiased.mean, plain.mean / Math.sqrt(Math.E - 1), 1e-9);
  close(concentrated.every, 1.26, 1e-2);
  assert.equal(concentrated.blockLength, 1);
  const { mechanisms: pure } = dp.bounds({ steps: 1024, epsilon: 1 });
  close(pure.unbiased.max, plain.max / Math.sqrt(Math.E + 1 / Math.E - 2), 1e-9);
  assert.ok(pure.every < pure.unbiased.mean);
  // Among pure mechanisms on integers, no noise has a smaller variance than geometric noise.
  const { addedNoise } = dp.bounds({ steps: 1024, epsilon: 1 });
  close(addedNoise.variance, (2 * Math.E) / (Math.E - 1) ** 2, 1e-6);
  close(addedNoise.mean, plain.mean * Math.sqrt(addedNoise.variance), 1e-6);
  const approximate = dp.bounds({ steps: 1024, epsilon: 1, delta: 1e-5 });
  assert.equal('mechanisms' in approximate, false);
  close(approximate.addedNoise.variance, 1.8396168204220157, 1e-6); // tests/golden/added_noise.json
  close(approximate.addedNoise.max, plain.max * Math.sqrt(1.8396168204220157), 1e-6);
  for (const delta of [-1, 1, NaN]) {
    assert.throws(() => dp.bounds({ steps: 8, epsilon: 1, delta }), { parameter: 'delta' });
  }
  assert.throws(() => dp.bounds({ steps: 8, delta: 0.1 }), { parameter: 'epsilon' });
  assert.throws(() => dp.bounds({ steps: 8, delta: 0.1, rho: 1 }), { parameter: 'delta' });
  for (const bad of [0, -1, NaN, Infinity]) {
    assert.throws(() => dp.bounds({ steps: 8, rho: bad }), { parameter: 'rho' });
    assert.throws(() => dp.bounds({ steps: 8, epsilon: bad }), { parameter: 'epsilon' });
  }
  assert.throws(() => dp.bounds({ steps: 8, epsilon: 1, rho: 1 }), { parameter: 'epsilon' });
});

test('command: error --beta and bounds --rho print the numbers of the package', async () => {
  const args = ['error', '--strategy', 'square-root', '--steps', '8', '--beta', '0.05'];
  const more = ['--dimension', '3', '--paths', '1000', '--seed', '5'];
  const found = await json([...args, ...more]);
  const problem = { strategy: 'square-root', steps: 8, beta: 0.05 };
  const own = dp.error({ ...problem, dimension: 3, numPaths: 1000, seed: 5 });
  const names = ['simultaneousError', 'simultaneousNorm', 'simultaneousSampled'];
  for (const name of ['beta', 'dimension', ...names]) {
    assert.equal(found[name], own[name]);
  }
  const { stdout } = await dpFtrl([...args, '--paths', '1000']);
  assert.match(stdout, /the same from 1000 simulated streams +[4-5]\.\d+/);
  assert.match(
    stdout,
    /bound on errors, except with probability 0\.05 \(neighbouring rows\) +4\.32/,
  );
  assert.match(stdout, /Frobenius norm of all errors/);
  const bounds = await json(['bounds', '--steps', '64', '--rho', '0.1']);
  assert.deepEqual(bounds.mechanisms, dp.bounds({ steps: 64, rho: 0.1 }).mechanisms);
  const added = await json(['bounds', '--steps', '64', '--epsilon', '2', '--delta', '1e-6']);
  assert.deepEqual(added.addedNoise, dp.bounds({ steps: 64, epsilon: 2, delta: 1e-6 }).addedNoise);
  for (const [bad, message] of [
    [[...args.slice(0, 5), '--beta', '0'], /--beta must be a number between 0 and 1, got "0"/],
    [[...args.slice(0, 5), '--beta', 'NaN'], /--beta must be/],
    [[...args, '--dimension', '0'], /--dimension must be a whole number of at least 1, got "0"/],
    [[...args.slice(0, 5), '--dimension', '2'], /--dimension needs --beta/],
    [[...args.slice(0, 5), '--paths', '2'], /--paths needs --beta/],
    [[...args, '--seed', '2'], /--seed needs --paths/],
    [[...args, '--paths', '2000000'], /--paths must be .*1048576/],
    [['bounds', '--steps', '8', '--delta', '0.1'], /--delta needs --epsilon/],
    [['bounds', '--steps', '8', '--gap', '0.1'], /--gap needs --epochs/],
    [['bounds', '--steps', '8', '--epochs', '3'], /--epochs must be a divisor of/],
    [['bounds', '--steps', '8', '--rho', '0'], /--rho must be a positive number/],
    [['bounds', '--steps', '8', '--rho', '1', '--epsilon', '1'], /--epsilon must not be given/],
  ]) {
    const { code, stderr } = await dpFtrl(bad);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});
