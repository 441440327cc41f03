// SPDX-License-Identifier: Apache-2.0

// Errors of all steps at once, and bounds on mechanisms of any kind: the package and its command.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { json } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

test('error: beta adds simultaneous errors, scaled as all others', () => {
  const problem = { mechanism: 'square-root', numSteps: 8 };
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
  const found = dp.error({ mechanism: 'output', numSteps: 4, beta: 0.05 });
  assert.equal(found.simultaneousMethod, 'product');
  close(found.simultaneousError, 4.981830262038271, 1e-9); // 2 sqrt(2) erfinv(0.95^(1/4)), by mpmath
});

test('error: drawn streams give a lower level, the same for a seed', () => {
  const problem = { mechanism: 'square-root', numSteps: 64, beta: 0.05 };
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
  const problem = { mechanism: 'tree', numSteps: 4 };
  for (const beta of [0, 1, -1, NaN, Infinity]) {
    assert.throws(() => dp.error({ ...problem, beta }), { parameter: 'beta' });
  }
  for (const dimension of [0, -1, 1.5, NaN]) {
    assert.throws(() => dp.error({ ...problem, beta: 0.1, dimension }), { parameter: 'dimension' });
  }
  assert.throws(() => dp.error({ ...problem, dimension: 2 }), { parameter: 'beta' });
  assert.throws(() => dp.error({ ...problem, beta: '0.1' }), { parameter: 'beta' });
});

test('bounds: mechanisms of any kind have bounds where their privacy is given', () => {
  const plain = dp.bounds(1024);
  assert.equal('mechanisms' in plain, false);
  const { mechanisms: concentrated } = dp.bounds(1024, { rho: 0.5 });
  close(concentrated.unbiased.max, plain.max / Math.sqrt(Math.E - 1), 1e-9);
  close(concentrated.unbiased.mean, plain.mean / Math.sqrt(Math.E - 1), 1e-9);
  close(concentrated.every, 1.26, 1e-2);
  assert.equal(concentrated.blockLength, 1);
  const { mechanisms: pure } = dp.bounds(1024, { epsilon: 1 });
  close(pure.unbiased.max, plain.max / Math.sqrt(Math.E + 1 / Math.E - 2), 1e-9);
  assert.ok(pure.every < pure.unbiased.mean);
  // No pure law of integers has less variance than geometric noise.
  const { addedNoise } = dp.bounds(1024, { epsilon: 1 });
  close(addedNoise.variance, (2 * Math.E) / (Math.E - 1) ** 2, 1e-6);
  close(addedNoise.mean, plain.mean * Math.sqrt(addedNoise.variance), 1e-6);
  const approximate = dp.bounds(1024, { epsilon: 1, delta: 1e-5 });
  assert.equal('mechanisms' in approximate, false);
  close(approximate.addedNoise.variance, 1.8396168204220157, 1e-6); // tests/golden/added_noise.json
  close(approximate.addedNoise.max, plain.max * Math.sqrt(1.8396168204220157), 1e-6);
  for (const delta of [-1, 1, NaN]) {
    assert.throws(() => dp.bounds(8, { epsilon: 1, delta }), { parameter: 'delta' });
  }
  assert.throws(() => dp.bounds(8, { delta: 0.1 }), { parameter: 'epsilon' });
  assert.throws(() => dp.bounds(8, { delta: 0.1, rho: 1 }), { parameter: 'delta' });
  for (const bad of [0, -1, NaN, Infinity]) {
    assert.throws(() => dp.bounds(8, { rho: bad }), { parameter: 'rho' });
    assert.throws(() => dp.bounds(8, { epsilon: bad }), { parameter: 'epsilon' });
  }
  assert.throws(() => dp.bounds(8, {}), { parameter: 'epsilon' });
  assert.throws(() => dp.bounds(8, { epsilon: 1, rho: 1 }), { parameter: 'epsilon' });
});

test('command: error --beta and bounds --rho say what the package says', async () => {
  const args = ['error', '--mechanism', 'square-root', '--steps', '8', '--beta', '0.05'];
  const more = ['--dimension', '3', '--paths', '1000', '--seed', '5'];
  const found = await json([...args, ...more]);
  const problem = { mechanism: 'square-root', numSteps: 8, beta: 0.05 };
  const own = dp.error({ ...problem, dimension: 3, numPaths: 1000, seed: 5 });
  const names = ['simultaneousError', 'simultaneousNorm', 'simultaneousSampled'];
  for (const name of ['beta', 'dimension', ...names]) {
    assert.equal(found[name], own[name]);
  }
  const { stdout } = await dpFtrl([...args, '--paths', '1000']);
  assert.match(stdout, /the same from 1000 drawn streams +[4-5]\.\d+/);
  assert.match(stdout, /no error above, but with probability 0\.05 \(neighbouring rows\) +4\.32/);
  assert.match(stdout, /Frobenius norm of all errors/);
  const bounds = await json(['bounds', '--steps', '64', '--rho', '0.1']);
  assert.deepEqual(bounds.mechanisms, dp.bounds(64, { rho: 0.1 }).mechanisms);
  const added = await json(['bounds', '--steps', '64', '--epsilon', '2', '--delta', '1e-6']);
  assert.deepEqual(added.addedNoise, dp.bounds(64, { epsilon: 2, delta: 1e-6 }).addedNoise);
  for (const [bad, message] of [
    [[...args.slice(0, 5), '--beta', '0'], /--beta must be a number between 0 and 1, got "0"/],
    [[...args.slice(0, 5), '--beta', 'NaN'], /--beta must be/],
    [[...args, '--dimension', '0'], /--dimension must be a whole number of at least 1, got "0"/],
    [[...args.slice(0, 5), '--dimension', '2'], /--beta is required/],
    [[...args.slice(0, 5), '--paths', '2'], /--beta is required/],
    [[...args, '--seed', '2'], /--paths is required/],
    [[...args, '--paths', '2000000'], /--paths must be .*1048576/],
    [['bounds', '--steps', '8', '--delta', '0.1'], /--epsilon is required/],
    [['bounds', '--steps', '8', '--gap', '0.1'], /--epochs is required/],
    [['bounds', '--steps', '8', '--epochs', '3'], /--epochs must be a divisor of/],
    [['bounds', '--steps', '8', '--rho', '0'], /--rho must be a positive number/],
    [['bounds', '--steps', '8', '--rho', '1', '--epsilon', '1'], /--epsilon must not be given/],
  ]) {
    const { code, stderr } = await dpFtrl(bad);
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});
