// SPDX-License-Identifier: Apache-2.0

// Learners of arbitrary models whose state outlives the process.

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('gradient-ledger');

const target = { numSteps: 9, epsilon: 2, delta: 1e-6, clipNorm: 2, dimension: 3, batchSize: 2 };
const seeded = { ...target, insecureSeed: 9, start: [0.5, 0, -1], rate: 0.1 };
/** Gradients of the examples of a step, the second of which is clipped. */
const gradientsAt = (weights, step) =>
  [1, 4].flatMap((k) => Array.from(weights, (w, i) => 0.3 * w + k * Math.sin(step + k * i)));

const code =
  (expected, about = {}) =>
  (error) => {
    assert.equal(error.code, expected, error.message);
    for (const [name, value] of Object.entries(about))
      assert.equal(error[name], value, error.message);
    return true;
  };

/** A store in memory that can be made to fail. */
function memory() {
  const store = {
    bytes: undefined,
    broken: false,
    load: async () => store.bytes,
    save: async (bytes) => {
      if (store.broken) throw new Error('disk full');
      store.bytes = bytes;
    },
    close: async () => {},
  };
  return store;
}

const rules = {
  ftrl: { rule: 'ftrl', radius: 2 },
  'descent with momentum': { momentum: 0.9 },
  adam: { rule: 'adam', mechanism: 'tree' },
};

for (const [name, how] of Object.entries(rules)) {
  test(`gradient ledger: ${name} gives the same weights over several restarts as without any`, async () => {
    const options = { ...seeded, ...how };
    const learner = dp.gradientLearner(options);
    const path = join(scratch, name.replaceAll(' ', '-'));
    for (let life = 0; life < 3; ++life) {
      const store = await FileStore.open(path);
      // A stored state keeps its start.
      const start = life === 0 ? options.start : [7, 7, 7];
      const ledger = await dp.gradientLearnerLedger({ ...options, start, store });
      assert.equal(ledger.step, 3 * life);
      assert.deepEqual(ledger.weights(), learner.weights());
      assert.deepEqual(ledger.certificate, learner.certificate);
      assert.deepEqual([ledger.grid, ledger.rule], [learner.grid, learner.rule]);
      for (let k = 0; k < 3; ++k) {
        const gradients = gradientsAt(learner.weights(), learner.step);
        assert.deepEqual(await ledger.update(gradients), learner.update(gradients));
      }
      ledger.dispose();
      await store.close();
    }
    learner.dispose();
  });
}

test('gradient ledger: the key is drawn once, and the weights are those of a release of the sums', async () => {
  const store = memory();
  const options = { ...target, rate: 0.5, rule: 'ftrl' };
  const ledger = await dp.gradientLearnerLedger({ ...options, store });
  const weights = await ledger.update([1, 0, 0, 0, 2, 0]);
  ledger.dispose();
  const next = await dp.gradientLearnerLedger({ ...options, store });
  assert.deepEqual(next.weights(), weights);
  next.dispose();
  // The same bytes are a valid ledger of totals, whose step is released for the same batch.
  const { batchSize, ...sums } = target;
  const totals = await dp.ledger({ ...sums, store });
  const [total] = [await totals.releaseSteps(0, [[1, 0, 0, 0, 2, 0]])];
  assert.deepEqual(
    weights,
    total.map((sum) => -0.5 * (sum / batchSize)),
  );
  totals.dispose();
});

test('gradient ledger: nothing is shown before it is stored, and a step is bound to one batch', async () => {
  const store = memory();
  const ledger = await dp.gradientLearnerLedger({ ...seeded, store });
  store.broken = true;
  await assert.rejects(ledger.update([1, 1, 1]), code('store_failed', { step: 0 }));
  assert.equal(ledger.step, 0);
  assert.deepEqual(ledger.weights(), Float64Array.from(seeded.start));
  store.broken = false;
  await assert.rejects(ledger.update(0, [1, 1, 2]), code('already_released'));
  const weights = await ledger.update(0, [1, 1, 1]);
  ledger.dispose();
  const learner = dp.gradientLearner(seeded);
  assert.deepEqual(weights, learner.update([1, 1, 1]));
  learner.dispose();
});

test('gradient ledger: updates that were asked for at once come one after the other', async () => {
  const ledger = await dp.gradientLearnerLedger({ ...seeded, store: memory() });
  const learner = dp.gradientLearner(seeded);
  const batches = [[1, 0, 0], [], [0, 0, 3, 0, 1, 0]];
  const all = await Promise.all(batches.map((batch) => ledger.update(batch)));
  assert.deepEqual(
    all,
    batches.map((batch) => learner.update(batch)),
  );
  ledger.dispose();
  learner.dispose();
});

test('gradient ledger: another rule, batch size or target than the store has is refused', async () => {
  const store = memory();
  const ledger = await dp.gradientLearnerLedger({ ...seeded, momentum: 0.5, store });
  await ledger.update([1, 2, 3]);
  await assert.rejects(dp.gradientLearnerLedger({ ...seeded, store }), code('store_in_use'));
  ledger.dispose();
  const open = (given) => dp.gradientLearnerLedger({ ...seeded, momentum: 0.5, ...given, store });
  for (const [given, parameter] of [
    [{ rule: 'ftrl', momentum: undefined }, 'rule'],
    [{ rate: 0.2 }, 'rate'],
    [{ momentum: 0.25 }, 'momentum'],
    [{ radius: 1 }, 'radius'],
    [{ batchSize: 3 }, 'batchSize'],
  ]) {
    await assert.rejects(open(given), code('bad_state', { parameter }));
  }
  for (const given of [
    { epsilon: 3 },
    { clipNorm: 1 },
    { numSteps: 10 },
    { dimension: 2, start: [0, 0] },
  ])
    await assert.rejects(open(given), code('bad_state'));
  const again = await open({});
  assert.equal(again.step, 1);
  again.dispose();
  for (const cut of [10, store.bytes.length - 5]) {
    store.bytes = store.bytes.slice(0, cut);
    await assert.rejects(open({}), code('bad_state'));
  }
});

test('gradient ledger: the store of totals is refused, with a memo and without', async () => {
  const { rate, start, batchSize, ...sums } = seeded;
  const start3 = new Uint8Array(Float64Array.of(0, NaN, 0).buffer);
  const lines = [
    '{"learner":2}\n',
    `{"learner":1,"rule":{"toString":1}}\n${'\0'.repeat(24)}`,
    '\n',
  ];
  const memos = lines.map((line) => new TextEncoder().encode(line));
  const facts = '{"learner":1,"rule":"descent","batchSize":2,"rate":0.1,"momentum":0}\n';
  memos.push(Uint8Array.of(...new TextEncoder().encode(facts), ...start3));
  for (const memo of [undefined, ...memos]) {
    const store = memory();
    const totals = await dp.ledger({ ...sums, store });
    await totals.releaseSteps(0, [[1, 2, 3]], memo);
    totals.dispose();
    const opened = dp.gradientLearnerLedger({ ...seeded, store });
    const isFacts = memo === memos[1]; // facts of a learner with another rule
    await assert.rejects(opened, code('bad_state', { parameter: isFacts ? 'rule' : 'store' }));
  }
});

test('gradient ledger: bad input is refused by name, and changes nothing', async () => {
  const store = memory();
  const open = (given) => dp.gradientLearnerLedger({ ...seeded, store, ...given });
  for (const [given, expected, parameter] of [
    [{ clipping: 'by the caller' }, 'wrong_type', 'clipping'],
    [{ store: undefined }, 'wrong_type', 'store'],
    [{ rate: NaN }, 'invalid_argument', 'rate'],
    [{ rate: undefined }, 'wrong_type', 'rate'],
    [{ momentum: 1 }, 'invalid_argument', 'momentum'],
    [{ start: [0, NaN, 0] }, 'invalid_argument', 'start[1]'],
    [{ start: [0, 0] }, 'wrong_length', 'start'],
    [{ workload: { window: 2 } }, 'invalid_argument', 'workload'],
    [{ batchSize: 0 }, 'invalid_argument', 'batchSize'],
  ]) {
    await assert.rejects(open(given), (error) => {
      assert.deepEqual([error.code, error.parameter], [expected, parameter], error.message);
      return true;
    });
  }
  const ledger = await open({});
  await assert.rejects(ledger.update([1, 2]), code('wrong_length', { parameter: 'gradients' }));
  await assert.rejects(
    ledger.update([1, 2, 3, 4, NaN, 6]),
    code('invalid_argument', { parameter: 'gradients[4]' }),
  );
  await assert.rejects(ledger.update('x'), code('wrong_type'));
  assert.equal(ledger.step, 0);
  for (let step = 0; step < seeded.numSteps; ++step) await ledger.update([]);
  await assert.rejects(ledger.update([]), code('past_horizon'));
  ledger.dispose();
  assert.equal(ledger.disposed, true);
  const message = 'this gradient learner was disposed of';
  assert.throws(() => ledger.weights(), code('disposed', { message }));
  await assert.rejects(ledger.update([]), code('disposed', { message }));
});

test('gradient ledger: weights too large for a double are reported, also after a restart', async () => {
  const store = memory();
  const options = { ...target, insecureSeed: 1, rate: 1e308, store };
  const ledger = await dp.gradientLearnerLedger(options);
  const far = (async () => {
    for (let step = 0; step < 9; ++step) await ledger.update([2, 2, 2]);
  })();
  await assert.rejects(far, code('bad_state'));
  const { step } = ledger;
  await assert.rejects(ledger.update([2, 2, 2]), code('bad_state'));
  assert.equal(ledger.step, step, 'no further step is spent');
  ledger.dispose();
  await assert.rejects(dp.gradientLearnerLedger(options), code('bad_state'));
  assert.equal(dp.liveHandles, 0);
});
