// SPDX-License-Identifier: Apache-2.0

// Optimised mechanisms as plain data: found by a search, stored as JSON, and used wherever a
// mechanism is named.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };

const SEARCHES = [
  { name: 'optimal', steps: 100 },
  { name: 'optimal', steps: 100, buffers: 3, objective: 'mean' },
  { name: 'optimal', steps: 60, buffers: 0 },
  { name: 'optimal', steps: 100, solver: 'none' },
  { name: 'optimal', steps: 30, workload: { momentum: 0, decay: 0.9 } },
  { name: 'blt', steps: 100, buffers: 2 },
  { name: 'blt-normalized', steps: 50, buffers: 2, objective: 'mean' },
  { name: 'blt-scaled', steps: 50, buffers: 2 },
  { name: 'banded', steps: 40, bands: 4 },
  { name: 'banded-toeplitz', steps: 100, bands: 6 },
];

/** Moves the parameters of a mechanism into `strategy`. */
function searchOf({ name = 'optimal', steps, ...options }) {
  const isParameter = ([name]) => ['objective', 'buffers', 'bands', 'epochLength'].includes(name);
  const all = Object.entries(options);
  const own = Object.fromEntries(all.filter(isParameter));
  const others = Object.fromEntries(all.filter((entry) => !isParameter(entry)));
  return { strategy: { name, ...own }, ...others, steps };
}

const saved = dp.optimize({ strategy: 'optimal', steps: 40 }).result();

test('optimize: a result has all its fields, as plain data that JSON preserves', () => {
  for (const options of SEARCHES) {
    const it = dp.optimize(searchOf(options)).result();
    assert.equal(
      Object.keys(it).join(' '),
      'format version name steps workload participation objective error lowerBound ' +
        'boundMethod ratio status iterations parameters',
    );
    assert.deepEqual([it.format, it.version], ['dp-ftrl strategy', 2]);
    assert.deepEqual([it.name, it.steps], [options.name, options.steps]);
    assert.equal(it.objective, options.objective ?? 'max');
    assert.deepEqual(it.workload, options.workload ?? 'prefix');
    assert.equal(it.participation, 'once');
    assert.equal(it.status, options.solver === 'none' ? 'stopped' : 'converged');
    assert.equal(it.iterations > 0, options.solver !== 'none');
    assert.ok(it.error >= it.lowerBound && it.lowerBound > 1);
    assert.equal(it.boundMethod, 'dual');
    assert.equal(it.ratio, it.error / it.lowerBound);
    const { maxError, meanError } = dp.error({ strategy: it, steps: it.steps });
    assert.equal(it.error, it.objective === 'max' ? maxError : meanError);
    assert.deepEqual(structuredClone(it), it);
    assert.deepEqual(JSON.parse(JSON.stringify(it)), it, 'JSON loses nothing');
  }
});

test('optimize: the optimum at 1024 steps is certified, and full accuracy comes closer to it', () => {
  const best = dp.optimize({ steps: 1024 }).result();
  assert.ok(best.lowerBound <= 2.961464832637 && best.lowerBound > 2.9614645);
  close(best.error, 2.961464832637, 1e-4);
  const exact = dp.optimize({ steps: 1024, strategy: { name: 'optimal', buffers: 0 } }).result();
  assert.ok(exact.ratio < 1 + 2e-7, `${exact.ratio}`);
  assert.ok(exact.ratio < best.ratio);
});

/** Readings of a counter with a fixed seed. */
function releases(strategy, steps) {
  const counter = dp.counter({ ...target, strategy, steps, insecureSeed: 7 });
  const readings = counter.releaseMany(new Float64Array(steps).fill(0.5));
  counter.dispose();
  return readings;
}

test('a strategy from JSON releases the same totals, bit for bit', () => {
  for (const { workload, solver, ...options } of SEARCHES) {
    if (workload !== undefined || solver !== undefined) continue;
    const { steps, ...strategy } = options;
    const kept = JSON.parse(JSON.stringify(dp.optimize(searchOf(options)).result()));
    const named = releases(strategy, steps);
    assert.deepEqual(releases(kept, steps), named);
    // A changed parameter gives other totals, so the comparison can fail.
    const [name] = Object.keys(kept.parameters);
    kept.parameters[name][0] *= 0.9;
    assert.notDeepEqual(releases(kept, steps), named);
  }
});

test('a saved strategy can be used wherever a mechanism is named', () => {
  const options = { strategy: saved, steps: 40 };
  const named = { strategy: 'optimal', steps: 40 };
  assert.deepEqual(dp.error(options), dp.error(named));
  assert.deepEqual(
    dp.error({ ...options, perStep: true }).perStep,
    dp.error({ ...named, perStep: true }).perStep,
  );
  assert.deepEqual(
    dp.error({ ...options, matrices: true }).matrices,
    dp.error({ ...named, matrices: true }).matrices,
  );
  const certificate = (of) => dp.certificate({ ...of, ...target });
  assert.deepEqual(certificate(options), certificate(named));
  const sums = (strategy) => {
    const simulation = dp.study.simulation({ strategy, steps: 40, ...target, lambda: 2 });
    const { noisySums } = simulation.advance(40);
    simulation.dispose();
    return noisySums;
  };
  assert.deepEqual(sums(saved), sums('optimal'));
  const often = { times: 3, apart: 5 };
  // A search cannot optimise for this participation, which `optimisedFor` reports; a saved strategy
  // is used as given.
  const { optimisedFor, ...searched } = dp.error({ ...named, participation: often });
  assert.equal(optimisedFor, 'single participation');
  assert.deepEqual(dp.error({ ...options, participation: often }), searched);
});

test('a saved strategy determines the workload, and another one is refused', () => {
  const workload = { rates: Array.from({ length: 20 }, (_, t) => 1 - 0.03 * t) };
  const rated = dp
    .optimize({ steps: 20, workload, strategy: { name: 'optimal', objective: 'mean' } })
    .result();
  assert.deepEqual(rated.workload, workload);
  const own = dp.error({ strategy: rated, steps: 20 });
  assert.equal(own.workload, 'rates');
  assert.deepEqual(dp.error({ strategy: rated, steps: 20, workload }), own);
  close(own.gap, own.meanError / own.lowerBound - 1, 1e-12);
  const kept = JSON.parse(JSON.stringify(rated));
  assert.deepEqual(dp.error({ strategy: kept, steps: 20 }), own);
  const other = { rates: workload.rates.map((rate) => rate + 0.1) };
  rejects(
    () => dp.error({ strategy: rated, steps: 20, workload: other }),
    RangeError,
    'invalid_argument',
    /workload must be that of the saved strategy, rates, got another one/,
  );
  rejects(
    () => dp.error({ strategy: rated, steps: 20, workload: 'prefix' }),
    RangeError,
    'invalid_argument',
    /workload must be that of the saved strategy, rates, got prefix/,
  );
  const counter = dp.counter({ strategy: rated, steps: 20, ...target });
  assert.equal(counter.certificate.workload, 'rates');
  counter.dispose();
});

test('optimize: blt is optimised for the given participation', () => {
  const participation = { times: 4, apart: 16 };
  const often = dp.optimize({ strategy: 'blt', steps: 64, participation }).result();
  const once = dp.optimize({ strategy: 'blt', steps: 64 }).result();
  assert.deepEqual(often.participation, { times: 4, apart: 16 }, 'as it is saved');
  const error = (mechanism) => dp.error({ strategy: mechanism, steps: 64, participation }).maxError;
  assert.equal(error(often), often.error);
  assert.ok(error(often) < error(once));
});

test('damaged and foreign strategies are refused, and the field is named', () => {
  const refuses = (change, Kind, code, message) => {
    const damaged = structuredClone(saved);
    change(damaged);
    rejects(() => dp.error({ strategy: damaged, steps: 40 }), Kind, code, message);
  };
  const range = (change, message) => refuses(change, RangeError, 'invalid_argument', message);
  const type = (change, message) => refuses(change, TypeError, 'wrong_type', message);
  const length = (change, message) => refuses(change, TypeError, 'wrong_length', message);
  range((it) => delete it.format, /error: saved strategy: format must be "dp-ftrl strat/);
  range((it) => (it.format = 'image/png'), /format must be .*, got "image\/png"/);
  range((it) => delete it.version, /version must be 2, the one this package reads, got undefined/);
  range((it) => (it.version = 1), /version must be 2, .*, got 1/);
  range((it) => (it.version = '2'), /version must be 2, .*, got "2"/);
  type((it) => (it.colour = 1), /colour is an unknown option/);
  range((it) => (it.name = 'oak'), /name must be one of .*, got "oak"/);
  range(
    (it) => (it.name = 'tree'),
    /saved strategy: name must be one that a plan can define, got "tree"/,
  );
  range((it) => (it.name = 'blt'), /columnWeights is not a list of blt/);
  type((it) => delete it.name, /name must be a string, got undefined/);
  type((it) => delete it.steps, /steps must be a number, got undefined/);
  range((it) => (it.steps = 41), /steps must be 41, that of the saved strategy, got 40/);
  type((it) => delete it.workload, /workload must be given, got nothing/);
  range((it) => (it.workload = 'sums'), /workload must be 'prefix' or an object, got "sums"/);
  range((it) => (it.objective = 'both'), /objective must be one of max, mean, got "both"/);
  range(
    (it) => (it.status = 'fine'),
    /status must be one of converged, stopped, not converged, infeasible/,
  );
  type((it) => (it.error = null), /error must be a number, got null/);
  type((it) => (it.lowerBound = '2'), /lowerBound must be a number, got string/);
  type((it) => delete it.parameters, /parameters must be an object, got undefined/);
  type((it) => (it.parameters = [1]), /parameters must be an object, got array/);
  type((it) => (it.parameters.shifts = null), /parameters\.shifts must be an array of numbers/);
  type((it) => (it.parameters.shifts[1] = null), /parameters\.shifts\[1\] must be a number, got n/);
  type((it) => (it.parameters.shifts[1] = '1'), /parameters\.shifts\[1\] must be a number, got s/);
  range((it) => (it.parameters.shifts[1] = NaN), /parameters\.shifts\[1\] must be finite, got NaN/);
  range((it) => (it.parameters.shifts[1] = -1), /shifts must be positive and finite, got -1/);
  range(
    (it) => delete it.parameters.decay,
    /saved strategy: decay must be a list of numbers, got nothing/,
  );
  range((it) => (it.parameters.colour = [1]), /saved strategy: colour is not a list of optimal/);
  length((it) => it.parameters.columnWeights.pop(), /columnWeights must have 40 entries, got 39/);
  length((it) => it.parameters.rowWeights.push(1), /rowWeights must have 40 entries, got 41/);
  length((it) => it.parameters.weights.push(1), /weights must have 8 entries, got 9/);
});

test('the optimum of dense matrices is found once, saved, and used again', () => {
  const workload = { momentum: 0.9, decay: 1 };
  for (const options of [
    { steps: 32, workload },
    { steps: 32, workload, objective: 'mean' },
    { steps: 32, participation: { epochs: 4 }, objective: 'mean' },
  ]) {
    const found = dp.optimize(searchOf(options)).result();
    const lists = ['columns', 'columnDuals', ...(options.objective === 'mean' ? [] : ['rowDuals'])];
    assert.deepEqual(Object.keys(found.parameters), lists);
    assert.equal(found.boundMethod, 'dense dual');
    assert.ok(found.ratio >= 1 && found.ratio < 1.02, `${found.ratio}`);
    const { steps, ...problem } = options;
    const kept = JSON.parse(JSON.stringify(found));
    const named = dp.error({
      ...searchOf({ name: 'optimal', ...options }),
      matrices: true,
    }).matrices;
    const { participation } = problem;
    const again = dp.error({
      strategy: kept,
      steps,
      ...(participation !== undefined && { participation }),
      matrices: true,
    }).matrices;
    assert.deepEqual(again, named);
  }
  const exact = dp.error({ strategy: { name: 'optimal', buffers: 0 }, steps: 32, workload });
  const decoded = dp.error({ strategy: { name: 'optimal', buffers: 30 }, steps: 32, workload });
  assert.ok(exact.ratio < 1.001 && decoded.ratio > 1.1, 'full accuracy is that of the workload');
});

test('optimal: long horizons for which errors are not known are refused before the search', () => {
  // A search for this horizon would take a minute.
  const steps = 2 ** 20;
  const momentum = { momentum: 0.9 };
  const rates = { rates: new Float64Array(steps).fill(0.5) };
  const window = { window: 1024 };
  const blt = /steps must be at most 2048 .* not known; blt has errors there, got 1048576/;
  const mean = / 2048 for the max objective and rates.*; objective mean has an optimum there/;
  const cases = [
    [{ workload: momentum }, blt],
    [{ workload: rates }, mean],
  ];
  cases.push([{ workload: momentum, buffers: 'exact' }, blt], [{ workload: window }, blt]);
  cases.push([{ workload: { ...rates, ...momentum }, objective: 'mean' }, blt]);
  for (const [options, message] of cases) {
    const all = searchOf({ name: 'optimal', steps, ...options });
    const target = { epsilon: 1, delta: 1e-6 };
    rejects(() => dp.optimize(all), DpError, 'unsupported', message);
    rejects(() => dp.error(all), DpError, 'unsupported', message);
    rejects(() => dp.certificate({ ...all, ...target }), DpError, 'unsupported', message);
    rejects(() => dp.error({ ...all, perStep: true }).perStep, DpError, 'unsupported', message);
  }
  // The alternatives named in the messages exist. Noise needs no errors.
  const long = { steps: 3000, workload: momentum };
  assert.ok(dp.error({ strategy: { name: 'blt', buffers: 2 }, ...long }).maxError > 1);
  const longer = { steps, workload: window };
  assert.ok(dp.error({ strategy: { name: 'blt', buffers: 2 }, ...longer }).maxError > 1);
  const noise = (options) => dp.noise({ ...long, dimension: 1, insecureSeed: 1, ...options });
  const stream = noise({ strategy: 'optimal' });
  assert.equal(stream.rounded({ numRows: 3000, scale: 1 }).length, 3000);
  stream.dispose();
  rejects(
    () => noise({ strategy: { name: 'optimal', buffers: 'exact' } }),
    DpError,
    'unsupported',
    /^noise: optimal: steps must be at most 2048, as full accuracy .* \(with buffers .*\), got 3000/,
  );
});

test('optimize: unsupported problems are infeasible, and options without effect are refused', () => {
  const status = (options) => dp.optimize(searchOf({ steps: 16, ...options })).result().status;
  const participation = { times: 2, apart: 4 };
  assert.equal(status({ participation }), 'infeasible');
  assert.equal(status({ name: 'blt', participation, buffers: 1 }), 'converged');
  assert.equal(status({ workload: { window: 3 }, buffers: 4 }), 'infeasible');
  assert.equal(status({ workload: { window: 3 }, buffers: 0 }), 'converged');
  const refuses = (options, message) =>
    rejects(
      () => dp.optimize(searchOf({ steps: 16, ...options })).result(),
      RangeError,
      'invalid_argument',
      message,
    );
  assert.equal(status({ buffers: 'exact' }), 'converged');
  refuses(
    { solver: 'none', workload: { window: 3 } },
    /workload must be prefix sums without a solver, got window=3/,
  );
  refuses({ solver: 'none', maxIterations: 3 }, /maxIterations cannot be given without a solver/);
  refuses({ solver: 'none', gap: 1e-3 }, /gap cannot be given without a solver/);
  refuses({ gap: 0 }, /gap must be above 0 and below 1, got 0/);
  refuses({ name: 'blt', gap: 1e-3 }, /gap cannot be given for blt/);
  const coarse = dp.optimize({ steps: 200, gap: 1e-2 }).result();
  const fine = dp.optimize({ steps: 200, gap: 1e-10 }).result();
  assert.ok(coarse.iterations < fine.iterations && coarse.lowerBound <= fine.lowerBound);
});

test('effective parameters: errors and certificates have those that were chosen', () => {
  const of = (mechanism, options = {}) =>
    dp.error({ strategy: { name: mechanism, ...options }, steps: 1024 }).effectiveParameters;
  assert.deepEqual(of('tree-k'), { arity: 7, subtractive: true });
  assert.deepEqual(of('tree'), {});
  assert.deepEqual(of('tree', { epochLength: 100 }), { epochLength: 100 });
  const varied = { epochLength: 100, normalizeColumns: true, completeEpochs: true };
  assert.deepEqual(of('tree', varied), varied);
  assert.ok(of('lambda-cgd').lambda > 0.9);
  const { bands, coefficients } = of('banded-square-root', { bands: 3 });
  assert.deepEqual([bands, coefficients], [3, [1, 0.5, 0.375]]);
  const blt = dp.optimize({ strategy: { name: 'blt', buffers: 2 }, steps: 100 }).result();
  const options = { strategy: { name: 'blt', buffers: 2 }, steps: 100 };
  const expected = { buffers: 2, ...blt.parameters };
  assert.deepEqual(dp.error(options).effectiveParameters, expected);
  const certificate = dp.certificate({ ...options, epsilon: 1, delta: 1e-6 });
  assert.deepEqual(certificate.effectiveParameters, expected);
});

test('errors and certificates state the participation in numbers', () => {
  const schema = (participation) => {
    const options = { strategy: 'tree', steps: 12, participation };
    const error = dp.error(options);
    const certificate = dp.certificate({ ...options, epsilon: 1, delta: 1e-6 });
    const of = ({ maxParticipations, separation }) => [maxParticipations, separation];
    assert.deepEqual(of(certificate), of(error));
    return of(error);
  };
  assert.deepEqual(schema('once'), [1, 1]);
  assert.deepEqual(schema({ epochs: 3 }), [3, 4]);
  assert.deepEqual(schema({ times: 2, apart: 5 }), [2, 5]);
});

test('from three epochs on, a lower bound states for which dimensions of records it holds', () => {
  for (const [epochs, dimension] of some(
    [
      [6, 3],
      [1, 1],
      [2, 1],
      [3, 2],
    ],
    2,
  )) {
    const problem = { steps: 18, participation: { epochs } };
    const error = dp.error({ strategy: 'tree', ...problem });
    const saved = dp.optimize({ strategy: 'optimal', ...problem }).result();
    const comparison = dp.compare(problem).result();
    for (const { lowerBoundMinDimension, lowerBoundEveryDimension, lowerBound } of [
      error,
      comparison,
      { lowerBoundMinDimension: 1, lowerBoundEveryDimension: saved.lowerBound, ...saved },
    ]) {
      assert.equal(lowerBoundMinDimension, dimension);
      assert.equal(lowerBoundEveryDimension < lowerBound, dimension > 1);
    }
    assert.equal(Object.hasOwn(saved, 'lowerBoundMinDimension'), dimension > 1);
    // The strategy is read again, with twice the bound for neighbours twice as far apart.
    const again = dp.error({ strategy: saved, steps: 18, neighbours: 'replace-one' });
    assert.equal(again.lowerBoundMinDimension, dimension);
    assert.ok(again.lowerBoundEveryDimension > saved.error, 'doubled');
    for (const bad of [NaN, Infinity, 0, -1, 1.5])
      rejects(
        () => dp.error({ strategy: { ...saved, lowerBoundMinDimension: bad }, steps: 18 }),
        RangeError,
        'invalid_argument',
        /lowerBoundMinDimension/,
      );
  }
});

test('a saved bound states if it does not hold for records of every dimension', () => {
  // For up to two participations, the bound holds for all records; for three it is weaker for
  // scalar records.
  for (const [participation, minDimension] of [
    ['once', undefined],
    [{ epochs: 2 }, undefined],
    [{ epochs: 3 }, 2],
    [{ times: 9, apart: 300 }, undefined],
    [{ times: 9, apart: 200 }, 2],
  ]) {
    const saved = dp
      .optimize({ strategy: { name: 'blt', buffers: 1 }, steps: 600, participation })
      .result();
    const { lowerBound, lowerBoundMinDimension, lowerBoundEveryDimension } = saved;
    assert.equal(lowerBoundMinDimension, minDimension);
    if (minDimension === undefined) assert.equal(lowerBoundEveryDimension, undefined);
    else {
      assert.ok(lowerBoundEveryDimension <= lowerBound);
      assert.ok(lowerBoundEveryDimension > 0.99 * lowerBound);
    }
  }
});

test('blt: errors are known at a thousand million steps, but noise is refused', () => {
  const options = { strategy: { name: 'blt', buffers: 4 }, steps: 1e9 };
  const { maxError, ratio } = dp.error(options);
  assert.ok(ratio > 1 && ratio < 1.15, `${ratio}`);
  assert.equal(dp.optimize(options).result().error, maxError);
  rejects(
    () => dp.counter({ ...options, epsilon: 1, delta: 1e-6 }),
    DpError,
    'unsupported',
    /steps must be at most 16777216 for noise, got 1000000000/,
  );
});

test('nothing else can be given beside a saved strategy', () => {
  const options = { strategy: saved, steps: 40 };
  const others = { buffers: 8, normalizeColumns: true };
  for (const [name, value] of Object.entries(others)) {
    rejects(
      () => dp.error({ ...options, strategy: { ...saved, [name]: value } }),
      TypeError,
      'wrong_type',
      new RegExp(`saved strategy: ${name} is an unknown option`),
    );
  }
  const of = (mechanism) => () => dp.error({ strategy: mechanism, steps: 4 });
  rejects(of(null), TypeError, 'wrong_type', /a name, a saved strategy or an encoder, got null/);
  rejects(of([]), TypeError, 'wrong_type', /a name, an object with .*, got array/);
});

test('optimize: mechanisms and options that no search supports are refused', () => {
  const refuses = (options, Kind, code, message) =>
    rejects(() => dp.optimize(searchOf({ steps: 8, ...options })).result(), Kind, code, message);
  refuses(
    { name: 'tree' },
    RangeError,
    'invalid_argument',
    /strategy must be one that a search finds: .*, got "tree"/,
  );
  refuses({ strategy: saved }, TypeError, 'wrong_type', /strategy must be a string, got object/);
  refuses({ steps: 0 }, RangeError, 'invalid_argument', /steps must be between 1 and/);
  refuses({ steps: 2 ** 40 }, RangeError, 'invalid_argument', /steps must be between 1 and/);
  refuses({ buffers: 65 }, RangeError, 'invalid_argument', /buffers must be between 0 and 64/);
  refuses({ bands: 4 }, RangeError, 'invalid_argument', /bands is not a parameter of optimal/);
  refuses({ solver: 'fast' }, RangeError, 'invalid_argument', /solver must be one of exact, none/);
  refuses(
    { name: 'blt', solver: 'none' },
    RangeError,
    'invalid_argument',
    /solver must be used for blt/,
  );
  refuses({ maxIterations: 0 }, RangeError, 'invalid_argument', /maxIterations must be between 1/);
  refuses({ maxIterations: 1.5 }, RangeError, 'invalid_argument', /maxIterations must be an int/);
  refuses({ epochLength: 4 }, RangeError, 'invalid_argument', /epochLength cannot be given/);
  refuses({ epsilon: 1 }, TypeError, 'wrong_type', /epsilon is an unknown option/);
});

test('optimize: a search in pieces gives the same result as one at once', () => {
  const before = dp.liveHandles;
  const options = { steps: 300 };
  const search = dp.optimize(options);
  let last = 0;
  for (const { fraction } of search) {
    assert.ok(fraction >= last && fraction <= 1);
    last = fraction;
  }
  assert.equal(last, 1);
  assert.deepEqual(search.result(), dp.optimize(options).result());
  const unfinished = dp.optimize(options);
  for (const _ of unfinished) break;
  unfinished.dispose();
  assert.throws(() => unfinished.result(), DpError);
  assert.equal(dp.liveHandles, before, 'optimize leaves nothing behind');
  const { status, iterations } = dp.optimize({ steps: 300, maxIterations: 2 }).result();
  assert.deepEqual([status, iterations], ['not converged', 2]);
});

test('error: ratio and gap of the objective to the bound, for every mechanism', () => {
  for (const { name, parameters } of dp.strategies) {
    const options = { strategy: name, steps: 50 };
    const it = dp.error(options);
    assert.equal(it.objective, 'max');
    assert.equal(it.ratio, it.maxError / it.lowerBound);
    assert.equal(it.gap, it.ratio - 1);
    assert.ok(it.gap >= 0, name);
    if (!parameters.includes('objective')) continue;
    const mean = dp.error({ ...options, strategy: { name: 'optimal', objective: 'mean' } });
    assert.equal(mean.ratio, mean.meanError / mean.lowerBound);
  }
  const workload = { window: 10 };
  const long = dp.error({
    strategy: { name: 'optimal', objective: 'mean', buffers: 4 },
    steps: 300,
    workload,
  });
  assert.ok(long.gap > 0 && long.lowerBound > 1.5, 'every workload has a bound');
});

test('a saved strategy: its own bound, and the participation it was optimised for', () => {
  const four = { epochs: 4 };
  const it = dp.optimize({ steps: 140, participation: four, maxIterations: 9 }).result();
  const steps = 140;
  const own = dp.error({ strategy: it, steps });
  assert.equal(own.participation, 'fixed-epoch');
  assert.deepEqual(own, dp.error({ strategy: it, steps, participation: four }));
  assert.deepEqual([own.maxError, own.lowerBound], [it.error, it.lowerBound]);
  const once = dp.error({ strategy: it, steps, participation: 'once' });
  assert.equal(once.participation, 'single');
  assert.ok(once.maxError < own.maxError);
  const { participation, ...unstated } = it;
  assert.deepEqual(dp.error({ strategy: unstated, steps }), once);
  const { mechanisms } = dp.compare({ steps, strategies: [it] }).result();
  assert.equal(mechanisms.find((row) => row.saved).maxError, once.maxError, 'one problem for all');
  const counter = dp.counter({ ...target, strategy: it, steps });
  assert.equal(counter.certificate.participation, 'fixed-epoch', 'the noise its users need');
  counter.dispose();
  const damaged = structuredClone(it);
  damaged.parameters.columnDuals[3] *= -40;
  assert.ok(dp.error({ strategy: damaged, steps }).lowerBound <= it.lowerBound);
  assert.equal(dp.error({ strategy: damaged, steps }).maxError, it.error);
  damaged.parameters.columnDuals.pop();
  rejects(
    () => dp.error({ strategy: damaged, steps }),
    RangeError,
    'invalid_argument',
    /columnDuals must be one number, or one for each epoch, for each of 140 steps, got 559/,
  );
});

test('compare: saved strategies stand in the table', () => {
  const coarse = dp.optimize({ steps: 40, strategy: { name: 'optimal', buffers: 1 } }).result();
  const { mechanisms } = dp.compare({ steps: 40, strategies: [coarse, saved] }).result();
  const rows = mechanisms.filter((row) => row.saved);
  assert.deepEqual(
    rows.map((row) => row.maxError),
    [saved.error, coarse.error],
  );
  assert.ok(rows.every((row) => row.mechanism === 'optimal' && row.ratio >= 1));
  assert.equal(mechanisms.length - 2, dp.compare({ steps: 40 }).result().mechanisms.length);
  const refuses = (options, message) =>
    assert.throws(() => dp.compare({ steps: 40, ...options }).result(), message);
  refuses({ strategies: saved }, /strategies must be an array, got object/);
  refuses(
    { strategies: ['optimal'] },
    /strategies\[0\] must be a saved strategy or an encoder, got string/,
  );
  refuses({ steps: 41, strategies: [saved] }, /steps must be 40, that of the saved/);
  refuses({ workload: { window: 3 }, strategies: [saved] }, /that of the saved strategy, prefix/);
});
