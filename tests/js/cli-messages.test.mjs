// SPDX-License-Identifier: Apache-2.0

// Messages that state the next step, and stay short for any input.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const release = ['release', '--epsilon', '1', '--delta', '1e-9', '--clip', '1', '--quiet'];
const pendulum = join(root, 'examples/pendulum.csv');

test('horizon: one that is too long names the mechanisms that go that far', async () => {
  const input = 'x\n1\n';
  for (const [steps, mechanism] of [
    [10_000_000, 'optimal'],
    [2_000_000, 'banded'],
    [2 ** 21, 'banded'],
  ]) {
    const names = dp.strategies.filter(({ maxSteps }) => maxSteps >= steps).map(({ name }) => name);
    assert.ok(names.includes('tree') && names.length < 24);
    const end = `got ${steps}; mechanisms that go that far: ${names.join(', ')}`;
    const args = ['--strategy', mechanism, '--steps', String(steps)];
    for (const command of [release, ['error'], ['learn', '--label', 'y', ...release.slice(1)]]) {
      const { stderr } = await fails([...command, ...args], 2, /--steps must be between 1 and/, {
        input: command[0] === 'learn' ? 'x,y\n1,1\n' : input,
      });
      assert.ok(stderr.trimEnd().endsWith(end), stderr);
    }
    assert.equal(
      (await dpFtrl([...release, '--steps', String(steps), '--strategy', 'tree'], { input })).code,
      0,
    );
  }
  const none = await fails(
    ['error', '--steps', '2', '--strategy', 'tree-k', '--arity', '1'],
    2,
    /--arity/,
  );
  assert.doesNotMatch(none.stderr, /go that far/);
});

test('horizon: rows past it end release and count with the code past_horizon', async () => {
  for (const [args, input] of [
    [[...release, '--steps', '2'], 'x\n1\n1\n1\n'],
    [
      [
        'count',
        '--epsilon',
        '1',
        '--delta',
        '1e-6',
        '--time-column',
        't',
        '--bucket',
        'day',
        '--quiet',
        '--steps',
        '2',
      ],
      't\n2026-01-01\n2026-01-02\n2026-01-03\n',
    ],
  ]) {
    const { stdout } = await fails(
      [...args, '--json'],
      2,
      /row 3 \(line 4\) is past the horizon of --/,
      { input },
    );
    const { complete, error } = JSON.parse(stdout);
    assert.deepEqual([complete, error], [false, { code: 'past_horizon', row: 3, line: 4 }]);
  }
});

test('header: long names are cut in messages, and many are not all listed', async () => {
  const long = 'a'.repeat(300);
  const cut = `${'a'.repeat(39)}…`;
  for (const [input, more, message] of [
    [`${long},b\n1,2\n`, ['--columns', 'zz'], `unknown column "zz"; known are ${cut}, b`],
    [`${long},b\nx,2\n`, [], `column "${cut}" is not a number`],
    [`${long},${long}\n1,2\n`, [], `more than one column "${cut}"`],
    [`step,${long}\n1,2\n`, [], 'two columns "step"'],
  ]) {
    const { stderr } = await fails([...release, ...more], 2, /./, { input });
    assert.ok(stderr.includes(message), stderr);
    assert.ok(stderr.length < 250, stderr);
  }
  const names = Array.from({ length: 1000 }, (_, i) => `name${1000 + i}`);
  const { stderr } = await fails([...release, '--columns', 'other'], 2, / and 980 more$/, {
    input: `${names.join(',')}\n`,
  });
  assert.match(stderr, /known are name1000, .*name1019 and 980 more/);
});

test('learn: the error for an unknown label lists the columns or suggests a similar one', async () => {
  const learn = ['learn', '--epsilon', '1', '--delta', '1e-6', '--quiet'];
  const known =
    /unknown column "outcome"; known are constant, cos_angle, rate_squared, rate_sin_angle, label$/;
  await fails([...learn, '--label', 'outcome', pendulum], 2, known);
  await fails(
    [...learn, '--label', 'lable', pendulum],
    2,
    /unknown column "lable"; did you mean label\?$/,
  );
});

test('learn: a star in --columns stands for any letters, and the pattern with most letters holds', async () => {
  const columns = ['p1', 'p2', 'price', 'q_p', 'y'];
  const input = `${columns.join(',')}\n${'1,2,3,4,1\n1,2,3,4,0\n'.repeat(20)}`;
  const learn = [
    'learn',
    '--label',
    'y',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--seed',
    '1',
    '--quiet',
  ];
  const args = (ranges) => [...learn, '--columns', ranges.join()];
  const highs = async (...ranges) => {
    const { code, stdout, stderr } = await dpFtrl([...args(ranges), '--json'], { input });
    assert.equal(code, 0, stderr);
    return JSON.parse(stdout).inputs.map(({ high }) => high);
  };
  // Features without a range are clipped to [-1, 1].
  assert.deepEqual(await highs('p*=0:16', '*'), [16, 16, 16, 1]);
  assert.deepEqual(await highs('p*=0:16', '*=0:2', 'p2=0:3'), [16, 3, 16, 2]);
  assert.deepEqual(await highs('pr*e=0:4', 'p*=0:16', '*_p=0:5'), [16, 16, 4, 5]);
  assert.deepEqual(await highs('*p*=0:16'), [16, 16, 16, 16]);
  assert.deepEqual(await highs('p*1=0:7', '*'), [7, 1, 1, 1]);
  assert.deepEqual(await highs('p*1=0:7', 'q_p'), [7, 1]);
  await fails(args(['x*=0:1']), 2, /unknown column "x\*"/, { input });
  await fails(args(['p1*p1=0:1']), 2, /unknown column "p1\*p1"/, { input });
  await fails(args(['pri*=0:1', '*ice=0:2']), 2, /"pri\*" and "\*ice" fit "price" equally well/, {
    input,
  });
});

const folder = scratchFolder('messages');
const write = (name, text) => {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
};
const visits = write(
  'visits.csv',
  'time;page;user;seconds\n2026-01-01;home;a;12\n2026-01-02;docs;b;40\n',
);
const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const daily = ['--time-column', 'time', '--bucket', 'day'];
const semicolons = ['--delimiter', 'semicolon'];

/** Runs each command and expects an error message that matches. */
async function refuses(cases) {
  for (const [args, message] of some(cases, 3)) {
    const { stderr, stdout } = await fails(args, 2, /./);
    assert.ok(stderr.includes(message), `${args.join(' ')}: ${stderr}`);
    assert.equal(stdout, '');
  }
}

test('messages: incomplete and misspelled names get suggestions, unless nothing is close', async () => {
  await refuses([
    [['count', '--out', 'x'], '"--out"; did you mean --output?'],
    [['count', '-o', 'x'], '"-o"; did you mean --objective, --other or --output?'],
    [['count', '--h'], '"--h"; did you mean --help or --horizon-cap?'],
    [['count', '--eps', '1'], '"--eps"; did you mean --epsilon?'],
    [['count', '-e', '1'], '"-e"; did you mean --epoch-length or --epsilon?'],
    [['count', '--user', 'x'], '"--user"; did you mean --user-column or --user-numbers?'],
    [['count', '--bukcet', 'day'], '"--bukcet"; did you mean --bucket?'],
    [['release', '--clpi', '1'], '"--clpi"; did you mean --clip?'],
    [['count', '-x'], '"-x"; --help all lists the options'],
    [['moments', '--by', 'page'], '"--by"; --by is an option of count'],
    [['mean'], 'unknown command "mean"; known are count, release'],
    [['mom'], 'unknown command "mom"; did you mean moments?'],
    [['e'], 'unknown command "e"; did you mean error or example?'],
    [
      ['count', ...privacy, '--time-column', 'date', '--bucket', 'day', ...semicolons, visits],
      'unknown column "date"; known are time, page, user, seconds',
    ],
    [
      ['count', ...privacy, '--time-column', 'T', '--bucket', 'day', ...semicolons, visits],
      'did you mean time?',
    ],
  ]);
});

test('messages: a file or a chart in place of a command gets a hint', async () => {
  await refuses([
    [[visits], `a command comes before the file: dp-ftrl count ... ${visits} counts its rows`],
    [['none.csv'], 'a command comes before the file'],
    [['plot'], 'unknown command "plot"; use --plot FILE.svg with count, release'],
  ]);
});

test('messages: all missing options are named at once, with the columns of the file', async () => {
  const columns = `columns of ${visits} are time, page, user, seconds`;
  const jsonl = write('rows.jsonl', '{"time":"2026-01-01"}\n');
  await refuses([
    [
      ['count', visits],
      '--epsilon is required, and so are --delta, --time-column and --bucket: ' +
        `add --epsilon 1 --delta 1e-6 --time-column NAME --bucket day; ${columns}`,
    ],
    [['count', '--pure', ...daily, visits], '--epsilon is required: add --epsilon 1'],
    [
      ['count', ...privacy, visits],
      `--time-column is required, and so is --bucket: add --time-column NAME --bucket day; ${columns}`,
    ],
    [
      ['moments', ...privacy, visits],
      `--columns is required: add --columns NAME=LOW:HIGH; ${columns}; the range of a column must be known without looking at it`,
    ],
    [
      ['release', '--epsilon', '1', visits],
      'and so is --clip: add --delta 1e-6 --clip C; --clip is the largest length',
    ],
    [
      ['queries', '--workload', 'prefix', visits],
      'add --columns NAME --domain A,B,C --epsilon 1 --delta 1e-6; columns of',
    ],
  ]);
  for (const file of [
    jsonl,
    write('numbers.csv', '1,2\n3,4\n'),
    write('binary.csv', Buffer.from([0xff, 10])),
    'none.csv',
    folder,
    '-',
  ]) {
    const { stderr } = await fails(
      ['count', ...privacy, file],
      2,
      /add --time-column NAME --bucket day$/,
    );
    assert.doesNotMatch(stderr, /columns of/);
  }
});

test('messages: --participations is refused with a time column, where one row is protected', async () => {
  const moments = ['moments', ...privacy, '--columns', '*=0:60', visits];
  await refuses([
    [
      [...moments, ...daily, '--participations', '3', '--min-separation', '1'],
      'with --time-column one row is protected, not a user: no --participations',
    ],
  ]);
});

test('messages: learn, choose and predict ask for all that is missing at once', async () => {
  const columns = `columns of ${visits} are`;
  await refuses([
    [
      ['learn', visits],
      '--epsilon is required, and so are --delta and --label: add --epsilon 1 --delta 1e-6 --label NAME',
      columns,
    ],
    [
      ['choose', visits],
      '--epsilon is required, and so are --columns and --domain: add --epsilon 1 --columns NAME',
      columns,
    ],
    [
      ['predict', visits],
      '--model is required: add --model FILE; dp-ftrl learn --model FILE writes one',
    ],
  ]);
});

test('messages: numbers, ranges and lists in another notation are refused with helpful errors', async () => {
  const count = (...args) => ['count', ...args, ...semicolons, '--quiet', visits];
  const by = ['--by', 'page', '--domain'];
  const moments = (...args) => [
    'moments',
    ...privacy,
    ...args,
    '--columns',
    'seconds',
    ...semicolons,
    '--quiet',
    visits,
  ];
  await refuses([
    [count('--epsilon', '0,5', '--delta', '1e-6', ...daily), 'got "0,5"; write 0.5, with a point'],
    [
      count('--epsilon', '1', '--delta', '1,5e-6', ...daily),
      'got "1,5e-6"; write 1.5e-6, with a point',
    ],
    [
      count('--epsilon', '10%', '--delta', '1e-6', ...daily),
      'got "10%"; it is not a percentage: 10% is 0.1',
    ],
    [['error', '--steps', '1,000'], 'got "1,000"'],
    [moments('--columns', 'seconds=0-600'), 'got "seconds=0-600"; write seconds=0:600'],
    [moments('--columns', 'seconds=0:600,5'), 'got "seconds=0:600,5"; write seconds=0:600.5'],
    [
      moments('--columns', '*=0:60', '--workload', 'window=1week'),
      '--workload must be window=W, a whole number of steps: of rows, or with --bucket day of days, got "window=1week"',
    ],
    [count(...privacy, ...daily, ...by, 'home;docs'), 'and values have commas between them, not ;'],
    [
      count(...privacy, ...daily, ...by, 'Home,Docs'),
      'is outside --domain; --other adds a category for what --domain leaves out; upper and lower case differ',
    ],
    [
      [...count(...privacy, ...daily, ...by, 'home'), 'docs'],
      `got 2: ${visits}, docs; join files first; lists of values have commas and no spaces`,
    ],
  ]);
  const { stderr } = await dpFtrl(['error', '--steps', '1,000']);
  assert.match(stderr, /got "1,000"$/m);
});

test('messages: the error for a decimal comma explains it without showing the cell', async () => {
  const input = 'time;seconds\n2026-01-01;563,5\n';
  const { stderr } = await fails(
    ['moments', ...privacy, '--columns', 'seconds=0:600', ...semicolons, '--quiet'],
    2,
    /row 1 \(line 2\), column "seconds" is not a number: it has a decimal comma, which --decimal comma reads$/,
    { input },
  );
  assert.doesNotMatch(stderr, /563/);
});

test('messages: the error for markup in place of a table adds that it does not look like CSV', async () => {
  const args = [...release, '--columns', 'x'];
  const quote = 'line 1: a quote inside a cell that does not begin with one';
  const other = new RegExp(`${quote}; this does not look like a CSV file$`);
  await fails(args, 2, other, { input: '<svg xmlns="http://www.w3.org/2000/svg">\n' });
  await fails(args, 2, other, { input: '<note lang="en">\n' });
  await fails(args, 2, new RegExp(`${quote}$`), { input: 'x "y"\n1\n' });
});

test('messages: an --output with the ending of a picture, page or workbook is refused', async () => {
  const args = { count: [...daily], moments: ['--columns', 'seconds=0:60'] };
  for (const [command, more] of Object.entries(args)) {
    for (const ending of ['html', 'svg', 'xlsx', 'PNG']) {
      const path = join(folder, `out.${ending}`);
      const message = `--output ${path}: rows are written as CSV or JSON, not as .${ending}; commands that draw have --plot`;
      await refuses([
        [
          [command, ...privacy, ...more, ...semicolons, '--quiet', '--output', path, visits],
          message,
        ],
      ]);
    }
  }
});

test('messages: errors of the system are reported once, in words', async () => {
  const path = `${'a'.repeat(300)}.csv`;
  await fails(
    ['release', ...privacy, '--clip', '1', path],
    1,
    /: cannot read a+\.csv: name too long$/,
  );
  const { systemReason } = await importSource('stores/files.ts');
  assert.throws(
    () => readFileSync('.'),
    (error) => systemReason(error) === 'illegal operation on a directory',
  );
  assert.equal(systemReason(new Error('something else')), 'something else');
});
