#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Measures bytes, CPU time and elapsed time of a durable release to a file, after 10^3 and after
// 10^6 releases, for a store that appends and one that rewrites everything. METHOD.md explains the
// figures.
//
// Then measures the CPU time of 40,000 steps in one call and in calls of 1000, whose ratio should
// be at most 1.5, the longest time for which other events wait, and the time to reopen the file.
//
//     node bench/ledger.mjs [FOLDER]     a folder of the disk to be measured; default: a temporary one

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileStore } from '../dist/file-store.js';
import { load } from '../dist/index.js';

const STEPS = [1_000, 1_000_000];
const CHUNK = 10_000;
const NUM_MANY = 40_000;
const folder = mkdtempSync(join(process.argv[2] ?? tmpdir(), 'dp-ftrl-bench-'));
const dp = await load();
const target = { strategy: 'honaker', steps: 1_100_000, epsilon: 1, delta: 1e-6 };

/** Wraps a store to count the bytes written to it. */
function counting(file, appends) {
  const counts = { appended: 0, saved: 0 };
  const store = {
    counts,
    load: (lease) => file.load(lease),
    save: (bytes, lease) => ((counts.saved += bytes.length), file.save(bytes, lease)),
    close: () => file.close(),
  };
  if (appends)
    store.append = (bytes, lease) => ((counts.appended += bytes.length), file.append(bytes, lease));
  return store;
}

/** Advances the stream to a step, many releases at a time. */
async function goTo(visits, end) {
  while (visits.step < end) {
    const count = Math.min(CHUNK, end - visits.step);
    await visits.releaseMany(new Float64Array(count).fill(0.5));
  }
}

async function measure(visits, store, numReleases) {
  await new Promise((resolve) => setTimeout(resolve, 200));
  const before = { ...store.counts };
  const [cpu, start] = [process.cpuUsage(), performance.now()];
  for (let i = 0; i < numReleases; ++i) await visits.release(0.5);
  const { user, system } = process.cpuUsage(cpu);
  const bytes = store.counts.appended + store.counts.saved - before.appended - before.saved;
  return {
    bytes: bytes / numReleases,
    cpu: (user + system) / 1000 / numReleases,
    time: (performance.now() - start) / numReleases,
  };
}

/**
 * Releases NUM_MANY steps twice in calls of `batch`, after 1000 others: first to measure processor
 * time, then to find the longest wait of other events.
 */
async function measureMany(path, batch) {
  let store = await FileStore.open(path);
  let visits = await dp.counter({ ...target, store });
  await visits.releaseMany(new Float64Array(1000).fill(0.5));
  const records = new Float64Array(batch).fill(0.5);
  let [silent, last, isOver] = [0, performance.now(), false];
  const watch = () => {
    silent = Math.max(silent, performance.now() - last);
    last = performance.now();
    if (!isOver) setImmediate(watch);
  };
  // Processor time is that of the whole process, so it is measured without the watcher.
  const release = async () => {
    const cpu = process.cpuUsage();
    for (let done = 0; done < NUM_MANY; done += batch) await visits.releaseMany(records);
    const { user, system } = process.cpuUsage(cpu);
    return (user + system) / 1000;
  };
  const cpu = await release();
  last = performance.now();
  watch();
  await release();
  isOver = true;
  await visits.dispose();
  await store.close();
  store = await FileStore.open(path);
  const start = performance.now();
  visits = await dp.counter({ ...target, store });
  const opened = performance.now() - start;
  await visits.dispose();
  await store.close();
  return { cpu, silent, opened };
}

try {
  const line = (...cells) =>
    process.stdout.write(`${cells.map((it) => it.padStart(12)).join('')}\n`);
  line('store', 'releases', 'bytes', 'CPU ms', 'ms', 'opened ms', 'MB in all');
  for (const appends of [true, false]) {
    const path = join(folder, String(appends));
    const costs = [];
    let [saved, appended] = [0, 0];
    for (const step of STEPS) {
      let store = counting(await FileStore.open(path), appends);
      let visits = await dp.counter({ ...target, store });
      await goTo(visits, step);
      const cost = await measure(visits, store, appends ? 500 : 20);
      costs.push(cost);
      await visits.dispose();
      await store.close();
      saved += store.counts.saved;
      appended += store.counts.appended;
      store = counting(await FileStore.open(path), appends);
      const start = performance.now();
      visits = await dp.counter({ ...target, store });
      const opened = performance.now() - start;
      await visits.dispose();
      await store.close();
      const numbers = [cost.bytes.toFixed(0), cost.cpu.toFixed(3), cost.time.toFixed(3)];
      const all = ((saved + appended) / 1e6).toFixed(1);
      line(appends ? 'appends' : 'saves', String(step), ...numbers, opened.toFixed(0), all);
    }
    const [small, large] = costs;
    line('ratio', '', ...['bytes', 'cpu', 'time'].map((it) => (large[it] / small[it]).toFixed(2)));
  }
  line('in calls of', 'CPU ms', 'silent ms', 'opened ms');
  const costs = [];
  for (const batch of [NUM_MANY, 1000]) {
    const cost = await measureMany(join(folder, `many-${batch}`), batch);
    costs.push(cost.cpu);
    line(String(batch), cost.cpu.toFixed(0), cost.silent.toFixed(0), cost.opened.toFixed(0));
  }
  line('ratio', (costs[0] / costs[1]).toFixed(2));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
