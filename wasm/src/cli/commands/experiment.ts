// SPDX-License-Identifier: Apache-2.0

// dp-ftrl experiment: reproduces results from the literature.

import { readFile } from 'node:fs/promises';
import { load } from '../../index.js';
import { Args, type Known } from '../options/args.js';
import { epochs } from '../experiments/epochs.js';
import { errorPerStep } from '../experiments/error-per-step.js';
import { errorTail } from '../experiments/error-tail.js';
import type { Experiment } from '../experiments/experiment.js';
import { learning } from '../experiments/learning.js';
import { lowerBound } from '../experiments/lower-bound.js';
import { momentum } from '../experiments/momentum.js';
import { regret } from '../experiments/regret.js';
import { parseResult, type Result } from '../experiments/result.js';
import { sgd } from '../experiments/sgd.js';
import { treeRatio } from '../experiments/tree-ratio.js';
import { plot } from '../../plot/plot.js';
import { Misuse, unknownName } from '../failure.js';
import { requireWritable, StandardOutput, writeFile } from '../output/output.js';
import { table } from '../output/table.js';

const EXPERIMENTS: Record<string, Experiment> = {
  'error-per-step': errorPerStep,
  'error-tail': errorTail,
  regret,
  'tree-ratio': treeRatio,
  sgd,
  epochs,
  momentum,
  'lower-bound': lowerBound,
  learning,
};

export const options: Known = {
  steps: 'value',
  repeats: 'value',
  result: 'value',
  plot: 'value',
  from: 'value',
  json: 'flag',
  quiet: 'flag',
};

const MAX_STEPS = 2 ** 22;

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

async function measure(args: Args): Promise<Result> {
  const [name, ...more] = args.files;
  const names = Object.keys(EXPERIMENTS);
  if (name === undefined) throw new Misuse(`give an experiment: ${names.join(', ')}`);
  if (!Object.hasOwn(EXPERIMENTS, name)) throw unknownName('experiment', name, names);
  if (more.length > 0) throw new Misuse(`give one experiment, got ${args.files.length}`);
  const { size, run } = EXPERIMENTS[name]!;
  const wanted = `a whole number from 4 to ${MAX_STEPS}`;
  const fits = (n: number) => Number.isInteger(n) && n >= 4 && n <= MAX_STEPS;
  const steps = args.number('steps', wanted, fits) ?? size.steps;
  const repeats = args.count('repeats') ?? size.repeats;
  const showsProgress = process.stderr.isTTY && !args.has('quiet');
  const work = run(await load(), { steps, repeats });
  for (let next = work.next(); ; next = work.next()) {
    if (showsProgress) process.stderr.write('\r\x1b[K');
    if (next.done) return next.value;
    if (showsProgress) {
      process.stderr.write(`dp-ftrl experiment: ${name}: ${Math.floor(100 * next.value)} %`);
    }
  }
}

async function readResult(args: Args, path: string): Promise<Result> {
  const stray = ['steps', 'repeats', 'result'].find((name) => args.has(name));
  if (args.files.length > 0 || stray !== undefined) {
    throw new Misuse('--from takes a saved result: there is nothing to measure');
  }
  return parseResult(await readFile(path, 'utf8'));
}

export async function run(args: Args): Promise<void> {
  const [resultPath, plotPath] = [args.text('result'), args.text('plot')];
  for (const option of ['result', 'plot']) await requireWritable(args.text(option), option);
  const from = args.text('from');
  const found = from === undefined ? await measure(args) : await readResult(args, from);
  const json = `${JSON.stringify(found)}\n`;
  if (resultPath !== undefined) await writeFile(resultPath, json, { option: 'result' });
  if (plotPath !== undefined) await writeFile(plotPath, plot(found), { option: 'plot' });
  await new StandardOutput().write(args.has('json') ? json : describe(found));
}
