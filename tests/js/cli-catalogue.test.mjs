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

const error = ['error', '--strategy', 'tree', '--steps', '4'];
const privacy = ['--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--quiet'];

test('error: every mechanism has the same errors as in the library', async () => {
  for (const { name } of dp.strategies) {
    const args = ['error', '--strategy', name, '--steps', '8'];
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
    const it = await json(['error', '--strategy', mechanism, '--steps', '8', ...args]);
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
  const header = lines.find((line) => line.includes('mean error  squared  ratio'));
  const rows = lines.filter((line) => /^ *\d+ {2}/.test(line));
  assert.ok(rows.length > 0);
  for (const name of ['max error', 'mean error', 'squared', 'ratio', 'sens(C)']) {
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
  const apart = [
    '--participations',
    '2',
    '--min-separation',
    '3',
    '--strategy',
    'optimal',
    '--json',
  ];
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
  const raised = [...once, '--strategy', raisedByNormalizing[0]];
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

test('bounds: regret follows from both errors, as in the library, and is printed rounded up', async () => {
  const target = { steps: 64, epsilon: 1, delta: 1e-6 };
  const asked = [
    'bounds',
    '--steps',
    '64',
    '--epsilon',
    '1',
    '--delta',
    '1e-6',
    '--dimension',
    '4',
  ];
  const tree = [...asked, '--strategy', 'tree', '--beta', '0.01'];
  const certificate = dp.certificate({ ...target, strategy: 'tree' });
  const how = { dimension: 4, failureProbability: 0.01 };
  const wanted = dp.study.regretBounds(certificate, how);
  const { stdout } = await dpFtrl([...tree, '--json']);
  assert.deepEqual(JSON.parse(stdout).regret, { strategy: 'tree', ...how, ...wanted });
  const { stdout: text } = await dpFtrl(tree);
  const [, expected, likely] = /^from the root mean squared error +(\S+) +(\S+)$/m.exec(text);
  const [, largest, most] = /^from the largest error +(\S+) +(\S+)$/m.exec(text);
  const { byMaxError } = wanted;
  const shown = [
    [expected, wanted.expected],
    [likely, wanted.highProbability],
    [largest, byMaxError.expected],
    [most, byMaxError.highProbability],
  ];
  for (const [digits, { total }] of shown) {
    assert.ok(Number(digits) >= total && Number(digits) <= total * 1.001, digits);
  }
  assert.match(text, /with probability 0\.99$/m);
  const misuse = [
    [['bounds', '--steps', '8', '--strategy', 'tree'], /--strategy needs --dimension/],
    [['bounds', '--steps', '8', '--dimension', '4'], /--dimension needs --epsilon/],
    [[...asked, '--strategy', 'trees'], /unknown strategy "trees"; did you mean tree\?$/],
  ];
  for (const [command, message] of misuse) await fails(command, 2, message);
});

test('bounds: the statements of the literature that give no number are named as not proved', async () => {
  const { stdout } = await dpFtrl(['bounds', '--steps', '1024']);
  assert.match(
    stdout,
    /^divided by that of the square root +5\.688 \(grows to 10\.27 with the steps\)$/m,
  );
  assert.match(
    stdout,
    /are not known here,\nand not proved here:\n {2}at least a mean squared error of order/,
  );
});

test('compare: mean squared errors are those of bounds, and the tree is beside the square root', async () => {
  const { stdout } = await dpFtrl(['compare', '--steps', '64']);
  const { tree, squareRoot } = dp.bounds({ steps: 64 });
  const squared = (name) =>
    new RegExp(`^ *\\d+ {2}${name} +\\S+ +\\S+ +(\\S+)`, 'm').exec(stdout)[1];
  assert.equal(squared('tree'), tree.meanSquaredError.toPrecision(4));
  assert.equal(squared('square-root'), squareRoot.meanSquaredError.toPrecision(4));
  const ratio = tree.overSquareRoot.toPrecision(3);
  const grown = `${ratio} times that of square-root; with the steps this grows to 10.27.`;
  assert.ok(stdout.replaceAll(/\s+/g, ' ').includes(grown), grown);
});
