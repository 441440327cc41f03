// SPDX-License-Identifier: Apache-2.0

// dp-ftrl optimize: optimises a mechanism and saves it for --strategy.

import { Worker } from 'node:worker_threads';
import { load } from '../../index.js';
import type { OptimizeOptions, SavedStrategy, UnitError } from '../../types/all.js';
import type { StrategyParameters } from '../../types/streams/options.js';
import { connect } from '../../worker-client.js';
import { Misuse } from '../base/failure.js';
import { type Args, required } from '../options/args.js';
import {
  nameText,
  NAMED_STRATEGY_OPTIONS,
  PARAMETER_OPTIONS,
  readMechanism,
} from '../options/mechanism.js';
import { requireWritable, StandardOutput, writeFile } from '../output/output.js';
import { ProgressLine } from '../output/progress.js';
import { boundLabels, report } from '../output/report.js';
import {
  readQueryWeights,
  readWorkload,
  WORKLOAD_OPTION,
  workloadText,
} from '../input/workload.js';
import { HORIZON_OPTION } from '../options/horizon.js';
import { COUNT, PROBABILITY } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, OUTPUT_OPTION } from '../options/output.js';
import { PARTICIPATION_OPTIONS, participationText } from '../options/participation.js';
import { readParticipation } from '../options/participation.js';

const SOLVERS = ['exact', 'none'] as const;

export const command: Command = {
  summary: 'the best mechanism for a horizon, saved for --strategy',
  usage: '--steps N [--strategy S]',
  about:
    'Finds the parameters of an optimised mechanism and writes them as JSON, with its error, a ' +
    'certified lower bound on the error of every factorization (with three epochs and more: for ' +
    'records of several numbers), their ratio, and how the search ended. With the saved numbers, ' +
    'noise is the same bit for bit on every machine. With other parameters than --bands, --buffers ' +
    'and --objective it saves the mechanism as it is, without a search.',
  details: [
    'The search fits the workload and the participation where it can: optimal up to 2048 steps ' +
      'for any workload (beyond: prefix and decay only), with --epochs up to 1024 (the mean of ' +
      'prefix and decay: 2048); blt, banded-toeplitz and banded for any participation. Otherwise ' +
      'it is for prefix sums or for one participation, and the status is infeasible; error and ' +
      'certificates then have optimisedFor. With --epochs and more steps than that, use ' +
      'banded-toeplitz with --bands of two epochs or more, up to 4096.',
    'Dense optima take seconds at 256 steps, minutes at 1024; optimal for prefix sums ten seconds ' +
      'at 10^6 steps. For learning rates and more than 2048 steps use --objective mean, or blt. ' +
      'Saved strategies work with release, error, compare and the noise of the package. Learners ' +
      'take strategies for prefix sums. If it is interrupted (Ctrl-C), nothing is written, and the ' +
      'exit code is 130.',
  ],
  options: {
    ...HORIZON_OPTION,
    ...WORKLOAD_OPTION,
    ...PARTICIPATION_OPTIONS,
    ...NAMED_STRATEGY_OPTIONS,
    strategy: {
      heading: NAMED_STRATEGY_OPTIONS.strategy.heading,
      value: 'S',
      values: (catalogue) => catalogue.map(({ name }) => name),
      meaning:
        'optimal (default), blt, blt-normalized, blt-scaled, banded-toeplitz or banded; with ' +
        'parameters to save, any',
      brief: 'optimal (default), blt, blt-normalized, blt-scaled, banded-toeplitz or banded',
    },
    ...PARAMETER_OPTIONS,
    ...under('Search', {
      solver: {
        value: 'S',
        values: SOLVERS,
        meaning:
          'optimal: exact (default), or none: weights in closed form for prefix sums, at once, ' +
          'about 2 % above the least max error, 0.02 % above the least mean error; the status is ' +
          'stopped',
      },
      'max-iterations': {
        value: 'I',
        number: COUNT,
        meaning: 'stops after I iterations in total, over all starts; the status then says so',
      },
      gap: {
        value: 'G',
        number: PROBABILITY,
        meaning:
          'optimal: how close the bounds on the optimum must come, relative, between 0 and 1 ' +
          '(default 1e-7; with dense matrices 5e-7 for the mean, and smaller ones only, 1e-4 for ' +
          'max). Few buffers cost more than that: use --buffers exact',
      },
      'query-weights': {
        value: 'FILE',
        file: 'read',
        meaning:
          'optimal with --objective mean: a CSV column of positive weights W, one per step; error ' +
          'and bound are those of sqrt(sum W e^2 / N), e the error of a step',
      },
    }),
    ...OUTPUT_OPTION,
    output: {
      ...OUTPUT_OPTION.output,
      meaning: 'written whole or not at all; standard output then gets the report',
      brief: 'saves the mechanism, for --strategy of other commands',
    },
    ...jsonOption(
      'the saved strategy on standard output: format, version, name, steps, workload, ' +
        'participation, objective, queryWeights (if given), error, lowerBound, boundMethod, ' +
        'lowerBoundMinDimension and lowerBoundEveryDimension (where the former is not 1; as in ' +
        'error), ratio, status, iterations, parameters. Without it a report',
    ),
  },
  essentials: ['steps', 'strategy', 'objective', 'workload', 'epochs', 'output'],
  examples: [
    'dp-ftrl optimize --steps 256 --strategy blt --buffers 2',
    'dp-ftrl optimize --steps 256 --strategy tree-k --arity 4 --output tree.json',
    'dp-ftrl optimize --steps 840 --json > strategy.json && dp-ftrl release --epsilon 1 ' +
      '--delta 1e-6 --clip 1 --strategy strategy.json --columns count examples/shop_day.csv',
  ],
  run,
};

const INFEASIBLE =
  'infeasible: this mechanism has no search for what was asked, or no proof as tight; ' +
  'this is the best that it has';

function describe(saved: SavedStrategy, name: string): string {
  const { participation, ratio, objective, workload, status, queryWeights } = saved;
  return report(
    {
      ...saved,
      name,
      workload: workloadText(workload),
      participation: participationText(participation),
      gap: ratio === null ? null : ratio - 1,
      status: status === 'infeasible' ? INFEASIBLE : status,
    },
    false,
    {
      name: 'mechanism',
      steps: 'steps',
      workload: 'workload',
      participation: 'participation',
      objective: 'objective',
      error: queryWeights ? 'weighted mean error' : `${objective} error`,
      ...boundLabels(saved),
      ratio: 'error / lower bound',
      gap: 'gap',
      status: 'status',
      iterations: 'iterations',
    },
  );
}

/** Searches in a worker, so that this thread can show progress and end immediately on a signal. */
async function search(options: OptimizeOptions & { strategy: StrategyParameters }) {
  const client = connect({ worker: new Worker(new URL('./worker.js', import.meta.url)) });
  const line = new ProgressLine(`optimize: ${options.strategy.name}`);
  try {
    return await client.optimize(options, { onProgress: (progress) => line.update(progress) });
  } finally {
    line.end();
    client.terminate();
  }
}

/** Parameters fitted or kept by a search. */
const SEARCHED: readonly string[] = ['bands', 'buffers', 'objective'];

function describeError(error: UnitError, name: string): string {
  return report({ ...error, name }, false, {
    name: 'mechanism',
    numSteps: 'steps',
    workload: 'workload',
    participation: 'participation',
    maxError: 'max error',
    meanError: 'mean error (root mean square)',
    ...boundLabels(error),
  });
}

/** Writes the strategy, and a report unless the strategy goes to standard output. */
async function write(args: Args, saved: object, text: () => string): Promise<void> {
  const json = `${JSON.stringify(saved)}\n`;
  const output = args.text('output');
  if (output !== undefined) await writeFile(output, json);
  await new StandardOutput().write(args.has('json') ? json : text());
}

async function run(args: Args): Promise<void> {
  args.requireNoFile('optimize');
  const numSteps = required('steps', args.number('steps'));
  const participation = readParticipation(args);
  const workload = await readWorkload(args, numSteps);
  const solver = args.oneOf('solver', SOLVERS);
  const maxIterations = args.number('max-iterations');
  const gap = args.number('gap');
  const queryWeights = await readQueryWeights(args, numSteps);
  const output = args.text('output');
  const dp = await load();
  const strategy = readMechanism(args, dp.strategies);
  await requireWritable(output);
  const problem = { strategy, steps: numSteps, workload, participation };
  const name = nameText(strategy);
  if (Object.keys(strategy).some((each) => each !== 'name' && !SEARCHED.includes(each))) {
    const stray = ['solver', 'max-iterations', 'gap', 'query-weights'].find((it) => args.has(it));
    if (stray !== undefined) throw new Misuse(`--${stray} is for a search, and ${name} has none`);
    const error = dp.error(problem);
    return write(args, strategy, () => describeError(error, name));
  }
  const saved = await search({
    ...problem,
    solver,
    ...(maxIterations !== undefined && { maxIterations }),
    ...(gap !== undefined && { gap }),
    ...(queryWeights && { queryWeights }),
  });
  return write(args, saved, () => describe(saved, name));
}
