// SPDX-License-Identifier: Apache-2.0

// dp-ftrl histogram: writes the releases of the library, and refuses invalid input.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const scratch = scratchFolder('histogram');

const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const by = ['--by', 'drink', '--domain', 'tea,coffee'];
const command = ['histogram', ...privacy, ...by, '--seed', '3', '--quiet'];
const categories = ['tea', 'coffee'];
const drinks = Array.from({ length: 12 }, (_, k) => categories[k % 3 === 0 ? 1 : 0]);
const input = `drink,price\n${drinks.map((drink, k) => `${drink},${k}`).join('\n')}\n`;

async function rowsOf(args, given = input) {
  const { code, stdout, stderr } = await dpFtrl([...command, ...args], { input: given });
  assert.equal(code, 0, stderr);
  return args.includes('--json') ? JSON.parse(stdout) : parse(stdout, { columns: true });
}

const target = { steps: 12, epsilon: 1, delta: 1e-6, insecureSeed: 3 };

function released(options, use = (it) => it.releaseMany(drinks)) {
  const histogram = dp.histogram({ categories, ...target, ...options });
  const readings = use(histogram);
  histogram.dispose();
  return readings;
}

const cells = ({ value, low, high }) => [value, low, high];

/** Lines of histograms, one per category. */
function linesOf(readings, names = categories) {
  return readings.flatMap(({ count, share, total }, t) =>
    names.map((name) =>
      [t + 1, name, ...[count[name], share[name], total].flatMap(cells)].map(String),
    ),
  );
}

test('histogram: rows are what the library releases, bit for bit', async () => {
  for (const [args, options] of [
    [[], {}],
    [['--neighbours', 'replace', '--fixed-times'], { neighbours: 'replace-one', fixedTimes: true }],
    [['--total', '--confidence', '0.5'], { total: true, confidence: 0.5 }],
    [['--neighbours', 'replace'], { neighbours: 'replace-one' }],
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
    const rows = await rowsOf(args);
    const names = ['count', 'share', 'total'].flatMap((name) => [
      name,
      `${name}_low`,
      `${name}_high`,
    ]);
    assert.deepEqual(Object.keys(rows[0]), ['step', 'drink', ...names]);
    assert.deepEqual(
      rows.map((row) => Object.values(row)),
      linesOf(released(options)),
    );
  }
});

test('histogram: post-processing has a column of its own, and changes no other', async () => {
  const plain = await rowsOf([]);
  const expected = (kind) =>
    dp
      .consistent(released({}), kind)
      .flatMap(({ count }) => categories.map((category) => count[category]));
  for (const [kind, column] of [
    ['monotone', 'count_monotone'],
    ['non-negative', 'count_non_negative'],
  ]) {
    const rows = await rowsOf(['--post-process', kind]);
    assert.deepEqual(
      rows.map((row) => Number(row[column])),
      expected(kind),
    );
    assert.deepEqual(
      rows.map(({ [column]: _own, ...others }) => others),
      plain,
    );
    const { postProcessing, rows: steps } = await rowsOf(['--post-process', kind, '--json']);
    assert.equal(postProcessing, kind);
    const all = steps.flatMap(({ categories: each }) => each.map(({ consistent }) => consistent));
    assert.deepEqual(all, expected(kind));
  }
  assert.deepEqual(await rowsOf(['--post-process', 'none']), plain);
});

test('histogram: the JSON output names every number and includes the guarantee', async () => {
  const { rows, certificate, ...about } = await rowsOf(['--total', '--json']);
  assert.deepEqual(about, {
    private: false,
    mode: 'grid',
    protects: 'one row',
    by: 'drink',
    categories,
    confidence: 0.95,
    complete: true,
  });
  assert.equal(certificate.clipNorm, 1);
  released({ total: true }).forEach(({ count, share, total }, t) => {
    const each = categories.map((category) => ({
      category,
      count: count[category],
      share: share[category],
    }));
    assert.deepEqual(rows[t], { step: t + 1, total, categories: each });
  });
});

test('histogram: rows of a bucket are one step, and values outside the domain count as other', async () => {
  const lines = ['01,tea', '01,milk', '01,', '03,coffee', '03,other', '03,toString'];
  const timed = `time,drink\n${lines.map((line) => `2026-03-${line}\n`).join('')}`;
  const args = ['--other', '--time-column', 'time', '--bucket', 'day', '--missing', 'skip'];
  const rows = await rowsOf(args, timed);
  const names = [...categories, 'other'];
  const expected = released({ steps: 3, other: 'other' }, (it) => [
    it.releaseBatch(['tea', 'other']),
    it.end(),
    it.releaseBatch(['coffee', 'other', 'other']),
  ]);
  const found = rows.map(({ time: _time, ...row }) => Object.values(row));
  assert.deepEqual(found, linesOf(expected, names));
  assert.deepEqual(
    [...new Set(rows.map(({ time }) => time))],
    ['2026-03-01', '2026-03-02', '2026-03-03'],
  );
});

test('histogram: a message appears where the noise hides even that there were rows', async () => {
  const hidden =
    /the noise hides nearly everything: after the last step the interval of the total reaches 0/;
  for (const [epsilon, isHidden] of [
    ['1e-3', true],
    ['1000', false],
  ]) {
    const args = ['histogram', '--epsilon', epsilon, '--delta', '1e-6', ...by, '--seed', '3'];
    for (const more of [[], ['--post-process', 'monotone']]) {
      const { stderr } = await dpFtrl([...args, ...more], { input });
      assert.equal(hidden.test(stderr), isHidden, stderr);
    }
  }
});

test('histogram: a budget pays for one run and refuses another beyond its limit', async () => {
  const file = join(scratch, 'budget.json');
  const args = ['histogram', ...privacy, ...by, '--quiet', '--budget', file];
  const limit = ['--budget-epsilon', '1.2', '--budget-delta', '1e-6'];
  const { code, stderr } = await dpFtrl([...args, ...limit], { input });
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(readFileSync(file, 'utf8')).releases.length, 1);
  await fails(args, 2, /must fit what is left of the budget/, { input });
});
