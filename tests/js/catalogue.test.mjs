// SPDX-License-Identifier: Apache-2.0

// Errors, matrices and comparisons of every mechanism, for every workload and participation.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry, installed, root } from './support/consumer.mjs';
import { sized } from './support/extent.mjs';
import { lowerTriangular, namesOf } from './support/mechanisms.mjs';
import { WORKLOADS } from './support/mechanisms.mjs';
import { importSource } from './support/sources.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const names = namesOf(dp);
const HORIZONS = [1, 2, 3, 7, 8];

const parameters = await importSource('shared/parameters.ts');
const { EXPLAINED, GENERAL, optionOf, PARAMETER_NAMES, PARAMETERS } = parameters;

/** Row-major product of an n x m and an m x k matrix. */
function product(a, b, [n, m, k]) {
  const out = new Float64Array(n * k);
  for (let i = 0; i < n; ++i)
    for (let l = 0; l < m; ++l)
      for (let j = 0; j < k; ++j) out[i * k + j] += a[i * m + l] * b[l * k + j];
  return out;
}

/** Euclidean norms of the columns of a row-major matrix. */
function columnNorms(matrix, numColumns) {
  const squares = new Float64Array(numColumns);
  matrix.forEach((x, k) => (squares[k % numColumns] += x * x));
  return squares.map(Math.sqrt);
}

function largestDifference(a, b) {
  assert.equal(a.length, b.length);
  return a.reduce((most, x, i) => Math.max(most, Math.abs(x - b[i])), 0);
}

test('mechanisms: every entry is complete, and its values have the right types', () => {
  for (const entry of dp.strategies) {
    for (const key of ['name', 'summary', 'stepCost', 'memoryCost']) {
      assert.ok(typeof entry[key] === 'string' && entry[key] !== '', key);
    }
    assert.ok(
      entry.parameters.every((name) => name in PARAMETERS),
      entry.name,
    );
    assert.ok(['adapted', 'decoded'].includes(entry.workloads));
    assert.ok(Number.isInteger(entry.maxSteps) && entry.maxSteps >= 1 && entry.maxSteps <= 2 ** 40);
    assert.equal(typeof entry.causal, 'boolean');
    assert.equal(entry.pureDp, true, 'proved for all of them');
  }
  const parts = [dp.strategies, dp.strategies[0], dp.strategies[0].parameters];
  assert.ok(parts.every(Object.isFrozen), 'nobody changes the list for others');
});

test('parameters: each of the table is general, or some mechanism of the core takes it', () => {
  const taken = new Set(dp.strategies.flatMap((entry) => entry.parameters));
  const own = PARAMETER_NAMES.filter((name) => !GENERAL.includes(name));
  assert.deepEqual([...taken].sort(), own.sort());
});

test('parameters: the core takes a value of the kind in the table, and refuses others', () => {
  const values = { count: 2, number: 0.5, numbers: [0.5], flag: true, objective: 'mean' };
  const wrong = { count: 1.5, number: '0.5', numbers: 0.5, flag: 1, objective: 'least' };
  const together = { decays: { weights: [0.1] }, weights: { decays: [0.5] } };
  const special = {
    subtractive: { subtractive: true, arity: 3 },
    horizonCap: { horizonCap: 16 },
    completeEpochs: { completeEpochs: true, epochLength: 4 },
  };
  const entries = dp.strategies;
  for (const name of PARAMETER_NAMES) {
    const taker = entries.find((entry) => entry.parameters.includes(name))?.name ?? 'tree';
    const options = { steps: 8 };
    const given = special[name] ?? { ...together[name], [name]: values[PARAMETERS[name]] };
    assert.ok(dp.error({ ...options, strategy: { name: taker, ...given } }).maxError > 0, name);
    const own = { name: taker, ...given, [name]: wrong[PARAMETERS[name]] };
    const refused = { ...options, strategy: own };
    assert.throws(() => dp.error(refused), { parameter: name }, name);
  }
});

test('parameters: the declarations and the guide agree with the table', () => {
  const declared = readFileSync(join(installed, 'dist/mechanism.d.ts'), 'utf8');
  const entries = dp.strategies;
  const rows = PARAMETER_NAMES.map((name) => {
    assert.match(declared, new RegExp(`^ {4}${name}\\?: `, 'm'), `mechanism.d.ts declares ${name}`);
    const { meaning, value } = EXPLAINED[name];
    const takers = entries.filter((entry) => entry.parameters.includes(name));
    const whose = takers.map((entry) => `\`${entry.name}\``).join(', ') || 'any';
    const option = `\`--${optionOf(name)}${value === undefined ? '' : ` ${value.replace('|', '\\|')}`}\``;
    return `| \`${name}\` | ${option} | ${meaning} | ${whose} |`;
  });
  const [, count] = /lists all (\d+) with/.exec(readFileSync(join(root, 'README.md'), 'utf8'));
  assert.equal(Number(count), entries.length, 'mechanisms in the README');
  const guide = readFileSync(join(root, 'docs/guide/choosing-a-mechanism.md'), 'utf8');
  const table = guide.split('\n').filter((line) => /^\| `\w+` \| `--/.test(line));
  assert.equal(table.join('\n'), rows.join('\n'));
});

test('matrices: B C is the workload, and errors are those of B and C', () => {
  for (const mechanism of names) {
    for (const [workload, name, entry] of WORKLOADS) {
      const options = { strategy: mechanism, steps: 8, workload };
      const where = `${mechanism}, ${name}`;
      const {
        numSteps,
        numMeasurements: m,
        encoder,
        decoder,
        ...rest
      } = dp.error({ ...options, matrices: true }).matrices;
      assert.equal(numSteps, 8);
      const residual = largestDifference(
        product(decoder, encoder, [8, m, 8]),
        lowerTriangular(8, entry),
      );
      assert.ok(residual < 1e-11, `${where}: ${residual}`);
      const error = dp.error(options);
      assert.equal(error.workload, name);
      assert.ok(error.decoderResidual < 1e-11, where);
      const sensitivity = Math.max(...columnNorms(encoder, 8));
      close(error.sensitivity, sensitivity, 1e-11);
      assert.equal(error.sensitivityExactness, 'exact', where);
      const variances = product(decoder, transpose(decoder, [8, m]), [8, m, 8]);
      const scaled = variances.map((x) => x * sensitivity ** 2);
      const size = error.maxError ** 2;
      assert.ok(largestDifference(rest.noiseCovariance, scaled) < 1e-11 * size, where);
      const diagonal = Float64Array.from({ length: 8 }, (_, t) => Math.sqrt(scaled[9 * t]));
      assert.ok(
        largestDifference(dp.error({ ...options, perStep: true }).perStep, diagonal) < 1e-10,
        where,
      );
    }
  }
});

function transpose(matrix, [n, m]) {
  return Float64Array.from({ length: n * m }, (_, k) => matrix[(k % n) * m + Math.floor(k / n)]);
}

test('error: parts are there if asked for, in the units of the report, and refused for other reports', () => {
  const problem = { strategy: 'tree', steps: 6, perStep: true, increments: true, matrices: true };
  const near = dp.error(problem);
  const far = dp.error({ ...problem, neighbours: 'replace-one' });
  close(Math.max(...far.perStep), far.maxError, 1e-12);
  assert.deepEqual(
    far.perStep,
    near.perStep.map((error) => 2 * error),
  );
  assert.deepEqual(
    far.matrices.noiseCovariance,
    near.matrices.noiseCovariance.map((entry) => 4 * entry),
  );
  assert.deepEqual(far.matrices.encoder, near.matrices.encoder);
  assert.deepEqual(far.increments, near.increments);
  const plain = dp.error({ ...problem, perStep: false, increments: false, matrices: false });
  assert.deepEqual(plain, dp.error({ strategy: 'tree', steps: 6 }));
  for (const parameter of ['perStep', 'increments', 'matrices']) {
    assert.ok(parameter in near && !(parameter in plain), parameter);
    const asked = { steps: 6, [parameter]: true };
    for (const other of [{ workloads: ['prefix'] }, { epsilon: 1, delta: 0 }]) {
      assert.throws(() => dp.error({ ...asked, ...other }), { call: 'error', parameter });
    }
    const wrong = () => dp.error({ ...problem, [parameter]: 1 });
    assert.throws(wrong, { code: 'wrong_type', parameter });
  }
});

test('matrices: shapes are right at awkward horizons, and more than 1024 steps are refused', () => {
  for (const mechanism of names) {
    for (const numSteps of HORIZONS) {
      const it = dp.error({ strategy: mechanism, steps: numSteps, matrices: true }).matrices;
      assert.equal(it.encoder.length, it.numMeasurements * numSteps);
      assert.equal(it.decoder.length, it.numMeasurements * numSteps);
      assert.equal(it.noiseCovariance.length, numSteps ** 2);
      for (const matrix of [it.encoder, it.decoder, it.noiseCovariance]) {
        assert.ok(matrix instanceof Float64Array && matrix.every(Number.isFinite));
      }
    }
  }
  const message = /error: steps must be between 1 and 1024, got 1025/;
  const call = () => dp.error({ strategy: 'tree', steps: 1025, matrices: true }).matrices;
  rejects(call, RangeError, 'invalid_argument', message);
});

test('matrices: B C is the workload at 1024 steps', () => {
  const n = 1024;
  const of = { strategy: 'square-root', steps: n };
  const { encoder, decoder, numMeasurements, noiseCovariance } = dp.error({
    ...of,
    matrices: true,
  }).matrices;
  for (const [row, column] of [
    [0, 0],
    [1023, 0],
    [1023, 1023],
    [700, 701],
    [512, 300],
  ]) {
    let entry = 0;
    for (let k = 0; k < numMeasurements; ++k)
      entry += decoder[row * numMeasurements + k] * encoder[k * n + column];
    assert.ok(Math.abs(entry - (column <= row ? 1 : 0)) < 1e-12, `${row} ${column}`);
  }
  const { maxError } = dp.error(of);
  const largest = Math.max(...Array.from({ length: n }, (_, i) => noiseCovariance[i * n + i]));
  assert.ok(Math.abs(Math.sqrt(largest) / maxError - 1) < 1e-9);
});

test('error: the bound of a workload is below the error of every mechanism', () => {
  for (const [workload] of WORKLOADS) {
    for (const mechanism of names) {
      const { lowerBound, meanError, maxError } = dp.error({
        strategy: mechanism,
        steps: 8,
        workload,
      });
      assert.ok(lowerBound > 0 && lowerBound <= maxError * (1 + 1e-12), mechanism);
      assert.ok(meanError <= maxError * (1 + 1e-12));
    }
  }
});

const madeForParticipation = new Set(['optimal', 'blt', 'banded-toeplitz', 'banded']);

test('error: more participations never cost less, and 1 costs the same as single participation', () => {
  for (const mechanism of names) {
    const at = (participation) => dp.error({ strategy: mechanism, steps: 12, participation });
    const single = at('once');
    assert.equal(single.participation, 'single');
    for (const once of [{ epochs: 1 }, { times: 1, apart: 1 }]) {
      close(at(once).sensitivity, single.sensitivity, 1e-9);
    }
    const epochs = at({ epochs: 3 });
    assert.equal(epochs.participation, 'fixed-epoch');
    assert.ok(epochs.sensitivity >= single.sensitivity * (1 - 1e-12), mechanism);
    const apart = at({ times: 3, apart: 4 });
    assert.equal(apart.participation, 'min-separation');
    // Three steps at least 4 apart include the patterns of three epochs.
    if (epochs.sensitivityExactness === 'exact') {
      assert.ok(apart.sensitivity >= epochs.sensitivity * (1 - 1e-9), mechanism);
    }
    // Three participations have at most three times the sensitivity of one.
    if (apart.sensitivityExactness === 'exact') {
      assert.ok(apart.sensitivity <= 3 * single.sensitivity * (1 + 1e-9), mechanism);
    }
    // The mechanism is the same unless it is optimised for the participation.
    if (!madeForParticipation.has(mechanism)) {
      close(epochs.maxError / epochs.sensitivity, single.maxError / single.sensitivity, 1e-12);
    }
  }
  const independent = { strategy: 'independent', steps: 12, participation: { epochs: 3 } };
  close(dp.error(independent).sensitivity, Math.sqrt(3), 1e-12);
});

test('error: a parameter that a mechanism does not take is refused, not ignored', () => {
  for (const { name, parameters } of dp.strategies) {
    if (parameters.includes('nu')) continue;
    const call = () => dp.error({ strategy: { name: name, nu: 0.5 }, steps: 8 });
    rejects(call, RangeError, 'invalid_argument', /nu/);
  }
});

test('certificate: workload, participation and bound are the same as those of error', () => {
  for (const participation of ['once', { epochs: 2 }, { times: 2, apart: 3 }]) {
    const options = { strategy: 'tree', steps: 8, participation, workload: { window: 3 } };
    // Ratio and gap refer to one objective and follow from the other values.
    const { objective, ratio, gap, ...error } = dp.error(options);
    const it = dp.certificate({ ...options, epsilon: 1, delta: 1e-6 });
    for (const key of Object.keys(error)) assert.deepEqual(it[key], error[key], key);
  }
});

test('counter, simulation: participation sets the sensitivity, and simulations are of prefix sums only', () => {
  const own = { epsilon: 1, delta: 1e-6, participation: { epochs: 4 } };
  for (const handle of [
    dp.counter({ ...own, steps: 8, strategy: 'independent' }),
    dp.study.simulation({ ...own, steps: 8, strategy: 'independent' }),
  ]) {
    close(handle.certificate.sensitivity, 2, 1e-12);
    handle.dispose();
  }
  const strategy = dp.optimize({ steps: 8, workload: { momentum: 0.9 } }).result();
  const call = () => dp.study.simulation({ steps: 8, epsilon: 1, delta: 1e-6, strategy });
  const message = /workload must be 'prefix', the only one that is released here, got momentum/;
  rejects(call, RangeError, 'invalid_argument', message);
});

test('bad input: errors for invalid workloads name the parameter and the problem', () => {
  const make = (workload) => () => dp.error({ strategy: 'tree', steps: 3, workload });
  const types = [
    [make(5), /error: workload must be 'prefix' or an object, got number/],
    [make(null), /error: workload must be 'prefix' or an object, got null/],
    [make([1, 1, 1]), /error: workload must be 'prefix' or an object, got array/],
    [make({}), /workload must have one of matrix, rates, window, momentum, decay, got none/],
    [make({ widnow: 3 }), /error: workload: widnow is an unknown option/],
    [make({ window: 3, momentum: 0.5 }), /workload must not have both window and momentum/],
    [make({ rates: [1, 1, 1], decay: 0.5 }), /workload must not have both rates and decay/],
    [make({ momentum: '0.5' }), /momentum must be a number, got string/],
    [make({ rates: 'abc' }), /rates must be an array of numbers, got string/],
    [make({ rates: [1, '1', 1] }), /rates\[1\] must be a number, got string/],
  ];
  for (const [call, message] of types) rejects(call, TypeError, 'wrong_type', message);
  const lengths = [
    [make({ rates: [1, 1] }), /rates must have steps = 3 entries, got 2/],
    [make({ matrix: [1, 1] }), /matrix must have steps \* steps = 9 entries, got 2/],
  ];
  for (const [call, message] of lengths) rejects(call, TypeError, 'wrong_length', message);
  const ranges = [
    [make('sum'), /error: workload must be 'prefix' or an object, got "sum"/],
    [make({ momentum: 1 }), /momentum must be at least 0 and below 1, got 1/],
    [make({ momentum: NaN }), /momentum must be .*, got NaN/],
    [make({ momentum: 0.5, decay: 0 }), /decay must be above 0 and at most 1, got 0/],
    [make({ decay: 1.5 }), /decay must be above 0 and at most 1, got 1.5/],
    [make({ window: 0 }), /error: window must be between 1 and .*, got 0/],
    [make({ window: 1.5 }), /window must be an integer, got 1.5/],
    [make({ rates: [1, 0, 1] }), /rates\[1\] must be different from 0 \(.*\), got 0/],
    [make({ rates: [1, NaN, 1] }), /rates\[1\] must be finite, got NaN/],
    [make({ matrix: [1, 2, 0, 1, 1, 0, 1, 1, 1] }), /matrix\(0, 1\) must be 0, above the diag/],
    [make({ matrix: [1, 0, 0, 1, 0, 0, 1, 1, 1] }), /matrix\(1, 1\) must be other than 0 .*got 0/],
    [make({ matrix: [1, 0, 0, NaN, 1, 0, 1, 1, 1] }), /matrix\(1, 0\) must be finite.*NaN/],
  ];
  for (const [call, message] of ranges) rejects(call, RangeError, 'invalid_argument', message);
});

test('bad input: errors for invalid participations name the parameter and the problem', () => {
  const make = (participation) => () => dp.error({ strategy: 'tree', steps: 6, participation });
  const types = [
    [make(5), /error: participation must be 'once' or an object with .*, got number/],
    [make({}), /error: times must be a number, got undefined/],
    [make({ epoch: 2 }), /error: participation: epoch is an unknown option/],
    [make({ times: 2 }), /apart must be a number, got undefined/],
    [make({ epochs: '2' }), /epochs must be a number, got string/],
  ];
  for (const [call, message] of types) rejects(call, TypeError, 'wrong_type', message);
  const ranges = [
    [make('twice'), /error: participation must be 'once' or an object with .*, got "twice"/],
    [make({ epochs: 2, apart: 3 }), /apart must be left out with epochs, got 3/],
    [make({ epochs: 4 }), /error: epochs must be a divisor of steps = 6, got 4/],
    [make({ epochs: 0 }), /error: epochs must be a divisor of steps = 6, got 0/],
    [make({ epochs: -2 }), /error: epochs must be a divisor of steps = 6, got -2/],
    [make({ epochs: 1.5 }), /error: epochs must be an integer, got 1.5/],
    [make({ times: 0, apart: 1 }), /times must be .*, got 0/],
    [make({ times: 2, apart: 0 }), /apart must be .*, got 0/],
  ];
  for (const [call, message] of ranges) rejects(call, RangeError, 'invalid_argument', message);
});

test('bad input: errors for parameters of the wrong type name the parameter', () => {
  const make = (change) => () => dp.error({ strategy: { name: 'tree', ...change }, steps: 6 });
  const cases = [
    [make({ bands: '4' }), /error: bands must be a number, got string/],
    [make({ nu: null }), /error: nu must be a number, got null/],
    [make({ subtractive: 1 }), /error: subtractive must be a boolean, got number/],
    [make({ normalizeColumns: 'yes' }), /error: normalizeColumns must be a boolean, got string/],
    [make({ decays: 0.5 }), /error: decays must be an array of numbers, got number/],
    [make({ weights: [1, null] }), /error: weights\[1\] must be a number, got null/],
    [make({ band: 4 }), /error: strategy: band is an unknown option; known are name, bands/],
  ];
  for (const [call, message] of cases) rejects(call, TypeError, 'wrong_type', message);
  const message = /error: bands must be an integer, got 1.5/;
  rejects(make({ bands: 1.5 }), RangeError, 'invalid_argument', message);
});

/** Checks the properties that every comparison must have. */
function checkComparison(comparison, { objective: _, ...options }) {
  const { mechanisms, leftOut, lowerBound, objective } = comparison;
  const aim = (row) => (objective === 'max' ? row.maxError : row.meanError);
  mechanisms.forEach((row, i) => {
    if (i > 0) assert.ok(aim(mechanisms[i - 1]) <= aim(row), 'best first');
    if (lowerBound === null) assert.equal(row.ratio, null);
    else {
      close(row.ratio, aim(row) / lowerBound, 1e-12);
      assert.ok(row.ratio >= 1, `${row.mechanism} is below the lower bound`);
    }
    const { mechanism, parameters } = row;
    const alone = dp.error({ ...options, strategy: { name: mechanism, ...parameters } });
    for (const key of ['sensitivity', 'sensitivityExactness', 'maxError', 'meanError']) {
      assert.equal(row[key], alone[key], `${mechanism}: ${key}`);
    }
  });
  const seen = [...mechanisms, ...leftOut].map((row) => row.mechanism);
  assert.deepEqual([...new Set(seen)].sort(), dp.strategies.map((it) => it.name).sort());
  for (const { mechanism, reason } of leftOut) {
    assert.ok(reason !== '' && !reason.startsWith(`${mechanism}:`), reason);
  }
  const variants = mechanisms.map((row) => `${row.mechanism} ${JSON.stringify(row.parameters)}`);
  assert.equal(new Set(variants).size, variants.length, 'no row twice');
}

test('compare: rows are sorted and complete, and their figures are those of error', () => {
  for (const options of [
    { steps: 1 },
    { steps: sized(100, 24) },
    { steps: sized(100, 24), objective: 'mean' },
    { steps: sized(96, 24), participation: { epochs: 3 } },
    {
      steps: sized(100, 24),
      participation: { times: 2, apart: sized(50, 12) },
    },
    ...WORKLOADS.map(([workload]) => ({ steps: 8, workload, objective: 'mean' })),
  ]) {
    const comparison = dp.compare(options).result();
    assert.equal(comparison.numSteps, options.steps);
    assert.equal(comparison.objective, options.objective ?? 'max');
    checkComparison(comparison, options);
  }
});

test('compare: a row describes its own strategy where that differs from its family', () => {
  const row = (options, wanted) =>
    dp
      .compare(options)
      .result()
      .mechanisms.find((it) =>
        Object.entries(wanted).every(([key, value]) => (it[key] ?? it.parameters[key]) === value),
      );
  const steps = sized(64, 32);
  const plain = row({ steps }, { mechanism: 'tree-k', arity: 4 });
  assert.equal(plain.causal, true);
  const entry = dp.strategies.find(({ name }) => name === 'tree-k');
  assert.equal(entry.causal, false, 'by default it is subtractive');
  const optimal = { mechanism: 'optimal' };
  assert.equal(row({ steps }, optimal).memoryCost, 'buffers vectors');
  const dense = row({ steps, participation: { epochs: 4 } }, optimal);
  assert.deepEqual([dense.stepCost, dense.memoryCost], ['O(n)', 'n vectors']);
});

test('compare: with repeated participation the best ratio to the lower bound stays small', () => {
  const best = (options) => dp.compare(options).result().mechanisms[0].ratio;
  assert.ok(best({ steps: 64, participation: { times: 4, apart: 16 } }) < 1.05);
  assert.ok(best({ steps: 1024, participation: { epochs: 4 } }) < 1.7);
});

test('bounds: proved bounds are given beside published ones, with where those hold', () => {
  const { max, mean, schatten, squareRoot, published, numSteps } = dp.bounds({ steps: 1024 });
  assert.equal(numSteps, 1024);
  assert.ok(max <= 2.961464832637 && max > 2.9614, 'the optimum');
  assert.ok(mean <= 2.955451992328 && mean > 2.9554);
  close(schatten, 2.909584, 1e-6);
  const root = dp.error({ strategy: 'square-root', steps: 1024 });
  assert.ok(root.maxError <= squareRoot.max && root.meanError <= squareRoot.mean);
  assert.deepEqual([published.max.holds, published.mean.holds], [false, true]);
  const from = [published.max, published.mean, published.lower].map((it) => it.holdsFrom);
  assert.deepEqual([...from, published.mean.checkedTo], [null, 7, 1, 2 ** 22]);
  assert.ok(published.max.value < root.maxError, 'printed, and too small');
  assert.ok(published.lower.value <= schatten && published.lower.holds);
  const far = dp.bounds({ steps: 1e9 });
  assert.ok(far.max > 7 && !far.published.lower.holds);
  close(far.max, far.schatten, 1e-12);
  rejects(() => dp.bounds({ steps: 0 }), RangeError, 'invalid_argument', /steps/);
  rejects(
    () => dp.bounds({ steps: 1.5 }),
    RangeError,
    'invalid_argument',
    /bounds: steps must be an integer/,
  );
  rejects(
    () => dp.bounds({ steps: '4' }),
    TypeError,
    'wrong_type',
    /bounds: steps must be a number/,
  );
});

test('bounds: the errors of square root and tree are exact, and their ratio is the published one', () => {
  for (const steps of [1, 2, 7, 64, 1000]) {
    const { squareRoot, tree } = dp.bounds({ steps });
    const root = dp.error({ strategy: 'square-root', steps });
    close(squareRoot.meanSquaredError, root.meanError ** 2, 1e-9);
    close(squareRoot.squaredColumnNorm, root.sensitivity ** 2, 1e-9);
    close(tree.meanSquaredError, dp.error({ strategy: 'tree', steps }).meanError ** 2, 1e-12);
    close(tree.overSquareRoot, tree.meanSquaredError / squareRoot.meanSquaredError, 1e-12);
  }
  // The tree over 2^k steps has the mean squared error (k + 1)(k / 2 + 2^-k).
  const known = [
    [10, 5.69],
    [16, 6.92],
    [20, 7.43],
    [30, 8.21],
  ];
  for (const [k, ratio] of known) {
    const { tree, published, squareRoot } = dp.bounds({ steps: 2 ** k });
    close(tree.meanSquaredError, (k + 1) * (k / 2 + 2 ** -k), 1e-12);
    assert.equal(tree.overSquareRoot.toFixed(2), ratio.toFixed(2));
    assert.equal(tree.limit.toFixed(2), '10.27');
    assert.ok(published.max.value < squareRoot.squaredColumnNorm);
  }
});

test('bounds: published bounds on every mechanism give no number', () => {
  const { everyMechanism } = dp.bounds({ steps: 8 }).published;
  assert.equal(everyMechanism.length, 2);
  for (const { bound, source, range } of everyMechanism) {
    assert.match(bound, /of order ln\(steps\)/);
    assert.match(source, /\(20\d\d\)/);
    assert.match(range, /epsilon and delta/);
  }
});

test('bounds: the least error over epochs lies between a lower and an upper bound', () => {
  const { epochs, max } = dp.bounds({ steps: 64, epochs: 4, gap: 1e-5 });
  assert.equal(max, dp.bounds({ steps: 64 }).max, 'the others are for one participation');
  // Known to seven digits from an independent computation
  // (tests/cpp/optimal/dense_optimum_test.cpp).
  assert.ok(epochs.lower <= 4.407853 * (1 + 2e-7) && epochs.upper >= 4.407853 * (1 - 2e-7));
  assert.ok(epochs.upper <= epochs.lower * (1 + 1.1e-5));
  assert.equal(epochs.minDimension, 2);
  const optimum = {
    strategy: { name: 'optimal', objective: 'mean' },
    steps: 64,
    participation: { epochs: 4 },
  };
  assert.ok(dp.error(optimum).meanError >= epochs.lower);
  const { mechanisms, epochs: two } = dp.bounds({ steps: 64, epochs: 2, rho: 0.1 });
  assert.ok(mechanisms.every > 0 && two.lower < epochs.lower);
});

test('bounds: beyond dense matrices, the lower bound of compare is close to the optimum over epochs', () => {
  const problem = { steps: 2048, participation: { epochs: 2 }, objective: 'mean' };
  const { epochs } = dp.bounds({ steps: 2048, epochs: 2, gap: 1e-3 });
  const { lowerBound } = dp.compare(problem).result();
  assert.ok(lowerBound <= epochs.upper && lowerBound > 0.998 * epochs.lower);
});

test('bounds: invalid or unsupported epochs and gaps are refused', () => {
  const refused = (numSteps, options, name, part) =>
    rejects(() => dp.bounds({ steps: numSteps, ...options }), RangeError, name, part);
  refused(
    64,
    { epochs: 3 },
    'invalid_argument',
    /bounds: epochs must be a divisor of .*steps.* \(64\)/,
  );
  refused(64, { epochs: 0 }, 'invalid_argument', /bounds: epochs/);
  refused(64, { epochs: 128 }, 'invalid_argument', /bounds: epochs/);
  refused(130, { epochs: 65 }, 'invalid_argument', /bounds: epochs must be between 1 and 64/);
  rejects(
    () => dp.bounds({ steps: 2 ** 16, epochs: 16 }),
    DpError,
    'unsupported',
    /bounds: steps must be at most 32768 for 16 epochs/,
  );
  for (const gap of [0, -1, NaN, Infinity])
    refused(8, { epochs: 2, gap }, 'invalid_argument', /bounds: gap/);
  const unknown = /bounds: numSteps is an unknown option; known are steps, /;
  rejects(() => dp.bounds({ numSteps: 8 }), TypeError, 'wrong_type', unknown);
  rejects(() => dp.bounds({ steps: 8, gap: 1e-3 }), TypeError, 'wrong_type', /bounds: epochs/);
});

test('compare: a variant has errors of its own, and normalised columns are an improvement', () => {
  for (const [numSteps, objective] of [
    [7, 'max'],
    [256, 'mean'],
  ]) {
    const { mechanisms } = dp.compare({ steps: numSteps, objective }).result();
    for (const row of mechanisms.filter(({ parameters }) => Object.keys(parameters).length > 0)) {
      const name = `${row.mechanism} ${JSON.stringify(row.parameters)}`;
      const same = mechanisms.filter(
        (other) =>
          Math.abs(other.maxError / row.maxError - 1) < 1e-9 &&
          Math.abs(other.meanError / row.meanError - 1) < 1e-9,
      );
      assert.equal(same.length, 1, name);
      const plain = dp.error({ strategy: row.mechanism, steps: numSteps });
      const aim = objective === 'max' ? 'maxError' : 'meanError';
      if (row.parameters.normalizeColumns) assert.ok(row[aim] < plain[aim], name);
    }
  }
});

test('compare: normalised columns are among the variants', () => {
  const { mechanisms } = dp.compare({ steps: 64 }).result();
  assert.ok(mechanisms.some((row) => row.parameters.normalizeColumns));
});

test('compare: 2^20 steps cost little more than 2^16', () => {
  const timed = (steps) => {
    const start = process.cpuUsage();
    const comparison = dp.compare({ steps }).result();
    return { comparison, time: process.cpuUsage(start).user };
  };
  const { time: usual } = timed(2 ** 16);
  const { comparison, time } = timed(2 ** 20);
  assert.ok(time < 8 * usual, `${time} us, ${usual} us for 2^16 steps`);
  assert.ok(comparison.mechanisms.length > 3 && comparison.lowerBound !== null);
});

test('compare: what has no formula at this size is left out, with the reason', () => {
  const { lowerBound, mechanisms, leftOut } = dp.compare({ steps: 2 ** 40 }).result();
  assert.ok(lowerBound > 9);
  assert.ok(mechanisms.some((row) => row.mechanism === 'tree'));
  const { reason } = leftOut.find((row) => row.mechanism === 'square-root');
  assert.match(reason, /its formulas end at \d+ steps/);
});

test('compare: an invalid problem is refused rather than leaving out every mechanism', () => {
  const ranges = [
    [{ steps: 0 }, /steps must be .*, got 0/],
    [{ steps: 2 ** 41 }, /steps must be .*, got 2199023255552/],
    [{ steps: 4, objective: 'least' }, /compare: objective must be one of max, mean, got "le/],
    [{ steps: 4, participation: { epochs: 3 } }, /compare: epochs must be a divisor of st/],
    [{ steps: 4, participation: { times: 0, apart: 1 } }, /got 0/],
    [{ steps: 4, workload: { momentum: 2 } }, /momentum must be .*, got 2/],
  ];
  for (const [options, message] of ranges) {
    rejects(() => dp.compare(options).result(), RangeError, 'invalid_argument', message);
  }
  const unknown = /compare: strategy is an unknown option; known are steps/;
  const call = () => dp.compare({ steps: 4, strategy: 'tree' }).result();
  rejects(call, TypeError, 'wrong_type', unknown);
  const size = 4097;
  const large = { steps: size, workload: { matrix: lowerTriangular(size, () => 1) } };
  rejects(() => dp.compare(large).result(), DpError, 'unsupported', /steps must be at most 4096/);
});

test('compare: it runs piece by piece, and its result is that of all at once', async () => {
  const search = dp.compare({ steps: 12 });
  let [last, pieces] = [0, 0];
  for (const { fraction, iterations } of search) {
    assert.ok(fraction >= last && fraction <= 1);
    last = fraction;
    pieces += 1;
    assert.ok(iterations === pieces || fraction === 1);
  }
  assert.ok(pieces >= 24 && last === 1);
  const whole = dp.compare({ steps: 12 }).result();
  assert.deepEqual(search.result(), whole);
  assert.equal(search.result(), search.result());
  assert.ok(whole.mechanisms.every((row) => row.pureDp));
  const fractions = [];
  const onProgress = ({ fraction }) => fractions.push(fraction);
  assert.deepEqual(await dp.compare({ steps: 12 }).run({ onProgress }), whole);
  assert.equal(fractions.at(-1), 1);
});

test('compare: a search that is stopped goes on where it was, unless it was disposed of', async () => {
  const stop = new AbortController();
  const stopped = dp.compare({ steps: 12 });
  const onProgress = ({ iterations }) => iterations === 3 && stop.abort();
  const aborted = stopped.run({ signal: stop.signal, onProgress });
  await assert.rejects(aborted, { code: 'aborted', call: 'compare' });
  const [next] = stopped;
  assert.equal(next.iterations, 4);
  assert.deepEqual(await stopped.run(), dp.compare({ steps: 12 }).result());
  await assert.rejects(stopped.run({ signal: 1 }), /compare: signal must be an AbortSignal/);
  const gone = dp.compare({ steps: 12 });
  gone.dispose();
  assert.throws(() => gone.result(), { code: 'disposed' });
});
