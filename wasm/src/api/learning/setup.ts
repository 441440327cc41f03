// SPDX-License-Identifier: Apache-2.0

// Default settings of a learner, from public numbers alone: docs/math/learning.md, section 10. The
// core computes the numbers.

import { optionsOf, outOfRange, wrongType } from '../../core/check.js';
import type { Core } from '../../core/core.js';
import { asErrorsOf } from '../../core/errors.js';
import { NEIGHBOURS } from '../../shared/defaults.js';
import type { DescentOptions, LearnerOptions, ModelInput } from '../../types/all.js';
import { readOptions } from '../options.js';
import { readLearnerLoss } from './loss.js';

/** Default range of features if the clip norm follows from ranges. */
export const DEFAULT_RANGE = { low: -1, high: 1 };

const SETUPS = ['stream', 'table', 'unclipped'] as const;
const OF_LOSS = ['loss', 'numClasses', 'quantile', 'huberThreshold'] as const;
const TARGET = ['epsilon', 'delta', 'neighbours'] as const;

/** Returns the features, with the default range where they have none. */
export function withRanges(inputs: readonly ModelInput[]): ModelInput[] {
  return inputs.map((input) => (input.low === undefined ? { ...input, ...DEFAULT_RANGE } : input));
}

/** Returns the square of the largest slope that a loss can have. */
export function slopeSquared({
  loss,
  quantile = 0.5,
  huberThreshold = 1,
}: Pick<LearnerOptions, 'loss' | 'quantile' | 'huberThreshold'>): number {
  switch (loss) {
    case 'squared':
      return Infinity;
    case 'huber':
      return huberThreshold ** 2;
    case 'quantile':
      return Math.max(quantile, 1 - quantile) ** 2;
    case 'softmax':
      return 2;
    default:
      return 1;
  }
}

export const RATES = ['linear', 'constant'] as const;
export type Rates = (typeof RATES)[number];

/** True if the model of a table is the latest weights, not the mean of the later ones. */
export const takesLatest = ({ descent }: LearnerOptions) => descent?.rates !== undefined;

/** Returns the descent chosen for a table, with the wanted kind of rates. */
function descentOf(
  { momentum, rates }: { momentum: number | undefined; rates: Float64Array | undefined },
  kind: Rates,
): DescentOptions | undefined {
  if (momentum === undefined || !rates) return undefined;
  return kind === 'linear' ? { momentum, rates } : { momentum };
}

/** Returns options of a learner: those given, and those that follow from them. */
export function learnerDefaults(core: Core, options: unknown): LearnerOptions {
  const where = 'learnerDefaults';
  const given = [...OF_LOSS, ...TARGET];
  const known = ['setup', 'rates', 'numRows', 'batchSize', 'dimension', ...given];
  const reader = readOptions(where, options, known);
  const setup = reader.oneOfOr('setup', SETUPS);
  const rates = reader.oneOfOr('rates', RATES);
  if (reader.has('rates') && setup !== 'table') {
    throw outOfRange(where, 'rates', "for the setup 'table'", rates);
  }
  if (typeof reader.raw('loss') === 'function') {
    throw wrongType(where, 'loss', 'a name', reader.raw('loss'));
  }
  const { loss, numClasses, quantile, huberThreshold } = readLearnerLoss(reader);
  const [epsilon, delta] = [reader.number('epsilon'), reader.number('delta')];
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const dimension = reader.count('dimension');
  const numRows = reader.count('numRows');
  const batchSize = reader.countOr('batchSize', 1);
  const facts = {
    ...{ setup, loss, numClasses, quantile, huberThreshold, epsilon, delta, neighbours },
    ...{ dimension, numRows, batchSize },
  };
  const found = asErrorsOf(where, () => core.call('learnerDefaults', facts));
  const same = optionsOf(reader, given);
  const { clipNorm, lambda, numSteps } = found;
  const descent = descentOf(found, rates);
  if (setup === 'unclipped') return { ...same, dimension, clipNorm } as LearnerOptions;
  return {
    ...same,
    dimension,
    clipNorm,
    lambda,
    domain: 'whole-space',
    numSteps,
    batchSize: found.batchSize,
    ...(setup === 'table' && { mechanism: 'independent', participation: { epochs: numSteps } }),
    ...(descent && { descent }),
  } as LearnerOptions;
}
