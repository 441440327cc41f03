// SPDX-License-Identifier: Apache-2.0

// Logs of streams: what a step costs, and which bytes are refused. Crashes are tested in
// power-loss.test.mjs and kill.test.mjs.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { appendingStore } from './support/stores.mjs';
import { CASES, TARGET } from './support/streams.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const target = { ...TARGET, strategy: 'honaker' };

/** Opens a counter in a store, passes it to `use` and closes it. */
async function withCounter(store, use, options = {}) {
  const counter = await dp.counter({ ...target, steps: 1000, ...options, store });
  try {
    return await use(counter);
  } finally {
    await counter.dispose();
  }
}

test('log: an add and a step append the same number of bytes, however many there were', async () => {
  const rows = [
    [{}, (counter) => counter.release(1), 100],
    [{}, (counter) => counter.add(1), 150],
    [{ people: 'once' }, (counter, person) => counter.add(person), 180],
  ];
  for (const [options, call, most] of rows) {
    const store = appendingStore();
    await withCounter(store, (counter) => counter.end(), options);
    const [{ saved }, sizes] = [store, []];
    for (const steps of [0, 900]) {
      await withCounter(
        store,
        async (counter) => {
          await counter.endMany(steps);
          await call(counter, `person ${steps}`);
          sizes.push(store.appended.at(-1));
        },
        options,
      );
    }
    assert.equal(sizes[0], sizes[1]);
    assert.ok(sizes[0] <= most, `${sizes[0]}`);
    assert.equal(store.saved, saved, 'each life appends from its first call on');
  }
});

const written = (store) => store.savedBytes + store.appended.reduce((sum, size) => sum + size, 0);

test('log: a long log becomes a base, and all bases together take O(1) bytes per step', async () => {
  const store = appendingStore();
  const steps = 60_000;
  const expected = dp.counter({ ...target, steps }).endMany(steps);
  await withCounter(
    store,
    async (counter) => {
      for (let step = 0; step < steps; step += 20) {
        assert.deepEqual(await counter.endMany(20), expected.slice(step, step + 20));
      }
    },
    { steps },
  );
  assert.ok(store.saved > 3 && store.saved < 9, `${store.saved} bases`);
  assert.ok(written(store) < 120 * steps, `${written(store) / steps} bytes per step`);
  await withCounter(
    store,
    async (counter) => {
      assert.equal(counter.step, steps);
      for (const step of [0, 1, 29_999, 59_999]) {
        assert.deepEqual(await counter.at(step), expected[step]);
      }
    },
    { steps },
  );
});

test(
  'log: a step after 10^6 others costs the bytes and under twice the time of one after 10^3',
  onlyInAll,
  async (t) => {
    const path = join(scratchFolder('cost'), 'stream');
    const file = await FileStore.open(path);
    const numRounds = 8;
    /**
     * Bytes per step, and milliseconds of processor time per step: the least of several rounds,
     * since other processes slow some of them.
     */
    const costOf = async (counter, enough = Infinity) => {
      const [firstStep, before] = [counter.step, statSync(path).size];
      let least = Infinity;
      for (let round = 0; round < numRounds || (least > enough && round < 5 * numRounds); ++round) {
        const start = process.cpuUsage();
        for (let i = 0; i < 100; ++i) await counter.release(1);
        const { user, system } = process.cpuUsage(start);
        least = Math.min(least, (user + system) / 1e5);
      }
      return { bytes: (statSync(path).size - before) / (counter.step - firstStep), least };
    };
    try {
      await withCounter(
        file,
        async (counter) => {
          await counter.endMany(1000);
          const early = await costOf(counter);
          while (counter.step < 1e6) await counter.endMany(10_000);
          const late = await costOf(counter, 2 * early.least);
          t.diagnostic(`ms a step: ${early.least.toFixed(2)}, ${late.least.toFixed(2)}`);
          assert.equal(early.bytes, late.bytes);
          assert.ok(late.least < 2 * early.least, `${late.least} after ${early.least}`);
        },
        { steps: 1_100_000 },
      );
    } finally {
      await file.close();
    }
  },
);

/**
 * Runs `act` with a clock by which every slice of work is over; returns how often other tasks ran.
 */
async function turnsOf(act) {
  const { now } = performance;
  let time = 0;
  performance.now = () => (time += 1000);
  let isOver = false;
  let turns = -1;
  const count = () => {
    ++turns;
    if (!isOver) setImmediate(count);
  };
  count();
  try {
    await act();
  } finally {
    isOver = true;
    performance.now = now;
  }
  return turns;
}

test('log: however many steps one call has, it writes bounded pieces, as much as batches, and pauses', async () => {
  for (const [kind, dimension] of [
    ['counter', 1],
    ['totals', 3],
  ]) {
    const options = { ...target, steps: 100_000, ...(kind === 'totals' && { dimension }) };
    for (const before of [0, 20_000]) {
      for (const steps of [1, 3000, 40_000]) {
        const costs = [];
        for (const batch of [steps, 1000]) {
          const store = appendingStore();
          const stream = await dp[kind]({ ...options, store });
          await stream.endMany(before);
          const [bytes, pieces] = [written(store), store.appended.length];
          const turns = await turnsOf(async () => {
            for (let at = 0; at < steps; at += batch)
              await stream.endMany(Math.min(batch, steps - at));
          });
          if (batch === steps) assert.ok(turns >= (steps * dimension) / 2048, `${turns} pauses`);
          assert.ok(store.appended.slice(pieces).every((size) => size <= 95_000));
          costs.push(written(store) - bytes);
          await stream.dispose();
        }
        assert.ok(costs[0] <= 1.5 * costs[1], `${steps} after ${before}: ${costs} bytes`);
      }
    }
  }
});

test('log: people are stored with the first of several pieces, and a crash after any piece loses no step before', async () => {
  const options = { steps: 30_000, people: { times: 2, apart: 3 } };
  const store = appendingStore();
  const states = [];
  const { append } = store;
  store.append = async (bytes) => {
    await append(bytes);
    states.push((await store.load()).slice());
  };
  const readings = await withCounter(
    store,
    async (counter) => {
      await counter.endMany(12_000);
      await counter.addMany(['ann', 'bob'], [1, 0.5]);
      states.length = 0;
      return counter.endMany(9000);
    },
    { ...options, durable: 'step' },
  );
  assert.equal(states.length, Math.ceil(9000 / 2048));
  for (const [i, state] of states.entries()) {
    await withCounter(
      appendingStore(state),
      async (counter) => {
        const stored = Math.min(9000, 2048 * (i + 1));
        assert.deepEqual([counter.step, counter.records], [12_000 + stored, 2]);
        assert.deepEqual(await counter.at(-1), readings[stored - 1]);
        assert.deepEqual(await counter.endMany(9000 - stored), readings.slice(stored));
      },
      options,
    );
  }
});

const placeOf = ({ step, records }) => `${step} ${records}`;

test('log: damaged bytes are refused, or the stream is one of before the last write', async () => {
  for (const { kind, options, one, many, name } of CASES) {
    const store = appendingStore();
    const stream = await dp[kind]({ ...options, store });
    const places = [];
    const readings = [];
    for (const call of [
      () => stream.releaseBatch(...many(0, 3)),
      () => stream.release(...one(3)),
      () => stream.add(...one(4)),
      () => stream.end(),
      () => stream.add(...one(5)),
    ]) {
      const reading = await call();
      if (reading) readings.push(reading);
      places.push(placeOf(stream));
    }
    await stream.dispose();
    const whole = await store.load();
    const ends = [whole.length];
    for (const size of store.appended.toReversed()) ends.unshift(ends[0] - size);
    /**
     * Requires that bytes of which the first `numIntact` are intact are refused, or open at an
     * earlier place and continue from there.
     */
    const opening = async (bytes, numIntact, what) => {
      const copy = appendingStore(bytes);
      const again = await dp[kind]({ ...options, store: copy }).catch((error) => error);
      if (again instanceof Error) {
        assert.match(again.code, /^(bad_state|other_options)$/, what);
        return;
      }
      // A complete log may lose no more than its last write. A log cut short must at least have its
      // base, since a stream that begins anew would release other readings of the same steps.
      const least = bytes.length < whole.length ? ends[0] : ends.at(-2);
      assert.ok(numIntact >= least, what);
      assert.ok(places.includes(placeOf(again)), what);
      const { step } = again;
      for (let i = 0; i < step; ++i) assert.deepEqual(await again.at(i), readings[i], what);
      // Nothing is appended behind a part of a frame.
      await again.endMany(2);
      if (!ends.includes(bytes.length)) assert.ok(copy.saved > 0, what);
      await again.dispose();
      const next = await dp[kind]({ ...options, store: copy });
      assert.equal(next.step, step + 2, what);
      await next.dispose();
    };
    for (let at = 32; at < whole.length; at += 37) {
      const damaged = whole.slice();
      damaged[at] ^= 1 << (at % 8);
      await opening(damaged, at, `${name}, byte ${at}`);
    }
    for (let size = 0; size < whole.length; size += 61) {
      await opening(whole.slice(0, size), size, `${name}, ${size} bytes`);
    }
  }
  assert.equal(dp.liveHandles, 0);
});

test('log: frames that are swapped, omitted, repeated or of another stream are refused', async () => {
  const make = async (options, first) => {
    const store = appendingStore();
    await withCounter(
      store,
      async (counter) => {
        await counter.release(first);
        for (let i = 0; i < 8; ++i) await counter.release(1);
      },
      options,
    );
    return { bytes: await store.load(), size: store.appended.at(-1) };
  };
  const { bytes, size } = await make({}, 0.25);
  const refused = async (bad) => {
    const opened = withCounter(appendingStore(Uint8Array.from(bad)), () => {});
    await assert.rejects(opened, { code: 'bad_state' });
  };
  const frame = (k) => [...bytes.slice(bytes.length - k * size, bytes.length - (k - 1) * size)];
  const [a, b] = [frame(2), frame(1)];
  for (const tail of [[b, a], [b], [a, a], [a, b, b]]) {
    await refused([...bytes.subarray(0, -2 * size), ...tail.flat()]);
  }
  // A sector that was lost before other frames were appended.
  const begin = bytes.length - 512 - 2 * size;
  await refused([
    ...bytes.subarray(0, begin),
    ...new Uint8Array(512),
    ...bytes.subarray(begin + 512),
  ]);
  for (const [options, first] of [
    [{ insecureSeed: 6 }, 0.25],
    [{}, 0.5], // behind another base
  ]) {
    const other = await make(options, first);
    await refused([...bytes.subarray(0, -size), ...other.bytes.subarray(-size)]);
  }
});

test('log: a store that appends and one that does not continue each other', async () => {
  const store = appendingStore();
  const plain = { load: store.load, save: store.save, close: store.close };
  const expected = dp.counter({ ...target, steps: 1000 }).endMany(8);
  for (let step = 0; step < 8; step += 2) {
    await withCounter(step % 4 === 0 ? plain : store, async (counter) => {
      assert.equal(counter.step, step);
      for (const i of [0, 1]) assert.deepEqual(await counter.end(), expected[step + i]);
    });
  }
  assert.deepEqual(store.appended.length, 2, 'the first step behind a checkpoint saves');
});

test('log: every strategy goes on with the same bits, and wide records do', async () => {
  for (const options of [
    { strategy: 'tree' },
    { strategy: 'optimal', dimension: 700 },
    { strategy: 'blt-rational' },
    { strategy: { name: 'banded', bands: 3 } },
    { strategy: 'independent' },
    { lattice: 'rounded-gaussian', strategy: 'blt-rational', dimension: 3 },
    { strategy: 'blt-rational', workload: { decay: 0.75 } },
  ]) {
    const { dimension, ...rest } = options;
    const kind = dimension ? 'totals' : 'counter';
    const own = { ...TARGET, steps: 64, ...options };
    const record = dimension ? new Float64Array(dimension).fill(0.02) : 0.5;
    const store = appendingStore();
    const whole = dp[kind](own);
    for (let life = 0; life < 3; ++life) {
      const stream = await dp[kind]({ ...own, store });
      for (let i = 0; i < 3; ++i)
        assert.deepEqual(await stream.release(record), whole.release(record), JSON.stringify(rest));
      await stream.dispose();
    }
    assert.equal(store.saved, 1);
    whole.dispose();
  }
});
