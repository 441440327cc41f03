// SPDX-License-Identifier: Apache-2.0

// --strategy C.csv: an encoder of the caller's own, from a file of numbers.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails, json } from './support/command.mjs';
import { requireCommandsWith } from './support/help.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('encoder');
const file = writerIn(folder);

const encoder = [
  [1, 0, 0, 0],
  [0.5, 1, 0, 0],
  [-0.25, 0.5, 2, 0],
  [0.125, 0.25, 0.5, 1],
];
const written = (rows, between = ',') => `${rows.map((row) => row.join(between)).join('\n')}\n`;
const path = file('C.csv', written(encoder));
const strategy = { encoder };
const target = ['--epsilon', '1', '--delta', '1e-6'];
const table = { input: 'x,y\n1,1\n0,0\n1,1\n1,0\n' };
const days = { input: 'day\n2024-01-01\n2024-01-02\n2024-01-03\n2024-01-04\n' };
const half = { input: 'x\n1\n0\n' };

test('encoder: error of a file is that of the library, whatever its rows end with', async () => {
  const { numSteps, ...wanted } = dp.error({ strategy, steps: 4 });
  const triangle = encoder.map((row, i) => row.slice(0, i + 1));
  const files = [
    path,
    file('triangle.csv', written(triangle)),
    file('spaces.txt', written(encoder, ' ')),
    file('crlf.csv', written(triangle, ';').replaceAll('\n', '\r\n')),
  ];
  for (const each of files) {
    const found = await json(['error', '--strategy', each]);
    assert.deepEqual(found, { ...found, ...wanted, steps: numSteps });
  }
});

test('encoder: other workloads and participations take the file', async () => {
  const { maxError } = dp.error({
    strategy,
    steps: 4,
    workload: { window: 2 },
    participation: { epochs: 2 },
  });
  const options = ['--workload', 'window=2', '--epochs', '2'];
  const found = await json(['error', '--strategy', path, ...options]);
  assert.equal(found.maxError, maxError);
});

test('encoder: compare has its row', async () => {
  const { maxError } = dp.error({ strategy, steps: 4 });
  const { mechanisms } = await json(['compare', '--steps', '4', '--strategy', path]);
  assert.deepEqual(
    mechanisms.filter(({ saved }) => saved).map((row) => row.maxError),
    [maxError],
  );
});

test('encoder: compare names the file of each', async () => {
  const other = file('O.csv', '1\n0,1\n0,0,1\n0,0,0,1\n');
  const run = ['compare', '--steps', '4', '--strategy', path, '--strategy', other];
  const { mechanisms } = await json(run);
  const own = mechanisms.filter(({ saved }) => saved);
  assert.deepEqual(own.map(({ index }) => index).sort(), [0, 1]);
  for (const { index, maxError } of own) {
    const each = [encoder, [[1], [0, 1], [0, 0, 1], [0, 0, 0, 1]]][index];
    assert.equal(maxError, dp.error({ strategy: { encoder: each }, steps: 4 }).maxError);
  }
  const { stdout } = await dpFtrl(run);
  const lines = stdout.split('\n');
  const names = own.map(({ index }) => ['C.csv', 'O.csv'][index]);
  const rows = lines.flatMap((line, i) => (/ the encoder of /.test(line) ? [i] : []));
  assert.deepEqual(
    rows.map((i) => /\/(\w+\.csv)/.exec(`${lines[i]}${lines[i + 1]}`)?.[1]),
    names,
  );
});

test('encoder: bounds rates a learner with it', async () => {
  const asked = ['bounds', '--steps', '4', ...target, '--dimension', '2', '--strategy', path];
  const { regret } = await json(asked);
  const certificate = dp.certificate({ strategy, steps: 4, epsilon: 1, delta: 1e-6 });
  const bounds = dp.study.regretBounds(certificate, { dimension: 2 });
  assert.deepEqual(regret.expected, bounds.expected);
  const { stdout } = await dpFtrl(asked);
  assert.match(stdout.replace(/\s+/g, ' '), /with noise of the encoder of \S*C\.csv, at most/);
  await fails([...asked, '--steps=5'].toSpliced(1, 2), 2, /C\.csv has 4 rows, but --steps is 5$/);
});

test('encoder: release, count and learn run with it, and say so', async () => {
  const { sensitivity } = dp.error({ strategy, steps: 4 });
  const commands = [
    [['release', '--clip', '1', '--columns', 'x'], table],
    [['count', '--time-column', 'day', '--bucket', 'day'], days],
    [['learn', '--label', 'y', '--columns', 'x=-1:1', '--clip', '1'], table],
  ];
  for (const [command, input] of commands) {
    const run = [...command, ...target, '--strategy', path];
    const { code, stdout, stderr } = await dpFtrl([...run, '--json'], input);
    assert.equal(code, 0, stderr);
    const { certificate } = JSON.parse(stdout);
    assert.equal(certificate.sensitivity, sensitivity, command[0]);
    assert.match(stderr, /the encoder of .*C\.csv/, command[0]);
  }
});

test('encoder: a state goes on with the same file, and with no other one', async () => {
  const state = join(folder, 'run.state');
  const run = (each) => ['release', ...target, '--clip', '1', '--state', state, '--strategy', each];
  const first = await dpFtrl([...run(path), '--quiet'], half);
  assert.equal(first.code, 0, first.stderr);
  const other = file('other.csv', written(encoder.map((row) => row.map((it) => 2 * it))));
  await fails(run(other), 2, /--state .*: it was begun with/, half);
  const second = await dpFtrl([...run(path), '--quiet'], half);
  assert.equal(second.code, 0, second.stderr);
  assert.match(second.stdout, /^step,.*\n3,.*\n4,/);
});

test('misuse: a file that is not an encoder is refused in one sentence that names the place', async () => {
  const cases = [
    ['1,2\n1,1\n', /: row 1, column 2 must be 0, as it is above the diagonal of a stream, got 2$/],
    ['1,0\n1,0\n', /: row 2, column 2 must be positive, as it is on the diagonal, got 0$/],
    ['1\n1,-3\n', /: row 2, column 2 must be positive, .*; change the signs of its .*, got -3$/],
    ['1,0\nNaN,1\n', /: row 2, column 1 is not a number: "NaN"$/],
    ['1,0\n1,1e999\n', /: row 2, column 2 is not a number: "1e999"$/],
    ['a,b\n1,0\n1,1\n', /: row 1, column 1 is not a number: "a"$/],
    ['1,0\n,1\n', /: row 2, column 1 is empty$/],
    ['', /: row 1, column 1 is empty$/],
    ['1,0\n1,1,1\n', /: row 2 must have 2 numbers, as C is square for streams; .*, got 3$/],
    [
      '1,0,0\n1,1,0\n',
      /: row 1 must have 1 or 2 numbers, .* as --measure of dp-ftrl queries, got 3$/,
    ],
  ];
  for (const [text, message] of cases) {
    const bad = file('bad.csv', text);
    await fails(
      ['error', '--strategy', bad],
      2,
      new RegExp(`--strategy .*bad\\.csv${message.source}`),
    );
  }
});

test('decoder: every command that takes C.csv takes its B, and runs as without it', async () => {
  const fileFor = (workload, name) => {
    const { decoder } = dp.error({ strategy, steps: 4, workload, matrices: true }).matrices;
    const rows = encoder.map((_, i) => Array.from(decoder.slice(4 * i, 4 * i + i + 1)));
    return file(name, written(rows));
  };
  const [totals, steps, pairs] = [
    fileFor('prefix', 'B.csv'),
    fileFor({ window: 1 }, 'B1.csv'),
    fileFor({ window: 2 }, 'B2.csv'),
  ];
  const run = [...target, '--seed', '5', '--quiet'];
  const commands = [
    [['error'], {}, totals],
    [['error', '--workload', 'window=2'], {}, pairs],
    [['release', '--clip', '1', '--columns', 'x', ...run], table, totals],
    [['count', '--time-column', 'day', '--bucket', 'day', ...run], days, steps],
    [['learn', '--label', 'y', '--columns', 'x=-1:1', '--clip', '1', ...run], table, totals],
    [['histogram', '--by', 'x', '--domain', '0,1', ...run], table, totals],
    [['moments', '--columns', 'x=-1:1', ...run], table, totals],
  ];
  await requireCommandsWith(
    'decoder',
    commands.map(([[name]]) => name),
  );
  for (const [command, input, right] of commands) {
    const own = [...command, '--strategy', path];
    const { stdout } = await dpFtrl(own, input);
    const { code, stdout: checked, stderr } = await dpFtrl([...own, '--decoder', right], input);
    assert.equal(code, 0, `${command[0]}: ${stderr}`);
    assert.equal(checked, stdout, command[0]);
    const wrong = right === totals ? steps : totals;
    const message = /--decoder .*\.csv: row \d, column \d must be .*, as B is A C\^-1/;
    await fails([...own, '--decoder', wrong], 2, message, input);
  }
});

test('misuse: a file that is not the decoder is refused in one sentence that names the place', async () => {
  const small = file('small.csv', '1\n1,2\n');
  const cases = [
    [
      '1\n.5,.75\n',
      /: row 2, column 2 must be 0\.5, as B is A C\^-1 \(the difference, 0\.25, is the largest relative to its row\), got 0\.75$/,
    ],
    ['1\n.5,0\n', /: row 2, column 2 must be 0\.5, as B is A C\^-1 .*, got 0$/],
    [
      '1,1\n.5,.5\n',
      /: row 1, column 2 must be 0, as it is above the diagonal of a stream, got 1$/,
    ],
    ['1\nNaN,.5\n', /: row 2, column 1 is not a number: "NaN"$/],
    ['a,b\n1,0\n.5,.5\n', /: row 1, column 1 is not a number: "a"$/],
    ['1\n,.5\n', /: row 2, column 1 is empty$/],
    ['', /: row 1, column 1 is empty$/],
    ['1\n.5,.5,.5\n', /: row 2 must have 2 numbers, as B is square, as C is, got 3$/],
    ['1\n.5,.5\n.5,.5,.5\n', /: it must have 2 rows, as C has, got 3$/],
  ];
  for (const [text, message] of cases) {
    const bad = file('bad.csv', text);
    const command = ['error', '--strategy', small, '--decoder', bad];
    await fails(command, 2, new RegExp(`--decoder .*bad\\.csv${message.source}`));
  }
  const error = ['error', '--steps', '4'];
  const both = ['count', '--for', 'both', '--time-column', 'day', '--bucket', 'day'];
  const alone = /--decoder goes with --strategy C\.csv, a matrix of your own$/;
  await fails([...error, '--decoder', path], 2, alone);
  await fails([...error, '--strategy', 'tree', '--decoder', path], 2, alone);
  await fails([...error, '--pure', '--epsilon', '1', '--decoder', path], 2, alone);
  await fails(
    ['error', '--strategy', path, '--decoder', join(folder, 'none.csv')],
    2,
    /--decoder .*none\.csv: there is no such file$/,
  );
  await fails(
    [...both, ...target, '--strategy', path, '--decoder', path],
    2,
    /--decoder goes with a single workload, as each has its own decoder$/,
    days,
  );
  await fails(['compare', ...error.slice(1), '--decoder', path], 2, /--decoder is an option of /);
});

test('misuse: a file that is nearly singular is named', async () => {
  const bad = file('singular.csv', '1\n1,1e-100\n');
  const good = file('good.csv', '1\n1,1\n');
  const message =
    /: --strategy \S*singular\.csv must be far enough from singular for double precision$/;
  await fails(['error', '--strategy', bad], 2, message);
  await fails(['release', ...target, '--clip', '1', `--strategy=${bad}`], 2, message, half);
  const compare = ['compare', '--steps', '2', '--strategy', good, '--strategy', bad];
  await fails(compare, 2, message);
});

test('misuse: compare names the file that is for other steps', async () => {
  const compare = ['compare', '--steps', '5', '--strategy', path];
  await fails(compare, 2, /: --strategy \S*C\.csv has 4 rows, but --steps is 5$/);
});

test('misuse: options that do not go with an encoder are refused', async () => {
  const error = ['error', '--strategy', path];
  await fails([...error, '--steps', '5'], 2, /--strategy .*C\.csv has 4 rows, but --steps is 5$/);
  await fails([...error, '--bands', '2'], 2, /--bands does not go with .* --strategy .*C\.csv$/);
  await fails(
    ['release', '--pure', '--epsilon', '1', '--clip', '1', '--strategy', path],
    2,
    /--pure does not go with a saved strategy, got --strategy .*C\.csv$/,
    table,
  );
});
