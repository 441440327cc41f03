// SPDX-License-Identifier: Apache-2.0

// kill -9 at any instant: what resolved is stored, readings that were handed out never change, and
// all are those of one stream that was never killed. The short form runs here; the full one,
// `npm run test:long`, kills 500 processes for each kind of stream.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { entryUrl, importEntry } from './support/consumer.mjs';
import { some } from './support/extent.mjs';
import { applied, isLong, killCase } from './support/kill-calls.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { EACH_KIND } from './support/streams.mjs';

const dp = await (await importEntry('dp-ftrl')).load();
const child = fileURLToPath(new URL('./support/kill-child.mjs', import.meta.url));
const scratch = scratchFolder('kill');
let numFiles = 0;

/**
 * Point at which the process kills itself; undefined for every fourth one, which is killed from
 * outside at a random time.
 */
function pointOf(kill) {
  if (kill % 4 === 3) return undefined;
  const operation = ['write', 'sync', 'rename'][kill % 3];
  // The lock is synced first. Then the first save syncs the file and its folder, and each append
  // syncs once. A life with nothing to append to renames once.
  return { operation, after: Math.floor(kill / 12) % 2 === 1, count: Math.floor(kill / 3) % 9 };
}

/** Runs one life of a process, which is not killed if `kill` is undefined. */
function live(kill, given) {
  const isLeft = kill === undefined;
  const point = isLeft ? undefined : pointOf(kill);
  const most = isLeft ? 40 : point ? 16 : 100_000;
  const [library, fileStore] = ['dp-ftrl', 'dp-ftrl/file-store'].map((it) => entryUrl(it).href);
  const args = JSON.stringify({ library, fileStore, most, point, ...given });
  return new Promise((resolve, reject) => {
    const life = spawn(process.execPath, [child, args]);
    let text = '';
    let errors = '';
    life.stdout.on('data', (data) => {
      const isFirst = text === '';
      text += data;
      // The kill comes at any time from the first save to well within the loop.
      if (isFirst && !point && !isLeft) {
        setTimeout(() => life.kill('SIGKILL'), Math.random() ** 2 * 150);
      }
    });
    life.stderr.on('data', (data) => (errors += data));
    life.on('error', reject);
    life.on('close', (code, signal) => {
      const lines = text.split('\n').slice(0, -1);
      resolve({ lines: lines.map((line) => JSON.parse(line)), code, signal, errors });
    });
  });
}

/**
 * Records calls and readings. Detects calls that were lost, counted twice or made by nobody, and
 * readings that changed.
 */
class Recorder {
  /** Calls that resolved, or were under way when a process died and were found to be stored. */
  calls = [];
  /** The place after each of them. */
  places = [{ step: 0, records: 0 }];
  readings = [];
  /** Calls that were stored and whose process died before they resolved. */
  numUnseen = 0;

  /** @param storesFirst  whether only the first record of a person in a step is stored. */
  constructor(durable = 'record', storesFirst = false) {
    this.durable = durable;
    this.storesFirst = storesFirst;
  }

  see({ opened, call, done, reading }) {
    if (opened) this.opened(opened);
    if (call) this.pending = call;
    if (done) {
      this.make(this.pending);
      assert.deepEqual(done, this.places.at(-1), 'a call was lost or made twice');
    }
    if (reading) this.take(reading);
  }

  take(reading) {
    const { step } = reading;
    assert.ok(step < this.places.at(-1).step, `step ${step} was ended by nobody`);
    this.readings[step] ??= reading;
    assert.deepEqual(reading, this.readings[step], `step ${step} was released twice`);
  }

  make(call) {
    const { step, records } = this.places.at(-1);
    const [verb] = call;
    this.calls.push(call);
    const isStep = verb !== 'add';
    this.places.push({ step: step + Number(isStep), records: records + Number(verb !== 'end') });
    this.pending = undefined;
  }

  /** Requires that all that resolved is stored, and perhaps the call that was under way. */
  opened(place) {
    const isThere = ({ step, records }) => step === place.step && records === place.records;
    if (this.durable === 'step') {
      // Records of a step that has not ended are lost.
      const { step } = this.places.at(-1);
      const least = this.places.findIndex((it) => it.step === step);
      const isEnded = this.pending && this.pending[0] !== 'add' && place.step === step + 1;
      if (!isEnded) this.cutTo(least);
    }
    while (this.storesFirst && this.isRepeat() && place.records < this.places.at(-1).records) {
      this.cutTo(this.calls.length - 1);
    }
    if (!isThere(this.places.at(-1)) && this.pending) {
      ++this.numUnseen;
      this.make(this.pending);
    }
    this.pending = undefined;
    const { step, records } = this.places.at(-1);
    const found = `${place.step} steps and ${place.records} records of ${step} and ${records}`;
    assert.ok(isThere({ step, records }), `calls were lost, or made by nobody: ${found}`);
  }

  /** Whether the last call adds a person who is in the open step already. */
  isRepeat() {
    const open = this.calls.slice(this.calls.findLastIndex(([verb]) => verb !== 'add') + 1);
    const last = open.pop();
    return last !== undefined && open.some(([, i]) => i === last[1]);
  }

  cutTo(length) {
    this.calls.length = length;
    this.places.length = length + 1;
  }

  /** Steps to read again: those without a reading, the first one, and the latest ones. */
  again() {
    const { step } = this.places.at(-1);
    const all = Array.from({ length: step + 1 }, (_, i) => i);
    return all.filter((i) => this.readings[i] === undefined || i === 0 || i >= step - 3);
  }
}

test('kill: the recorder detects lost and repeated calls, and readings that changed', () => {
  const recorded = (durable, ...lines) => {
    const recorder = new Recorder(durable);
    for (const line of lines) recorder.see(line);
    return recorder;
  };
  const at = (step, records) => ({ step, records });
  const added = [{ opened: at(0, 0) }, { call: ['add', 1] }, { done: at(0, 1) }];
  const ended = [...added, { call: ['end'] }, { done: at(1, 1), reading: { step: 0, value: 5 } }];
  const wrong = [
    ['record', /lost/, ...added, { opened: at(0, 0) }],
    ['record', /nobody/, ...added, { opened: at(0, 2) }],
    ['record', /nobody/, ...added, { call: ['add', 2] }, { opened: at(0, 3) }],
    ['record', /nobody/, ...added, { call: ['add', 2] }, { opened: at(1, 1) }],
    ['record', /made twice/, ...added, { call: ['add', 2] }, { done: at(0, 3) }],
    ['record', /lost/, ...ended, { opened: at(0, 1) }],
    ['record', /released twice/, ...ended, { reading: { step: 0, value: 6 } }],
    ['record', /ended by nobody/, ...ended, { reading: { step: 1, value: 6 } }],
    ['step', /nobody/, ...added, { opened: at(0, 1) }],
    ['step', /lost/, ...ended, { opened: at(0, 0) }],
    ['step', /lost/, ...ended, { call: ['add', 2] }, { opened: at(0, 1) }],
  ];
  for (const [durable, message, ...lines] of wrong) {
    assert.throws(() => recorded(durable, ...lines), message, JSON.stringify(lines));
  }
  const unseen = recorded('record', ...added, { call: ['release', 2] }, { opened: at(1, 2) });
  assert.deepEqual(
    [unseen.calls, unseen.numUnseen, unseen.again()],
    [
      [
        ['add', 1],
        ['release', 2],
      ],
      1,
      [0, 1],
    ],
  );
  const dropped = recorded(
    'step',
    ...ended,
    { call: ['add', 2] },
    { done: at(1, 2) },
    { opened: at(1, 1) },
  );
  assert.deepEqual(dropped.calls, [['add', 1], ['end']]);
  const repeated = new Recorder('record', true);
  const again = { call: ['add', 1] };
  for (const line of [...added, again, { done: at(0, 2) }, { opened: at(0, 1) }]) {
    repeated.see(line);
  }
  assert.deepEqual(repeated.calls, [['add', 1]]);
  assert.throws(() => repeated.see({ opened: at(0, 0) }), /lost/);
  const open = recorded('step', ...added, { call: ['end'] }, { opened: at(1, 1) });
  assert.deepEqual(open.calls, [['add', 1], ['end']]);
});

/** Requires the readings to be those of one stream that was never killed. */
function requireOneStream({ calls, readings }, it) {
  const whole = dp[it.kind](it.options);
  for (const call of calls) {
    const reading = applied(whole, it, call);
    if (reading === undefined) continue;
    const { step } = reading;
    assert.deepEqual(readings[step], JSON.parse(JSON.stringify(reading)), `step ${step}`);
  }
  whole.dispose();
}

/** Runs lives that are killed, then two that are not: the first one shows what is still unseen. */
async function surviveKills(t, numKills, { name, durable }) {
  const path = join(scratch, String(++numFiles));
  const recorder = new Recorder(durable, name === 'active');
  const next = async (kill) => {
    const again = recorder.again();
    const { lines, ...end } = await live(kill, { path, name, durable, again });
    for (const line of lines) recorder.see(line);
    return end;
  };
  let numKilled = 0;
  for (let kill = 0; kill < numKills; ++kill) {
    const { code, signal, errors } = await next(kill);
    assert.ok(code === 0 || signal === 'SIGKILL', `${code} ${signal}: ${errors}`);
    if (signal) ++numKilled;
  }
  for (let rest = 0; rest < 2; ++rest) {
    const { code, errors } = await next(undefined);
    assert.equal(code, 0, errors);
  }
  const { calls, numUnseen } = recorder;
  t.diagnostic(`${numKilled} of ${numKills} processes killed, ${calls.length} calls`);
  t.diagnostic(`${numUnseen} calls stored and not seen`);
  assert.ok(numKilled >= numKills * 0.7, 'too few were killed');
  assert.ok(numKills < 20 || numUnseen > 0);
  requireOneStream(recorder, killCase(name));
}

/** Kinds of streams, with the number of lives in the short form. */
const STREAMS = [
  ['counter', 'record', 24],
  ['counter of people', 'step', 12],
  ...Array.from(some(EACH_KIND.slice(1), 5), ({ name }) => [name, 'record', 12]),
];
for (const [name, durable, numKills] of STREAMS) {
  test(`kill: a ${name} loses nothing and stays one stream, durable by ${durable}`, (t) =>
    surviveKills(t, isLong ? 500 : numKills, { name, durable }));
}

test('kill: a store that saves too late is found out', async () => {
  const path = join(scratch, 'too late');
  const recorder = new Recorder();
  await assert.rejects(async () => {
    for (const kill of [2, 14, 26]) {
      const given = { path, name: 'counter', durable: 'record', again: [], isTooLate: true };
      const { lines } = await live(kill, given);
      for (const line of lines) recorder.see(line);
    }
  }, /calls were lost/);
});
