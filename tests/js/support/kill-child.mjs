// SPDX-License-Identifier: Apache-2.0

// Calls a stream in a file until it is killed. Writes to standard output each call before it is
// made, and its reading once it was handed out. With `point` it kills itself before or after one of
// the file system's operations that saving consists of.

import { writeSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { applied, killCase } from './kill-calls.mjs';

const { library, fileStore, path, name, durable, most, point, again, isTooLate } = JSON.parse(
  process.argv[2],
);

function say(line) {
  writeSync(1, `${JSON.stringify(line)}\n`);
}

/** Replaces a function by one that may kill the process before or after calling the original. */
function mine(object, operation, left) {
  const real = object[operation];
  object[operation] = async function (...args) {
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
if (isTooLate) {
  // Simulates a faulty stream that hands out a reading while it is still being saved.
  const { save, append } = store;
  store.save = async (...args) => void save.apply(store, args);
  store.append = async (...args) => void append.apply(store, args);
}
const it = killCase(name);
const stream = await dp[it.kind]({ ...it.options, durable, store });
const where = () => ({ step: stream.step, records: stream.records });
say({ opened: where() });
for (const step of again.filter((it) => it < stream.step)) say({ reading: await stream.at(step) });
const { numRecords } = it;
for (let i = 0; i < most && stream.step < stream.steps; ++i) {
  // Each life draws other calls: a step that was handed out must not change.
  const call = [['add', 'add', 'end', 'release'][Math.floor(4 * Math.random())]];
  if (call[0] !== 'end') call.push(Math.floor(numRecords * Math.random()));
  say({ call });
  const reading = await applied(stream, it, call);
  say({ done: where(), reading });
}
await stream.dispose();
await store.close();
