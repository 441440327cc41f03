// SPDX-License-Identifier: Apache-2.0

// Reads the options of dp-ftrl learn and checks their combination.

import { ALGORITHMS } from '../../../api/learning/algorithm.js';
import { DOMAINS } from '../../../api/learning/loss.js';
import { RATES, type Rates } from '../../../api/learning/setup.js';
import { given } from '../../../core/given.js';
import type { Algorithm, DpFtrl, LatticeNoise, Participation } from '../../../types/all.js';
import { PlotFile } from '../../charts/file.js';
import { formatOf, inputFormat } from '../../input/format.js';
import { Missing } from '../../input/missing.js';
import { requireAll } from '../../input/needed.js';
import { Misuse } from '../../base/failure.js';
import { required, type Args } from '../../options/args.js';
import { STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { readMode } from '../../options/mode.js';
import { PARTICIPATION_OPTIONS } from '../../options/participation.js';
import { readNeighbours, readPrivacy } from '../../options/privacy.js';
import {
  chosenParticipation,
  whatIsProtected,
  type ChosenStrategy,
} from '../../options/strategy.js';
import { warn } from '../../output/notices.js';
import { SharedBudget } from '../../state/budget.js';
import { readState } from '../../state/state-file.js';
import { passesOf, setupOf, type Setup } from './defaults.js';
import { ALL_LOSSES, AVERAGES, THROUGH } from './options.js';
import { readPenalty } from './penalty.js';
import { readWhole } from './whole-options.js';

const LABEL = '--label names the column to predict from the others';

/** Reads the loss and the options that belong to a particular loss. */
function readLoss(args: Args) {
  const loss = args.oneOf('loss', ALL_LOSSES);
  const only = { quantile: 'quantile', 'huber-threshold': 'huber', classes: 'softmax' };
  for (const [name, wanted] of Object.entries(only)) {
    if (wanted !== loss && args.has(name)) throw new Misuse(`--${name} needs --loss ${wanted}`);
  }
  return {
    loss,
    quantile: args.number('quantile'),
    huberThreshold: args.number('huber-threshold'),
    numClasses:
      loss === 'softmax' ? required('classes', args.number('classes'), 'loss softmax') : undefined,
  };
}

const OF_DESCENT = ['momentum', 'momentum-through', 'rates'];

/** Whether --rates names a schedule instead of listing numbers. */
const namesRates = (args: Args) => RATES.some((name) => name === args.text('rates'));

/**
 * Reads the options of gradient descent; undefined for FTRL, or if they are chosen automatically.
 */
function readDescent(args: Args, algorithm: Algorithm, setup: Setup | undefined) {
  const stray = OF_DESCENT.find((name) => args.has(name));
  if (algorithm !== 'dp-gd') {
    if (stray === undefined || (stray === 'rates' && namesRates(args))) return undefined;
    throw new Misuse(`--${stray} needs --algorithm dp-gd`);
  }
  if (setup === 'table') return undefined;
  return {
    momentum: args.number('momentum') ?? 0,
    ...(args.has('rates') && !namesRates(args) && { rates: args.numbers('rates')! }),
    ...(args.has('momentum-through') && {
      through: args.oneOf('momentum-through', THROUGH),
    }),
  };
}

/**
 * @throws Misuse for --ranges-from-data without --show-nonprivate, and for any option that reveals
 *   data in a dry run.
 */
function requireShown(args: Args): void {
  const revealing = ['ranges-from-data', 'show-nonprivate', 'test'].find((name) => args.has(name));
  if (revealing !== undefined && args.has('dry-run')) {
    throw new Misuse(`--${revealing} reads values: it does not go with --dry-run`);
  }
  if (args.has('ranges-from-data') && !args.has('show-nonprivate')) {
    throw new Misuse('--ranges-from-data reveals data: it needs --show-nonprivate');
  }
}

/** Reads the kind of model and how it is learned; leaves defaults to the library. */
function readLearner(args: Args, batchSize: number) {
  const { loss, ...parameters } = readLoss(args);
  const algorithm = args.oneOf('algorithm', ALGORITHMS);
  const setup = setupOf((name) => args.has(name) && !(name === 'rates' && namesRates(args)), {
    algorithm,
    loss,
    isFile: args.files.length > 0,
    mechanismOptions: Object.keys({ ...STRATEGY_OPTIONS, ...PARTICIPATION_OPTIONS }),
  });
  const { mode, how }: { mode: string; how: { latticeNoise?: LatticeNoise } } = readMode(args);
  const descent = readDescent(args, algorithm, setup);
  const radius = args.number('radius');
  const lambda = args.number('regularisation');
  const target = {
    ...readPrivacy(args),
    ...given({ clip: args.number('clip') }),
    neighbours: readNeighbours(args),
    loss,
    domain: args.oneOf('domain', DOMAINS),
    doubling: args.has('doubling'),
    batchSize,
    ...(how.latticeNoise && { lattice: how.latticeNoise }),
    ...given({ ...parameters, descent, radius, lambda }),
  };
  return { target, mode, setup };
}

type Average = (typeof AVERAGES)[number];

/** Reads the name of a learning-rate schedule, which only a rate chosen for a table has. */
function readRates(args: Args, setup: Setup | undefined): Rates | undefined {
  const isNamed = namesRates(args);
  if (setup === 'table') return isNamed ? args.oneOf('rates', RATES) : undefined;
  if (!isNamed) return undefined;
  const what = 'is for the rate that is chosen for a FILE without --clip';
  throw new Misuse(`--rates ${args.text('rates')} ${what}`);
}

/** Default of --average. */
function usualAverage(setup: Setup | undefined, rates: Rates | undefined): Average {
  if (setup === undefined) return 'all';
  return setup === 'table' && rates !== 'constant' ? 'last' : 'tail';
}

/** Reads which weights form the model. The regret theorem is about the average of all weights. */
function readAverage(args: Args, usual: Average): Average {
  const average = args.oneOf('average', AVERAGES, usual);
  if (average === 'tail' && args.has('state')) {
    throw new Misuse('--average tail does not go with --state, which keeps the average of all');
  }
  return average;
}

/** Reads the file on which the model is evaluated. */
function readTest(args: Args) {
  const file = args.text('test');
  if (file === undefined) return undefined;
  return {
    file,
    format: formatOf('learn', args, 'test'),
    missing: Missing.read(args, { areSteps: false }),
  };
}

export function readSettings(dp: DpFtrl, args: Args) {
  requireAll(args, { epsilon: '1', delta: '1e-6', label: 'NAME' }, { label: LABEL });
  requireShown(args);
  if (args.text('missing') === 'skip' && args.has('show-nonprivate')) {
    throw new Misuse(
      '--missing skip does not go with --show-nonprivate, which measures on every row',
    );
  }
  const batchSize = args.number('batch') ?? 1;
  const state = readState(args, dp.strategies);
  const { target, mode, setup } = readLearner(args, batchSize);
  const passes = args.number('passes') ?? passesOf(dp, setup, target);
  if (state && passes > 1) {
    const instead = 'for rows that recur in a later run give --epochs';
    throw new Misuse(`--state does not go with --passes; ${instead}`);
  }
  const rates = readRates(args, setup);
  return {
    target,
    mode,
    setup,
    rates,
    penalty: readPenalty(args),
    whole: readWhole(args, setup),
    average: readAverage(args, state ? 'all' : usualAverage(setup, rates)),
    batchSize,
    label: args.text('label')!,
    passes,
    state,
    intercept: !args.has('no-intercept'),
    budget: SharedBudget.read(args),
    seed: args.seed(),
    fromData: args.has('ranges-from-data'),
    showTrue: args.has('show-nonprivate'),
    test: readTest(args),
    format: inputFormat('learn', args),
    missing: Missing.read(args, { areSteps: true }),
    model: args.text('model'),
    plot: PlotFile.read(args),
    json: args.has('json'),
    quiet: args.has('quiet'),
    isDry: args.has('dry-run'),
  };
}

export type LearnSettings = ReturnType<typeof readSettings>;

export function readPattern(
  args: Args,
  chosen: ChosenStrategy,
  { batchSize, passes }: LearnSettings,
): Participation {
  const other = Object.keys(PARTICIPATION_OPTIONS).find((name) => args.has(name));
  if (passes > 1 && other !== undefined) {
    throw new Misuse(`--passes says when a row recurs: not with --${other}`);
  }
  const participation = passes > 1 ? { epochs: passes } : chosenParticipation(args, chosen);
  if (passes === 1 && batchSize > 1 && participation !== 'once') {
    throw new Misuse('--batch protects one row: not with --epochs or --participations');
  }
  const warning = whatIsProtected(participation, chosen);
  if (warning !== undefined) warn('learn', warning);
  return participation;
}
