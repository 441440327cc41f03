// SPDX-License-Identifier: Apache-2.0

// Several columns under one clip norm: the messages of a run, and the clip norm derived from
// ranges.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl } from './support/consumer.mjs';

const release = ['release', '--epsilon', '1', '--delta', '1e-6'];
const seeded = [...release, '--seed', '3', '--quiet'];
const ranges = ['--columns', 'a=0:3,b=-4:2'];
const input = 'a,b\n3,-4\n1,2\n';

async function run(args, table = input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input: table });
  assert.equal(code, 0, stderr);
  return { stdout, stderr };
}

const printed = async (...args) => (await run(...args)).stdout;

test('columns: a warning names columns that share a clip norm and, with ranges, the one that suffers', async () => {
  const shared =
    /warning: a, b share --clip 5: a row is scaled down as a whole, and all have the same noise/;
  assert.match((await run([...release, '--clip', '5'])).stderr, shared);
  for (const more of [['--columns', 'a'], ['--count'], ranges, ['--quiet']]) {
    const clip = more[0] === '--count' ? [] : ['--clip', '5'];
    assert.doesNotMatch((await run([...release, ...clip, ...more])).stderr, /share --clip/);
  }
  // Names that look like data are not repeated.
  assert.match(
    (await run([...release, '--clip', '5'], 'x,y@z\n1,2\n')).stderr,
    /warning: 2 columns share --clip/,
  );

  const unequal = /warning: "a" \(up to 3\) gets the noise of "b" \(up to 30\): a separate run/;
  const wide = ['--columns', 'a=0:3,b=-30:0'];
  assert.match((await run([...release, ...wide])).stderr, unequal);
  assert.doesNotMatch(
    (await run([...release, '--columns', 'a=0:3,b=-29:0'])).stderr,
    /gets the noise of/,
  );
});

test('columns: by default, the clip norm is the largest length within the ranges and clips no row', async () => {
  const of = async (args, table) =>
    JSON.parse(await printed([...seeded, ...args, '--json'], table)).certificate.clipNorm;
  assert.equal(await of(ranges), 5);
  assert.equal(await of(['--columns', 'b=-2:7']), 7);
  // A range for a name takes precedence over one for a pattern.
  assert.equal(await of(['--columns', '*=0:4,a=0:3']), 5);
  const pure = [
    'release',
    '--pure',
    '--epsilon',
    '1',
    '--seed',
    '3',
    '--quiet',
    ...ranges,
    '--json',
  ];
  assert.equal(JSON.parse(await printed(pure)).certificate.clipNorm, 7);

  assert.equal(await printed([...seeded, ...ranges]), await printed([...seeded, '--clip', '5']));
  const cut =
    /warning: rows within the ranges of --columns may be 5 long; those longer than --clip 4.9 are scaled down/;
  assert.match((await run([...release, ...ranges, '--clip', '4.9'])).stderr, cut);
  assert.doesNotMatch(
    (await run([...release, ...ranges, '--clip', '5'])).stderr,
    /are scaled down/,
  );
});

test('columns: numbers outside of a range count as the nearest one inside, each column by itself', async () => {
  const outside = 'a,b\n1e9,-4\n1,20\n-7,\n';
  const inside = 'a,b\n3,-4\n1,2\n0,0\n';
  const more = [...ranges, '--missing', 'zero', '--show-nonprivate'];
  assert.equal(
    await printed([...seeded, ...more], outside),
    await printed([...seeded, ...more], inside),
  );
  // A missing number is 0 even if the range excludes 0.
  const above = [...seeded, '--columns', 'a=2:3,b=0:4', '--missing', 'zero', '--show-nonprivate'];
  const truth = (await printed(above, 'a,b\n,4\n')).split('\n')[1].split(',')[3];
  assert.equal(truth, '0');
});

test('columns: ranges go with their columns where a later run has these in another order', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-columns-'));
  try {
    const days = ['--time-column', 't', '--bucket', 'day', '--from', '2026-01-01', '--steps', '9'];
    const wide = [
      '--columns',
      'a=0:1e6,b=0:1',
      '--state',
      join(folder, 's'),
      '--epsilon',
      '1e6',
      '--delta',
      '0.5',
    ];
    const args = ['release', ...days, ...wide, '--quiet'];
    await run(args, 't,a,b\n2026-01-01,1e6,1\n');
    const second = await printed(args, 't,b,a\n2026-01-02,5e8,1e6\n2026-01-03,0,0\n');
    const [, , a, b] = second.split('\n')[1].split(',').map(Number);
    assert.ok(Math.abs(a - 2e6) < 1e5, second);
    assert.ok(Math.abs(b) < 1e5, second);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('columns: errors name missing ranges, ranges of unknown columns and invalid ranges', async () => {
  const says = (args, message) => fails([...release, ...args], 2, message, { input });
  await says([], /--clip is required: .* follows from ranges, --columns NAME=LOW:HIGH/);
  const needed = /column "b" needs a range in --columns NAME=LOW:HIGH/;
  await says(['--columns', 'a=0:3,b'], needed);
  await says(['--columns', 'a=0:3,*', '--clip', '1'], needed);
  await says([...ranges, '--columns', 'c=0:1'], /unknown column "c"; known are a, b$/);
  await says([...ranges, '--columns', 'c*=0:1'], /unknown column "c\*"; known are a, b$/);
  const long = /--columns must allow no row that is longer than 1e\+300, got /;
  await says(['--columns', '*=-8e307:8e307'], long);
  await says(['--columns', '*=-8e307:8e307', '--clip', '1'], long);
  const days = ['--time-column', 't', '--bucket', 'day', '--columns', 'rows=0:1'];
  const none = /unknown column "rows"; known are t$/;
  await fails([...release, ...days], 2, none, { input: 't\n2026-01-01\n' });
  await says(
    ['--columns', 'a=3:0'],
    /--columns must be NAME or NAME=LOW:HIGH with LOW < HIGH, .*got "a=3:0"/,
  );
  await says(
    ['--columns', 'a=0:nan'],
    /--columns must be NAME or NAME=LOW:HIGH with LOW < HIGH, .*got "a=0:nan"/,
  );
  await says(['--count', ...ranges], /--count sums no column: give it or --columns/);
  await says(
    ['--columns', 'a=b'],
    /got "a=b"; a name with a comma or = needs quotes, as in '"a=b"'$/,
  );
  await says(['--columns', 'a,a=0:3'], /column "a" is given twice$/);
  await says(['--columns', 'a,,b'], /--columns must be NAME or .*got "a,,b"/);
  await says(
    ['--range', 'a=0:3'],
    /unknown option "--range"; the range of a column stands in --columns/,
  );
  await says(['--column', 'a'], /unknown option "--column"; did you mean --columns\?$/);
});

test('columns: names with commas, = and quotes are written in quotes, and a * picks by pattern', async () => {
  const names = ['a,b', 'a=0:1', 'say "x"', 'a*'];
  const cells = (all) => all.map((name) => `"${name.replaceAll('"', '""')}"`);
  const table = `${cells(names).join(',')}\n1,2,3,4\n`;
  const headOf = async (columns) => {
    const { code, stdout, stderr } = await dpFtrl([...seeded, '--clip', '9', ...columns], {
      input: table,
    });
    assert.equal(code, 0, stderr);
    return stdout.split('\n')[0];
  };
  const all = cells(names).map((cell) => `${cell}=-4:4`);
  assert.equal(await headOf(['--columns', all.join()]), await headOf([]));
  assert.equal(await headOf(['--columns', '"a=0:1"=0:2']), 'step,a=0:1,std');
  assert.equal(await headOf(['--columns', '"a,b"']), 'step,"a,b",std');
  // A name of the table is no pattern.
  assert.equal(await headOf(['--columns', 'a*=0:4']), 'step,a*,std');
  assert.equal(await headOf(['--columns', 'say*']), 'step,"say ""x""",std');
  assert.equal(
    await headOf(['--columns', 'say*', '--columns', '*b']),
    'step,"a,b","say ""x""",std',
  );
});

test('columns: for a table without numbers, the error suggests counting rows', async () => {
  const words = { input: 'who,what\nann,tea\n' };
  const message =
    /column "who" is not a number; --columns NAME picks columns, --count counts rows$/;
  await fails([...release, '--clip', '1'], 2, message, words);
  assert.match(await printed([...seeded, '--count'], words.input), /^step,rows,std\n1,/);
});
