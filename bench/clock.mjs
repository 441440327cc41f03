// SPDX-License-Identifier: Apache-2.0
// Timing loop for JavaScript, the same as in wasm.cpp.

/** Long enough for V8 to replace baseline code with optimised code. */
const WARM_UP_SECONDS = 0.1;

function timeBatches(run, iterations) {
  // CPU time of the process, so that other load on the machine does not count.
  const start = process.cpuUsage();
  const real = performance.now();
  for (let i = 0; i < iterations; ++i) run();
  const { user, system } = process.cpuUsage(start);
  return { cpu: (user + system) * 1e-6, real: (performance.now() - real) * 1e-3, iterations };
}

/** Repeats `run` for at least `minTime` CPU seconds; returns the times and iterations. */
export function measureBatches(run, minTime) {
  for (let spent = 0; spent < WARM_UP_SECONDS; ) spent += timeBatches(run, 1).cpu;
  let times = timeBatches(run, 1);
  while (times.cpu < minTime) {
    const wanted = (minTime * 1.4) / Math.max(times.cpu, 1e-9);
    const factor = times.cpu / minTime > 0.1 ? wanted : Math.min(10, wanted);
    const iterations = Math.max(times.iterations + 1, Math.round(factor * times.iterations));
    times = timeBatches(run, iterations);
  }
  return times;
}
