#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Builds the benchmarks, runs SSE2, native, WebAssembly and the npm package in turn, and prints one
// table or one JSON object. METHOD.md explains the figures and the keys.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measureBatches } from './clock.mjs';
import { comparisons, print } from './report.mjs';

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

const usage = `usage: npm run bench -- [--json] [--quick] [--rounds N] [--min-time SECONDS]
                        [--filter TEXT] [--long] [--builds DIR] [--no-build]
                        [--numpy PYTHON]

  --json         one JSON object instead of the table
  --quick        one round of short measurements: shows that everything runs, not how fast
  --rounds       rounds over all workloads and builds (default 9; with --quick 1)
  --min-time     CPU seconds of one measurement (default 0.1; with --quick 0.005)
  --filter       only workloads whose name contains TEXT (the baselines always run)
  --long         also the optimum at 10^6 steps: half a minute a round
  --builds       where the build folders sse2, native and wasm are (default build)
  --no-build     take what is built as it is
  --numpy        a Python that has NumPy: measures baseline N, rows of a BLT in NumPy`;

function fail(message) {
  process.stderr.write(`bench: ${message}\n`);
  process.exit(2);
}

function positiveNumber(name, text, isValid) {
  const value = Number(text);
  if (!(Number.isFinite(value) && isValid(value))) fail(`--${name} cannot be ${text}\n\n${usage}`);
  return value;
}

function readOptions() {
  let values;
  try {
    ({ values } = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        rounds: { type: 'string' },
        'min-time': { type: 'string' },
        filter: { type: 'string', default: '' },
        long: { type: 'boolean', default: false },
        builds: { type: 'string', default: 'build' },
        'no-build': { type: 'boolean', default: false },
        numpy: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }));
  } catch (error) {
    fail(`${error.message}\n\n${usage}`);
  }
  if (values.help) {
    process.stdout.write(`${usage}\n`);
    process.exit(0);
  }
  const rounds = values.rounds ?? (values.quick ? '1' : '9');
  const minTime = values['min-time'] ?? (values.quick ? '0.005' : '0.1');
  return {
    json: values.json,
    quick: values.quick,
    rounds: positiveNumber('rounds', rounds, (n) => Number.isInteger(n) && n >= 1),
    minTime: positiveNumber('min-time', minTime, (t) => t > 0 && t <= 60),
    filter: values.filter,
    long: values.long,
    builds: path.resolve(root, values.builds),
    build: !values['no-build'],
    numpy: values.numpy,
  };
}

// ---- building -------------------------------------------------------------------------------

const say = (text) => process.stderr.write(`bench: ${text}\n`);

/** Runs a command with the tools of the set-up script; shows its output only if it fails. */
function runTool(command, args) {
  const script = '[ ! -f .toolchain/env ] || . .toolchain/env; exec "$@"';
  const result = spawnSync('bash', ['-c', script, 'bench', command, ...args], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  if (result.status === 0) return;
  process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
  fail(`this failed: ${[command, ...args].join(' ')} (scripts/setup installs what a build needs)`);
}

function listBuilds({ builds }) {
  const native = (name) => ({
    name,
    target: 'dpftrl_bench',
    output: path.join(builds, name, 'bench/dpftrl_bench'),
    command: [path.join(builds, name, 'bench/dpftrl_bench'), '--benchmark_format=json'],
    nameFilter: (workload) => `^${workload}$`,
  });
  const wasm = {
    name: 'wasm',
    target: 'dpftrl_bench_wasm',
    output: path.join(builds, 'wasm/bench/dpftrl_bench_wasm.cjs'),
    command: [process.execPath, path.join(builds, 'wasm/bench/dpftrl_bench_wasm.cjs')],
    nameFilter: (workload) => workload,
  };
  const npm = {
    name: 'npm',
    output: path.join(root, 'dist/index.js'),
    command: [process.execPath, path.join(root, 'bench/npm.mjs')],
    nameFilter: (workload) => workload,
  };
  return [...(process.arch === 'x64' ? [native('sse2')] : []), native('native'), wasm, npm];
}

function makeUpToDate(build, { builds }) {
  if (build.name === 'npm') {
    say('building the package');
    return runTool('scripts/build', ['code']);
  }
  const folder = path.join(builds, build.name);
  const cache = path.join(folder, 'CMakeCache.txt');
  const configured =
    existsSync(path.join(folder, 'build.ninja')) &&
    existsSync(cache) &&
    /^DPFTRL_BENCH:\w+=ON$/m.test(readFileSync(cache, 'utf8'));
  if (!configured) {
    say(`configuring ${build.name}`);
    const preset = ['cmake', '--preset', build.name, '-B', folder, '-DDPFTRL_BENCH=ON'];
    if (build.name === 'wasm') preset.unshift('emcmake');
    runTool(preset[0], preset.slice(1));
  }
  say(`building ${build.target} (${build.name})`);
  // Emscripten's programs are CommonJS; the root package.json would make Node load them as modules.
  const marker = path.join(builds, 'package.json');
  mkdirSync(builds, { recursive: true });
  if (!existsSync(marker)) writeFileSync(marker, '{}\n');
  const jobs = String(os.availableParallelism());
  runTool('cmake', ['--build', folder, '--target', build.target, '-j', jobs]);
}

// ---- measuring ------------------------------------------------------------------------------

/** Baseline J: Box-Muller as a page would write it by hand; keeps both outputs of each pair. */
function boxMuller(out) {
  for (let i = 0; i < out.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - Math.random()));
    const angle = 2 * Math.PI * Math.random();
    out[i] = radius * Math.cos(angle);
    out[i + 1] = radius * Math.sin(angle);
  }
}

const scriptNormals = new Float64Array(2 ** 14);

/** Nanoseconds per normal of baseline J. */
function measureScript(minTime) {
  const { cpu, iterations } = measureBatches(() => boxMuller(scriptNormals), minTime);
  return (cpu / (iterations * scriptNormals.length)) * 1e9;
}

/** Nanoseconds per coordinate and step of baseline N. */
function measureNumpy(python, minTime) {
  const script = path.join(root, 'bench/numpy_blt.py');
  const result = spawnSync(python, [script, String(minTime)], { encoding: 'utf8' });
  if (result.status !== 0) fail(`${python} has no NumPy?\n${result.stderr ?? result.error}`);
  const { context, benchmarks } = JSON.parse(result.stdout);
  const [{ cpu_time, items }] = benchmarks;
  return { context, nanoseconds: cpu_time / items };
}

/** Runs the named workload of one build, or all of them if no name is given. */
function runBuild(build, minTime, name) {
  const [command, ...first] = build.command;
  const args = [...first, `--benchmark_min_time=${minTime}`];
  if (name !== undefined) args.push(`--benchmark_filter=${build.nameFilter(name)}`);
  const result = spawnSync(command, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
  if (result.status !== 0)
    fail(`${command} ended with ${result.status ?? result.error?.message}\n${result.stderr ?? ''}`);
  return JSON.parse(result.stdout);
}

/** Lists the workloads of a build, in its order, without running them. */
function listWorkloads(build) {
  const [command] = build.command;
  const result = spawnSync(command, ['--benchmark_list_tests=true'], { encoding: 'utf8' });
  if (result.status !== 0)
    fail(`${command} cannot list its workloads: ${result.stderr ?? result.error}`);
  return result.stdout.split('\n').filter((line) => line !== '');
}

function summary(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median =
    sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

const nanosecondsOf = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 };

/**
 * Workload that takes half a minute for all builds together, and a third of a gigabyte of memory in
 * each.
 */
const LONG = 'solver/optimal/1000000';

/** samples.get(workload)[build][round]: nanoseconds of CPU per item. */
function measure(builds, options) {
  const names = listWorkloads(builds[0]).filter(
    (name) =>
      name.startsWith('baseline/') ||
      (name.includes(options.filter) && (options.long || name !== LONG)),
  );
  const samples = new Map(names.map((name) => [name, {}]));
  samples.set('baseline/J', { script: [] });
  samples.set('baseline/N', { numpy: [] });
  const contexts = {};
  let numpy;
  let cpu = 0;
  let real = 0;
  for (let round = 0; round < options.rounds; ++round) {
    if (options.rounds > 1) say(`round ${round + 1} of ${options.rounds}`);
    for (const name of names) {
      // By definition, baseline S is compiled for every processor of the platform.
      const takingPart = name === 'baseline/S' ? builds.slice(0, 1) : builds;
      for (const build of takingPart) {
        const { context, benchmarks } = runBuild(build, options.minTime, name);
        const [result] = benchmarks;
        if (result === undefined) continue;
        contexts[build.name] = context;
        const scale = nanosecondsOf[result.time_unit] / result.items;
        (samples.get(name)[build.name] ??= []).push(result.cpu_time * scale);
        cpu += result.cpu_time;
        real += result.real_time;
      }
      if (name !== 'baseline/S') continue;
      samples.get('baseline/J').script.push(measureScript(options.minTime));
      if (options.numpy === undefined) continue;
      const { context, nanoseconds } = measureNumpy(options.numpy, options.minTime);
      numpy = context.compiler;
      samples.get('baseline/N').numpy.push(nanoseconds);
    }
  }
  return { samples, contexts, numpy, busy: real / cpu };
}

// ---- reporting ------------------------------------------------------------------------------

const units = [
  [/^(baseline|normals)\//, 'normal'],
  [/^chacha20$/, 'byte'],
  [/^(rows|(float|double|grid|increment)-window|(grid|increment)-row)\//, 'coordinate and step'],
  [/^learner(-step)?\//, 'coordinate and step'],
  [/^counter(-batch)?\//, 'release'],
  [/^gemm$/, 'floating-point operation'],
  [/^analysis\//, 'analysis'],
  [/^solver\//, 'solution'],
  [/^riccati\//, 'step'],
];

function unitOf(name) {
  const found = units.find(([pattern]) => pattern.test(name));
  if (!found) fail(`workload ${name} has no unit in run.mjs`);
  return found[1];
}

/** Targets: workload, figure, largest value aimed at, and the builds it applies to (else all). */
const targets = [
  ['float-window/blt/1048576', 'ratioToS', 0.15, ['native']],
  ['float-window/blt/1048576', 'ratioToJ', 0.25, ['wasm']],
  ['float-window/blt/1048576', 'wasmToNative', 1.1],
  ['grid-window/blt/1048576', 'ratioToFloat', 2.5],
  ['grid-window/blt/1048576', 'ratioToDouble', 2],
  ['grid-row/blt/1048576', 'ratioToWindow', 1.5],
  ['increment-window/blt/1048576', 'ratioToTotals', 1.3],
  ['increment-row/blt/1048576', 'ratioToTotals', 1.3],
  ['float-window/tree/1048576', 'ratioToBlt', 1.5],
  ['float-window/honaker/1048576', 'ratioToBlt', 1.5],
  ['float-window/haar/1048576', 'ratioToBlt', 1.5],
  ['float-window/banded-toeplitz/1048576', 'ratioToBlt', 1.5],
  ['float-window/banded-inverse-square-root/1048576', 'ratioToBlt', 1.5],
  ['float-window/optimal/1048576', 'ratioToBlt', 1.6],
  ['grid-window/optimal/1048576', 'ratioToBlt', 1.6],
  ['rows/optimal-8/16384', 'ratioToBlt8', 1.6],
  ['learner-step/blt/1048576', 'ratioToRow', 1.3],
  ...['float', 'double', 'grid'].map((kind) => [`${kind}-window/blt/1048576`, 'npmToWasm', 1.15]),
  ['float-window/blt/1048576', 'ratioToN', 1, ['npm']],
  ['counter-batch/blt', 'nanoseconds', 1e3 / 15, ['native']],
  ['counter-batch/blt', 'nanoseconds', 1e3 / 6, ['wasm']],
];

/** Compares the medians of measured workloads with their targets. */
function reachedOf(results) {
  return targets.flatMap(([name, figure, most, only]) => {
    const found = results.find((result) => result.name === name)?.[figure];
    if (!found) return [];
    const whole = { wasmToNative: 'wasm / native', npmToWasm: 'npm / wasm' }[figure];
    const byBuild = whole === undefined ? found : { [whole]: found };
    return Object.entries(byBuild)
      .filter(([build]) => !only || only.includes(build))
      .map(([build, { median }]) => ({ name, figure, build, most, median, met: median <= most }));
  });
}

/** Ratio per round, so that disturbances of both sides in a round cancel. */
const ratio = (above, below) => summary(above.map((value, round) => value / below[round]));

const summaries = (byBuild) =>
  Object.fromEntries(Object.entries(byBuild).map(([build, values]) => [build, summary(values)]));

function combine({ samples, contexts, numpy, busy }, options) {
  const [s] = Object.values(samples.get('baseline/S'));
  const j = samples.get('baseline/J').script;
  const n = samples.get('baseline/N').numpy;
  const results = [];
  for (const [name, byBuild] of samples) {
    if (name.startsWith('baseline/')) continue;
    const result = { name, unit: unitOf(name), nanoseconds: summaries(byBuild) };
    if (['normal', 'coordinate and step'].includes(result.unit)) {
      result.ratioToS = {};
      result.ratioToJ = {};
      for (const [build, values] of Object.entries(byBuild)) {
        result.ratioToS[build] = ratio(values, s);
        result.ratioToJ[build] = ratio(values, j);
        if (numpy !== undefined) (result.ratioToN ??= {})[build] = ratio(values, n);
      }
    }
    for (const [key, pattern, replacement] of comparisons) {
      const other = samples.get(pattern.test(name) ? name.replace(pattern, replacement) : '');
      if (!other) continue;
      result[key] = Object.fromEntries(
        Object.entries(byBuild)
          .filter(([build]) => other[build])
          .map(([build, values]) => [build, ratio(values, other[build])]),
      );
    }
    // Compares the same loops, since those for AVX2 and AVX-512 have no counterpart in WebAssembly.
    result.wasmToNative = ratio(byBuild.wasm, byBuild.sse2 ?? byBuild.native);
    if (byBuild.npm) result.npmToWasm = ratio(byBuild.npm, byBuild.wasm);
    results.push(result);
  }
  return {
    format: 'dp-ftrl-bench/1',
    date: new Date().toISOString(),
    quick: options.quick,
    rounds: options.rounds,
    minTime: options.minTime,
    machine: {
      processor: os.cpus()[0]?.model ?? 'unknown',
      cores: os.cpus().length,
      system: `${os.type()} ${os.release()}`,
      node: process.version,
      realToCpu: busy,
    },
    builds: Object.fromEntries(
      Object.entries(contexts).map(([name, { compiler, flags }]) => [name, { compiler, flags }]),
    ),
    baselines: {
      S: { nanoseconds: summary(s) },
      J: { nanoseconds: summary(j) },
      ...(numpy !== undefined && { N: { nanoseconds: summary(n), compiler: numpy } }),
      convolution: { nanoseconds: summaries(samples.get('baseline/convolution')) },
      fixedPoint: { nanoseconds: summaries(samples.get('baseline/fixed-point')) },
    },
    results,
    targets: reachedOf(results),
  };
}

const options = readOptions();
const builds = listBuilds(options);
if (options.build) for (const build of builds) makeUpToDate(build, options);
for (const { name, output } of builds)
  if (!existsSync(output)) fail(`${name} is not built; leave out --no-build`);
const report = combine(measure(builds, options), options);
if (options.json) process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
else print(report);
