// SPDX-License-Identifier: Apache-2.0

// Statistics of people that survive restarts, compared with an uninterrupted people statistic.
// Crashes are tested in power-loss.test.mjs and kill.test.mjs.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { generator } from './support/sources.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const dp = await load();

const numSteps = 9;
const participation = { participations: 3, minSeparation: 2 };
const target = {
  mechanism: 'tree',
  numSteps,
  epsilon: 1,
  delta: 1e-6,
  insecureSeed: 5,
  participation,
};
const categories = ['tea', 'coffee', 'other'];
const pair = (random) => [12 * random() - 1, 3 * random() - 1.5];

/** For each statistic, a generator of records and a function that joins them. */
const KINDS = {
  moments: {
    what: {
      statistic: 'moments',
      ranges: [
        [0, 10],
        [-1, 1],
      ],
      covariance: true,
    },
    draw: pair,
    join: (records) => records.flat(),
    others: [
      {
        ranges: [
          [0, 10],
          [-1, 2],
        ],
      },
      { ranges: [[0, 10]] },
      { covariance: false },
    ],
  },
  histogram: {
    what: { statistic: 'histogram', categories, other: 'other' },
    draw: (random) => ['tea', 'coffee', 'milk'][Math.floor(3 * random())],
    join: (records) => records,
    others: [{ categories: [...categories].reverse() }, { total: true }],
  },
  sums: {
    what: { statistic: 'sums', workloads: ['prefix', { window: 3 }], dimension: 2, clipNorm: 4 },
    draw: pair,
    join: (records) => records.flat(),
    others: [
      { workloads: ['prefix', { window: 4 }] },
      { workloads: [{ window: 3 }, 'prefix'] },
      { importance: [1, 2] },
    ],
  },
};

/** Contributions in order, from few people who often return to the same step. */
function streamOf({ draw }) {
  const random = generator(11);
  const rows = Array.from({ length: 45 }, () => ({
    who: `p${Math.floor(4 * random())}`,
    step: Math.floor(numSteps * random()),
    record: draw(random),
  }));
  return rows.sort((a, b) => a.step - b.step);
}

function wholeOf(options, rows, join) {
  const statistic = dp.peopleStatistic(options);
  const readings = Array.from({ length: numSteps }, (_, t) => {
    const own = rows.filter(({ step }) => step === t);
    statistic.contribute(
      own.map(({ who }) => who),
      join(own.map(({ record }) => record)),
    );
    return statistic.endSteps()[0];
  });
  const { numDropped } = statistic;
  statistic.dispose();
  return { readings, numDropped };
}

async function withLedger(options, use) {
  const ledger = await dp.peopleStatisticLedger(options);
  try {
    return await use(ledger);
  } finally {
    ledger.dispose();
  }
}

/**
 * Runs lives of a ledger that make a few calls each, continuing from the contribution and step that
 * it reports.
 */
async function inLives(options, rows, { join, numCalls }) {
  const readings = [];
  for (let isDone = false; !isDone; ) {
    await withLedger(options, async (ledger) => {
      for (let i = 0; i < numCalls && ledger.step < numSteps; ++i) {
        const { step, numContributions: next } = ledger;
        if (rows[next]?.step !== step) readings[step] = await ledger.release(step);
        else await ledger.contribute(rows[next].who, join([rows[next].record]));
      }
      isDone = ledger.step === numSteps;
    });
  }
  return readings;
}

for (const [name, kind] of Object.entries(KINDS)) {
  test(`people statistic ledger: ${name} reopened after every call equal those of one process`, async () => {
    const rows = streamOf(kind);
    for (const neighbours of name === 'sums' ? ['zero-out'] : ['zero-out', 'replace-one']) {
      const options = { ...kind.what, ...target, neighbours };
      const { readings, numDropped } = wholeOf(options, rows, kind.join);
      assert.ok(numDropped > 5);
      for (const make of [memoryStore, appendingStore]) {
        const store = make();
        const own = { ...options, store };
        assert.deepEqual(await inLives(own, rows, { join: kind.join, numCalls: 1 }), readings);
        await withLedger(own, async (ledger) => {
          assert.equal(ledger.numDropped, numDropped);
          assert.equal(ledger.numContributions, rows.length);
          assert.deepEqual(await ledger.releaseMany(0, numSteps), readings);
        });
        // Contributions are stored with their steps: lives end in the middle of one, and lost
        // contributions are given again.
        for (const numCalls of [14, 17]) {
          const late = { ...options, durable: 'release', store: make() };
          assert.deepEqual(await inLives(late, rows, { join: kind.join, numCalls }), readings);
          await withLedger(late, (ledger) => assert.equal(ledger.numDropped, numDropped));
        }
      }
    }
    assert.equal(dp.liveHandles, 0);
  });

  test(`people statistic ledger: ${name} with other settings are refused, and the state is unchanged`, async () => {
    for (const store of [memoryStore(), appendingStore()]) {
      const options = { ...kind.what, ...target, store };
      await withLedger(options, (ledger) =>
        ledger.contribute('ann', kind.join([kind.draw(() => 0.5)])),
      );
      const before = await store.load();
      const refused = (more, parameter) =>
        assert.rejects(dp.peopleStatisticLedger({ ...options, ...more }), {
          code: 'bad_state',
          call: 'peopleStatisticLedger',
          parameter,
        });
      for (const other of kind.others) await refused(other, 'store.statistic');
      await refused({ epsilon: 2 }, 'store.mechanism');
      await refused({ insecureSeed: 6 }, 'store.key');
      await refused({ participation: 'single' }, 'store.mechanism');
      await refused({ participation: { ...participation, participations: 2 } }, 'store.mechanism');
      if (name !== 'sums') await refused({ neighbours: 'replace-one' }, 'store.statistic');
      // Other kinds of ledgers with the same key.
      const { participation: _, ...ofRecords } = options;
      await assert.rejects(dp.statisticLedger(ofRecords), {
        code: 'bad_state',
        parameter: 'store.format',
      });
      await assert.rejects(dp.peopleLedger({ ...target, store }), { code: 'bad_state' });
      assert.deepEqual(await store.load(), before);
      await withLedger({ ...options, confidence: 0.5 }, (ledger) =>
        assert.equal(ledger.numContributions, 1),
      );
    }
    assert.equal(dp.liveHandles, 0);
  });
}

test('people statistic ledger: a state of other ledgers is refused', async () => {
  const { what } = KINDS.moments;
  const opening = (store) => dp.peopleStatisticLedger({ ...what, ...target, store });
  const people = appendingStore();
  const sums = await dp.peopleLedger({ ...target, dimension: 6, store: people });
  await sums.contribute('ann', [1, 0, 0, 0, 0, 0]);
  sums.dispose();
  await assert.rejects(opening(people), { code: 'bad_state', parameter: 'store.statistic' });
  const records = appendingStore();
  const statistic = await dp.statisticLedger({ ...what, ...target, store: records });
  await statistic.release(0, [1, 0]);
  statistic.dispose();
  await assert.rejects(opening(records), { code: 'bad_state', parameter: 'store.format' });
  assert.equal(dp.liveHandles, 0);
});

test('people statistic ledger: a user has at most one record per step, also after a restart', async () => {
  const { what } = KINDS.histogram;
  const options = { ...what, ...target, epsilon: 1e5 };
  const rounded = ({ count }) => count.map(({ value }) => Math.abs(Math.round(value)));
  const store = appendingStore();
  await withLedger({ ...options, store }, (ledger) =>
    ledger.contribute(['ann', 'bob'], ['tea', 'tea']),
  );
  await withLedger({ ...options, store }, async (ledger) => {
    // After a restart, ann still has a record at this step, and cyd has none.
    await ledger.contribute(['ann', 'cyd', 'cyd'], ['coffee', 'coffee', 'tea']);
    assert.deepEqual(rounded(await ledger.release(0)), [2, 1, 0]);
    assert.equal(ledger.numDropped, 2);
  });
  await withLedger({ ...options, store }, async (ledger) => {
    await ledger.contribute(['ann', 'dan'], ['coffee', 'coffee']); // ann comes too early
    assert.deepEqual(rounded(await ledger.release(1)), [2, 2, 0]);
    assert.deepEqual(rounded(await ledger.release(0)), [2, 1, 0]);
    assert.equal(ledger.numDropped, 3);
  });
});

test('people statistic ledger: what could not be stored is stored with the next call, and counts once', async () => {
  const { join, ...kind } = KINDS.moments;
  const rows = streamOf(kind).filter(({ step }) => step < 2);
  const { readings } = wholeOf({ ...kind.what, ...target }, rows, join);
  const store = appendingStore();
  await withLedger({ ...kind.what, ...target, store }, async (ledger) => {
    await ledger.contribute(rows[0].who, join([rows[0].record]));
    for (const step of [0, 1]) {
      const own = rows.slice(step === 0 ? 1 : 0).filter((row) => row.step === step);
      for (const [i, { who, record }] of own.entries()) {
        store.fails = i % 2 === 0;
        const given = ledger.contribute(who, join([record]));
        await (store.fails ? assert.rejects(given, /no room/) : given);
      }
      store.fails = true;
      await assert.rejects(ledger.release(step), /no room/);
      store.fails = false;
      assert.deepEqual(await ledger.release(step), readings[step]);
    }
  });
  await withLedger({ ...kind.what, ...target, store }, async (ledger) => {
    assert.deepEqual(await ledger.releaseMany(0, 2), readings.slice(0, 2));
    assert.equal(ledger.numContributions, rows.length);
  });
});

test('people statistic ledger: its certificate and other facts are those of a people statistic', async () => {
  for (const { what } of Object.values(KINDS)) {
    const options = { ...what, ...target };
    const statistic = dp.peopleStatistic(options);
    await withLedger({ ...options, store: memoryStore() }, async (ledger) => {
      for (const fact of [
        'certificate',
        'dimension',
        'numSteps',
        'insecure',
        'categories',
        'workloads',
      ]) {
        assert.deepEqual(ledger[fact], statistic[fact], fact);
      }
      assert.equal(ledger.stddev(3), statistic.stddev(3));
      if (what.statistic === 'sums') {
        assert.equal(ledger.stddev(3, 1), statistic.stddev(3, 1));
        assert.equal(ledger.lowerBound(), statistic.lowerBound());
      }
      if (what.statistic === 'histogram') {
        const days = await ledger.releaseMany(0, 4);
        const [first] = ledger.consistentCounts(days, 'monotone');
        assert.ok(first.count.every((value) => value >= 0));
      }
      assert.match(ledger.identity, /^[0-9a-f]{32}$/);
      assert.equal(ledger.step, what.statistic === 'histogram' ? 4 : 0);
    });
    statistic.dispose();
  }
});

test('people statistic ledger: stores contain no names, and each has an identity that lasts', async () => {
  const { insecureSeed: _, ...secret } = target;
  const store = memoryStore();
  const options = { ...KINDS.histogram.what, ...secret, store };
  let identity;
  await withLedger(options, async (ledger) => {
    await ledger.contribute('Konstantin', ['tea']);
    ({ identity } = ledger);
  });
  assert.ok(!Buffer.from(await store.load()).includes('Konstantin'));
  await withLedger(options, async (ledger) => assert.equal(ledger.identity, identity));
  await withLedger({ ...options, store: memoryStore() }, async (ledger) =>
    assert.notEqual(ledger.identity, identity),
  );
});

test('people statistic ledger: bad input is refused with a code, and nothing of it counts', async () => {
  const of = (name, more) => ({ ...KINDS[name].what, ...target, ...more, store: appendingStore() });
  const refuses = async (ledger, cases) => {
    for (const [call, Kind, code, message] of cases) {
      await assert.rejects(call, (error) => {
        assert.ok(error instanceof Kind, `${error}`);
        assert.equal(error.code, code, error.message);
        assert.match(error.message, message);
        return true;
      });
    }
    assert.deepEqual([ledger.numContributions, ledger.numDropped, ledger.step], [0, 0, 0]);
  };
  await withLedger(of('moments'), async (ledger) => {
    await refuses(ledger, [
      [
        () => ledger.contribute(5, [1, 0]),
        TypeError,
        'wrong_type',
        /people must be a string or an/,
      ],
      [
        () => ledger.contribute(['a', {}], [1, 0, 1, 0]),
        TypeError,
        'wrong_type',
        /people\[1\] must be a/,
      ],
      [
        () => ledger.contribute(['a'], [1, 0, 1, 0]),
        TypeError,
        'wrong_length',
        /one string for each of 2/,
      ],
      [() => ledger.contribute('a', [1]), TypeError, 'wrong_length', /records must/],
      [() => ledger.contribute('a', null), TypeError, 'wrong_type', /records must be/],
      [
        () => ledger.contribute(['a', 'b'], [1, 0, 1, NaN]),
        RangeError,
        'invalid_argument',
        /finite, got NaN/,
      ],
      [
        () => ledger.contribute(['a'], [Infinity, 0]),
        RangeError,
        'invalid_argument',
        /record\[0\] must be finite, got inf/,
      ],
      [
        () => ledger.contribute('a\ud800', [1, 0]),
        RangeError,
        'invalid_argument',
        /people\[0\] must be well-/,
      ],
      [() => ledger.release('0'), TypeError, 'wrong_type', /step must be a number/],
      [() => ledger.release(1), RangeError, 'invalid_argument', /step must be/],
      [() => ledger.release(numSteps), RangeError, 'invalid_argument', /step must be/],
      [
        () => ledger.releaseMany(0, numSteps + 1),
        RangeError,
        'invalid_argument',
        /numSteps must be an/,
      ],
      [() => ledger.releaseMany(NaN, 1), RangeError, 'invalid_argument', /firstStep must be an/],
      [async () => ledger.stddev(numSteps), RangeError, 'invalid_argument', /step must be/],
    ]);
    await ledger.releaseMany(0, numSteps);
    await assert.rejects(ledger.contribute('a', [1, 0]), { code: 'past_horizon' });
  });
  await withLedger(of('histogram', { other: undefined }), (ledger) =>
    refuses(ledger, [
      [
        () => ledger.contribute(['a', 'b'], ['tea', 'milk']),
        RangeError,
        'invalid_argument',
        /records\[1\] must be one/,
      ],
      [
        () => ledger.contribute('a', 'tea'),
        TypeError,
        'wrong_type',
        /records must be an array of categories/,
      ],
    ]),
  );
  const wrong = [
    [{ durable: 'always' }, 'invalid_argument', /durable must be one of contribution, release/],
    [
      { participation: { epochs: 3 } },
      'invalid_argument',
      /participation must be 'single', or part/,
    ],
    [{ store: {} }, 'wrong_type', /store must be an object with load/],
    [{ statistic: 'median' }, 'invalid_argument', /statistic must be one of/],
    [{ ranges: [[1, 0]] }, 'invalid_argument', /ranges/],
    [{ epsilon: NaN }, 'invalid_argument', /epsilon must be/],
    [{ memo: [] }, 'wrong_type', /memo is an unknown option/],
    [
      { epsilon: 1e-12, delta: 1e-15 },
      'invalid_argument',
      /epsilon must be larger, for sums and noise/,
    ],
  ];
  for (const [given, code, message] of wrong) {
    await assert.rejects(dp.peopleStatisticLedger({ ...of('moments'), ...given }), (error) => {
      assert.match(error.message, message);
      assert.equal(error.call, 'peopleStatisticLedger');
      return error.code === code;
    });
  }
  const gone = await dp.peopleStatisticLedger(of('moments'));
  gone.dispose();
  const disposed = { code: 'disposed', message: /this statistic was disposed of/ };
  await assert.rejects(gone.contribute('a', [1, 0]), disposed);
  await assert.rejects(gone.release(0), disposed);
  assert.throws(() => gone.numDropped, disposed);
  assert.equal(dp.liveHandles, 0);
});

test('people statistic ledger: a store with a damaged byte is refused', async () => {
  const { what, join, draw } = KINDS.histogram;
  const store = appendingStore();
  const options = { ...what, ...target };
  await withLedger({ ...options, store }, async (ledger) => {
    await ledger.contribute('ann', join([draw(() => 0.1)]));
    await ledger.contribute('bob', join([draw(() => 0.5)]));
    await ledger.release(0);
  });
  const bytes = await store.load();
  const key = 32; // unused with a fixed seed
  for (let at = key; at < bytes.length; at += 3) {
    const bad = Uint8Array.from(bytes);
    bad[at] ^= 32;
    const opening = dp.peopleStatisticLedger({ ...options, store: appendingStore(bad) });
    await assert.rejects(opening, { code: 'bad_state' }, `byte ${at}`);
  }
  for (let size = key; size < bytes.length; size += 5) {
    const cut = dp.peopleStatisticLedger({
      ...options,
      store: appendingStore(bytes.slice(0, size)),
    });
    const opened = await cut.catch((error) => assert.equal(error.code, 'bad_state'));
    // A crash leaves part of a frame; everything before it is present.
    assert.ok(opened === undefined || opened.step === 0);
    opened?.dispose();
  }
  assert.equal(dp.liveHandles, 0);
});
