// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments: writes the releases of the library, and refuses invalid input.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const scratch = scratchFolder('moments');

const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const ranges = ['--columns', 'a=0:10,*=-1:1'];
const moments = ['moments', ...privacy, ...ranges, '--seed', '3', '--quiet'];
const target = { epsilon: 1, delta: 1e-6, insecureSeed: 3 };
const table = Array.from({ length: 12 }, (_, k) => [(7 * k) % 11, ((5 * k) % 7) / 4 - 0.5]);
const input = `a,b\n${table.map((row) => row.join(',')).join('\n')}\n`;

async function written(args, given = input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input: given });
  assert.equal(code, 0, stderr);
  return stdout;
}

const recordsOf = (rows) => rows.map(([a, b]) => ({ a, b }));

/** Cells of the moments released by the library, in the order of the columns. */
function cellsOf({ count, mean, variance, covariance, standardDeviation }, hasDeviations = false) {
  const pairs = covariance ? [covariance.a.b] : [];
  const both = ({ a, b }) => [a, b];
  const deviations = hasDeviations ? both(standardDeviation) : [];
  const all = [count, ...both(mean), ...both(variance), ...pairs, ...deviations];
  return all.flatMap(({ value, low, high }) => [value, low, high]);
}

function released(options, use = (it) => it.releaseMany(recordsOf(table))) {
  const columns = { a: [0, 10], b: [-1, 1] };
  const moments = dp.moments({ ...target, steps: 12, columns, ...options });
  const all = use(moments);
  moments.dispose();
  return all;
}

test('moments: rows are what the library releases, bit for bit', async () => {
  for (const [args, options] of [
    [[], {}],
    [['--covariance', '--confidence', '0.5'], { covariance: true, confidence: 0.5 }],
    [['--standard-deviation', '--covariance'], { covariance: true }],
    [['--neighbours', 'replace'], { neighbours: 'replace-one' }],
    [['--neighbours', 'replace', '--fixed-times'], { neighbours: 'replace-one', fixedTimes: true }],
    [
      ['--workload', 'window=4', '--strategy', 'square-root'],
      { workload: { window: 4 }, strategy: 'square-root' },
    ],
    [['--steps', '20'], { steps: 20 }],
    [
      ['--participations', '2', '--min-separation', '3', '--strategy', 'tree'],
      { participation: { times: 2, apart: 3 }, strategy: 'tree' },
    ],
  ]) {
    const [head, ...rows] = (await written([...moments, ...args])).trimEnd().split('\n');
    const names = ['count', 'a_mean', 'b_mean', 'a_variance', 'b_variance'];
    if (options.covariance) names.push('a_b_covariance');
    const hasDeviations = args.includes('--standard-deviation');
    if (hasDeviations) names.push('a_standard_deviation', 'b_standard_deviation');
    const columns = names.flatMap((name) => [name, `${name}_low`, `${name}_high`]);
    assert.equal(head, ['step', ...columns].join(','));
    const expected = released(options).map((it, t) =>
      [t + 1, ...cellsOf(it, hasDeviations)].join(','),
    );
    assert.deepEqual(rows, expected);
  }
});

test('moments: JSON has every number under its name, and says whom it protects', async () => {
  const found = JSON.parse(await written([...moments, '--covariance', '--json']));
  const expected = released({ covariance: true });
  const { rows, certificate, ...about } = found;
  assert.deepEqual(about, {
    private: false,
    mode: 'grid',
    protects: 'one row',
    columns: ['a', 'b'],
    confidence: 0.95,
    complete: true,
  });
  assert.equal(certificate.neighbours, 'zero-out');
  expected.forEach(({ count, mean, variance, covariance }, t) => {
    assert.deepEqual(rows[t], {
      step: t + 1,
      count,
      mean: { ...mean },
      variance: { ...variance },
      covariance: { a: { b: covariance.a.b } },
    });
  });
});

test('moments: standard deviations are in JSON when they are asked for', async () => {
  const { rows } = JSON.parse(await written([...moments, '--standard-deviation', '--json']));
  released({}).forEach(({ standardDeviation }, t) => {
    assert.deepEqual(rows[t].standardDeviation, { ...standardDeviation });
  });
  const picture = join(scratch, 'deviations.svg');
  await written([...moments, '--standard-deviation', '--plot', picture]);
  assert.match(readFileSync(picture, 'utf8'), /standard deviation/);
});

test('moments, histogram: the guarantee says whether times are promised to be public', async () => {
  const histogram = ['histogram', '--by', 'a', '--domain', '0:10', '--other'];
  for (const command of [['moments', ...ranges], histogram]) {
    const said = async (...args) => dpFtrl([...command, ...privacy, ...args], { input });
    const replaced = ['--neighbours', 'replace-one'];
    assert.match(
      (await said(...replaced)).stderr,
      /, replace-one neighbours at any times, horizon/,
    );
    assert.match(
      (await said(...replaced, '--fixed-times')).stderr,
      /, replace-one neighbours at fixed times, horizon/,
    );
    const { code, stderr, stdout } = await said('--fixed-times');
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /--fixed-times needs --neighbours replace-one/);
  }
});

test('moments: a budget for records that move is not spent on a promise that they do not', async () => {
  const budget = (path) => ['--budget', path, '--budget-epsilon', '9', '--budget-delta', '1e-5'];
  for (const [first, second] of [
    [[], ['--fixed-times']],
    [['--fixed-times'], []],
  ]) {
    const path = join(scratch, `moves-${first.length}.json`);
    const own = ['moments', ...privacy, ...ranges, '--neighbours', 'replace-one', ...budget(path)];
    await written([...own, ...first]);
    const before = readFileSync(path, 'utf8');
    const named = /for neighbours "replace-one[^"]*", this release protects "replace-one[^"]*"/;
    await fails([...own, ...second], 2, named, { input });
    assert.equal(readFileSync(path, 'utf8'), before);
  }
});

test('moments: a warning says when the noise hides even that there were rows', async () => {
  const hidden =
    /warning: the noise hides nearly everything: after the last step the interval of the count reaches 0/;
  for (const [epsilon, args, given, isHidden] of [
    ['1e-6', ['--covariance'], input, true],
    ['1e-6', ['--json', '--neighbours', 'replace', '--quiet'], input, true],
    ['1', ['--json'], `a,b\n${'3,0.5\n'.repeat(2000)}`, false],
    // An error before the first step leaves nothing to report.
    ['1e-6', [], 'a,b\n1,x\n', false],
  ]) {
    const few = [
      'moments',
      '--epsilon',
      epsilon,
      '--delta',
      '1e-6',
      ...ranges,
      '--seed',
      '3',
      ...args,
    ];
    const { stderr } = await dpFtrl(few, { input: given });
    assert.equal(hidden.test(stderr), isHidden, stderr);
  }
});

test('moments: a release is charged to the budget, and one beyond the limit is refused', async () => {
  const file = join(scratch, 'budget.json');
  const args = ['moments', ...privacy, ...ranges, '--quiet', '--budget', file];
  const limit = ['--budget-epsilon', '1.2', '--budget-delta', '1e-6'];
  const { code, stderr } = await dpFtrl([...args, ...limit], { input });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).releases.length, 1);
  await fails(args, 2, /must fit what is left of the budget/, { input });
});
