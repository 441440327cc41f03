// SPDX-License-Identifier: Apache-2.0

// Figures of releases show the printed values and their noise, and nothing else.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'csv-parse/sync';
import { fails } from './support/command.mjs';
import { dpFtrl, root } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { requireCommandsWith } from './support/help.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const { apart, banded } = await importSource('cli/charts/figure.ts');
const { TotalsChart } = await importSource('cli/charts/totals.ts');
const { AtomicFile } = await importSource('cli/output/output.ts');
const { plot } = await importSource('plot/plot.ts');

const folder = scratchFolder('plot');
const example = (name) => join(root, `examples/${name}.csv`);
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--quiet'];
const daily = [
  '--time-column',
  'time',
  '--bucket',
  'day',
  '--from',
  '2026-04-06',
  '--to',
  '2026-05-03',
];
const COMMANDS = {
  release: [...privacy, '--clip', '1', '--columns', 'count', example('shop_day')],
  count: [
    ...privacy,
    ...daily,
    '--by',
    'section',
    '--domain',
    'docs,shop',
    '--other',
    example('site_visits'),
  ],
  queries: [
    ...privacy,
    '--workload',
    'identity',
    '--columns',
    'minutes',
    '--domain',
    '0:180',
    example('gym_visits'),
  ],
  moments: [
    ...privacy,
    '--time-column',
    'time',
    '--bucket',
    'day',
    '--columns',
    'minutes=0:120',
    example('gym_visits'),
  ],
  histogram: [
    ...privacy,
    ...daily,
    '--by',
    'section',
    '--domain',
    'docs,shop',
    '--other',
    example('site_visits'),
  ],
  active: [
    ...privacy,
    '--window',
    'week',
    '--time-column',
    'time',
    '--user-column',
    'visitor',
    example('site_visits'),
  ],
  learn: [...privacy, '--label', 'label', '--columns', '*=-1:1', example('pendulum')],
};

test('plot: every command that draws is among the cases', () =>
  requireCommandsWith('plot', Object.keys(COMMANDS)));

let numPlots = 0;
async function drawn(command, more, ending) {
  const path = join(folder, `${command}-${++numPlots}.${ending}`);
  const result = await dpFtrl([command, '--plot', path, ...more, ...COMMANDS[command]]);
  assert.equal(result.code, 0, result.stderr);
  return { ...result, text: readFileSync(path, 'utf8') };
}

/** Cells of the only table on a page, starting with the header. */
function cellsOf(page) {
  const unescape = (text) =>
    text.replaceAll('&lt;', '<').replaceAll('&quot;', '"').replaceAll('&amp;', '&');
  return [...page.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/g)].map(([, cell]) => unescape(cell)),
  );
}

/** Tags of a text that are opened but not closed, in order. */
function openTags(text) {
  const open = [];
  for (const [, end, name, self] of text.matchAll(/<(\/?)([a-z]+)[^>]*?(\/?)>/g)) {
    if (end) assert.equal(open.pop(), name);
    else if (!self && !['meta'].includes(name)) open.push(name);
  }
  return open;
}

test('plot: the table of a page has the numbers that are printed', async () => {
  for (const command of ['release', 'count', 'queries']) {
    const { stdout, text } = await drawn(command, ['--seed', '4'], 'html');
    const [header, ...rows] = cellsOf(text);
    const [names, ...lines] = parse(stdout);
    assert.equal(rows.length, lines.length);
    assert.deepEqual(header.slice(-1), names.slice(-1));
    rows.forEach((row, i) =>
      row.forEach((cell, j) => {
        const isRounded = command === 'queries' && j > 0;
        if (!isRounded) assert.equal(cell, lines[i][j]);
        else
          assert.ok(
            Math.abs(cell - lines[i][j]) < 1e-5 * (1 + Math.abs(cell)),
            `${cell} ${lines[i][j]}`,
          );
      }),
    );
  }
});

test('plot: of a model the last row has its weights', async () => {
  const { stdout, text } = await drawn('learn', ['--seed', '4', '--json'], 'html');
  const model = JSON.parse(stdout);
  const [header, ...rows] = cellsOf(text);
  assert.deepEqual(header, ['step', ...model.inputs.map(({ name }) => name), '(intercept)']);
  assert.deepEqual(rows.at(-1), ['model', ...model.weights.map(String)]);
  assert.deepEqual(rows.at(-2), ['120', ...model.lastWeights.map(String)]);
  assert.equal(rows.length, 121);
  const plain = await dpFtrl([
    'learn',
    '--no-precondition',
    '--seed',
    '4',
    '--json',
    ...COMMANDS.learn,
  ]);
  assert.equal(plain.stdout, stdout);
});

test('plot: a page has all intervals of a step, even if the output has them on several lines', async () => {
  for (const [command, num] of [
    ['moments', 3],
    ['histogram', 7],
  ]) {
    const { stdout, text } = await drawn(command, ['--seed', '4'], 'html');
    const [header, ...rows] = cellsOf(text);
    const [names, ...lines] = parse(stdout);
    assert.deepEqual(names.slice(0, 2), ['step', 'time']);
    assert.equal(header.length, 2 + 3 * num);
    const numLines = command === 'moments' ? 1 : 3;
    assert.equal(text.match(/<polygon/g).length, num - (numLines === 1 ? 0 : 1));
    rows.forEach((row, i) => {
      if (numLines === 1) return assert.deepEqual(row, lines[i]);
      const [total, counts, shares] = [row.slice(2, 5), row.slice(5, 14), row.slice(14)];
      for (let j = 0; j < numLines; ++j) {
        const expected = [counts, shares].flatMap((all) => all.slice(3 * j, 3 * j + 3));
        const line = lines[i * numLines + j];
        assert.deepEqual(
          [...row.slice(0, 2), ...expected, ...total],
          line.filter((_, k) => k !== 2),
        );
      }
    });
    assert.ok(rows.length > 20);
  }
});

test('plot: true values are in no figure', async () => {
  for (const command of ['release', 'count', 'learn']) {
    for (const ending of ['svg', 'html']) {
      const plain = await drawn(command, ['--seed', '4'], ending);
      const shown = await drawn(command, ['--seed', '4', '--show-nonprivate'], ending);
      assert.notEqual(plain.stdout, shown.stdout);
      assert.equal(plain.text, shown.text, command);
    }
  }
});

test('plot: a figure states its guarantee, and one with a seed says that it is NOT private', async () => {
  for (const command of some(Object.keys(COMMANDS), 3)) {
    const args = COMMANDS[command].filter((arg) => arg !== '--quiet');
    const path = join(folder, `claim-${command}.svg`);
    const { stderr } = await dpFtrl([command, '--plot', path, ...args]);
    const [, claim] = /^dp-ftrl [a-z]+: (\(1, 0\.000001\)-differentially private: .*)$/m.exec(
      stderr,
    );
    const text = readFileSync(path, 'utf8');
    assert.equal(/<desc>(.*)<\/desc>/.exec(text)[1], claim);
    assert.match((await drawn(command, ['--seed', '1'], 'svg')).text, /<desc>NOT private/);
  }
});

test('plot: a page is self-contained, and its parts have accessible names', async () => {
  for (const command of some(Object.keys(COMMANDS), 3)) {
    const { text } = await drawn(command, [], 'html');
    assert.deepEqual(openTags(text.replace(/<!doctype html>/, '')), []);
    assert.match(text, /<html lang="en">/);
    assert.match(text, /<svg role="img" aria-label="Private [a-z ]+"/);
    assert.match(text, /<caption>[^<]+<\/caption>\n<thead><tr><th scope="col">/);
    assert.match(text, /<tr><th scope="row">/);
    assert.doesNotMatch(text, /<script|<link|\bsrc=|\bhref=|url\(/);
    assert.doesNotMatch(text.replaceAll('http://www.w3.org/2000/svg', ''), /https?:/);
    const svg = await drawn(command, [], 'svg');
    assert.deepEqual(openTags(svg.text), []);
    assert.match(svg.text, /^<svg xmlns/);
  }
});

/**
 * Totals of a chart that received them in batches; step t has total 10 t and standard deviation t +
 * 1.
 */
function chartOf(numSteps, size) {
  const chart = new TotalsChart({ columns: ['a<b'], timeColumn: undefined, workload: 'prefix' });
  const steps = Array.from({ length: numSteps }, (_, step) => ({
    reading: { step, values: [10 * step], stddev: step + 1 },
  }));
  for (let first = 0; first < numSteps; first += size) chart.take(steps.slice(first, first + size));
  return chart.figure();
}

test('plot: a few curves with bands get a panel each, with one scale if they are of the same kind', () => {
  const series = ['a', 'b'].flatMap((name, i) => banded(name, [0, 1], [i, 5 * i], [1, 2]));
  const panel = {
    title: 'each day',
    x: { label: 't', log: false },
    y: { label: 'rows', log: false },
    series,
  };
  const [a, b, ...others] = apart(panel, { sharesScale: true });
  assert.deepEqual(others, []);
  assert.deepEqual([a.title, b.title], ['a: each day', 'b: each day']);
  assert.deepEqual(
    [a.y.shows, b.y.shows],
    [
      [-4, 9],
      [-4, 9],
    ],
  );
  const of = ({ series }) => series.map(({ name, of, y }) => [name, of, ...y]);
  assert.deepEqual(of(b), [
    ['', 'b', -1, 1],
    ['b', undefined, 1, 5],
  ]);
  assert.equal(new Set([...a.series, ...b.series].map(({ colour }) => colour)).size, 2);
  const ticks = (panels) =>
    [...plot({ title: '', panels }).matchAll(/text-anchor="end">([^<]*)</g)].map(([, it]) => it);
  assert.deepEqual(ticks([a]), ticks([b]));
  const own = apart(panel, { sharesScale: false });
  assert.notDeepEqual(ticks([own[0]]), ticks([own[1]]));
  const many = Array.from({ length: 13 }, (_, i) => banded(`c${i}`, [0], [i], [1])).flat();
  for (const series of [a.series, many]) {
    assert.deepEqual(apart({ ...panel, series }, { sharesScale: true }), [{ ...panel, series }]);
  }
});

test('plot: the band is two standard deviations up and down', () => {
  const { picture } = chartOf(5, 2);
  const [band, line] = picture.panels[0].series;
  assert.deepEqual(line.y, [0, 10, 20, 30, 40]);
  assert.deepEqual(band.y, [-2, 6, 14, 22, 30]);
  assert.deepEqual(band.to, [2, 14, 26, 38, 50]);
  assert.equal(band.of, line.name);
  const svg = plot({ title: '', ...picture });
  assert.equal(svg.match(/<polygon/g).length, 1);
  assert.match(svg, /a&lt;b/);
});

test('plot: of many steps some are drawn, the last one included', () => {
  for (const [numSteps, every] of [
    [3, 1],
    [1000, 1],
    [1001, 2],
    [5000, 8],
    [5001, 8],
  ]) {
    const { picture, numbers } = chartOf(numSteps, 700);
    const { x } = picture.panels[0].series[1];
    assert.equal(x.at(-1), numSteps);
    assert.equal(x[0], every);
    assert.ok(x.length <= 1001);
    assert.equal(numbers.rows.length, x.length);
    assert.equal(numbers.caption.includes(`one of ${every} is shown`), every > 1);
  }
});

test('plot: a picture says so if it leaves out points, and so does its table', async () => {
  const { answersFigure } = await importSource('cli/charts/answers.ts');
  const { CountsChart } = await importSource('cli/charts/counts.ts');
  const { EstimatesChart } = await importSource('cli/charts/estimates.ts');
  const { WeightsChart } = await importSource('cli/charts/weights.ts');
  const stepsOf = (length) =>
    Array.from({ length }, (_, step) => ({
      reading: { step, values: [0], stddev: 1 },
      time: `day ${step}`,
    }));
  const common = { timeColumn: 'day', title: '', confidence: 0.9, sharesScale: false };
  const one = () => [{ value: 0, low: 0, high: 0 }];
  const estimates = {
    estimates: one,
    names: ['mean'],
    panels: [{ label: '', series: [{ name: 'a', index: 0 }] }],
  };
  const charts = {
    steps: (length) => {
      const chart = new EstimatesChart({ ...common, ...estimates });
      chart.take(stepsOf(length));
      return chart.figure();
    },
    totals: (length) => chartOf(length, 700),
    hours: (length) => {
      const [by, labels] = ['kind', ['a']];
      const parts = ['count'];
      const chart = new CountsChart({
        bucket: 'hour',
        zone: 'UTC',
        unit: 'rows',
        by,
        labels,
        parts,
      });
      chart.take(stepsOf(length));
      return chart.figure();
    },
    answers: (length) =>
      answersFigure(
        Array.from({ length }, (_, i) => ({ query: `${i}`, answer: i, std: 1 })),
        'rows',
      ),
  };
  for (const [unit, figure] of Object.entries(charts))
    for (const [length, every] of [
      [1000, 1],
      [1001, 2],
      [9000, 16],
    ]) {
      const { picture, numbers } = figure(length);
      const said = `Drawn are one of ${every} ${unit === 'totals' ? 'steps' : unit}, and the last.`;
      const { notes } = picture;
      assert.deepEqual(notes.includes(said), every > 1, unit);
      assert.equal(numbers.caption.includes(`one of ${every} is shown`), every > 1, unit);
    }
  for (const [numSteps, batchSize, numWeights] of [
    [256, 1, 12],
    [257, 8, 13],
    [2560, 1, 40],
  ]) {
    const last = async () => new Float64Array(numWeights).fill(1);
    const learner = { steps: numSteps, step: numSteps, weights: last };
    const chart = new WeightsChart(learner, batchSize);
    await chart.look();
    const weights = Array.from({ length: numWeights }, (_, i) => i);
    const { picture } = chart.figure({ weights }, weights.map(String));
    const every = Math.ceil(numSteps / 256);
    assert.deepEqual(picture.notes, [
      ...(every > 1 ? [`Drawn are one of ${every} steps, and the last.`] : []),
      ...(numWeights > 12 ? [`Drawn are the 12 largest of ${numWeights} weights.`] : []),
    ]);
  }
});

test('plot: a curve of 200,000 values can be drawn', () => {
  const x = Array.from({ length: 200_000 }, (_, i) => i);
  const axis = { label: '', log: false };
  const series = [{ name: 'a', x, y: x }];
  assert.match(plot({ title: '', panels: [{ title: '', x: axis, y: axis, series }] }), /<svg/);
});

test('plot: a committed output file stays as it is when it is committed again', async () => {
  // A decided release is committed again if something fails afterwards.
  const path = join(folder, 'committed.csv');
  const file = await AtomicFile.create(path, {});
  await file.write('1\n');
  await file.commit();
  await file.commit();
  assert.equal(readFileSync(path, 'utf8'), '1\n');
});

test('plot: of one to six rows the labels below the axis are their numbers', async () => {
  const path = join(folder, 'few.svg');
  const learn = ['learn', ...privacy, '--label', 'y', '--regularisation', '9', '--clip', '1'];
  for (const args of [
    ['release', ...privacy, '--clip', '1', '--columns', 'x'],
    ['moments', ...privacy, '--columns', 'x=0:1'],
    ['histogram', ...privacy, '--by', 'y', '--domain', '0,1'],
    learn,
  ])
    for (const numRows of some([1, 2, 3, 4, 5, 6], 3)) {
      const input = `x,y\n${'1,1\n'.repeat(numRows)}`;
      const { code, stderr } = await dpFtrl([...args, '--plot', path], { input });
      assert.equal(code, 0, stderr);
      const labels = [
        ...readFileSync(path, 'utf8').matchAll(/<text [^>]*y="289"[^>]*>([^<]*)</g),
      ].map(([, text]) => text);
      const wanted = Array.from({ length: numRows }, (_, i) => String(i + 1));
      assert.deepEqual([...new Set(labels)], wanted, `${args[0]} ${numRows}`);
    }
});

test('plot: names below an axis are shortened, and only a few of many are shown', () => {
  const names = Array.from({ length: 50 }, (_, i) => `2026-04-06T${i}:00Z, a long name`);
  const series = [{ name: 'a', x: names.map((_, i) => i), y: names.map((_, i) => i) }];
  const axis = { label: 'when', log: false };
  const panels = [{ title: '', x: { ...axis, names }, y: axis, series }];
  const shown = plot({ title: '', panels }).match(/2026[^<]*…/g);
  assert.ok(shown.length >= 2 && shown.length <= 4, `${shown}`);
  assert.ok(shown.every((name) => name.length === 24));
  assert.equal(shown.at(-1), '2026-04-06T49:00Z, a lo…');
  const alike = names.slice(0, 3).map((name, i) => `the same beginning of ${name} ${i}`);
  const few = [
    { ...panels[0], x: { ...axis, names: alike }, series: [{ ...series[0], x: [0, 1, 2] }] },
  ];
  const ends = plot({ title: '', panels: few }).match(/…[^<]*/g);
  assert.deepEqual(new Set(ends).size, ends.length);
});

test('plot: labels of hours and minutes are whole, in every zone', async () => {
  for (const bucket of ['hour', 'minute'])
    for (const zone of [[], ['--time-zone', 'Europe/Berlin']]) {
      const path = join(folder, `${bucket}${zone.length}.svg`);
      const input = 't,x\n2026-03-29T00:30Z,1\n2026-03-29T03:40Z,1\n';
      const common = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--columns', 'x'];
      const time = ['--time-column', 't', '--bucket', bucket, ...zone];
      await dpFtrl(['release', ...common, ...time, '--plot', path], { input });
      const labels = readFileSync(path, 'utf8').match(/2026-03-29T[^<]*/g);
      assert.ok(labels.length >= 1 && new Set(labels).size === labels.length, `${labels}`);
      assert.ok(
        labels.every((label) => !label.includes('…')),
        `${labels}`,
      );
    }
});

test('plot: the axis of answers begins at zero, and the first and last answers have room', async () => {
  const { answersFigure } = await importSource('cli/charts/answers.ts');
  const answers = ['a', 'b', 'c'].map((query, i) => ({ query, answer: 900 + i, std: 1 }));
  const svg = plot({ title: '', ...answersFigure(answers, 'rows').picture });
  const labels = [...svg.matchAll(/text-anchor="end">([^<]*)</g)].map(([, label]) => label);
  assert.equal(labels[0], '0');
  const [, path] = /<path d="((?:M[\d.]+ [\d.]+h0)+)"/.exec(svg);
  const places = [...path.matchAll(/M([\d.]+)/g)].map(([, x]) => Number(x));
  const half = (places[1] - places[0]) / 2;
  assert.equal(places.length, 3);
  assert.ok(
    Math.abs(places[0] - half - 62) < 0.1 && Math.abs(places[2] + half - 458) < 0.1,
    `${places}`,
  );
});

test('plot: sentences below a picture are broken into lines, and all of them are in it', () => {
  const axis = { label: '', log: false };
  const panels = [{ title: '', x: axis, y: axis, series: [{ name: 'a', x: [0, 1], y: [0, 1] }] }];
  const note = Array.from({ length: 60 }, (_, i) => `word${i}`).join(' ');
  const lines = [
    ...plot({ title: '', notes: [note, 'and <more>'], panels }).matchAll(/fill="#333">([^<]*)</g),
  ];
  assert.equal(lines.map(([, line]) => line).join(' '), `${note} and &lt;more&gt;`);
  assert.ok(lines.length > 4 && lines.every(([, line]) => line.length <= 80));
  const height = (notes) => Number(/height="(\d+)"/.exec(plot({ title: '', notes, panels }))[1]);
  assert.equal(height(['a', 'b']) - height(['a']), 15);
  assert.ok(height(['a']) > height([]));
});

test('plot: another file ending or a missing folder is refused before anything is spent', async () => {
  const budget = join(folder, 'budget.json');
  const limit = ['--budget', budget, '--budget-epsilon', '1', '--budget-delta', '1e-6'];
  for (const [command, args] of some(Object.entries(COMMANDS), 3)) {
    for (const name of ['out.png', 'out', 'svg', 'out.svg.gz']) {
      const message = new RegExp(`--plot must end with \\.svg or \\.html, got "${name}"`);
      const { stdout } = await fails([command, '--plot', name, ...limit, ...args], 2, message);
      assert.equal(stdout, '');
    }
    const away = join(folder, 'none/out.svg');
    const { stdout } = await fails(
      [command, '--plot', away, ...limit, ...args],
      2,
      /--plot .*folder does not exist/,
    );
    assert.equal(stdout + existsSync(budget), 'false');
    const twice = [
      '--plot',
      join(folder, 'one.svg'),
      command === 'learn' ? '--model' : '--output',
      join(folder, 'one.svg'),
    ];
    await fails([command, ...twice, ...args], 2, /are the same file/);
  }
});

test('plot: no file is written if a bad row ends the release', async () => {
  const path = join(folder, 'bad.svg');
  const args = ['release', ...privacy, '--clip', '1', '--steps', '9', '--plot', path];
  await fails(args, 2, /row 2 \(line 3\)/, { input: 'x\n1\noops\n' });
  assert.equal(existsSync(path), false);
});
