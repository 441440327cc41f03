// SPDX-License-Identifier: Apache-2.0

// Learners whose state outlives the process: no result is returned before it is stored.

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { isWiped, keysDrawn, keysRead, slowStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('learner-ledger');

const target = { mechanism: 'tree', numSteps: 40, epsilon: 1, delta: 1e-6, dimension: 2 };
const example = (i) => [Math.sin(i), Math.cos(3 * i)];
const label = (i) => (Math.sin(5 * i) > 0 ? 1 : -1);

const code = (expected, message) => (error) => {
  assert.equal(error.code, expected, error.message);
  assert.match(error.message, message);
  return true;
};

/** A store in memory whose saves fail while `broken` is set. */
function memory() {
  const store = {
    bytes: undefined,
    broken: false,
    numSaves: 0,
    load: async () => store.bytes,
    save: async (given) => {
      if (store.broken) throw new Error('disk full');
      store.bytes = given;
      ++store.numSaves;
    },
    close: async () => {},
  };
  return store;
}

const kinds = {
  ftrl: {},
  doubling: { doubling: true },
  descent: { descent: { momentum: 0.5, rates: [1, 0.5] } },
  'batches on the simplex': { batchSize: 3, domain: 'simplex-entropic' },
  softmax: { loss: 'softmax', numClasses: 2 },
  lattice: { mode: 'lattice' },
  'a loss of the caller': {
    loss: (predictions, labels) => ({ slopes: predictions.map((p, i) => p - labels[i]) }),
  },
};

for (const [name, how] of Object.entries(kinds)) {
  test(`learner ledger: ${name} continues with the same weights after every restart`, async () => {
    const options = { ...target, ...how, insecureSeed: 3 };
    const toLabel = (i) => (how.numClasses ? Number(label(i) > 0) : label(i));
    const learner = dp.learner(options);
    const path = join(scratch, name.replaceAll(' ', '-'));
    for (let life = 0; life < 4; ++life) {
      const store = await FileStore.open(path);
      const ledger = await dp.learnerLedger({ ...options, store });
      assert.equal(ledger.numExamples, 5 * life);
      assert.equal(ledger.step, learner.step);
      assert.equal(ledger.numWaiting, learner.numWaiting);
      for (let i = 5 * life; i < 5 * life + 5; ++i) {
        const expected = new Float64Array(learner.numScores);
        const predictions = new Float64Array(learner.numScores);
        learner.learn(example(i), [toLabel(i)], expected);
        await ledger.learn(example(i), [toLabel(i)], predictions);
        assert.deepEqual(predictions, expected);
      }
      if (life === 2) {
        learner.endBatch();
        await ledger.endBatch();
      }
      assert.deepEqual(await ledger.model(), learner.model());
      assert.equal(ledger.lambda, learner.lambda);
      ledger.dispose();
      assert.equal(ledger.disposed, true);
      await store.close();
    }
    learner.dispose();
    assert.equal(dp.liveHandles, 0);
  });
}

test('learner ledger: several examples are stored with one save', async () => {
  const store = memory();
  const ledger = await dp.learnerLedger({ ...target, store });
  await ledger.learn([...example(0), ...example(1), ...example(2)], [1, -1, 1]);
  assert.equal(store.numSaves, 2, 'the key, then the three');
  await ledger.model();
  assert.equal(store.numSaves, 2);
  assert.equal(ledger.insecure, false);
  ledger.dispose();
  const next = await dp.learnerLedger({ ...target, store });
  assert.equal(next.numExamples, 3);
  next.dispose();
});

test('learner ledger: nothing is shown that could not be stored', async () => {
  const store = memory();
  const ledger = await dp.learnerLedger({ ...target, store });
  await ledger.learn(example(0), [1]);
  const { weights } = await ledger.model();
  store.broken = true;
  const predictions = new Float64Array([7]);
  await assert.rejects(ledger.learn(example(1), [1], predictions), /disk full/);
  assert.deepEqual(predictions, new Float64Array([7]));
  assert.equal(ledger.numExamples, 2, 'it counts: offering it again would count it twice');
  await assert.rejects(ledger.model(), /disk full/);
  await assert.rejects(ledger.learn(example(2), [1]), /disk full/);
  assert.equal(ledger.numExamples, 2, 'nothing more is learned before');
  // The process died here: unstored results were not seen, and their step is free.
  const kept = memory();
  kept.bytes = store.bytes;
  const other = await dp.learnerLedger({ ...target, store: kept });
  assert.equal(other.numExamples, 1);
  assert.deepEqual((await other.model()).weights, weights);
  other.dispose();
  store.broken = false;
  const { numExamples } = await ledger.model();
  assert.equal(numExamples, 2);
  ledger.dispose();
  const next = await dp.learnerLedger({ ...target, store });
  assert.equal(next.numExamples, 2);
  next.dispose();
});

test('learner ledger: a loss of the caller sees nothing that was not stored', async () => {
  const store = memory();
  const asked = [];
  const loss = (predictions, labels) => {
    asked.push({ predictions: [...predictions], numSaves: store.numSaves });
    return { slopes: predictions.map((p, i) => p - labels[i]) };
  };
  const ledger = await dp.learnerLedger({ ...target, batchSize: 2, loss, store });
  const rows = [0, 1, 2, 3, 4].flatMap(example);
  const predictions = new Float64Array(5);
  await ledger.learn(rows, [1, -1, 1, -1, 1], predictions);
  assert.deepEqual(
    asked.flatMap((it) => it.predictions),
    [...predictions],
  );
  assert.deepEqual(
    asked.map((it) => it.numSaves),
    [1, 2, 3],
    'stored before each batch is shown',
  );
  store.broken = true;
  await assert.rejects(ledger.learn(rows, [1, -1, 1, -1, 1]), /disk full/);
  assert.equal(asked.length, 4, 'the batch that could not be stored was the last one');
  assert.equal(ledger.numExamples, 6);
  ledger.dispose();
});

test('learner ledger: the first memo is kept after restarts, and each key has one identity', async () => {
  const [store, other] = [memory(), memory()];
  const memo = Uint8Array.of(1, 2, 3);
  const ledger = await dp.learnerLedger({ ...target, store, memo });
  memo.fill(9); // It was already read.
  ledger.memo.fill(9);
  const { identity } = ledger;
  assert.match(identity, /^[0-9a-f]{32}$/);
  await ledger.learn(example(0), [1]);
  assert.equal(ledger.identity, identity);
  ledger.dispose();
  for (const given of [{}, { memo: Uint8Array.of(7) }]) {
    const next = await dp.learnerLedger({ ...target, ...given, store });
    assert.deepEqual([next.memo, next.identity], [Uint8Array.of(1, 2, 3), identity]);
    await next.learn(example(1), [1]);
    next.dispose();
  }
  const plain = await dp.learnerLedger({ ...target, store: other });
  assert.equal(plain.memo, undefined);
  assert.notEqual(plain.identity, identity);
  plain.dispose();
  await assert.rejects(
    dp.learnerLedger({ ...target, store: memory(), memo: 'x' }),
    code('wrong_type', /learnerLedger: memo must be a Uint8Array, got string "x"/),
  );
});

test('learner ledger: a refused example is named, and those before it are stored', async () => {
  const store = memory();
  const ledger = await dp.learnerLedger({ ...target, store });
  const rows = [...example(0), ...example(1), ...example(2)];
  await assert.rejects(ledger.learn(rows, [1, 3, 1]), (error) => {
    assert.equal(error.learned, 1);
    return code('invalid_argument', /learn: example 1: .*label must be -1, 0 or 1, got 3/)(error);
  });
  await assert.rejects(ledger.learn([1], [1]), code('wrong_length', /features must have 2/));
  await assert.rejects(
    ledger.learn(example(1), [1], new Float64Array(2)),
    code('wrong_length', /predictions must have 1/),
  );
  ledger.dispose();
  const next = await dp.learnerLedger({ ...target, store });
  assert.equal(next.numExamples, 1);
  next.dispose();
});

test('learner ledger: calls at the same time are made one after the other', async () => {
  const [whole, store] = [dp.learner({ ...target, insecureSeed: 1 }), memory()];
  const ledger = await dp.learnerLedger({ ...target, insecureSeed: 1, store });
  const features = example(0).slice();
  const calls = [ledger.learn(features, [1])];
  features.fill(100); // They were already read by the call.
  calls.push(ledger.learn(example(1), [-1]), ledger.model());
  const model = (await Promise.all(calls))[2];
  whole.learn(example(0), [1]);
  whole.learn(example(1), [-1]);
  assert.deepEqual(model, whole.model());
  ledger.dispose();
  whole.dispose();
  // A slow first save must not overwrite later ones.
  const slow = slowStore();
  const first = await dp.learnerLedger({ ...target, store: slow.store });
  await Promise.all([0, 1, 2].map((i) => first.learn(example(i), [1])));
  first.dispose();
  assert.equal(slow.most(), 1, 'saves at the same time');
  const next = await dp.learnerLedger({ ...target, store: slow.store });
  assert.equal(next.numExamples, 3);
  next.dispose();
});

test('learner ledger: its key is wiped when it is disposed of', async () => {
  const store = memory();
  const drawn = await keysDrawn(async () => {
    const ledger = await dp.learnerLedger({ ...target, store });
    await ledger.learn(example(0), [1]);
    return ledger;
  });
  const stored = store.bytes.slice(0, 32);
  assert.deepEqual(drawn.keys, [stored]);
  drawn.result.dispose();
  assert.ok(isWiped(drawn.keys[0]), 'a fresh one');
  const { keys, reading } = keysRead(store);
  const next = await dp.learnerLedger({ ...target, store: reading });
  assert.deepEqual(keys, [stored]);
  next.dispose();
  assert.ok(isWiped(keys[0]), 'one that was stored');
});

test('learner ledger: its bytes are those of the library in C++', async () => {
  // learner_checkpoint_test.cpp uses the same learner.
  const store = memory();
  const ledger = await dp.learnerLedger({
    mechanism: 'blt',
    decays: [0.875, 0.5],
    weights: [0.25, 0.375],
    numSteps: 24,
    epsilon: 1,
    delta: 1e-6,
    clipNorm: 0.75,
    dimension: 3,
    loss: 'hinge',
    radius: 2,
    lambda: 30,
    batchSize: 2,
    insecureSeed: 7,
    store,
  });
  for (let i = 0; i < 9; ++i) {
    await ledger.learn([0.5, 0.25 * (i % 3), -1.125 * (i % 5)], [i % 2]);
  }
  ledger.dispose();
  const digest = createHash('sha256').update(store.bytes.subarray(32)).digest();
  assert.equal(digest.readBigUInt64LE(), 4427572584715619259n);
});

test('learner ledger: stores of another learner or seed, or with damaged bytes, are refused', async () => {
  const store = memory();
  const ledger = await dp.learnerLedger({ ...target, store });
  await ledger.learn(example(0), [1]);
  ledger.dispose();
  const open = (options) => dp.learnerLedger({ ...target, ...options, store });
  for (const other of [
    { epsilon: 2 },
    { mechanism: 'honaker' },
    { dimension: 3 },
    { loss: 'hinge' },
    { domain: 'box' },
    { radius: 2 },
    { lambda: 5 },
    { batchSize: 2 },
    { descent: {} },
    { clipNorm: 2 },
  ]) {
    await assert.rejects(open(other), code('bad_state', /must be of this/), JSON.stringify(other));
  }
  await assert.rejects(open({ insecureSeed: 1 }), code('bad_state', /must be of this key/));
  const sums = { mechanism: 'tree', numSteps: 40, epsilon: 1, delta: 1e-6, dimension: 2, store };
  await assert.rejects(dp.ledger(sums), code('bad_state', /must be of kind 3, got kind 5/));
  const good = store.bytes;
  for (let i = 32; i < good.length; i += 7) {
    store.bytes = good.slice();
    store.bytes[i] ^= 1;
    await assert.rejects(open({}), code('bad_state', /./), `byte ${i}`);
  }
  store.bytes = good.subarray(0, 20);
  await assert.rejects(open({}), code('bad_state', /learnerLedger: store must hold at/));
  store.bytes = good;
  await assert.rejects(
    dp.learnerLedger({ ...target, store: {} }),
    code('wrong_type', /learnerLedger: store must be an object with load, save and close/),
  );
  assert.equal(dp.liveHandles, 0);
});
