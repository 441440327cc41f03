// SPDX-License-Identifier: Apache-2.0

// Who a person is: one rule in the package and in the command, with and without a stored state. The
// page follows the same rule, tests/browser/persons.test.mjs.

import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';
import { memoryStore } from './support/stores.mjs';
import { CASES, TARGET } from './support/streams.mjs';

const { canonicalNumber, wholeNumber } = await importSource('shared/number.ts');
const { personOfId } = await importSource('shared/person.ts');
const dp = await (await importEntry('dp-ftrl')).load();
const folder = scratchFolder('persons');

/** Spellings of one person when ids are texts; another group is another person. */
const TEXTS = [
  ['7', ' 7', '7 ', '\t7', '\u00a07\u3000'],
  ['7.0'],
  ['007'],
  ['Ann', '  Ann'],
  ['ann'],
  // Characters without a width are characters.
  ['an\u200bn'],
  ['an\u00adn'],
  ['\u200eann'],
  ['\u00e9', 'e\u0301', ' e\u0301 '],
  ['\u1e69', 's\u0323\u0307', 's\u0307\u0323'],
  ['e'],
  ['\uac00', '\u1100\u1161'],
];
/** Ids as numbers. */
const NUMBERS = [
  ['7', '7.0', '007', '+7', '7e0', '7.', '0.7e1', '70e-1', ' 7 '],
  ['-7', '-7.00'],
  ['0', '-0', '0.000', '+0e5'],
  ['7.5', '07.50', '75e-1'],
  // Both are the same double.
  ['12345678901234567890', '12345678901234567890.0', '1.2345678901234567890e19'],
  ['12345678901234567891'],
  ['1e308', '10e307'],
  ['1e-400', '10e-401'],
  ['0.1'],
  ['0.10000000000000001'],
];

test('persons: ids are trimmed texts in normal form C, or exact numbers', () => {
  for (const [groups, areNumbers] of [
    [TEXTS, false],
    [NUMBERS, true],
  ]) {
    const names = groups.map((spellings) => {
      const all = new Set(spellings.map((id) => personOfId(id, areNumbers)));
      assert.equal(all.size, 1, `${spellings}: ${[...all]}`);
      return [...all][0];
    });
    assert.equal(new Set(names).size, groups.length, `${names}`);
    // Reading a name again changes nothing.
    for (const name of names) assert.equal(personOfId(name, areNumbers), name);
  }
  for (const empty of ['', ' ', '\t\u00a0']) {
    assert.deepEqual(
      [false, true].map((areNumbers) => personOfId(empty, areNumbers)),
      ['', ''],
    );
  }
  for (const text of [
    'ann',
    '7a',
    '0x7',
    '1,5',
    'NaN',
    'Infinity',
    '1e',
    '.',
    '+',
    '7 7',
    '1_000',
    // A double holds none of these.
    '1e400',
    '-1e309',
    `1${'0'.repeat(309)}`,
  ]) {
    assert.equal(personOfId(text, true), undefined, text);
  }
});

test('whole numbers: every spelling of one is it, and nothing else is', () => {
  for (const value of [0, 1, 7, 10, 120, 999_999_999_999_999]) {
    const spellings = [
      `${value}`,
      `0${value}`,
      `+${value}`,
      `${value}.0`,
      `${value}.`,
      `${value}e0`,
      `${value}0e-1`,
    ];
    for (const text of spellings) {
      assert.equal(wholeNumber(text), value, text);
      assert.equal(canonicalNumber(text), String(value), text);
      if (!text.startsWith('+')) assert.equal(wholeNumber(`-${text}`), value === 0 ? 0 : -value);
    }
  }
  for (const text of [
    '',
    'a',
    '0.5',
    '1.0000000000000000001',
    '1e-1',
    '1e15',
    '0x1',
    '1,0',
    'one',
    '--1',
  ]) {
    assert.equal(wholeNumber(text), undefined, text);
  }
});

// Active people have no bound, and tests of their own.
const OF_PEOPLE = CASES.filter(({ isOfPeople, kind }) => isOfPeople && kind !== 'active');
for (const { name, kind, options, one } of OF_PEOPLE) {
  const [, ...record] = one(0);
  const own = { ...options, people: 'once' };
  test(`persons: one contribution each, however a name is written (${name})`, () => {
    for (const [groups, numericNames] of [
      [TEXTS, false],
      [NUMBERS, true],
    ]) {
      const stream = dp[kind]({ ...own, numericNames });
      const add = (person) => stream.add(person, ...record);
      const [last, ...others] = groups.toReversed();
      for (const [first] of others) add(first);
      stream.end();
      assert.equal(stream.dropped, 0);
      // In the next step they do not count again, but whoever is new does.
      const again = others.flat();
      again.forEach(add);
      add(last[0]);
      assert.equal(stream.dropped, again.length);
      stream.dispose();
    }
  });

  test(`persons: a stream in a store reads names as before (${name})`, async () => {
    for (const numericNames of [false, true]) {
      for (const isReleased of [false, true]) {
        const open = { ...own, numericNames, store: memoryStore() };
        const first = await dp[kind](open);
        await first.add('7', ...record);
        if (isReleased) await first.end();
        await first.dispose();
        const second = await dp[kind](open);
        await second.end();
        await second.add('7', ...record);
        await second.add('7.0', ...record);
        assert.equal(second.dropped, numericNames ? 2 : 1);
        await second.dispose();
      }
    }
  });
}

test('persons: a name of nobody is refused, and nothing of the call counts', () => {
  for (const [numericNames, person, message] of [
    [false, '', /people\[1\] must be a name, not an empty text, got ""/],
    [false, ' \t', /people\[1\] must be a name, not an empty text/],
    [true, '', /people\[1\] must be a name, not an empty text/],
    [true, 'ann', /people\[1\] must be a decimal number, as with numericNames, got "ann"/],
    [false, 'a\ud800', /people\[1\] must be well-formed text, got/],
    [false, '\u00e9'.repeat(501), /people\[1\] must be a text of at most 1000 bytes, got/],
  ]) {
    const stream = dp.counter({ ...TARGET, people: 'once', numericNames });
    const act = () => stream.addMany(['1', person], [1, 1]);
    assert.throws(act, { code: 'invalid_argument', message });
    stream.add('1');
    assert.equal(stream.dropped, 0);
    stream.dispose();
  }
});

const ids = 'id,x\n7,1\n7.0,1\n007,1\n';
const seen = ['--epsilon', '1', '--delta', '1e-6', '--seed', '1', '--quiet'];
const byId = ['--user-column', 'id', '--max-contributions', '1'];
const release = ['release', ...seen, '--clip', '1', '--columns', 'x', ...byId];

async function rowsOf(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return parse(stdout, { columns: true, cast: true });
}

test('persons: ids of the command are numbers only with --user-numbers', async () => {
  const last = async (...more) =>
    (await rowsOf([...release, '--show-nonprivate', ...more], ids)).at(-1).x_true;
  assert.equal(await last(), 3);
  assert.equal(await last('--user-numbers'), 1);
  for (const [groups, more] of [
    [TEXTS, []],
    [NUMBERS, ['--user-numbers']],
  ]) {
    const table = (list) => `id,x\n${list.map((id) => `"${id}",1\n`).join('')}`;
    const run = [...release, '--show-nonprivate', ...more];
    const all = groups.flat();
    assert.equal((await rowsOf(run, table(all))).at(-1).x_true, groups.length);
    assert.equal((await rowsOf(run, table(all.toReversed()))).at(-1).x_true, groups.length);
  }
});

test('persons: with --decimal comma, ids have decimal commas, and a point is refused', async () => {
  const table = 'id;x\n7;1\n7,0;1\n007;1\n0,7e1;1\n8;1\n';
  const args = [...release, '--show-nonprivate', '--decimal', 'comma'];
  const last = async (...more) => (await rowsOf([...args, ...more], table)).at(-1).x_true;
  assert.equal(await last(), 5);
  assert.equal(await last('--user-numbers'), 2);
  const pointed =
    /row 2 \(line 3\), column "id" is not a number: it has a point, despite --decimal/;
  await fails([...args, '--user-numbers'], 2, pointed, { input: table.replace('7,0', '7.000') });
});

test('persons: every command with --user-column follows the rule', async () => {
  const table = 'id,x,t,c\n7,1,2026-01-01,a\n7.0,1,2026-01-01,a\n007,1,2026-01-02,a\n';
  const one = 'id,x,t,c\n7,1,2026-01-01,a\n7,1,2026-01-01,a\n7,1,2026-01-02,a\n';
  const days = [
    '--time-column',
    't',
    '--bucket',
    'day',
    '--from',
    '2026-01-01',
    '--to',
    '2026-01-02',
  ];
  const histogram = [...seen.toSpliced(2, 2), '--columns', 'c', '--domain', 'a,b', ...byId];
  for (const args of [
    release,
    [...release, ...days],
    ['count', ...seen, ...days, ...byId],
    ['moments', ...seen, '--columns', 'x=0:2', ...byId],
    ['moments', ...seen, '--columns', 'x=0:2', ...byId, ...days],
    ['histogram', ...seen, '--by', 'c', '--domain', 'a,b', ...byId, ...days],
    ['queries', '--workload', 'identity', '--delta', '1e-6', ...histogram],
    ['choose', '--winner', ...histogram],
  ]) {
    const numbers = [...args, '--user-numbers'];
    assert.deepEqual(await rowsOf(numbers, table), await rowsOf(args, one), args.join(' '));
    if (args[0] !== 'choose')
      assert.notDeepEqual(await rowsOf(args, table), await rowsOf(args, one));
    const bad = /row 2 \(line 3\), column "id" is not a number, despite --user-numbers/;
    await fails(numbers, 2, bad, { input: table.replace('7.0', 'ann') });
    const empty = /row 2 \(line 3\), column "id" is empty/;
    for (const each of [args, numbers])
      await fails(each, 2, empty, { input: table.replace('7.0', ' ') });
    const long = /row 2 \(line 3\), column "id" must be a text of at most 1000 bytes/;
    await fails(args, 2, long, { input: table.replace('7.0', '\u00e9'.repeat(501)) });
    const stray = args.slice(0, args.indexOf('--user-column'));
    await fails(
      [...stray, ...args.slice(stray.length + byId.length), '--user-numbers'],
      2,
      /--user-numbers needs --user-column/,
      { input: table },
    );
  }
});

test('persons: an id that cannot be a name costs nothing and shows nothing', async () => {
  const budget = join(folder, 'ids.json');
  const limit = ['--budget', budget, '--budget-epsilon', '2', '--budget-delta', '1e-5'];
  const options = release.toSpliced(release.indexOf('--seed'), 2);
  for (const [name, id, what] of [
    ['long.csv', 'y'.repeat(1001), 'must be a text of at most 1000 bytes'],
    ['half.jsonl', String.raw`\ud83d`, 'must be well-formed text'],
  ]) {
    const file = join(folder, name);
    const rows = [1, 2, 3].map((i) =>
      name.endsWith('.csv') ? `${i === 3 ? id : i},1` : `{"id":"${i === 3 ? id : i}","x":1}`,
    );
    writeFileSync(file, `${[...(name.endsWith('.csv') ? ['id,x'] : []), ...rows].join('\n')}\n`);
    const { code, stdout, stderr } = await dpFtrl([...options, ...limit, file]);
    assert.equal(code, 2);
    assert.equal(stdout, '');
    assert.match(stderr, new RegExp(`row 3 \\(line \\d\\), column "id" ${what}\\n$`));
    assert.equal(existsSync(budget), false);
  }
});

test('persons: ids that look missing are named in one warning, unless --na makes them missing', async () => {
  const days = ['--time-column', 't', '--bucket', 'day'];
  const range = ['--from', '2026-01-01', '--to', '2026-01-01'];
  const choice = ['--columns', 'c', '--domain', 'a,b', ...byId];
  const commands = [
    release,
    [...release, ...days, ...range],
    ['count', ...seen, ...days, ...range, ...byId],
    ['moments', ...seen, '--columns', 'x=0:2', ...byId],
    ['histogram', ...seen, '--by', 'c', '--domain', 'a,b', ...byId, ...days, ...range],
    ['queries', '--workload', 'identity', ...choice, ...seen],
    ['choose', '--winner', ...choice, '--epsilon', '1', '--quiet'],
  ];
  const table = (list) => `id,x,t,c\n${list.map((id) => `"${id}",1,2026-01-01,a\n`).join('')}`;
  const warnings = async (args, list) => {
    const { code, stderr } = await dpFtrl(args, { input: table(list) });
    assert.equal(code, 0, stderr);
    return stderr
      .split('\n')
      .filter((line) => line.includes('column "id"'))
      .map((line) => line.replace(/^dp-ftrl [a-z]+: warning: /, ''));
  };
  const SUGGESTED = 'NA,NaN,null,-';
  for (const args of commands) {
    const text = args.join(' ');
    assert.deepEqual(
      await warnings(args, ['ann', 'nan', ' NaN ', 'nan', 'None']),
      [
        'column "id": the ids "nan", "NaN" and "None", which often stand for missing ones, are one ' +
          `person each; if they are missing, --missing skip --na ${SUGGESTED},nan,None leaves out such rows`,
      ],
      text,
    );
    assert.deepEqual(await warnings(args, ['ann', 'nancy', 'na-1', '0', 'bob']), [], text);
    const skip = ['--missing', 'skip', '--na'];
    const one = ['NaN', 'ann', 'NaN'];
    assert.deepEqual(await warnings([...args, ...skip, 'NaN'], one), [], text);
    assert.deepEqual(
      await warnings([...args, ...skip, 'NaN,x'], [...one, 'null']),
      [
        'column "id": the id "null", which often stands for a missing one, is one person; if they ' +
          'are missing, --na NaN,x,null leaves out such rows',
      ],
      text,
    );
  }
  for (const id of 'NA N/A nan NULL nil NaT <NA> #N/A (null) \\N - -- ? .'.split(' '))
    assert.equal((await warnings(release, ['ann', id])).length, 1, id);
  const numbers = [...release, '--user-numbers'];
  await fails(
    numbers,
    2,
    /not a number, despite --user-numbers; if .* --missing skip --na NA,NaN/,
    {
      input: table(['7', 'NaN']),
    },
  );
  await fails(numbers, 2, /column "id" is beyond the largest number, 1\.8e308$/, {
    input: table(['7', '1e400']),
  });
});

test('persons: a state keeps how ids are read, and a budget tells the units apart', async () => {
  const row = (id, day = 1) => `id,x,t\n${id},1,2026-01-0${day}\n`;
  const days = ['--time-column', 't', '--bucket', 'day'];
  for (const more of [[], days]) {
    for (const [first, other, said] of [
      [[], ['--user-numbers'], 'it was begun without --user-numbers$'],
      [['--user-numbers'], [], 'it was begun with --user-numbers, this run has none$'],
    ]) {
      const path = join(folder, `${more.length}-${first.length}.state`);
      const run = [...release, ...more, '--steps', '5', '--state', path];
      await rowsOf([...run, ...first], row('007'));
      await fails([...run, ...other], 2, new RegExp(`--state .*: ${said}`), { input: row('7', 2) });
      // Whether the second spelling counts again shows in the difference of two totals.
      const rows = [...(await rowsOf([...run, ...first], row('7.0', 2)))];
      const same = join(folder, `${more.length}-${first.length}-same.state`);
      const twice = [...release, ...more, '--steps', '5', '--state', same, ...first];
      await rowsOf(twice, row('007'));
      const wanted = await rowsOf(twice, row(first.length > 0 ? '007' : 'new', 2));
      assert.deepEqual(rows, wanted);
    }
  }
  const budget = join(folder, 'budget.json');
  const paid = ['--budget', budget, '--budget-epsilon', '9', '--budget-delta', '1e-5'];
  const bare = release.toSpliced(release.indexOf('--seed'), 2);
  await rowsOf([...bare, ...paid], ids);
  await fails(
    [...bare, ...paid, '--user-numbers'],
    2,
    /protects "one person \(column \\"id\\", read as numbers\)"; they do not add up/,
    { input: ids },
  );
  assert.match(readFileSync(budget, 'utf8'), /one person \(column \\"id\\"\)/);
});
