// SPDX-License-Identifier: Apache-2.0

// The experiments of bench/: small versions of the findings, and their figures.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { importEntry, root } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const { measure, plot } = await importSource('../../bench/experiments/main.ts');
const { findingsOf, optimalNoises } = await importSource('../../bench/experiments/dp-sgd.ts');
const folder = scratchFolder('experiment');

function experiment(name, steps, repeats = 1) {
  return measure(dp, name, { steps, repeats });
}

function curve({ panels }, name, panel = 0) {
  return panels[panel].series.find((series) => series.name === name);
}

function found({ findings }, pattern) {
  return findings.filter(({ what }) => pattern.test(what)).map(({ value }) => value);
}

/**
 * Checks that every point of the curves with a bound is below it, and returns the names of these
 * curves.
 */
function staysBelowBounds(panel) {
  const bounds = panel.series.filter(({ of }) => of !== undefined);
  for (const { name, of, x, y } of bounds) {
    assert.equal(name, `bound: ${of}`);
    const measured = panel.series.find((series) => series.name === of);
    assert.deepEqual(measured.x, x);
    measured.y.forEach((value, i) => assert.ok(value < y[i], `${of}: ${value} ${y[i]}`));
  }
  return bounds.map(({ of }) => of);
}

function isFalling(values) {
  return values.every((value, i) => i === 0 || value < values[i - 1]);
}

test('experiment: errors per step match the closed forms, and mechanisms come in order of error', async () => {
  const result = experiment('error-per-step', 64);
  const ones = (t) => t.toString(2).replaceAll('0', '').length;
  const { x, y } = curve(result, 'tree');
  assert.equal(x.length, 64);
  x.forEach((t, i) => close(y[i], Math.sqrt(7 * ones(t)), 1e-12));
  assert.ok(isFalling(found(result, /mean square/)));
  // Closed forms hold also for horizons that are not powers of two.
  for (const numSteps of [7, 64]) {
    const { findings } = experiment('error-per-step', numSteps);
    const known = findings.filter(({ expected }) => expected !== undefined);
    const names = known.map(({ what }) => what.split(':')[0]);
    assert.deepEqual(names, ['tree', 'tree', 'square-root', 'square-root']);
    for (const { value, expected } of known) close(value, expected, 1e-12);
  }
});

test('experiment: regret stays below its bounds, and mechanisms rank mostly by their errors', async () => {
  const result = experiment('regret', 64, 2);
  assert.deepEqual(
    result.panels.map(({ title }) => title),
    ['stationary', 'sparse', 'adversarial'],
  );
  for (const panel of result.panels) {
    const { series, title } = panel;
    assert.equal(series.length, 22 + 3, title);
    assert.ok(series.every(({ y }) => y.every(Number.isFinite)));
    assert.deepEqual(staysBelowBounds(panel).sort(), ['independent', 'optimal', 'tree']);
  }
  const all = found(result, /rank correlation/);
  assert.equal(all.length, 30);
  assert.ok(all.reduce((sum, value) => sum + value, 0) / all.length > 0.5, all.join(' '));
});

test('experiment: the tree is worse than the square root by the predicted factor', async () => {
  const result = experiment('tree-ratio', 4096, 4);
  const errors = found(result, /standard error/);
  const ratios = result.findings.filter(({ what }) => /measured/.test(what));
  assert.deepEqual(
    ratios.map(({ expected }) => Number(expected.toFixed(2))),
    [5.69, 6.18],
  );
  // Fixed seeds; 5 standard errors were chosen beforehand, a false alarm in 10^6.
  ratios.forEach(({ value, expected }, i) => {
    assert.ok(Math.abs(value - expected) < 5 * errors[i], `${value} ${expected} ${errors[i]}`);
    assert.ok(5 * errors[i] < expected / 4, 'precise enough to tell 5.69 from 4.3');
  });
});

test('experiment: no more streams than allowed exceed the bound for all steps, which is tight', async () => {
  const repeats = 4000;
  const result = experiment('error-tail', 64, repeats);
  const shares = found(result, /share of streams beyond/);
  const ratios = found(result, /the bound over/);
  assert.equal(shares.length, 3);
  // Fixed seeds; 5 standard deviations were chosen beforehand. With 2/3 of the bound, more than 0.3
  // would exceed it.
  for (const share of shares) assert.ok(share < 0.05 + 5 * Math.sqrt(0.05 / repeats), `${share}`);
  for (const ratio of ratios) assert.ok(ratio > 0.96 && ratio < 1.1, `${ratio}`);
  const [panel] = result.panels;
  assert.deepEqual(
    panel.series.map(({ of }) => of ?? ''),
    ['', 'tree', '', 'square-root', '', 'optimal'],
  );
  for (const { x, y } of panel.series) {
    assert.equal(x.length, 9);
    y.forEach((value, i) => assert.ok(i === 0 || value >= y[i - 1]));
  }
});

test('experiment: optimal noise beats the tree, and DP-FTRL and DP-SGD gain from a larger epsilon', async () => {
  const result = experiment('sgd', 128, 2);
  for (const panel of [0, 1]) {
    const optimal = curve(result, 'DP-FTRL, optimal', panel).y;
    const tree = curve(result, 'DP-FTRL, tree', panel).y;
    optimal
      .slice(1)
      .forEach((value, i) => assert.ok(value < tree[i + 1], `${value} ${tree[i + 1]}`));
    for (const name of ['DP-FTRL, optimal', 'DP-SGD, independent noise']) {
      const { y } = curve(result, name, panel);
      assert.ok(y.at(-1) < y[0], name);
    }
  }
  assert.deepEqual(staysBelowBounds(result.panels[0]), [
    'DP-FTRL, optimal',
    'DP-FTRL, tree',
    'DP-FTRL, independent noise',
    'DP-SGD, independent noise',
  ]);
  assert.deepEqual(staysBelowBounds(result.panels[1]), []);
  for (const panel of [0, 1]) {
    const sgd = curve(result, 'DP-SGD, independent noise', panel).y;
    const ftrl = curve(result, 'DP-FTRL, independent noise', panel).y;
    sgd.forEach((value, i) => assert.notEqual(value, ftrl[i], 'another algorithm'));
  }
  // 0.50 with this pair of seeds; 0.41 to 0.65 with 12 other pairs.
  assert.ok(found(result, /the same, best lambda/).at(-1) < 0.8);
  // Without privacy the result does not depend on epsilon, and the theorem's lambda is among those
  // tried.
  const [least] = curve(result, 'no privacy, best lambda', 1).y;
  assert.ok(curve(result, 'no privacy, best lambda', 1).y.every((value) => value === least));
  const theorem = curve(result, "FTRL without privacy, theorem's lambda").y;
  assert.ok(theorem.every((value) => value >= least));
});

test('experiment: one factorization beats restarts in error at every number of passes above one', async () => {
  const result = experiment('epochs', 16);
  const one = curve(result, 'one factorization: banded square root').y;
  const restarts = curve(result, 'restarts: square root').y;
  one.slice(1).forEach((value, i) => assert.ok(value < restarts[i + 1]));
  assert.equal(one[0], restarts[0]);
  const blt = curve(result, 'one factorization: blt').y;
  for (const family of ['tree', 'honaker']) {
    const completed = curve(result, `restarts: ${family}, completed`).y;
    completed.slice(1).forEach((value, i) => assert.ok(value > Math.max(one[i + 1], blt[i + 1])));
  }
});

test('experiment: an encoder made for the momentum has less noise, and the same at momentum 0', async () => {
  const result = experiment('momentum', 64);
  const [after, through] = result.panels[0].series.map(({ y }) => y);
  close(through[0], after[0], 1e-12);
  close(after[0], dp.error({ strategy: 'square-root', steps: 64 }).meanError, 1e-12);
  after.slice(1).forEach((error, i) => assert.ok(through[i + 1] < error, `${error}`));
  assert.equal(found(result, /^momentum 0: the same for regret/)[0], 1);
  // For rates, the square root is that of prefix sums in either case.
  const powers = [0, 0.25, 0.5, 1];
  const noise = curve(result, 'noise in the weights', 2);
  assert.deepEqual(noise.x, powers);
  close(noise.y[0], 1, 1e-6);
  assert.ok(isFalling(noise.y));
  const overRoot = found(result, /post-processing, square-root/);
  powers.forEach((power, i) => {
    const rates = Array.from({ length: 64 }, (_, t) => (t + 1) ** -power);
    const problem = { steps: 64, workload: { rates } };
    const { error } = dp
      .optimize({ ...problem, strategy: { name: 'optimal', objective: 'mean' } })
      .result();
    close(overRoot[i], error / dp.error({ ...problem, strategy: 'square-root' }).meanError, 1e-9);
  });
  const regrets = curve(result, 'regret, best lambda (NOT private)', 2).y;
  close(regrets[0], 1, 1e-3);
  assert.ok(regrets.slice(1).every((ratio) => ratio !== 1));
});

test('experiment: errors stay above the bound, and the search closes the gap', async () => {
  const result = experiment('lower-bound', 64);
  for (const name of ['square-root', 'normalized-square-root', 'blt-normalized', 'optimal']) {
    assert.ok(
      curve(result, name).y.every((ratio) => ratio >= 1 - 1e-12),
      name,
    );
  }
  assert.ok(curve(result, 'Schatten-1 bound').y.every((ratio) => ratio <= 1));
  const [errors, bounds] = result.panels[1].series.map(({ y }) => y);
  errors.forEach((error, i) => assert.ok(error >= bounds[i]));
  assert.ok(errors.at(-1) / bounds.at(-1) < 1 + 1e-5);
  const known = result.findings.filter(({ expected }) => expected !== undefined);
  assert.deepEqual(
    known.map(({ what }) => what),
    ['optimal: error / bound at 64 steps', 'search: error / bound at the end'],
  );
  for (const { value, expected } of known) close(value, expected, 1e-4);
  assert.ok(errors[0] / bounds[0] > errors.at(-1) / bounds.at(-1));
});

test(
  'experiment: learning beats guessing the most frequent label, and permuted labels hardly do',
  onlyInAll,
  async () => {
    const result = experiment('learning', 300, 2);
    assert.equal(result.panels.length, 4);
    for (const { title, series } of result.panels) {
      const [chosen, best, less, permuted, majority] = series.map(({ y }) => y);
      chosen.forEach((accuracy, i) => {
        const where = `${title}, epsilon ${series[0].x[i]}`;
        assert.ok(best[i] >= accuracy, `${where}: the settings that are chosen are tried`);
        assert.ok(Math.max(accuracy, less[i]) > majority[i] + 0.05, `${where}: ${accuracy}`);
        // For 600 rows, four standard deviations are 0.08.
        assert.ok(permuted[i] < majority[i] + 0.08, `${where}: ${permuted[i]} ${majority[i]}`);
      });
    }
    const behind = found(result, /points behind/);
    assert.equal(behind.length, 12);
    result.findings
      .filter(({ what }) => /points behind/.test(what))
      .forEach(({ what, value }) => assert.equal(/NOT within/.test(what), value > 1.5, what));
    const [gain] = found(result, /two thirds of the noise: points/);
    const [error] = found(result, /two thirds of the noise: standard error/);
    assert.ok(gain > 2 * error, `${gain} ${error}`);
  },
);

/** Runs `npm run experiment` with these arguments. */
function run(...args) {
  const program = join(root, 'bench/experiments/run.mjs');
  return spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });
}

test('experiment: DP-FTRL has less noise than independent noise, and gains are in points', () => {
  const noises = optimalNoises(dp, 16);
  assert.deepEqual(
    noises.map(({ passes }) => passes),
    [1, 2, 8, 16],
  );
  for (const { passes, steps, covariance, ratio } of noises) {
    const { meanError } = dp.error({
      strategy: 'independent',
      steps,
      participation: { epochs: passes },
    });
    let trace = 0;
    for (let i = 0; i < steps; ++i) trace += covariance[i * (steps + 1)];
    close(Math.sqrt(trace / steps), ratio * meanError, 1e-12);
    assert.ok(ratio < 1, `${passes}: ${ratio}`);
  }
  const accuracies = {
    'dp-sgd': [0.5, 0.5],
    'dp-gd': [0.51, 0.53],
    'dp-ftrl': [0.5, 0.4],
    '3 passes, optimal': [0.6, 0.7],
    '3 passes, independent': [0.5, 0.5],
  };
  const findings = findingsOf(
    [{ table: 'a', epsilon: 4, accuracies }],
    [{ passes: 3, ratio: 0.5 }],
  );
  const values = found({ findings }, /./);
  [0.5, 2, 1, -5, 5, 15, 5].forEach((value, i) => close(values[i], value, 1e-9));
  assert.throws(() => optimalNoises(dp, 12), /--steps must be a multiple of 8, got 12/);
});

test('experiment: the program prints findings, and draws their numbers', () => {
  const path = join(folder, 'a.svg');
  const { status, stdout, stderr } = run('error-per-step', '--steps', '16', '--plot', path);
  assert.equal(status, 0, stderr);
  assert.match(stdout, /^tree: largest error +\d/m);
  const picture = readFileSync(path, 'utf8');
  assert.equal(picture, plot(experiment('error-per-step', 16)));
  assert.match(picture, /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" [^>]+>/);
  assert.doesNotMatch(picture, /NaN|Infinity|undefined/);
  const opened = picture.match(/<[a-z][^>]*[^/]>/g).length;
  assert.equal(opened, picture.match(/<\/[a-z]+>/g).length, 'every element is closed');
  const [, points] = /<polyline points="([^"]+)"/.exec(picture);
  assert.equal(points.split(' ').length, 16);
  const { title, findings } = JSON.parse(run('error-per-step', '--steps', '16', '--json').stdout);
  assert.ok(stdout.includes(findings[0].what) && stdout.includes(title.slice(0, 20)));
});

test('experiment: long names are stacked, and narrow axes have enough ticks', () => {
  const first = experiment('error-per-step', 16);
  const name = 'FTRL without privacy, with the lambda of the theorem';
  for (const [log, most, wanted] of [
    [true, 0.05, ['0.03', '0.035', '0.04', '0.045', '0.05']],
    [true, 30, ['0.1', '1', '10']],
    [false, 0.13, ['0.04', '0.06', '0.08', '0.1', '0.12']],
  ]) {
    const axis = { label: 'value', log };
    const series = [0.03, most].map((y, i) => ({
      name: `${name} ${i}`,
      x: [0.03, most],
      y: [y, y],
    }));
    const picture = plot({ ...first, panels: [{ title: 'p', x: axis, y: axis, series }] });
    const texts = [...picture.matchAll(/<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]*)/g)];
    const names = texts.filter(([, , , , words]) => words.startsWith(name));
    assert.deepEqual(
      names.map(([, x]) => Number(x)),
      [90, 90],
      'one below the other',
    );
    const ticks = texts.filter(([, , , more]) => /"end"/.test(more)).map((it) => it[4]);
    assert.deepEqual(ticks, wanted);
  }
});

test('experiment: bad arguments are refused', () => {
  for (const [args, message] of [
    [[], /usage: npm run experiment NAME.*error-per-step/s],
    [['regrets'], /usage:/],
    [['regret', 'sgd'], /usage:/],
    [['regret', '--steps', '3'], /--steps must be a whole number from 4 to 4194304, got 3/],
    [['regret', '--steps', 'NaN'], /--steps must be a whole number/],
    [['regret', '--repeats', '0'], /--repeats must be a whole number from 1/],
    [['regret', '--from', 'x'], /--from/],
  ]) {
    const { status, stderr, stdout } = run(...args);
    assert.deepEqual([status, stdout], [2, ''], args.join(' '));
    assert.match(stderr, message);
  }
  assert.match(run('--help').stdout, /^usage: .*learning +/s);
});
