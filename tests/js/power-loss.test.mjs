// SPDX-License-Identifier: Apache-2.0

// Ledgers in files through every crash: power fails around each operation of the file system, and
// unsynced data is lost, torn or reordered. Releases that were handed out never change.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { PowerLoss, remains } from './support/power-loss.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();

const PATH = '/power/visits';
const target = { mechanism: 'tree', numSteps: 200, epsilon: 1, delta: 1e-6, insecureSeed: 5 };
const recordOf = (step) => [Math.sin(step)];
const memoOf = (size) => new Uint8Array(size).fill(7);

/** Releases of one uninterrupted stream. */
const EXPECTED = (() => {
  const sums = dp.prefixSum(target);
  const all = Array.from({ length: 120 }, (_, step) => sums.release(recordOf(step))[0]);
  sums.dispose();
  return all;
})();

async function withLedger(use) {
  const store = await FileStore.open(PATH);
  try {
    const ledger = await dp.ledger({ ...target, store });
    try {
      return await use(ledger, store);
    } finally {
      ledger.dispose();
    }
  } finally {
    await store.close();
  }
}

/** Waits until the ledger has turned its log into a new base. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));

/** Returns the releases of some steps, and counts them. */
function releasing(ledger, seen) {
  return async (count, memo) => {
    const { step } = ledger;
    const steps = Array.from({ length: count }, (_, i) => recordOf(step + i));
    seen.asked = step + count;
    const releases = await ledger.releaseSteps(step, steps, memo);
    assert.deepEqual([...releases], EXPECTED.slice(step, step + count));
    seen.numReleased = step + count;
  };
}

/** Two lives of a ledger: single steps, many at once, memos, and a log that becomes a base. */
async function live(disk, change = () => {}) {
  const seen = { numReleased: 0, asked: 0 };
  disk.mark = () => ({ ...seen });
  await disk.use(async () => {
    for (const largest of [20, 90_000]) {
      await withLedger(async (ledger, store) => {
        change(store);
        const release = releasing(ledger, seen);
        for (const count of [1, 1, 1, 30, 1]) await release(count);
        await release(1, memoOf(5));
        await release(1, memoOf(largest));
        await settled();
        for (const count of [1, 2]) await release(count);
      });
    }
  });
  return seen;
}

/** Opens what a crash left. Steps that were handed out or requested must be right. */
async function recover({ files, mark }) {
  const disk = new PowerLoss(files);
  await disk.use(async () => {
    let reached;
    await withLedger(async (ledger) => {
      const { step } = ledger;
      assert.ok(step >= mark.numReleased, `${mark.numReleased - step} steps were lost`);
      assert.ok(step <= mark.asked, `step ${step - 1} was decided for nobody`);
      const all = Array.from({ length: step }, (_, i) => recordOf(i)).flat();
      if (step > 0) {
        const again = await ledger.releaseMany(0, all);
        assert.deepEqual([...again], EXPECTED.slice(0, step), 'other releases than before');
        await assert.rejects(ledger.release(step - 1, [0.125]), { code: 'already_released' });
      }
      for (let next = step; next < step + 2; ++next) {
        assert.equal((await ledger.release(next, recordOf(next)))[0], EXPECTED[next]);
      }
      reached = ledger.step;
    });
    await withLedger(async (ledger) => assert.equal(ledger.step, reached));
  });
}

test('power loss: every release that was handed out is there after a crash', async (t) => {
  const disk = new PowerLoss();
  const { numReleased } = await live(disk);
  assert.equal(numReleased, 78);
  const crashes = [...disk.crashes()];
  for (const crash of some(crashes, 15)) await recover(crash);
  t.diagnostic(`${disk.snapshots.length} moments, ${crashes.length} states of the disk`);
  assert.ok(crashes.length > 500);
  // Renames happen for the first bytes, for what the second life found, and for the long log; all
  // else was appended.
  assert.equal(disk.count('rename'), 3);
  assert.equal(dp.liveHandles, 0);
});

test('power loss: stores that do without a sync are found out', async () => {
  const syncOf = (path) => (name, at) => name === 'sync' && at === path;
  const lost = /steps were lost/;
  for (const [what, message, skips, change] of [
    ['of what is appended', lost, syncOf(PATH)],
    ['of a new file', /store must hold at least 32 bytes|cut short/, syncOf(`${PATH}.new`)],
    ['of the folder', lost, syncOf('/power')],
    [
      'in time',
      lost,
      undefined,
      (store) => {
        const { append } = store;
        store.append = async (...args) => void append.apply(store, args);
      },
    ],
  ]) {
    const disk = new PowerLoss();
    if (skips) disk.skips = skips;
    await live(disk, change);
    await assert.rejects(
      async () => {
        for (const crash of disk.crashes()) await recover(crash);
      },
      message,
      `a store without a sync ${what} is safe`,
    );
  }
});

test('power loss: steps that a killed process left are handed out only once they are on the disk', async () => {
  const skippers = {
    'before it synced an append': (name, at) => name === 'sync' && at === PATH,
    'before it synced the folder': (name, at) => name === 'sync' && at === '/power',
  };
  for (const [when, skips] of Object.entries(skippers)) {
    const disk = new PowerLoss();
    const seen = { numReleased: 0, asked: 3 };
    disk.mark = () => ({ ...seen });
    await disk.use(async () => {
      // Killed there: programs see what was written, but no release was seen.
      disk.skips = skips;
      await withLedger((ledger) => ledger.releaseMany(0, [0, 1, 2].flatMap(recordOf)));
      disk.skips = () => false;
      await withLedger(async (ledger) => {
        assert.equal(ledger.step, 3, when);
        assert.equal((await ledger.release(2, recordOf(2)))[0], EXPECTED[2]);
        seen.numReleased = 3;
      });
    });
    for (const crash of disk.crashes()) await recover(crash);
  }
});

/** Visits in order: each names its step, one is by a whole crowd, and some do not count. */
const visitsOf = (crowd) =>
  Array.from({ length: 8 }, (_, step) =>
    Array.from({ length: [3, 1, 4, 0, 2, 1, 3, 1][step] }, (_, i) => ({
      step,
      people:
        step === 2 && i === 1
          ? Array.from({ length: crowd }, (_, k) => `one of the crowd ${k}`)
          : [`person ${(2 * step + i) % 5}`],
    })),
  ).flat();
const visitors = { ...target, participation: { participations: 2, minSeparation: 3 } };

/** Makes the records of a visit, one for each visitor. */
const ofEach =
  (one) =>
  ({ people }) =>
    people.map((_, i) => one(i));
const drinks = ['tea', 'coffee'];
const KINDS = {
  // So many visitors that the log becomes a base in the middle of a life.
  totals: { crowd: 3000, options: visitors, recordsOf: ofEach((i) => 1 - (i % 7) / 8) },
  histogram: {
    crowd: 300,
    options: { ...visitors, statistic: 'histogram', categories: drinks },
    recordsOf: ofEach((i) => drinks[i % 2]),
  },
};
const isStatistic = ({ options }) => 'statistic' in options;

// Adds to each kind the numbers of contributions before each visit and at the end, and the releases
// of an uninterrupted sum or statistic.
for (const kind of Object.values(KINDS)) {
  kind.visits = visitsOf(kind.crowd);
  kind.given = [0];
  for (const { people } of kind.visits) kind.given.push(kind.given.at(-1) + people.length);
  const sums = (isStatistic(kind) ? dp.peopleStatistic : dp.peopleSum)(kind.options);
  kind.releases = Array.from({ length: 8 }, (_, step) => {
    for (const it of kind.visits.filter((each) => each.step === step)) {
      sums.contribute(it.people, kind.recordsOf(it));
    }
    return sums.endSteps()[0];
  });
  assert.ok(sums.numDropped > 0);
  sums.dispose();
}

/** Opens a ledger of people and continues from the visit and step that it reports. */
async function visit({ kind, durable }, until, seen = {}) {
  const { visits, given } = kind;
  const store = await FileStore.open(PATH);
  const make = isStatistic(kind) ? dp.peopleStatisticLedger : dp.peopleLedger;
  try {
    const ledger = await make({ ...kind.options, durable, store });
    try {
      seen.opened?.(ledger);
      while (ledger.step < until) {
        const { step } = ledger;
        const next = given.indexOf(ledger.numContributions);
        assert.ok(next >= 0, 'a part of a call was stored');
        if (visits[next]?.step === step) {
          seen.given = given[next + 1];
          await ledger.contribute(visits[next].people, kind.recordsOf(visits[next]));
          if (durable === 'contribution') seen.numStored = seen.given;
        } else {
          seen.asked = step + 1;
          const release = await ledger.release(step);
          const found = isStatistic(kind) ? release : release[0];
          assert.deepEqual(found, kind.releases[step], `another release of step ${step}`);
          seen.numReleased = step + 1;
          seen.numStored = seen.given;
        }
        if (seen.isLive) await settled();
      }
    } finally {
      ledger.dispose();
    }
  } finally {
    await store.close();
  }
}

/** Two lives of a ledger of people. */
async function liveOfPeople(what, skips = () => false) {
  const disk = new PowerLoss();
  disk.skips = skips;
  const seen = { numStored: 0, given: 0, numReleased: 0, asked: 0, isLive: true };
  disk.mark = () => ({ ...seen });
  await disk.use(async () => {
    for (const until of [4, 8]) await visit(what, until, seen);
  });
  return disk;
}

async function recoverPeople({ files, mark }, what) {
  const { visits, given } = what.kind;
  const opened = ({ step, numContributions }) => {
    assert.ok(step >= mark.numReleased, `${mark.numReleased - step} steps were lost`);
    assert.ok(step <= mark.asked, 'a step was ended by nobody');
    assert.ok(numContributions >= mark.numStored, 'contributions were lost');
    assert.ok(numContributions <= mark.given, 'contributions of nobody');
    if (what.durable === 'contribution') return;
    const first = visits.findIndex((it) => it.step >= step);
    assert.equal(
      numContributions,
      given[first < 0 ? visits.length : first],
      'the open step has some',
    );
  };
  await new PowerLoss(files).use(() => visit(what, 8, { opened }));
}

for (const [name, durable] of [
  ['totals', 'contribution'],
  ['totals', 'release'],
  ['histogram', 'contribution'],
]) {
  test(`power loss: people of ${name} count once after every crash, durable by ${durable}`, async (t) => {
    const what = { kind: KINDS[name], durable };
    const disk = await liveOfPeople(what);
    const crashes = [...disk.crashes()];
    for (const crash of some(crashes, 15)) await recoverPeople(crash, what);
    t.diagnostic(`${disk.snapshots.length} moments, ${crashes.length} states of the disk`);
    assert.ok(crashes.length > 200);
    assert.equal(disk.count('rename'), name === 'totals' ? 3 : 2);
    assert.equal(dp.liveHandles, 0);
  });
}

test('power loss: contributions that were not synced are found out', async () => {
  const what = { kind: KINDS.totals, durable: 'contribution' };
  const disk = await liveOfPeople(what, (name, at) => name === 'sync' && at === PATH);
  await assert.rejects(async () => {
    for (const crash of disk.crashes()) await recoverPeople(crash, what);
  }, /were lost/);
});

test('power loss: the simulated disk leaves the states that a real one may leave', () => {
  const durable = Buffer.alloc(700, 1);
  const now = Buffer.concat([durable, Buffer.alloc(900, 2)]);
  const all = remains({ durable, now, pending: [durable] }).map(String);
  const zeros = (length) => Buffer.alloc(length);
  const part = (value, length) => Buffer.alloc(length, value);
  const expected = {
    nothing: durable,
    everything: now,
    'its beginning': now.subarray(0, 701),
    'its length': Buffer.concat([durable, zeros(900)]),
    'its first sector': Buffer.concat([durable, part(2, 324), zeros(576)]),
    'all but the first': Buffer.concat([durable, zeros(324), part(2, 576)]),
    'its last sector': Buffer.concat([durable, zeros(836), part(2, 64)]),
  };
  for (const [what, bytes] of Object.entries(expected))
    assert.ok(all.includes(String(bytes)), what);
  assert.deepEqual(remains({ durable: now, now, pending: [] }), [now]);
});
