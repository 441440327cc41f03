// SPDX-License-Identifier: Apache-2.0

// Laws of streams in stores: what resolved survives, nothing is released twice or lost, and a
// stream goes on only with the options it was begun with. Laws of the bytes are in
// streams-log.test.mjs.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { wellTold } from './support/check.mjs';
import { importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore, isWiped, keysDrawn, keysRead, memoryStore } from './support/stores.mjs';
import { CASES, firstOf, TARGET } from './support/streams.mjs';

const { createInstance, load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('streams');

/**
 * A store that keeps its bytes after each write, and fails while `fails` is set, before or after the
 * write.
 */
function recordingStore(bytes, appends = true) {
  const store = {
    writes: [],
    fails: undefined,
    load: async () => bytes,
    save: (given) => store.write(given),
    close: async () => {},
    async write(all) {
      if (store.fails === 'before') throw new Error('no room');
      bytes = all;
      store.writes.push(bytes);
      if (store.fails === 'after') throw new Error('no answer');
    },
    bytes: () => bytes,
  };
  if (appends) {
    store.append = (given) => store.write(Uint8Array.from(Buffer.concat([bytes, given])));
  }
  return store;
}

async function failing(call) {
  try {
    await call();
  } catch (error) {
    wellTold(error);
    return error;
  }
  return assert.fail('nothing was refused');
}

const STORES = { appending: true, 'saving everything': false };
const ALL = Object.entries(STORES).flatMap(([store, appends]) =>
  CASES.map((it) => ({ ...it, appends, title: `${it.name}, ${store}` })),
);

for (const it of ALL) {
  const { kind, options, one, many, numRecords } = it;
  const open = (store, more) => dp[kind]({ ...options, ...more, store });

  test(`streams in stores: every write can be the last one (${it.title})`, async () => {
    const calls = Array.from({ length: numRecords }, (_, i) => (stream) => stream.add(...one(i)));
    calls.splice(3, 0, (stream) => stream.end());
    calls.splice(6, 0, (stream) => stream.releaseBatch(...many(0, 2)));
    calls.push((stream) => stream.endMany(6));
    const goOn = async (stream, from) => {
      const results = [];
      for (const call of calls.slice(from)) results.push(await call(stream));
      return results;
    };
    const store = recordingStore(undefined, it.appends);
    const stream = await open(store);
    const wanted = await goOn(stream, 0);
    assert.equal(store.writes.length, calls.length, 'each call is one write');
    const readings = wanted.flat().filter((it) => it !== undefined);
    for (const [last, bytes] of store.writes.entries()) {
      const again = await open(recordingStore(bytes, it.appends));
      for (let step = 0; step < again.step; ++step) {
        assert.deepEqual(await again.at(step), readings[step]);
      }
      assert.deepEqual(await goOn(again, last + 1), wanted.slice(last + 1));
      const { step, records, waiting, dropped } = stream;
      assert.deepEqual([again.step, again.records, again.waiting], [step, records, waiting]);
      assert.equal(again.dropped, dropped);
      await again.dispose();
    }
  });

  test(`streams in stores: at and releaseAt repeat a step (${it.title})`, async () => {
    const store = recordingStore(undefined, it.appends);
    let stream = await open(store);
    assert.equal((await failing(() => stream.at(0))).parameter, 'step');
    assert.equal((await failing(() => stream.at(-1))).parameter, 'step');
    const readings = [
      await stream.releaseAt(0, ...many(0, 3)),
      await stream.releaseBatch(...many(3, 5)),
      await stream.release(...one(5)),
      await stream.end(),
    ];
    for (let life = 0; life < 2; ++life) {
      const { length } = store.writes;
      for (const [i, reading] of readings.entries()) {
        assert.deepEqual(await stream.at(i), reading);
        assert.deepEqual(await stream.at(i - readings.length), reading);
      }
      assert.deepEqual(await stream.releaseAt(0, ...many(0, 3)), readings[0]);
      assert.deepEqual(await stream.releaseAt(1, ...many(3, 5)), readings[1]);
      assert.deepEqual(await stream.releaseAt(2, ...many(5, 6)), readings[2]);
      assert.deepEqual(await stream.releaseAt(3, ...many(0, 0)), readings[3]);
      const others = [
        () => stream.releaseAt(0, ...many(0, 2)),
        () => stream.releaseAt(0, ...many(0, 4)),
        () => stream.releaseAt(0, ...many(3, 6)),
        () => stream.releaseAt(0, ...many(0, 0)),
        () => stream.releaseAt(3, ...many(0, 1)),
      ];
      for (const other of others) assert.equal((await failing(other)).code, 'already_released');
      for (const step of [5, 4.5, 8, -1, '0', undefined]) {
        assert.equal((await failing(() => stream.releaseAt(step, ...many()))).parameter, 'step');
      }
      for (const step of [4, -5, 1.5, '0', undefined]) {
        assert.equal((await failing(() => stream.at(step))).parameter, 'step');
      }
      await stream.add(...one(6));
      assert.equal((await failing(() => stream.releaseAt(4, ...many(6, 7)))).code, 'bad_state');
      assert.deepEqual(await stream.releaseAt(0, ...many(0, 3)), readings[0]);
      assert.equal(stream.waiting, 1);
      readings.push(await stream.end());
      assert.equal(store.writes.length, length + 2);
      const { identity } = stream;
      assert.match(identity, /^[0-9a-f]{32}$/);
      await stream.dispose();
      stream = await open(store);
      assert.equal(stream.identity, identity);
      assert.equal(stream.step, 5 + life);
      if (life === 0) readings.push(await stream.releaseAt(5, ...many(0, 0)));
      if (life === 0) break;
    }
  });

  test(`streams in stores: a failed write is caught up, and nothing is made twice (${it.title})`, async () => {
    const wanted = dp[kind](options).releaseMany(...many(0, 4));
    for (const fails of ['before', 'after']) {
      const store = recordingStore(undefined, it.appends);
      const stream = await open(store);
      assert.deepEqual(await stream.release(...one(0)), wanted[0]);
      store.fails = fails;
      const first = await failing(() => stream.release(...one(1)));
      assert.deepEqual([first.code, first.step], ['store_failed', 1]);
      assert.equal(stream.step, 1);
      for (const call of [
        () => stream.release(...one(2)),
        () => stream.releaseAt(1, ...many(1, 2)),
        () => stream.add(...one(2)),
        () => stream.at(0),
        () => stream.end(),
      ]) {
        const later = await failing(call);
        assert.deepEqual([later.code, later.step], ['store_failed', undefined]);
      }
      assert.equal(stream.records, 2);
      store.fails = undefined;
      // The failed write may have been stored, so the step keeps its records.
      const other = await failing(() => stream.releaseAt(first.step, ...many(0, 2)));
      assert.equal(other.code, 'already_released');
      assert.deepEqual(await stream.releaseAt(first.step, ...many(1, 2)), wanted[1]);
      assert.deepEqual(await stream.release(...one(2)), wanted[2]);
      store.fails = fails;
      const added = await failing(() => stream.add(...one(3)));
      assert.deepEqual([added.code, added.step, stream.waiting], ['store_failed', 3, 1]);
      store.fails = undefined;
      assert.deepEqual(await stream.end(), wanted[3]);
      await stream.dispose();
      const again = await open(recordingStore(store.bytes(), it.appends));
      assert.deepEqual([again.step, again.records], [4, 4]);
      assert.deepEqual(await again.at(-1), wanted[3]);
    }
  });

  test(`streams in stores: whatever writes fail, each record counts once (${it.title})`, async () => {
    for (const [first, length] of [
      [0, 3],
      [1, 10],
      [2, 1],
    ]) {
      for (const fails of ['before', 'after']) {
        const store = recordingStore(undefined, it.appends);
        const { write } = store;
        let numWrites = 0;
        store.write = (bytes) => {
          const i = numWrites++;
          store.fails = i >= first && i < first + length ? fails : undefined;
          return write(bytes);
        };
        const stream = await open(store);
        // Overlapping calls, each repeated until the store works.
        const released = async (i) => {
          let call = () => stream.release(...one(i));
          for (;;) {
            try {
              return await call();
            } catch ({ code, step }) {
              assert.equal(code, 'store_failed');
              if (step !== undefined) call = () => stream.releaseAt(step, ...many(i, i + 1));
            }
          }
        };
        const all = await Promise.all(Array.from({ length: numRecords }, (_, i) => released(i)));
        const order = [];
        all.forEach(({ step }, i) => (order[step] = i));
        const whole = dp[kind](options);
        for (const i of order) assert.deepEqual(all[i], whole.release(...one(i)));
        await stream.dispose();
        const again = await open(recordingStore(store.bytes(), it.appends), { mustExist: true });
        assert.deepEqual([again.step, again.records], [numRecords, numRecords]);
        for (const reading of all) assert.deepEqual(await again.at(reading.step), reading);
        for (const each of [again, whole]) await each.dispose();
      }
    }
  });

  test(`streams in stores: records are stored with their step if asked to (${it.title})`, async () => {
    const store = recordingStore(undefined, it.appends);
    const stream = await open(store, { durable: 'step' });
    await stream.addMany(...many(0, 3));
    assert.equal(store.writes.length, 0);
    const reading = await stream.end();
    await stream.add(...one(3));
    assert.equal(store.writes.length, 1);
    const lost = await open(recordingStore(store.bytes(), it.appends));
    assert.deepEqual([lost.step, lost.records, lost.waiting], [1, 3, 0]);
    assert.deepEqual(await lost.at(0), reading);
  });
}

/** Changes of options, by the option that the error names. */
const CHANGES = {
  counter: { clip: { clip: 2 }, workload: { workload: { window: 3 } }, grid: { grid: 2 ** -3 } },
  totals: { dimension: { dimension: 3 }, clip: { clip: 2 } },
  sums: {
    workloads: { workloads: { all: 'prefix', week: { window: 3 } } },
    importance: { importance: { all: 2, week: 1 } },
    dimension: { dimension: 1 },
  },
  moments: {
    columns: { columns: { age: [0, 99], height: [1, 2] } },
    covariance: { covariance: false },
    workload: { workload: { window: 2 } },
    fixedTimes: { neighbours: 'zero-out', fixedTimes: true },
  },
  histogram: {
    categories: { categories: ['coffee', 'tea'] },
    other: { other: undefined },
    total: { total: true },
  },
  increments: {
    dimension: { dimension: 3 },
    clip: { clip: 2 },
    clippedTo: { clip: undefined, clippedTo: 5 },
    grid: { grid: 2 ** -3 },
  },
  active: {
    windows: { windows: { day: 1, week: 4 } },
    closedStart: { closedStart: true },
  },
  learner: {
    dimension: { dimension: 3 },
    clip: { clip: 2 },
    batchSize: { batchSize: 2 },
    loss: { loss: { huber: 1 } },
    domain: { domain: 'box' },
    radius: { radius: 3 },
    lambda: { lambda: 7 },
    doubling: { doubling: false },
    penalty: { penalty: { strength: 0.1 } },
    descent: { descent: { momentum: 0.5 }, doubling: true },
    grid: { grid: 2 ** -3 },
    lattice: { lattice: 'discrete-gaussian', strategy: 'square-root' },
  },
  gradientLearner: {
    dimension: { dimension: 3, start: [1, 2, 3] },
    clip: { clip: 2 },
    rate: { rate: 0.2 },
    batchSize: { batchSize: 2 },
    momentum: { momentum: 0.4 },
    radius: { radius: 3 },
    rule: { rule: 'ftrl', momentum: undefined },
    grid: { grid: 2 ** -3 },
  },
};
const COMMON = {
  steps: { steps: 9 },
  epsilon: { epsilon: 2 },
  delta: { delta: 1e-5 },
  neighbours: { neighbours: 'replace-one' },
  strategy: { strategy: 'normalized-square-root' },
  about: { about: 'other rules' },
  insecureSeed: { insecureSeed: 4 },
};

for (const { name, kind, options, one, isOfPeople, learns } of CASES) {
  // CHANGES fits the plain case of a kind, not these variants.
  if (/^counter (without|on|of a)|come clipped|by Adam|^learner (of|by)/.test(name)) continue;
  test(`streams in stores: other options are refused by name (${name})`, async () => {
    const begun = { ...options, about: 'rules', ...(name === 'counter' && { grid: 2 ** -4 }) };
    const store = recordingStore();
    const stream = await dp[kind]({ ...begun, store });
    const reading = await stream.release(...one(0));
    await stream.dispose();
    const people = { ...options, people: isOfPeople ? undefined : 'once' };
    const changes = {
      ...COMMON,
      ...(kind === 'sums' && 'dimension' in options ? {} : CHANGES[kind]),
      people,
      ...(isOfPeople
        ? { people: { people: 'once' }, numericNames: { numericNames: true } }
        : { participation: { participation: { times: 2, apart: 2 } } }),
    };
    if (isOfPeople) delete changes.clippedTo; // Streams of people refuse this option.
    // Streams of active people have neither of these options.
    if (kind === 'active') for (const name of ['people', 'strategy']) delete changes[name];
    for (const [option, change] of Object.entries(changes)) {
      const error = await failing(() => dp[kind]({ ...begun, ...change, store }));
      assert.equal(error.code, 'other_options', `${option}: ${error.message}`);
      const isMoved = option === 'people' && !isOfPeople;
      assert.equal(error.parameter, isMoved ? 'people' : option, error.message);
      assert.match(error.constraint, /^must be .* as when the stored stream was begun$/);
      assert.equal(error.call, kind);
    }
    const accepted = {
      ...(learns ? kind === 'gradientLearner' && { start: [7, 7] } : { confidence: 0.5 }),
      durable: 'step',
      mustExist: true,
    };
    const again = await dp[kind]({ ...begun, ...accepted, store });
    const repeated = await again.at(0);
    if (learns) assert.deepEqual(repeated, reading);
    else assert.equal(firstOf(repeated).value, firstOf(reading).value);
    await again.dispose();
  });
}

test('streams in stores: the error shows the old and the new value', async () => {
  const store = recordingStore();
  const options = { ...TARGET, workload: { window: 3 } };
  await (await dp.counter({ ...options, store })).release();
  const told = async (change) => {
    const copy = recordingStore(store.bytes());
    return (await failing(() => dp.counter({ ...options, ...change, store: copy }))).message;
  };
  const end = 'as when the stored stream was begun';
  assert.equal(await told({ steps: 9 }), `counter: steps must be 8, ${end}, got 9`);
  const workload = await told({ workload: undefined });
  assert.equal(workload, `counter: workload must be window: 3, ${end}, got "prefix"`);
  const people = await told({ people: { times: 2, apart: 1 } });
  assert.equal(people, `counter: people must be left out, ${end}, got times: 2, apart: 1`);
  assert.equal(await told({ insecureSeed: 4 }), `counter: insecureSeed must be 3, ${end}, got 4`);
  const rates = { workload: { rates: Array.from({ length: 8 }, (_, i) => 1 / (i + 1)) } };
  assert.match(await told(rates), /window.*rates/);
});

test('streams in stores: the error names what the caller gave, in the words of the options', async () => {
  const end = 'as when the stored stream was begun';
  for (const [kind, begun, again, message] of [
    ['counter', { people: 'once' }, {}, `people must be "once", ${end}, got nothing`],
    [
      'counter',
      { people: { times: 2, apart: 1 } },
      { participation: { times: 2, apart: 1 } },
      `people must be times: 2, apart: 1, ${end}, got nothing`,
    ],
    [
      'counter',
      { strategy: 'honaker', lattice: 'discrete-gaussian' },
      { strategy: 'honaker' },
      `lattice must be "discrete-gaussian", ${end}, got nothing`,
    ],
    [
      'counter',
      { strategy: 'honaker', lattice: 'discrete-gaussian' },
      { strategy: 'honaker', lattice: { noise: 'rounded-gaussian', precisionBits: 12 } },
      `lattice must be "discrete-gaussian", ${end}, got noise: "rounded-gaussian", precisionBits: 12`,
    ],
    [
      'sums',
      { workloads: { all: 'prefix', week: { window: 3 } } },
      { workloads: { week: { window: 3 }, all: 'prefix' } },
      `workloads must be all: "prefix", week: (window: 3), ${end}, got week: (window: 3), all: "prefix"`,
    ],
    [
      'moments',
      { columns: { age: [0, 100] } },
      { columns: { age: [0, 99] } },
      `columns must be age: [0, 100], ${end}, got age: [0, 99]`,
    ],
    [
      'histogram',
      { categories: ['tea', 'milk'] },
      { categories: ['tea'] },
      `categories must be ["tea", "milk"], ${end}, got ["tea"]`,
    ],
  ]) {
    const store = recordingStore();
    const stream = await dp[kind]({ ...TARGET, ...begun, store });
    await stream.end();
    await stream.dispose();
    const error = await failing(() => dp[kind]({ ...TARGET, ...again, store }));
    assert.equal(error.message, `${kind}: ${message}`);
  }
});

test('streams in stores: a store of something else is refused', async () => {
  const store = recordingStore();
  await (await dp.counter({ ...TARGET, store })).release();
  const copy = () => recordingStore(store.bytes());
  const totals = await failing(() => dp.totals({ ...TARGET, dimension: 1, store: copy() }));
  assert.deepEqual([totals.code, totals.parameter], ['other_options', 'store']);
  for (const length of [0, 31, 33, 40, 60]) {
    const short = recordingStore(store.bytes().slice(0, length));
    assert.equal((await failing(() => dp.counter({ ...TARGET, store: short }))).code, 'bad_state');
  }
  const noise = recordingStore(new Uint8Array(500).fill(7));
  const other = await failing(() => dp.counter({ ...TARGET, store: noise }));
  assert.deepEqual([other.code, other.parameter], ['bad_state', 'store']);
  const empty = await failing(() =>
    dp.counter({ ...TARGET, mustExist: true, store: recordingStore() }),
  );
  assert.deepEqual([empty.code, empty.parameter], ['bad_state', 'store']);
});

test('streams in stores: one store is one stream', async () => {
  const store = memoryStore();
  const stream = await dp.counter({ ...TARGET, store });
  assert.equal((await failing(() => dp.counter({ ...TARGET, store }))).code, 'store_in_use');
  const adding = stream.add(1);
  const end = stream.dispose();
  await adding;
  await end;
  const again = await dp.counter({ ...TARGET, store });
  assert.equal(again.records, 1);
  await again[Symbol.asyncDispose]();
  assert.equal(again.disposed, true);
});

test('streams in stores: dispose waits for its turn', async () => {
  const stream = await dp.counter({ ...TARGET, store: memoryStore() });
  const calls = [stream.release(1), stream.add(1), stream.end()];
  const given = await failing(() => stream.dispose({ signal: AbortSignal.abort() }));
  assert.deepEqual([given.code, stream.disposed], ['aborted', false]);
  assert.equal((await failing(() => stream.dispose(1))).code, 'wrong_type');
  await stream.dispose();
  const [first, , second] = await Promise.all(calls);
  assert.deepEqual([first.step, second.step], [0, 1]);
});

test('streams in stores: each has a key of its own, which is wiped when it is closed or refused', async () => {
  const { insecureSeed, ...secret } = TARGET;
  const identities = [];
  for (const store of [memoryStore(), memoryStore()]) {
    const { result, keys } = await keysDrawn(() => dp.counter({ ...secret, store }));
    const reading = await result.end();
    assert.equal(result.insecure, false);
    identities.push(result.identity, reading.value);
    const stored = (await store.load()).slice(0, 32);
    assert.deepEqual(keys, [stored]);
    assert.ok(!isWiped(stored), 'a key of zeros is known to everybody');
    await result.dispose();
    assert.ok(isWiped(keys[0]), 'a fresh one');
    const again = keysRead(store);
    await (await dp.counter({ ...secret, store: again.reading })).dispose();
    assert.deepEqual(again.keys.map(isWiped), [true], 'one that was stored');
    const other = { ...secret, epsilon: 2, store: again.reading };
    assert.equal((await failing(() => dp.counter(other))).code, 'other_options');
    assert.deepEqual(again.keys.map(isWiped), [true, true], 'one that was refused');
    const bytes = await store.load();
    assert.deepEqual(bytes.slice(0, 32), stored, 'the store keeps its own');
    const wrong = { ...secret, store: recordingStore(bytes.with(3, bytes[3] ^ 1)) };
    assert.equal((await failing(() => dp.counter(wrong))).code, 'bad_state');
  }
  assert.equal(new Set(identities).size, 4);
  const seeded = memoryStore();
  for (let life = 0; life < 2; ++life) {
    const stream = await dp.counter({ ...TARGET, store: seeded });
    assert.equal(stream.insecure, true);
    await stream.end();
    await stream.dispose();
  }
});

test('streams in stores: what a store throws has a code, and is the cause', async () => {
  for (const what of [
    new Error('no room'),
    'no room',
    Object.assign(new Error('no room'), { code: 'ENOSPC' }),
  ]) {
    for (const failsAt of ['load', 'save', 'append']) {
      for (const isSync of [false, true]) {
        const store = appendingStore();
        const fail = () => {
          throw what;
        };
        store[failsAt] = isSync ? fail : async () => fail();
        const error = await failing(async () => {
          const stream = await dp.counter({ ...TARGET, store });
          await stream.end();
          await stream.end();
        });
        assert.deepEqual([error.code, error.cause], ['store_failed', what]);
        assert.match(error.message, /^counter: store could not be (loaded|saved) \(no room\)$/);
      }
    }
  }
});

test('streams in stores: what is not a store, or has no bytes, is refused', async () => {
  const odd = (given) => ({ ...memoryStore(), load: async () => given });
  await (await dp.counter({ ...TARGET, store: odd(null) })).dispose();
  for (const [options, parameter] of [
    [{ store: odd('bytes') }, 'store'],
    [{ store: {} }, 'store'],
    [{ store: { ...memoryStore(), append: 5 } }, 'store'],
    [{ store: memoryStore(), mustExist: 1 }, 'mustExist'],
    [{ store: memoryStore(), durable: 'always' }, 'durable'],
  ]) {
    assert.equal((await failing(() => dp.counter({ ...TARGET, ...options }))).parameter, parameter);
  }
});

test('streams in stores: batches that fail half-way say what is stored', async () => {
  const store = recordingStore();
  const stream = await dp.totals({ ...TARGET, dimension: 16, steps: 300, store });
  await stream.end();
  const { write } = store;
  let left = 1;
  store.write = (bytes) => {
    if (left-- === 0) store.fails = 'before';
    return write(bytes);
  };
  const fractions = [];
  const onProgress = ({ fraction }) => fractions.push(fraction);
  const { code, step, released } = await failing(() => stream.endMany(200, { onProgress }));
  assert.deepEqual([code, step], ['store_failed', 1]);
  assert.ok(released.length > 0 && released.length < 200);
  assert.equal(released.at(-1).step, stream.step - 1);
  assert.equal(fractions.at(-1), 1);
  store.fails = undefined;
  assert.deepEqual(await stream.at(-1), await stream.at(200));
  assert.equal(stream.step, 201);
});

test('streams in stores: a store that is undefined by mistake is refused, and so are people', () => {
  for (const name of ['store', 'people'])
    assert.throws(() => dp.counter({ ...TARGET, [name]: undefined }), {
      code: 'wrong_type',
      message: `counter: ${name} must be defined or left out, got undefined`,
    });
});

test('streams in stores: a signal stops a batch between two pieces', async () => {
  for (const run of [
    (stream, call) => stream.endMany(20_000, call),
    (stream, call) => stream.releaseMany(new Float64Array(20_000).fill(1), call),
  ]) {
    const stop = new AbortController();
    const stream = await dp.counter({ ...TARGET, steps: 20_000, store: recordingStore() });
    const onProgress = ({ fraction }) => fraction > 0.2 && stop.abort();
    const { code, released } = await failing(() =>
      run(stream, { signal: stop.signal, onProgress }),
    );
    assert.equal(code, 'aborted');
    assert.ok(released.length > 0 && released.length < 20_000);
    assert.equal(stream.step, released.length);
    assert.deepEqual(await stream.at(-1), released.at(-1));
    await stream.dispose();
  }
});

test('streams in stores: files go on in another instance', async () => {
  const path = join(scratch, 'visits.state');
  const { insecureSeed, ...secret } = TARGET;
  const options = { ...secret, people: { times: 2, apart: 2 } };
  const store = await FileStore.open(path);
  const stream = await dp.counter({ ...options, store });
  await stream.addMany(['ann', 'bob', 'carl'], [1, 1, 1]);
  const first = await stream.end();
  await stream.add('dora');
  const { identity } = stream;
  await stream.dispose();
  await store.close();
  const other = await createInstance();
  const reopened = await FileStore.open(path);
  const again = await other.counter({ ...options, store: reopened });
  assert.deepEqual([again.step, again.records, again.waiting], [1, 4, 1]);
  assert.equal(again.identity, identity);
  assert.deepEqual(await again.releaseAt(0, ['ann', 'bob', 'carl'], [1, 1, 1]), first);
  const order = await failing(() => again.releaseAt(0, ['bob', 'ann', 'carl'], [1, 1, 1]));
  assert.equal(order.code, 'already_released');
  assert.equal((await again.end()).step, 1);
  await again.dispose();
  await reopened.close();
});

test('streams in stores: the names of people are not stored', async () => {
  const { insecureSeed, ...secret } = TARGET;
  const names = ['Ann Ärmel', 'bob', '0123456789abcdef', '7'];
  for (const durable of ['record', 'step']) {
    const store = recordingStore();
    const stream = await dp.counter({ ...secret, people: { times: 2, apart: 1 }, durable, store });
    await stream.addMany(names, [1, 1, 1, 1]);
    await stream.end();
    await stream.add(names[0]);
    await stream.dispose();
    const kept = Buffer.concat(store.writes);
    for (const name of names.slice(0, 3)) assert.ok(!kept.includes(Buffer.from(name)), name);
  }
});
