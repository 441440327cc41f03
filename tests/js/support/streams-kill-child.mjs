// SPDX-License-Identifier: Apache-2.0

// Adds records to a stream in a file until it is killed: record number i is the same in every life.
// Writes each reading to standard output once it was handed out, and the number of records stored.

import { writeSync } from 'node:fs';

const { library, fileStore, path, kind, options, most } = JSON.parse(process.argv[2]);
const { load } = await import(library);
const { FileStore } = await import(fileStore);
const { recordOf, RECORDS_A_STEP } = await import(new URL('streams-kill.mjs', import.meta.url));

const say = (line) => writeSync(1, `${JSON.stringify(line)}\n`);
const dp = await load();
const store = await FileStore.open(path);
const stream = await dp[kind]({ ...options, store });
say({ records: stream.records, step: stream.step });
while (stream.records < most) {
  // A step that was full when the process was killed ends first.
  const isFull = stream.records >= RECORDS_A_STEP * (stream.step + 1);
  if (isFull) say({ reading: await stream.end() });
  else await stream.add(...recordOf(kind, options, stream.records));
  say({ records: stream.records, step: stream.step });
}
await stream.dispose();
await store.close();
say({ done: true });
