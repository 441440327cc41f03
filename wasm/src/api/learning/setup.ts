// SPDX-License-Identifier: Apache-2.0

// Settings of a learner that nobody chose, from public numbers alone: docs/math/learning.md,
// section 10.

import type { LearnerOptions, ModelInput } from '../../types/all.js';

/** Passes over a whole table. */
export const NUM_PASSES = 120;
/** Clip norm, in units of the longest gradient there can be. */
export const CLIP_SHARE = { passes: 0.03, 'one pass': 0.1 };
/** Length of the way of the weights over the signal (rows / noise multiplier), and its limit. */
const PER_SIGNAL = { passes: 8, 'one pass': 3 };
const LONGEST = { passes: Infinity, 'one pass': 320 };
/** Momentum of the passes over a whole table. */
const MOMENTUM = 0.8;

/** The range of features of which nothing was said, where the clip norm follows from ranges. */
export const DEFAULT_RANGE = { low: -1, high: 1 };

/** Ways in which a run without a clip norm is set up. */
export type Setup =
  /** Everything chosen together, for a table that is read in several passes. */
  | 'passes'
  /** Everything chosen together, for rows that come once. */
  | 'one pass'
  /** The clip norm alone: no gradient is clipped. */
  | 'clip';

type OfLoss = Pick<LearnerOptions, 'loss' | 'quantile' | 'huberThreshold'>;

/** Facts from which a setup follows: none of them depends on what is in the rows. */
export interface PublicFacts {
  /** The loss and its parameters. */
  loss: OfLoss;
  /** Rows of the table, or those of the horizon. */
  numRows: number;
  /** Rows of a step. */
  batchSize: number;
  /** Features, each in [-1, 1], and the intercept. */
  dimension: number;
  /** Noise over a clip norm, for one step. */
  noiseMultiplier: number;
}

/** Returns the features, each with a range. */
export function withRanges(inputs: readonly ModelInput[]): ModelInput[] {
  return inputs.map((input) => (input.low === undefined ? { ...input, ...DEFAULT_RANGE } : input));
}

/** Returns the square of the greatest slope of a loss there can be. */
export function slopeSquared({ loss, quantile = 0.5, huberThreshold = 1 }: OfLoss): number {
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

/** Returns the greatest norm of a gradient, from above; infinite where slopes have any size. */
export function longestGradient(loss: OfLoss, dimension: number): number {
  return Math.sqrt(slopeSquared(loss)) * Math.sqrt(dimension) * (1 + 2 ** -40);
}

/**
 * Returns the options that the setup chooses. `lambda` is that of the mean gradient of a step: a
 * step of clipped length C moves the weights by C / lambda, before momentum.
 */
export function chosenOptions(
  setup: Setup,
  { loss, numRows, batchSize, dimension, noiseMultiplier }: PublicFacts,
): Pick<LearnerOptions, 'clipNorm' | 'lambda' | 'domain' | 'descent'> {
  const longest = longestGradient(loss, dimension);
  if (setup === 'clip') return { clipNorm: longest };
  const clipNorm = CLIP_SHARE[setup] * longest;
  // Root mean square error of the square root over so many steps, from above.
  const error = setup === 'passes' ? 1 : 1 + Math.log(numRows) / Math.PI;
  const signal = numRows / (noiseMultiplier * error);
  const way = Math.min(LONGEST[setup], PER_SIGNAL[setup] * signal);
  const numSteps = setup === 'passes' ? NUM_PASSES : Math.ceil(numRows / batchSize);
  const rule = { clipNorm, domain: 'whole-space' } as const;
  const lambda = (clipNorm * numSteps * Math.sqrt(dimension)) / way;
  if (setup === 'one pass') return { ...rule, lambda };
  // With momentum a gradient moves the weights by 1 / (1 - momentum) of its step, in the end.
  return { ...rule, lambda: lambda / (1 - MOMENTUM), descent: { momentum: MOMENTUM } };
}
