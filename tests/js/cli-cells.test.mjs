// SPDX-License-Identifier: Apache-2.0

// Cells and columns in every command: missing cells, spellings of whole numbers, and headers. The
// oracle is the same command on a table without what is to be left out.

import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';

const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-cells-'));
const dp = await (await importEntry('dp-ftrl')).load();
const target = ['--epsilon', '1', '--delta', '1e-6'];
const seen = [...target, '--seed', '4', '--quiet'];
const days = [
  '--time-column',
  't',
  '--bucket',
  'day',
  '--from',
  '2026-01-01',
  '--to',
  '2026-01-03',
];
const persons = ['--user-column', 'u', '--max-contributions', '2'];
const choose = ['--epsilon', '1', '--seed', '4', '--quiet'];
const model = join(folder, 'model.json');

/** Cells of a table with numbers a and b, a category c, a time, a person and a label. */
const HEADER = ['a', 'b', 'c', 't', 'u', 'y'];
const ROWS = Array.from({ length: 24 }, (_, i) => [
  String((i % 4) + 1),
  String(0.25 * (i % 3) - 0.25),
  String(i % 3),
  `2026-01-0${1 + Math.floor(i / 8)}`,
  `p${i % 7}`,
  String(i % 2),
]);
/** The table with one changed cell, or without the row if `cell` is null. */
const tableOf = (row, column, cell) => {
  const rows = ROWS.map((cells, i) => {
    if (i !== row) return cells;
    return cell === null ? null : cells.with(HEADER.indexOf(column), cell);
  });
  return `${[HEADER, ...rows.filter(Boolean)].map((cells) => cells.join(',')).join('\n')}\n`;
};

/** Columns in which a cell may be missing: numbers, categories, and others that are never 0. */
const COMMANDS = [
  {
    args: ['release', ...seen, '--clip', '5', '--columns', 'a', '--columns', 'b', ...days],
    numbers: ['a', 'b'],
    never: ['t'],
  },
  {
    args: ['release', ...seen, '--clip', '5', '--columns', 'a', ...days, ...persons],
    numbers: ['a'],
    never: ['t', 'u'],
  },
  { args: ['count', ...seen, ...days], never: ['t'] },
  {
    args: ['count', ...seen, ...days, ...persons, '--by', 'c', '--domain', '0,1,2'],
    categories: ['c'],
    never: ['t', 'u'],
  },
  {
    args: ['moments', ...seen, '--columns', 'a=-1:4', ...days],
    numbers: ['a'],
    never: ['t'],
  },
  {
    args: ['moments', ...seen, '--columns', 'a=-1:4', ...days, ...persons],
    numbers: ['a'],
    never: ['t', 'u'],
  },
  {
    args: ['histogram', ...seen, '--by', 'c', '--domain', '0:2', ...days],
    categories: ['c'],
    never: ['t'],
  },
  {
    args: ['queries', '--workload', 'identity', '--columns', 'c', '--domain', '0:2', ...seen],
    categories: ['c'],
    never: [],
  },
  {
    args: [
      'queries',
      '--workload',
      'identity',
      '--columns',
      'c',
      '--domain',
      '0:2',
      '--columns',
      'a',
      '--domain',
      '0:4',
      ...seen,
      ...persons,
    ],
    categories: ['c', 'a'],
    never: ['u'],
  },
  {
    args: ['choose', '--winner', '--columns', 'c', '--domain', '0:2', ...choose],
    categories: ['c'],
    never: [],
  },
  {
    args: [
      'choose',
      '--quantile',
      '1/2',
      '--columns',
      'c',
      '--domain',
      '0,1,2',
      ...choose,
      ...persons,
    ],
    categories: ['c'],
    never: ['u'],
  },
  {
    args: ['predict', '--model', model, '--quiet'],
    numbers: ['a', 'b'],
    never: [],
    numbered: true,
  },
];

async function printed(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, `${args.join(' ')}: ${stderr}`);
  return stdout;
}

/** Asserts that a row is refused, perhaps after the steps before it were released. */
async function refused(args, message, input) {
  const { code, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 2, stderr);
  assert.match(stderr, message);
}

await printed(
  ['learn', '--label', 'y', '--columns', 'a=-4:4,b=-4:4', ...seen, '--model', model],
  tableOf(-1),
);

/** Texts of missing cells, and the list that makes them missing. */
const TOKENS = [
  ['', undefined],
  [' ', undefined],
  ['NA', 'NA'],
  ['NaN', 'NA,NaN,null,-'],
  ['null', 'null'],
  ['-', '-, NA'],
  [' N/A ', 'N/A'],
  ['?', '?'],
];

for (const { args, numbers = [], categories = [], never, numbered } of COMMANDS) {
  const name = args.filter((arg) => !seen.includes(arg) && arg !== model).join(' ');
  test(`missing: ${name}: a skipped row adds nothing, and zero is 0`, async () => {
    const whole = await printed(args, tableOf(-1));
    for (const [cell, na] of TOKENS) {
      const list = na === undefined ? [] : ['--na', na];
      const row = 3 + TOKENS.findIndex(([token]) => token === cell);
      for (const column of [...numbers, ...categories, ...never]) {
        const input = tableOf(row, column, cell);
        const skipped = await printed([...args, '--missing', 'skip', ...list], input);
        // Predictions keep the numbers of the rows.
        const rest = await printed(args, tableOf(row, column, null));
        if (!numbered) assert.equal(skipped, rest, `${column}=${cell}`);
        else
          assert.deepEqual(
            skipped.trim().split('\n'),
            whole
              .trim()
              .split('\n')
              .toSpliced(row + 1, 1),
          );
        const place = `row ${row + 1} \\(line ${row + 2}\\), column "${column}"`;
        if (never.includes(column)) {
          const what =
            cell.trim() === '' ? 'is empty; --missing skip leaves out such rows' : 'is missing';
          await refused(
            [...args, '--missing', 'zero', ...list],
            new RegExp(`${place} ${what}`),
            input,
          );
        } else {
          const zero = await printed([...args, '--missing', 'zero', ...list], input);
          assert.equal(zero, await printed(args, tableOf(row, column, '0')), `${column}=${cell}`);
        }
        // Without the options the row is refused, and the message names the options that help.
        if (cell.trim() === '') {
          await refused(
            args,
            new RegExp(`${place} is empty; --missing skip leaves out such rows`),
            input,
          );
        } else if (!never.includes(column)) {
          const added = ['NA', 'NaN', 'null', '-'].includes(cell.trim()) ? '' : `,${cell.trim()}`;
          const wrong = `${place} (is not a number|is outside --domain).*; if its value is missing, `;
          const na = (list) => `--na ${list.replace('?', '\\?')} leaves out such rows`;
          await refused(
            args,
            new RegExp(`${wrong}--missing skip ${na(`NA,NaN,null,-${added}`)}`),
            input,
          );
          // The suggested list keeps the texts that were given.
          await refused(
            [...args, '--missing', 'skip', '--na', 'x,none'],
            new RegExp(`${wrong}${na(`x,none,${cell.trim()}`)}`),
            input,
          );
        }
      }
    }
  });
}

test('missing: an empty line of a table of one column is a missing cell, and its end is none', async () => {
  const sums = ['release', ...seen, '--clip', '5'];
  const counts = [
    'queries',
    '--workload',
    'identity',
    '--columns',
    'v',
    '--domain',
    '0:3',
    ...seen,
  ];
  const timed = ['count', ...seen, '--time-column', 'v', '--bucket', 'day'];
  const text = (cells) => `v\n${cells.map((cell) => `${cell}\n`).join('')}`;
  const holes = ['1', '', '3', '""', ' ', '2'];
  const filled = ['1', '0', '3', '0', '0', '2'];
  for (const args of [sums, counts, ['choose', '--winner', ...counts.slice(3, 7), ...choose]]) {
    const name = args[0];
    for (const [cells, whole] of [
      [holes, filled],
      [holes.slice(0, 5), filled.slice(0, 5)],
      [
        ['', ...holes],
        ['0', ...filled],
      ],
    ]) {
      const zero = await printed([...args, '--missing', 'zero'], text(cells));
      assert.equal(zero, await printed(args, text(whole)), name);
      // Without a newline at the end the last cell is the same.
      assert.equal(
        await printed([...args, '--missing', 'zero'], text(cells).trimEnd()),
        await printed(args, text(whole.slice(0, cells.at(-1).trim() === '' ? -1 : undefined))),
        name,
      );
      const skipped = await printed([...args, '--missing', 'skip'], text(cells));
      const rest = args === sums ? whole : cells.filter((cell) => /\d/.test(cell));
      assert.equal(skipped, await printed(args, text(rest)), name);
    }
    for (const hole of ['', ' ', '""'])
      await refused(
        args,
        /row 2 \(line 3\), column "v" is empty; --missing skip leaves out such rows, --missing zero/,
        text(['1', hole, '3']),
      );
    // A quoted cell is a cell, even at the end.
    await refused(args, /row 2 \(line 3\), column "v" is empty/, text(['1', '""']));
    assert.equal(await printed(args, `${text(['1'])}\n\n`), await printed(args, text(['1'])));
  }
  const days = ['2026-01-01', '', '2026-01-02'];
  await refused(
    timed,
    /row 2 \(line 3\), column "v" is empty; --missing skip leaves out such rows$/m,
    text(days),
  );
  const full = days.filter(Boolean);
  assert.equal(
    await printed([...timed, '--missing', 'skip'], text(days)),
    await printed(timed, text(full)),
  );
  // With --other a missing category is one of the rest.
  assert.equal(
    await printed([...counts, '--other'], text(['1', '', '3'])),
    await printed([...counts, '--other'], text(['1', 'x', '3'])),
  );
  // In other tables a line has too few cells.
  await refused(sums, /row 2 \(line 3\) is blank/, 'v,w\n1,2\n\n3,4\n');
  const skip = [...sums, '--missing', 'skip'];
  await refused(skip, /row 2 \(line 3\) is blank/, 'v,w\n1,2\n\n3,4\n');
  await refused(skip, /row 2 \(line 3\) has 1 cell, the header has 2/, 'v,w\n1,2\n""\n3,4\n');
});

test('missing: with rows as steps a skipped row takes its step, in sums and in statistics', async () => {
  const rows = ['a,c', '1,0', ',1', '2,', 'NA,NA', '3,2'];
  const input = `${rows.join('\n')}\n`;
  const skip = ['--missing', 'skip', '--na', 'NA'];
  const options = { steps: 5, epsilon: 1, delta: 1e-6, insecureSeed: 4 };
  /** Values of the library, where a missing record is a step without one. */
  const wanted = (stream, records, read) =>
    records.map((record) => read(stream.releaseBatch(record === null ? [] : [record])));
  const moments = ['moments', ...seen, '--columns', 'a=0:4', ...skip];
  const means = parse(await printed(moments, input), { columns: true, cast: true });
  assert.deepEqual(
    means.map((row) => [row.count, row.a_mean]),
    wanted(
      dp.moments({ ...options, columns: { a: [0, 4] } }),
      [{ a: 1 }, null, { a: 2 }, null, { a: 3 }],
      ({ count, mean }) => [count.value, mean.a.value],
    ),
  );
  const histogram = ['histogram', ...seen, '--by', 'c', '--domain', '0:2', ...skip];
  const counts = parse(await printed(histogram, input), { columns: true, cast: true });
  const categories = ['0', '1', '2'];
  assert.deepEqual(
    Array.from({ length: 5 }, (_, t) => counts.slice(3 * t, 3 * t + 3).map((row) => row.count)),
    wanted(dp.histogram({ ...options, categories }), ['0', '1', null, null, '2'], ({ count }) =>
      categories.map((name) => count[name].value),
    ),
  );
  for (const args of [moments, histogram]) {
    const state = join(folder, `${args[0]}.state`);
    const runs = [...args, '--steps', '5', '--state', state];
    const parts = [
      [rows[0], ...rows.slice(1, 3)],
      [rows[0], ...rows.slice(3)],
    ];
    const first = await printed(runs, `${parts[0].join('\n')}\n`);
    const second = await printed(runs, `${parts[1].join('\n')}\n`);
    assert.equal(
      first + second.slice(second.indexOf('\n') + 1),
      await printed(args, input),
      args[0],
    );
  }
  const release = ['release', ...seen, '--clip', '9', '--columns', 'a', ...skip];
  const state = join(folder, 'release.state');
  const all = await printed(release, input);
  assert.equal(await printed([...release, '--steps', '5', '--state', state], input), all);
  assert.equal(all, await printed(release, 'a\n1\n0\n2\n0\n3\n'));
  const { stderr } = await dpFtrl(
    [...release.filter((arg) => arg !== '--quiet'), '--show-nonprivate'],
    { input },
  );
  assert.match(stderr, /2 rows with a missing cell added nothing: NOT private/);
});

test('missing: the guarantee says what a skipped row and a zero are, and that the row is protected', async () => {
  const said = async (args, input = tableOf(-1)) => (await dpFtrl(args, { input })).stderr;
  const skip = ['--missing', 'skip', '--na', 'NA,-'];
  const adds =
    /, a row of which a cell that is read is missing \(empty or "NA" or "-"\) is protected, too, and adds nothing;/;
  for (const { args } of COMMANDS.filter((it) => it.args[0] !== 'predict')) {
    const open = args.filter(
      (arg, i) => arg !== '--quiet' && arg !== '--seed' && args[i - 1] !== '--seed',
    );
    assert.match(await said([...open, ...skip]), adds, args.join(' '));
    assert.doesNotMatch(await said(open), /missing cell/);
    if (!/^(release|moments)$/.test(args[0])) continue;
    assert.match(await said([...open, '--missing', 'zero']), /, a missing cell \(empty\) is 0;/);
  }
  const learn = ['learn', '--label', 'y', '--columns', 'a', ...target, '--clip', '1'];
  assert.match(await said([...learn, ...skip]), adds);
});

test('missing: --na needs a policy and texts, and skipping needs neighbours that hide how many rows count', async () => {
  const input = tableOf(-1);
  for (const { args } of COMMANDS) {
    await fails(
      [...args, '--na', 'NA'],
      2,
      /--na says which cells are missing: it needs --missing skip or --missing zero/,
      { input },
    );
    const texts = /--na must be texts separated by commas, such as NA,NaN,null,-, got "NA,"/;
    await fails([...args, '--missing', 'skip', '--na', 'NA,'], 2, texts, { input });
    await fails(
      [...args, '--missing', 'leave'],
      2,
      /--missing must be one of refuse, zero, skip, got "leave"/,
      { input },
    );
  }
  for (const { args } of COMMANDS.filter((it) =>
    /^(moments|histogram|queries|choose)$/.test(it.args[0]),
  )) {
    if (args.includes('--user-column')) continue;
    const public_ = [...args, '--neighbours', 'replace-one', '--missing', 'skip'];
    await fails(
      public_,
      2,
      /--missing skip needs zero-out neighbours: how many rows count is secret/,
      { input },
    );
  }
});

test('missing: with --other a missing category is one of the rest, unless its row is skipped', async () => {
  const rows = (cell) => `c,t\n0,2026-01-01\n${cell},2026-01-01\n1,2026-01-02\n`;
  const by = ['--by', 'c', '--domain', '0,1', '--other', ...days];
  for (const args of [
    ['count', ...seen, ...by],
    ['histogram', ...seen, ...by],
    ['queries', '--workload', 'identity', '--columns', 'c', '--domain', '0,1', '--other', ...seen],
  ]) {
    const other = await printed(args, rows('new'));
    for (const cell of ['', 'NA']) {
      assert.equal(await printed(args, rows(cell)), other);
      const skipped = await printed([...args, '--missing', 'skip', '--na', 'NA'], rows(cell));
      assert.equal(skipped, await printed(args, rows('0').replace('0,2026-01-01\n', '')));
      assert.equal(
        await printed([...args, '--missing', 'zero', '--na', 'NA'], rows(cell)),
        await printed(args, rows('0')),
      );
    }
  }
});

test('whole numbers: 1.0, 01, +1 and 1e0 are the value 1 of a domain, and texts are compared as texts', async () => {
  const spellings = (value) => [
    `${value}`,
    `${value}.0`,
    `0${value}`,
    `+${value}`,
    `${value}e0`,
    ` ${value} `,
    `${value}0e-1`,
  ];
  for (const domain of ['0:2', '-1:12', '0,1,2', '2,1.0,+0', '00,1,2']) {
    for (const args of [
      ['queries', '--workload', 'identity', '--columns', 'c', '--domain', domain, ...seen],
      ['choose', '--winner', '--columns', 'c', '--domain', domain, ...choose],
      ['histogram', ...seen, '--by', 'c', '--domain', domain],
      ['count', ...seen, '--by', 'c', '--domain', domain, '--time-column', 't', '--bucket', 'day'],
    ]) {
      const table = (cells) => `c,t\n${cells.map((cell) => `${cell},2026-01-01\n`).join('')}`;
      const plain = [0, 1, 2].flatMap((value) => spellings(value).map(() => value));
      const written = [0, 1, 2].flatMap(spellings);
      assert.equal(
        await printed(args, table(written)),
        await printed(args, table(plain)),
        args.join(' '),
      );
      const outside = /row 1 \(line 2\), column "c" is outside --domain/;
      for (const cell of [
        '1.5',
        '1.0000000000000000001',
        '0x1',
        '1,5',
        'one',
        '13',
        '1e15',
        '- 1',
      ]) {
        await fails(args, 2, outside, { input: table([`"${cell}"`]) });
      }
    }
  }
  // Names that are not whole numbers, and two spellings of one, are texts.
  const counts = async (domain, ...cells) => {
    const args = [
      'queries',
      '--workload',
      'identity',
      '--columns',
      'c',
      '--domain',
      domain,
      '--other',
      '--consistent',
    ];
    const input = `c\n${cells.flatMap((cell) => Array(1000).fill(cell)).join('\n')}\n`;
    const rows = parse(
      await printed(
        [...args, '--epsilon', '100', '--delta', '1e-6', '--seed', '4', '--quiet'],
        input,
      ),
      { columns: true },
    );
    return rows.map(({ answer }) => Math.round(answer / 1000));
  };
  assert.deepEqual(await counts('01,1,x', '01', '1', '1', '1.0', 'x'), [1, 2, 1, 1]);
  assert.deepEqual(await counts('1.5,a', '1.5', '1.50', 'a', 'A'), [1, 1, 2]);
  assert.deepEqual(await counts('5:6', '5', '05', '6.0', '7'), [2, 1, 1]);
});

test('headers: a column without a name is left out with a notice, and never summed', async () => {
  const release = ['release', ...target, '--clip', '2000', '--seed', '1'];
  const quiet = [...release, '--quiet'];
  const named = 'year,volume\n1871,1120\n1872,1160\n';
  const notice = (text) => new RegExp(`^dp-ftrl release: the input ${text}$`, 'm');
  for (const [input, said] of [
    [',year,volume\n0,1871,1120\n1,1872,1160\n', 'has no name for column 1, which is left out'],
    ['"",year,volume\n0,1871,1120\n1,1872,1160\n', 'has no name for column 1, which is left out'],
    [' \t,year,volume\nx,1871,1120\ny,1872,1160\n', 'has no name for column 1, which is left out'],
    ['year,volume,\n1871,1120,\n1872,1160,\n', 'has no name for column 3, which is left out'],
    [
      ',year,,volume,\n0,1871,a,1120,\n1,1872,b,1160,\n',
      'has no names for columns 1, 3 and 5, which are left out',
    ],
  ]) {
    assert.equal(await printed(quiet, input), await printed(quiet, named));
    assert.equal((await dpFtrl(quiet, { input })).stderr.match(/left out/), null);
    const { stderr } = await dpFtrl(release, { input });
    assert.match(stderr, notice(said));
    assert.equal(stderr.match(/left out/g).length, 1);
    const file = join(folder, 'unnamed.csv');
    writeFileSync(file, input);
    assert.equal((await dpFtrl([...release, file])).stderr.match(/left out/g).length, 1);
    // Nothing is left out of columns that are named.
    const one = await dpFtrl([...release, '--columns', 'volume'], { input });
    assert.doesNotMatch(one.stderr, /left out/);
  }
  const lines = await dpFtrl([...release, '--format', 'jsonl'], {
    input: '{"":0,"year":1871,"volume":1120}\n{"":1,"year":1872,"volume":1160}\n',
  });
  assert.match(lines.stderr, notice('has no name for column 1, which is left out'));
  await fails(quiet, 2, /the cells of the first row are empty; they must name the columns/, {
    input: ',,\n1,2,3\n',
  });
  await fails([...quiet, '--columns', ''], 2, /--columns must be NAME or NAME=LOW:HIGH/, {
    input: ',a\n1,2\n',
  });
});

test('headers: two columns with one name are refused by number where one of them is read', async () => {
  const release = ['release', ...seen, '--clip', '5'];
  const input = 'a,b,c,a,c\n1,2,3,4,5\n';
  await fails(release, 2, /the header has more than one column "a": cells 1 and 4/, { input });
  await fails(
    [...release, '--columns', 'c'],
    2,
    /the header has more than one column "c": cells 3 and 5/,
    { input },
  );
  assert.match(await printed([...release, '--columns', 'b'], input), /^step,b,std/);
  await fails(
    [...release, '--columns', 'b', ...persons.with(1, 'a')],
    2,
    /more than one column "a": cells 1 and 4/,
    { input },
  );
  await fails(
    ['count', ...seen, '--time-column', 'a', '--bucket', 'day'],
    2,
    /more than one column "a"/,
    { input },
  );
});

const utf16 = (text, swap) => {
  const bytes = Buffer.from(text, 'utf16le');
  return swap ? bytes.swap16() : bytes;
};
/** Files other than tables in UTF-8, by their first bytes. */
const FILES = [
  [
    Buffer.concat([Buffer.from([0xff, 0xfe]), utf16('a\n1\n')]),
    /is text in UTF-16: save it as UTF-8/,
  ],
  [Buffer.concat([Buffer.from([0xfe, 0xff]), utf16('a\n1\n', true)]), /is text in UTF-16/],
  [utf16('a\n1\n'), /is text in UTF-16/],
  [utf16('a\n1\n', true), /is text in UTF-16/],
  [Buffer.from([0xff, 0xfe, 0, 0, 0x61, 0, 0, 0]), /is text in UTF-(16|32)/],
  [gzipSync('a\n1\n'), /is compressed by gzip: decompress it first, as by gunzip/],
  [Buffer.from('BZh91AY'), /is compressed by bzip2/],
  [Buffer.from([0xfd, 0x37, 0x7a, 0x58, 0x5a, 0]), /is compressed by xz/],
  [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 4]), /is compressed by zstd/],
  [
    Buffer.from('PK\x03\x04\x14\0'),
    /is an Excel workbook \(xlsx\) or another zip archive: save its sheet as CSV/,
  ],
  [
    Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1]),
    /is an Excel workbook \(xls\): save its sheet as CSV/,
  ],
  [Buffer.from('PAR1\x15\x04'), /is a Parquet file: write it as CSV/],
  [Buffer.from('ARROW1\0\0'), /is an Arrow file/],
  [Buffer.from('SQLite format 3\0'), /is an SQLite database/],
  [Buffer.from('%PDF-1.7\n'), /is a PDF/],
  [
    Buffer.from('stra\xdfe\n1\n', 'latin1'),
    /is not UTF-8 text, but perhaps Latin-1: .* iconv -f WINDOWS-1252 -t UTF-8/,
  ],
  [Buffer.from('a\n1\n2\n\xe4\n', 'latin1'), /is not UTF-8 text, but perhaps Latin-1/],
  [
    Buffer.from('[{"a":1},{"a":2}]\n'),
    /is a JSON array: write one object per line, as by jq -c "\.\[\]"/,
  ],
  [Buffer.from('\ufeff[\n  {\n "a":1}]\n'), /is a JSON array/],
  [
    Buffer.from('{"a":1}\n{"a":2}\n'),
    /is JSON, not CSV: (give --format jsonl|rename it to \.jsonl, as the ending of its name decides)$/m,
  ],
  [
    Buffer.from('{\n "a": 1\n}\n'),
    /is JSON on several lines: write one object per line, as by jq -c \.$/m,
  ],
  [Buffer.from('PK\x07\x08\x14\0'), /is not text in UTF-8, as its first line has a byte 0/],
  [Buffer.from('a,b\0\n1,2\n'), /is not text in UTF-8, as its first line has a byte 0/],
  [utf16('\u0438\u043c\u044f,b\n1,2\n'), /is not text in UTF-8/],
  [Buffer.from('1f9d90', 'hex'), /is compressed by compress: decompress it first/],
  [Buffer.from('04224d1864', 'hex'), /is compressed by lz4: decompress it first/],
  [Buffer.from('377abcaf271c0004', 'hex'), /is a 7z archive: decompress it first/],
  [Buffer.from('Rar!\x1a\x07\x01', 'latin1'), /is a RAR archive: decompress it first/],
  [Buffer.from('\x89HDF\r\n\x1a\n', 'latin1'), /is an HDF5 file: write its table as CSV/],
  [Buffer.from('\x93NUMPY\x01', 'latin1'), /is a NumPy file: write it as CSV/],
  [Buffer.from('Obj\x01'), /is an Avro file/],
  [Buffer.from('8004950a', 'hex'), /is a pickle of Python/],
  [Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), /is a picture \(PNG\)/],
  [Buffer.from('ffd8ffe0', 'hex'), /is a picture \(JPEG\)/],
  [Buffer.from('{\\rtf1\n}'), /is a document \(RTF\)/],
  [Buffer.from('<!DOCTYPE html>\n<html>'), /is HTML: write its table as CSV/],
  [Buffer.from(' \n<table><tr>'), /is HTML: write its table as CSV/],
  [Buffer.from('<?xml version="1.0"?>'), /is XML: write its table as CSV/],
  [Buffer.from('sep=;\na;b\n1;2\n'), /begins with the line sep=;, which is for Excel: remove it/],
];

test('files: what is not a table in UTF-8 is named by its first bytes, with what to do', async () => {
  for (const [args] of [
    [['release', ...seen, '--clip', '5']],
    [['count', ...seen, '--time-column', 'a', '--bucket', 'day']],
    [['histogram', ...seen, '--by', 'a', '--domain', '1,2']],
    [['queries', '--workload', 'identity', '--columns', 'a', '--domain', '1,2', ...seen]],
    [['learn', '--label', 'a', ...seen]],
    [['predict', '--model', model, '--quiet']],
  ]) {
    for (const [bytes, message] of FILES) {
      await fails(args, 2, new RegExp(`the input ${message.source}`), { input: bytes });
    }
  }
  const path = join(folder, 'table.csv');
  for (const [bytes, message] of FILES) {
    writeFileSync(path, bytes);
    await fails(['release', ...seen, '--clip', '5', path], 2, message);
  }
  await fails(['release', ...seen, '--clip', '5', '--format', 'jsonl'], 2, /is a JSON array/, {
    input: '[{"a":1}]',
  });
  const lines = /is JSON on several lines: write one object per line, as by jq -c \.$/;
  await fails(['release', ...seen, '--clip', '5', '--format', 'jsonl'], 2, lines, {
    input: '{\r\n"a":1}',
  });
  // These tables only look like such files.
  for (const input of ['[a],{b}\n1,2\n', 'PK,BZ\n1,2\n', '\ufeffa,b\n1,2\n'])
    await printed(
      ['release', ...seen, '--clip', '5', '--columns', input.split(/[\ufeff,]/).find(Boolean)],
      input,
    );
});

/** Measurements of birds, in millimetres and grams: all far beyond 1. */
const BIRDS = Array.from({ length: 300 }, (_, i) => {
  const isHeavy = (i * 7) % 10 < 4;
  return {
    bill: 40 + (i % 9) + (isHeavy ? 6 : 0),
    mass: 3500 + 40 * (i % 11) + (isHeavy ? 1200 : 0),
    isHeavy,
  };
});
const birds = (labelOf) =>
  `bill,mass,heavy\n${BIRDS.map((bird) => `${bird.bill},${bird.mass},${labelOf(bird.isHeavy)}\n`).join('')}`;
const learn = ['learn', '--label', 'heavy', '--epsilon', '4', '--delta', '1e-5'];

test('labels: yes and no, true and false are 1 and 0 in any case of letters', async () => {
  const numbers = birds(Number);
  for (const [yes, no] of [
    ['yes', 'no'],
    ['Yes', 'No'],
    ['True', 'False'],
    ['TRUE', 'FALSE'],
    ['true', 'false'],
    [' yes ', 'no'],
  ]) {
    const texts = birds((isHeavy) => (isHeavy ? yes : no));
    for (const more of [
      [],
      ['--loss', 'hinge'],
      ['--clip', '1'],
      ['--loss', 'softmax', '--classes', '2'],
    ]) {
      const args = [
        ...learn,
        '--seed',
        '2',
        '--quiet',
        '--columns',
        'bill=30:60,mass=2500:6500',
        '--json',
        ...more,
      ];
      assert.equal(await printed(args, texts), await printed(args, numbers), `${yes} ${more}`);
    }
  }
});

test('labels: other texts, and more than two classes, are refused with what to do', async () => {
  const quiet = [...learn, '--seed', '2', '--quiet', '--columns', '*=0:9000'];
  const place = /row 1 \(line 2\), column "heavy" /;
  const of = (words) => new RegExp(`${place.source}${words}`);
  const names = birds((isHeavy) => (isHeavy ? 'Gentoo' : 'Adelie'));
  await fails(
    quiet,
    2,
    of(
      'is not a class: write the two classes as 0 and 1 \\(no and yes.*--loss softmax --classes K$',
    ),
    { input: names },
  );
  await fails(
    [...quiet, '--loss', 'softmax', '--classes', '3'],
    2,
    of('is not a class: write the classes as 0 to 2$'),
    { input: names },
  );
  await fails(
    [...quiet, '--loss', 'huber'],
    2,
    of('is not a number: classes as labels need --loss logistic, hinge or softmax$'),
    { input: names },
  );
  await fails([...quiet, '--loss', 'huber'], 2, of('is not a number'), {
    input: birds((isHeavy) => (isHeavy ? 'yes' : 'no')),
  });
  const many =
    /row \d+ \(line \d+\): label must be -1, 0 or 1; for more classes give --loss softmax --classes K$/;
  await fails(quiet, 2, many, { input: birds((isHeavy) => (isHeavy ? 2 : 0)) });
  const fraction = /label must be -1, 0 or 1; --loss squared or absolute predicts other numbers$/;
  await fails(quiet, 2, fraction, { input: birds((isHeavy) => (isHeavy ? 0.5 : 0)) });
  // -1 and 0 are two names of one class, never two of three classes.
  for (const rest of ['-1', '0']) {
    const rows = birds((isHeavy) => (isHeavy ? 1 : rest));
    assert.equal((await dpFtrl(quiet, { input: rows })).code, 0);
    const three = rows.replace(new RegExp(`,${rest}\n`), `,${rest === '0' ? -1 : 0}\n`);
    const mixed =
      /label must be 0 or 1 in all rows, or -1 or 1 in all; three classes are 0, 1 and 2/;
    await fails(quiet, 2, mixed, { input: three });
  }
  // A feature that is not a number is not a class.
  await fails(quiet, 2, /column "bill" is not a number; --columns NAME picks columns/, {
    input: birds(Number).replace('\n4', '\nyes'),
  });
  const range = [...learn, '--columns', 'heavy=0:1'];
  await fails(
    range,
    2,
    /ranges in --columns are for features, and "heavy" is the label, which is not scaled: --clip C bounds/,
    { input: birds(Number) },
  );
  const squared = [...learn, '--loss', 'squared', '--columns', '*=0:9000'];
  await fails(
    squared,
    2,
    /--loss squared has unbounded slopes: give --clip; --clip C bounds what a label does/,
    { input: birds(Number) },
  );
});

test('labels: features without a range are named in a warning that survives --quiet', async () => {
  const input = birds(Number);
  const file = join(folder, 'birds.csv');
  writeFileSync(file, input);
  const warning = (names) =>
    new RegExp(
      `warning: without a range, numbers beyond \\[-1, 1\\] count as -1 or 1 in ${names}: the model may be no better than a constant; give each --columns`,
    );
  for (const from of [[file], ['--batch', '10'], ['--no-precondition', file]]) {
    for (const [ranges, names] of [
      [[], '"bill", "mass"'],
      [['--columns', 'bill=30:60,mass'], '"mass"'],
      [['--columns', '*=0:9000'], undefined],
    ]) {
      for (const quiet of [[], ['--quiet']]) {
        const { code, stdout, stderr } = await dpFtrl([...learn, ...ranges, ...quiet, ...from], {
          input,
        });
        assert.equal(code, 0, stderr);
        if (names) assert.match(stderr, warning(names));
        else assert.doesNotMatch(stderr, /without a range/);
        assert.match(stdout, /^weights are for\s+features scaled from their range to \[-1, 1\]$/m);
      }
    }
  }
  // With ranges the model is far better than a constant, and without them no better: 60 % are light.
  const accuracy = async (...more) =>
    JSON.parse(
      (
        await dpFtrl([
          ...learn,
          '--test',
          file,
          '--show-nonprivate',
          '--seed',
          '2',
          '--json',
          ...more,
          file,
        ])
      ).stdout,
    ).test.accuracy;
  assert.ok((await accuracy('--columns', 'bill=30:60,mass=2500:6500')) > 0.9);
  assert.ok((await accuracy()) <= 0.6);
});
