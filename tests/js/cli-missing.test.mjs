// SPDX-License-Identifier: Apache-2.0

// Rows with empty cells, and rows out of order: the treatment of one never affects another.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, root } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const seen = ['--epsilon', '1', '--delta', '1e-6', '--seed', '3', '--quiet'];
const release = ['release', ...seen, '--clip', '9', '--show-nonprivate'];
const days = [
  '--time-column',
  't',
  '--bucket',
  'day',
  '--from',
  '2026-01-01',
  '--to',
  '2026-01-04',
];
const count = ['count', ...seen, ...days, '--show-nonprivate'];
const skip = ['--missing', 'skip'];
const zero = ['--missing', 'zero'];

async function printed(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return stdout;
}

test('missing: release puts 0 for an empty cell or for its whole row, which remains a step', async () => {
  const table = (second) => `a,b\n1,2\n${second}\n5,6\n`;
  assert.equal(
    await printed([...release, ...zero], table('3,')),
    await printed(release, table('3,0')),
  );
  assert.equal(
    await printed([...release, ...skip], table('3,')),
    await printed(release, table('0,0')),
  );
  assert.notEqual(await printed(release, table('3,0')), await printed(release, table('0,0')));
  // A column that is not summed may have empty cells.
  const one = ['--columns', 'a'];
  const whole = await printed([...release, ...one], table('3,4'));
  for (const more of [[], skip, zero]) {
    assert.equal(await printed([...release, ...one, ...more], table('3,')), whole);
  }
  const where = /row 2 \(line 3\), column "b" is empty/;
  for (const more of [[], ['--missing', 'refuse']])
    await fails([...release, ...more], 2, where, { input: table('3,') });
  const bad = /row 2 \(line 3\), column "b" is not a number/;
  for (const more of [skip, zero])
    await fails([...release, ...more], 2, bad, { input: table('3,x') });
  await fails([...release, ...skip], 2, /row 2 \(line 3\) has 1 cell/, { input: table('3') });
  await fails([...release, ...skip], 2, /row 2 \(line 3\) is blank/, { input: table('') });
});

test('missing: a number of --na is one in any spelling, and no other number is', async () => {
  const table = (second) => `a,b\n1,2\n${second},4\n5,6\n`;
  for (const [na, cells, others] of [
    ['-999', ['-999', '-999.0', '-9.99e2', ' -0999 '], ['999', '-99.9', '-999.1', '-9990']],
    ['NA,-1.0,9e3', ['NA', '-1', '-01', '9000', '9000.00'], ['1', '-10', '9001']],
  ]) {
    const run = [...release, ...skip, '--na', na];
    const skipped = await printed(run, table(''));
    for (const cell of cells) assert.equal(await printed(run, table(cell)), skipped, cell);
    for (const cell of others) assert.notEqual(await printed(run, table(cell)), skipped, cell);
  }
});

test('missing: with times, a skipped row has no effect, and other rows keep their numbers', async () => {
  const input = 't,a\n2026-01-01,1\n2026-01-02,\n,3\n2026-01-03,4\n';
  const wanted = 't,a\n2026-01-01,1\n2026-01-03,4\n';
  const args = [...release, ...days, ...skip];
  assert.equal(await printed(args, input), await printed([...release, ...days], wanted));
  await fails(args, 2, /row 5 \(line 6\), column "a" is not a number/, {
    input: `${input}2026-01-03,x\n`,
  });
  const people = ['--user-column', 'u', '--max-contributions', '1'];
  const owned = (rows) => `t,a,u\n2026-01-01,1,x\n${rows}2026-01-03,4,x\n2026-01-03,5,y\n`;
  // A row without a number does not use up its person's single participation.
  assert.equal(
    await printed([...args, ...people], owned('2026-01-02,,y\n2026-01-02,7,\n')),
    await printed([...release, ...days, ...people], owned('')),
  );
});

test('missing: a row without a person adds nothing where rows are steps', async () => {
  const args = [...release, ...skip, '--user-column', 'u', '--max-contributions', '1'];
  const bare = args.filter((arg) => !skip.includes(arg));
  await fails(
    bare,
    2,
    /row 2 \(line 3\), column "u" is empty; --missing skip leaves out such rows;/,
    { input: 'u,a\nx,1\n,2\n' },
  );
  // A row with a missing number does not use up its person's single contribution, either.
  const input = 'u,a\nx,1\n,2\ny,\ny,4\n';
  assert.equal(await printed(args, input), await printed(bare, 'u,a\nx,1\nz,0\nx,0\ny,4\n'));
});

test('missing: count, queries and choose leave out skipped rows', async () => {
  const by = ['--by', 'c', '--domain', 'p,q', '--other'];
  const rows = (more) => `t,c\n2026-01-01,p\n${more}2026-01-02,q\n`;
  const input = rows('2026-01-01,\n,p\n');
  assert.equal(
    await printed([...count, ...by, ...skip], input),
    await printed([...count, ...by], rows('')),
  );
  // An empty cell is an additional value for --other.
  const other = rows('2026-01-01,\n');
  assert.notEqual(
    await printed([...count, ...by], other),
    await printed([...count, ...by], rows('')),
  );
  const domain = ['--columns', 'c', '--domain', 'p,q', ...seen];
  const queries = ['queries', '--workload', 'identity', ...domain];
  const choose = [
    'choose',
    '--winner',
    ...domain.filter((arg) => !['--delta', '1e-6'].includes(arg)),
  ];
  for (const args of [queries, choose]) {
    assert.equal(
      await printed([...args, ...skip], rows('2026-01-01,\n')),
      await printed(args, rows('')),
    );
    const secret = /--missing skip needs zero-out neighbours/;
    await fails([...args, ...skip, '--neighbours', 'replace-one'], 2, secret, { input });
    const none =
      /--missing zero reads missing cells as 0, which --domain of column "c" does not list/;
    await fails([...args, ...zero], 2, none, { input });
  }
});

test('missing: a skipped example adds no gradient and does not shift the others', async () => {
  const random = generator(8);
  const rows = Array.from({ length: 40 }, () => [
    random().toFixed(3),
    random().toFixed(3),
    Number(random() > 0.5),
  ]);
  const table = (change) =>
    `a,b,y\n${rows.map((row, i) => `${i === 7 ? change(row) : row}\n`).join('')}`;
  const options = ['--label', 'y', '--clip', '1', '--regularisation', '9', ...seen, '--json'];
  for (const more of [[], ['--batch', '5'], ['--passes', '2'], ['--loss', 'squared']]) {
    const weights = async (args, input) =>
      JSON.parse(await printed(['learn', ...options, ...more, ...args], input));
    const skipped = await weights(
      skip,
      table(([a]) => `${a},,1`),
    );
    assert.equal(skipped.numExamples, 40 * (more[0] === '--passes' ? 2 : 1));
    assert.deepEqual(
      await weights(
        skip,
        table(() => ',0.5,'),
      ),
      skipped,
    );
    // If all features are 0 and there is no intercept, the gradient is 0.
    const bare = ['--no-intercept'];
    assert.deepEqual(
      (
        await weights(
          [...bare, ...skip],
          table(() => ',0.5,1'),
        )
      ).weights,
      (
        await weights(
          bare,
          table(() => '0,0,1'),
        )
      ).weights,
    );
    assert.deepEqual(
      await weights(
        zero,
        table(([, b, y]) => `,${b},${y}`),
      ),
      await weights(
        [],
        table(([, b, y]) => `0,${b},${y}`),
      ),
    );
    await fails(
      ['learn', ...options, ...more, ...zero],
      2,
      /row 8 \(line 9\), column "y" is empty/,
      {
        input: table(([a, b]) => `${a},${b},`),
      },
    );
  }
  const shown = ['learn', ...options, ...skip, '--show-nonprivate'];
  await fails(shown, 2, /--missing skip does not go with --show-nonprivate/, {
    input: table(String),
  });
});

test('missing: empty cells of a --test file are treated like those of the table', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-missing-'));
  const file = (name, rows) => {
    writeFileSync(join(folder, name), `a,b,y\n${rows}`);
    return join(folder, name);
  };
  const table = file('table.csv', '0.1,0.2,1\n0.3,-0.4,0\n-0.5,0.6,1\n');
  const options = ['--label', 'y', '--clip', '1', '--regularisation', '9', ...seen, '--json'];
  const measured = async (...more) =>
    JSON.parse(await printed(['learn', ...options, ...more, table])).test;
  const holes = file('holes.csv', '0.7,,1\n0.2,0.1,0\n');
  const some = await measured('--test', holes, ...skip);
  assert.equal(some.numExamples, 1);
  assert.deepEqual(some, await measured('--test', file('rest.csv', '0.2,0.1,0\n')));
  const filled = await measured('--test', file('filled.csv', '0.7,0,1\n0.2,0.1,0\n'));
  assert.deepEqual(await measured('--test', holes, ...zero), filled);
  assert.notEqual(filled.loss, some.loss);
  const where = /--test \S+holes\.csv: row 1 \(line 2\), column "b" is empty/;
  await fails(['learn', ...options, '--test', holes, table], 2, where);
  const label = file('label.csv', '0.7,1,\n');
  const never = /--test \S+label\.csv: row 1 \(line 2\), column "y" is empty/;
  await fails(['learn', ...options, '--test', label, ...zero, table], 2, never);
  const none = /--test \S+label\.csv: every row of the input has a missing cell/;
  await fails(['learn', ...options, '--test', label, ...skip, table], 2, none);
});

test('sort: rows in any order are counted as those in order, persons included', async () => {
  const text = readFileSync(join(root, 'examples/site_visits.csv'), 'utf8');
  const [header, ...lines] = text.trimEnd().split('\n');
  const random = generator(9);
  const shuffled = lines
    .map((line) => [random(), line])
    .sort(([a], [b]) => a - b)
    .map(([, line]) => line);
  assert.notDeepEqual(shuffled, lines);
  const input = `${[header, ...shuffled].join('\n')}\n`;
  const args = ['count', ...seen, '--show-nonprivate', '--time-column', 'time', '--bucket', 'day'];
  const by = ['--by', 'section', '--domain', 'docs,shop,blog', '--other'];
  const people = ['--user-column', 'visitor', '--max-contributions', '3'];
  for (const more of [[], by, [...people], ['--from', '2026-04-06', '--to', '2026-05-03']]) {
    const wanted = await printed([...args, ...more], text);
    assert.equal(await printed([...args, ...more, '--sort'], text), wanted);
    assert.equal(await printed([...args, ...more, '--sort'], input), wanted);
  }
  await fails(args, 2, /rows must be in time order; --sort sorts them$/, { input });
});

test('sort: errors give the number of the row in the file', async () => {
  const input = 't,u\n2026-01-03,a\n2026-01-01,b\noops,c\n';
  const bad = /row 3 \(line 4\), column "t" must be a date/;
  const { stdout } = await fails([...count, '--sort'], 2, bad, { input });
  assert.equal(stdout, '');
  const open = ['count', ...seen, ...days.slice(0, 4), '--sort'];
  await fails(open, 2, /has a header but no rows/, { input: 't,u\n' });
  await fails(['learn', '--sort'], 2, /unknown option "--sort"/, { input });
});
