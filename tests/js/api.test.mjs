// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { close, rejects } from './support/check.mjs';
import { onlyInAll } from './support/extent.mjs';
import { namesOf } from './support/mechanisms.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();
const names = namesOf(dp);
const { limits } = dp.strategies.find(({ name }) => name === 'optimal');
const target = { epsilon: 1, delta: 1e-6 };

test('limits: beyond them, optimize finds nothing, and optimal says that it is for single participation', () => {
  const { denseSteps, epochSteps, epochSumSteps } = limits;
  assert.deepEqual([denseSteps, epochSteps, epochSumSteps], [2048, 1024, 2048], 'as documented');
  const window = { steps: denseSteps + 1, workload: { window: 2 } };
  assert.throws(() => dp.optimize(window).result(), {
    constraint: new RegExp(`at most ${denseSteps} `),
  });
  const epochs = { steps: epochSumSteps + 2, participation: { epochs: 2 } };
  assert.equal(dp.optimize(epochs).result().status, 'infeasible');
  const optimal = { strategy: 'optimal', ...epochs };
  assert.equal(dp.error(optimal).optimisedFor, 'single participation');
  assert.equal(dp.certificate({ ...optimal, ...target }).optimisedFor, 'single participation');
  const within = { ...optimal, steps: 16 };
  assert.ok(!('optimisedFor' in dp.error(within)));
  assert.ok(!('optimisedFor' in dp.certificate({ ...within, ...target })));
  assert.ok(Object.isFrozen(limits));
});

test(
  'limits: compare labels the substitute optimum, and the mean is optimised beyond epochSteps',
  onlyInAll,
  () => {
    const { epochSteps, epochSumSteps } = limits;
    const participation = { epochs: 2 };
    const ofRow = (numSteps) =>
      dp
        .compare({ steps: numSteps, participation })
        .result()
        .mechanisms.find(({ mechanism }) => mechanism === 'optimal').optimisedFor;
    assert.equal(ofRow(epochSumSteps + 2), 'single participation');
    assert.equal(ofRow(16), undefined);
    const found = dp
      .optimize({
        steps: epochSteps + 4,
        participation,
        strategy: { name: 'optimal', objective: 'mean' },
      })
      .result();
    assert.equal(found.status, 'converged');
    assert.ok(found.ratio < 1 + 1e-6);
  },
);

test('calibrate: epsilon, mu and rho of one guarantee give the same known noise multiplier', () => {
  const fromEpsilon = dp.calibrate(target);
  close(fromEpsilon.noiseMultiplier, 4.224679, 1e-6);
  close(fromEpsilon.mu, 1 / fromEpsilon.noiseMultiplier, 1e-12);
  close(fromEpsilon.rho, fromEpsilon.mu ** 2 / 2, 1e-12);
  assert.deepEqual([fromEpsilon.epsilon, fromEpsilon.delta], [1, 1e-6]);
  const fromMu = dp.calibrate({ mu: fromEpsilon.mu, delta: 1e-6 });
  const fromRho = dp.calibrate({ rho: fromEpsilon.rho, delta: 1e-6 });
  close(fromMu.epsilon, 1, 1e-9);
  for (const other of [fromMu, fromRho]) {
    close(other.noiseMultiplier, fromEpsilon.noiseMultiplier, 1e-12);
    assert.notEqual(other.method, '');
  }
});

/**
 * Delta at epsilon of discrete Gaussian noise that is rho-zCDP for integers `distance` apart, as
 * the sum over all integers that matter.
 */
function enumeratedDelta(rho, distance, epsilon) {
  const variance = distance ** 2 / (2 * rho);
  const weight = (k) => Math.exp((-k * k) / (2 * variance));
  const reach = distance + Math.ceil(38 * Math.sqrt(variance));
  let [total, delta] = [0, 0];
  for (let k = -reach; k <= reach; ++k) {
    total += weight(k);
    delta += Math.max(0, weight(k) - Math.exp(epsilon) * weight(k + distance));
  }
  return delta / total;
}

test('calibrate: epsilon of rho holds for the discrete Gaussian, by enumeration', () => {
  for (const rho of [0.01, 0.1, 0.5, 2, 10]) {
    for (const delta of [0.1, 1e-3, 1e-6, 1e-10]) {
      const { epsilon } = dp.calibrate({ rho, delta });
      for (const distance of [1, 3]) {
        const found = enumeratedDelta(rho, distance, epsilon);
        assert.ok(found <= delta, `${rho} ${delta} ${distance}: ${found} at ${epsilon}`);
      }
    }
  }
  for (const [delta, known] of [
    [1e-3, 3.536562],
    [1e-5, 4.728387],
    [1e-8, 6.086159],
  ]) {
    const { epsilon, mu, noiseMultiplier, method } = dp.calibrate({ rho: 0.5, delta });
    close(epsilon, known, 2e-7);
    assert.equal(mu, null);
    close(noiseMultiplier, 1, 1e-15);
    assert.ok(noiseMultiplier >= 1);
    assert.match(method, /zero-concentrated/);
  }
  // The epsilon of a Gaussian with this rho, at this delta, does not hold for the discrete one.
  const gaussian = dp.calibrate({ mu: 1, delta: 1e-3 }).epsilon;
  close(gaussian, 3.138671, 1e-6);
  close(enumeratedDelta(0.5, 1, gaussian) / 1e-3, 1.44484, 1e-5);
});

test('calibrate: epsilon of a lattice release and of its rho hold by enumeration', () => {
  for (const [epsilon, delta] of [
    [3.536562, 1e-3],
    [1, 1e-6],
    [8, 1e-2],
  ]) {
    const how = { strategy: 'independent', lattice: 'discrete-gaussian', steps: 1, grid: 1 };
    const counter = dp.counter({ ...how, epsilon, delta });
    const { rho, mu, lattice } = counter.certificate;
    counter.dispose();
    assert.equal(mu, null);
    const { distance, noiseVariance } = lattice;
    // The rho of the noise that is drawn, for one contribution in units of the measurements.
    const shift = Math.floor(distance);
    const drawn = shift ** 2 / (2 * noiseVariance);
    assert.ok(drawn <= rho, `${drawn} of ${rho}`);
    assert.ok(enumeratedDelta(drawn, shift, epsilon) <= delta);
    const again = dp.calibrate({ rho, delta });
    close(again.epsilon, epsilon, 1e-9);
    assert.ok(enumeratedDelta(rho, shift, again.epsilon) <= delta);
  }
});

test('calibrate: the noise of the textbook formula is given too, with whether it is sound', () => {
  const { classical } = dp.calibrate(target);
  close(classical.noiseMultiplier, Math.sqrt(2 * Math.log(1.25e6)), 1e-12);
  const large = dp.calibrate({ epsilon: 20, delta: 1e-6 }).classical;
  assert.equal(large.theoremApplies, false);
  assert.equal(large.sound, large.actualDelta <= 1e-6);
});

test('error: known values at 1024 steps', () => {
  const expected = {
    'square-root': [3.272554150273, 3.10978990694],
    tree: [10.488088481702, undefined],
    honaker: [7.989458711, 5.649876013],
    independent: [32, undefined],
    output: [32, 32],
  };
  for (const [mechanism, [maxError, meanError]] of Object.entries(expected)) {
    const error = dp.error({ strategy: mechanism, steps: 1024 });
    close(error.maxError, maxError, 1e-9);
    if (meanError) close(error.meanError, meanError, 1e-9);
    assert.ok(error.decoderResidual < 1e-12 && error.residualSteps > 0);
    assert.ok(error.lowerBound <= error.maxError && error.meanError <= error.maxError);
    close(error.lowerBound, 2.961464832637, 1e-5);
    assert.ok(error.lowerBound <= 2.961464832637);
    assert.equal(error.boundMethod, 'dual');
  }
});

test('error: maxError is the largest error of a step, and meanError is their root mean square', () => {
  for (const mechanism of names) {
    for (const numSteps of [1, 2, 3, 7, 8, 100]) {
      const { maxError, meanError } = dp.error({ strategy: mechanism, steps: numSteps });
      const steps = dp.error({ strategy: mechanism, steps: numSteps, perStep: true }).perStep;
      assert.ok(steps instanceof Float64Array);
      assert.equal(steps.length, numSteps);
      close(Math.max(...steps), maxError, 1e-12);
      close(Math.sqrt(steps.reduce((sum, x) => sum + x * x, 0) / numSteps), meanError, 1e-12);
    }
  }
});

test('error: boundMethod names the method that found the lower bound', () => {
  const method = (numSteps) => dp.error({ strategy: 'tree', steps: numSteps }).boundMethod;
  assert.ok(dp.error({ strategy: 'tree', steps: 2 ** 22 + 1 }).lowerBound > 5.5);
  assert.equal(method(2 ** 22 + 1), 'schatten');
  assert.equal(method(2 ** 22), 'schatten', 'where the optimum would take long');
  assert.equal(method(2 ** 16), 'dual');
});

test('certificate: noise std = multiplier * sensitivity * clip norm * neighbour distance', () => {
  for (const [neighbours, distance] of [
    ['zero-out', 1],
    ['replace-one', 2],
  ]) {
    const options = { strategy: 'honaker', steps: 100, clip: 3, neighbours, ...target };
    const it = dp.certificate(options);
    close(it.noiseStddev, it.noiseMultiplier * it.sensitivity * 3 * distance, 1e-9);
    close(it.noiseMultiplier, 4.224679, 1e-6);
    const said = { mechanism: 'honaker', numSteps: 100, clipNorm: 3, neighbours, ...target };
    for (const [key, value] of Object.entries(said)) assert.equal(it[key], value, key);
    assert.equal(it.workload, 'prefix');
    assert.equal(it.participation, 'single');
    assert.equal(it.sensitivityExactness, 'exact');
  }
  assert.equal(dp.certificate({ steps: 4, ...target }).mechanism, 'optimal');
});

test('defaults: leaving options out gives the same as writing out their defaults', () => {
  const plain = { steps: 12, ...target };
  const written = {
    ...plain,
    strategy: 'optimal',
    workload: 'prefix',
    participation: 'once',
    clip: 1,
    neighbours: 'zero-out',
  };
  const made = (kind, own) => (options) => {
    const stream = dp[kind]({ insecureSeed: 5, ...own, ...options });
    const { certificate, grid } = stream;
    stream.dispose();
    return { ...certificate, grid };
  };
  const of = { certificate: dp.certificate, counter: made('counter', {}) };
  of.totals = made('totals', { dimension: 2 });
  for (const [name, make] of Object.entries(of)) {
    const it = make(plain);
    const { mechanism, clipNorm, neighbours, participation, workload, lattice } = it;
    assert.deepEqual(
      [mechanism, clipNorm, neighbours, participation, workload, lattice],
      ['optimal', 1, 'zero-out', 'single', 'prefix', undefined],
      name,
    );
    assert.deepEqual(make(written), it, name);
    for (const other of [{ clip: 2 }, { neighbours: 'replace-one' }]) {
      assert.ok(make({ ...plain, ...other }).noiseStddev > 1.5 * it.noiseStddev, name);
    }
  }
  const noisy = (options) => dp.counter({ insecureSeed: 3, ...options }).releaseMany([5, 0.25, -1]);
  assert.deepEqual(noisy(written), noisy(plain));
});

test('bad input: values out of range are RangeErrors that name parameter and value', () => {
  const make = (change) => () => dp.certificate({ steps: 10, ...target, ...change });
  const cases = [
    [make({ epsilon: 0 }), /epsilon must be .*, got 0/],
    [make({ epsilon: -1 }), /epsilon must be .*, got -1/],
    [make({ epsilon: NaN }), /epsilon must be .*, got NaN/],
    [make({ epsilon: Infinity }), /epsilon must be .*, got inf/i],
    [make({ delta: 0 }), /delta must be .*, got 0/],
    [make({ delta: 1 }), /delta must be .*, got 1/],
    [make({ delta: NaN }), /delta must be .*, got NaN/],
    [make({ clip: 0 }), /clip must be .*, got 0/],
    [make({ clip: -1 }), /clip must be .*, got -1/],
    [make({ clip: Infinity }), /clip must be .*, got inf/i],
    [make({ steps: 0 }), /steps must be .*, got 0/],
    [make({ steps: -1 }), /steps must be .*, got -1/],
    [make({ steps: 1.5 }), /steps must be an integer, got 1.5/],
    [make({ steps: NaN }), /steps must be an integer, got NaN/],
    [
      make({ steps: 2 ** 60 }),
      /steps must be an integer of at most 2\^53 - 1, got 1152921504606847000/,
    ],
    [make({ steps: 2 ** 41, strategy: 'tree' }), /steps must be .*, got 2199023255552/],
    [make({ strategy: 'best' }), /strategy must be one of independent, .*, got "best"/],
    [
      make({ neighbours: 'add-remove' }),
      /neighbours must be one of zero-out, replace-one, got "add-/,
    ],
    [() => dp.calibrate({ rho: -1, delta: 0.1 }), /rho must be .*, got -1/],
    [() => dp.calibrate({ mu: NaN, delta: 0.1 }), /mu must be .*, got NaN/],
    [() => dp.calibrate({ mu: 1, delta: 2 }), /delta must be .*, got 2/],
    [() => dp.error({ strategy: 'tree', steps: 0 }), /steps must be .*, got 0/],
  ];
  for (const [call, message] of cases) rejects(call, RangeError, 'invalid_argument', message);
});

test('bad input: messages begin with the function called, and name the bad parameter', () => {
  const counts = { steps: 4, strategy: 'tree', ...target };
  const error = (options) => () => dp.error({ strategy: 'tree', steps: 4, ...options });
  const of = (name, own) => error({ strategy: { name, ...own } });
  const cases = [
    [error({ workload: { window: 0 } }), /^error: window must be between 1 and/],
    [error({ workload: { momentum: 1 } }), /^error: momentum must be at least 0/],
    [error({ workload: { rates: [1, 0, 1, 1] } }), /^error: rates\[1\] must be different from 0/],
    [of('tree', { arity: 2 }), /^error: arity is not a parameter of tree/],
    [of('tree-k', { arity: 1 }), /^error: tree-k: arity must be between 2 and/],
    [error({ participation: { times: 0, apart: 1 } }), /^error: times /],
    [of('tree', { epochLength: 0 }), /^error: epochLength must be/],
    [() => dp.error({ strategy: 'tree', steps: 2 ** 30, perStep: true }).perStep, /^error: steps /],
    [
      () => dp.error({ strategy: 'tree', steps: 1025, matrices: true }).matrices,
      /^error: steps must be /,
    ],
    [() => dp.bounds({ steps: 0 }), /^bounds: steps must be between/],
    [() => dp.calibrate({ epsilon: -1, delta: 0.1 }), /^calibrate: epsilon must be positive/],
    [() => dp.calibrate({ epsilon: -1, delta: 0 }).mu, /^calibrate: epsilon must be positive/],
    [() => dp.compare({ steps: 4, workload: { window: 0 } }).result(), /^compare: window must be/],
    [
      () => dp.optimize({ strategy: 'tree', steps: 4 }).result(),
      /^optimize: strategy must be one that a search finds: blt, .*, got "tree"$/,
    ],
    [() => dp.certificate({ steps: 4, ...target, clip: -1 }), /^certificate: clip must/],
    [() => dp.totals({ ...counts, dimension: 0 }), /^totals: dimension must be at least 1/],
    [
      () => dp.counter({ ...counts, strategy: 'haar', lattice: 'discrete-gaussian' }),
      /^counter: lattice: strategy must be tree, honaker/,
    ],
    [() => dp.queries.winner({ histogram: [1], epsilon: 0 }), /^winner: epsilon must be between/],
  ];
  for (const [call, message] of cases) assert.throws(call, { message });
});

test('bad input: wrong types are TypeErrors that name the option', () => {
  const cases = [
    [() => dp.certificate(), /certificate: options must be an object, got undefined/],
    [() => dp.certificate([]), /options must be an object, got array/],
    [() => dp.certificate({ ...target }), /certificate: steps must be a number, got undefined/],
    [() => dp.certificate({ steps: '10', ...target }), /steps must be a number, got string/],
    [() => dp.certificate({ steps: 10n, ...target }), /steps must be a number, got bigint/],
    [
      () => dp.counter({ steps: 1, ...target, epsilon: '1' }),
      /counter: epsilon must be a number, got string/,
    ],
    [
      () => dp.counter({ steps: 1, ...target, epsilon: null }),
      /epsilon must be a number, got null/,
    ],
    [
      () => dp.counter({ steps: 1, ...target, insecureSeed: '7' }),
      /insecureSeed must be a number or a bigint, got string/,
    ],
    [
      () => dp.error({ strategy: 5, steps: 1 }),
      /error: strategy must be a name, a saved strategy or an encoder, got number 5/,
    ],
    [
      () => dp.error({ steps: 1 }),
      /strategy must be a name, a saved strategy or an encoder, got undefined/,
    ],
    [
      () => dp.calibrate({ delta: 0.1 }),
      /epsilon must be given, or else rho or mu, and only one of them, got none/,
    ],
    [() => dp.calibrate({ epsilon: 1, mu: 1, delta: 0.1 }), /only one of them, got epsilon and mu/],
    [() => dp.calibrate({ epsilon: 1 }), /delta must be a number, got undefined/],
  ];
  for (const [call, message] of cases) rejects(call, TypeError, 'wrong_type', message);
});

test('calibrate: a target whose noise is beyond the doubles is refused', () => {
  const wanted = /calibrate: mu must be large enough for a finite noise multiplier, got 1e-310/;
  const call = () => dp.calibrate({ mu: 1e-310, delta: 0.1 });
  rejects(call, RangeError, 'invalid_argument', wanted);
  assert.ok(Number.isFinite(dp.calibrate({ mu: 1e-307, delta: 0.1 }).noiseMultiplier));
});

test('options: properties added to Object.prototype are not read as options', () => {
  const pollution = { insecureSeed: 7, mu: 5, labels: [1], grid: 0.3, value: 1, released: 1 };
  const options = { steps: 1, dimension: 64, ...target };
  const release = () => {
    const totals = dp.totals(options);
    assert.equal(totals.insecure, false);
    const { values } = totals.end();
    totals.dispose();
    return values;
  };
  const plain = dp.calibrate(target);
  Object.assign(Object.prototype, pollution);
  try {
    assert.notDeepEqual(release(), release());
    assert.deepEqual(dp.calibrate(target), plain);
    const table = { numRows: 1, numColumns: 1, values: [1] };
    const simulation = dp.study.simulation({ steps: 1, ...target, table });
    assert.equal(simulation.learns, false);
    simulation.dispose();
    const call = () => dp.calibrate({ rho: -1, delta: 0.1 });
    rejects(call, RangeError, 'invalid_argument', /rho must be/);
  } finally {
    for (const key of Object.keys(pollution)) delete Object.prototype[key];
  }
});

const MAKERS = {
  certificate: dp.certificate,
  counter: dp.counter,
  simulation: dp.study.simulation,
};

test('options: an inherited option is refused, not ignored, and each is read once', () => {
  for (const [name, make] of Object.entries(MAKERS)) {
    const base = { steps: 4, ...target };
    const inherited = Object.assign(Object.create({ neighbours: 'replace-one' }), base);
    const wanted = /neighbours must be an own enumerable property of options, got an inherited one/;
    rejects(() => make(inherited), TypeError, 'wrong_type', wanted);
    const seeded = Object.assign(Object.create({ insecureSeed: 7 }), base);
    if (name === 'counter') rejects(() => make(seeded), TypeError, 'wrong_type', /insecureS/);
  }
  dp.certificate(Object.assign(Object.create(null), { steps: 4, ...target }));
  let reads = 0;
  const options = { steps: 4, ...target };
  Object.defineProperty(options, 'epsilon', { enumerable: true, get: () => ++reads });
  assert.equal(dp.certificate(options).epsilon, 1);
  assert.equal(reads, 1);
});

test('bad input: an unknown option is refused, not ignored', () => {
  // Ignoring `neighbors` would give half the requested noise.
  for (const make of Object.values(MAKERS)) {
    const misspelt = { steps: 4, ...target, neighbors: 'replace-one' };
    rejects(
      () => make(misspelt),
      TypeError,
      'wrong_type',
      /neighbors is an unknown option; known are .* \(did you mean neighbours\?\)/,
    );
  }
});
