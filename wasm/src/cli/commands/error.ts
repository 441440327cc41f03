// SPDX-License-Identifier: Apache-2.0

// dp-ftrl error: computes the error of a mechanism at unit noise.

import { errorInPieces } from '../../api/searches.js';
import { given } from '../../core/given.js';
import { load } from '../../index.js';
import type { DpFtrl, Participation, StrategyParameters } from '../../types/all.js';
import type { PureError, StackError, UnitError } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { type Args, required } from '../options/args.js';
import { PARAMETER_OPTIONS, STRATEGY_OPTIONS } from '../options/mechanism.js';
import {
  chosenParticipation,
  otherParticipation,
  parametersOf,
  readChosen,
  requireDecoder,
} from '../options/strategy.js';
import { stepsOf, withDefault, type ChosenStrategy } from '../options/strategy.js';
import {
  readWorkloadOptions,
  readImportance,
  readWorkload,
  readWorkloads,
  WORKLOADS_OPTIONS,
} from '../input/workload.js';
import { StandardOutput } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { boundLabels, parametersText, report } from '../output/report.js';
import { counted } from '../../shared/counted.js';
import { HORIZON_OPTION } from '../options/horizon.js';
import { COUNT, POSITIVE, PROBABILITY } from '../options/numbers.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption } from '../options/output.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS, readNeighbours } from '../options/privacy.js';
import { PARTICIPATION_OPTIONS, participationText } from '../options/participation.js';

export const command: Command = {
  summary: 'error of a mechanism at unit noise',
  usage: '--steps N [--strategy S]',
  about:
    'Error of a mechanism over N steps at noise multiplier 1 and clip norm 1, with a lower bound ' +
    'for every factorization. Multiply by noise multiplier and clip norm to get the units of the ' +
    'input.',
  options: {
    ...HORIZON_OPTION,
    ...WORKLOADS_OPTIONS,
    workloads: {
      ...WORKLOADS_OPTIONS.workloads,
      meaning: `${WORKLOADS_OPTIONS.workloads.meaning}, as in dp-ftrl release. Not with --strategy, --paths`,
    },
    ...STRATEGY_OPTIONS,
    ...PARAMETER_OPTIONS,
    ...PARTICIPATION_OPTIONS,
    ...under('Privacy', {
      pure: {
        meaning:
          'errors of dp-ftrl release --pure (no delta) at --epsilon and --clip, in its units. Not ' +
          'with --workload, --strategy, --paths',
      },
      epsilon: { ...PRIVACY_OPTIONS.epsilon, meaning: 'with --pure' },
      clip: { value: 'C', number: POSITIVE, meaning: 'with --pure: clip norm (default 1)' },
    }),
    ...NEIGHBOURS_OPTION,
    neighbours: {
      ...NEIGHBOURS_OPTION.neighbours,
      meaning: 'zero-out (default) or replace-one, which doubles sensitivity, errors and bound',
    },
    ...under('Bounds on all steps', {
      beta: {
        value: 'B',
        number: PROBABILITY,
        meaning:
          'also bounds on the errors of all steps at once, exceeded with probability B at most: ' +
          'upper bounds on the noise, without the rounding of a release to its grid. With ' +
          '--workloads each has its own bound, and all hold together; with --pure it is the union ' +
          'bound over the exact tails, rounding included',
        brief: 'also bounds on all steps at once, exceeded with probability B',
      },
      dimension: {
        value: 'D',
        number: COUNT,
        meaning: 'with --beta: entries of a record, all of which must keep to it (default 1)',
      },
      paths: {
        value: 'N',
        number: COUNT,
        meaning:
          'with --beta: also a level from N simulated streams of noise, mostly lower; over the ' +
          'seeds it is too low with probability at most 1e-6. 20000 is usual, and fewer than ' +
          '14 D / B find no level',
      },
      seed: { value: 'S', meaning: 'with --paths: seed of the simulated noise (default 0)' },
    }),
    ...jsonOption(
      'mechanism, parameters (as given), steps, workload, participation, maxParticipations, ' +
        "separation (of a user's steps), neighbours, sensitivity, sensitivityExactness, " +
        'sensitivityMethod, maxError, meanError, objective, lowerBound (on the error of the ' +
        'objective, of every factorization with Gaussian noise), boundMethod, ' +
        'lowerBoundMinDimension (the least dimension of records for which it holds), ' +
        'lowerBoundEveryDimension (one for all records), ratio and gap (of that error to the ' +
        'bound), decoderResidual, residualSteps, effectiveParameters (chosen ones included), ' +
        'optimisedFor (if the mechanism was optimised for another participation, its name); with ' +
        '--normalize also raisedByNormalizing: the error of the objective is larger than without; ' +
        'with --beta also beta, dimension, simultaneousError (of every entry at every step), ' +
        'simultaneousMethod (neighbours or product), simultaneousUnion (by the union bound), ' +
        'simultaneousNorm (l2-norm of a step), frobeniusError (norm of all errors), frobeniusRms ' +
        '(root of the expectation of its square); with --paths also simultaneousSampled (or null), ' +
        'simultaneousPaths, simultaneousRisk. With --workloads no bounds but lowerBound, and ' +
        'workloads: of each workload, maxError, meanError, with --beta simultaneousError, ' +
        'simultaneousMethod, simultaneousNorm. With --pure also epsilon, clipNorm, and ' +
        'simultaneousMethod is union; no bounds, no norms',
    ),
  },
  essentials: ['steps', 'strategy', 'workload', 'epochs', 'beta', 'json'],
  examples: [
    'dp-ftrl error --steps 1024 --strategy honaker',
    'dp-ftrl error --steps 1024 --beta 0.05 --dimension 3 --paths 20000',
    'dp-ftrl error --steps 1024 --strategy tree-k --arity 4 --epochs 4 --json',
    'dp-ftrl error --steps 365 --workloads total=prefix,week=window:7 --beta 0.05',
    'dp-ftrl error --steps 365 --pure --epsilon 1 --beta 0.05',
  ],
  run,
};

/** Rows of the report with bounds that hold for all steps simultaneously. */
function simultaneousLabels(
  { simultaneousMethod, simultaneousSampled, simultaneousPaths, dimension }: UnitError,
  beta: number,
): Record<string, string> {
  const beyond = `except with probability ${beta}`;
  const from = simultaneousMethod === 'product' ? 'product bound' : 'neighbouring rows';
  return {
    simultaneousError: `bound on errors, ${beyond} (${from})`,
    simultaneousUnion: 'the same by the union bound',
    ...(simultaneousSampled !== undefined && {
      simultaneousSampled: `the same from ${simultaneousPaths} simulated streams`,
    }),
    ...(dimension !== 1 && { simultaneousNorm: `bound on the norm of every step, ${beyond}` }),
    frobeniusError: `bound on the Frobenius norm of all errors, ${beyond}`,
    frobeniusRms: 'Frobenius norm, root mean square',
  };
}

/** Reads the options for bounds that hold for all steps simultaneously. */
function readTogether(args: Args) {
  const beta = args.number('beta');
  const dimension = args.number('dimension');
  const numPaths = args.number('paths');
  const seed = args.seed();
  if (dimension !== undefined) required('beta', beta, 'dimension');
  if (numPaths !== undefined) required('beta', beta, 'paths');
  if (seed !== undefined) required('paths', numPaths, 'seed');
  return given({ beta, dimension, numPaths, seed });
}

/** Labels common to all error reports. */
const PROBLEM_LABELS = {
  steps: 'steps',
  workload: 'workload',
  participation: 'participation',
  neighbours: 'neighbours',
};

/** Settings read from the options. */
interface ErrorRequest {
  args: Args;
  chosen: ChosenStrategy;
  participation: Participation;
  numSteps: number;
}

function refuse(args: Args, names: readonly string[], instead: string): void {
  const stray = names.find((name) => args.has(name));
  if (stray !== undefined) throw new Misuse(`--${stray} does not go with ${instead}`);
}

/** Refuses a strategy from a file that is not a name with parameters. */
function refuseFile({ saved, strategy, name }: ChosenStrategy, instead: string): void {
  if (saved || 'encoder' in strategy)
    throw new Misuse(`${instead} does not go with a saved strategy, got ${name}`);
}

/** Formats an error as JSON, or as a report in which `words` replaces some of the entries. */
function told(
  { args, chosen, participation }: Omit<ErrorRequest, 'numSteps'>,
  error: PureError | StackError,
  { words, labels }: { words: Record<string, unknown>; labels: Record<string, string> },
): string {
  const { mechanism, numSteps: steps, ...rest } = error;
  const result = { mechanism, parameters: parametersOf(chosen), steps, ...rest };
  if (args.has('json')) return report(result, true, labels);
  return report(
    { ...result, participation: participationText(participation), ...words },
    false,
    labels,
  );
}

/** Reports the error of totals with pure differential privacy, in the units of --clip. */
function pureReport(dp: DpFtrl, { args, chosen, participation, numSteps }: ErrorRequest): string {
  refuseFile(chosen, '--pure');
  refuse(args, ['workload', 'workloads', 'paths', 'seed'], '--pure');
  const error = dp.error({
    epsilon: required('epsilon', args.number('epsilon'), 'pure'),
    delta: 0,
    ...given({ clip: args.number('clip') }),
    strategy: chosen.strategy as { name: 'tree-k' },
    steps: numSteps,
    participation,
    neighbours: readNeighbours(args),
    ...readTogether(args),
  });
  return told({ args, chosen, participation }, error, {
    words: { made: parametersText(error.effectiveParameters) },
    labels: {
      mechanism: 'mechanism',
      made: 'its parameters',
      ...PROBLEM_LABELS,
      epsilon: 'epsilon, no delta',
      clipNorm: 'clip norm, l1',
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      maxError: 'max error, in its units',
      meanError: 'mean error (root mean square)',
      ...(error.beta !== undefined && {
        simultaneousError: `bound on errors, except with probability ${error.beta} (union bound)`,
      }),
    },
  });
}

/** Rows of the report for each of several workloads, with unique keys. */
function workloadRows(
  { workloads, beta }: StackError,
  names: readonly string[],
): [key: string, label: string, value: number][] {
  return workloads.flatMap(({ maxError, meanError, simultaneousError }, i) => {
    const rows: [string, number | undefined][] = [
      ['max error', maxError],
      ['mean error', meanError],
      [`bound on errors, except with probability ${beta} overall`, simultaneousError],
    ];
    const named = rows.filter((row): row is [string, number] => row[1] !== undefined);
    return named.map(([label, value]): [string, string, number] => {
      return [`${names[i]} ${label}`, `${names[i]}: ${label}`, value];
    });
  });
}

/** Reports the errors of several workloads that are released together. */
async function stackReport(
  dp: DpFtrl,
  { args, chosen: read, participation, numSteps }: ErrorRequest,
): Promise<string> {
  refuseFile(read, '--workloads');
  refuse(args, ['paths', 'seed'], '--workloads');
  const { texts, names } = readWorkloadOptions(args);
  const workloads = await readWorkloads(texts, numSteps);
  const chosen = withDefault(read, { numSteps, workloads });
  const error = dp.error({
    workloads,
    ...given({ importance: readImportance(args) }),
    strategy: chosen.strategy as StrategyParameters,
    steps: numSteps,
    participation,
    neighbours: readNeighbours(args),
    ...readTogether(args),
  });
  const rows = workloadRows(error, names!);
  return told({ args, chosen, participation }, error, {
    words: {
      mechanism: chosen.name,
      ...Object.fromEntries(rows.map(([key, , value]) => [key, value])),
    },
    labels: {
      mechanism: 'mechanism',
      ...PROBLEM_LABELS,
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      maxError: 'max error, over all',
      meanError: 'mean error, weighted',
      ...Object.fromEntries(rows.map(([key, label]) => [key, label])),
      lowerBound: 'lower bound on the mean error',
      ratio: 'mean error / lower bound',
    },
  });
}

function refuseWithoutPure(args: Args): void {
  const stray = ['epsilon', 'clip'].find((name) => args.has(name));
  if (stray === undefined) return;
  throw new Misuse(
    `--${stray} needs --pure: other errors are at noise multiplier 1 and clip norm 1`,
  );
}

async function run(args: Args): Promise<void> {
  args.requireNoFile('error');
  const neighbours = readNeighbours(args);
  const dp = await load();
  const chosen = await readChosen(args, dp.strategies);
  const { strategy, saved } = chosen;
  const participation = chosenParticipation(args, chosen);
  const wanted = stepsOf(args, chosen);
  const steps = saved ? wanted! : required('steps', wanted);
  const asked = { args, chosen, participation, numSteps: steps };
  const output = new StandardOutput();
  if (args.has('pure')) return output.write(pureReport(dp, asked));
  refuseWithoutPure(args);
  if (args.has('workloads')) return output.write(await stackReport(dp, asked));
  readImportance(args);
  const together = readTogether(args);
  const { beta } = together;
  const workload = await readWorkload(args, steps);
  await requireDecoder(args.text('decoder'), chosen, [workload]);
  const options = {
    strategy,
    steps,
    ...((args.has('workload') || !saved) && { workload }),
    participation,
    neighbours,
    ...together,
  };
  const error = await watch(errorInPieces(dp, options), new ProgressLine(`error: ${chosen.name}`));
  const { mechanism: name, numSteps, ...rest } = error;
  const optimisedFor = otherParticipation(participation, chosen) ?? error.optimisedFor;
  const other = optimisedFor !== undefined && { optimisedFor };
  const result = {
    mechanism: name,
    parameters: parametersOf(chosen),
    steps: numSteps,
    ...rest,
    ...other,
  };
  const words = {
    mechanism: chosen.name,
    participation: participationText(participation),
    made: parametersText(error.effectiveParameters),
    raisedByNormalizing: 'they raise this error: without --normalize it is smaller',
  };
  const json = args.has('json');
  await output.write(
    report(json ? result : { ...result, ...words }, json, {
      mechanism: 'mechanism',
      ...(words.made !== '' && { made: 'its parameters' }),
      ...PROBLEM_LABELS,
      ...(other && { optimisedFor: 'optimised for' }),
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      sensitivityMethod: 'sensitivity from',
      maxError: 'max error',
      meanError: 'mean error (root mean square)',
      ...(beta !== undefined && simultaneousLabels(error, beta)),
      ...boundLabels(error),
      ...(error.raisedByNormalizing && { raisedByNormalizing: 'normalised columns' }),
      ratio: `${error.objective} error / lower bound`,
      gap: 'gap',
      decoderResidual: `max |A - B C|, first ${counted(error.residualSteps, 'step')}`,
    }),
  );
}
