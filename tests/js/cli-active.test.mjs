// SPDX-License-Identifier: Apache-2.0

// dp-ftrl active: writes the counts of the library, clamped at 0, and refuses what makes no sense.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const scratch = scratchFolder('active-command');

const base = ['active', '--epsilon', '1', '--delta', '1e-6'];
const columns = ['--user-column', 'who', '--time-column', 'when'];
const command = [...base, ...columns, '--seed', '3', '--quiet'];
/** Who did something, day after day from 2026-03-01 on. */
const DAYS = [['ann', 'bob', 'ann'], ['bob'], [], ['carl'], ['ann'], [], [], ['bob']];
const dateOf = (day) => `2026-03-0${day + 1}`;
const rowsOfDays = (from, to) =>
  DAYS.slice(from, to).flatMap((names, i) =>
    names.map((name, k) => `${dateOf(from + i)}T0${k}:30Z,${name}\n`),
  );
const header = 'when,who\n';
const input = header + rowsOfDays(0).join('');

async function run(args, given = input) {
  const { code, stdout, stderr } = await dpFtrl([...command, ...args], { input: given });
  assert.equal(code, 0, stderr);
  return { rows: args.includes('--json') ? [] : parse(stdout, { columns: true }), stdout, stderr };
}

function counts(windows, options) {
  const people = dp.active({
    ...{ windows, steps: DAYS.length, epsilon: 1, delta: 1e-6, insecureSeed: 3 },
    ...options,
  });
  return DAYS.map((names) => {
    people.addMany(names);
    return people.end();
  });
}

const least0 = (value) => Math.max(value, 0);

for (const [title, args, windows, options] of [
  ['a day', ['--window', 'day'], { day: 1 }, {}],
  ['a day and a week', ['--window', 'day,week'], { day: 1, week: 7 }, {}],
  ['three days', ['--window', '3', '--confidence', '0.5'], { 3: 3 }, { confidence: 0.5 }],
  ['a closed start', ['--window', 'week', '--closed-start'], { week: 7 }, { closedStart: true }],
  [
    'replaced people',
    ['--window', 'week', '--neighbours', 'replace'],
    { week: 7 },
    { neighbours: 'replace-one' },
  ],
  [
    'no end',
    ['--window', 'day,month', '--endless', '--from', '2026-03-01', '--to', '2026-03-08'],
    { day: 1, month: 30 },
    { steps: 'endless' },
  ],
]) {
  test(`active: rows are the counts of the library, and none is below 0 (${title})`, async () => {
    const { rows } = await run(args);
    const wanted = counts(windows, options);
    assert.equal(rows.length, DAYS.length);
    for (const [day, row] of rows.entries()) {
      const cells = Object.keys(windows).flatMap((name) => {
        const { value, low, high, stddev } = wanted[day].active[name];
        return [
          [name, least0(value)],
          [`${name}_low`, least0(low)],
          [`${name}_high`, least0(high)],
          [`${name}_std`, stddev],
        ];
      });
      const numbers = cells.map(([name, number]) => [name, String(number)]);
      assert.deepEqual(row, {
        step: String(day + 1),
        when: dateOf(day),
        ...Object.fromEntries(numbers),
      });
    }
  });
}

test('active: JSON has the certificate with a claim for each window', async () => {
  const { stdout } = await run(['--window', 'day,week', '--json']);
  const { certificate, rows, windows, confidence, complete, protects } = JSON.parse(stdout);
  assert.deepEqual(windows, { day: 1, week: 7 });
  assert.equal(certificate.active.week.mechanism, 'offset-ar');
  assert.equal(certificate.active.week.window, 7);
  assert.equal(confidence, 0.95);
  assert.equal(protects, 'one person (column "who")');
  assert.ok(complete);
  const [{ week }] = counts({ day: 1, week: 7 }, {}).map(({ active }) => active);
  assert.deepEqual(rows[0].week, {
    value: least0(week.value),
    low: least0(week.low),
    high: least0(week.high),
    std: week.stddev,
  });
});

test('active: several runs of a state are one stream', async () => {
  const whole = (await run(['--window', 'week', '--steps', '8'])).rows;
  const state = ['--window', 'week', '--steps', '8', '--state', join(scratch, 'users')];
  const parts = [];
  for (const [from, to] of [
    [0, 2],
    [2, 5],
    [5, 8],
  ]) {
    const given = header + rowsOfDays(from, to).join('');
    const range = ['--from', dateOf(0), '--to', dateOf(to - 1)];
    parts.push(...(await run([...state, ...range], given)).rows);
  }
  assert.deepEqual(parts, whole);
  const late = `${header}${rowsOfDays(1, 2).join('')}`;
  await fails(
    [...command, ...state, '--from', dateOf(0)],
    2,
    /is in a day that an earlier run with this --state released/,
    { input: late },
  );
  const other = [...command, '--window', 'day', '--steps', '8', '--state', join(scratch, 'users')];
  await fails([...other, '--from', dateOf(0)], 2, /window/, { input: header });
});

test('active: it says what is promised, and how precise means are', async () => {
  const args = [...base, ...columns, '--window', 'month', '--from', '2026-01-01'];
  const year = [...args, '--to', '2026-12-31'];
  const { code, stderr } = await dpFtrl(year, { input: header });
  assert.equal(code, 0, stderr);
  assert.match(stderr, /whatever it does in all of these days and before/);
  assert.match(stderr, /mechanism offset-ar/);
  const [, mean, day] = /mean of 365 days has a std of ([\d.]+) for month \(a day has (\d+)/.exec(
    stderr,
  );
  // docs/math/active.md; independent noise would have 4.2.
  assert.equal(mean, '9', stderr);
  assert.equal(day, '28');
  assert.match(stderr, /too low until its first 30 days have passed/);
  const endless = await dpFtrl([...year, '--endless'], { input: header });
  assert.match(endless.stderr, /whatever it does in any 365 days/);
});

test('active: a dry run shows the noise and releases nothing', async () => {
  const args = [...base, ...columns, '--window', 'day,month', '--dry-run', '--json'];
  const { code, stdout, stderr } = await dpFtrl(
    [...args, '--from', '2026-01-01', '--to', '2026-12-31'],
    { input: header },
  );
  assert.equal(code, 0, stderr);
  const { std, guarantee } = JSON.parse(stdout);
  assert.ok(Math.abs(std.day - 55.9) < 0.05, stdout);
  assert.ok(Math.abs(std.month - 37.49) < 0.05, stdout);
  assert.match(guarantee, /offset-ar/);
});

test('active: the picture has a band for each window', async () => {
  const plot = join(scratch, 'out.svg');
  await run(['--window', 'day,week', '--plot', plot]);
  const svg = readFileSync(plot, 'utf8');
  for (const text of ['Active people', 'day', 'week']) assert.ok(svg.includes(text), text);
});

for (const [title, args, message, given = input] of [
  ['window 0', ['--window', '0'], /--window must be day, week, month or a number .*, got "0"/],
  ['an empty window', ['--window', 'day,'], /--window must be .*, got ""/],
  ['a window that is no word', ['--window', 'year'], /--window must be .*, got "year"/],
  ['a window twice', ['--window', 'day,day'], /must not name a window twice, got "day,day"/],
  [
    'a window beyond the days',
    ['--window', 'month'],
    /--window must be at most the horizon, 8 days, got 30/,
  ],
  ['no window', [], /--window/],
  ['no end and a horizon', ['--window', 'day', '--endless', '--steps', '9'], /not both/],
  ['no end and a closed start', ['--window', 'day', '--endless', '--closed-start'], /not both/],
  [
    'no end and 14 days',
    ['--window', '14', '--endless'],
    /--window must be day, week or month with --endless, got 14/,
  ],
  [
    'no end and replaced people',
    ['--window', 'day', '--endless', '--neighbours', 'replace'],
    /neighbours must be zero-out/,
  ],
  ['a bound', ['--window', 'day', '--max-contributions', '3'], /unknown option/],
  [
    'clocks that run backwards',
    ['--window', 'day'],
    /row 2/,
    `${header}2026-03-02,ann\n2026-03-01,bob\n`,
  ],
  ['an empty id', ['--window', 'day'], /column "who" is empty/, `${header}2026-03-02,\n`],
]) {
  test(`active: ${title} is refused`, async () => {
    await fails([...command, ...args], 2, message, { input: given });
  });
}

test('active: events after the horizon are refused, and the days before are shown', async () => {
  const late = [...command, '--window', 'day', '--steps', '3'];
  const { code, stdout, stderr } = await dpFtrl(late, { input });
  assert.equal(code, 2);
  assert.match(stderr, /row 5 \(line 6\) is past the horizon of --steps 3/);
  assert.equal(parse(stdout, { columns: true }).length, 3);
});

test('active: ids are texts, unless they are said to be numbers', async () => {
  const given = `${header}2026-03-01,7\n2026-03-01,7.0\n2026-03-01,007\n`;
  const nobody = dp.active({
    ...{ windows: { day: 1 }, steps: 1, epsilon: 100, delta: 1e-6, insecureSeed: 3 },
  });
  const noise = nobody.end().active.day.value;
  const args = [...command, '--window', 'day'].map((it) => (it === '1' ? '100' : it));
  for (const [more, count] of [
    [[], 3],
    [['--user-numbers'], 1],
  ]) {
    const { stdout } = await dpFtrl([...args, ...more], { input: given });
    assert.equal(parse(stdout, { columns: true })[0].day, String(least0(count + noise)));
  }
});
