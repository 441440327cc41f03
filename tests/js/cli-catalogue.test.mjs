// SPDX-License-Identifier: Apache-2.0

// The commands error and compare for every mechanism, and the options of release that name one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close } from './support/check.mjs';
import { fails, json } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { sized, some } from './support/extent.mjs';
import { scratchFolder, writerIn } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const folder = scratchFolder('catalogue');
const file = writerIn(folder);

const error = ['error', '--mechanism', 'tree', '--steps', '4'];
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--quiet'];

test('error: every mechanism has the same errors as in the library', async () => {
  for (const { name } of dp.strategies) {
    const args = ['error', '--mechanism', name, '--steps', '8'];
    const { steps, parameters, ...rest } = await json(args);
    const { numSteps, ...expected } = dp.error({ strategy: name, steps: 8 });
    assert.deepEqual(rest, expected);
    assert.deepEqual([steps, parameters], [numSteps, {}]);
  }
});

const BLT = { decays: [0.9, 0], weights: [0.2, 0.1] };
const EPOCHS = { epochLength: 3, completeEpochs: true };

test('error: every parameter arrives', async () => {
  const cases = [
    ['banded-square-root', ['--bands', '4'], { bands: 4 }],
    ['blt', ['--decays', '0.9,0', '--weights', '.2,1e-1'], BLT],
    ['tree-k', ['--arity', '3', '--subtractive'], { arity: 3, subtractive: true }],
    ['nu', ['--nu', '0.3'], { nu: 0.3 }],
    ['lambda-cgd', ['--lambda', '0.5'], { lambda: 0.5 }],
    ['tree', ['--epoch-length', '3', '--complete-epochs'], EPOCHS],
    ['square-root', ['--normalize'], { normalizeColumns: true }],
  ];
  for (const [mechanism, args, parameters] of cases) {
    const it = await json(['error', '--mechanism', mechanism, '--steps', '8', ...args]);
    assert.deepEqual(it.parameters, parameters);
    assert.equal(
      it.maxError,
      dp.error({ strategy: { name: mechanism, ...parameters }, steps: 8 }).maxError,
    );
  }
  await fails([...error, '--bands', '2'], 2, /bands/);
});

test('error: replace-one doubles sensitivity, errors and bound', async () => {
  const once = await json(error);
  const twice = await json([...error, '--neighbours', 'replace-one']);
  assert.deepEqual([once.neighbours, twice.neighbours], ['zero-out', 'replace-one']);
  for (const key of ['sensitivity', 'maxError', 'meanError', 'lowerBound']) {
    assert.equal(twice[key], 2 * once[key]);
  }
  assert.deepEqual([twice.ratio, twice.gap], [once.ratio, once.gap]);
  const options = { strategy: 'tree', steps: 8 };
  const plain = dp.error({ ...options, neighbours: 'zero-out' });
  const far = dp.error({ ...options, neighbours: 'replace-one' });
  assert.deepEqual(plain, dp.error(options));
  assert.deepEqual([far.neighbours, far.maxError], ['replace-one', 2 * plain.maxError]);
  // A certificate reports errors and bound at unit noise, for either neighbour relation.
  const target = { epsilon: 1, delta: 1e-6, neighbours: 'replace-one' };
  const { ratio, gap, maxError } = dp.certificate({ ...options, ...target });
  assert.deepEqual([ratio, gap, maxError], [plain.ratio, plain.gap, plain.maxError]);
});

test('error: the table shows the mechanism, the participation and the workload', async () => {
  const { stdout } = await dpFtrl([...error, '--participations', '2', '--min-separation', '3']);
  assert.match(stdout, /^mechanism +tree\n/);
  assert.match(stdout, /\nparticipation +at most 2 participations at least 3 steps apart\n/);
  assert.match(stdout, /\nsensitivity \((exact|upper bound)\) +\d/);
  assert.match(stdout, /\nworkload +prefix\n/);
});

test('error: workloads can be given by name or by file', async () => {
  const rates = file('rates.csv', '1\n0.5\n-2\n0.25\n');
  const matrix = file('matrix.csv', '1,0,0,0\n2,1,0,0\n3,2,1,0\r\n4,3,2,1\n\n');
  const cases = [
    ['prefix', 'prefix'],
    ['momentum=0.5', { momentum: 0.5 }],
    ['momentum=0.5,decay=0.9', { momentum: 0.5, decay: 0.9 }],
    ['window=2', { window: 2 }],
    [rates, { rates: [1, 0.5, -2, 0.25] }],
    [matrix, { matrix: [1, 0, 0, 0, 2, 1, 0, 0, 3, 2, 1, 0, 4, 3, 2, 1] }],
  ];
  for (const [text, workload] of cases) {
    const it = await json([...error, '--workload', text]);
    const expected = dp.error({ strategy: 'tree', steps: 4, workload });
    assert.equal(it.workload, expected.workload);
    close(it.maxError, expected.maxError, 1e-12);
  }
});

test('compare: JSON is that of the library', async () => {
  const args = ['compare', '--steps', '40', '--objective', 'mean'];
  assert.deepEqual(await json(args), dp.compare({ steps: 40, objective: 'mean' }).result());
  const epochs = await json(['compare', '--steps', '24', '--epochs', '3']);
  assert.deepEqual(epochs, dp.compare({ steps: 24, participation: { epochs: 3 } }).result());
});

test('compare: the table fits a terminal, has the best first and lists what was left out', async () => {
  const few = sized(100, 24);
  for (const steps of some([few, 1, 1e12, 1 << 20], 2)) {
    const { code, stdout } = await dpFtrl(['compare', '--steps', String(steps)]);
    assert.equal(code, 0);
    const lines = stdout.split('\n');
    assert.ok(
      lines.every((line) => line.length <= 100),
      stdout,
    );
    const { mechanisms, leftOut, lowerBound, boundMethod } = dp.compare({ steps }).result();
    const ranks = lines.flatMap((line) => line.match(/^ *(\d+) {2}([\w-]+)/) ?? []);
    mechanisms.forEach((row, i) => {
      assert.deepEqual(ranks.slice(3 * i + 1, 3 * i + 3), [String(i + 1), row.mechanism]);
    });
    assert.equal(ranks.length, 3 * mechanisms.length);
    assert.match(
      stdout,
      lowerBound === null
        ? /Lower bound: none/
        : boundMethod === 'schatten'
          ? /Schatten-1 norm .*closed/
          : /max error of every .*\n\(dual variables of the optimum/,
    );
    assert.equal(stdout.includes('Left out:'), leftOut.length > 0);
    for (const { mechanism } of leftOut) assert.match(stdout, new RegExp(`^  ${mechanism}`, 'm'));
    if (steps === few) checkAlignment(lines);
  }
});

/** Numbers end where their header does. */
function checkAlignment(lines) {
  const header = lines.find((line) => line.includes('mean error  ratio'));
  const rows = lines.filter((line) => /^ *\d+ {2}/.test(line));
  assert.ok(rows.length > 0);
  for (const name of ['max error', 'mean error', 'ratio', 'sensitivity']) {
    const end = header.indexOf(name) + name.length;
    for (const row of rows) assert.match(row.slice(0, end + 1), /\d ?$/, `${name}: ${row}`);
  }
}

test('release: participation scales the noise and is part of the guarantee', async () => {
  const input = 'x\n1\n0\n1\n1\n';
  const release = ['release', ...privacy.filter((arg) => arg !== '--quiet')];
  const epochs = await dpFtrl([...release, '--epochs', '2'], { input });
  assert.equal(epochs.code, 0, epochs.stderr);
  assert.match(epochs.stderr, /one user is protected, with one row in each of 2 epochs of 2 rows/);
  const apart = ['--participations', '2', '--min-separation', '3', '--json'];
  const { stdout, stderr } = await dpFtrl([...release, ...apart], { input });
  assert.match(stderr, /one user is protected, with at most 2 rows, at least 3 rows apart/);
  const { certificate } = JSON.parse(stdout);
  const counter = dp.counter({
    steps: 4,
    epsilon: 1,
    delta: 1e-6,
    participation: { times: 2, apart: 3 },
  });
  assert.deepEqual(certificate, counter.certificate);
  counter.dispose();
});

test('error: other common names of neighbour relations are accepted', async () => {
  for (const [name, meaning] of [
    ['add-remove', 'zero-out'],
    ['replace', 'replace-one'],
    ['substitution', 'replace-one'],
  ]) {
    const named = await json([...error, '--neighbours', name]);
    assert.deepEqual(named, await json([...error, '--neighbours', meaning]));
    assert.equal(named.neighbours, meaning);
  }
});

test('error: learning rates can be combined with momentum', async () => {
  const rates = file('steps.csv', '1\n0.5\n0.25\n0.125\n');
  const it = await json([...error, '--workload', `${rates},momentum=0.5`]);
  const workload = { rates: [1, 0.5, 0.25, 0.125], momentum: 0.5 };
  const expected = dp.error({ strategy: 'tree', steps: 4, workload });
  assert.deepEqual([it.workload, it.meanError], ['rates,momentum=0.5', expected.meanError]);
  const without = dp.error({ strategy: 'tree', steps: 4, workload: { rates: workload.rates } });
  assert.notEqual(it.meanError, without.meanError);
});

test('compare: the output names the bound and the errors that normalising raises', async () => {
  const few = ['--participations', '4', '--min-separation', '8'];
  const compare = ['compare', '--steps', '32', '--workload', 'momentum=0.9'];
  const { stdout } = await dpFtrl([...compare, ...few]);
  const claimed =
    /max error of every factorization for records of at least 2 numbers: ([\d.]+)\n/.exec(stdout);
  assert.match(stdout, /\nFor all records: [\d.]+\.\n/);
  const workload = { momentum: 0.9 };
  const participation = { times: 4, apart: 8 };
  const { lowerBound } = dp.compare({ steps: 32, workload, participation }).result();
  assert.ok(Math.abs(Number(claimed[1]) / lowerBound - 1) < 1e-4);
  const note = '\noptimal is optimised for single participation.\n';
  const parts = stdout.split(note);
  assert.equal(parts.length, 2, 'the note stands there once');
  assert.ok(!parts.join('').includes('single'), 'it is that of four participations');

  const { raisedByNormalizing, mechanisms } = dp.compare({ steps: 64, workload }).result();
  assert.ok(raisedByNormalizing.length > 0);
  for (const mechanism of raisedByNormalizing) {
    const plain = mechanisms.find((it) => it.mechanism === mechanism);
    const options = { strategy: { name: mechanism, normalizeColumns: true }, steps: 64, workload };
    const error = dp.error(options);
    assert.ok(error.raisedByNormalizing && error.maxError > plain.maxError, mechanism);
  }
  const once = ['error', '--steps', '64', '--workload', 'momentum=0.9', '--normalize'];
  const raised = [...once, '--mechanism', raisedByNormalizing[0]];
  assert.equal((await json(raised)).raisedByNormalizing, true);
  assert.match((await dpFtrl(raised)).stdout, /\nnormalised columns +they raise this error/);
  const lowered = { strategy: { name: 'square-root', normalizeColumns: true }, steps: 32 };
  assert.equal(dp.error(lowered).raisedByNormalizing, false);
  assert.ok(!('raisedByNormalizing' in dp.error({ strategy: 'tree', steps: 32 })));
  const text = (await dpFtrl(['compare', '--steps', '64', '--workload', 'momentum=0.9'])).stdout;
  const line = /Normalised columns raise the error of: ([^.]+)\./.exec(text.replace(/\s+/g, ' '));
  assert.deepEqual(line[1].split(', '), raisedByNormalizing);
  const { leftOut } = dp.compare({ steps: 300 }).result();
  const start = 'normalised columns are tried up to 256';
  assert.ok(leftOut.some(({ reason }) => reason.startsWith(start)));
});

test('misuse: bad parameters, participations and workloads are refused', async () => {
  const path = (name, text) => ['--workload', file(name, text)];
  const square = file('m.csv', '1,0,0,0\n1,1,0,0\n1,1,1,0\n1,1,1,1\n');
  const cases = [
    [[...error, '--bands', '0'], /--bands must be a whole number of at least 1, got "0"/],
    [[...error, '--bands', 'x'], /--bands must be .*, got "x"/],
    [[...error, '--arity', '2.5'], /--arity must be .*, got "2.5"/],
    [[...error, '--nu', 'NaN'], /--nu must be a number, got "NaN"/],
    [[...error, '--decays', '0.5,,'], /--decays must be numbers separated by .*, got "0.5,,"/],
    [[...error, '--weights', '1;2'], /--weights must be numbers separated by commas/],
    [[...error, '--subtractive=1'], /--subtractive takes no value/],
    [[...error, '--normalise'], /unknown option "--normalise"; did you mean --normalize\?/],
    [[...error, '--epochs', '3'], /epochs must be a divisor of --steps = 4, got 3/],
    [[...error, '--epochs', '0'], /--epochs must be a whole number of at least 1, got "0"/],
    [[...error, '--participations', '2'], /--participations needs --min-separation/],
    [[...error, '--min-separation', '2'], /--min-separation needs --participations/],
    [[...error, '--epochs', '2', '--min-separation', '2'], /--epochs or --min-sep.*, not both/],
    [[...error, '--neighbours', 'both'], /--neighbours must be one of zero-out, replace-one/],
    [[...error, '--workload', 'momentum'], /--workload momentum: there is no file momentum/],
    [[...error, '--workload', `${square},momentum=.5`], /m.csv is a matrix; momentum goes with/],
    [
      [...error, '--workload', 'momentum='],
      /--workload must be prefix, window=W, mom.*, got "momentum="/,
    ],
    [[...error, '--workload', 'momentum=0.5,window=2'], /--workload must be .*, got "momentum=0/],
    [[...error, '--workload', 'momentum=1'], /momentum must be at least 0 and below 1, got 1/],
    [[...error, '--workload', 'decay=0.5'], /--workload must be .*, got "decay=0.5"/],
    [[...error, '--workload', 'window=1.5'], /--workload must be .*, got "window=1.5"/],
    [[...error, '--workload', 'window=0'], /: --workload window must be between 1 and .*, got 0/],
    [
      ['error', '--steps', '2000000000', '--mechanism', 'haar', '--workload', 'momentum=0.9'],
      /: haar: --steps must be at most 2048 for errors, 16777216 for noise, got 2000000000/,
    ],
    [[...error, '--workload', '-'], /--workload must be .*, got "-"/],
    [[...error, '--workload', folder], /--workload .* is a folder/],
    [[...error, ...path('a.csv', '')], /a\.csv has 0 rows and 0 columns, but --steps is 4/],
    [[...error, ...path('b.csv', '1,0\n1,1\n1,1\n')], /3 rows and 2 columns; it must be/],
    [[...error, ...path('c.csv', '1,0\n1,1\n')], /2 rows and 2 columns, but --steps is 4/],
    [[...error, ...path('d.csv', '1\n1\n')], /2 rows and 1 column, but --steps is 4/],
    [[...error, ...path('e.csv', '1\n1,2\n')], /e\.csv: line 2 has 2 cells, the first has 1/],
    [[...error, ...path('f.csv', '1\nNaN\n')], /line 2, cell 1 is not a number: "NaN"/],
    [[...error, ...path('g.csv', '1,\n1,1\n')], /line 1, cell 2 is missing/],
    [[...error, ...path('h.csv', '1\n\n1\n1\n1\n')], /h\.csv: line 2 is blank/],
    [[...error, ...path('i.csv', '1\n"1\n')], /i\.csv: line 2: a quoted cell is not closed/],
    [
      [...error, ...path('j.csv', '1\n1\n0\n1\n')],
      /rates\[2\] must be different from 0 \(.* no inverse\), got 0/,
    ],
    [
      [...error, ...path('k.csv', '1,0,0,7\n1,1,0,0\n1,1,1,0\n1,1,1,1\n')],
      /matrix\(0, 3\) must be 0, above the diagonal, got 7/,
    ],
    [
      [...error, ...path('l.csv', '1,0,0,0\n1,0,0,0\n1,1,1,0\n1,1,1,1\n')],
      /matrix\(1, 1\) must be other than 0 on the diagonal \(.*; 1e-9 instead .*\), got 0/,
    ],
    [['compare'], /--steps is required/],
    [['compare', '--steps', '4', 'x.csv'], /compare reads no file, got x.csv/],
    [['compare', '--steps', '4', '--objective', 'both'], /--objective must be one of max, mean/],
    [['compare', '--steps', '4', '--mechanism', 'tree'], /unknown option "--mechanism"/],
    [
      ['release', ...privacy, '--workload', 'momentum=x'],
      /--workload must be prefix, .*, got "momentum=x"/,
    ],
    [
      ['release', ...privacy, '--epochs', '2', '--steps', '3'],
      /epochs must be a divisor of --steps/,
    ],
  ];
  for (const [args, message] of some(cases, 3)) {
    const { stdout } = await fails(args, 2, message, { input: 'x\n1\n' });
    assert.equal(stdout, '', args.join(' '));
  }
});
