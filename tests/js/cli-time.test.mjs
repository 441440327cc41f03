// SPDX-License-Identifier: Apache-2.0

// Times in every command that takes them: zones, hints about formats, sorting, first and last
// buckets, and rows far from all others. Buckets themselves are checked by time-zones.test.mjs.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';
import { generator } from './support/sources.mjs';

const folder = scratchFolder('time');
const write = writerIn(folder);
const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const timed = (bucket, ...more) => ['--time-column', 't', '--bucket', bucket, ...more];
const table = (cells) => `t\n${cells.map((cell) => `"${cell}"\n`).join('')}`;
const BUCKETS = ['minute', 'hour', 'day', 'week', 'month', 'year'];

/** Every command that takes times, for a table with columns t, v and c. */
const commands = {
  count: ['count', ...privacy],
  release: ['release', ...privacy, '--clip', '1', '--columns', 'v'],
  stack: [
    'release',
    ...privacy,
    '--clip',
    '1',
    '--columns',
    'v',
    '--workloads',
    'all=prefix,last=window:2',
  ],
  pure: ['release', '--pure', '--epsilon', '1', '--clip', '1', '--count'],
  moments: ['moments', ...privacy, '--columns', 'v=0:1'],
  histogram: ['histogram', ...privacy, '--by', 'c', '--domain', 'x,y'],
};

async function ran(args, input) {
  const result = await dpFtrl(args, { input });
  assert.equal(result.code, 0, result.stderr);
  return result;
}

/** True counts by bucket. */
async function counts(bucket, cells, ...more) {
  const args = [
    'count',
    ...privacy,
    ...timed(bucket),
    '--seed',
    '1',
    '--quiet',
    '--show-nonprivate',
    ...more,
  ];
  const { stdout } = await ran(args, table(cells));
  const [, ...lines] = stdout.trimEnd().split('\n');
  return lines.map((line) => line.split(',')).map((it) => [it[0], Number(it[3])]);
}

const berlin = ['--time-zone', 'Europe/Berlin'];

test('zones: days and hours are those of the zone, with offsets in the data or without', async () => {
  const cells = [
    '2026-03-01T00:30:00+01:00',
    '2026-03-29T03:30:00+02:00',
    '2026-10-25T02:30:00+01:00',
  ];
  const range = ['--from', '2026-03-01', '--to', '2026-10-25'];
  const days = await counts('day', cells, ...berlin, ...range);
  assert.equal(days.length, 239);
  assert.deepEqual(
    days.filter(([, count]) => count > 0),
    [
      ['2026-03-01', 1],
      ['2026-03-29', 1],
      ['2026-10-25', 1],
    ],
  );
  assert.deepEqual((await counts('day', cells.slice(0, 1)))[0], ['2026-02-28', 1]);
  const repeated = [
    '2026-10-25 01:59',
    '2026-10-25T02:30:00+02:00',
    '2026-10-25 02:30 +01:00',
    '2026-10-25 03:00',
  ];
  assert.deepEqual(await counts('hour', repeated, ...berlin), [
    ['2026-10-25T01:00+02:00', 1],
    ['2026-10-25T02:00+02:00', 1],
    ['2026-10-25T02:00+01:00', 1],
    ['2026-10-25T03:00+01:00', 1],
  ]);
  assert.deepEqual(await counts('hour', ['2026-03-29 01:59', '2026-03-29 03:00'], ...berlin), [
    ['2026-03-29T01:00+01:00', 1],
    ['2026-03-29T03:00+02:00', 1],
  ]);
  assert.equal(
    (await counts('hour', [], ...berlin, '--from', '2026-03-29', '--to', '2026-03-29 23:00'))
      .length,
    23,
  );
  assert.equal(
    (await counts('hour', [], ...berlin, '--from', '2026-10-25', '--to', '2026-10-25 23:00'))
      .length,
    25,
  );
  const skipped =
    /row 2 \(line 3\), column "t" is skipped by the clocks of Europe\/Berlin; --time-zone says whose/;
  const args = ['count', ...privacy, ...timed('day'), ...berlin];
  await fails(args, 2, skipped, { input: table(['2026-03-29 01:00', '2026-03-29 02:30']) });
  await fails(
    [...args, '--from', '2026-03-29 02:30'],
    2,
    /--from must be one day: .* is skipped by the clocks/,
    {
      input: table(['2026-04-01']),
    },
  );
});

test('zones: every command names the zone in its guarantee, header, picture and JSON', async () => {
  const rows = ['2026-03-01 23:30Z', '2026-03-03 01:00Z'].map((time) => `"${time}",1,x\n`);
  const input = `t,v,c\n${rows.join('')}`;
  for (const [name, command] of Object.entries(commands)) {
    for (const [zone, option, first] of [
      ['UTC', [], '2026-03-01'],
      ['UTC', ['--time-zone', 'utc'], '2026-03-01'],
      ['Europe/Berlin', berlin, '2026-03-02'],
    ]) {
      const plot = join(folder, `${name}.html`);
      const args = [...command, ...timed('day'), ...option, '--plot', plot];
      const { stdout, stderr } = await ran(args, input);
      const words = zone.replace('/', '\\/');
      assert.match(
        stderr,
        new RegExp(`horizon \\d days in ${words} \\(the first and the last day are public\\)`),
        name,
      );
      const header = stdout.split('\n')[0].split(',');
      assert.ok(header.includes(option.length === 0 ? 't' : `t (${zone})`), `${name}: ${header}`);
      assert.ok(stdout.includes(first), name);
      const picture = readFileSync(plot, 'utf8');
      assert.ok(picture.includes(`${name === 'count' ? 'day' : 't'} (${zone})</text>`), name);
      assert.match(picture, new RegExp(`<p>[^<]*days in ${words}`), name);
      const { stdout: json } = await ran(
        [...command, ...timed('day'), ...option, '--json', '--quiet'],
        input,
      );
      const found = JSON.parse(json);
      assert.equal(found.timeZone, zone);
      assert.equal(found.rows[0].time, first);
    }
  }
});

test('zones: an unknown one is refused with a suggestion, and one without times, too', async () => {
  const input = table(['2026-03-01']);
  const count = ['count', ...privacy, ...timed('day')];
  for (const [zone, message] of [
    ['Berlin', /--time-zone "Berlin" is not the name of a zone: did you mean Europe\/Berlin\?/],
    ['Europe/Berln', /did you mean Europe\/Berlin\?/],
    ['CST', /--time-zone "CST" is not the name of a zone: several zones share an abbreviation/],
    ['', /--time-zone "" is not the name of a zone/],
  ]) {
    await fails([...count, '--time-zone', zone], 2, message, { input });
  }
  const release = [...commands.release, '--quiet'];
  await fails([...release, '--time-zone', 'UTC'], 2, /--time-zone needs --time-column/, {
    input: 'v\n1\n',
  });
  await fails([...release, '--sort'], 2, /--sort needs --time-column/, { input: 'v\n1\n' });
});

test('zones: a state keeps its zone and continues it over moved clocks', async () => {
  const cells = [
    '2026-10-25 00:10+02:00',
    '2026-10-25 02:10+02:00',
    '2026-10-25 02:10+01:00',
    '2026-10-25 05:10+01:00',
  ];
  const rows = (some) => `t,v\n${some.map((time) => `${time},1\n`).join('')}`;
  const release = [...commands.release, ...timed('hour'), '--steps', '8', '--seed', '3', '--quiet'];
  const { stdout: whole } = await ran([...release, ...berlin], rows(cells));
  for (let cut = 1; cut < cells.length; ++cut) {
    const state = ['--state', join(folder, `zone-${cut}`)];
    const first = await ran([...release, ...berlin, ...state], rows(cells.slice(0, cut)));
    await fails(
      [...release, ...state],
      2,
      /begun with --time-zone Europe\/Berlin, this run has --time-zone UTC/,
      {
        input: rows(cells),
      },
    );
    const second = await ran([...release, ...berlin, ...state], rows(cells.slice(cut)));
    const lines = (text) =>
      text
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => line.split(',')[1]);
    assert.deepEqual([...lines(first.stdout), ...lines(second.stdout)], lines(whole));
  }
});

test('years and months are counted by fitting buckets, and --from and --to are read likewise', async () => {
  assert.deepEqual(await counts('year', ['2019', '2020', '2021']), [
    ['2019', 1],
    ['2020', 1],
    ['2021', 1],
  ]);
  assert.deepEqual(
    await counts('year', ['2019-05', '2019', 'Jan 1 2020'], '--from', '2018', '--to', '2021'),
    [
      ...[
        ['2018', 0],
        ['2019', 2],
        ['2020', 1],
        ['2021', 0],
      ],
    ],
  );
  assert.deepEqual(
    await counts('month', ['2019-05', 'Jul 2019'], '--to', '2019-07', '--from', '2019-05'),
    [
      ...[
        ['2019-05', 1],
        ['2019-06', 0],
        ['2019-07', 1],
      ],
    ],
  );
  assert.deepEqual(
    await counts('day', [
      '2015/01/01 01:00:00',
      '2015-01-02 01:00:00 UTC',
      'Jan 3 2015',
      '4-Jan-2015',
    ]),
    [
      ...[
        ['2015-01-01', 1],
        ['2015-01-02', 1],
        ['2015-01-03', 1],
        ['2015-01-04', 1],
      ],
    ],
  );
  const refused = (bucket, cell, message, ...more) =>
    fails(['count', ...privacy, ...timed(bucket), ...more], 2, message, { input: table([cell]) });
  await refused(
    'day',
    '2019',
    /row 1 \(line 2\), column "t" is a year without a month: give --bucket year$/,
  );
  await refused(
    'week',
    '2019-05',
    /column "t" is a month without a day: give --bucket month or year$/,
  );
  await refused(
    'month',
    '2019-05',
    /--from must be one month: 2019 is a year without a month$/,
    '--from',
    '2019',
  );
  await refused('day', '2019-05-01', /--from must be a date such as .*, got "1"/, '--from', '1');
});

/** Columns of real tables, with the formats that read them. */
const columns = {
  year: [['2019', '2020', '2021'], []],
  'two-digit year': [['19', '20', '21'], []],
  id: [['1', '2', '3'], []],
  'id of six digits': [['104211', '104212', '104213'], []],
  'post code': [['10115', '80331', '20095'], []],
  amount: [['12.50', '99.95', '1000.00'], []],
  negative: [['-5', '17', '3'], []],
  phone: [['+49 30 123456', '030/123456', '030-123456'], []],
  text: [['soon', 'later', 'never'], []],
  ratio: [['1/2', '3/4', '5/6'], []],
  version: [['1.2.2020.1', '1.2.2020.2', '1.2.2020.3'], []],
  time: [['12:30', '12:45', '13:00'], []],
  'old date': [['03/04/1950', '05/04/1950', '06/04/1950'], []],
  seconds: [['1772355600', '1772359200', '1772362800'], ['seconds']],
  'seconds with fractions': [['1772355600.25', '1772359200.5', '1772362800.75'], ['seconds']],
  milliseconds: [['1772355600000', '1772359200000', '1772362800000'], ['milliseconds']],
  microseconds: [['1772355600000000', '1772359200000000', '1772362800000000'], []],
  'day first': [['03/04/2026', '13/04/2026', '14/04/2026'], ['day-month-year']],
  'month first': [['03/04/2026', '03/14/2026', '03/15/2026'], ['month-day-year']],
  'day or month first': [
    ['03/04/2026', '03/05/2026', '03/06/2026'],
    ['day-month-year', 'month-day-year'],
  ],
  german: [['31.12.2026', '31.12.2026 18:30', '31.12.2026 18:31:02'], ['day-month-year']],
  american: [
    ['12/30/2026 6:30 PM', '12/31/2026 6:30 AM', '12/31/2026 6:30 PM'],
    ['month-day-year'],
  ],
  log: [
    ['31/Dec/2026:18:30:00 +0000', '31/Dec/2026:18:30:01 +0000', '[31/Dec/2026:18:30:02 +0000]'],
    ['log'],
  ],
};

test('hints: a format is only suggested if it reads all rows as times between 1973 and 2100', async () => {
  const hinted = /--time-format (.*) would read it$/m;
  for (const [name, [cells, formats]] of Object.entries(columns)) {
    for (const bucket of some(BUCKETS, 2)) {
      const args = ['count', ...privacy, ...timed(bucket), '--strategy', 'blt'];
      const { code, stderr } = await dpFtrl(args, { input: table(cells) });
      if (code === 0) {
        assert.ok(name === 'year' && bucket === 'year', `${name}: ${stderr}`);
        continue;
      }
      const hints = hinted.exec(stderr)?.[1].split(' or ') ?? [];
      assert.deepEqual(hints, formats, `${name}, ${bucket}: ${stderr}`);
      for (const format of hints) {
        const { stdout, stderr: said } = await ran(
          [...args, '--time-format', format],
          table(cells),
        );
        for (const line of stdout.trimEnd().split('\n').slice(1)) {
          assert.ok(line >= '1973' && line < '2101', `${name} by ${format}: ${line}`);
        }
        assert.doesNotMatch(said, /lie in 1969/);
      }
    }
  }
});

test('hints: numbers that are no times are warned of, and milliseconds and seconds are not confused', async () => {
  const warned =
    /warning: all rows lie in 1969 or 1970: column "t" may hold other numbers than --time-format says/;
  const rows = (cells) => `t,v,c\n${cells.map((cell) => `${cell},1,x\n`).join('')}`;
  for (const [name, command] of Object.entries(commands)) {
    for (const format of ['seconds', 'milliseconds']) {
      for (const zone of ['UTC', 'America/New_York', 'Asia/Tokyo']) {
        const args = [...command, ...timed('day'), '--time-format', format, '--time-zone', zone];
        const { stderr } = await ran(args, rows(['2019', '2020', '2021']));
        assert.match(stderr, warned, `${name}, ${format}, ${zone}`);
      }
    }
    const args = [...command, ...timed('day'), '--time-format', 'seconds'];
    assert.doesNotMatch((await ran(args, rows(['1772355600']))).stderr, warned);
    assert.doesNotMatch(
      (await ran(['count', ...privacy, ...timed('day')], rows(['1970-01-01']))).stderr,
      warned,
    );
  }
  const stream = [...commands.release, ...timed('day'), '--time-format', 'seconds', '--steps', '3'];
  assert.match((await ran(stream, rows(['2019']))).stderr, warned);
  const swapped = (format, cell, message) =>
    fails(['count', ...privacy, ...timed('day'), '--time-format', format], 2, message, {
      input: table([cell]),
    });
  for (const cell of ['1772355600', '100000000', '4102444799', '1772355600.5']) {
    await swapped(
      'milliseconds',
      cell,
      /must be milliseconds since 1970 .*; --time-format seconds would read it$/,
    );
  }
  for (const cell of ['1772355600000', '100000000000', '4102444799999']) {
    await swapped(
      'seconds',
      cell,
      /must be seconds since 1970 .*; --time-format milliseconds would read it$/,
    );
  }
});

test('--sort: in every command, rows in any order give what they give in order', async () => {
  const random = generator(11);
  const rows = Array.from({ length: 200 }, (_, k) => {
    const time = new Date(Date.UTC(2026, 9, 24) + k * 900_000).toISOString().slice(0, 19);
    return { t: `${time}Z`, v: String(k % 2), c: k % 3 === 0 ? 'x' : 'y' };
  });
  const csv = (some) => `v,t,c\n${some.map(({ t, v, c }) => `${v},${t},${c}\n`).join('')}`;
  const shuffled = rows
    .map((row) => [random(), row])
    .sort(([a], [b]) => a - b)
    .map(([, row]) => row);
  const file = write('shuffled.csv', csv(shuffled));
  for (const [name, command] of Object.entries(commands)) {
    for (const zone of [[], berlin, ['--time-zone', 'America/St_Johns']]) {
      const args = [...command, ...timed('hour'), ...zone, '--seed', '6', '--quiet'];
      const { stdout } = await ran(args, csv(rows));
      assert.equal((await ran([...args, '--sort'], csv(shuffled))).stdout, stdout, name);
      assert.equal((await ran([...args, '--sort', file])).stdout, stdout, name);
      const range = ['--from', '2026-10-23', '--to', '2026-10-27'];
      const declared = await ran([...args, ...range], csv(rows));
      assert.equal(
        (await ran([...args, ...range, '--sort'], csv(shuffled))).stdout,
        declared.stdout,
        name,
      );
    }
    const late =
      /is in an earlier hour than the row above it: rows must be in time order; --sort sorts them$/;
    await fails([...command, ...timed('hour'), '--quiet'], 2, late, { input: csv(shuffled) });
  }
});

test('--sort: with --state the rows of a run are sorted, and columns keep the order of the first run', async () => {
  const release = [
    'release',
    ...privacy,
    '--clip',
    '9',
    ...timed('day'),
    '--steps',
    '4',
    '--seed',
    '2',
    '--quiet',
  ];
  const two = ['--columns', 'v', '--columns', 'w'];
  const { stdout } = await ran(
    [...release, ...two],
    't,v,w\n2026-01-01,1,0\n2026-01-02,2,0\n2026-01-03,3,0\n2026-01-04,4,0\n',
  );
  const state = ['--state', join(folder, 'sorted'), '--sort'];
  const first = await ran(
    [...release, ...two, ...state],
    't,v,w\n2026-01-02,2,0\n2026-01-01,1,0\n',
  );
  const swapped = ['--columns', 'w', '--columns', 'v'];
  const second = await ran(
    [...release, ...swapped, ...state],
    't,w,v\n2026-01-04,0,4\n2026-01-03,0,3\n',
  );
  const lines = (text) => text.trimEnd().split('\n').slice(1);
  assert.deepEqual([...lines(first.stdout), ...lines(second.stdout)], lines(stdout));
});

test('edges: every command says that first and last buckets taken from the data are not hidden', async () => {
  const input = 't,v,c\n2026-03-01,1,x\n2026-03-02,0,y\n';
  const both =
    /warning: the first and the last day printed depend on the data \(give --from and --to to hide that\)/;
  const last = /warning: the last day printed depends on the data/;
  for (const [name, command] of Object.entries(commands)) {
    const plot = join(folder, `edges-${name}.html`);
    const args = [...command, ...timed('day')];
    assert.match((await ran([...args, '--plot', plot], input)).stderr, both, name);
    assert.match(
      readFileSync(plot, 'utf8'),
      /The first and the last day printed depend on the data/,
      name,
    );
    assert.match((await ran([...args, '--from', '2026-03-01'], input)).stderr, last, name);
    const range = ['--from', '2026-03-01', '--to', '2026-03-03'];
    assert.doesNotMatch(
      (await ran([...args, ...range], input)).stderr,
      /depends? on the data/,
      name,
    );
    assert.doesNotMatch(
      (await ran([...args, '--quiet'], input)).stderr,
      /depends? on the data/,
      name,
    );
  }
});

test('span: one row of 1970 or 9999 is named at once, with its neighbour and the horizon, for every bucket', async () => {
  const exact = ['2026-03-01', '9999-12-31'];
  const sentinel =
    /row 2 \(line 3\), column "t" is 2,912,383 days after row 1 \(line 2\), so that there would be 2,912,384 days: correct or remove the wrong one, or give --from and --to$/;
  await fails(['count', ...privacy, ...timed('day')], 2, sentinel, { input: table(exact) });
  const days = Array.from({ length: 300 }, (_, k) =>
    new Date(Date.UTC(2025, 0, 1 + k)).toISOString().slice(0, 10),
  );
  const cases = {
    'at the end': [[...days, '9999-12-31'], /row 301 \(line 302\).* after row 300 \(line 301\)/],
    'at the beginning': [['1900-01-01', ...days], /row 2 \(line 3\).* after row 1 \(line 2\)/],
    'on both sides': [
      ['1900-01-01', ...days, '9999-12-31'],
      /row 302 \(line 303\).* after row 301 \(line 302\)/,
    ],
  };
  const input = (times) => `t,v,c\n${times.map((time) => `${time},1,x\n`).join('')}`;
  for (const [what, [times, message]] of Object.entries(cases)) {
    for (const bucket of BUCKETS) {
      for (const command of some(Object.values(commands), 3)) {
        const start = performance.now();
        const { stderr } = await fails([...command, ...timed(bucket)], 2, message, {
          input: input(times),
        });
        assert.match(
          stderr,
          new RegExp(`there would be [\\d,]+ ${bucket}s: .* --from and --to`),
          what,
        );
        assert.doesNotMatch(stderr, /1900|9999|2025/, 'no cell is shown');
        // This once took 100 s.
        assert.ok(performance.now() - start < 30_000, `${what}, ${bucket}`);
      }
    }
  }
  // Anywhere else it is out of order, and the message says how far.
  const inside =
    /row 302 \(line 303\), column "t" is [\d,]+ days before the row above it, so that one of them may be wrong: rows must/;
  await fails(['count', ...privacy, ...timed('day')], 2, inside, {
    input: input([...days, '9999-12-31', '2025-12-01']),
  });
  const early = input(['1970-01-01', ...days]);
  for (const bucket of ['minute', 'hour', 'day', 'week', 'month']) {
    await fails(['count', ...privacy, ...timed(bucket)], 2, /row 2 \(line 3\)/, { input: early });
    const from = ['--from', '1970-01-01'];
    const late = /row 1 \(line 2\), column "t" is [\d,]+ \w+s after --from/;
    await fails(['count', ...privacy, ...timed(bucket), ...from], 2, late, { input: input(days) });
  }
  // Rows that are read again are sorted or kept, and keep their numbers.
  const sorted = /row 301 \(line 302\).* after row 300/;
  await fails(['count', ...privacy, ...timed('day'), '--sort'], 2, sorted, {
    input: input([...days, '9999-12-31']),
  });
  const declared = ['--from', '2025-01-01', '--to', '2025-12-31'];
  // A given range leaves such a row out.
  const { stdout } = await ran(
    ['count', ...privacy, ...timed('day'), ...declared],
    input([...days, '9999-12-31']),
  );
  assert.equal(stdout.trim().split('\n').length, 1 + 365);
});

test('span: tables with gaps that occur in practice are released', async () => {
  const at = (...offsets) =>
    offsets.map((day) =>
      new Date(Date.UTC(2020, 0, 1) + day * 86_400_000).toISOString().slice(0, 16),
    );
  for (const [bucket, times] of [
    ['minute', at(0, 0.01, 4, 4.01)],
    ['minute', at(0, 20)],
    ['hour', at(0, 1, 300, 301)],
    ['day', at(0, 1, 2000, 3000)],
    ['week', at(0, 3650)],
    ['month', at(0, 9000)],
    ['year', ['1900', '1990', '2020']],
  ]) {
    const args = ['count', ...privacy, ...timed(bucket), '--quiet', '--strategy', 'blt'];
    assert.ok((await ran(args, table(times))).stdout.split('\n').length > 2, bucket);
  }
  const sparse = Array.from({ length: 300 }, (_, k) =>
    new Date(Date.UTC(2020, 0, 1) + k * 36_000_000).toISOString(),
  );
  const message =
    /row 300 \(line 301\).* is 179,400 minutes after row 1 \(line 2\), so that there would be 179,401 minutes/;
  await fails(['count', ...privacy, ...timed('minute')], 2, message, { input: table(sparse) });
});
