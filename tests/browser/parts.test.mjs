// SPDX-License-Identifier: Apache-2.0

// The page's mathematical helpers and text parsers, without a browser.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { load } from '../../dist/index.js';
import { generator } from '../js/support/sources.mjs';
import { importSources, root } from './support.mjs';

const names = [
  'controls/budget',
  'data/chi',
  'data/contributions',
  'data/csv',
  'data/csv-repair',
  'data/known-tables',
  'data/made-up',
  'data/statistic-choice',
  'figures/decimate',
  'base/format',
  'share/command',
  'data/matrix',
  'controls/parameters',
  'controls/settings',
  'figures/simultaneous',
  'figures/sums-view',
  'controls/url',
  'story/queue',
];
/** Options by which no cell counts as missing. */
const asWritten = { timeFormat: 'any', missing: 'refuse', na: '' };

const parts = await importSources(
  'web/src',
  names.map((name) => {
    const part = path.basename(name).replaceAll('-', '_');
    return `export * as ${part} from './${name}.ts';`;
  }),
);

test('the radius of the norm band: 2 in one dimension, closed forms in two and four', () => {
  const { twoSigmaRadius, twoSigmaCoverage: p } = parts.chi;
  assert.ok(Math.abs(twoSigmaRadius(1) - 2) < 1e-12);
  assert.ok(Math.abs(twoSigmaRadius(2) - Math.sqrt(-2 * Math.log(1 - p))) < 1e-12);
  const four = twoSigmaRadius(4) ** 2 / 2; // P(||z||^2 / 2 <= x) = 1 - exp(-x) (1 + x)
  assert.ok(Math.abs(1 - Math.exp(-four) * (1 + four) - p) < 1e-12);
  for (let d = 2; d <= 64; ++d) assert.ok(twoSigmaRadius(d) > twoSigmaRadius(d - 1));
  const wilson = (d) => Math.sqrt(d * (1 - 2 / (9 * d) + 1.6899 * Math.sqrt(2 / (9 * d))) ** 3);
  assert.ok(Math.abs(twoSigmaRadius(64) / wilson(64) - 1) < 1e-3);
});

test('scenes compute one at a time, and patient work lets all other work go first', async () => {
  const queue = parts.queue.makeQueue();
  const order = [];
  let running = 0;
  const work = (name) => async () => {
    assert.equal(++running, 1, `${name} runs alone`);
    order.push(name);
    await new Promise((resolve) => setTimeout(resolve, 1));
    --running;
    return name;
  };
  const fails = () => {
    order.push('fails');
    throw new Error('no');
  };
  const all = [
    queue(work('first'), { patient: true }),
    queue(work('long'), { patient: true }),
    queue(work('longer'), { patient: true }),
    queue(fails).catch(({ message }) => message),
    queue(work('short')),
  ];
  assert.deepEqual(await Promise.all(all), ['first', 'long', 'longer', 'no', 'short']);
  assert.deepEqual(order, ['first', 'fails', 'short', 'long', 'longer']);
  assert.equal(await queue(work('later')), 'later');
});

test('the band is centred on the release, whatever the true total', () => {
  const { SumsView } = parts.sums_view;
  const history = {
    info: { dimension: 2 },
    noisySums: Float64Array.of(3, 4, 0.3, 0.4),
    trueSums: Float64Array.of(6, 8, 60, 80),
    stddev: Float64Array.of(0.5, 1),
  };
  const second = new SumsView(history, 2);
  const at = second.at(0);
  assert.deepEqual(at, { release: 4, band: 1, wide: NaN, truth: 8 });
  assert.deepEqual([second.lower(at, at.band), second.upper(at, at.band)], [3, 5]);
  const norm = new SumsView(history, 0);
  const radius = parts.chi.twoSigmaRadius(2);
  assert.deepEqual(norm.at(0), { release: 5, band: 0.5 * radius, wide: NaN, truth: 10 });
  assert.equal(norm.upper(norm.at(0), 0.5 * radius), 5 + 0.5 * radius);
  assert.equal(norm.lower(norm.at(1), radius), 0, 'no norm is negative');
});

test('the band for all steps at once has one width, and the steps beyond it are counted', () => {
  const { SumsView, Track } = parts.sums_view;
  const history = {
    step: 4,
    info: { dimension: 1 },
    noisySums: Float64Array.of(0, 0, 0, 0),
    trueSums: Float64Array.of(1, -3, 3.5, -4),
    stddev: Float64Array.of(1, 1, 1, 1),
  };
  const simultaneous = { beta: 0.05, coordinate: 3, norm: 3.75 };
  for (const [view, wide, beyond] of [
    [1, 3, 2],
    [0, 3.75, 1],
  ]) {
    const one = new SumsView(history, view, simultaneous);
    assert.deepEqual(
      [0, 3].map((step) => one.at(step).wide),
      [wide, wide],
    );
    const track = new Track(
      'tree',
      new SumsView({ ...history, trueSums: history.trueSums.map(Math.abs) }, view, simultaneous),
    );
    track.count();
    assert.deepEqual([track.numInside, track.numBeyond], [1, beyond]);
  }
  const { bandsText } = parts.simultaneous;
  const run = (dimension) => ({ numSteps: 1024, first: { info: { dimension } } });
  assert.match(
    bandsText(run(1), 1),
    /95\.4 %, so about 47 of 1,024 may lie outside; with probability at least 95 %.* band\.$/,
  );
  assert.equal(bandsText(run(3), 0), bandsText(run(1), 1), 'a norm is of all coordinates');
  assert.match(bandsText(run(3), 2), /in the wide band, in all 3 coordinates\.$/);
});

test('a bucket is drawn as its least and greatest value, in the order they came', () => {
  const { Decimated } = parts.decimate;
  const points = new Decimated(7, ['line', 'upper', 'lower'], 2); // buckets of 4
  for (const v of [3, 1, 2, 5, 4, 4, 9]) points.push([v, v, v]);
  assert.deepEqual(
    points.data().map((column) => [...column]),
    [
      [1, 4, 5, 7],
      [1, 5, 4, 9],
      [5, 5, 9, 9],
      [1, 1, 4, 4],
    ],
  );
  const down = new Decimated(4, ['line'], 1);
  for (const v of [7, 9, 2, 3]) down.push([v]);
  assert.deepEqual([...down.data()[1]], [9, 2]);
});

test('decimation loses no extreme, adds none, and stays within its number of points', () => {
  const { Decimated } = parts.decimate;
  const cases = [
    [1, 300],
    [300, 300],
    [301, 300],
    [10_007, 313],
    [100_000, 900],
  ].flatMap(([n, width]) => ['linear', 'log'].map((spacing) => [n, width, spacing]));
  for (const [n, width, spacing] of cases) {
    const points = new Decimated(n, ['line'], width, spacing);
    const values = Array.from({ length: n }, (_, i) => Math.sin(i * i));
    values.forEach((v, i) => {
      points.push([v]);
      if (i % 997 === 0 || i === n - 1) {
        const [steps, column] = points.data();
        assert.equal(steps.at(-1), i + 1);
        assert.ok(steps.every((s, k) => k === 0 || s >= steps[k - 1]));
        assert.ok(column.every(Number.isFinite));
      }
    });
    const [steps, column] = points.data();
    assert.ok(steps.length <= 2 * width + 2);
    assert.equal(
      Math.max(...column),
      values.reduce((a, b) => Math.max(a, b)),
    );
    assert.equal(
      Math.min(...column),
      values.reduce((a, b) => Math.min(a, b)),
    );
    if (n <= width && spacing === 'linear') assert.deepEqual([...column], values);
    // On a logarithmic axis the first steps are far apart, so none of them are merged.
    if (spacing === 'log') assert.deepEqual([...column.slice(0, 20)], values.slice(0, 20));
  }
});

test('matrices in words and shades: rounding errors are zeros, quarters are halves', () => {
  const { describeMatrix, extentOf, shadeOf } = parts.matrix;
  const matrix = {
    symbol: 'C',
    name: 'encoder',
    numRows: 2,
    numColumns: 2,
    values: Float64Array.of(1, 1e-17, -0.25, 4),
  };
  assert.deepEqual(extentOf([matrix]), { least: -0.25, size: 4 });
  assert.deepEqual(
    [4, 1, -1, 1e-17, 0].map((value) => shadeOf(value, 4)),
    [1, 0.5, -0.5, 0, 0],
  );
  assert.equal(
    describeMatrix(matrix),
    '2 × 2, 3 non-zero entries, none above the diagonal, 1 negative; ' +
      'the greatest is 4, in row 2, column 2.',
  );
  assert.match(
    describeMatrix({ ...matrix, values: Float64Array.of(1, 2, 3, 4) }),
    /^2 × 2, 4 non-zero entries, none negative;/,
  );
  const rounded = { ...matrix, values: Float64Array.of(1, -1e-16, 0, 1) };
  assert.equal(extentOf([rounded]).least, 0);
});

test('parameters: the library is given exactly the parameters that were set', () => {
  const { parametersText } = parts.parameters;
  const { choicesOf, choose, defaults } = parts.settings;
  assert.deepEqual(choicesOf(defaults), [{ mechanism: 'optimal', parameters: {} }]);
  const given = { decays: [0.5, 0.25], weights: [0.1, 1e-9], normalizeColumns: true, nu: 0 };
  const settings = { ...defaults, ...choose('b', 'blt', given), ...choose('a', 'tree') };
  assert.deepEqual(choicesOf(settings), [
    { mechanism: 'tree', parameters: {} },
    { mechanism: 'blt', parameters: given },
  ]);
  assert.equal(parametersText(given, String), 'decays 0.5 0.25, weights 0.1 1e-9, nu 0, normalize');
  const mean = { ...defaults, ...choose('a', 'optimal', { objective: 'mean', buffers: 4 }) };
  assert.deepEqual(choicesOf(mean)[0].parameters, { buffers: 4, objective: 'mean' });
});

test('parameters that cannot be read are refused by name', () => {
  const { checkTogether, defaults, rules } = parts.settings;
  for (const [key, text, message] of [
    ['a_bands', '2.5', 'bands must be “auto” or a whole number > 0, got “2.5”'],
    ['b_bands', '0', 'b-bands must be “auto” or a whole number > 0, got “0”'],
    ['a_lambda', 'much', 'cgd-lambda must be “auto” or a finite number, got “much”'],
    ['a_nu', '1e999', 'nu must be “auto” or a finite number, got “1e999”'],
    ['a_decays', '0.5; x', 'decays must be “auto” or numbers separated by spaces, got “0.5; x”'],
    ['a_subtractive', 'maybe', 'subtractive must be one of auto, yes, no, got “maybe”'],
  ]) {
    assert.throws(() => rules[key].read(text), { key, message });
  }
  assert.equal(rules.a_decays.read(' 0.50, .25;1e-3 '), '0.5 0.25 0.001');
  for (const text of ['', 'auto', ' auto ']) assert.equal(rules.a_bands.read(text), null);
  assert.throws(() => checkTogether({ ...defaults, a_weights: '0.5' }, 1), {
    key: 'a_decays',
    message: 'decays and weights must be given together',
  });
  assert.throws(() => checkTogether({ ...defaults, b_decays: '0.5' }, 1), { key: 'b_weights' });
});

test('CSV: numbers, separators, quotes and empty lines are read, and bad cells are named', () => {
  const { parseCsv, makeTable, labelColumn, suggestColumns, numClipped } = parts.csv;
  const csv = parseCsv('\uFEFFt;a;"b;c"\n1;.5;-1e-2\n\n2;+3.;"7"\n3;1;0\n');
  assert.deepEqual(
    csv.columns.map((column) => column.name),
    ['t', 'a', 'b;c'],
  );
  const table = makeTable(csv, ['a', 'b;c'], null);
  assert.deepEqual([...table.values], [0.5, -0.01, 3, 7, 1, 0]);
  assert.equal(numClipped(table, 1), 1);
  assert.deepEqual(suggestColumns(csv, ['a']), ['b;c']);
  for (const cell of ['NaN', 'Infinity', '0x10', '1,5', '1 2', '--1', '1e999', '']) {
    const bad = parseCsv(`a\tb\n0\t0\n1\t${cell}\n`);
    assert.throws(
      () => makeTable(bad, ['b'], null),
      {
        message: /^row 2 \(line 3 of the text\), column “b”: must be a number, got /,
      },
      cell,
    );
    assert.equal(makeTable(bad, ['a'], null).numRows, 2);
  }
  assert.throws(() => makeTable(csv, ['z'], null), {
    message: 'there is no column “z”; there are “t”, “a”, “b;c”',
  });
  assert.throws(() => makeTable(csv, [], null), { message: 'choose at least one column to sum' });
  assert.throws(() => labelColumn(csv, 'a', 'logistic'), {
    message: /^row 1, column “a”: a label/,
  });
  assert.deepEqual([...labelColumn(csv, 'a', 'squared')], [0.5, 3, 1]);
  assert.throws(() => parseCsv(''), { message: 'the text is empty' });
  assert.throws(() => parseCsv(`a\n${'1\n'.repeat(100_001)}`), {
    message: 'at most 100,000 rows fit, got 100,001',
  });
});

test('what counts of a person: the first rows within the limit count, added up per step', () => {
  const { recordsOf, suggestPerson, suggestTime } = parts.contributions;
  const csv = parts.csv.parseCsv(
    'time,user,n\n2026-03-01,a,1\n2026-03-01,b,2\n2026-03-01,a,4\n2026-03-04,a,8\n' +
      '2026-03-05,a,16\n2026-03-05,b,32\n2026-03-05,a,64\n2026-03-06T23:59-01:00,a,128\n',
  );
  assert.equal(suggestPerson(csv), 'user');
  assert.equal(suggestTime(csv), 'time');
  assert.equal(suggestPerson(parts.csv.parseCsv('city,n\na,1\nb,2\na,3\nb,4\n')), '', 'no person');
  const roles = { person: 'user', time: 'time', bucket: 'day', from: '', to: '', ...asWritten };
  const limit = { maxContributions: 2, minSeparation: 4 };
  const records = recordsOf(csv, ['n'], roles, limit);
  // Person a counts on days 0 and 4, not on day 3 (too close to day 0), nor a third time on day 6.
  assert.deepEqual([...records.table.values], [5, 2, 0, 0, 0, 0, 0, 0, 80, 32, 0, 0, 0, 0]);
  assert.deepEqual([...records.raw], [7, 0, 0, 8, 112, 0, 128]);
  assert.deepEqual(
    [records.batchSize, records.numSteps, records.numContributions, records.numDropped],
    [2, 7, 4, 2],
  );
  assert.deepEqual([records.numPersons, records.span], [2, ['2026-03-01', '2026-03-07']]);
  const rows = recordsOf(csv, ['n'], { ...roles, time: '' }, { ...limit, minSeparation: 1 });
  assert.deepEqual([...rows.table.values], [1, 2, 4, 0, 0, 32, 0, 0]);
  const months = recordsOf(csv, ['n'], { ...roles, person: '', bucket: 'month' }, limit);
  assert.deepEqual([...months.table.values], [1, 2, 4, 8, 16, 32, 64, 128]);
  assert.equal(months.numSteps, 1);
  for (const [text, message] of [
    ['t,n\n2026-03-02,1\n2026-03-01,2', /row 2 .*“t”: is in an earlier day than the row above it/],
    [
      't,n\n2026-03-02,1\nsoon,2',
      /row 2 .*“t”: must be a date such as 2026-03-01 or Mar 1 2026, or a time/,
    ],
    ['t,n\n2026-03-02,1\n,2', /row 2 .*“t”: is missing: fill it in, or choose/],
  ]) {
    const wrong = parts.csv.parseCsv(text);
    const time = { person: '', time: 't', bucket: 'day', from: '', to: '', ...asWritten };
    assert.throws(() => recordsOf(wrong, ['n'], time, limit), { message, role: 'time' });
  }
  // With first and last bucket given, empty steps appear before and after, and no row falls
  // outside.
  const said = {
    person: '',
    time: 't',
    bucket: 'day',
    from: '2026-02-27',
    to: '2026-03-04T10:00Z',
    ...asWritten,
  };
  const few = parts.csv.parseCsv('t,n\n2026-02-28,1\n2026-03-02,2\n');
  const within = recordsOf(few, ['n'], said, limit);
  assert.deepEqual([...within.table.values], [0, 1, 0, 2, 0, 0]);
  assert.deepEqual([within.numSteps, within.span], [6, ['2026-02-27', '2026-03-04']]);
  assert.deepEqual(
    [...recordsOf(few, ['n'], { ...said, to: '' }, limit).table.values],
    [0, 1, 0, 2],
  );
  for (const [edges, message] of [
    [{ from: '2026-03-01' }, /row 1 .*“t”: is before the day of from/],
    [{ to: '2026-03-01' }, /row 2 .*“t”: is after the day of to/],
    [{ from: '' }, /^to needs from$/],
    [{ to: '2026-02-26' }, /^to must not be before from$/],
    [{ from: 'soon' }, /^from must be a date such as 2026-03-01 or Mar 1 2026, .*, got “soon”$/],
    [{ to: 'soon' }, /^to must be a date such as 2026-03-01 or Mar 1 2026, .*, got “soon”$/],
  ]) {
    assert.throws(() => recordsOf(few, ['n'], { ...said, ...edges }, limit), {
      message,
      role: 'time',
    });
  }
  const person = { person: 't', time: '', bucket: 'day', from: '', to: '', ...asWritten };
  assert.throws(() => recordsOf(parts.csv.parseCsv('t,n\na,1\n,2'), ['n'], person, limit), {
    message: /row 2 .*“t”: is missing/,
    role: 'person',
  });
});

test('a row with a missing cell adds nothing and, without times, keeps its step', () => {
  const { recordsOf, countedRows, readFor } = parts.contributions;
  const limit = { maxContributions: 9, minSeparation: 1 };
  const csv = parts.csv.parseCsv(
    't,who,n,m\n2026-03-01,a,1,\n2026-03-02,b,,5\n2026-03-03,NA,4,6\n,a,8,7\n2026-03-05,b,NA,\n2026-03-05,b,9,\n',
  );
  const none = { person: '', time: '', bucket: 'day', from: '', to: '', timeFormat: 'any' };
  const skip = { ...none, missing: 'skip', na: 'NA' };
  const rows = recordsOf(csv, ['n'], skip, limit);
  assert.deepEqual([...rows.table.values], [1, 0, 4, 8, 0, 9], 'only the columns in use count');
  assert.deepEqual([rows.numSteps, rows.numContributions], [6, 4]);
  const people = recordsOf(csv, ['n'], { ...skip, person: 'who' }, limit);
  assert.deepEqual([...people.table.values], [1, 0, 0, 8, 0, 9], 'a person is missing in row 3');
  assert.equal(people.numPersons, 2);
  const days = recordsOf(csv, ['n'], { ...skip, time: 't' }, limit);
  assert.deepEqual([...days.table.values], [1, 0, 4, 0, 9], 'a row without a time is dropped');
  assert.deepEqual(days.span, ['2026-03-01', '2026-03-05']);
  const zero = recordsOf(csv, ['n'], { ...none, missing: 'zero', na: 'NA' }, limit);
  assert.deepEqual([...zero.table.values], [1, 0, 4, 8, 0, 9]);
  assert.equal(zero.numContributions, 6);
  assert.throws(() => recordsOf(csv, ['n'], { ...none, missing: 'skip', na: '' }, limit), {
    message: /^row 5 .* column “n”: must be a number, got “NA”$/,
  });
  assert.throws(() => recordsOf(csv, ['n'], { ...skip, na: '1,4,8,9,NA' }, limit), {
    message: 'no row is left: each has a missing cell',
  });
  const { starts, rows: kept } = countedRows(readFor(csv, ['n'], skip), skip, limit, 100);
  assert.deepEqual(
    [starts, kept],
    [
      [0, 1, 1, 2, 3, 3, 4],
      [0, 2, 3, 5],
    ],
  );
});

test('persons whose names are different texts of one number remain different persons', () => {
  const { recordsOf } = parts.contributions;
  const once = { maxContributions: 1, minSeparation: 1 };
  const records = (csv) =>
    recordsOf(
      csv,
      ['n'],
      { person: 'who', time: '', bucket: 'day', from: '', to: '', ...asWritten },
      once,
    );
  const tableOf = (texts) =>
    parts.csv.parseCsv(`who,n\n${texts.map((one) => `"${one}",1\n`).join('')}`);
  for (const [first, second] of [
    ['7', '007'],
    ['1000', '1e3'],
    ['500', '5e2'],
    ['1.1', '1.10'],
    ['0', '-0'],
    ['5', '+5'],
    ['5', '5.'],
    ['0.5', '.5'],
    ['0.0000001', '1e-7'],
    ['9007199254740992', '9007199254740993'],
    ['0.1', '0.1000000000000000055'],
  ]) {
    assert.ok(Number(first) === Number(second));
    const { table, numPersons, numDropped } = records(tableOf([first, second, first]));
    assert.deepEqual([...table.values], [1, 1, 0], `${first} and ${second}`);
    assert.deepEqual([numPersons, numDropped], [2, 1]);
  }
  // Reading them as numbers to be summed must not merge any two of them.
  const csv = tableOf(['1,000', '1000', 'A5', 'A6', '0', '1,000']);
  const column = csv.columns[0];
  const [thousands] = parts.csv_repair.readingsOf(csv, column, asWritten);
  const read = thousands.apply(csv);
  const [zero] = parts.csv_repair.readingsOf(read, read.columns[0], asWritten);
  const all = zero.apply(read);
  assert.deepEqual([...all.columns[0].values], [1000, 1000, 0, 0, 0, 1000]);
  for (const one of [csv, read, all]) assert.equal(records(one).numPersons, 5);
  const left = parts.csv_repair.readingsOf(read, read.columns[0], asWritten).at(-1).apply(read);
  const { numPersons, numContributions, numSteps } = records(left);
  assert.deepEqual([numPersons, numContributions], [3, 3], 'without A5 and A6');
  assert.equal(numSteps, 6, 'every row is a step');
});

test('the text of every cell can be restored, if not stored then from its number', () => {
  const digits = ['', '0', '1', '9', '10', '100000', '123456789', '1234567890', '999999999999999'];
  const ends = [
    '',
    '.',
    '.0',
    '.5',
    '.50',
    '.000001',
    '.0000001',
    '.123456',
    '.1234567',
    'e3',
    'e-7',
  ];
  const texts = ['', '-', '+'].flatMap((sign) =>
    ['', '0'].flatMap((zero) =>
      digits.flatMap((whole) => ends.map((end) => sign + zero + whole + end)),
    ),
  );
  const csv = parts.csv.parseCsv(`x\n${texts.map((text) => `"${text}"\n`).join('')}`);
  const [{ values, faults, written }] = csv.columns;
  const known = new Map([...faults, ...written].map(({ row, text }) => [row, text]));
  texts.forEach((text, row) => assert.equal(known.get(row) ?? String(values[row]), text));
  assert.ok(known.size < values.length);
});

test('releases that fit a budget: their number is that of the library, up to a maximum', async () => {
  const { spentOf } = parts.budget;
  const { maxReleases } = parts.settings;
  const library = await load();
  const limit = { epsilon: 5, delta: 1e-6 };
  const { mu: limitMu } = library.calibrate(limit);
  const fits = (mu, num) => library.budget(limit).fits({ mu: mu * Math.sqrt(num) });
  for (const [wanted, most] of [
    [0.5, 0],
    [3.5, 3],
    [9999.5, 9999],
    [10_000.5, 10_000],
    [10_001.5, 10_001],
    [1e6, 10_001],
  ]) {
    const mu = limitMu / Math.sqrt(wanted);
    const given = { budget: limit.epsilon, releases: 2 };
    const { numFitting } = await spentOf(library, { mu, delta: limit.delta }, given);
    assert.equal(numFitting, most, `one of ${wanted}`);
    assert.ok(most === 0 || fits(mu, most));
    assert.ok(most > maxReleases || !fits(mu, most + 1), `${wanted}`);
  }
});

/** Settings that differ from the defaults in everything that is not a parameter. */
const otherSettings = {
  mechanism: 'honaker',
  compare: 'output',
  epsilon: 0.1 + 0.2,
  delta: 1e-12,
  neighbours: 'replace-one',
  participation: 'separated',
  participations: 3,
  minSeparation: 7,
  workload: 'decay',
  window: 12,
  decay: 0.75,
  sumMomentum: 0.4,
  budget: 2.5,
  releases: 9,
  clipNorm: 1e-3,
  source: 'tide',
  columns: ['a & b', 'c=d', 'é'],
  units: { 'c=d': 'm & s', é: '€' },
  label: '-',
  person: 'who & whose',
  time: 'when',
  timeFormat: 'seconds',
  bucket: 'week',
  timeZone: 'Europe/Berlin',
  ids: 'numbers',
  from: '2026-03-01',
  to: '2026-03-31 12:00',
  missing: 'skip',
  na: 'NA,-',
  stream: 'switching',
  numSteps: 100_000,
  dimension: 64,
  streamSeed: 0,
  loss: 'squared',
  rule: 'both',
  momentum: 0.25,
  lambda: 12.5,
  noiseSeed: Number.MAX_SAFE_INTEGER,
  speed: Infinity,
  sums: 0,
  learning: 'accuracy',
  deployed: true,
  ghosts: true,
  simultaneous: true,
  errors: 'log',
  local: true,
  ranking: 'mean',
  histogram: '0,999999,3,4',
  queries: 'tables',
  queriesView: 'errors',
  statistic: 'histogram',
  measured: 'a & b',
  range: '-1:2.5',
  category: 'drink',
  domain: 'tea,a b',
  together: 'total,momentum=0.5',
};

test('the address: settings are read back as written, and defaults are not written', () => {
  const { readAddress, writeAddress, writeQueriesAddress } = parts.url;
  const { defaults } = parts.settings;
  assert.equal(writeAddress(defaults), 'mechanism=optimal');
  assert.equal(writeAddress(parts.settings.opening), 'lab');
  assert.deepEqual(readAddress('#lab').settings, parts.settings.opening);
  assert.deepEqual(readAddress('').settings, defaults);
  const settings = { ...otherSettings };
  const { parameterKeys, parameterSpecs, partsOf } = parts.parameters;
  const values = { count: 3, number: -0.25, flag: false, numbers: '0.5 1e-9', objective: 'mean' };
  for (const key of parameterKeys) settings[key] = values[parameterSpecs[partsOf(key).name].kind];
  assert.deepEqual(Object.keys(settings).sort(), Object.keys(defaults).sort());
  for (const key of Object.keys(defaults)) assert.notDeepEqual(settings[key], defaults[key], key);
  const read = readAddress(`#${writeAddress(settings)}`);
  const { histogram, queries, queriesView } = defaults;
  assert.deepEqual(read.settings, { ...settings, histogram, queries, queriesView });
  assert.equal(read.refused.size + read.unknown.length, 0);
  // The histogram view has its own settings and shares the privacy settings.
  assert.equal(writeQueriesAddress(defaults), 'queries');
  const asked = readAddress(`#${writeQueriesAddress(settings)}`);
  const { epsilon, delta, neighbours, noiseSeed, deployed } = settings;
  assert.deepEqual(asked.settings, {
    ...defaults,
    ...{ epsilon, delta, neighbours, noiseSeed, deployed },
    ...{ histogram: '0,999999,3,4', queries: 'tables', queriesView: 'errors' },
  });
  assert.equal(asked.refused.size + asked.unknown.length, 0);
});

test('ranges and categories are read, or refused with what is wanted', () => {
  const { readRange, readDomain } = parts.statistic_choice;
  assert.deepEqual(readRange(' -1.5 : 2'), [-1.5, 2]);
  for (const text of ['', '3', '2:2', '3:2', '1:2:3', 'a:b', '0:', '0:1e999'])
    assert.equal(readRange(text), null, text);
  assert.deepEqual(readDomain('tea, green tea ,0'), ['tea', 'green tea', '0']);
  for (const text of ['', 'a,', 'a,b,a', 'a,other', 'a,b,c,d,e,f'])
    assert.equal(readDomain(text), null, text);
  for (const text of ['0:5', '0:2.5', '0..5', '1-5', '0:5,7'])
    assert.equal(readDomain(text), null, text);
  for (const text of ['08:00,09:00', '18-25,26-40', '2026-01-01', 'a:b', '-5,-3'])
    assert.equal(readDomain(text).join(), text);
  const { rules } = parts.settings;
  assert.throws(() => rules.range.read('90:0'), {
    key: 'range',
    message: 'range must be two numbers such as 0:90, the lower one first, got “90:0”',
  });
  assert.throws(() => rules.domain.read('a,a'), {
    key: 'domain',
    message:
      'domain must be up to 5 different names separated by commas, no range, not “other”, got “a,a”',
  });
  assert.deepEqual([rules.range.read(' '), rules.domain.read('a,b')], ['', 'a,b']);
});

test('lists of several sums are read, and anything else is refused', () => {
  const { readTogether } = parts.statistic_choice;
  assert.deepEqual(readTogether(' total, window = 7,decay=0.5,momentum=1e-3'), [
    { workload: 'total', value: 0 },
    { workload: 'window', value: 7 },
    { workload: 'decay', value: 0.5 },
    { workload: 'momentum', value: 1e-3 },
  ]);
  const windows = (num) => Array.from({ length: num }, (_, i) => `window=${i + 1}`).join();
  assert.equal(readTogether(windows(6)).length, 6);
  const alone = ['', 'total', 'total,total', 'window=7,window=07', 'total,', windows(7)];
  const numbers = [
    'window',
    'window=',
    'window=0',
    'window=-1',
    'window=1.5',
    'window=NaN',
    'window=Infinity',
    'window=2=3',
  ];
  const factors = [
    'decay=0',
    'decay=1',
    'decay=NaN',
    'momentum=1',
    'momentum=-0.1',
    'total=1',
    'sum=2',
    '7',
  ];
  for (const text of [...alone, ...[...numbers, ...factors].map((one) => `total,${one}`)]) {
    assert.equal(readTogether(text), null, text);
  }
  assert.throws(() => parts.settings.rules.together.read('total,window=0'), {
    key: 'together',
    message:
      'together must be 2 to 6 different sums such as total,window=30,decay=0.98 (or momentum=0.9), got “total,window=0”',
  });
});

test('a range or category known of a column is not used for another column', () => {
  const { choiceOf } = parts.statistic_choice;
  const roles = { person: 'who', time: 'day', bucket: 'day', from: '', to: '', ...asWritten };
  const csv = parts.csv.parseCsv('day,who,n,m,drink\n2026-01-01,a,1,2,tea\n2026-01-02,b,2,7,');
  const none = { ...roles, columns: ['m'], ...parts.settings.noStatistic, window: 7, decay: 0.5 };
  const together = 'total,window=7,decay=0.5';
  assert.deepEqual(choiceOf(none, csv), {
    measured: 'm',
    range: '',
    category: 'drink',
    domain: '',
    together,
  });
  assert.equal(choiceOf({ ...none, columns: [] }, csv).measured, 'n');
  const known = { measured: 'm', range: '0:9', category: 'drink', domain: 'tea' };
  assert.deepEqual(choiceOf({ ...none, columns: ['n'] }, csv, known), { ...known, together });
  const others = { ...none, measured: 'n', category: 'who' };
  assert.deepEqual(choiceOf(others, csv, known), {
    measured: 'n',
    range: '',
    category: 'who',
    domain: '',
    together,
  });
  assert.equal(choiceOf({ ...none, range: '1:2' }, csv, known).range, '1:2');
});

test('the known ranges and category names fit the tables that come with the page', () => {
  const { visitors } = parts.made_up;
  const streams = ['stationary', 'drifting', 'switching'];
  const read = (name) =>
    parts.csv.parseCsv(readFileSync(path.join(root, `examples/${name}.csv`), 'utf8'));
  for (const [name, { measured, range, category, domain }] of Object.entries(
    parts.known_tables.knownTables,
  )) {
    const tables =
      name === 'synthetic' ? streams.map((stream) => visitors(2000, 12, stream)) : [read(name)];
    for (const table of tables) {
      const [low, high] = parts.statistic_choice.readRange(range);
      const { values } = parts.csv.findColumn(table, measured);
      assert.ok(
        values.every((value) => value >= low && value <= high),
        name,
      );
      if (category === '') continue;
      const texts = parts.csv.textsOf(table.columns.find((column) => column.name === category));
      const names = parts.statistic_choice.readDomain(domain);
      for (const one of names) assert.ok(texts.includes(one), `${name}: ${one}`);
      assert.ok(texts.filter((text) => names.includes(text)).length > 0.8 * texts.length, name);
    }
  }
  assert.deepEqual(visitors(50, 3, 'drifting'), visitors(50, 3, 'drifting'));
  assert.notDeepEqual(
    visitors(50, 3, 'drifting').columns[0],
    visitors(50, 4, 'drifting').columns[0],
  );
});

test('the rows of a person that count are those that a histogram of people counts', () => {
  const { countedRows } = parts.contributions;
  const csv = parts.csv.parseCsv(
    'day,who,n\n2026-01-02,a,1\n2026-01-02,a,2\n2026-01-02,b,3\n2026-01-04,a,4\n2026-01-05,a,5\n2026-01-05,b,6\n2026-01-07,b,7',
  );
  const edges = { from: '2026-01-01', to: '2026-01-08' };
  const roles = { person: 'who', time: 'day', bucket: 'day', ...edges, ...asWritten };
  const limit = { maxContributions: 2, minSeparation: 3 };
  const { rows, starts, numDropped } = countedRows(csv, roles, limit, 100);
  assert.deepEqual(rows, [0, 2, 4, 5]);
  assert.deepEqual(starts, [0, 0, 2, 2, 2, 4, 4, 4, 4]);
  assert.equal(numDropped, 3);
  assert.deepEqual(countedRows(csv, roles, limit, 4).starts, [0, 0, 2, 2, 2]);
  const plain = countedRows(csv, { ...roles, person: '', time: '' }, limit, 3);
  assert.deepEqual(
    [plain.rows, plain.starts],
    [
      [0, 1, 2],
      [0, 1, 2, 3],
    ],
  );
});

/** Rows that count in a stream of people, by step; rows without a number are left out. */
function rowsCounted(stream, rows, record) {
  const counted = Array.from({ length: stream.steps }, () => []);
  for (const [row, { step, who, n }] of rows.entries()) {
    while (stream.step < step) stream.end();
    if (n === '') continue;
    const before = stream.dropped;
    stream.add(who, record);
    if (stream.dropped === before) counted[step].push(row);
  }
  stream.dispose();
  return counted;
}

/** One row in each step or, with times, rows at random steps; row i has the number 2^i. */
function randomRows(random, hasTimes) {
  const steps = Array.from({ length: 40 }, (_, row) =>
    hasTimes ? Math.floor(12 * random()) : row,
  );
  steps.sort((a, b) => a - b);
  return steps.map((step, row) => ({
    step,
    day: hasTimes ? `2026-01-${String(step + 1).padStart(2, '0')}` : '',
    who: `p${Math.floor(3 * random())}`,
    n: random() < 0.1 ? '' : 2 ** row,
  }));
}

test('the rows of a person that count are those of streams of people, row by row', async () => {
  const { recordsOf, countedRows, readFor } = parts.contributions;
  const dp = await load();
  const random = generator(5);
  const edges = { from: '2026-01-01', to: '2026-01-12' };
  const limits = [1, 2, 3, 12].flatMap((times) =>
    [1, 2, 3, 5, 12].map((apart) => ({ times, apart })),
  );
  for (const people of limits) {
    for (const time of ['day', '']) {
      const what = JSON.stringify({ ...people, time });
      const rows = randomRows(random, time !== '');
      const lines = rows.map(({ day, who, n }) => `${day},${who},${n}\n`);
      const csv = parts.csv.parseCsv(`day,who,n\n${lines.join('')}`);
      const roles = { person: 'who', time, bucket: 'day', ...edges, ...asWritten, missing: 'skip' };
      const limit = { maxContributions: people.times, minSeparation: people.apart };
      const steps = time === '' ? rows.length : 12;
      const target = { steps, epsilon: 1, delta: 1e-6, strategy: 'tree', insecureSeed: 1 };

      const all = rowsCounted(dp.counter({ ...target, people }), rows, 1);
      const records = recordsOf(csv, ['n'], roles, limit);
      const sums = new Array(steps).fill(0);
      records.table.values.forEach((n, i) => (sums[Math.floor(i / records.batchSize)] += n));
      const wanted = all.map((counted) => counted.reduce((sum, row) => sum + 2 ** row, 0));
      assert.deepEqual(sums, wanted, what);
      const numRead = rows.filter(({ n }) => n !== '').length;
      assert.equal(records.numDropped, numRead - all.flat().length, what);

      const first = rowsCounted(dp.histogram({ ...target, people, categories: ['a'] }), rows, 'a');
      const { rows: kept, starts } = countedRows(readFor(csv, ['n'], roles), roles, limit, steps);
      const byStep = first.map((_, step) => kept.slice(starts[step], starts[step + 1]));
      assert.deepEqual(byStep, first, what);
    }
  }
});

test('numbers are formatted for readers', () => {
  const { quantity, digits, scientific, percent, share, count, boundRecords } = parts.format;
  assert.deepEqual(
    [0, 1234.567, -0.012345, 1e-6, 2.5e8, NaN].map((v) => quantity(v)),
    ['0', '1,235', '−0.01235', '10⁻⁶', '2.5 × 10⁸', '–'],
  );
  assert.deepEqual(
    [2.9, 28.983, 1000, -0.1, 0, 2.5e8, NaN].map((v) => digits(v)),
    ['2.900', '28.98', '1,000', '−0.1000', '0', '2.5 × 10⁸', '–'],
  );
  assert.equal(scientific(4.44e-16, 2), '4.4 × 10⁻¹⁶');
  assert.equal(scientific(0), '0');
  assert.equal(percent(0.5), '50.0\u00a0%');
  assert.deepEqual([0.97, 1 / 10, 1 / 8, 1 / 29].map(share), [
    '97\u00a0%',
    'a\u00a0tenth',
    'an\u00a0eighth',
    'a\u00a029th',
  ]);
  assert.equal(count(-100000), '−100,000');
  assert.equal(boundRecords(1), '');
  assert.equal(boundRecords(2), ', for records of 2 numbers or more');
});

test('a shell reads each name of a file or column in the command as one word', () => {
  const strange = ["Ada's day", '$(id)', 'a "b" \\ c', '; ls', 'plain.csv'];
  const file = { name: strange[0], columns: strange, label: '', person: '', time: '' };
  const options = { strategy: { name: 'tree' } };
  const command = parts.command.commandOf({ options, file });
  const script = `dp_ftrl() { printf '%s\\n' "$@"; }\n${command.replace('dp-ftrl', 'dp_ftrl')}`;
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8' }).trimEnd().split('\n');
  // As in CSV, quotes keep a name together.
  const listed = (name) => (name.includes('"') ? `"${name.replaceAll('"', '""')}"` : name);
  const columns = strange.flatMap((name) => ['--columns', listed(name)]);
  assert.deepEqual(words, ['release', '--strategy', 'tree', ...columns, strange[0]]);
});

test('parameters of a mechanism are saved by one command and used by the next', () => {
  const file = { name: 'a.csv', columns: ['x'], label: '', person: '', time: '' };
  const of = (options) => parts.command.commandOf({ options: { steps: 9, ...options }, file });
  assert.equal(
    of({ strategy: { name: 'nu', nu: 0.3, normalizeColumns: true }, workload: { window: 3 } }),
    'dp-ftrl optimize --steps 9 --strategy nu --nu 0.3 --normalize --workload window=3 ' +
      '--output strategy.json\n' +
      'dp-ftrl release --strategy strategy.json --steps 9 --workload window=3 --columns x a.csv\n',
  );
  assert.equal(
    of({ strategy: { name: 'blt', buffers: 3 } }),
    'dp-ftrl release --strategy blt --buffers 3 --steps 9 --columns x a.csv\n',
  );
});
