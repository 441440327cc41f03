// SPDX-License-Identifier: Apache-2.0

// Reads the options of dp-ftrl learn and checks their combination.

import { DOMAINS } from '../../../api/learning/loss.js';
import { RATES, type Rates } from '../../../api/learning/setup.js';
import { given } from '../../../core/given.js';
import type { DpFtrl, LatticeNoise, Participation } from '../../../types/all.js';
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
import { chosenParticipation, whatIsProtected, type Chosen } from '../../options/strategy.js';
import { warn } from '../../output/notices.js';
import { Budget } from '../../state/budget.js';
import { readState } from '../../state/state-file.js';
import { passesOf, setupOf, type Setup } from './defaults.js';
import { ALL_LOSSES, AVERAGES, THROUGH } from './options.js';
import { readPenalty } from './penalty.js';
import { readWhole } from './whole-options.js';

const LABEL = '--label names the column to predict from the others';

/** Reads the loss and the options that are specific to one loss. */
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

/** Whether --rates is a name instead of numbers. */
const namesRates = (args: Args) => RATES.some((name) => name === args.text('rates'));

/** Reads the options of gradient descent, or undefined for FTRL. */
function readDescent(args: Args) {
  const stray = ['momentum', 'momentum-through', 'rates'].find((name) => args.has(name));
  if (!args.has('descent')) {
    if (stray === 'rates' && namesRates(args)) return undefined;
    if (stray !== undefined) throw new Misuse(`--${stray} needs --descent`);
    return undefined;
  }
  return {
    momentum: args.number('momentum') ?? 0,
    ...(args.has('rates') && { rates: args.numbers('rates')! }),
    ...(args.has('momentum-through') && {
      through: args.oneOf('momentum-through', THROUGH),
    }),
  };
}

/** @throws Misuse for options that reveal data without --show-nonprivate. */
function requireShown(args: Args): void {
  if (args.has('ranges-from-data') && !args.has('show-nonprivate')) {
    throw new Misuse('--ranges-from-data reveals data: it needs --show-nonprivate');
  }
}

/** Reads the kind of model and how it is learned, leaving defaults to the library. */
function readLearner(args: Args, batchSize: number) {
  const { loss, ...parameters } = readLoss(args);
  const { mode, how }: { mode: string; how: { latticeNoise?: LatticeNoise } } = readMode(args);
  const descent = readDescent(args);
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
  return { target, mode };
}

type Average = (typeof AVERAGES)[number];

/** Reads the schedule of the learning rate that is chosen for a table. */
function readRates(args: Args, setup: Setup | undefined): Rates | undefined {
  const isNamed = !args.has('descent') && namesRates(args);
  if (setup === 'table') return isNamed ? args.oneOf('rates', RATES) : undefined;
  if (!isNamed) return undefined;
  const what = 'is for the rate that is chosen for a FILE without --clip';
  throw new Misuse(`--rates ${args.text('rates')} ${what}`);
}

/** Returns the default of --average. */
function usualAverage(setup: Setup | undefined, rates: Rates | undefined): Average {
  if (setup === undefined) return 'all';
  return setup === 'table' && rates !== 'constant' ? 'last' : 'tail';
}

/** Reads which weights form the model; the regret theorem is about the average of all. */
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
  const state = readState(args);
  const { target, mode } = readLearner(args, batchSize);
  const setup = setupOf((name) => args.has(name), {
    loss: target.loss,
    isFile: args.files.length > 0,
    mechanismOptions: Object.keys({ ...STRATEGY_OPTIONS, ...PARTICIPATION_OPTIONS }),
  });
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
    budget: Budget.read(args),
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
  };
}

export type Settings = ReturnType<typeof readSettings>;

/** Reads the participation pattern. */
export function readPattern(
  args: Args,
  chosen: Chosen,
  { batchSize, passes }: Settings,
): Participation {
  const other = Object.keys(PARTICIPATION_OPTIONS).find((name) => args.has(name));
  if (passes > 1 && other !== undefined) {
    throw new Misuse(`--passes says when a row recurs: not with --${other}`);
  }
  const participation = passes > 1 ? { epochs: passes } : chosenParticipation(args, chosen);
  if (passes === 1 && batchSize > 1 && participation !== 'single') {
    throw new Misuse('--batch protects one row: not with --epochs or --participations');
  }
  const warning = whatIsProtected(participation, chosen);
  if (warning !== undefined) warn('learn', warning);
  return participation;
}
