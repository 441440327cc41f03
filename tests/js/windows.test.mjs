// SPDX-License-Identifier: Apache-2.0

// Sums of a sliding window, the command and its state.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, golden } from './support/check.mjs';
import { fails } from './support/command.mjs';
import { dpFtrl, importEntry } from './support/consumer.mjs';
import { sized, some } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const scratch = scratchFolder('windows');

const steps = 50;
const target = { steps, epsilon: 1, delta: 1e-6, insecureSeed: 11 };
const weekly = { ...target, workload: { window: 7 } };
/** Multiples of 1/8, which every grid here represents exactly. */
const records = Float64Array.from({ length: 2 * steps }, (_, k) => (((5 * k) % 11) - 5) / 8);

/** Sums of the last `window` rows, recomputed for each row. */
function sumsOf(rows, dimension, window) {
  return rows.map((_, k) => {
    let sum = 0;
    for (let i = k; i >= 0 && i > k - window * dimension; i -= dimension) sum += rows[i];
    return sum;
  });
}

/** Calls `use` with a counter, and returns its result. */
function withCounter(options, use) {
  const counter = dp.counter(options);
  try {
    return use(counter);
  } finally {
    counter.dispose();
  }
}

const valuesOf = (readings) => readings.map(({ value }) => value);
const released = (options, numbers = records.subarray(0, steps)) =>
  withCounter(options, (counter) => valuesOf(counter.releaseMany(numbers)));

test('windows: releases minus their noise are the sums of the last rows, bit for bit', () => {
  for (const strategy of [
    'optimal',
    'normalized-square-root',
    'tree',
    'banded-square-root',
    'output',
  ]) {
    for (const window of [1, 2, 7, 49]) {
      const options = { ...target, dimension: 2, strategy, workload: { window } };
      const totals = dp.totals(options);
      const { certificate, grid } = totals;
      assert.equal(certificate.workload, `window=${window}`);
      const noise = dp.noise({
        strategy,
        steps,
        workload: { window },
        dimension: 2,
        insecureSeed: 11,
      });
      const scale = certificate.noiseStddev / grid;
      const rows = noise.rounded({ numRows: steps, scale });
      noise.dispose();
      const exact = sumsOf(records, 2, window);
      const expected = exact.map((sum, k) => sum + Number(rows[k]) * grid);
      const clipped = records.every((_, k) => k % 2 || Math.hypot(records[k], records[k + 1]) <= 1);
      assert.ok(clipped);
      const found = totals.releaseMany(records).flatMap(({ values }) => [...values]);
      assert.deepEqual(Float64Array.from(found), expected, `${strategy}, window ${window}`);
      totals.dispose();
    }
  }
});

test('windows: a window as long as the horizon gives running totals', () => {
  const plain = released(target);
  for (const window of [steps, 1000]) {
    withCounter({ ...target, workload: { window } }, (counter) => {
      assert.equal(counter.certificate.workload, 'prefix');
      assert.deepEqual(valuesOf(counter.releaseMany(records.subarray(0, steps))), plain);
    });
  }
});

test('windows: a window as long as the horizon takes states and strategies of running totals', async () => {
  for (const strategy of ['optimal', 'normalized-square-root', 'tree']) {
    const store = memoryStore();
    const found = [];
    // The same store is opened with each workload in turn.
    for (const workload of ['prefix', { window: steps }, { window: 1000 }, 'prefix']) {
      const counter = await dp.counter({ ...target, strategy, workload, store });
      found.push(await counter.release(records[counter.step]));
      await counter.dispose();
    }
    const plain = released({ ...target, strategy }, records.subarray(0, 4));
    assert.deepEqual(valuesOf(found), plain, strategy);
  }
  const saved = dp.optimize({ strategy: 'optimal', steps }).result();
  withCounter({ ...target, strategy: saved, workload: { window: steps } }, ({ certificate }) =>
    assert.equal(certificate.workload, 'prefix'),
  );
});

test('windows: the default mechanism is the best that is quick to find', () => {
  const nameOf = (options) =>
    withCounter({ ...weekly, ...options }, ({ certificate }) => certificate.mechanism);
  assert.equal(nameOf({ steps: 128 }), 'optimal');
  assert.equal(nameOf({ steps: 129 }), 'normalized-square-root');
  assert.equal(nameOf({ steps: sized(65536, 4096) }), 'normalized-square-root');
  assert.equal(nameOf({ steps: 65537 }), 'square-root');
  assert.equal(nameOf({ steps: 129, workload: { window: 129 } }), 'optimal');
  const { workload: week, epsilon, delta } = weekly;
  const { mechanism } = dp.certificate({ workload: week, epsilon, delta, steps: 200 });
  assert.equal(mechanism, 'normalized-square-root');
  // Within 5 % of the least errors.
  for (const { width: window, num_steps, error: least } of some(golden('optima').windows, 3)) {
    const problem = { steps: num_steps, epsilon: 1, delta: 1e-6, workload: { window } };
    const { meanError } = dp.certificate(problem);
    assert.ok(meanError >= least && meanError <= 1.05 * least, `window ${window}`);
  }
});

test('windows: a saved strategy brings its window', () => {
  const saved = dp.optimize({ strategy: 'optimal', steps, workload: { window: 7 } }).result();
  const options = { ...target, strategy: saved };
  assert.deepEqual(released(options), released(weekly));
  assert.deepEqual(released({ ...options, workload: { window: 7 } }), released(weekly));
  assert.throws(() => dp.counter({ ...options, workload: { window: 8 } }), {
    parameter: 'workload',
  });
});

test('windows: bad widths, and what windows do not have, are refused by name', async () => {
  const refused = (make, parameter, code = 'invalid_argument') =>
    assert.throws(make, { parameter, code });
  const counter = (options) => () => dp.counter({ ...weekly, ...options });
  for (const window of [0, -3, 1.5, NaN]) refused(counter({ workload: { window } }), 'window');
  refused(counter({ workload: { window: '7' } }), 'window', 'wrong_type');
  const lattice = { lattice: 'discrete-gaussian', strategy: 'blt' };
  refused(counter(lattice), 'workload', 'unsupported');
  refused(counter({ delta: 0 }), 'workload');
  const { epsilon, delta, workload } = weekly;
  refused(() => dp.study.simulation({ steps, epsilon, delta, workload }), 'workload', 'wrong_type');
  const huge = { steps: 2 ** 24, strategy: 'output', dimension: 16 };
  const wide = { ...target, ...huge, workload: { window: 2 ** 23 + 1 } };
  refused(() => dp.totals(wide), 'workload', 'resource_exhausted');
  const small = await (await importEntry('dp-ftrl/counter')).load();
  const message =
    /workload must be left out: workloads other than prefix sums are in the whole package/;
  for (const options of [weekly, { ...weekly, steps: 1000 }, { ...weekly, strategy: 'blt' }]) {
    assert.throws(() => small.counter(options), { parameter: 'workload', message });
  }
});

const input = `x\n${Array.from({ length: 40 }, (_, t) => (t % 4) / 4).join('\n')}\n`;
const release = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--columns', 'x'];
const seeded = [...release, '--seed', '11', '--quiet'];

async function rowsOf(args, text = input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input: text });
  assert.equal(code, 0, stderr);
  return stdout.trimEnd().split('\n').slice(1);
}

test('release --workload: the sums of the library, with the true ones beside', async () => {
  const named = [...seeded, '--strategy', 'optimal', '--show-nonprivate'];
  const rows = await rowsOf([...named, '--workload', 'window=7']);
  const cells = rows.map((row) => row.split(',').map(Number));
  const values = Float64Array.from(input.trimEnd().split('\n').slice(1), Number);
  withCounter({ ...weekly, steps: 40 }, (counter) => {
    assert.deepEqual(
      cells.map(([, x]) => x),
      valuesOf(counter.releaseMany(values)),
    );
    cells.forEach(([step, , , std]) => close(std, counter.stddev(step - 1), 1e-12));
  });
  assert.deepEqual(
    cells.map(([, , truth]) => truth),
    [...sumsOf(values, 1, 7)],
  );
  // Sums of decimals that cancel exactly.
  const decimal = `x\n${'0.1\n0.7\n'.repeat(6)}${'0\n'.repeat(3)}`;
  const truths = await rowsOf([...seeded, '--workload', 'window=3', '--show-nonprivate'], decimal);
  assert.equal(truths.at(-1).split(',')[2], '0');
});

test('release --workload: the report names the workload, and compare points to the option', async () => {
  const { stderr, stdout } = await dpFtrl([...release, '--workload', 'window=7', '--json'], {
    input,
  });
  assert.match(
    stderr,
    /; workload window=7, mechanism optimal --objective mean, mode grid, zero-out neighbours, horizon 40 rows/,
  );
  const { certificate, columns } = JSON.parse(stdout);
  assert.deepEqual([certificate.workload, columns], ['window=7', ['x']]);
  const plain = await dpFtrl(release, { input });
  assert.doesNotMatch(plain.stderr, /workload/);
  const compared = await dpFtrl(['compare', '--steps', '40', '--workload', 'window=7']);
  assert.match(
    compared.stdout,
    /\ndp-ftrl release --workload window=7 releases these sums with any of them as --strategy/,
  );
  const prefix = await dpFtrl(['compare', '--steps', '40']);
  assert.doesNotMatch(prefix.stdout, /dp-ftrl release/);
});

test('release --workload: the mechanism follows from the horizon, or from the file of --strategy', async () => {
  const rows = `x\n${'1\n'.repeat(3)}`;
  const named = async (options) => (await dpFtrl([...release, ...options], { input: rows })).stderr;
  assert.match(
    await named(['--steps', '129', '--workload', 'window=7']),
    /mechanism normalized-square-root,/,
  );
  assert.match(await named(['--steps', '129', '--workload', 'window=129']), /; mechanism optimal,/);
  const path = join(scratch, 'window.json');
  const optimize = ['optimize', '--strategy', 'optimal', '--steps', '40', '--workload', 'window=7'];
  assert.equal((await dpFtrl([...optimize, '--output', path])).code, 0);
  const strategy = ['--strategy', path];
  assert.deepEqual(
    await rowsOf([...seeded, ...strategy, '--show-nonprivate']),
    await rowsOf([
      ...[...seeded, '--workload', 'window=7', '--show-nonprivate'],
      ...['--strategy', 'optimal'],
    ]),
  );
  await fails(
    [...seeded, ...strategy, '--workload', 'window=8'],
    2,
    /--workload must be that of the saved/,
    { input },
  );
});

test('release --workload: several runs give the same as one, by days and with users', async () => {
  const days = ['a,2026-03-01,1\nb,2026-03-01,0.5\n', 'a,2026-03-02,1\n', 'b,2026-03-05,0.25\n'];
  const header = 'who,when,x\n';
  const daily = [
    '--time-column',
    'when',
    '--bucket',
    'day',
    '--steps',
    '10',
    '--workload',
    'window=2',
  ];
  for (const people of [[], ['--user-column', 'who', '--max-contributions', '2']]) {
    const args = [...seeded, ...daily, ...people];
    const whole = await rowsOf(args, header + days.join(''));
    assert.equal(whole.length, 5);
    const state = ['--state', join(scratch, `state-${people.length}`)];
    const parts = [];
    for (const day of days) parts.push(...(await rowsOf([...args, ...state], header + day)));
    assert.deepEqual(parts, whole);
    for (const other of ['window=3', 'prefix']) {
      const wrong = [...args, ...state].map((arg) => (arg === 'window=2' ? other : arg));
      await fails(wrong, 2, /--workload/, { input: header + days[2] });
    }
    const truths = await rowsOf([...args, '--show-nonprivate'], header + days.join(''));
    assert.deepEqual(
      truths.map((row) => row.split(',')[3]),
      ['1.5', '2.5', '1', '0', '0.25'],
    );
  }
});

test('release --workload: invalid and unsupported workloads are refused', async () => {
  const refused = async (text, message) =>
    fails([...release, '--workload', text], 2, message, { input });
  for (const text of ['window=', 'window=x', 'window=1.5']) {
    await refused(text, /--workload must be window=W, a whole number of steps: .*, got /);
  }
  for (const text of ['', 'windows=7']) {
    await refused(text, /--workload must be prefix, window=W, momentum=B, .*, got /);
  }
  await refused('window=0', /--workload window must be between 1 and/);
  await refused('window=-2', /--workload window must be between 1 and/);
  const window = ['--workload', 'window=3'];
  const pure = ['release', '--pure', '--epsilon', '1', '--clip', '1', ...window];
  await fails(pure, 2, /--workload must be 'prefix' or a window of 1 with --pure/, { input });
  const lattice = [...release, '--mode', 'lattice', '--strategy', 'blt', ...window];
  await fails(lattice, 2, /--workload must be prefix, got "window=3"/, { input });
  await fails(['count', ...window], 2, /unknown option "--workload"/);
  await fails(['learn', '--label', 'x', ...window], 2, /unknown option "--workload"/);
});

test('release --workload: it works with a budget and a picture', async () => {
  const budget = [
    '--budget',
    join(scratch, 'b.json'),
    '--budget-epsilon',
    '2',
    '--budget-delta',
    '1e-5',
  ];
  const picture = join(scratch, 'window.svg');
  const { code, stderr } = await dpFtrl(
    [...release, '--workload', 'window=7', ...budget, '--plot', picture],
    { input },
  );
  assert.equal(code, 0, stderr);
  assert.match(readFileSync(picture, 'utf8'), /Private sums of the last 7 steps/);
});
