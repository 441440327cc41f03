// SPDX-License-Identifier: Apache-2.0

// Counts per bucket and category: what is counted, how much a row or a person can change, and how
// noisy a bucket is. The oracle counts all rows at once and shares no code with the command.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { some } from './support/extent.mjs';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const dp = await (await importEntry('dp-ftrl')).load();

const privacy = ['--epsilon', '1', '--delta', '1e-6'];
const daily = ['--time-column', 'time', '--bucket', 'day'];
const count = ['count', ...privacy, ...daily];
const range = ['--from', '2026-04-06', '--to', '2026-05-03'];
const by = ['--by', 'section', '--domain', 'docs,shop,blog', '--other'];
const labels = ['docs', 'shop', 'blog', 'other'];
const both = ['--for', 'both'];
const seen = ['--seed', '5', '--show-nonprivate', '--quiet'];
const table = join(root, 'examples/site_visits.csv');
const rows = parse(readFileSync(table, 'utf8'), { columns: true });
const days = Array.from({ length: 28 }, (_, i) =>
  new Date(Date.UTC(2026, 3, 6 + i)).toISOString().slice(0, 10),
);
const csv = (some) =>
  `time,section,visitor\n${some.map((it) => `${it.time},${it.section},${it.visitor}\n`).join('')}`;

async function counted(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return parse(stdout, {
    columns: true,
    cast: (value) => (value !== '' && !isNaN(value) ? +value : value),
  });
}

const labelOf = (section) => (labels.includes(section) ? section : 'other');
const numberOf = (some, day, label) =>
  some.filter(({ time, section }) => time.startsWith(day) && labelOf(section) === label).length;

test('count: every bucket and category appears once, and counts the rows of its day', async () => {
  const found = await counted([...count, ...range, ...by, ...seen, ...both], csv(rows));
  assert.deepEqual(
    found.map((it) => [it.time, it.section]),
    days.flatMap((day) => labels.map((label) => [day, label])),
  );
  const totals = Object.fromEntries(labels.map((label) => [label, 0]));
  for (const it of found) {
    const expected = numberOf(rows, it.time, it.section);
    assert.equal(it.count_true, expected);
    assert.equal(it.total_true, (totals[it.section] += expected));
  }
  assert.equal(
    Object.values(totals).reduce((a, b) => a + b),
    rows.length,
  );
});

test('count: totals are those of release with one column per category and clip norm 1', async () => {
  const oneHot = rows.map(({ time, section }) =>
    [time, ...labels.map((label) => Number(labelOf(section) === label))].join(','),
  );
  const columns = labels.flatMap((label) => ['--columns', label]);
  const release = ['release', ...privacy, '--clip', '1', ...daily, ...range, ...columns];
  const wanted = await counted(
    [...release, '--seed', '5', '--quiet'],
    `time,${labels.join(',')}\n${oneHot.join('\n')}\n`,
  );
  const totals = ['--for', 'totals', '--strategy', 'optimal'];
  const found = await counted([...count, ...range, ...by, ...seen, ...totals], csv(rows));
  assert.deepEqual(
    found.map(({ total, total_std: std }) => [total, std]),
    wanted.flatMap((row) => labels.map((label) => [row[label], row.std])),
  );
});

test('count: one row changes one category by 1, from its day on', async () => {
  const run = (some) => counted([...count, ...range, ...by, ...seen, ...both], csv(some));
  const [all, less] = [await run(rows), await run(rows.filter((_, i) => i !== 700))];
  const { time, section } = rows[700];
  all.forEach((row, i) => {
    const isOf = row.section === labelOf(section);
    assert.equal(row.count_true - less[i].count_true, Number(isOf && time.startsWith(row.time)));
    assert.equal(
      row.total_true - less[i].total_true,
      Number(isOf && row.time >= time.slice(0, 10)),
    );
  });
});

test('count: a person changes at most K buckets, each by at most 1 in the l2-norm', async () => {
  const people = ['--user-column', 'visitor', '--max-contributions', '3'];
  const run = (some) => counted([...count, ...range, ...by, ...people, ...seen], csv(some));
  const all = await run(rows);
  const numRows = (who) => rows.filter(({ visitor }) => visitor === who).length;
  const who = [...new Set(rows.map(({ visitor }) => visitor))].sort(
    (a, b) => numRows(b) - numRows(a),
  )[0];
  assert.ok(numRows(who) > 20);
  const less = await run(rows.filter(({ visitor }) => visitor !== who));
  const changes = days.map((day) =>
    Math.hypot(
      ...all.map((row, i) => (row.time === day ? row.count_true - less[i].count_true : 0)),
    ),
  );
  const changed = changes.filter((change) => change > 1e-9);
  assert.equal(changed.length, 3);
  assert.ok(
    changed.every((change) => change < 1 + 1e-9),
    `${changed}`,
  );
  assert.ok(changed.some((change) => change > 0.99));
});

test('count: of a person each category counts once in a bucket, scaled down by the norm', async () => {
  const people = ['--user-column', 'visitor', '--max-contributions'];
  const pure = ['count', '--pure', '--epsilon', '1', ...daily];
  /** Persons' counts of one day, from the sets of their categories. */
  const expectedOf = (some, day, share) => {
    const sets = new Map();
    for (const { time, section, visitor } of some) {
      if (time.startsWith(day))
        sets.set(visitor, (sets.get(visitor) ?? new Set()).add(labelOf(section)));
    }
    const all = [...sets.values()];
    return labels.map((label) =>
      all.reduce((sum, set) => sum + (set.has(label) ? share(set.size) : 0), 0),
    );
  };
  const row = (hour, visitor, section, day = '06') => ({
    time: `2026-04-${day}T${String(hour).padStart(2, '0')}:00:00Z`,
    visitor,
    section,
  });
  const few = [row(1, 'a', 'docs'), row(2, 'a', 'shop'), row(3, 'a', 'shop'), row(4, 'b', 'docs')];
  // One category again the next day, and very many rows of one category.
  const again = [
    ...few,
    row(1, 'a', 'shop', '07'),
    ...Array.from({ length: 30_000 }, () => row(2, 'b', 'blog', '07')),
  ];
  again.push(row(3, 'b', 'docs', '07'), row(4, 'b', 'new', '07'), row(5, 'a', 'shop', '07'));
  for (const [begin, share] of [
    [count, (size) => 1 / Math.sqrt(size)],
    [pure, (size) => 1 / size],
  ]) {
    for (const some of [few, again, rows]) {
      const found = await counted([...begin, ...range, ...by, ...people, '28', ...seen], csv(some));
      for (const day of days) {
        const now = found.filter(({ time }) => time === day).map((it) => it.count_true);
        expectedOf(some, day, share).forEach((wanted, j) => {
          assert.ok(
            Math.abs(now[j] - wanted) < 1e-6,
            `${day} ${labels[j]}: ${now[j]}, not ${wanted}`,
          );
        });
      }
    }
  }
  const repeated = await counted([...count, ...range, ...by, ...people, '1', ...seen], csv(few));
  assert.deepEqual(
    repeated.slice(0, 2).map((it) => it.count_true.toFixed(4)),
    ['1.5000', '0.5000'],
    'Laplace noise is less for one day, and clips in the l1-norm',
  );
  // Without the true counts, releases are those of each person's distinct categories, too.
  const quiet = [...count, ...range, ...by, ...people, '28', '--seed', '5', '--quiet'];
  assert.deepEqual(
    await counted(quiet, csv(few)),
    await counted(quiet, csv([...few.slice(0, 2), few[3]])),
  );
});

/** Runs over a table with only a header, and reads the output of `--json`. */
async function chosen(...args) {
  const begin = ['count', ...daily, '--json', '--quiet', ...args];
  const { code, stdout, stderr } = await dpFtrl(begin, { input: 'time,visitor\n' });
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout);
}

/** Root mean squares over the steps of the other noise known for a question about counts. */
function known({ steps, epsilon, delta, times = 1, question }) {
  const isOfDays = question === 'days';
  const participation = times > 1 ? { times, apart: 1 } : undefined;
  // Naive noise is drawn for each day; added up for totals, it grows like a square root.
  const growth = isOfDays ? 1 : Math.sqrt((steps + 1) / 2);
  const laplace = ['naive Laplace', ((Math.SQRT2 * times) / epsilon) * growth];
  if (delta === 0) {
    const trees = [2, 3, 4, 5, 8, 9, 16, 65].flatMap((arity) =>
      // A subtractive tree has an odd arity.
      (arity % 2 === 0 ? [false] : [false, true]).map((subtractive) => {
        const strategy = { name: 'tree-k', arity, subtractive };
        const asked = { steps, participation, epsilon, delta, strategy };
        return [JSON.stringify(strategy), dp.error(asked).meanError];
      }),
    );
    return isOfDays ? [laplace] : [laplace, ...trees];
  }
  const { noiseMultiplier: gauss } = dp.calibrate({ epsilon, delta });
  const workload = isOfDays ? { window: 1 } : 'prefix';
  const { mechanisms } = dp.compare({ steps, participation, workload, objective: 'mean' }).result();
  return [
    laplace,
    ['naive Gaussian', gauss * Math.sqrt(times) * growth],
    ...mechanisms.map(({ mechanism, meanError }) => [mechanism, gauss * meanError]),
  ];
}

test('count: no noise that is known for the question is less than the chosen one', async () => {
  const last = { 1: '2026-01-01', 31: '2026-01-31', 365: '2026-12-31', 4000: '2036-12-13' };
  const targets = [
    [1, 1e-6],
    [0.1, 1e-9],
    [8, 1e-3],
    [1, 0],
    [0.1, 0],
  ];
  const cases = [1, 31, 365, 4000].flatMap((steps) =>
    targets.flatMap(([epsilon, delta]) =>
      (steps === 1 ? [undefined] : [undefined, 1, 5, 20]).flatMap((times) =>
        ['days', 'totals'].map((question) => ({ steps, epsilon, delta, times, question })),
      ),
    ),
  );
  for (const asked of some(cases, 11)) {
    const { steps, epsilon, delta, times, question } = asked;
    const { choice, certificate, rows } = await chosen(
      ...['--epsilon', String(epsilon), ...(delta === 0 ? ['--pure'] : ['--delta', String(delta)])],
      ...['--for', question, '--from', '2026-01-01', '--to', last[steps]],
      ...(times ? ['--user-column', 'visitor', '--max-contributions', String(times)] : []),
    );
    const where = JSON.stringify({ ...asked, choice });
    assert.equal(certificate.numSteps, steps, where);
    assert.equal(rows.length, steps, where);
    const sum = rows.reduce((all, row) => all + (row.countStd ?? row.totalStd) ** 2, 0);
    const std = Math.sqrt(sum / steps);
    if (delta === 0) {
      assert.equal(choice, undefined, where);
      assert.equal(certificate.delta, 0, where);
    } else {
      assert.equal(certificate.delta, choice.noise === 'Laplace' ? 0 : delta, where);
      assert.ok(choice.std <= choice.next.std, where);
      assert.ok(Math.abs(choice.std / std - 1) < 0.02, `${where}: ${std}`);
    }
    for (const [name, other] of known(asked)) {
      assert.ok(std <= 1.011 * other, `${where}: ${std}, ${name} ${other}`);
    }
  }
});

test('count: a day has the noise of a day, and a named mechanism or a budget is not overruled', async () => {
  const month = ['--epsilon', '1', '--from', '2026-03-01', '--to', '2026-03-31'];
  const { choice, rows: found } = await chosen(...month, '--delta', '1e-6');
  assert.equal(choice.noise, 'Laplace');
  assert.equal(choice.mechanism, 'independent');
  assert.ok(found.every(({ countStd }) => Math.abs(countStd - Math.SQRT2) < 1e-3));
  assert.ok(Math.abs(choice.next.std - 4.22) < 0.01);
  const named = await chosen(...month, '--delta', '1e-6', '--strategy', 'tree');
  assert.equal(named.choice, undefined);
  assert.equal(named.certificate.mechanism, 'tree');
  const strategy = join(scratchFolder('count-strategy'), 'epochs.json');
  writeFileSync(strategy, JSON.stringify({ name: 'optimal', epochLength: 7 }));
  for (const parameter of [
    ['--buffers', '4'],
    ['--strategy', strategy],
  ]) {
    for (const question of ['days', 'totals', 'both']) {
      const given = [...parameter, '--for', question];
      const own = await chosen(...month, '--delta', '1e-6', ...given);
      assert.equal(own.choice, undefined, given.join(' '));
      assert.equal(own.certificate.delta, 1e-6);
    }
  }
  const pure = await chosen(...month, '--pure');
  assert.equal(pure.choice, undefined);
  assert.equal(pure.certificate.delta, 0);
  const often = ['--user-column', 'visitor', '--max-contributions', '20'];
  const people = await chosen(...month, '--delta', '1e-6', ...often);
  assert.equal(people.choice.noise, 'Gaussian', 'sqrt(20) times 4.22 is below 20 times 1.41');
  const file = join(scratchFolder('count-choice'), 'budget.json');
  const limits = ['--budget-epsilon', '1', '--budget-delta', '1e-6'];
  const paid = await chosen(...month, '--delta', '1e-6', '--budget', file, ...limits);
  assert.equal(paid.choice.noise, 'Gaussian');
  assert.equal(paid.certificate.delta, 1e-6);
});

test('count: the noise of the buckets has the predicted std', () => {
  const options = { strategy: 'optimal', steps: 6 };
  const unit = dp.error({ ...options, increments: true }).increments;
  const numRuns = 500;
  const squares = new Float64Array(6);
  let scale = 0;
  for (let seed = 1; seed <= numRuns; ++seed) {
    const target = { epsilon: 1, delta: 1e-6, insecureSeed: seed };
    const counter = dp.counter({ ...options, ...target });
    scale = counter.certificate.noiseStddev;
    const totals = counter.endMany(6).map(({ value }) => value);
    totals.forEach((total, t) => (squares[t] += (total - (totals[t - 1] ?? 0)) ** 2));
    counter.dispose();
  }
  // A mean of 500 squares has a standard deviation of 6.3 %; for one seed in 10^5, one of the six
  // means is off by more than 32 %.
  unit.forEach((std, t) => {
    const ratio = squares[t] / numRuns / (scale * std) ** 2;
    assert.ok(Math.abs(ratio - 1) < 0.32, `${t}: ${ratio}`);
  });
  assert.ok(Math.abs((2 / 3) ** 2 - 1) > 0.32 && unit.every((std) => std > 0.5));
});

test('count: without categories all rows are counted together', async () => {
  const found = await counted([...count, ...range, ...seen, table]);
  assert.deepEqual(
    found.map((it) => it.count_true),
    days.map((day) => rows.filter(({ time }) => time.startsWith(day)).length),
  );
  assert.deepEqual(Object.keys(found[0]), ['time', 'count', 'count_std', 'count_true']);
});

test('count: JSON has the same numbers, and says whom it protects', async () => {
  const args = [...count, ...range, ...by, ...both, '--seed', '5', '--quiet'];
  const found = JSON.parse((await dpFtrl([...args, '--json', table])).stdout);
  const lines = await counted(args, csv(rows));
  assert.deepEqual(
    found.rows,
    lines.map((it) => ({
      time: it.time,
      category: it.section,
      count: it.count,
      countStd: it.count_std,
      total: it.total,
      totalStd: it.total_std,
    })),
  );
  assert.equal(found.protects, 'one row');
  assert.equal(found.complete, true);
  assert.deepEqual(found.categories, labels);
  assert.equal(found.certificate.clipNorm, 1);
});

test('count: a warning says when the first or the last bucket depends on the data', async () => {
  const said = async (args) => (await dpFtrl([...count, ...args, table])).stderr;
  assert.match(await said([]), /warning: the first and the last day printed depend on the data/);
  assert.match(await said(range.slice(0, 2)), /warning: the last day printed depends on the data/);
  assert.doesNotMatch(await said(range), /depends? on/);
});

test('count: standard error and the picture warn when --max-contributions leaves rows out', async () => {
  const bound = ['--user-column', 'visitor', '--max-contributions'];
  const said = async (...args) => {
    const { code, stderr } = await dpFtrl([...count, ...range, ...args, table]);
    assert.equal(code, 0, stderr);
    return stderr;
  };
  const path = join(scratchFolder('count'), 'people.svg');
  const words = (text) => text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  const few =
    /each person counts only in their first 10 days, so later days are too low: do not read a trend from them/i;
  const stderr = await said(...bound, '10', '--plot', path);
  assert.match(stderr, few);
  assert.match(stderr, /--max-contributions \(up to 28, with more noise\)/);
  const noise =
    /persons are counted, not rows: each once per day. The noise of a count is about \d+/i;
  const apart = /each once per day and category, shared among several\. The noise/;
  assert.match(await said(...bound, '10', ...by), apart);
  assert.match(words(readFileSync(path, 'utf8')), noise);
  const picture = readFileSync(path, 'utf8');
  assert.match(words(picture), few);
  assert.match(
    words(picture),
    /28 days in UTC \(the first and the last day are those of --from and --to\); chosen for .* $/,
  );
  assert.match(picture, />persons per day</);
  assert.match(await said(...bound, '1'), /only in their first day,/);
  assert.match(
    await said(...bound, '9', '--min-separation', '3'),
    /only in their first 9 days,.*\(up to 10,/,
  );
  for (const args of [
    [...bound, '28'],
    [...bound, '10', '--min-separation', '3'],
  ]) {
    // Whether a total can be told from 0 depends on the noise.
    const warnings = (await said(...args)).match(/warning: (?!no total of this run).*/g);
    assert.equal(warnings.length, 1);
    assert.match(warnings[0], noise);
  }
  for (const args of [[], [...bound, '3', '--quiet']]) {
    assert.doesNotMatch(await said(...args), /warning/);
  }
  assert.match(
    await said(...bound, '29'),
    /--max-contributions 29 is more than can count in 28 days: 28 is enough/,
  );
});

test('count: no warning is printed before an error that prevents the release', async () => {
  for (const [file, message] of [
    ['no.csv', /there is no file/],
    [root, /is a folder/],
  ]) {
    await fails([...count, file], 2, message);
  }
  await fails(
    [...count.slice(0, -3), 'tme', '--bucket', 'day', table],
    2,
    /unknown column "tme"; did you mean time\?/,
  );
});

test('count: rows outside --from and --to are left out, and nothing says how many', async () => {
  const outside = ['2026-03-30', '2026-04-01', '2026-05-20', '2026-06-01'].map((time) => ({
    ...rows[0],
    time,
  }));
  const all = [...outside.slice(0, 2), ...rows, ...outside.slice(2)];
  for (const more of [[], ['--sort']]) {
    const args = [...count, ...range, '--seed', '5', ...more];
    const [only, selected] = await Promise.all(
      [rows, all].map((table) => dpFtrl(args, { input: csv(table) })),
    );
    assert.equal(selected.code, 0, selected.stderr);
    assert.equal(selected.stdout, only.stdout);
    assert.equal(selected.stderr, only.stderr);
  }
  const early = csv([{ ...rows[0], time: '2026-01-01' }]);
  const since = [...count, ...range.slice(0, 2)];
  await fails(since, 2, /no row of the input is at or after --from/, { input: early });
});

test('count: categories taken from the data are refused, and so are options without effect', async () => {
  const section = ['--by', 'section'];
  const name = /row 4 \(line 5\), column "section" is outside --domain; --other adds a category/;
  const input = csv(
    rows
      .slice(0, 3)
      .map((row) => ({ ...row, section: 'docs' }))
      .concat([{ ...rows[3], section: 'x' }]),
  );
  for (const [args, message, options] of [
    [[...section, table], /--by needs categories that do not come from the data: a name/],
    [[...section, '--other', table], /--by needs categories that do not come from the data/],
    [['--domain', 'a,b', table], /--domain needs --by/],
    [['--other', table], /--other needs --by/],
    [['--by', 'time', '--domain', 'a', table], /--by and --time-column must be two columns/],
    [[...range, ...section, '--domain', 'docs,shop'], name, { input }],
    [['--min-separation', '2', table], /--min-separation needs --user-column/],
    [['--clip', '2', table], /unknown option "--clip"/],
    [['--bucket', 'minute', table], /--bucket is given twice/],
  ]) {
    const { stdout } = await fails([...count, '--quiet', ...args], 2, message, options);
    assert.doesNotMatch(stdout, /x/);
  }
  const minutes = ['count', ...privacy, '--time-column', 'time', '--bucket', 'minute', '--quiet'];
  for (const question of ['minutes', 'totals']) {
    const { code, stderr } = await dpFtrl([...minutes, '--for', question, table]);
    assert.equal(code, 0, stderr);
  }
  const other = /--for must be one of minutes, totals, both, got "days"/;
  await fails([...minutes, '--for', 'days', table], 2, other);
  await fails(
    ['count', '--pure', '--epsilon', '1', ...daily, ...both, table],
    2,
    /--for both does not go with --pure: give --for days or --for totals/,
  );
  await fails(['count', ...privacy, table], 2, /--time-column is required/);
});

test('count: several runs with one --state count what one run counts', async () => {
  const folder = scratchFolder('count-state');
  const days = [
    '2026-03-01,a,ann\n2026-03-01,b,bob\n2026-03-02,a,ann\n',
    '2026-03-04,b,eve\n2026-03-04,b,eve\n',
    '2026-03-05,c,bob\n2026-03-06,a,eve\n',
  ];
  const header = 't,kind,who\n';
  const base = ['count', '-e', '1', '-d', '1e-6', '--time-column', 't', '--bucket', 'day'];
  const target = [...base, '--steps', '9', '--seed', '1', '--quiet'];
  const linesOf = async (args, input) => {
    const { code, stdout, stderr } = await dpFtrl(args, { input: header + input });
    assert.equal(code, 0, stderr);
    return stdout.trimEnd().split('\n').slice(1);
  };
  const by = ['--by', 'kind', '--domain', 'a,b', '--other'];
  const people = ['--user-column', 'who', '--max-contributions', '2'];
  const asked = [[], by, [...by, ...people], [...by, '--for', 'totals'], [...by, ...both]];
  for (const [i, more] of asked.entries()) {
    const state = ['--state', join(folder, `${i}`)];
    const parts = [];
    for (const part of days) parts.push(...(await linesOf([...target, ...more, ...state], part)));
    assert.deepEqual(parts, await linesOf([...target, ...more], days.join('')));
  }
  const other = [...target, '--by', 'kind', '--domain', 'b,a', '--other'];
  const domain = /begun with --domain a,b,other, this run has --domain b,a,other$/;
  await fails([...other, '--state', join(folder, '1')], 2, domain, { input: header });
  const wanted = [...target, ...by, '--for', 'totals', '--state', join(folder, '1')];
  await fails(wanted, 2, /begun with --for totals, this run has none$|begun without --for$/m, {
    input: header,
  });
  const release = ['release', '--count', ...target.slice(1), '--state', join(folder, '0')];
  await fails(release, 2, /it is of dp-ftrl count$/, { input: header });
});
