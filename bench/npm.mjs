// SPDX-License-Identifier: Apache-2.0
// Times the calls of the npm package in dist/ that do the work of workloads.hpp, with the flags of
// wasm.cpp and the part of its JSON that run.mjs reads. A workload without a corresponding call,
// such as bare normals, has no result.
import { parseArgs } from 'node:util';
import { load } from '../dist/index.js';
import { measureBatches } from './clock.mjs';

const NUM_STEPS = 1024;
const NUM_ROWS = 16;
const SCALE = 2 ** 14;
const dp = await load();
const target = { steps: NUM_STEPS, epsilon: 1, delta: 1e-6 };
const insecureSeed = 1;

/** Strategy by name, with four buffers or the named number if it has buffers; not timed. */
function strategyOf(name) {
  const [, mechanism, buffers] = /^(blt|optimal)(?:-(\d+))?$/.exec(name) ?? [];
  if (mechanism === undefined) return name;
  const search = { strategy: { name: mechanism, buffers: Number(buffers ?? 4) }, steps: NUM_STEPS };
  return dp.optimize(search).result();
}

/** Options of a stream by this strategy. */
const optionsOf = (name) => ({ ...target, strategy: strategyOf(name), insecureSeed });

/**
 * Returns a function that calls `next(handle)`, and recreates the handle at its horizon, which is
 * timed, too.
 */
function batches(make, next) {
  let handle = make();
  return () => {
    if (handle.step === NUM_STEPS) {
      handle.dispose();
      handle = make();
    }
    next(handle);
  };
}

function simulated(precision, numRows, numCalls, { name, dimension }) {
  const options = { strategy: strategyOf(name), steps: NUM_STEPS, dimension, precision };
  const Rows = precision === 'float32' ? Float32Array : Float64Array;
  const out = new Rows(numRows * dimension);
  const make = () => dp.study.noise({ ...options, seed: 1 });
  const run = batches(make, (noise) => {
    for (let i = 0; i < numCalls; ++i) noise.next(numRows, out);
  });
  return { items: numRows * numCalls * dimension, run };
}

function rounded(increments, numRows, { name, dimension }) {
  const strategy = strategyOf(name);
  const options = { strategy, steps: NUM_STEPS, dimension, increments, insecureSeed };
  const out = new Float64Array(numRows * dimension);
  const run = batches(
    () => dp.noise(options),
    (noise) => {
      for (let i = 0; i < NUM_ROWS; i += numRows) noise.rounded({ numRows, scale: SCALE }, out);
    },
  );
  return { items: NUM_ROWS * dimension, run };
}

/** All rows of a mechanism that generates them in advance. */
function pregenerated({ name, dimension }) {
  const options = { strategy: name, steps: NUM_STEPS, dimension, precision: 'float64', seed: 1 };
  const out = new Float64Array(dimension);
  const run = () => {
    const noise = dp.study.noise(options);
    while (noise.step < NUM_STEPS) noise.next(1, out);
    noise.dispose();
  };
  return { items: NUM_STEPS * dimension, run };
}

function learnt({ name, dimension }, step) {
  const options = { ...optionsOf(name), dimension, radius: 1 };
  const run = batches(
    () => dp.learner(options),
    (learner) => {
      for (let i = 0; i < NUM_ROWS; ++i) step(learner);
    },
  );
  return { items: NUM_ROWS * dimension, run };
}

function learnerOf(place) {
  const features = new Float64Array(place.dimension).fill(1e-3);
  const labels = Float64Array.of(1);
  return learnt(place, (learner) => learner.learn(features, labels));
}

function counter({ name }) {
  const options = optionsOf(name);
  const run = () => {
    const visits = dp.counter(options);
    for (let t = 0; t < NUM_STEPS; ++t) visits.release(1);
    visits.dispose();
  };
  return { items: NUM_STEPS, run };
}

function counterBatch({ name, mode }) {
  const options = { ...optionsOf(name), ...(mode && { lattice: 'discrete-gaussian' }) };
  const records = new Float64Array(256).fill(1);
  const run = () => {
    const visits = dp.counter(options);
    for (let t = 0; t < NUM_STEPS; t += 256) visits.releaseMany(records);
    visits.dispose();
  };
  return { items: NUM_STEPS, run };
}

/** Counterparts by kind. Workload names are kind, mechanism, suffix, and dimension or steps. */
const KINDS = {
  'float-window': (place) => simulated('float32', NUM_ROWS, 1, place),
  'double-window': (place) => simulated('float64', NUM_ROWS, 1, place),
  rows: (place) =>
    place.dimension === 1024
      ? pregenerated(place)
      : simulated('float64', 1, place.dimension === 2 ** 20 ? 8 : 64, place),
  'grid-window': (place) => rounded(false, NUM_ROWS, place),
  'grid-row': (place) => rounded(false, 1, place),
  'increment-window': (place) => rounded(true, NUM_ROWS, place),
  'increment-row': (place) => rounded(true, 1, place),
  learner: learnerOf,
  'learner-step': (place) => learnt(place, (learner) => learner.end()),
  counter,
  'counter-batch': counterBatch,
};

function workloadOf(text) {
  const [, kind, named, size] = /^([^/]+)\/([^/]+)(?:\/(\d+))?$/.exec(text) ?? [];
  const [, name, lattice] = /^(.*?)(?:-(lattice))?$/.exec(named ?? '');
  return KINDS[kind]?.({ name, mode: lattice, dimension: Number(size) });
}

const { values } = parseArgs({
  options: {
    benchmark_filter: { type: 'string' },
    benchmark_min_time: { type: 'string', default: '0.5' },
  },
});
const workload = workloadOf(values.benchmark_filter);
const benchmarks = [];
if (workload !== undefined) {
  const { items, run } = workload;
  const { cpu, real, iterations } = measureBatches(run, Number(values.benchmark_min_time));
  const times = { cpu_time: (cpu / iterations) * 1e9, real_time: (real / iterations) * 1e9 };
  benchmarks.push({ name: values.benchmark_filter, iterations, ...times, time_unit: 'ns', items });
}
const context = {
  compiler: `dp-ftrl ${dp.version}`,
  flags: 'dist/index.js, into arrays of the caller',
};
process.stdout.write(`${JSON.stringify({ context, benchmarks })}\n`);
