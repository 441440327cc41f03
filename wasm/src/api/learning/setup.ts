// SPDX-License-Identifier: Apache-2.0

// Chooses settings for learning from public numbers alone: docs/math/learning.md, sections 10 and
// 13. The core computes the numbers.

import { outOfRange, type Reader, readOptions, wrongType } from '../../core/check.js';
import type { Core, CoreDefaults } from '../../core/core.js';
import { asErrorsOf } from '../../core/errors.js';
import { NEIGHBOURS } from '../../shared/defaults.js';
import type { DescentOptions, LearnerOptions, LearnPlan, LinearLoss } from '../../types/all.js';
import type { ModelInput } from '../../types/all.js';
import { ALGORITHMS } from './algorithm.js';
import { factsOfLoss, readLinearLoss } from './loss.js';

/** Default range of features if the clip norm follows from ranges. */
export const DEFAULT_RANGE = { low: -1, high: 1 };

const SETUPS = ['stream', 'table', 'unclipped'] as const;
/** The setup of each algorithm. */
const SETUP_OF = { auto: undefined, 'dp-ftrl': 'stream', 'dp-gd': 'table' } as const;

/** Reads the setup. A named algorithm implies it, unless it is 'unclipped'. */
function readSetup(reader: Reader): (typeof SETUPS)[number] {
  const algorithm = reader.oneOfOr('algorithm', ALGORITHMS);
  const own = SETUP_OF[algorithm];
  const given = reader.has('setup') ? reader.oneOf('setup', SETUPS) : (own ?? SETUPS[0]);
  if (own === undefined || given === own || given === 'unclipped') return given;
  const wanted = `'${own}' or 'unclipped' with the {algorithm} '${algorithm}'`;
  throw outOfRange(reader.where, 'setup', wanted, given);
}

/** Gives features without a range the default range. */
export function withRanges(inputs: readonly ModelInput[]): ModelInput[] {
  return inputs.map((input) => (input.low === undefined ? { ...input, ...DEFAULT_RANGE } : input));
}

/** Square of the largest slope of a loss. */
export function slopeSquared(loss: LearnerOptions['loss']): number {
  if (typeof loss !== 'object') return loss === 'squared' ? Infinity : 1;
  if ('huber' in loss) return loss.huber ** 2;
  return 'softmax' in loss ? 2 : Math.max(loss.quantile, 1 - loss.quantile) ** 2;
}

export const RATES = ['linear', 'constant'] as const;
export type Rates = (typeof RATES)[number];

/**
 * True if the model of a table consists of the latest weights, not of the mean of the later ones.
 */
export const takesLatest = ({ descent }: LearnerOptions) => descent?.rates !== undefined;

/** Descent for a table, with the requested kind of rates. */
function descentOf(
  { momentum, rates }: { momentum: number | undefined; rates: Float64Array | undefined },
  kind: Rates,
): DescentOptions | undefined {
  if (momentum === undefined || !rates) return undefined;
  return kind === 'linear' ? { momentum, rates } : { momentum };
}

/**
 * Chooses the options of a learner and the settings for learning from a table, from public numbers.
 */
export function learnPlan(core: Core, given: unknown): LearnPlan {
  const where = 'learnPlan';
  const target = ['epsilon', 'delta', 'neighbours'];
  const known = [
    'algorithm',
    'setup',
    'rates',
    'rows',
    'batchSize',
    'dimension',
    'loss',
    ...target,
  ];
  const reader = readOptions(where, given, known);
  const setup = readSetup(reader);
  const rates = reader.oneOfOr('rates', RATES);
  if (reader.has('rates') && setup !== 'table') {
    throw outOfRange(where, 'rates', "for the setup 'table'", rates);
  }
  const { batchLoss, ...loss } = readLinearLoss(reader);
  if (batchLoss) throw wrongType(where, 'loss', 'a name or an object', batchLoss);
  const [epsilon, delta] = [reader.number('epsilon'), reader.number('delta')];
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const dimension = reader.count('dimension');
  const numRows = reader.count('rows');
  const facts = { epsilon, delta, neighbours, dimension, numRows };
  const all = { setup, ...loss, ...facts, batchSize: reader.countOr('batchSize', 1) };
  const found = asErrorsOf(where, () => core.call('learnerDefaults', all));
  const same = {
    ...(reader.has('loss') && { loss: factsOfLoss(loss) as LinearLoss }),
    ...(reader.has('neighbours') && { neighbours }),
    ...{ epsilon, delta, dimension, clip: found.clip },
  };
  const moments = asErrorsOf(where, () => core.call('momentsPlan', facts));
  return {
    options: setup === 'unclipped' ? { ...same, steps: numRows } : learnerOf(same, found, rates),
    precondition: moments.isDefault,
    momentsEpsilon: moments.momentsEpsilon,
    learnerEpsilon: moments.learnerEpsilon,
  };
}

/** Adds the computed settings to the options common to all setups. */
function learnerOf<T extends object>(
  same: T,
  found: CoreDefaults,
  rates: Rates,
): T & LearnerOptions {
  const { lambda, steps, batchSize } = found;
  const isTable = found.rates !== undefined;
  const descent = descentOf(found, rates);
  return {
    ...same,
    ...{ lambda, domain: 'whole-space' as const, steps, batchSize },
    ...(isTable && { strategy: 'independent' as const, participation: { epochs: steps } }),
    ...(descent && { descent }),
  } as unknown as T & LearnerOptions;
}
