// SPDX-License-Identifier: Apache-2.0

// dp-ftrl bench: measures speed on this machine, relative to a normal made from Math.random.

import type { DpFtrl, MechanismName } from '../../types/all.js';
import { load } from '../../index.js';
import type { Args, Known } from '../options/args.js';
import { StandardOutput } from '../output/output.js';
import { paragraph, table, type Column } from '../output/table.js';
import { counted } from '../../shared/counted.js';

export const options: Known = { time: 'value', json: 'flag' };

const ROUNDS = 5;
/** Most milliseconds per measurement; ten of these take five minutes. */
const MAX_TIME = 30_000;

interface Case {
  name: string;
  /** Unit of work. */
  unit: string;
  /** Does some work; returns the number of units. */
  run(): number;
}

interface Measurement {
  name: string;
  unit: string;
  /** Time of one unit, the median over rounds. */
  nanoseconds: number;
  perSecond: number;
  /** Time of one unit / time of one normal of the baseline. */
  ratio: number;
}

/** Median time of a unit in nanoseconds, after a warm-up run for compilation. */
function measure({ run }: Case, milliseconds: number): number {
  run();
  const times = Array.from({ length: ROUNDS }, () => {
    const start = performance.now();
    let units = 0;
    do units += run();
    while (performance.now() - start < milliseconds / ROUNDS);
    return ((performance.now() - start) * 1e6) / units;
  });
  return times.sort((a, b) => a - b)[ROUNDS >> 1]!;
}

/** Baseline: the usual naive normals, which are neither exact nor private. */
function boxMuller(): Case {
  const out = new Float64Array(4096);
  return {
    name: 'Math.random, Box-Muller',
    unit: 'normal',
    run() {
      for (let i = 0; i < out.length; i += 2) {
        const radius = Math.sqrt(-2 * Math.log(1 - Math.random()));
        const angle = 2 * Math.PI * Math.random();
        out[i] = radius * Math.cos(angle);
        out[i + 1] = radius * Math.sin(angle);
      }
      return out.length;
    },
  };
}

const TARGET = { epsilon: 1, delta: 1e-6 };

/** Releases records of a dimension; starts a new stream at the end of each. */
function releases(
  dp: DpFtrl,
  { mechanism, dimension, unit }: { mechanism: MechanismName; dimension: number; unit: string },
): Case {
  const numSteps = 1024;
  const make = () => dp.prefixSum({ mechanism, numSteps, dimension, ...TARGET });
  const record = new Float64Array(dimension);
  const out = new Float64Array(dimension);
  let sums = make();
  return {
    name: `release, ${mechanism}, ${counted(dimension, 'column')}`,
    unit,
    run() {
      if (sums.step === numSteps) {
        sums.dispose();
        sums = make();
      }
      sums.release(record, out);
      return unit === 'value' ? dimension : 1;
    },
  };
}

function cases(dp: DpFtrl): Case[] {
  const once = (name: string, unit: string, use: () => unknown): Case => ({
    name,
    unit,
    run() {
      use();
      return 1;
    },
  });
  const wide = { dimension: 1024, unit: 'value' };
  const narrow = { dimension: 1, unit: 'release' };
  return [
    releases(dp, { mechanism: 'independent', ...wide }),
    releases(dp, { mechanism: 'honaker', ...wide }),
    releases(dp, { mechanism: 'optimal', ...wide }),
    releases(dp, { mechanism: 'honaker', ...narrow }),
    releases(dp, { mechanism: 'optimal', ...narrow }),
    once('error, square-root, 2^16 steps', 'error', () =>
      dp.error({ mechanism: 'square-root', numSteps: 2 ** 16 }),
    ),
    once('error, honaker, 2^30 steps', 'error', () =>
      dp.error({ mechanism: 'honaker', numSteps: 2 ** 30 }),
    ),
    once('optimize, optimal, 1024 steps', 'search', () => dp.optimize({ numSteps: 1024 })),
    once('calibrate', 'calibration', () => dp.calibrate(TARGET)),
  ];
}

function describeTime(nanoseconds: number): string {
  const units: [string, number][] = [
    ['s', 1e9],
    ['ms', 1e6],
    ['us', 1e3],
    ['ns', 1],
  ];
  const [unit, size] = units.find(([, each]) => nanoseconds >= each) ?? units[3]!;
  return `${Number((nanoseconds / size).toPrecision(3))} ${unit}`;
}

const COLUMNS: Column[] = [
  { header: 'what', align: 'left', wraps: true },
  { header: 'time', align: 'right' },
  { header: 'of one', align: 'left' },
  { header: 'normals', align: 'right' },
];

function describe(measurements: readonly Measurement[], about: string): string {
  const rows = measurements.map(({ name, nanoseconds, unit, ratio }) => [
    name,
    describeTime(nanoseconds),
    unit,
    String(Number(ratio.toPrecision(3))),
  ]);
  const normals = 'the time in units of the first line, whose numbers have no guarantee';
  const note = `${about}. normals: ${normals}.`;
  return `${table(COLUMNS, rows)}\n${paragraph(note)}`;
}

export async function run(args: Args): Promise<void> {
  args.requireNoFile('bench');
  const wanted = `a number above 0 and up to ${MAX_TIME}`;
  const time = args.number('time', wanted, (ms) => ms > 0 && ms <= MAX_TIME) ?? 200;
  const dp = await load();
  const baseline = boxMuller();
  const unit = measure(baseline, time);
  const measurements = [baseline, ...cases(dp)].map((each): Measurement => {
    const nanoseconds = each === baseline ? unit : measure(each, time);
    const [perSecond, ratio] = [1e9 / nanoseconds, nanoseconds / unit];
    return { name: each.name, unit: each.unit, nanoseconds, perSecond, ratio };
  });
  const { version, platform, arch } = process;
  const about = { version: dp.version, node: version, platform, arch };
  const json = `${JSON.stringify({ ...about, measurements })}\n`;
  const words = `dp-ftrl ${dp.version}, Node ${version}, ${platform} ${arch}`;
  await new StandardOutput().write(args.has('json') ? json : describe(measurements, words));
}
