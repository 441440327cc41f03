// SPDX-License-Identifier: Apache-2.0

// Our side of compare.py: reads calls as lines of JSON, and answers each with its result and the
// processor time it took, of all threads of this process.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { load } from '../../dist/index.js';

const dp = await load();
const DIMENSION = 2 ** 20;

let rows;
const out = new Float32Array(16 * DIMENSION);
const files = new Map();

const CALLS = {
  /** An optimised strategy: its numbers, the error it states and its lower bound. */
  optimize({ problem }) {
    const { parameters, error, lowerBound } = dp.optimize(problem).result();
    return { parameters, error, lowerBound };
  },
  /** Noise multipliers of (epsilon, delta) targets. */
  calibrate({ targets }) {
    return targets.map(([epsilon, delta]) => dp.calibrate({ epsilon, delta }).noiseMultiplier);
  },
  /** Batches of 16 rows of a BLT's noise, for simulations. */
  rows({ strategy, batches }) {
    rows ??= dp.study.noise({ strategy, steps: 2 ** 20, dimension: DIMENSION });
    for (let i = 0; i < batches; ++i) rows.next(16, out);
  },
  /** Largest standard deviation of the totals of a counter. */
  counter({ problem }) {
    const counter = dp.counter(problem);
    let largest = 0;
    for (let step = 0; step < problem.steps; ++step) {
      largest = Math.max(largest, counter.stddev(step));
    }
    counter.dispose();
    return largest;
  },
  /** Compiles a file of WebAssembly; returns its size in bytes. */
  compile({ path }) {
    const bytes = files.get(path) ?? readFileSync(path);
    files.set(path, bytes);
    new WebAssembly.Module(bytes);
    return bytes.length;
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { call, ...args } = JSON.parse(line);
  const start = process.cpuUsage();
  const result = CALLS[call](args);
  const { user, system } = process.cpuUsage(start);
  console.log(JSON.stringify({ result, seconds: (user + system) * 1e-6 }));
}
