// SPDX-License-Identifier: Apache-2.0

// People and events: which contributions count, what a step is, and how much removing a person can
// change. The oracle below works on all rows at once and shares no code with the command.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';
import { generator, importSource } from './support/sources.mjs';

const { bucketOf, bucketText } = await importSource('shared/calendar.ts');
const { timeIn, unambiguous } = await importSource('shared/time-text.ts');
const { UTC: zone } = (await importSource('shared/zone.ts')).Zone;

const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--strategy', 'tree'];
const release = ['release', ...privacy];
const people = (k, s) => [
  '--user-column',
  'who',
  '--max-contributions',
  String(k),
  ...(s === undefined ? [] : ['--min-separation', String(s)]),
];
const daily = ['--time-column', 'when', '--bucket', 'day'];

/** Rows that count: the earliest ones of each person that satisfy the pattern. */
function counting(rows, k, s) {
  return rows.filter((row, i) => {
    const before = rows.slice(0, i).filter((it) => it.who === row.who);
    const steps = [];
    for (const { step } of [...before, row]) {
      const fits = steps.length < k && steps.every((other) => step - other >= s);
      if (fits && !steps.includes(step)) steps.push(step);
    }
    return steps.includes(row.step);
  });
}

/**
 * Running sums of the contributions; those of a person at one step are added and clipped to norm 1.
 */
function truth(rows, numSteps) {
  const parts = new Map();
  for (const { who, step, x, y } of rows) {
    const [a, b] = parts.get(`${who} ${step}`)?.sum ?? [0, 0];
    parts.set(`${who} ${step}`, { step, sum: [a + x, b + y] });
  }
  const steps = Array.from({ length: numSteps }, () => [0, 0]);
  for (const { step, sum } of parts.values()) {
    const shrink = Math.max(1, Math.hypot(...sum));
    sum.forEach((value, j) => (steps[step][j] += value / shrink));
  }
  const total = [0, 0];
  return steps.map((each) => each.map((value, j) => (total[j] += value)));
}

function randomRows(random, numRows, oneAStep) {
  let step = 0;
  return Array.from({ length: numRows }, (_, i) => {
    if (random() < 0.4) step += Math.floor(4 * random());
    const who = `p${Math.floor(5 * random())}`;
    return { who, step: oneAStep ? i : step, x: 3 * random() - 1, y: random() };
  });
}

const DAY = 86_400_000;
const day = (step) => new Date(Date.UTC(2026, 1, 26) + step * DAY).toISOString().slice(0, 10);
const csv = (rows) =>
  `when,who,x,y\n${rows.map(({ who, step, x, y }) => `${day(step)},${who},${x},${y}\n`).join('')}`;
const from = ['--from', day(0)];
const columns = ['--columns', 'x', '--columns', 'y'];

async function released(args, rows) {
  const result = await dpFtrl([...args, ...columns, '--seed', '3', '--show-nonprivate'], {
    input: csv(rows),
  });
  assert.equal(result.code, 0, result.stderr);
  return { ...result, rows: parse(result.stdout, { columns: true, cast: true }) };
}

test('times: known texts fall into the right buckets, and texts that are not times are refused', () => {
  const parseTime = (text, bucket = 'day') => {
    const written = unambiguous(text);
    const time = written && timeIn(written, { bucket, zone });
    return typeof time === 'number' ? time : undefined;
  };
  const at = (text, bucket) =>
    bucketText(bucketOf(parseTime(text), { bucket, zone }), { bucket, zone });
  const cases = [
    ['2026-03-01', 'day', '2026-03-01'],
    ['2024-02-29T23:59:59.999Z', 'day', '2024-02-29'],
    ['2026-01-01T00:30:00+01:00', 'day', '2025-12-31'],
    ['2026-01-01 23:30-0230', 'day', '2026-01-02'],
    ['2026-03-01T09:30', 'hour', '2026-03-01T09:00Z'],
    ['2026-03-01 09:30:59', 'minute', '2026-03-01T09:30Z'],
    ['2026-03-01', 'week', '2026-02-23'],
    ['2026-03-02', 'week', '2026-03-02'],
    ['1969-12-31', 'week', '1969-12-29'],
    ['1969-12-31T23:59', 'minute', '1969-12-31T23:59Z'],
    ['2026-12-31', 'month', '2026-12'],
    ['0050-12-31', 'year', '0050'],
  ];
  for (const [text, bucket, expected] of cases) assert.equal(at(text, bucket), expected, text);
  const wrong = ['', '202', '2026-02-30', '2026-13-01', '2026-03-01T24:01', '2026-03-01T09:60'];
  // Impossible offsets, and times outside the years 0 to 9999 in UTC.
  const zones = ['2026-12-31T10:00+99:99', '2026-12-31T10:00-24:00', '2026-12-31T10:00+01:60'];
  const years = ['9999-12-31T23:00:00-12:00', '0000-01-01T00:00:00+12:00'];
  const others = ['1772355000', '3/1/2026', '2026-03-01T09', ' 2026-03-01'];
  for (const text of [...wrong, ...zones, ...years, ...others]) {
    assert.equal(parseTime(text), undefined, text);
  }
});

for (const oneAStep of [true, false]) {
  const name = oneAStep ? 'rows' : 'days';
  const time = oneAStep ? [] : [...daily, ...from];

  test(`people: by ${name}, sums of what counts plus the noise of that pattern`, async () => {
    const { load } = await importEntry('dp-ftrl');
    const dp = await load();
    const random = generator(oneAStep ? 4 : 5);
    for (const [k, s] of [
      [1, undefined],
      [3, undefined],
      [2, 5],
    ]) {
      const rows = randomRows(random, 60, oneAStep);
      const numSteps = rows.at(-1).step + 1;
      const { rows: out } = await released([...release, ...time, ...people(k, s)], rows);
      const expected = truth(counting(rows, k, s ?? 1), numSteps);
      assert.equal(out.length, numSteps);
      const sums = dp.totals({
        strategy: 'tree',
        steps: numSteps,
        epsilon: 1,
        delta: 1e-6,
        dimension: 2,
        insecureSeed: 3,
        participation: k === 1 ? 'once' : { times: k, apart: s ?? 1 },
      });
      const noise = sums.endMany(numSteps);
      out.forEach((row, t) => {
        assert.equal(row.step, t + 1);
        assert.equal(row.std, noise[t].stddev);
        if (!oneAStep) assert.equal(row.when, day(t));
        ['x', 'y'].forEach((column, j) => {
          const slack = rows.length * sums.grid;
          assert.ok(Math.abs(row[`${column}_true`] - expected[t][j]) <= slack);
          assert.ok(Math.abs(row[column] - expected[t][j] - noise[t].values[j]) <= slack);
          assert.ok(Number.isInteger(row[column] / sums.grid), 'on the grid');
        });
      });
      sums.dispose();
    }
  });

  test(`people: by ${name}, leaving one out changes no more than the pattern allows`, async () => {
    const rows = randomRows(generator(6), 80, oneAStep);
    const [k, s] = [3, 4];
    const args = [...release, ...time, ...people(k, s)];
    // The steps are public: for steps of rows the person's rows are blanked, for days the range is
    // given.
    const range = oneAStep ? [] : ['--to', day(rows.at(-1).step)];
    const blank = (row) => (row.who === 'p1' ? { ...row, x: 0, y: 0 } : row);
    const without = oneAStep ? rows.map(blank) : rows.filter(({ who }) => who !== 'p1');
    const [all, rest] = await Promise.all(
      [rows, without].map(async (each) => (await released([...args, ...range], each)).rows),
    );
    assert.equal(all.length, rest.length);
    const changes = [];
    let last = [0, 0];
    all.forEach((row, t) => {
      const gap = [row.x - rest[t].x, row.y - rest[t].y];
      const step = Math.hypot(gap[0] - last[0], gap[1] - last[1]);
      last = gap;
      if (step === 0) return;
      assert.ok(step <= 1, `a change of norm ${step}`);
      changes.push(t);
    });
    assert.ok(changes.length > 0 && changes.length <= k, `${changes.length} steps change`);
    assert.ok(changes.every((t, i) => i === 0 || t - changes[i - 1] >= s));
  });
}

test('events: a long gap between two events is bridged', async () => {
  const input = 'when\n2026-01-01\n2026-01-08T03:00Z\n';
  const args = ['--time-column', 'when', '--bucket', 'minute', '--steps', '20000', '--quiet'];
  const { stdout, code } = await dpFtrl([...release, ...args], { input });
  assert.equal(code, 0);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 1 + 7 * 1440 + 3 * 60 + 1);
  assert.match(lines.at(-1), /^10261,2026-01-08T03:00Z,/);
});

test('events: many rows of one bucket are clipped one by one, not their sum', async () => {
  const input = `when,x\n${'2026-01-01,5\n'.repeat(1000)}`;
  const args = [...daily, '--columns', 'x', '--seed', '1', '--show-nonprivate'];
  const { stdout } = await dpFtrl([...release, ...args], { input });
  assert.equal(parse(stdout, { columns: true, cast: true })[0].x_true, 1000);
});

test('events: in the example each member counts once a week', async () => {
  const path = join(root, 'examples/gym_visits.csv');
  const rows = parse(readFileSync(path, 'utf8'), { columns: true, cast: true });
  const { stdout } = await dpFtrl([
    ...['release', '--epsilon', '2', '--delta', '1e-6', '--clip', '90', '--columns', 'minutes'],
    ...['--user-column', 'member', '--max-contributions', '12', '--min-separation', '7'],
    ...['--time-column', 'time', '--bucket', 'day', '--seed', '1', '--show-nonprivate', path],
  ]);
  const start = Date.UTC(2026, 2, 2);
  const steps = rows.map(({ time, member, minutes }) => ({
    who: member,
    step: Math.floor((Date.parse(time) - start) / DAY),
    minutes,
  }));
  const total = counting(steps, 12, 7).reduce((sum, { minutes }) => sum + minutes, 0);
  assert.equal(parse(stdout, { columns: true, cast: true }).at(-1).minutes_true, total);
});
