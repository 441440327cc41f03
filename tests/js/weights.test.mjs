// SPDX-License-Identifier: Apache-2.0

// Decaying sums, momentum, rates and matrices, the command and its state.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, golden } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const scratch = scratchFolder('weights');

const steps = 30;
const target = { steps, epsilon: 1, delta: 1e-6, insecureSeed: 12 };
const fading = { ...target, workload: { decay: 0.9 } };
const rates = Float64Array.from({ length: steps }, (_, t) => (t % 3 === 1 ? -1 : 1) / (1 + t));
const matrix = Float64Array.from({ length: steps ** 2 }, (_, k) => {
  const [row, column] = [Math.floor(k / steps), k % steps];
  if (column > row) return 0;
  return column === row ? 1 : Math.sin(row + 2 * column);
});
/** Workloads, with their names in a certificate. */
const workloads = [
  [{ decay: 0.9 }, 'momentum=0,decay=0.9'],
  [{ momentum: 0.8 }, 'momentum=0.8,decay=1'],
  [{ momentum: 0.5, decay: 0.95 }, 'momentum=0.5,decay=0.95'],
  [{ rates }, 'rates'],
  [{ rates, momentum: 0.7 }, 'rates,momentum=0.7'],
  [{ matrix }, 'matrix'],
];
const records = Float64Array.from({ length: steps }, (_, t) => (((7 * t) % 11) - 5) / 8);

/** Product of a workload and numbers, by rows of its matrix. */
function queries(workload, numbers) {
  return Float64Array.from(numbers, (_, row) => {
    let sum = 0;
    for (let column = 0; column <= row; ++column) {
      sum += weightOf(workload, row, column) * numbers[column];
    }
    return sum;
  });
}

function weightOf({ momentum = 0, decay = 1, rates: chi, matrix: entries }, row, column) {
  if (entries) return entries[row * steps + column];
  let sum = 0;
  for (let t = column; t <= row; ++t) {
    const rate = chi ? chi[t] : 1;
    sum += rate * momentum ** (t - column) * decay ** (row - t);
  }
  return sum;
}

/** Calls `use` with a counter, and returns its result. */
function withCounter(options, use) {
  const counter = dp.counter({ ...target, ...options });
  try {
    return use(counter);
  } finally {
    counter.dispose();
  }
}

const valuesOf = (readings) => readings.map(({ value }) => value);
const released = (options) =>
  withCounter(options, (counter) => valuesOf(counter.releaseMany(records)));

test('weights: a release is the sum of records and noise, rounded once', () => {
  for (const [workload, name] of workloads) {
    for (const strategy of ['optimal', 'normalized-square-root', 'tree', 'output']) {
      withCounter({ strategy, workload }, (counter) => {
        const { certificate, grid } = counter;
        assert.equal(certificate.workload, name);
        const stream = dp.noise({ strategy, steps, workload, insecureSeed: 12 });
        // Accurate to 2^-21 of a grid.
        const scale = (certificate.noiseStddev / grid) * 2 ** 20;
        const noise = stream.rounded({ numRows: steps, scale });
        stream.dispose();
        const expected = Array.from(queries(workload, records), (sum, t) => {
          // The seed is fixed, and no value is near the midpoint of two integers.
          const inGrids = sum / grid + Number(noise[t]) / 2 ** 20;
          assert.ok(Math.abs(inGrids - Math.floor(inGrids) - 0.5) > 2e-6);
          return Math.round(inGrids) * grid;
        });
        assert.deepEqual(released({ strategy, workload }), expected, `${strategy}, ${name}`);
      });
    }
  }
});

test('weights: {decay} is momentum 0 with that decay, and decay 1 running totals', () => {
  const of = (workload) => released({ workload });
  assert.deepEqual(of({ decay: 0.9 }), of({ momentum: 0, decay: 0.9 }));
  assert.deepEqual(of({ decay: 1 }), of('prefix'));
});

test('weights: verbs, people and lives of a store release the same', async () => {
  for (const [workload] of workloads) {
    const expected = released({ workload });
    const parts = withCounter({ workload }, (counter) =>
      valuesOf(Array.from(records, (record) => counter.releaseBatch([record]))),
    );
    assert.deepEqual(parts, expected);
    const people = Array.from(records, (_, t) => `person ${t}`);
    const each = withCounter({ workload, people: 'once' }, (counter) =>
      valuesOf(counter.releaseMany(people, records)),
    );
    assert.deepEqual(each, expected);
    const store = appendingStore();
    for (let life = 0; life < 3; ++life) {
      const counter = await dp.counter({ ...target, workload, store });
      const part = records.subarray(10 * life, 10 * life + 10);
      const found = valuesOf(await counter.releaseMany(part));
      assert.deepEqual(found, expected.slice(10 * life, 10 * life + 10));
      assert.equal((await counter.at(3)).value, expected[3]);
      await counter.dispose();
    }
    const other = { ...target, workload: { decay: 0.875 }, store };
    await assert.rejects(dp.counter(other), { code: 'other_options', parameter: 'workload' });
  }
});

test('weights: the default mechanism is the best that is quick to find', () => {
  const nameOf = (workload, horizon) =>
    withCounter({ steps: horizon, workload }, ({ certificate }) => certificate.mechanism);
  assert.equal(nameOf({ decay: 0.99 }, 10_000), 'optimal');
  assert.equal(nameOf({ momentum: 0, decay: 0.99 }, 10_000), 'optimal');
  assert.equal(nameOf({ momentum: 0.9 }, 40), 'optimal');
  assert.equal(nameOf({ momentum: 0.9 }, 129), 'normalized-square-root');
  assert.equal(nameOf({ momentum: 0.9 }, 65_537), 'square-root');
  // Compared with the least mean errors, although the largest error is minimised.
  for (const { decay, num_steps, error: least } of some(golden('optima').decays, 2)) {
    const problem = { steps: num_steps, epsilon: 1, delta: 1e-6, workload: { decay } };
    const { meanError } = dp.certificate(problem);
    assert.ok(
      meanError >= least * (1 - 1e-4) && meanError <= 1.05 * least,
      `${decay}: ${meanError}`,
    );
    close(
      dp.certificate({ ...problem, strategy: { name: 'optimal', objective: 'mean' } }).meanError,
      least,
      1e-4,
    );
  }
});

test('weights: the error of releases is that of the formula', () => {
  const dimension = 20_000;
  const totals = dp.totals({ ...fading, steps: 20, dimension });
  for (const { values, stddev } of totals.endMany(20)) {
    const square = values.reduce((sum, x) => sum + x * x, 0) / dimension;
    // The mean of squares has a standard deviation of 1 %; four of them are allowed.
    close(Math.sqrt(square), stddev, 0.02);
  }
  totals.dispose();
});

test('weights: a saved strategy brings its workload', () => {
  const saved = dp.optimize({ strategy: 'optimal', steps, workload: { decay: 0.9 } }).result();
  const copy = JSON.parse(JSON.stringify(saved));
  const expected = released({ strategy: copy, workload: { decay: 0.9 } });
  assert.deepEqual(released({ strategy: copy }), expected);
  const other = { ...target, strategy: copy, workload: { decay: 0.8 } };
  assert.throws(() => dp.counter(other), { parameter: 'workload' });
});

test('weights: workloads that cannot be released are refused by name', async () => {
  const refused = (options, parameter, code = 'invalid_argument') =>
    assert.throws(() => dp.totals({ ...target, dimension: 1, ...options }), { parameter, code });
  for (const decay of [0, -0.5, 1.5, NaN, Infinity]) refused({ workload: { decay } }, 'decay');
  refused({ workload: { decay: '0.9' } }, 'decay', 'wrong_type');
  for (const momentum of [-0.1, 1, NaN]) refused({ workload: { momentum } }, 'momentum');
  refused({ workload: { decay: 0.9, window: 3 } }, 'workload', 'wrong_type');
  refused({ workload: { rates: rates.subarray(1) } }, 'rates', 'wrong_length');
  const large = Float64Array.from(rates, (x, t) => (t === 4 ? 2 ** 21 : x));
  refused({ workload: { rates: large } }, 'rates[4]');
  refused(
    { workload: { decay: 0.9 }, lattice: 'discrete-gaussian', strategy: 'blt' },
    'workload',
    'unsupported',
  );
  refused({ workload: { decay: 0.9 }, epsilon: 200, grid: 1 }, 'grid');
  refused({ workload: { decay: 0.9 }, dimension: 2 ** 26 }, 'dimension', 'resource_exhausted');
  refused({ workload: { decay: 0.9 }, delta: 0 }, 'workload');
  const counter = await (await importEntry('dp-ftrl/counter')).load();
  assert.throws(() => counter.counter(fading), /workload must be left out/);
});

const lines = (numbers) => `x\n${[...numbers].join('\n')}\n`;
const input = lines(records);
const release = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--columns', 'x'];
const seeded = [...release, '--seed', '12', '--quiet'];

test('release --workload: every name and file gives the sums of the library', async () => {
  const file = (name, rows) => {
    const path = join(scratch, name);
    writeFileSync(path, rows.map((row) => `${[...row].join(',')}\n`).join(''));
    return path;
  };
  const rows = Array.from(rates, (_, t) => matrix.subarray(t * steps, (t + 1) * steps));
  const ofRates = file(
    'rates.csv',
    Array.from(rates, (x) => [x]),
  );
  const texts = [...workloads.slice(0, 3).map(([, name]) => name), ofRates];
  texts.push(`${ofRates},momentum=0.7`, file('matrix.csv', rows));
  for (const [index, text] of texts.entries()) {
    const [workload] = workloads[index];
    const named = [...seeded, '--strategy', 'optimal', '--show-nonprivate'];
    const args = [...named, '--workload', text];
    const { code, stdout, stderr } = await dpFtrl(args, { input });
    assert.equal(code, 0, stderr);
    const cells = stdout
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((row) => row.split(',').map(Number));
    withCounter({ workload }, (counter) => {
      const readings = counter.releaseMany(records);
      assert.deepEqual(
        cells.map(([, x]) => x),
        valuesOf(readings),
        text,
      );
      cells.forEach(([, , , std], t) => close(std, readings[t].stddev, 1e-12));
    });
    const truths = queries(workload, records);
    cells.forEach(([, , truth], t) => assert.ok(Math.abs(truth - truths[t]) < 1e-9, text));
  }
});

test('release --workload: several runs with a state give the rows of one run', async () => {
  const args = [...seeded, '--steps', '12', '--workload', 'momentum=0,decay=0.75'];
  const whole = (await dpFtrl(args, { input: lines(records.subarray(0, 12)) })).stdout;
  const state = ['--state', join(scratch, 'state')];
  let parts = '';
  for (const begin of [0, 4, 8]) {
    const part = lines(records.subarray(begin, begin + 4));
    const { code, stdout, stderr } = await dpFtrl([...args, ...state], { input: part });
    assert.equal(code, 0, stderr);
    parts += begin === 0 ? stdout : stdout.slice(stdout.indexOf('\n') + 1);
  }
  assert.equal(parts, whole);
  const wrong = args.map((arg) => (arg.endsWith('0.75') ? 'momentum=0,decay=0.5' : arg));
  await fails([...wrong, ...state], 2, /--workload/, { input });
});

test('release --workload: the report, the picture and compare name the weights', async () => {
  const picture = join(scratch, 'decay.svg');
  const args = [...release, '--workload', 'momentum=0,decay=0.9', '--plot', picture];
  const { code, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /; workload momentum=0,decay=0.9, mechanism optimal, mode grid, zero-out neighbours/,
  );
  assert.match(readFileSync(picture, 'utf8'), /Private sums with weights \(momentum=0,decay=0.9\)/);
  const compared = await dpFtrl(['compare', '--steps', '30', '--workload', 'momentum=0.5']);
  assert.match(compared.stdout, /\ndp-ftrl release --workload momentum=0.5,decay=1 releases these/);
});

test('release --workload: bad weights and files are refused by name', async () => {
  const refused = (text, message, more = []) =>
    fails([...release, '--workload', text, ...more], 2, message, { input });
  await refused('momentum=0,decay=0', /--workload decay must be above 0 and at most 1, got 0/);
  await refused('momentum=1', /--workload momentum must be at least 0 and below 1, got 1/);
  await refused('momentum=x', /--workload must be prefix, window=W, momentum=B/);
  await refused(join(scratch, 'nothing.csv'), /nothing.csv/);
  writeFileSync(join(scratch, 'short.csv'), '1\n1\n');
  await refused(join(scratch, 'short.csv'), /short.csv has 2 rows and 1 column, but/);
  const lattice = ['--mode', 'lattice', '--strategy', 'blt'];
  await refused('momentum=0.5', /--workload must be prefix, got "momentum=0.5,decay=1"/, lattice);
});
