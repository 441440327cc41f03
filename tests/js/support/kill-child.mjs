// SPDX-License-Identifier: Apache-2.0

// Releases steps from a ledger until it is killed. Writes to standard output each request, and each
// release after it was handed out. With `point` it kills itself before or after one of the file
// system's operations that saving consists of.

import { writeSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { peopleOf, statisticOf, targetOf, VISITS_A_STEP } from './kill-stream.mjs';

const { library, fileStore, path, seed, numSteps, most, point, again, tooLate, ...other } =
  JSON.parse(process.argv[2]);
const { durable, kind, statistic } = other;

function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Replaces a function by one that may kill the process before or after calling the original. */
function mine(object, name, left) {
  const real = object[name];
  object[name] = async function (...args) {
    const dies = left.count-- === 0;
    if (dies && !point.after) process.kill(process.pid, 'SIGKILL');
    const result = await real.apply(this, args);
    if (dies) process.kill(process.pid, 'SIGKILL');
    return result;
  };
}

if (point) {
  const left = { count: point.count };
  if (point.operation === 'rename') {
    mine(fs, 'rename', left);
    syncBuiltinESMExports();
  } else {
    const handle = await fs.open(path.replace(/[^/]*$/, ''), 'r');
    mine(Object.getPrototypeOf(handle), point.operation, left);
    await handle.close();
  }
}

const { load } = await import(library);
const { FileStore } = await import(fileStore);
const dp = await load();
const store = await FileStore.open(path);
if (tooLate) {
  // Simulates a faulty ledger that hands out a release while it is still being saved.
  const { save, append } = store;
  store.save = async (bytes) => void save.call(store, bytes);
  store.append = async (bytes) => void append.call(store, bytes);
}
const target = { ...targetOf(seed, kind), numSteps, store };

const totals = {
  open: () => dp.ledger(target),
  draw: () => [Math.random() - 0.5, Math.random() - 0.5],
  release: async (ledger, step, record) => [...(await ledger.release(step, record))],
};

function readings() {
  const { options, draw, numbersOf } = statisticOf(statistic, seed);
  return {
    open: () => dp.statisticLedger({ ...options, numSteps, store }),
    draw,
    release: async (ledger, step, records) => {
      const [reading] = await ledger.releaseSteps(step, [records]);
      return numbersOf(reading);
    },
  };
}

async function releaseRecords({ open, draw, release }) {
  const ledger = await open();
  say({ open: ledger.step });
  for (const { step, record } of again) {
    say({ step, record, release: await release(ledger, step, record) });
  }
  for (let i = 0; i < most && ledger.step < numSteps; ++i) {
    const { step } = ledger;
    // Each life of the process uses another record: a step that was handed out must not change.
    const record = draw();
    say({ trying: step, record });
    say({ step, record, release: await release(ledger, step, record) });
  }
  say({ done: ledger.step });
}

/** Adds contributions and ends steps in the order of their numbers. */
async function countPeople() {
  const { options, given, numbersOf } = peopleOf({ durable, statistic, seed });
  const make = statistic ? dp.peopleStatisticLedger : dp.peopleLedger;
  const ledger = await make({ ...options, numSteps, durable, store });
  say({ open: ledger.step, given: ledger.numContributions });
  for (let i = 0; i < most && ledger.step < numSteps; ++i) {
    const { step, numContributions: next } = ledger;
    if (next < VISITS_A_STEP * (step + 1)) {
      const { person, record } = given(next);
      say({ giving: next });
      await ledger.contribute(person, record);
      say({ gave: next });
    } else {
      say({ ending: step });
      say({ step, release: numbersOf(await ledger.release(step)) });
    }
  }
  say({ done: ledger.step });
}

await (durable ? countPeople() : releaseRecords(statistic ? readings() : totals));
await store.close();
