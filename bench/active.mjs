#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures streams of 10^6 active people: bytes of memory per person, and events per second of
// processor time, in memory and with a file; then the processor time of the end of a day. METHOD.md
// explains the figures.
//
//     node --expose-gc bench/active.mjs [FOLDER]   a folder of the disk to be measured

import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore } from '../dist/file-store.js';
import { load } from '../dist/index.js';

const NUM_PEOPLE = 1_000_000;
const CHUNK = 10_000;
const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'dp-ftrl-bench-'));
const dp = await load();
const target = { epsilon: 1, delta: 1e-6, steps: 365, windows: { day: 1, week: 7, month: 30 } };
const nameOf = (i) => `user-${i}@example.org`;

/** Seconds of processor time. */
async function timed(work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function addEverybody(people) {
  for (let from = 0; from < NUM_PEOPLE; from += CHUNK) {
    await people.addMany(Array.from({ length: CHUNK }, (_, i) => nameOf(from + i)));
  }
}

async function measure(label, people, numEvents) {
  gc();
  const before = process.memoryUsage().rss;
  const adding = await timed(() => addEverybody(people));
  gc();
  const bytes = (process.memoryUsage().rss - before) / NUM_PEOPLE;
  // The second stream reuses the memory that the first has freed.
  const more = label === 'memory' ? `${bytes.toFixed(0)} bytes a person; ` : '';
  const ending = await timed(() => people.end());
  // The same people on the next day, one call each, so that each changes the state.
  const events = await timed(async () => {
    for (let i = 0; i < numEvents; ++i) await people.add(nameOf((i * 7919) % NUM_PEOPLE));
  });
  const ratios = [NUM_PEOPLE / adding, numEvents / events].map((it) => Math.round(it));
  console.log(
    `${label}: ${more}${ratios[0]} events/s by addMany, ${ratios[1]} by add; end of a day ${ending.toFixed(2)} s`,
  );
}

const first = dp.active(target);
await measure('memory', first, 20_000);
first.dispose();
const path = join(folder, 'people');
const store = await FileStore.open(path);
await measure('file', await dp.active({ ...target, store }), 2000);
console.log(`file of ${(statSync(path).size / 1e6).toFixed(0)} MB`);
rmSync(folder, { recursive: true });
