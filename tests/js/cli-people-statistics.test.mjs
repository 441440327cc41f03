// SPDX-License-Identifier: Apache-2.0

// dp-ftrl moments and histogram for people: the output equals what the library releases.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const privacy = ['--epsilon', '1', '--delta', '1e-6', '--strategy', 'tree', '--seed', '4'];
const people = ['--user-column', 'who', '--max-contributions', '3', '--min-separation', '2'];
const daily = [
  '--time-column',
  'when',
  '--bucket',
  'day',
  '--from',
  '2026-03-01',
  '--to',
  '2026-03-12',
];
const target = { epsilon: 1, delta: 1e-6, strategy: 'tree', insecureSeed: 4 };
const bound = { times: 3, apart: 2 };

const random = generator(6);
const rows = Array.from({ length: 60 }, () => ({
  step: Math.floor(12 * random()),
  who: `p${Math.floor(5 * random())}`,
  minutes: Math.floor(140 * random()),
  room: ['hall', 'pool', 'bar'][Math.floor(3 * random())],
})).sort((a, b) => a.step - b.step);
const when = (step) => `2026-03-${String(step + 1).padStart(2, '0')}`;
const csv = (some) =>
  `when,who,minutes,room\n${some.map((it) => `${when(it.step)},${it.who},${it.minutes},${it.room}\n`).join('')}`;
const input = csv(rows);

const commands = [
  {
    args: ['moments', ...privacy, '--columns', 'minutes=0:120'],
    make: (options) => dp.moments({ ...options, columns: { minutes: [0, 120] } }),
    record: ({ minutes }) => ({ minutes }),
    cells: ({ count, mean, variance }) => [[count, mean.minutes, variance.minutes]],
  },
  {
    args: ['histogram', ...privacy, '--by', 'room', '--domain', 'hall,pool', '--other'],
    make: (options) => dp.histogram({ ...options, categories: ['hall', 'pool'], other: 'other' }),
    record: ({ room }) => room,
    cells: ({ count, share, total }) =>
      ['hall', 'pool', 'other'].map((room) => [count[room], share[room], total]),
  },
];

/** Numbers in each line of the output. */
function numbersOf(stdout, _kind) {
  const others = ['step', 'time', 'when', 'room'];
  return parse(stdout, { columns: true }).map((line) =>
    Object.entries(line).flatMap(([name, cell]) => (others.includes(name) ? [] : [Number(cell)])),
  );
}

const expectedOf = (readings, cells) =>
  readings.flatMap((reading) =>
    cells(reading).map((line) => line.flatMap(({ value, low, high }) => [value, low, high])),
  );

test('persons: daily moments and histograms equal those of the library, bit for bit', async () => {
  for (const { args, make, record, cells } of commands) {
    for (const neighbours of ['zero-out', 'replace-one']) {
      const stream = make({ ...target, neighbours, people: bound, steps: 12 });
      const readings = Array.from({ length: 12 }, (_, t) => {
        const own = rows.filter(({ step }) => step === t);
        return stream.releaseBatch(
          own.map(({ who }) => who),
          own.map(record),
        );
      });
      const given = [...args, ...people, ...daily, '--neighbours', neighbours];
      const { code, stdout, stderr } = await dpFtrl(given, { input });
      assert.equal(code, 0, stderr);
      assert.deepEqual(numbersOf(stdout), expectedOf(readings, cells));
    }
  }
});

test('persons: rows that do not count are steps all the same', async () => {
  for (const { args, make, record, cells } of commands) {
    const readings = make({ ...target, people: bound, steps: 60 }).releaseMany(
      rows.map(({ who }) => who),
      rows.map(record),
    );
    const { code, stdout, stderr } = await dpFtrl([...args, ...people], { input });
    assert.equal(code, 0, stderr);
    assert.deepEqual(numbersOf(stdout), expectedOf(readings, cells));
  }
});

test('persons: rows beyond what a person may contribute change nothing', async () => {
  const late = rows.filter(({ who, step }) => who === 'p1' && step < 5);
  assert.ok(late.length > 2);
  const more = [...rows];
  // Adds to each of these rows a second one of the same person, with other values.
  for (const row of late)
    more.splice(more.indexOf(row) + 1, 0, { ...row, minutes: 1, room: 'bar' });
  for (const { args } of commands) {
    const [few, many] = await Promise.all(
      [rows, more].map((some) => dpFtrl([...args, ...people, ...daily], { input: csv(some) })),
    );
    assert.equal(many.stdout, few.stdout);
  }
});

test('persons: the guarantee and the warning say which days and rows of a person count', async () => {
  const [moments, histogram] = commands;
  for (const [{ args }, first] of [
    [moments, /only their first row of a day, clipped to the ranges of --columns;/],
    [histogram, /only their first row of a day, counted once, in a category of --domain;/],
  ]) {
    const unseeded = args.filter((it, i) => it !== '--seed' && args[i - 1] !== '--seed');
    const given = [...unseeded, ...people, ...daily];
    const { stderr } = await dpFtrl(given, { input });
    assert.match(stderr, /one person \(column "who"\) is protected, whose first 3 days/);
    assert.match(stderr, /at least 2 days apart count and the rest is left out/);
    assert.match(stderr, first);
    assert.match(
      stderr,
      /warning: each person counts only in their first 3 days, so later days are too low/,
    );
    const quiet = await dpFtrl([...given, '--quiet', '--json'], { input });
    assert.doesNotMatch(quiet.stderr, /are too low/);
    assert.equal(JSON.parse(quiet.stdout).protects, 'one person (column "who")');
    // Without people, the message names the option.
    const { stderr: plain } = await dpFtrl([...unseeded, ...daily], { input });
    assert.match(plain, /one row is protected, not a person with several \(see --user-column\)/);
  }
});

test('persons: statistics refuse bad options and rows without a person', async () => {
  for (const { args } of commands) {
    await fails([...args, '--user-column', 'who'], 2, /--user-column needs --max-contributions K/, {
      input,
    });
    await fails(
      [...args, '--max-contributions', '2'],
      2,
      /--max-contributions needs --user-column/,
      { input },
    );
    const both = [...args, ...people.slice(0, 4), '--participations', '2'];
    await fails(both, 2, /give --user-column or --participations, not both/, { input });
    const nobody = input.replace('p1', ' ');
    const { code, stderr } = await dpFtrl([...args, ...people, ...daily], { input: nobody });
    assert.equal(code, 2);
    assert.match(
      stderr,
      /row \d+ \(line \d+\), column "who" is empty; --missing skip leaves out such rows/,
    );
  }
  const [{ args }] = commands;
  const same = [...args, '--user-column', 'minutes', '--max-contributions', '2'];
  await fails(same, 2, /minutes/, { input });
});
