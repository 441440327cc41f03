// SPDX-License-Identifier: Apache-2.0

// Logs of ledgers: what they append and refuse, and how older states are upgraded. Crashes are
// tested in power-loss.test.mjs and kill.test.mjs.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { onlyInAll } from './support/extent.mjs';
import { PowerLoss } from './support/power-loss.mjs';
import { appendingStore, memoryStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const target = { mechanism: 'tree', numSteps: 5000, epsilon: 1, delta: 1e-6, insecureSeed: 5 };
const recordOf = (step) => [Math.sin(step)];

/** Opens a ledger in a store, passes it to `use` and closes it. */
async function withLedger(store, use, options = {}) {
  const ledger = await dp.ledger({ ...target, ...options, store });
  try {
    return await use(ledger);
  } finally {
    ledger.dispose();
  }
}

async function releaseUpTo(ledger, end) {
  const all = [];
  while (ledger.step < end) all.push(...(await ledger.release(ledger.step, recordOf(ledger.step))));
  return all;
}

test('log: a release appends the same number of bytes, however many there were', async () => {
  const store = appendingStore();
  await withLedger(store, async (ledger) => {
    await releaseUpTo(ledger, 11);
    assert.deepEqual(store.appended, Array(10).fill(92), 'the first saves, then each step appends');
    await ledger.releaseMany(11, new Float64Array(4000));
    store.appended.length = 0;
    const { saved } = store;
    await releaseUpTo(ledger, 4021);
    assert.deepEqual(store.appended, Array(10).fill(92));
    assert.equal(store.saved, saved);
  });
  await withLedger(store, async (ledger) => {
    assert.equal(ledger.step, 4021);
    await releaseUpTo(ledger, 4022);
    assert.equal(store.appended.at(-1), 92, 'the next life appends from its first release on');
  });
});

test('log: a long log becomes a base, and all bases together take O(1) bytes per release', async () => {
  const store = appendingStore();
  const numSteps = 60_000;
  const options = { numSteps, mechanism: 'honaker' };
  const sums = dp.prefixSum({ ...target, ...options });
  const expected = sums.releaseMany(new Float64Array(numSteps));
  sums.dispose();
  await withLedger(
    store,
    async (ledger) => {
      for (let step = 0; step < numSteps; step += 20) {
        const releases = await ledger.releaseMany(step, new Float64Array(20));
        assert.deepEqual([...releases], [...expected.subarray(step, step + 20)]);
      }
    },
    options,
  );
  const written = store.savedBytes + store.appended.reduce((sum, size) => sum + size, 0);
  assert.ok(store.saved > 3 && store.saved < 9, `${store.saved} bases`);
  assert.ok(written < 120 * numSteps, `${written / numSteps} bytes a step`);
  await withLedger(
    store,
    async (ledger) => {
      assert.equal(ledger.step, numSteps);
      assert.deepEqual(await ledger.releaseMany(0, new Float64Array(numSteps)), expected);
    },
    options,
  );
});

test(
  'log: a release after 10^6 others costs the bytes and under twice the time of one after 10^3',
  onlyInAll,
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-cost-'));
    const path = join(folder, 'ledger');
    const file = await FileStore.open(path);
    const numRounds = 8;
    /**
     * Bytes and milliseconds per release, the least of several rounds, since other processes cost
     * time.
     */
    const costOf = async (ledger, enough = Infinity) => {
      const [firstStep, before] = [ledger.step, statSync(path).size];
      let least = Infinity;
      for (let round = 0; round < numRounds || (least > enough && round < 5 * numRounds); ++round) {
        const start = process.cpuUsage();
        await releaseUpTo(ledger, ledger.step + 100);
        const { user, system } = process.cpuUsage(start);
        least = Math.min(least, (user + system) / 1e5);
      }
      return { bytes: (statSync(path).size - before) / (ledger.step - firstStep), least };
    };
    try {
      await withLedger(
        file,
        async (ledger) => {
          await releaseUpTo(ledger, 1000);
          const early = await costOf(ledger);
          while (ledger.step < 1e6) await ledger.releaseMany(ledger.step, new Float64Array(10_000));
          const late = await costOf(ledger, 2 * early.least);
          t.diagnostic(`ms a release: ${early.least.toFixed(2)}, ${late.least.toFixed(2)}`);
          assert.deepEqual([early.bytes, late.bytes], [92, 92]);
          assert.ok(late.least < 2 * early.least, `${late.least} after ${early.least}`);
        },
        { mechanism: 'honaker', numSteps: 1_100_000 },
      );
    } finally {
      await file.close();
      rmSync(folder, { recursive: true });
    }
  },
);

test('log: after a failed save, whatever it left behind, the next release stores everything', async () => {
  for (const isStored of [true, false]) {
    const store = appendingStore();
    const { save } = store;
    await withLedger(store, async (ledger) => {
      await releaseUpTo(ledger, 2);
      store.save = async (bytes) => {
        if (isStored) await save(bytes);
        throw new Error('no answer');
      };
      const many = new Float64Array(2000); // long enough for a new base
      await assert.rejects(ledger.releaseMany(many), {
        code: 'store_failed',
        step: 2,
        message: /no answer/,
      });
      await assert.rejects(ledger.release([1]), { code: 'store_failed', message: /no answer/ });
      assert.equal(ledger.step, 2);
      store.save = save;
      await ledger.releaseMany(2, many);
      await ledger.release(2002, [1]);
      await ledger.release(2003, [1]);
    });
    await withLedger(store, async (ledger) => {
      assert.equal(ledger.step, 2004);
      await assert.rejects(ledger.release(2003, [2]), { code: 'already_released' });
    });
  }
});

test('log: a store without append holds a checkpoint, and either kind of store continues the other', async () => {
  const store = memoryStore();
  const expected = await withLedger(store, (ledger) => releaseUpTo(ledger, 3));
  const bytes = await store.load();
  assert.equal(String.fromCharCode(...bytes.subarray(32, 36)), 'dpfc');
  // The store can continue a log made by another store, and vice versa.
  const other = appendingStore();
  assert.deepEqual(await withLedger(other, (ledger) => releaseUpTo(ledger, 3)), expected);
  const plain = { load: other.load, save: other.save, close: other.close };
  await withLedger(plain, (ledger) => releaseUpTo(ledger, 4));
  assert.equal(String.fromCharCode(...(await other.load()).subarray(32, 36)), 'dpfc');
  await withLedger(other, async (ledger) => {
    assert.equal(ledger.step, 4);
    assert.deepEqual(
      await ledger.releaseMany(0, [0, 1, 2].flatMap(recordOf)),
      Float64Array.from(expected),
    );
  });
  const wrong = dp.ledger({ ...target, store: { ...memoryStore(), append: 5 } });
  await assert.rejects(wrong, { code: 'wrong_type', message: /store must be .* append/ });
});

test('log: the memo is the one that was stored last, with or without steps', async () => {
  const store = appendingStore();
  const memo = (text) => new TextEncoder().encode(text);
  await withLedger(store, async (ledger) => {
    await ledger.releaseSteps(0, [], memo('alone'));
    await ledger.releaseSteps(0, [[1]], memo('one'));
    await releaseUpTo(ledger, 3);
    await ledger.releaseSteps(3, [], memo(''));
  });
  await withLedger(store, (ledger) => assert.deepEqual(ledger.memo, memo('')));
  await withLedger(store, (ledger) => ledger.releaseSteps(3, [[1], [], [0.5, 0.5]]));
  await withLedger(store, (ledger) => {
    assert.equal(ledger.step, 6);
    assert.deepEqual(ledger.memo, memo(''));
  });
});

test('log: every damaged byte is refused, and no whole frame is taken for a torn one', async () => {
  const store = appendingStore();
  await withLedger(store, async (ledger) => {
    await releaseUpTo(ledger, 4);
    await ledger.releaseSteps(4, [[1], [1]], new Uint8Array(1500).fill(1));
    await releaseUpTo(ledger, 8);
  });
  const whole = await store.load();
  for (let at = 36; at < whole.length; at += at > 600 && at < 1900 ? 37 : 1) {
    const bad = whole.slice();
    bad[at] ^= 1 << (at % 8);
    const opened = withLedger(appendingStore(bad), () =>
      assert.fail(`byte ${at} was not looked at`),
    );
    await assert.rejects(opened, { code: 'bad_state' }, `byte ${at}`);
  }
  // Sectors lost before other frames were appended.
  for (const begin of [512, 1024]) {
    const bad = whole.slice();
    bad.fill(0, begin, begin + 512);
    assert.ok(begin + 512 < whole.length);
    await assert.rejects(
      withLedger(appendingStore(bad), () => {}),
      { code: 'bad_state' },
    );
  }
  // Frames swapped or omitted.
  const end = whole.length;
  const [a, b] = [whole.slice(end - 184, end - 92), whole.slice(end - 92)];
  for (const tail of [[b, a], [b], [a, a], [a, b, b]]) {
    const bad = Uint8Array.from([
      ...whole.subarray(0, end - 184),
      ...tail.flatMap((each) => [...each]),
    ]);
    await assert.rejects(
      withLedger(appendingStore(bad), () => {}),
      { code: 'bad_state' },
    );
  }
  assert.equal(dp.liveHandles, 0);
});

test('log: a frame of another ledger, or behind another base, is refused', async () => {
  const frames = [];
  for (const options of [{}, { insecureSeed: 6 }, {}]) {
    const store = appendingStore();
    await withLedger(
      store,
      async (ledger) => {
        await ledger.release(0, frames.length === 2 ? [0.5] : [0.25]);
        await ledger.release(1, [1]);
      },
      options,
    );
    frames.push(await store.load());
  }
  const [own, ...others] = frames;
  for (const other of others) {
    const bad = Uint8Array.from([...own.subarray(0, -92), ...other.subarray(-92)]);
    await assert.rejects(
      withLedger(appendingStore(bad), () => {}),
      { code: 'bad_state' },
    );
  }
});

test('log: what was appended by a call that failed is stored once', async () => {
  for (let numFailures = 1; numFailures <= 3; ++numFailures) {
    const store = appendingStore();
    const expected = await withLedger(store, async (ledger) => {
      await releaseUpTo(ledger, 2);
      store.fails = 'after';
      for (let i = 0; i < numFailures; ++i)
        await assert.rejects(ledger.release(2, recordOf(2)), /no answer/);
      store.fails = false;
      await releaseUpTo(ledger, 5);
      return ledger.releaseMany(0, [0, 1, 2, 3, 4].flatMap(recordOf));
    });
    await withLedger(store, async (ledger) => {
      assert.equal(ledger.step, 5);
      const again = await ledger.releaseMany(0, [0, 1, 2, 3, 4].flatMap(recordOf));
      assert.deepEqual(again, expected);
    });
  }
});

test('log: steps that could not be appended are stored by the next call, with their memo', async () => {
  const store = appendingStore();
  await withLedger(store, async (ledger) => {
    await releaseUpTo(ledger, 2);
    store.fails = true;
    const two = [recordOf(2), recordOf(3)];
    await assert.rejects(ledger.releaseSteps(two, Uint8Array.of(1)), {
      message: /no room/,
      step: 2,
    });
    await assert.rejects(
      ledger.release(recordOf(4)),
      ({ message, step }) => /no room/.test(message) && step === undefined,
    );
    assert.equal(ledger.step, 2);
    assert.equal(ledger.memo, undefined);
    store.fails = false;
    await ledger.releaseSteps([]);
    assert.equal(ledger.step, 4, 'all that is decided is stored');
    assert.deepEqual(ledger.memo, Uint8Array.of(1));
  });
  assert.equal(store.saved, 2, 'a store may not know whether it appended');
  await withLedger(store, async (ledger) => {
    assert.equal(ledger.step, 4);
    assert.deepEqual(ledger.memo, Uint8Array.of(1));
    await assert.rejects(ledger.release(3, [0.125]), { code: 'already_released' });
  });
});

test('log: nothing is appended behind a torn frame', async () => {
  const store = appendingStore();
  const releases = await withLedger(store, (ledger) => releaseUpTo(ledger, 5));
  const torn = appendingStore((await store.load()).slice(0, -1));
  await withLedger(torn, async (ledger) => {
    assert.equal(ledger.step, 4);
    assert.deepEqual([...(await ledger.release(4, recordOf(4)))], releases.slice(4));
    assert.equal(torn.saved, 1);
    await releaseUpTo(ledger, 6);
    assert.equal(torn.saved, 1);
  });
  await withLedger(torn, (ledger) => assert.equal(ledger.step, 6));
});

test('log: ledgers of both modes and of wide records continue with the same bits', async () => {
  for (const options of [
    { mode: 'lattice', mechanism: 'honaker' },
    { mode: 'lattice', mechanism: 'blt-rational', dimension: 3, numSteps: 100 },
    { mechanism: 'optimal', dimension: 700, numSteps: 64 },
    { mechanism: 'square-root', numSteps: 64 },
  ]) {
    const store = appendingStore();
    const sums = dp.prefixSum({ ...target, ...options });
    const record = new Float64Array(options.dimension ?? 1).fill(0.02);
    for (let life = 0; life < 3; ++life) {
      await withLedger(
        store,
        async (ledger) => {
          for (let i = 0; i < 3; ++i) {
            assert.deepEqual(await ledger.release(ledger.step, record), sums.release(record));
          }
        },
        options,
      );
    }
    assert.equal(store.saved, 1);
    sums.dispose();
  }
});

const PATH = '/power/full';

test('file store: a full disk is named, nothing is lost, and the next try works', async () => {
  const files = {};
  for (const [operation, path] of [
    ['write', PATH],
    ['sync', PATH],
    ['write', `${PATH}.new`],
    ['sync', `${PATH}.new`],
  ]) {
    const disk = new PowerLoss(files);
    await disk.use(async () => {
      const store = await FileStore.open(PATH);
      await withLedger(store, async (ledger) => {
        const isNew = path.endsWith('.new');
        if (!isNew) await releaseUpTo(ledger, 3);
        let isFull = true;
        disk.after = (name, at) => {
          if (!isFull || name !== operation || at !== path) return;
          isFull = false;
          throw Object.assign(new Error('no space'), { code: 'ENOSPC', syscall: name });
        };
        const { step } = ledger;
        const refused = {
          code: 'store_failed',
          message: /could not be saved \(the disk is full: ENOSPC\)/,
        };
        await assert.rejects(ledger.release(step, recordOf(step)), refused);
        assert.ok(!isFull);
        assert.ok(!disk.now.has(`${PATH}.new`));
        assert.equal(ledger.step, step);
        await releaseUpTo(ledger, step + 2);
      });
      await withLedger(store, (ledger) => assert.equal(ledger.step, path.endsWith('.new') ? 2 : 5));
      await store.close();
    });
  }
});

test('file store: after any other failure it must be opened again', async () => {
  for (const operation of ['write', 'sync', 'truncate']) {
    const disk = new PowerLoss();
    await disk.use(async () => {
      const store = await FileStore.open(PATH);
      const ledger = await dp.ledger({ ...target, store });
      await releaseUpTo(ledger, 3);
      disk.after = (name, path) => {
        if (path !== PATH) return;
        const isFull = operation === 'truncate' && name === 'write';
        if (name === operation)
          throw Object.assign(new Error('broken'), { code: 'EIO', syscall: name });
        if (isFull) throw Object.assign(new Error('full'), { code: 'ENOSPC', syscall: name });
      };
      await assert.rejects(ledger.release(3, recordOf(3)), { code: 'store_failed' });
      disk.after = () => {};
      const ended = { code: 'store_failed', message: /could not be saved before/ };
      await assert.rejects(ledger.release(3, recordOf(3)), ended);
      ledger.dispose();
      await store.close();
      const again = await FileStore.open(PATH);
      await withLedger(again, async (next) => {
        assert.ok(next.step === 3 || next.step === 4);
        await releaseUpTo(next, 6);
      });
      await again.close();
    });
  }
});

test('file store: nothing is appended to what others have changed', async () => {
  const changes = {
    appended: (_disk, inode) => inode.change(Buffer.concat([inode.now, Buffer.alloc(92)])),
    cut: (_disk, inode) => inode.change(inode.now.subarray(0, -92)),
    'written over': (_disk, inode) =>
      inode.change(Buffer.concat([inode.now.subarray(0, -1), Buffer.alloc(1, 9)])),
    replaced: (disk, inode) => disk.now.set(PATH, disk.copyOf(inode)),
    removed: (disk) => disk.now.delete(PATH),
  };
  for (const [what, change] of Object.entries(changes)) {
    // Before the first append all bytes are compared, later only the end.
    for (const numBefore of [1, 4]) {
      const disk = new PowerLoss();
      await disk.use(async () => {
        const store = await FileStore.open(PATH);
        const ledger = await dp.ledger({ ...target, store });
        await releaseUpTo(ledger, numBefore);
        const before = disk.now.get(PATH);
        change(disk, before);
        const after = disk.now.get(PATH)?.now;
        const refused = { code: 'store_in_use', message: /others saved or removed/ };
        const isCopy = what === 'replaced' && numBefore === 1;
        const release = ledger.release(ledger.step, [0]);
        if (!isCopy) {
          await assert.rejects(release, refused, `${what} ${numBefore}`);
          assert.equal(disk.now.get(PATH)?.now, after, 'it was written to');
        }
        await release.catch(() => {});
        ledger.dispose();
        await store.close();
      });
    }
  }
});

/** Runs `act` with a clock that says that every slice of work is over; returns how often others ran. */
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
  const options = { mechanism: 'honaker', numSteps: 100_000 };
  const written = (store) => store.savedBytes + store.appended.reduce((sum, size) => sum + size, 0);
  for (const dimension of [1, 3]) {
    for (const before of [0, 100, 20_000]) {
      for (const numSteps of [1, 3000, 40_000]) {
        const costs = [];
        const releases = [];
        for (const batch of [numSteps, 1000]) {
          const store = appendingStore();
          await withLedger(
            store,
            async (ledger) => {
              await ledger.releaseMany(new Float64Array(before * dimension).fill(0.5));
              const [bytes, pieces] = [written(store), store.appended.length];
              const records = new Float64Array(numSteps * dimension).fill(0.25);
              const turns = await turnsOf(async () => {
                for (let at = 0; at < numSteps; at += batch) {
                  const all = await ledger.releaseMany(
                    records.subarray(at * dimension, (at + batch) * dimension),
                  );
                  if (batch === numSteps) releases.push(all);
                }
              });
              if (batch === numSteps)
                assert.ok(turns >= (numSteps * dimension) / 2048, `${turns} pauses`);
              assert.ok(
                store.appended.slice(pieces).every((size) => size <= 95_000),
                'pieces are bounded',
              );
              costs.push(written(store) - bytes);
            },
            { ...options, dimension },
          );
          if (batch !== numSteps) continue;
          // The pieces hold what was released.
          await withLedger(
            store,
            async (ledger) => {
              assert.equal(ledger.step, before + numSteps);
              assert.deepEqual(
                await ledger.releaseMany(before, new Float64Array(numSteps * dimension).fill(0.25)),
                releases[0],
              );
            },
            { ...options, dimension },
          );
        }
        assert.ok(costs[0] <= 1.5 * costs[1], `${numSteps} after ${before}: ${costs} bytes`);
      }
    }
  }
});

test('log: people contribute with the first of several pieces, and a crash after any piece loses no step before', async () => {
  const people = {
    mechanism: 'honaker',
    numSteps: 30_000,
    participation: { participations: 2, minSeparation: 3 },
  };
  const whole = { ...target, ...people };
  const store = appendingStore();
  const states = [];
  const { append } = store;
  store.append = async (bytes) => {
    await append(bytes);
    states.push((await store.load()).slice());
  };
  const ledger = await dp.peopleLedger({ ...whole, durable: 'release', store });
  await ledger.releaseMany(12_000);
  await ledger.contribute(['ann', 'bob'], [1, 0.5]);
  const all = await ledger.releaseMany(9000);
  ledger.dispose();
  assert.equal(states.length, Math.ceil(9000 / 2048));
  for (const [i, state] of states.entries()) {
    const next = await dp.peopleLedger({ ...whole, store: appendingStore(state) });
    const stored = Math.min(9000, 2048 * (i + 1));
    assert.deepEqual([next.step, next.numContributions], [12_000 + stored, 2]);
    assert.deepEqual(await next.releaseMany(12_000, stored), all.slice(0, stored));
    assert.deepEqual(await next.releaseMany(9000 - stored), all.slice(stored));
    next.dispose();
  }
});
