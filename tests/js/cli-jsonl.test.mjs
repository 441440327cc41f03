// SPDX-License-Identifier: Apache-2.0

// JSON lines as input and output: every command gives the same result as for CSV.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails, runningOn } from './support/command.mjs';
import { dpFtrl, root } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';

const folder = scratchFolder('jsonl');
const jsonl = ['--format', 'jsonl'];
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--seed', '6', '--quiet'];
const example = (name) => readFileSync(join(root, `examples/${name}.csv`), 'utf8');

/** Rows of a CSV as objects, with numeric cells as numbers. */
const rowsOf = (text) =>
  parse(text, { columns: true, cast: (cell) => (cell !== '' && !isNaN(cell) ? +cell : cell) });
const asLines = (rows) => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
const linesOf = (text) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

function write(name, text) {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function printed(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return stdout;
}

const short = (name, rows = 60) =>
  example(name)
    .split('\n')
    .slice(0, rows + 1)
    .join('\n');
const visits = short('site_visits', 200);
const learn = [
  'learn',
  '--label',
  'label',
  '--epsilon',
  '1',
  '--delta',
  '1e-6',
  '--seed',
  '2',
  '--quiet',
  '--json',
];
const days = ['--time-column', 'time', '--bucket', 'day'];
const members = ['--columns', 'minutes', '--domain', '0:60', '--other'];
const COMMANDS = [
  [
    ['release', ...privacy, '--clip', '1', '--columns', 'count', '--show-nonprivate'],
    short('shop_day'),
  ],
  [
    ['release', ...privacy, '--clip', '1', ...days, '--show-nonprivate', '--columns', 'minutes'],
    short('gym_visits'),
  ],
  [['count', ...privacy, ...days, '--show-nonprivate'], visits],
  [
    [
      'count',
      ...privacy,
      ...days,
      '--by',
      'section',
      '--domain',
      'docs,shop',
      '--other',
      '--user-column',
      'visitor',
      '--max-contributions',
      '2',
    ],
    visits,
  ],
  [['queries', ...privacy, '--workload', 'prefix', ...members], short('gym_visits')],
  [['choose', '--epsilon', '1', '--seed', '3', '--winner', ...members], short('gym_visits')],
];

test('json lines: every command gives the same results for JSON lines as for CSV', async () => {
  for (const [args, table] of some(COMMANDS, 3)) {
    const wanted = await printed(args, table);
    const input = asLines(rowsOf(table));
    assert.equal(await printed([...args, write('a.jsonl', input)], ''), wanted, args[0]);
    assert.equal(await printed([...args, write('a.ndjson', input)], ''), wanted, args[0]);
    const found = await printed([...args, ...jsonl], input.trimEnd());
    assert.deepEqual(linesOf(found), rowsOf(wanted), args[0]);
    assert.equal(
      await printed([...args, ...jsonl, '--json'], input),
      await printed([...args, '--json'], table),
    );
  }
  const table = short('pendulum');
  const input = asLines(rowsOf(table));
  assert.equal(await printed([...learn, ...jsonl], input), await printed(learn, table));
  const file = write('rows.jsonl', input);
  // Learning from a file takes several passes, so it is compared with a file.
  assert.equal(
    await printed([...learn, file]),
    await printed([...learn, write('rows.csv', table)]),
  );
});

test('json lines: a model can be tested on them and predict from them', async () => {
  const table = short('pendulum');
  const lines = write('test.jsonl', asLines(rowsOf(table)));
  const other = write('test.csv', table);
  const model = join(folder, 'model.json');
  const measured = async (file) =>
    JSON.parse(
      await printed([...learn, '--model', model, '--test', file, '--show-nonprivate'], table),
    ).test;
  assert.deepEqual(await measured(lines), await measured(other));
  const predict = ['predict', '--model', model, '--quiet'];
  const wanted = await printed([...predict, other]);
  assert.equal(await printed([...predict, lines]), wanted);
  assert.deepEqual(linesOf(await printed([...predict, ...jsonl, other])), rowsOf(wanted));
});

test('json lines: file names determine the format, and --format applies where they do not', async () => {
  const [args, table] = COMMANDS[0];
  const wanted = await printed(args, table);
  const lines = asLines(rowsOf(wanted));
  const csv = write('in.csv', table);
  const objects = write('in.jsonl', asLines(rowsOf(table)));
  const bare = write('in.txt', table);
  for (const [more, expected] of [
    [[objects], wanted],
    [['--format', 'csv', objects], wanted],
    [['--format', 'csv', bare], wanted],
    [[...jsonl, csv], lines],
    [[...jsonl, objects], lines],
  ]) {
    assert.equal(await printed([...args, ...more]), expected, more.join(' '));
  }
  for (const [name, more, expected] of [
    ['out.jsonl', [], lines],
    ['out.NDJSON', [], lines],
    ['out.csv', jsonl, wanted],
    ['out.txt', jsonl, lines],
    ['out', [], wanted],
  ]) {
    const path = join(folder, name);
    assert.equal(await printed([...args, ...more, '--output', path, csv]), '');
    assert.equal(readFileSync(path, 'utf8'), expected, name);
  }
  await fails(
    [...args, '--format', 'json', csv],
    2,
    /--format must be one of csv, jsonl, got "json"/,
  );
  const named = ['--format', 'xml', '--output', join(folder, 'out.csv'), csv];
  await fails([...args, ...named], 2, /--format must be one of csv, jsonl, got "xml"/);
  await fails(
    [...args, '--delimiter', 'tab', objects],
    2,
    /--delimiter is for CSV, and the input is JSON lines/,
  );
  await fails(['page', objects], 2, /the page reads CSV, and \S+in\.jsonl is JSON lines/);
});

test('json lines: missing keys and null are empty cells, and extra keys are refused without --columns', async () => {
  const args = ['release', ...privacy, '--clip', '9', '--show-nonprivate'];
  const csv = (second) => `a,b\n1,2\n${second}\n5,6\n`;
  const lines = (second) => `{"a":1,"b":2}\n${second}\n{"b":6,"a":5}`;
  for (const second of ['{"a":3}', '{"b":null,"a":3}', '{"a":3,"b":" "}']) {
    for (const policy of ['zero', 'skip']) {
      const more = ['--missing', policy];
      const found = await printed([...args, ...more, '--format', 'jsonl'], lines(second));
      assert.deepEqual(
        linesOf(found),
        rowsOf(await printed([...args, ...more], csv('3,'))),
        second,
      );
    }
    await fails([...args, ...jsonl], 2, /row 2 \(line 2\), column "b" is empty/, {
      input: lines(second),
    });
  }
  const more = '{"a":3,"b":4,"c":[1,{"d":"}"}]}';
  const where =
    /row 2 \(line 2\) has a key that the first row does not have; --columns NAME picks columns$/;
  await fails([...args, ...jsonl], 2, where, { input: lines(more) });
  const picked = ['--columns', 'b', '--columns', 'a'];
  assert.deepEqual(
    linesOf(await printed([...args, ...jsonl, ...picked], lines(more))),
    rowsOf(await printed([...args, ...picked], csv('3,4'))),
  );
  for (const list of ['[]', '{}', '{"a":[1]}', '"]"']) {
    const kind = list === '"]"' ? 'is not a number' : 'is a list or an object';
    for (const missing of [[], ['--missing', 'skip']]) {
      const where = new RegExp(`row 2 \\(line 2\\), column "b" ${kind}`);
      await fails([...args, ...jsonl, ...missing], 2, where, {
        input: lines(`{"a":3,"b":${list}}`),
      });
    }
  }
  const alone = '{"a":1}\n{"a":null}\n{"a":3}\n';
  const one = ['release', ...privacy, '--clip', '9', '--missing', 'zero', '--show-nonprivate'];
  assert.deepEqual(
    linesOf(await printed([...one, ...jsonl], `${alone}{"a":null}`)),
    rowsOf(await printed(one, 'a\n1\n0\n3\n0\n')),
  );
});

test('json lines: cells keep the text of values, so ids too large for a double stay distinct', async () => {
  const ids = [
    '90071992547409930',
    '90071992547409931',
    '"90071992547409931"',
    '"\\u0041\\n\\"}{"',
    'true',
  ];
  const input = ids.map((id, i) => `{ "t": "2026-01-0${i + 1}" , "u" : ${id} }\r\n`).join('');
  const args = [
    'count',
    ...privacy,
    '--time-column',
    't',
    '--bucket',
    'day',
    '--show-nonprivate',
    ...jsonl,
  ];
  const people = ['--user-column', 'u', '--max-contributions', '1'];
  const counted = linesOf(await printed([...args, ...people], input)).map((row) => row.count_true);
  assert.deepEqual(counted, [1, 1, 0, 1, 1]);
  const found = linesOf(
    await printed([...args, '--by', 'u', '--domain', '90071992547409931,true', '--other'], input),
  );
  assert.deepEqual(
    found.filter((row) => row.count_true === 1).map((row) => row.u),
    ['other', '90071992547409931', '90071992547409931', 'other', 'true'],
  );
});

test('json lines: an invalid line is refused with its number, and rows before it are released', async () => {
  const args = [
    'release',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--clip',
    '1',
    '--steps',
    '9',
    ...jsonl,
  ];
  const bad = async (line, message) => {
    const { stdout } = await fails(args, 2, message, {
      input: `{"a":1}\n{"a":2}\n${line}\n{"a":4}\n`,
    });
    assert.deepEqual(
      linesOf(stdout).map(({ step }) => step),
      [1, 2],
    );
  };
  await bad('{"a":3', /line 3 is not JSON; the table is incomplete/);
  await bad('{"a":NaN}', /line 3 is not JSON; the table is incomplete/);
  await bad("{'a':3}", /line 3 is not JSON; the table is incomplete/);
  for (const value of ['[3]', '3', 'null', '"a"'])
    await bad(value, /line 3 is not an object; the table is incomplete/);
  await bad('{"a":3,"a":4}', /line 3 has a key twice; the table is incomplete/);
  await bad('{"a":3,"\\u0061":4}', /line 3 has a key twice; the table is incomplete/);
  await bad('', /row 3 \(line 3\) is blank; the table/);
  await bad(
    `{"a":3,"b":"${'x'.repeat(1 << 20)}"}`,
    /line 3 has more than 1048576 characters; the table/,
  );
  await bad('{"a":1e999}', /row 3 \(line 3\), column "a" is beyond the largest number, 1\.8e308/);
  const first = async (input, message) => {
    const { stdout } = await fails(args, 2, message, { input });
    assert.equal(stdout, '');
  };
  await first('', /the input is empty/);
  await first('\n{"a":1}\n', /the input begins with a blank line/);
  await first('{}\n', /line 1 has no keys, which name the columns/);
  await first('a\n1\n', /line 1 is not JSON/);
  const blank = await printed([...args, '--quiet'], '\ufeff{"a":1}\n\n  \n');
  assert.equal(linesOf(blank).length, 1);
  // The text may be personal data.
  const secret = await dpFtrl(args, { input: '{"a":1}\n{"secret-name":\n' });
  assert.doesNotMatch(secret.stderr, /secret/);
  await fails([...args, '--columns', 'b'], 2, /unknown column "b".*known are a/, {
    input: '{"a":1}\n',
  });
});

test('json lines: an object is released as soon as its line has ended', async () => {
  const args = ['release', ...privacy, '--clip', '1', '--steps', '9', ...jsonl];
  const { child, ended } = await runningOn('{"a":1}\n{"a":2}\n{"a"', args, ({ stdout }) =>
    /"step":2,.*\n/.test(stdout),
  );
  child.stdin.end(':3}');
  const { code, stdout } = await ended;
  assert.equal(code, 0);
  assert.deepEqual(
    linesOf(stdout).map((row) => Object.keys(row)),
    Array(3).fill(['step', 'a', 'std']),
  );
});

test('jsonl: an empty or blank input is told in the words of JSON lines', async () => {
  const args = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1'];
  const naming = 'the keys of the first object name the columns';
  const said = { '': 'is empty', '\n\n': 'begins with a blank line' };
  for (const [input, what] of Object.entries(said)) {
    const message = new RegExp(`the input ${what}; ${naming}$`);
    await fails([...args, '--format', 'jsonl'], 2, message, { input });
    const csv = new RegExp(`the input ${what}; the first row must name the columns$`);
    await fails(args, 2, csv, { input });
  }
});
