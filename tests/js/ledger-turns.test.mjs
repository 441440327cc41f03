// SPDX-License-Identifier: Apache-2.0

// Calls on durable streams take their turn: overlapping calls lose no record, whatever the handle
// and the store, and nothing is lost or counted twice when stores fail. Browsers are in
// browser.test.mjs.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { hasPostgres, startPostgres } from './support/postgres.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const { PostgresStore } = await importEntry('dp-ftrl/postgres-store');
const { connect } = await importEntry('dp-ftrl/worker-client');
const dp = await load();
const scratch = scratchFolder('turns');
const NUM_CALLS = 200;

const target = { mechanism: 'honaker', numSteps: 1000, epsilon: 1, delta: 1e-6, insecureSeed: 3 };
const people = { participation: { participations: 4, minSeparation: 7 } };
const moments = { statistic: 'moments', ranges: [[0, 10]] };

let server;
before(async () => (server = hasPostgres ? await startPostgres() : undefined));
after(() => server?.stop());
let numStores = 0;

/** Stores by name; `close` frees what they need. */
const STORES = {
  memory: async () => ({ store: memoryStore() }),
  'memory, appending': async () => ({ store: appendingStore() }),
  file: async () => {
    const store = await FileStore.open(join(scratch, String(++numStores)));
    return { store, close: () => store.close() };
  },
  ...(hasPostgres && {
    postgres: async () => {
      const client = await server.connect();
      const store = await PostgresStore.open({ client, name: `turns ${++numStores}` });
      return { store, close: () => store.close().then(() => client.end()) };
    },
  }),
};

const plain = { open: (options) => dp.ledger({ ...target, ...options }) };
const ofPeople = { open: (options) => dp.peopleLedger({ ...target, ...people, ...options }) };
const statistic = { open: (options) => dp.statisticLedger({ ...target, ...moments, ...options }) };

/** Ways to count one record by a call without an index, and the number of records that count. */
const HANDLES = {
  'ledger.release': { ...plain, call: (it) => it.release([1]), count: (it) => it.step },
  'ledger.releaseMany': {
    ...plain,
    call: (it) => it.releaseMany([1, 1]),
    count: (it) => it.step / 2,
  },
  'ledger.releaseSteps': {
    ...plain,
    call: (it) => it.releaseSteps([[1, 1]]),
    count: (it) => it.step,
  },
  'ledger.releaseSteps with a memo': {
    ...plain,
    call: (it) => it.releaseSteps([[1]], Uint8Array.of(7)),
    count: (it) => it.step,
  },
  'peopleLedger.release': { ...ofPeople, call: (it) => it.release(), count: (it) => it.step },
  'peopleLedger.releaseMany': {
    ...ofPeople,
    call: (it) => it.releaseMany(2),
    count: (it) => it.step / 2,
  },
  'peopleLedger.contribute': {
    ...ofPeople,
    call: (it, i) => it.contribute(`${i}`, [1]),
    count: (it) => it.numContributions,
  },
  'statisticLedger.release': {
    ...statistic,
    call: (it) => it.release([1]),
    count: (it) => it.step,
  },
  'statisticLedger.releaseMany': {
    ...statistic,
    call: (it) => it.releaseMany([1]),
    count: (it) => it.step,
  },
  'statisticLedger.releaseSteps': {
    ...statistic,
    call: (it) => it.releaseSteps([[1, 2]]),
    count: (it) => it.step,
  },
  'statisticLedger of categories': {
    open: (options) =>
      dp.statisticLedger({ ...target, statistic: 'histogram', categories: ['a', 'b'], ...options }),
    call: (it) => it.release('a'),
    count: (it) => it.step,
  },
  'peopleStatisticLedger.release': {
    open: (options) => dp.peopleStatisticLedger({ ...target, ...moments, ...people, ...options }),
    call: (it) => it.release(),
    count: (it) => it.step,
  },
};

for (const [name, makeStore] of Object.entries(STORES)) {
  test(`turns: ${NUM_CALLS} overlapping calls count ${NUM_CALLS} times, in a store of kind ${name}`, async () => {
    for (const [kind, { open, call, count }] of Object.entries(HANDLES)) {
      const { store, close } = await makeStore();
      const handle = await open({ store });
      await Promise.all(Array.from({ length: NUM_CALLS }, (_, i) => call(handle, i)));
      assert.equal(count(handle), NUM_CALLS, kind);
      handle.dispose();
      await close?.();
    }
    assert.equal(dp.liveHandles, 0);
  });
}

test('turns: a release says which step it is, with the deviation of that step', async () => {
  const sums = dp.prefixSum(target);
  const ledger = await dp.ledger({ ...target, store: memoryStore() });
  const visitors = await dp.peopleLedger({ ...target, ...people, store: memoryStore() });
  const all = await Promise.all(Array.from({ length: 30 }, () => ledger.release([1])));
  all.forEach((release, step) => {
    const own = sums.release([1]);
    assert.deepEqual(release, own);
    for (const { step: told, stddev } of [release, own]) {
      assert.deepEqual([told, stddev], [step, sums.stddev(step)]);
    }
  });
  assert.equal((await ledger.releaseMany([1, 1])).firstStep, 30);
  assert.equal((await ledger.releaseSteps([[], []])).firstStep, 32);
  const ended = await Promise.all([
    visitors.release(),
    visitors.releaseMany(2),
    visitors.release(),
  ]);
  assert.deepEqual(
    ended.map(({ step, firstStep }) => step ?? firstStep),
    [0, 1, 3],
  );
  assert.equal(ended[2].stddev, visitors.stddev(3));
  assert.equal((await visitors.release(1)).step, 1);
  // Without a record for which it is asked, the index is that of a repeat.
  assert.deepEqual(await ledger.release(4, [1]), all[4]);
  assert.equal((await ledger.release(undefined, [1])).step, 34);
  for (const it of [sums, ledger, visitors]) it.dispose();
});

test('turns: past the horizon nothing changes, and what comes before it is not released', async () => {
  const ledger = await dp.ledger({ ...target, numSteps: 3, store: memoryStore() });
  const past = { code: 'past_horizon', parameter: 'step' };
  await assert.rejects(ledger.releaseMany([1, 1, 1, 1]), past);
  assert.equal(ledger.step, 0);
  await assert.rejects(ledger.releaseMany([1, NaN]), {
    code: 'invalid_argument',
    parameter: 'records[1]',
  });
  await assert.rejects(ledger.releaseSteps([[1], [Infinity]]), { parameter: 'steps[1][0]' });
  assert.equal(ledger.step, 0);
  const all = await Promise.allSettled(Array.from({ length: 5 }, () => ledger.release([1])));
  assert.deepEqual(
    all.map(({ reason }) => reason?.code),
    [...new Array(3), 'past_horizon', 'past_horizon'],
  );
  ledger.dispose();
});

/**
 * A store that fails for some writes, counted from 0: with `after`, once it has stored them, if it
 * saves (one that appends and cannot tell has to refuse all that follows).
 */
function failing(store, fails, after) {
  let numWrites = 0;
  const write = (act) => async (bytes, lease) => {
    const isFailing = fails(numWrites++);
    if (isFailing && !after) throw new Error('disk full');
    await act(bytes, lease);
    if (isFailing) throw new Error('answer lost');
  };
  return {
    load: (lease) => store.load(lease),
    save: write(store.save),
    ...(store.append && !after && { append: write(store.append) }),
    close: () => store.close(),
  };
}

/** Repeats a call until the store works; what it decided is asked for by its index. */
async function persistent(call) {
  for (let step; ; ) {
    try {
      return await call(step);
    } catch (error) {
      assert.equal(error.code, 'store_failed');
      assert.match(error.message, /disk full|answer lost/);
      assert.match(error.cause.message, /disk full|answer lost/);
      step = error.step;
      await new Promise(setImmediate);
    }
  }
}

test('turns: whatever writes fail, each record counts once, and the totals are those of no failure', async () => {
  const records = Array.from({ length: 40 }, (_, i) => (i % 4) / 4);
  const runs = [];
  for (const first of [0, 1, 2, 7]) {
    for (const length of [1, 3, 10]) {
      for (const after of [false, true])
        runs.push({ fails: (i) => i >= first && i < first + length, after });
    }
  }
  runs.push({ fails: (i) => i % 2 === 0 }, { fails: (i) => i % 3 !== 0, after: true });
  for (const { fails, after } of runs) {
    for (const base of [memoryStore(), appendingStore()]) {
      const store = failing(base, fails, after);
      const ledger = await dp.ledger({ ...target, store });
      const calls = records.map((record) => persistent((step) => ledger.release(step, [record])));
      const all = await Promise.all(calls);
      assert.equal(ledger.step, records.length);
      // The order is that of the turns, so each release says which record its step had.
      const inOrder = [];
      all.forEach((release, i) => (inOrder[release.step] = i));
      assert.deepEqual(
        [...inOrder].sort((a, b) => a - b),
        records.map((_, i) => i),
      );
      const sums = dp.prefixSum(target);
      for (const i of inOrder) assert.deepEqual(all[i], sums.release([records[i]]));
      sums.dispose();
      ledger.dispose();
      const next = await dp.ledger({ ...target, store: base, mustExist: true });
      assert.equal(next.step, records.length);
      for (const i of inOrder)
        assert.deepEqual(await next.release(all[i].step, [records[i]]), all[i]);
      next.dispose();
    }
  }
});

test('turns: what fails to be stored has its step, and the next call of any kind stores it', async () => {
  for (const [kind, { open, call, count }] of Object.entries(HANDLES)) {
    for (const base of [memoryStore(), appendingStore()]) {
      let isBroken = false;
      const store = failing(base, () => isBroken);
      const handle = await open({ store });
      await call(handle, 0);
      const step = handle.step;
      isBroken = true;
      const [own, next] = (await Promise.allSettled([call(handle, 1), call(handle, 2)])).map(
        (it) => it.reason,
      );
      for (const { code, cause } of [own, next]) {
        assert.deepEqual([code, cause.message], ['store_failed', 'disk full'], kind);
      }
      assert.deepEqual([own.step, next.step], [step, undefined], kind);
      isBroken = false;
      await call(handle, 3);
      assert.equal(count(handle), 3, `${kind}: the first, the one that failed, and the last`);
      handle.dispose();
      const again = await open({ store: base, mustExist: true });
      assert.equal(count(again), 3, kind);
      again.dispose();
    }
  }
});

test('turns: a memo is stored with its step, although that failed at first', async () => {
  for (const base of [memoryStore(), appendingStore()]) {
    let isBroken = false;
    const store = failing(base, () => isBroken);
    const ledger = await dp.ledger({ ...target, store });
    await ledger.releaseSteps([[1]], Uint8Array.of(1));
    isBroken = true;
    await assert.rejects(ledger.releaseSteps([[1]], Uint8Array.of(2)), {
      code: 'store_failed',
      step: 1,
    });
    assert.deepEqual(ledger.memo, Uint8Array.of(1));
    isBroken = false;
    await ledger.release([1]);
    assert.deepEqual(ledger.memo, Uint8Array.of(2));
    ledger.dispose();
    const next = await dp.ledger({ ...target, store: base });
    assert.deepEqual([next.step, next.memo], [3, Uint8Array.of(2)]);
    next.dispose();
  }
});

test('turns: a ledger that must exist is refused in an empty store, whatever its kind', async () => {
  for (const makeStore of Object.values(STORES)) {
    for (const [kind, { open, call, count }] of Object.entries(HANDLES)) {
      const { store, close } = await makeStore();
      const refused = { code: 'bad_state', parameter: 'store' };
      await assert.rejects(open({ store, mustExist: true }), refused, kind);
      if (store instanceof PostgresStore) {
        await close(); // It is loaded only once.
        continue;
      }
      const begun = await open({ store, mustExist: false });
      await call(begun, 0);
      begun.dispose();
      const again = await open({ store, mustExist: true });
      assert.equal(count(again), 1, kind);
      again.dispose();
      await close?.();
    }
  }
  await assert.rejects(dp.ledger({ ...target, store: memoryStore(), mustExist: 1 }), {
    code: 'wrong_type',
    message: 'ledger: mustExist must be a boolean, got number 1',
  });
});

test('turns: what a store throws has a code, and is the cause', async () => {
  const thrown = [
    new Error('no room'),
    'no room',
    Object.assign(new Error('no room'), { code: 'ENOSPC' }),
  ];
  for (const what of thrown) {
    for (const failsAt of ['load', 'save', 'append']) {
      for (const isSync of [false, true]) {
        const store = appendingStore();
        const fail = () => {
          throw what;
        };
        store[failsAt] = isSync ? fail : async () => fail();
        const released = (async () => {
          const ledger = await dp.ledger({ ...target, store });
          try {
            await ledger.release([1]);
            await ledger.release([1]);
          } finally {
            ledger.dispose();
          }
        })();
        await assert.rejects(released, (error) => {
          assert.deepEqual([error.code, error.cause], ['store_failed', what]);
          assert.match(error.message, /^ledger: store could not be (loaded|saved) \(no room\)$/);
          return true;
        });
      }
    }
  }
});
