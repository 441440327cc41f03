// SPDX-License-Identifier: Apache-2.0

// npm run experiment: reproduces known results on private sums and private learning, prints the
// measurements, beside what a formula predicts if there is one, and draws them. Data are synthetic
// (except for dp-sgd) and seeds are fixed, so that the same run gives the same numbers.

import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { table } from '../../wasm/src/cli/output/table.ts';
import { plot } from '../../wasm/src/plot/plot.ts';
import type { DpFtrl } from '../../wasm/src/types/all.ts';
import { dpSgd } from './dp-sgd.ts';
import { epochs } from './epochs.ts';
import { errorPerStep } from './error-per-step.ts';
import { errorTail } from './error-tail.ts';
import type { Experiment, Size } from './experiment.ts';
import { learning } from './learning.ts';
import { lowerBound } from './lower-bound.ts';
import { momentum } from './momentum.ts';
import { regret } from './regret.ts';
import type { Result } from './result.ts';
import { sgd } from './sgd.ts';
import { treeRatio } from './tree-ratio.ts';

export { plot };

const EXPERIMENTS: Record<string, Experiment> = {
  'error-per-step': errorPerStep,
  'error-tail': errorTail,
  regret,
  'tree-ratio': treeRatio,
  sgd,
  'dp-sgd': dpSgd,
  epochs,
  momentum,
  'lower-bound': lowerBound,
  learning,
};

const MAX_STEPS = 2 ** 22;

function usage(): string {
  const names = Object.entries(EXPERIMENTS).map(
    ([name, { summary }]) => `  ${name.padEnd(15)} ${summary}\n`,
  );
  return (
    'usage: npm run experiment NAME -- [--steps N] [--repeats R] [--json] [--plot FILE.svg]\n\n' +
    `${names.join('')}\n` +
    '  --steps N       horizon; the longest one, or for epochs the length of a pass\n' +
    '  --repeats R     runs with different seeds, or amount of noise to measure\n' +
    '  --json          prints all numbers as JSON\n' +
    '  --plot FILE     writes the picture\n'
  );
}

function describe({ title, findings }: Result): string {
  const show = (value: number | undefined) =>
    value === undefined ? '' : String(Number(value.toPrecision(5)));
  const rows = findings.map(({ what, value, expected }) => [what, show(value), show(expected)]);
  const columns = [
    { header: title, align: 'left', wraps: true },
    { header: 'found', align: 'right' },
    { header: 'expected', align: 'right' },
  ] as const;
  return table(columns, rows);
}

interface Sizing {
  steps?: Size['steps'] | undefined;
  repeats?: Size['repeats'] | undefined;
  /** Called with the completed fraction. */
  progress?: (fraction: number) => void;
}

/** Runs an experiment, at its own size if none is given. */
export function measure(
  dp: DpFtrl,
  name: string,
  { steps, repeats, progress }: Sizing = {},
): Result {
  const { size, run } = EXPERIMENTS[name]!;
  const work = run(dp, { steps: steps ?? size.steps, repeats: repeats ?? size.repeats });
  for (let next = work.next(); ; next = work.next()) {
    if (next.done) return next.value;
    progress?.(next.value);
  }
}

function wholeNumber(name: string, text: string | undefined, [low, high]: [number, number]) {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value >= low && value <= high) return value;
  throw new RangeError(`--${name} must be a whole number from ${low} to ${high}, got ${text}`);
}

/** Runs the program; returns its exit code. */
export async function main(load: () => Promise<DpFtrl>, args: string[]): Promise<number> {
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        steps: { type: 'string' },
        repeats: { type: 'string' },
        plot: { type: 'string' },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
    });
    const [name, ...more] = positionals;
    if (values.help || name === undefined || more.length > 0 || !Object.hasOwn(EXPERIMENTS, name)) {
      (values.help ? process.stdout : process.stderr).write(usage());
      return values.help ? 0 : 2;
    }
    const found = measure(await load(), name, {
      steps: wholeNumber('steps', values.steps, [4, MAX_STEPS]),
      repeats: wholeNumber('repeats', values.repeats, [1, 2 ** 31]),
      progress: (fraction) => {
        if (process.stderr.isTTY)
          process.stderr.write(`\r${name}: ${Math.floor(100 * fraction)} % `);
      },
    });
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
    if (values.plot !== undefined) await writeFile(values.plot, plot(found));
    process.stdout.write(values.json ? `${JSON.stringify(found)}\n` : describe(found));
    return 0;
  } catch (error) {
    process.stderr.write(`experiment: ${(error as Error).message}\n`);
    return 2;
  }
}
