// SPDX-License-Identifier: Apache-2.0

// Streams in files through every crash: power fails around each operation of the file system, and
// unsynced data is lost, torn or reordered. Readings that were handed out never change, and what
// resolved is there.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { PowerLoss, remains } from './support/power-loss.mjs';
import { EACH_KIND } from './support/streams.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();

const PATH = '/power/visits';
const STEPS = 70;

/** Calls of two lives, each in one write: records, steps, many at once, and a long log. */
function callsOf({ one, many, nothing, numRecords, isOfPeople }, size) {
  const lists = Array.from({ length: nothing.length }, (_, k) =>
    Array.from({ length: size }, (_, i) => i).flatMap((i) => {
      const list = many(i % numRecords, (i % numRecords) + 1)[k];
      return isOfPeople && k === 0 ? [`one of a crowd ${i}`] : list;
    }),
  );
  const life = [
    (stream) => stream.add(...one(0)),
    (stream) => stream.end(),
    (stream) => stream.release(...one(1)),
    (stream) => stream.addMany(...many(2, 4)),
    (stream) => stream.endMany(30),
    (stream) => stream.releaseBatch(...many(4, 7)),
  ];
  return [...life, (stream) => stream.addMany(...lists), ...life];
}

/** Describes what a stream has done. */
const placeOf = ({ step, records, waiting }) => [step, records, waiting];

/**
 * A history: the places after each number of calls, and the readings of all steps, of a stream in
 * memory; with `durable: 'step'`, the records of a step that has not ended are lost by a crash.
 */
function historyOf(it, { durable, size }) {
  const options = { ...it.options, strategy: 'honaker', steps: STEPS };
  const stream = dp[it.kind](options);
  const calls = callsOf(it, size);
  const places = [placeOf(stream)];
  const readings = calls.flatMap((call) => {
    const made = call(stream) ?? [];
    places.push(placeOf(stream));
    return made;
  });
  stream.dispose();
  const isLast = ([step], i) => durable === 'record' || i === 0 || places[i - 1][0] < step;
  return {
    it,
    options: { ...options, durable },
    calls,
    places,
    readings,
    isStored: places.map(isLast),
  };
}

/** Opens the stream and makes the calls up to number `to`, from the one that `seen` gives. */
async function live({ it, options, calls, readings }, to, seen, change = () => {}) {
  const store = await FileStore.open(PATH);
  change(store);
  const stream = await dp[it.kind]({ ...options, store });
  const first = (await seen.opened?.(stream)) ?? seen.done;
  for (let call = first; call < to; ++call) {
    seen.asked = call + 1;
    const made = [await calls[call](stream)].flat().filter((reading) => reading !== undefined);
    for (const reading of made) assert.deepEqual(reading, readings[reading.step]);
    seen.done = call + 1;
  }
  await stream.dispose();
  await store.close();
}

/** Two lives of a stream. */
async function liveTwice(history, { skips, change } = {}) {
  const disk = new PowerLoss();
  if (skips) disk.skips = skips;
  const seen = { done: 0, asked: 0 };
  disk.mark = () => ({ done: seen.done, asked: seen.asked });
  const half = history.calls.length >> 1;
  await disk.use(async () => {
    for (const to of [half, history.calls.length]) await live(history, to, seen, change);
  });
  return disk;
}

/** Opens what a crash left, and makes the remaining calls. */
async function recover({ files, mark }, history) {
  const { places, readings, isStored, calls } = history;
  const opened = (stream) => {
    // The last call that is stored, if it resolved; or the one that was under way.
    const kept = places.map((place, i) => isStored[i] && String(place) === String(placeOf(stream)));
    const call = kept.indexOf(true);
    const least = isStored.lastIndexOf(true, mark.done);
    assert.ok(call >= least, `${placeOf(stream)}: calls after ${places[least]} were lost`);
    assert.ok(call <= mark.asked, `${placeOf(stream)}: nobody asked for it`);
    return call;
  };
  const disk = new PowerLoss(files);
  await disk.use(async () => {
    await live(history, calls.length, { opened });
    const whole = async (stream) => {
      for (const [step, reading] of readings.entries())
        assert.deepEqual(await stream.at(step), reading, `another reading of step ${step}`);
      return calls.length;
    };
    await live(history, calls.length, { opened: whole });
  });
}

/** So many persons that the log is turned into a new base. */
const CROWD = 3000;
const [counter, counterOfPeople, ...others] = EACH_KIND;
const HISTORIES = [
  [counter, { durable: 'record', size: 40 }],
  [counter, { durable: 'step', size: 40 }],
  [counterOfPeople, { durable: 'record', size: CROWD }],
  [counterOfPeople, { durable: 'step', size: CROWD }],
  ...Array.from(some(others, 4), (it) => [it, { durable: 'record', size: 40 }]),
];

for (const [it, how] of HISTORIES) {
  test(`power loss: what resolved is there after every crash (${it.name}, durable by ${how.durable})`, async (t) => {
    const history = historyOf(it, how);
    const disk = await liveTwice(history);
    const crashes = [...disk.crashes()];
    for (const crash of some(crashes, 15)) await recover(crash, history);
    t.diagnostic(`${disk.snapshots.length} moments, ${crashes.length} states of the disk`);
    assert.ok(crashes.length > 500);
    // Renames happen for the first bytes, for what the second life found, and for a long log; all
    // else was appended.
    assert.equal(disk.count('rename'), how.size === CROWD ? 3 : 2);
    assert.equal(dp.liveHandles, 0);
  });
}

const PLAIN = historyOf(counter, { durable: 'record', size: 40 });

test('power loss: stores that do without a sync are found out', async () => {
  const syncOf = (path) => (name, at) => name === 'sync' && at === path;
  const lost = /were lost/;
  for (const [what, message, how] of [
    ['of what is appended', lost, { skips: syncOf(PATH) }],
    ['of a new file', /must hold at least 32 bytes|cut short/, { skips: syncOf(`${PATH}.new`) }],
    ['of the folder', lost, { skips: syncOf('/power') }],
    [
      'in time',
      lost,
      {
        change: (store) => {
          const { append } = store;
          store.append = async (...args) => void append.apply(store, args);
        },
      },
    ],
  ]) {
    const disk = await liveTwice(PLAIN, how);
    await assert.rejects(
      async () => {
        for (const crash of disk.crashes()) await recover(crash, PLAIN);
      },
      message,
      `a store without a sync ${what} is safe`,
    );
  }
});

test('power loss: what a killed process left is handed out only once it is on the disk', async () => {
  const skippers = {
    'before it synced an append': (name, at) => name === 'sync' && at === PATH,
    'before it synced the folder': (name, at) => name === 'sync' && at === '/power',
  };
  for (const [when, skips] of Object.entries(skippers)) {
    const disk = new PowerLoss();
    const seen = { done: 0, asked: 3 };
    disk.mark = () => ({ done: seen.done, asked: seen.asked });
    await disk.use(async () => {
      // Killed there: programs see what was written, but nobody saw a reading.
      disk.skips = skips;
      await live(PLAIN, 3, { done: 0 });
      disk.skips = () => false;
      const opened = (stream) => {
        assert.deepEqual(placeOf(stream), PLAIN.places[3], when);
        seen.done = 3;
        return 3;
      };
      await live(PLAIN, 3, { opened });
    });
    for (const crash of disk.crashes()) await recover(crash, PLAIN);
  }
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
