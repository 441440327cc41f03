// SPDX-License-Identifier: Apache-2.0

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { close, rejects } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const dp = await load();
const target = { epsilon: 1, delta: 1e-6 };

function withSimulation(options, use) {
  const simulation = dp.study.simulation({ steps: 40, ...target, ...options });
  try {
    return use(simulation);
  } finally {
    simulation.dispose();
  }
}

const table = {
  numRows: 6,
  numColumns: 2,
  values: Float64Array.from([1, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0.5, 0.5]),
};

test('simulation: the arrays of a chunk have the documented lengths', () => {
  withSimulation({ dimension: 3 }, (simulation) => {
    assert.equal(simulation.learns, true);
    assert.equal(simulation.classifies, true);
    assert.equal(simulation.step, 0);
    const chunk = simulation.advance(25);
    assert.deepEqual([chunk.firstStep, chunk.steps], [0, 25]);
    for (const name of ['trueSums', 'noisySums']) assert.equal(chunk[name].length, 75, name);
    for (const name of ['stddev', 'privateLoss', 'twinLoss']) {
      assert.ok(chunk[name] instanceof Float64Array);
      assert.equal(chunk[name].length, 25, name);
    }
    for (const name of ['privateCorrect', 'twinCorrect']) {
      assert.ok(chunk[name] instanceof Uint8Array);
      assert.equal(chunk[name].length, 25, name);
      assert.ok(chunk[name].every((it) => it === 0 || it === 1));
    }
    const { regret } = chunk;
    assert.ok(regret.steps.length > 0 && regret.steps.every((it) => it >= 1 && it <= 25));
    for (const name of ['private', 'twin', 'gap'])
      assert.equal(regret[name].length, regret.steps.length);
    assert.equal(simulation.step, 25);
  });
});

test('simulation: a batch has one loss, and an entry of correctness for every example', () => {
  withSimulation({ batchSize: 5 }, (simulation) => {
    const chunk = simulation.advance(40);
    assert.equal(chunk.steps, 40);
    assert.equal(chunk.privateLoss.length, 40);
    assert.equal(chunk.privateCorrect.length, 200);
    assert.equal(chunk.twinCorrect.length, 200);
    withSimulation({}, (single) => assert.ok(simulation.lambda.private < single.lambda.private));
  });
  withSimulation({ batchSize: 4, table }, (simulation) => assert.equal(simulation.steps, 1));
  const tooLarge = () => withSimulation({ batchSize: 7, table }, () => {});
  rejects(tooLarge, RangeError, 'invalid_argument', /at most the rows of the table, 6, got 7/);
});

test('simulation: ends at the horizon with empty chunks', () => {
  withSimulation({}, (simulation) => {
    const chunk = simulation.advance(1000);
    assert.equal(chunk.steps, 40);
    assert.equal(simulation.finished, true);
    const none = simulation.advance(1);
    assert.equal(none.steps, 0);
    assert.equal(none.trueSums.length, 0);
    assert.equal(chunk.regret.steps.at(-1), 40);
  });
});

test('simulation: the numbers do not depend on the sizes of the chunks', () => {
  const whole = withSimulation({}, (simulation) => simulation.advance(40));
  const pieces = withSimulation({}, (simulation) => {
    const parts = [];
    for (const steps of [1, 2, 3, 20, 14]) parts.push(simulation.advance(steps));
    return parts;
  });
  for (const name of [
    'trueSums',
    'noisySums',
    'privateLoss',
    'twinLoss',
    'stddev',
    'privateCorrect',
  ]) {
    assert.deepEqual(
      pieces.flatMap((part) => [...part[name]]),
      [...whole[name]],
      name,
    );
  }
});

test('simulation: the stream and the noise each depend on their own seed', () => {
  const run = (options) => withSimulation(options, (simulation) => simulation.advance(40));
  assert.deepEqual(run({}), run({ streamSeed: 1, noiseSeed: 1n }));
  const noise = run({ noiseSeed: 2 });
  assert.notDeepEqual(noise.noisySums, run({}).noisySums);
  assert.notDeepEqual(run({ streamSeed: 2 }).trueSums, run({}).trueSums);
  assert.deepEqual(noise.twinLoss, run({}).twinLoss, 'the twin sees no noise');
});

test('simulation: every stream, loss and domain runs', () => {
  for (const stream of [
    'stationary',
    'drifting',
    'switching',
    'heavy-tailed',
    'sparse',
    'adversarial',
  ]) {
    for (const loss of [
      'logistic',
      'hinge',
      'squared',
      'absolute',
      { huber: 1 },
      { quantile: 0.5 },
    ]) {
      for (const domain of ['ball', 'whole-space', 'box', 'simplex', 'simplex-entropic']) {
        withSimulation({ stream, loss, domain, steps: 12 }, (simulation) => {
          const chunk = simulation.advance(12);
          assert.ok(chunk.privateLoss.every(Number.isFinite));
          const classifies = loss === 'logistic' || loss === 'hinge';
          assert.equal(chunk.privateCorrect.length, classifies ? 12 : 0);
          assert.equal(simulation.classifies, classifies);
          assert.ok(chunk.regret.gap.every((gap) => gap <= 1e-6));
          assert.ok(simulation.lambda.private > 0 && simulation.lambda.twin > 0);
          assert.ok(simulation.regretBound.private >= simulation.regretBound.twin);
        });
      }
    }
  }
});

test('simulation: a table without labels shows sums only', () => {
  withSimulation({ table, clip: 10 }, (simulation) => {
    assert.deepEqual([simulation.learns, simulation.steps, simulation.dimension], [false, 6, 2]);
    assert.equal(simulation.regretBound, null);
    assert.deepEqual(simulation.lambda, { private: 0, twin: 0 });
    const chunk = simulation.advance(100);
    assert.deepEqual([...chunk.trueSums], [1, 0, 1, 1, 2, 2, 2, 2, 3, 2, 3.5, 2.5]);
    assert.equal(chunk.privateLoss.length, 0);
    assert.equal(chunk.regret.steps.length, 0);
  });
});

test('simulation: a table with labels is learned from', () => {
  withSimulation(
    { table: { ...table, labels: new Float64Array([0, 1, 1, 0, 1, 0]) } },
    (simulation) => {
      assert.equal(simulation.learns, true);
      assert.equal(simulation.advance(6).privateCorrect.length, 6);
    },
  );
});

test('simulation: regret can be turned off, lambda set', () => {
  withSimulation({ numRegretPrefixes: 0, lambda: 5 }, (simulation) => {
    assert.equal(simulation.advance(40).regret.steps.length, 0);
    assert.deepEqual(simulation.lambda, { private: 5, twin: 5 });
  });
});

test('simulation: the predicted and the observed standard deviation agree', () => {
  // One step of 4096 coordinates: the sample variance has relative standard deviation 2.2 %, and 6
  // of these are allowed; false alarm below 1e-8, and the seed is fixed.
  withSimulation(
    { table: { numRows: 1, numColumns: 4096, values: new Float64Array(4096) } },
    (simulation) => {
      const { noisySums, stddev } = simulation.advance(1);
      const ratio = noisySums.reduce((sum, z) => sum + z * z, 0) / 4096 / stddev[0] ** 2;
      close(ratio, 1, 6 * Math.sqrt(2 / 4096));
    },
  );
});

test('simulation: bad input is refused', () => {
  const make = (change) => () => dp.study.simulation({ steps: 4, ...target, ...change });
  const range = [
    [make({ steps: 0 }), /steps must be .*, got 0/],
    [make({ dimension: 0 }), /dimension must be .*, got 0/],
    [
      make({ stream: 'wild' }),
      /stream must be one of stationary, drifting, switching, heavy-tailed, sparse, adversarial, got "wild"/,
    ],
    [make({ loss: '0-1' }), /loss must be one of logistic, .*, absolute, got "0-1"/],
    [make({ loss: { quantile: 2 } }), /^simulation: loss.quantile must be .*, got 2/],
    [
      make({ loss: { softmax: 3 } }),
      /^simulation: loss must be one of logistic, .*, got "softmax"/,
    ],
    [make({ domain: 'cube' }), /domain must be one of ball, .*, got "cube"/],
    [make({ radius: 0 }), /radius must be .*, got 0/],
    [make({ radius: NaN }), /radius must be .*, got NaN/],
    [make({ lambda: 0 }), /lambda must be .*, got 0/],
    [make({ lambda: -1 }), /lambda must be .*, got -1/],
    [make({ numRegretPrefixes: -1 }), /numRegretPrefixes must be .*, got -1/],
    [make({ streamSeed: -1 }), /streamSeed must be .*, got -1/],
    [make({ noiseSeed: 1.5 }), /noiseSeed must be .*, got 1.5/],
    [make({ table: { ...table, numRows: 0, values: [] } }), /numRows must be at least 1, got 0/],
    [
      make({ table: { ...table, numColumns: 0, values: [] } }),
      /numColumns must be at least 1, got 0/,
    ],
    [
      make({ table: { ...table, values: table.values.map((x, i) => (i === 3 ? NaN : x)) } }),
      /got NaN/,
    ],
    [make({ table: { ...table, labels: new Float64Array(6).fill(7) } }), /label.*got 7/],
  ];
  for (const [call, message] of range) rejects(call, RangeError, 'invalid_argument', message);
  const length = [
    [
      make({ table: { ...table, values: table.values.slice(1) } }),
      /values must have numRows \* numColumns = 12 entries, got 11/,
    ],
    [
      make({ table: { ...table, labels: new Float64Array(5) } }),
      /labels must have numRows = 6 entries, got 5/,
    ],
    [make({ table, dimension: 3 }), /dimension must be numColumns = 2 of the table, got 3/],
  ];
  for (const [call, message] of length) rejects(call, TypeError, 'wrong_length', message);
  const type = [
    [make({ table: 5 }), /table must be an object, got number/],
    [make({ table: { ...table, rows: 1 } }), /table: rows is an unknown option/],
    [make({ numClasses: 3 }), /numClasses is an unknown option; known are (?!.*\b(\w+), .*\b\1\b)/],
    [make({ stream: 5 }), /stream must be a string, got number/],
    [make({ streamSeed: '1' }), /streamSeed must be a number or a bigint, got string/],
  ];
  for (const [call, message] of type) rejects(call, TypeError, 'wrong_type', message);
  const named = /^simulation: loss must be given by name here, got a function/;
  rejects(make({ loss: () => ({ slopes: [] }) }), DpError, 'unsupported', named);
  assert.equal(dp.liveHandles, 0);
});

test('simulation: a bad number of steps and calls after dispose are refused', () => {
  const simulation = dp.study.simulation({ steps: 4, ...target });
  rejects(
    () => simulation.advance(0),
    RangeError,
    'invalid_argument',
    /maxSteps must be an integer of at least 1, got 0/,
  );
  rejects(() => simulation.advance(1.5), RangeError, 'invalid_argument', /got 1.5/);
  rejects(() => simulation.advance(NaN), RangeError, 'invalid_argument', /got NaN/);
  rejects(
    () => simulation.advance('1'),
    TypeError,
    'wrong_type',
    /maxSteps must be a number, got string/,
  );
  assert.equal(simulation.step, 0);
  simulation.dispose();
  rejects(() => simulation.advance(1), DpError, 'disposed', /this simulation was disposed of/);
  rejects(() => simulation.finished, DpError, 'disposed', /disposed/);
});

test('simulation: DP-SGD has a bound of its own, other descents have none', () => {
  const bound = (options) => withSimulation(options, ({ regretBound }) => regretBound);
  const sgd = bound({ strategy: 'independent', descent: {} });
  assert.ok(sgd.private > sgd.twin);
  assert.notEqual(sgd.private, bound({ strategy: 'independent' }).private);
  assert.equal(bound({ strategy: 'tree', descent: {} }), null);
  assert.equal(bound({ strategy: 'independent', descent: { momentum: 0.5 } }), null);
});

test('simulation: held-out risk is log 2 before learning, and falls', () => {
  withSimulation({ steps: 400, strategy: 'tree' }, (simulation) => {
    const nothing = Math.log(2); // loss of the weights 0, where both learners start
    const before = simulation.heldOutRisk(50);
    for (const { private: own, twin } of [before.average, before.last]) {
      close(own, nothing, 1e-12);
      close(twin, nothing, 1e-12);
    }
    const { regret } = simulation.advance(400);
    const { average, last } = simulation.heldOutRisk(2000);
    assert.ok(average.twin < nothing && last.twin < nothing);
    assert.ok(average.twin < average.private);
    assert.ok(regret.twin.at(-1) > 0);
    rejects(() => simulation.heldOutRisk(0), RangeError, 'invalid_argument', /numExamples/);
    rejects(() => simulation.heldOutRisk(1.5), RangeError, 'invalid_argument', /an integer/);
  });
  withSimulation({ steps: 4, stream: 'adversarial' }, (simulation) => {
    assert.throws(() => simulation.heldOutRisk(5), { code: 'unsupported' });
  });
});
