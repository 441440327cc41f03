// SPDX-License-Identifier: Apache-2.0

// Ledgers of people. Crashes are tested in power-loss.test.mjs and kill.test.mjs.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load, DpError } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();

const participation = { participations: 2, minSeparation: 3 };
const common = { mechanism: 'tree', numSteps: 12, epsilon: 1, delta: 1e-6, insecureSeed: 5 };
const target = { ...common, participation };

/** Contributions to each step: names, and records. */
const DAYS = [
  [
    ['ann', 'bob', 'ann'],
    [0.25, 1, 0.5],
  ],
  [[], []],
  [
    ['ann', 'cem'],
    [1, 0.5],
  ],
  [
    ['ann', 'bob', 'dan'],
    [0.5, 0.25, 1],
  ],
  [
    ['ann', 'ann', 'cem'],
    [1, 1, 1],
  ],
];

/** Totals and numbers of dropped contributions of an uninterrupted sum. */
function expectedOf(options = target) {
  const sums = dp.peopleSum(options);
  const totals = DAYS.map(([people, records]) => {
    sums.contribute(people, records);
    return sums.endSteps()[0];
  });
  const { numDropped } = sums;
  sums.dispose();
  return { totals, numDropped };
}

async function withLedger(store, use, options = {}) {
  const ledger = await dp.peopleLedger({ ...target, ...options, store });
  try {
    return await use(ledger);
  } finally {
    ledger.dispose();
  }
}

test('people ledger: reopened after every call, it gives the totals of a people sum', async () => {
  await goesOnAfterEveryCall({});
});

test('people ledger: reopened after every call, it gives the sums of a window', async () => {
  // The first visits of ann leave the window, as does a day without visits.
  for (const window of [1, 2, 3]) await goesOnAfterEveryCall({ workload: { window } });
  const { totals } = expectedOf();
  for (const [window, isTotal] of [
    [2, false],
    [12, true],
    [100, true],
  ]) {
    const sums = expectedOf({ ...target, workload: { window } });
    assert.equal(
      sums.totals.every((sum, step) => sum === totals[step]),
      isTotal,
      `window ${window}`,
    );
  }
});

test('people ledger: a state of one window is refused by another', async () => {
  const store = appendingStore();
  const opened = (workload) => withLedger(store, (ledger) => ledger.numContributions, { workload });
  await withLedger(store, (ledger) => ledger.contribute('ann', [1]), { workload: { window: 3 } });
  for (const workload of ['prefix', { window: 2 }, { window: 4 }, { window: 12 }])
    await assert.rejects(opened(workload), { code: 'bad_state' });
  assert.equal(await opened({ window: 3 }), 1);
});

async function goesOnAfterEveryCall(more) {
  const { totals, numDropped } = expectedOf({ ...target, ...more });
  for (const make of [memoryStore, appendingStore]) {
    for (const durable of ['contribution', 'release']) {
      const options = { ...more, durable };
      const store = make();
      const releases = [];
      let given = 0;
      for (const [step, [people, records]] of DAYS.entries()) {
        for (const [i, person] of people.entries()) {
          await withLedger(
            store,
            (ledger) => {
              assert.equal(ledger.numContributions, durable === 'contribution' ? given + i : given);
              return ledger.contribute(person, [records[i]]);
            },
            options,
          );
        }
        await withLedger(
          store,
          async (ledger) => {
            assert.equal(ledger.step, step);
            // Either all contributions to this step are stored, or none.
            const first = ledger.numContributions - given;
            assert.equal(first, durable === 'contribution' ? people.length : 0);
            await ledger.contribute(people.slice(first), records.slice(first));
            releases.push((await ledger.release(step))[0]);
          },
          options,
        );
        given += people.length;
      }
      await withLedger(
        store,
        async (ledger) => {
          assert.equal(ledger.step, DAYS.length);
          assert.equal(ledger.numDropped, numDropped);
          assert.deepEqual([...(await ledger.releaseMany(0, DAYS.length))], totals);
        },
        more,
      );
      assert.deepEqual(releases, totals);
    }
  }
  assert.ok(numDropped > 0);
}

test('people ledger: a release stays the same when others contribute later', async () => {
  await withLedger(appendingStore(), async (ledger) => {
    await ledger.contribute(['ann', 'bob'], [1, 1]);
    const [first] = await ledger.release(0);
    await ledger.contribute('cem', [1]);
    assert.equal((await ledger.release(0))[0], first);
    assert.equal(ledger.step, 1);
    const both = await ledger.releaseMany(0, 3);
    assert.equal(both[0], first);
    assert.equal(ledger.step, 3);
    assert.equal(ledger.numContributions, 3);
    assert.match(ledger.identity, /^[0-9a-f]{32}$/);
  });
});

test('people ledger: only new contributions and steps are appended to the store', async () => {
  const store = appendingStore();
  await withLedger(store, async (ledger) => {
    for (let i = 0; i < 20; ++i) await ledger.contribute(`person ${i}`, [1]);
    await ledger.release(0);
    assert.equal(store.saved, 1);
    assert.equal(store.appended.length, 20);
    assert.ok(store.appended.every((size) => size === store.appended[0] || size < 100));
    await ledger.contribute([], []);
    assert.equal(store.appended.length, 20);
  });
  const once = appendingStore();
  await withLedger(
    once,
    async (ledger) => {
      for (let i = 0; i < 20; ++i) await ledger.contribute(`person ${i}`, [1]);
      assert.equal(once.saved, 0);
      await ledger.release(0);
      assert.deepEqual([once.saved, once.appended.length], [1, 0]);
      await ledger.contribute('person 20', [1]);
      await ledger.release(1);
      assert.deepEqual([once.saved, once.appended.length], [1, 1]);
    },
    { durable: 'release' },
  );
});

test('people ledger: with durable release, unreleased contributions are not stored, even with a long log', async () => {
  const options = { dimension: 600, durable: 'release' };
  const store = appendingStore();
  const row = new Float64Array(600).fill(0.01);
  let numReleased = 0;
  await withLedger(
    store,
    async (ledger) => {
      while (store.saved < 2) {
        await ledger.contribute('ann', row);
        await ledger.release();
      }
      numReleased = ledger.step;
      await ledger.contribute('bob', row);
      await ledger.contribute('cem', row);
      assert.equal(store.saved, 2);
    },
    options,
  );
  await withLedger(
    store,
    async (ledger) => {
      assert.equal(ledger.numContributions, numReleased);
      assert.equal(ledger.step, numReleased);
    },
    options,
  );
});

test('people ledger: data that could not be stored is stored with the next call, and counts once', async () => {
  const { totals } = expectedOf();
  const store = appendingStore();
  await withLedger(store, async (ledger) => {
    await ledger.contribute([], []);
    for (const [step, [people, records]] of DAYS.entries()) {
      store.fails = true;
      if (people.length > 0 && store.saved > 0) {
        await assert.rejects(ledger.contribute(people.slice(0, 1), records.slice(0, 1)), /no room/);
        const before = ledger.numContributions;
        store.fails = false;
        await ledger.contribute(people.slice(1), records.slice(1));
        assert.equal(ledger.numContributions, before + people.length - 1);
      } else {
        store.fails = false;
        await ledger.contribute(people, records);
      }
      store.fails = store.saved > 0;
      if (store.fails) await assert.rejects(ledger.release(step), /no room/);
      if (step % 2 === 0) store.fails = false;
      // A pending release goes first; while it fails, no contribution is accepted.
      const { numContributions } = ledger;
      if (store.fails) {
        await assert.rejects(ledger.contribute('eve', [1]), /no room/);
        assert.equal(ledger.numContributions, numContributions);
        store.fails = false;
      }
      assert.equal((await ledger.release(step))[0], totals[step]);
    }
  });
  await withLedger(store, async (ledger) => {
    assert.deepEqual([...(await ledger.releaseMany(0, DAYS.length))], totals);
    assert.equal(ledger.numContributions, DAYS.flatMap(([people]) => people).length);
  });
});

test('people ledger: a contribution adds less than 100 bytes to a file', async () => {
  const path = join(scratchFolder('people-ledger'), 'people.state');
  const store = await FileStore.open(path);
  await withLedger(store, async (ledger) => {
    await ledger.contribute('ann', [1]);
    const before = statSync(path).size;
    await ledger.contribute('bob', [1]);
    assert.ok(statSync(path).size - before < 100);
  });
  await store.close();
});

test('people ledger: another participation, mechanism, width or kind is refused', async () => {
  const store = appendingStore();
  await withLedger(store, (ledger) => ledger.contribute('ann', [1]));
  const refused = { code: 'bad_state' };
  // The noise is the same, since no one can participate more often within the horizon.
  const same = { ...participation, participations: 2, minSeparation: 6 };
  const more = { participations: 9, minSeparation: 6 };
  const twin = appendingStore();
  await withLedger(twin, (ledger) => ledger.contribute('ann', [1]), { participation: more });
  for (const [where, options] of [
    [store, { participation: 'single' }],
    [store, { mechanism: 'honaker' }],
    [store, { dimension: 2 }],
    [store, { insecureSeed: 6 }],
    [twin, { participation: same }],
  ]) {
    await assert.rejects(dp.peopleLedger({ ...target, ...options, store: where }), refused);
  }
  await assert.rejects(dp.ledger({ ...target, store }), refused);
  const records = appendingStore();
  const ledger = await dp.ledger({ ...target, store: records });
  await ledger.release(0, [1]);
  ledger.dispose();
  await assert.rejects(dp.peopleLedger({ ...target, store: records }), refused);
  await withLedger(store, async (again) => assert.equal(again.numContributions, 1));
  assert.equal(dp.liveHandles, 0);
});

test('people ledger: without a delta and in mode lattice, its totals are those of a people sum', async () => {
  const pure = { numSteps: 12, epsilon: 1, participation, pure: true, insecureSeed: 5 };
  for (const options of [pure, { ...target, mode: 'lattice' }]) {
    const { totals } = expectedOf(options);
    const store = appendingStore();
    for (const [step, [people, records]] of DAYS.entries()) {
      const ledger = await dp.peopleLedger({ ...options, store });
      await ledger.contribute(people, records);
      assert.equal((await ledger.release(step))[0], totals[step]);
      ledger.dispose();
    }
  }
});

test('people ledger: bad input is refused with a code, and nothing of it counts', async () => {
  await withLedger(appendingStore(), async (ledger) => {
    const cases = [
      [() => ledger.contribute(5, [1]), TypeError, 'wrong_type', /people must be a string or an/],
      [
        () => ledger.contribute(['a', {}], [1, 1]),
        TypeError,
        'wrong_type',
        /people\[1\] must be a/,
      ],
      [() => ledger.contribute(['a'], [1, 1]), TypeError, 'wrong_length', /one string for each/],
      [
        () => ledger.contribute('a', ['1']),
        TypeError,
        'wrong_type',
        /records\[0\] must be a number/,
      ],
      [() => ledger.contribute('a', null), TypeError, 'wrong_type', /records must be/],
      [
        () => ledger.contribute(['a', 'b\ud800'], [1, 1]),
        RangeError,
        'invalid_argument',
        /people\[1\] must be well-formed text, got "b/,
      ],
      [
        () => ledger.contribute(['a', 'b'], [1, NaN]),
        RangeError,
        'invalid_argument',
        /peopleLedger: records\[1\] must be finite, got NaN/,
      ],
      [() => ledger.release('0'), TypeError, 'wrong_type', /step must be a number/],
      [() => ledger.release(12), RangeError, 'invalid_argument', /step must be an integer from 0/],
      [() => ledger.release(1), RangeError, 'invalid_argument', /step must be/],
      [() => ledger.releaseMany(0, 13), RangeError, 'invalid_argument', /numSteps must be an/],
      [
        () => ledger.releaseMany(1, 1),
        RangeError,
        'invalid_argument',
        /firstStep must be an integer from 0 to 0, got 1/,
      ],
      [() => ledger.releaseMany(NaN, 1), RangeError, 'invalid_argument', /firstStep must be an/],
      [() => ledger.stddev(12), RangeError, 'invalid_argument', /step must be/],
    ];
    for (const [call, Kind, code, message] of cases) {
      await assert.rejects(
        async () => call(),
        (error) => {
          assert.ok(error instanceof Kind, `${error}`);
          assert.equal(error.code, code);
          assert.match(error.message, message);
          return true;
        },
      );
    }
    assert.deepEqual([ledger.numContributions, ledger.numDropped, ledger.step], [0, 0, 0]);
    await ledger.releaseMany(0, 12);
    await assert.rejects(ledger.contribute('a', [1]), { code: 'past_horizon' });
  });
  const options = [
    [{ durable: 'always' }, 'invalid_argument', /durable must be one of contribution, release/],
    [
      { participation: { epochs: 3 } },
      'invalid_argument',
      /participation must be 'single', or part/,
    ],
    [{ store: {} }, 'wrong_type', /store must be an object with load/],
    [{ durble: 'release' }, 'wrong_type', /durble is an unknown option/],
  ];
  for (const [given, code, message] of options) {
    const store = memoryStore();
    await assert.rejects(dp.peopleLedger({ ...target, store, ...given }), (error) => {
      assert.match(error.message, message);
      return error.code === code;
    });
  }
  const gone = await dp.peopleLedger({ ...target, store: memoryStore() });
  gone.dispose();
  await assert.rejects(gone.contribute('a', [1]), DpError);
  await assert.rejects(gone.release(0), { code: 'disposed' });
  assert.equal(dp.liveHandles, 0);
});

test('people ledger: names are told apart, and are not in the store', async () => {
  const names = [
    '7',
    'a',
    'A',
    'a\0b',
    'ab',
    '\u00e9',
    'e',
    '007',
    '\u{1f600}',
    '\ufffd',
    'x'.repeat(999),
  ];
  let bytes;
  const store = {
    load: async () => bytes,
    save: async (given) => void (bytes = given),
    close: async () => {},
  };
  const options = { participation: 'single' };
  await withLedger(
    store,
    async (ledger) => {
      await ledger.contribute(
        names,
        names.map(() => 1),
      );
      await ledger.contribute('Konstantin', [1]);
      await ledger.release(0);
    },
    options,
  );
  assert.ok(!Buffer.from(bytes).includes('Konstantin'));
  await withLedger(
    store,
    async (ledger) => {
      await ledger.contribute(
        names,
        names.map(() => 1),
      );
      assert.equal(ledger.numDropped, names.length);
      await ledger.contribute(
        names.map((name) => `${name}!`),
        names.map(() => 1),
      );
      assert.equal(ledger.numDropped, names.length);
    },
    options,
  );
});

test('people ledger: calls take effect in their order', async () => {
  const { totals } = expectedOf();
  const store = memoryStore(() => new Promise((resolve) => setTimeout(resolve, 1)));
  await withLedger(store, async (ledger) => {
    const releases = DAYS.map(([people, records], step) => {
      ledger.contribute(people, records);
      return ledger.release(step);
    });
    assert.deepEqual(
      (await Promise.all(releases)).map(([total]) => total),
      totals,
    );
  });
});
