// SPDX-License-Identifier: Apache-2.0

// Laws of streams: the same in memory, in a store and in a worker, for every kind of stream, of
// records and of people. Laws of stores alone are in streams-store.test.mjs.

import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { wellTold } from './support/check.mjs';
import { entryUrl, importEntry } from './support/consumer.mjs';
import { importSource } from './support/sources.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';
import {
  CASES,
  EACH_KIND,
  estimatesOf,
  firstOf,
  KINDS,
  NAMES,
  TARGET,
} from './support/streams.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const { connect } = await importEntry('dp-ftrl/worker-client');
const client = connect({ worker: new Worker(entryUrl('dp-ftrl/worker')) });
after(() => client.terminate());

/** Makes a stream in each place. */
const PLACES = {
  memory: (kind, options) => dp[kind](options),
  store: (kind, options) => dp[kind]({ ...options, store: appendingStore() }),
  'store that does not append': (kind, options) => dp[kind]({ ...options, store: memoryStore() }),
  worker: (kind, options) => client[kind](options),
};

test('streams: every kind is among the cases', async () => {
  const { STREAMS } = await importSource('worker/methods.ts');
  const missing = STREAMS.filter((name) => !EACH_KIND.some(({ kind }) => kind === name));
  assert.deepEqual(missing, [], 'add each to KINDS of tests/js/support/streams.mjs');
});

const PLACES_AND_CASES = Object.entries(PLACES).flatMap(([place, open]) =>
  CASES.filter(({ options }) => place !== 'worker' || typeof options.loss !== 'function').map(
    (it) => ({
      ...it,
      title: `${it.name}, ${place}`,
      make: (more) => open(it.kind, { ...it.options, ...more }),
    }),
  ),
);

/** Calls in a place where verbs may throw or reject. */
async function failing(call) {
  try {
    await call();
  } catch (error) {
    wellTold(error);
    return error;
  }
  return assert.fail('nothing was refused');
}

const whereOf = ({ step, records, waiting, dropped }) => ({ step, records, waiting, dropped });

/** Ways to release one record a step. */
const ONE_BY_ONE = {
  'add and end': async (stream, { one, numRecords }) => {
    const readings = [];
    for (let i = 0; i < numRecords; ++i) {
      await stream.add(...one(i));
      readings.push(await stream.end());
    }
    return readings;
  },
  release: async (stream, { one, numRecords }) => {
    const readings = [];
    for (let i = 0; i < numRecords; ++i) readings.push(await stream.release(...one(i)));
    return readings;
  },
  releaseMany: (stream, { many }) => stream.releaseMany(...many()),
  releaseBatch: async (stream, { many, numRecords }) => {
    const readings = [];
    for (let i = 0; i < numRecords; ++i)
      readings.push(await stream.releaseBatch(...many(i, i + 1)));
    return readings;
  },
};

/** Ways to release the records in two steps, then end all other steps. */
const IN_TWO = {
  addMany: async (stream, { many }) => {
    const readings = [];
    for (const range of [[0, 5], [5]]) {
      await stream.addMany(...many(...range));
      readings.push(await stream.end());
    }
    return [...readings, ...(await stream.endMany(6))];
  },
  'add each': async (stream, { one, numRecords }) => {
    const readings = [];
    for (let i = 0; i < numRecords; ++i) {
      if (i === 5) readings.push(await stream.end());
      await stream.add(...one(i));
    }
    for (let step = 1; step < 8; ++step) readings.push(await stream.end());
    return readings;
  },
  releaseBatch: async (stream, { many }) => [
    await stream.releaseBatch(...many(0, 5)),
    await stream.releaseBatch(...many(5)),
    ...(await stream.endMany(6)),
  ],
};

for (const it of PLACES_AND_CASES) {
  test(`streams: all verbs give the readings of memory (${it.title})`, async () => {
    for (const ways of [ONE_BY_ONE, IN_TWO]) {
      const wanted = await Object.values(ways)[0](dp[it.kind](it.options), it);
      assert.deepEqual(
        wanted.map(({ step }) => step),
        [0, 1, 2, 3, 4, 5, 6, 7],
      );
      for (const [name, way] of Object.entries(ways)) {
        const stream = await it.make();
        assert.deepEqual(await way(stream, it), wanted, name);
        const { step, records, waiting } = stream;
        assert.deepEqual([step, records, waiting], [8, it.numRecords, 0], name);
        await stream.dispose();
      }
    }
  });

  test(`streams: what is refused changes nothing (${it.title})`, async () => {
    const stream = await it.make();
    await stream.add(...it.one(0));
    const before = whereOf(stream);
    const { nothing } = it;
    for (const { args, parameter } of it.bad) {
      for (const verb of ['add', 'release']) {
        assert.equal((await failing(() => stream[verb](...args))).parameter, parameter);
      }
    }
    for (const verb of ['addMany', 'releaseBatch', 'releaseMany']) {
      assert.match(
        (await failing(() => stream[verb](...nothing.slice(1), 7))).message,
        /must be|takes/,
      );
      await failing(() => stream[verb]());
      await failing(() => stream[verb](...it.many(0, 2), {}, {}));
      assert.match((await failing(() => stream[verb](...it.many(), 'x'))).code, /wrong_type/);
    }
    await failing(() => stream.endMany(-1));
    await failing(() => stream.endMany(1.5));
    await failing(() => stream.endMany());
    await failing(() => stream.stddev(8));
    await failing(() => stream.halfWidth({ probability: 0 }));
    await failing(() => stream.halfWidth({ probability: 0.1, step: 8 }));
    await failing(() => stream.halfWidth({ probability: '0.1' }));
    await failing(() => stream.halfWidth(0.1));
    assert.deepEqual(whereOf(stream), before);
    const other = dp[it.kind](it.options);
    other.add(...it.one(0));
    assert.deepEqual(await stream.end(), other.end());
    await stream.dispose();
  });

  test(`streams: nothing is taken from nothing (${it.title})`, async () => {
    const stream = await it.make();
    const { nothing } = it;
    await stream.addMany(...nothing);
    assert.deepEqual(await stream.releaseMany(...nothing), []);
    assert.deepEqual(await stream.endMany(0), []);
    assert.deepEqual(whereOf(stream), { step: 0, records: 0, waiting: 0, dropped: 0 });
    assert.equal((await stream.releaseBatch(...nothing)).step, 0);
    await stream.dispose();
  });

  test(`streams: past the horizon the readings before are in the error (${it.title})`, async () => {
    const stream = await it.make();
    const wanted = await dp[it.kind](it.options).endMany(8);
    await stream.end();
    const { code, released } = await failing(() => stream.endMany(9));
    assert.equal(code, 'past_horizon');
    assert.deepEqual(released, wanted.slice(1));
    assert.equal((await failing(() => stream.end())).code, 'past_horizon');
    assert.equal((await failing(() => stream.release(...it.one(0)))).code, 'past_horizon');
    assert.equal((await failing(() => stream.releaseBatch(...it.many()))).code, 'past_horizon');
    const none = await failing(() => stream.releaseMany(...it.many()));
    assert.deepEqual([none.code, none.released], ['past_horizon', []]);
    assert.deepEqual(whereOf(stream), { step: 8, records: 0, waiting: 0, dropped: 0 });
    await stream.dispose();
  });

  test(`streams: a reading has its noise (${it.title})`, async () => {
    const stream = await it.make();
    const planned = await stream.stddev(2);
    const hasHalfWidth = it.learns || ['counter', 'totals', 'sums', 'increments'].includes(it.kind);
    const all = { probability: 0.05 };
    if (!hasHalfWidth) {
      assert.equal((await failing(() => stream.halfWidth(all))).code, 'unsupported');
    }
    const any = hasHalfWidth ? await stream.halfWidth(all) : Infinity;
    const readings = await stream.releaseMany(...it.many());
    for (const [step, reading] of readings.entries()) {
      if (!it.learns) assert.equal(firstOf(reading).stddev, await stream.stddev(step));
      for (const { value, low, high, stddev, halfWidth } of estimatesOf(reading)) {
        assert.ok(stddev > 0);
        if (halfWidth === undefined) assert.ok(low <= high && (value >= low || value <= high));
        else assert.ok(halfWidth > stddev);
      }
      if (hasHalfWidth) assert.ok((await stream.halfWidth({ ...all, step })) <= any);
    }
    assert.equal(await stream.stddev(2), planned);
    assert.equal(stream.steps, 8);
    assert.equal(stream.insecure, true);
    assert.equal(stream.certificate.numSteps, 8);
    assert.ok(Object.isFrozen(stream.certificate) && stream.grid > 0);
    await stream.dispose();
  });

  test(`streams: after it was disposed of, a stream refuses (${it.title})`, async () => {
    const stream = await it.make();
    assert.equal(stream.disposed, false);
    await stream.dispose();
    await stream.dispose();
    assert.equal(stream.disposed, true);
    const calls = [
      () => stream.add(...it.one(0)),
      () => stream.addMany(...it.many()),
      () => stream.end(),
      () => stream.endMany(1),
      () => stream.release(...it.one(0)),
      () => stream.releaseBatch(...it.many()),
      () => stream.releaseMany(...it.many()),
      () => stream.stddev(0),
      () => stream.halfWidth({ probability: 0.1 }),
    ];
    for (const call of calls) assert.equal((await failing(call)).code, 'disposed');
  });
}

for (const it of PLACES_AND_CASES.filter(({ learns }) => learns)) {
  test(`streams: batchSize records end a step of releaseMany (${it.title})`, async () => {
    const make = () => it.make({ batchSize: 3 });
    const many = await make();
    await many.add(...it.one(0));
    const readings = await many.releaseMany(...it.many(1));
    assert.deepEqual([many.step, many.waiting, many.records], [2, 2, 8]);
    readings.push(await many.end());
    assert.deepEqual(await many.releaseMany(...it.many(0, 2)), []);
    assert.deepEqual([many.step, many.waiting], [3, 2]);
    readings.push(...(await many.releaseMany(...it.many(2, 3))));
    assert.deepEqual([many.step, many.waiting], [4, 0]);
    const each = await make();
    const wanted = [];
    for (const range of [
      [0, 3],
      [3, 6],
      [6, 8],
      [0, 3],
    ]) {
      wanted.push(await each.releaseBatch(...it.many(...range)));
    }
    assert.deepEqual(readings, wanted);
    await many.addMany(...it.many(0, 5));
    assert.deepEqual(await many.releaseMany(...it.many(5, 6)), [
      await each.releaseBatch(...it.many(0, 6)),
    ]);
    for (const stream of [many, each]) await stream.dispose();
  });

  test(`streams: learn makes the steps of releaseMany (${it.title})`, async () => {
    if (it.kind !== 'learner') return;
    const stream = await it.make({ batchSize: 2 });
    await stream.add(...it.one(0));
    const [first, second] = [await it.make({ batchSize: 2 }), await stream.learn(...it.many(1))];
    assert.equal(second, undefined);
    const readings = await first.releaseMany(...it.many());
    assert.deepEqual(whereOf(stream), whereOf(first));
    assert.deepEqual(await stream.weights(), readings.at(-1).weights);
    const model = await stream.model();
    assert.deepEqual(model.lastWeights, [...readings.at(-1).weights]);
    assert.deepEqual(model, await first.model());
    assert.equal(model.numExamples, 8);
    assert.ok((await stream.lambda()) > 0);
    const scores = await stream.scores([1, 0]);
    assert.deepEqual(
      [...scores],
      model.lastWeights.filter((_, i) => i % 2 === 0),
    );
    assert.equal((await stream.losses(scores, [1])).length, 1);
    await stream.endMany(3);
    assert.equal((await failing(() => stream.learn(...it.many(0, 4)))).code, 'past_horizon');
    assert.deepEqual([stream.step, stream.waiting], [8, 0]);
    for (const each of [stream, first]) await each.dispose();
    assert.equal((await failing(() => stream.learn(...it.many()))).code, 'disposed');
  });

  test(`streams: weights are those of the last reading (${it.title})`, async () => {
    const stream = await it.make();
    const begun = await stream.weights();
    assert.ok(begun.length >= 2);
    for (let i = 0; i < 4; ++i) {
      await stream.add(...it.one(i));
      const { weights } = await stream.end();
      assert.equal(weights.length, begun.length);
      assert.deepEqual(await stream.weights(), weights);
    }
    assert.equal((await failing(() => stream.weights({}, {}))).code, 'wrong_type');
    await stream.dispose();
    assert.equal((await failing(() => stream.weights())).code, 'disposed');
  });
}

test('streams: overlapping calls take their turn, 200 of them are 200 steps', async () => {
  for (const place of ['store', 'worker']) {
    for (const { kind, options, one, name } of CASES) {
      if (place === 'worker' && typeof options.loss === 'function') continue;
      const stream = await PLACES[place](kind, { ...options, steps: 300 });
      const all = await Promise.all(Array.from({ length: 200 }, () => stream.release(...one(0))));
      assert.deepEqual(
        all.map(({ step }) => step),
        Array.from({ length: 200 }, (_, step) => step),
        `${name}, ${place}`,
      );
      assert.deepEqual([stream.step, stream.records], [200, 200]);
      const adds = Array.from({ length: 50 }, () => stream.add(...one(1)));
      const [reading] = await Promise.all([stream.end(), ...adds]);
      assert.deepEqual([reading.step, stream.records, stream.waiting], [200, 250, 0]);
      await stream.dispose();
    }
  }
});

test('streams: a person counts in the earliest steps that the bound allows', async () => {
  for (const open of Object.values(PLACES)) {
    const options = { ...TARGET, clip: 3 };
    const bound = { times: 2, apart: 2 };
    const [stream, alone] = [
      await open('counter', { ...options, people: bound }),
      dp.counter({ ...options, participation: bound }),
    ];
    const steps = [
      { people: ['ann', 'bob', ' ann '], amounts: [1, 2, 1], counts: [2, 2], dropped: 0 },
      { people: ['ann', 'carl'], amounts: [1, 1], counts: [1], dropped: 1 },
      { people: ['ann', 'bob', 'bob'], amounts: [1, 3, 3], counts: [1, 3], dropped: 1 },
      { people: ['ann', 'bob'], amounts: [1, 1], counts: [], dropped: 3 },
    ];
    for (const { people, amounts, counts, dropped } of steps) {
      const { value } = await stream.releaseBatch(people, amounts);
      assert.equal(value, alone.releaseBatch(counts).value);
      assert.equal(stream.dropped, dropped);
    }
    await stream.dispose();
  }
});

test('streams: of columns and categories a person counts once a step, the first time', async () => {
  for (const open of Object.values(PLACES)) {
    const options = { ...TARGET, people: 'once', categories: ['tea', 'coffee'] };
    const [one, other] = [await open('histogram', options), await open('histogram', options)];
    const both = [
      await one.releaseBatch(['ann', 'ann'], ['tea', 'coffee']),
      await other.releaseBatch(['ann'], ['tea']),
    ];
    assert.deepEqual(both[0], both[1]);
    assert.deepEqual([one.dropped, other.dropped], [1, 0]);
  }
});

test('streams: names of people are told apart as texts, or as numbers', async () => {
  const options = { ...TARGET, people: 'once', clip: 5 };
  const valueOf = (more, ...people) =>
    dp.counter({ ...options, ...more }).releaseBatch(
      people,
      people.map(() => 1),
    ).value;
  const apart = valueOf({ clip: 1 }, '7', '007');
  assert.equal(valueOf({ clip: 1 }, 'ann', 'Ann'), apart);
  const together = valueOf({ clip: 1 }, 'ann', ' ann');
  assert.notEqual(together, apart);
  assert.equal(valueOf({ clip: 1 }, 'e\u0301', '\u00e9'), together);
  assert.equal(valueOf({ clip: 1, numericNames: true }, '7', '007'), together);
  const stream = dp.counter(options);
  const numbers = dp.counter({ ...options, numericNames: true });
  for (const person of ['', '  ', '\ud800', 'x'.repeat(1001), 7, undefined, null, ['ann']]) {
    assert.equal((await failing(() => stream.add(person, 1))).parameter, 'person');
    const error = await failing(() => stream.addMany(['ann', person], [1, 1]));
    assert.equal(error.parameter, 'people[1]');
  }
  assert.equal((await failing(() => numbers.add('ann'))).parameter, 'person');
  assert.equal((await failing(() => stream.addMany('ann', [1]))).parameter, 'people');
  assert.equal((await failing(() => stream.addMany(['ann'], [1, 2]))).parameter, 'people');
  assert.deepEqual([stream.records, stream.waiting], [0, 0]);
  stream.add('x'.repeat(1000));
});

test('streams: every name can be used for columns, categories and workloads', async () => {
  const names = ['__proto__', '10', 'toString', 'age', 'a b', '2'];
  const of = (valueOf) => Object.fromEntries(names.map((name, i) => [name, valueOf(i)]));
  for (const open of Object.values(PLACES)) {
    const moments = await open('moments', {
      ...TARGET,
      columns: of(() => [0, 1]),
      covariance: true,
    });
    const reading = await moments.release(of((i) => i / 6));
    for (const part of ['mean', 'variance', 'standardDeviation', 'covariance']) {
      assert.deepEqual(Object.keys(reading[part]).sort(), [...names].sort());
      assert.equal(Object.getPrototypeOf(reading[part]), null);
    }
    assert.equal(reading.covariance.age[names[0]], reading.covariance[names[0]].age);
    assert.equal(reading.covariance['10']['10'].value, reading.variance['10'].value);
    const histogram = await open('histogram', {
      ...TARGET,
      categories: names,
      other: 'constructor',
    });
    const { count, share } = await histogram.releaseBatch(['__proto__', '10', 'valueOf']);
    assert.deepEqual(Object.keys(count).sort(), [...names, 'constructor'].sort());
    assert.deepEqual(Object.keys(share).sort(), Object.keys(count).sort());
    const sums = await open('sums', { ...TARGET, workloads: of((i) => ({ window: i + 1 })) });
    assert.deepEqual(Object.keys((await sums.release()).sums).sort(), [...names].sort());
    assert.deepEqual(Object.keys(sums.certificate.workloads).sort(), [...names].sort());
  }
});

test('streams: each name has its own number', () => {
  const exact = { ...TARGET, epsilon: 1e6, insecureSeed: 1 };
  const near = (actual, expected) =>
    assert.ok(Math.abs(actual / expected - 1) < 0.02, `${actual} is not ${expected}`);
  const columns = { height: [0, 2], 10: [0, 20], age: [0, 100] };
  const moments = dp.moments({ ...exact, columns, covariance: true });
  const two = [
    { age: 20, height: 1, 10: 4 },
    { 10: 8, age: 40, height: 2 },
  ];
  const many = Array.from({ length: 2000 }, (_, i) => two[i % 2]);
  const { count, mean, variance, covariance } = moments.releaseBatch(many);
  near(count.value, 2000);
  near(mean.age.value, 30);
  near(mean.height.value, 1.5);
  near(mean['10'].value, 6);
  near(variance.age.value, 100);
  near(covariance.age.height.value, 5);
  near(covariance['10'].age.value, 20);
  const histogram = dp.histogram({ ...exact, categories: ['tea', '7'], other: 'else' });
  const drinks = histogram.releaseBatch(['7', 'tea', '7', 'milk', 'else', 'x']);
  near(drinks.count.tea.value, 1);
  near(drinks.count['7'].value, 2);
  near(drinks.count.else.value, 3);
  near(drinks.share.else.value, 0.5);
  near(drinks.total.value, 6);
  const sums = dp.sums({ ...exact, workloads: { week: { window: 1 }, 1: 'prefix' } });
  sums.release(1);
  near(sums.release(0.5).sums.week.value, 0.5);
  near(sums.release(1).sums['1'].value, 2.5);
  near(dp.totals({ ...exact, dimension: 2, clip: 5 }).release([3, 4]).values[1], 4);
});

test('streams: with reuse a reading takes the place of the one before', () => {
  const [fresh, reused] = [false, true].map((reuse) => {
    const stream = dp.totals({ ...TARGET, dimension: 2, reuse });
    const [one, two] = [stream.release([1, 0]), stream.release([0, 1])];
    return { one, two, isSame: one.values.buffer === two.values.buffer, many: stream.endMany(2) };
  });
  assert.deepEqual([fresh.isSame, reused.isSame], [false, true]);
  assert.deepEqual(fresh.two, reused.two);
  assert.deepEqual(fresh.many, reused.many);
});

test('streams: options say what is wrong with them, in the words of the caller', async () => {
  const once = { people: 'once' };
  const columns = { age: [0, 1] };
  const learning = { dimension: 1, rate: 1 };
  const example = { dimension: 1 };
  const rows = [
    ['counter', { steps: 0 }, 'steps'],
    ['counter', { steps: 1.5 }, 'steps'],
    ['counter', { steps: undefined }, 'steps'],
    ['counter', { epsilon: 0 }, 'epsilon'],
    ['counter', { delta: undefined }, 'delta'],
    ['counter', { delta: 1 }, 'delta'],
    ['counter', { clip: 0 }, 'clip'],
    ['counter', { clipNorm: 1 }, 'clipNorm'],
    ['counter', { numSteps: 1 }, 'numSteps'],
    ['counter', { confidence: 1 }, 'confidence'],
    ['counter', { neighbours: 'other' }, 'neighbours'],
    ['counter', { grid: 0.3 }, 'grid'],
    ['counter', { insecureSeed: -1 }, 'insecureSeed'],
    ['counter', { strategy: 'honacker' }, 'strategy'],
    ['counter', { strategy: { name: 'blt', buffer: 1 } }, 'buffer'],
    ['counter', { strategy: { buffers: 1 } }, 'strategy.name'],
    ['counter', { strategy: 7 }, 'strategy'],
    ['counter', { workload: { window: 0 } }, 'window'],
    ['counter', { workload: 'sum' }, 'workload'],
    ['counter', { workload: { rates: [1] } }, 'rates'],
    ['counter', { lattice: 'gaussian' }, 'lattice'],
    ['counter', { lattice: { noise: 'gaussian' } }, 'noise'],
    ['counter', { lattice: 'discrete-gaussian', strategy: 'square-root', delta: 0 }, 'lattice'],
    ['counter', { people: true }, 'people'],
    ['counter', { people: { times: 2 } }, 'apart'],
    ['counter', { people: { times: 0, apart: 1 } }, 'times'],
    ['counter', { people: { times: 2, apart: 0 } }, 'apart'],
    ['counter', { people: { epochs: 2 } }, 'epochs'],
    ['counter', { people: { participations: 2, apart: 1 } }, 'participations'],
    ['counter', { participation: { participations: 2, apart: 1 } }, 'participations'],
    ['counter', { participation: 'single' }, 'participation'],
    ['counter', { ...once, participation: 'once' }, 'participation'],
    ['counter', { participation: { epochs: 3 } }, 'epochs'],
    ['counter', { participation: { epochs: 2, times: 1 } }, 'times'],
    ['counter', { numericNames: true }, 'numericNames'],
    ['counter', { about: 'text' }, 'about'],
    ['counter', { durable: 'step' }, 'durable'],
    ['counter', { mustExist: true }, 'mustExist'],
    ['counter', { store: {} }, 'store'],
    ['counter', { fixedTimes: true }, 'fixedTimes'],
    ['counter', { delta: 0, strategy: 'honaker' }, 'strategy'],
    ['counter', { delta: 0, strategy: { name: 'tree-k', bands: 2 } }, 'strategy.bands'],
    ['counter', { delta: 0, strategy: 'tree-k', workload: { window: 2 } }, 'workload'],
    ['counter', { delta: 0, strategy: 'tree-k', workload: { window: 1 } }, 'strategy'],
    [
      'counter',
      { delta: 0, strategy: { name: 'independent', arity: 3 }, workload: { window: 1 } },
      'strategy.arity',
    ],
    ['totals', { dimension: 0 }, 'dimension'],
    ['totals', {}, 'dimension'],
    ['totals', { dimension: 1, reuse: 1 }, 'reuse'],
    ['increments', {}, 'dimension'],
    ['increments', { dimension: 1, clippedTo: 0 }, 'clippedTo'],
    ['increments', { dimension: 1, clippedTo: Number.NaN }, 'clippedTo'],
    ['increments', { dimension: 1, clippedTo: '1' }, 'clippedTo'],
    ['increments', { dimension: 1, clippedTo: 1, grid: 2 }, 'grid'],
    ['increments', { dimension: 1, workload: { window: 2 } }, 'workload'],
    ['increments', { dimension: 1, steps: 4097, strategy: 'tree' }, 'steps'],
    ['sums', { workloads: {} }, 'workloads'],
    ['sums', { workloads: ['prefix'] }, 'workloads'],
    ['sums', { workloads: { a: undefined } }, 'workload'],
    ['sums', { workloads: { a: { window: -1 } } }, 'window'],
    ['sums', { workloads: { a: 'prefix' }, importance: {} }, 'importance'],
    ['sums', { workloads: { a: 'prefix' }, importance: { a: 0 } }, 'importance.a'],
    ['sums', { workloads: { a: 'prefix' }, importance: { a: 1, b: 1 } }, 'importance.b'],
    ['moments', {}, 'columns'],
    ['moments', { columns: [] }, 'columns'],
    ['moments', { columns: { age: [1, 0] } }, 'columns.age'],
    ['moments', { columns: { 'a b': [0] } }, 'columns["a b"]'],
    ['moments', { columns, workload: { decay: 0.5 } }, 'workload'],
    ['moments', { columns, delta: 0 }, 'delta'],
    ['moments', { columns, covariance: 'yes' }, 'covariance'],
    ['histogram', {}, 'categories'],
    ['histogram', { categories: [] }, 'categories'],
    ['histogram', { categories: ['a', 'a'] }, 'categories[1]'],
    ['histogram', { categories: ['a', 7] }, 'categories[1]'],
    ['histogram', { categories: ['a'], other: 'a' }, 'other'],
    ['histogram', { categories: ['a'], total: 1 }, 'total'],
    ['learner', {}, 'dimension'],
    ['learner', { ...example, clip: 0 }, 'clip'],
    ['learner', { ...example, batchSize: 0 }, 'batchSize'],
    ['learner', { ...example, loss: 'quantile' }, 'loss'],
    ['learner', { ...example, loss: { quantile: 1 } }, 'loss.quantile'],
    ['learner', { ...example, loss: { huber: 0 } }, 'loss.huber'],
    ['learner', { ...example, loss: { softmax: 1 } }, 'loss.softmax'],
    ['learner', { ...example, loss: {} }, 'loss'],
    ['learner', { ...example, loss: { huber: 1, quantile: 0.5 } }, 'loss'],
    ['learner', { ...example, loss: 7 }, 'loss'],
    ['learner', { ...example, domain: 'cube' }, 'domain'],
    ['learner', { ...example, radius: 0 }, 'radius'],
    ['learner', { ...example, lambda: -1 }, 'lambda'],
    ['learner', { ...example, doubling: 1 }, 'doubling'],
    ['learner', { ...example, descent: { momentum: 1 } }, 'momentum'],
    ['learner', { ...example, descent: { rate: 1 } }, 'rate'],
    ['learner', { ...example, penalty: { strength: -1 } }, 'penalty.strength'],
    ['learner', { ...example, numClasses: 3 }, 'numClasses'],
    ['learner', { ...example, confidence: 0.5 }, 'confidence'],
    ['learner', { ...example, workload: { window: 2 } }, 'workload'],
    ['learner', { ...example, delta: 0 }, 'delta'],
    ['gradientLearner', { rate: 1 }, 'dimension'],
    ['gradientLearner', { dimension: 1 }, 'rate'],
    ['gradientLearner', { ...learning, rate: 0 }, 'rate'],
    ['gradientLearner', { ...learning, clip: 0 }, 'clip'],
    ['gradientLearner', { ...learning, batchSize: 0 }, 'batchSize'],
    ['gradientLearner', { ...learning, batchSize: 1.5 }, 'batchSize'],
    ['gradientLearner', { ...learning, start: [1, 2] }, 'start'],
    ['gradientLearner', { ...learning, start: [Number.NaN] }, 'start[0]'],
    ['gradientLearner', { ...learning, rule: 'newton' }, 'rule'],
    ['gradientLearner', { ...learning, rule: 'adam' }, 'rule'],
    ['gradientLearner', { ...learning, rule: 7 }, 'rule'],
    ['gradientLearner', { ...learning, rule: {} }, 'rule.adam'],
    ['gradientLearner', { ...learning, rule: { adam: { beta: 1 } } }, 'beta'],
    ['gradientLearner', { ...learning, rule: { adam: { beta1: 1 } } }, 'beta1'],
    ['gradientLearner', { ...learning, rule: { adam: { floor: 0 } } }, 'floor'],
    ['gradientLearner', { ...learning, rule: { adam: {} }, momentum: 0.5 }, 'momentum'],
    ['gradientLearner', { ...learning, rule: { adam: {} }, radius: 1 }, 'radius'],
    ['gradientLearner', { ...learning, rule: 'ftrl', momentum: 0.5 }, 'momentum'],
    ['gradientLearner', { ...learning, momentum: 1 }, 'momentum'],
    ['gradientLearner', { ...learning, radius: 0 }, 'radius'],
    ['gradientLearner', { ...learning, beta1: 0.5 }, 'beta1'],
    ['gradientLearner', { ...learning, confidence: 0.5 }, 'confidence'],
    ['gradientLearner', { ...learning, workload: { window: 2 } }, 'workload'],
    ['gradientLearner', { ...learning, delta: 0 }, 'delta'],
    ['gradientLearner', { ...learning, lattice: 'discrete-gaussian' }, 'lattice'],
  ];
  for (const [kind, given, parameter] of rows) {
    const options = { ...TARGET, ...given };
    const told = [await failing(() => dp[kind](options))];
    if (!('store' in given)) {
      if (parameter !== 'reuse') told.push(await failing(() => client[kind](options)));
      if (!['about', 'durable', 'mustExist'].includes(parameter)) {
        told.push(await failing(() => dp[kind]({ ...options, store: memoryStore() })));
      }
    }
    const text = `${kind} ${JSON.stringify(given)}`;
    for (const error of told) {
      assert.equal(error.parameter, parameter, `${text}: ${error.message}`);
      assert.equal(error.message, told[0].message);
      assert.equal(error.call, kind, text);
      assert.doesNotMatch(error.message, /numSteps must|clipNorm must|mechanism|_/, text);
    }
  }
  for (const kind of Object.keys(KINDS).filter((name) => name in dp)) {
    assert.equal((await failing(() => dp[kind]())).code, 'wrong_type');
    assert.equal((await failing(() => dp[kind](null))).code, 'wrong_type');
  }
});

test('streams: a worker has no stores, and refuses what has no meaning there', async () => {
  const store = await failing(() => client.counter({ ...TARGET, store: memoryStore() }));
  assert.deepEqual([store.code, store.parameter], ['unsupported', 'store']);
  const reuse = await failing(() => client.totals({ ...TARGET, dimension: 1, reuse: true }));
  assert.deepEqual([reuse.code, reuse.parameter], ['unsupported', 'reuse']);
});

test('streams: a signal takes out a call that waits', async () => {
  for (const place of ['store', 'worker']) {
    const stream = await PLACES[place]('counter', { ...TARGET, steps: 50_002 });
    const stop = new AbortController();
    const first = stream.endMany(50_000);
    const calls = [
      stream.release(2, { signal: stop.signal }),
      stream.add(2, { signal: stop.signal }),
      stream.endMany(2, { signal: stop.signal }),
      stream.stddev(0, { signal: stop.signal }),
    ].map((call) => failing(() => call));
    const last = stream.release(1);
    stop.abort(new Error('enough'));
    for (const error of await Promise.all(calls)) {
      assert.equal(error.code, 'aborted');
      assert.equal(error.cause.message, 'enough');
    }
    assert.deepEqual([(await first).length, (await last).step, stream.records], [5e4, 5e4, 1]);
    const late = await failing(() => stream.release(1, { signal: stop.signal }));
    assert.deepEqual([late.code, stream.step], ['aborted', 50_001]);
    assert.equal((await failing(() => stream.end({ signals: 1 }))).parameter, 'signals');
    assert.equal((await failing(() => stream.end({ onProgress: 1 }))).parameter, 'onProgress');
    await stream.dispose();
  }
});

test('streams: in a worker a batch reports progress, and a signal stops it between pieces', async () => {
  const stream = await client.counter({ ...TARGET, steps: 100_000 });
  const stop = new AbortController();
  const fractions = [];
  const onProgress = ({ fraction }) => {
    fractions.push(fraction);
    if (fractions.length === 2) stop.abort();
  };
  const call = { signal: stop.signal, onProgress };
  const { code, released } = await failing(() => stream.releaseMany(new Float32Array(9e4), call));
  assert.equal(code, 'aborted');
  assert.ok(released.length > 0 && released.length < 9e4);
  assert.deepEqual([stream.step, stream.records], [released.length, released.length]);
  assert.ok(fractions.every((fraction, i) => fraction > (fractions[i - 1] ?? 0) && fraction < 1));
  assert.equal((await stream.end()).step, released.length);
  await stream.dispose();
});

test('streams: a reading keeps its numbers when the next one is made', async () => {
  for (const open of Object.values(PLACES)) {
    const stream = await open('totals', { ...TARGET, dimension: 3 });
    const first = await stream.release([1, 0, 0]);
    const kept = JSON.stringify(first);
    await stream.endMany(3);
    assert.equal(JSON.stringify(first), kept);
    assert.equal(first.values.length, 3);
    await stream.dispose();
  }
});

test('streams: the entry for counting makes the same counters and totals', async () => {
  const small = await (await importEntry('dp-ftrl/counter')).load();
  const options = { ...TARGET, strategy: 'honaker' };
  for (const { kind, one, many, name, options: own } of CASES) {
    // Only the whole package has windows, lattices and pure noise.
    if (!(kind in small) || /delta|lattice|window/.test(name)) continue;
    const [a, b] = [small, dp].map((it) => it[kind]({ ...own, ...options }));
    assert.deepEqual(a.release(...one(0)), b.release(...one(0)), name);
    assert.deepEqual(a.releaseBatch(...many()), b.releaseBatch(...many()), name);
  }
  assert.deepEqual(
    Object.keys(small).filter((name) => name in KINDS),
    ['counter', 'totals'],
  );
});

test('streams: without a seed two streams differ, and nothing leaks', async () => {
  const { insecureSeed, ...secret } = TARGET;
  const before = dp.liveHandles;
  const [a, b] = [dp.counter(secret), dp.counter(secret)];
  assert.notEqual(a.release(1).value, b.release(1).value);
  assert.equal(a.insecure, false);
  for (const stream of [a, b]) stream.dispose();
  for (let i = 0; i < 50; ++i) {
    const stream = await dp.counter({ ...secret, store: memoryStore() });
    await stream.dispose();
    await dp.counter({ ...secret, epsilon: -1, store: memoryStore() }).catch(() => undefined);
  }
  assert.equal(dp.liveHandles, before);
  assert.equal(NAMES.length, 8);
});

test('streams: counts are made non-negative, or monotone as well', async () => {
  const reading = (step, ...values) => ({
    step,
    count: Object.fromEntries(
      values.map((value, i) => [i === 0 ? 'tea' : '__proto__x', { value }]),
    ),
  });
  const days = [reading(0, -1, 2), reading(1, 3, 4), reading(2, 1, -6)];
  const plain = (counts) => counts.map(({ count, total }) => [...Object.values(count), total]);
  assert.deepEqual(plain(dp.consistent(days, 'non-negative')), [
    [0, 2, 2],
    [3, 4, 7],
    [1, 0, 1],
  ]);
  assert.deepEqual(plain(dp.consistent(days, 'monotone')), [
    [0, 0, 0],
    [2, 0, 2],
    [2, 0, 2],
  ]);
  assert.deepEqual(dp.consistent([], 'monotone'), []);
  const real = dp.histogram({ ...TARGET, categories: ['a', 'b'] }).endMany(8);
  const made = dp.consistent(real, 'monotone');
  for (const [t, { count }] of made.entries()) {
    for (const name of ['a', 'b']) assert.ok(count[name] >= (made[t - 1]?.count[name] ?? 0));
  }
  const rows = [
    [7, 'monotone', 'readings'],
    [days, 'best', 'how'],
    [days.slice(1), 'monotone', 'readings[0].step'],
    [[{}], 'monotone', 'readings[0]'],
    [[days[0], { step: 1, count: {} }], 'monotone', 'readings[1].count.tea.value'],
    [[reading(0, Number.NaN)], 'monotone', 'readings[0].count.tea.value'],
  ];
  for (const [readings, how, parameter] of rows) {
    assert.equal((await failing(() => dp.consistent(readings, how))).parameter, parameter);
  }
});

test('streams: a batch may have hundreds of thousands of steps', async () => {
  const steps = 300_000;
  const readings = dp.counter({ ...TARGET, steps, strategy: 'tree' }).endMany(steps);
  assert.deepEqual([readings.length, readings.at(-1).step], [steps, steps - 1]);
  const options = { ...TARGET, steps, strategy: 'tree', store: appendingStore() };
  const stored = await (await dp.counter(options)).endMany(steps);
  assert.deepEqual(stored.at(-1), readings.at(-1));
});
