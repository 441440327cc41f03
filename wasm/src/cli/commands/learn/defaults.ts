// SPDX-License-Identifier: Apache-2.0

// Settings of a learner that nobody chose, from public numbers alone: docs/math/learning.md,
// section 10.

import { classifies } from '../../../api/learning/loss.js';
import type { LearnerOptions } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import { greatestSlope } from './regret-bound.js';

/** Passes over a whole table. */
export const NUM_PASSES = 120;
/** Clip norm, in units of the longest gradient there can be. */
const CLIP_SHARE = 0.1;
/** Length of the way of the weights over the signal (rows / noise multiplier), and its limit. */
const PER_SIGNAL = { passes: 8, onePass: 3 };
const LONGEST = { passes: 2560, onePass: 320 };

/** Ways in which a run without a clip norm is set up. */
export type Setup =
  /** Everything chosen together, for a table that is read in several passes. */
  | 'passes'
  /** Everything chosen together, for rows that come once. */
  | 'one pass'
  /** The clip norm alone: no gradient is clipped. */
  | 'clip';

/** Facts from which a setup follows: none of them depends on what is in the rows. */
export interface PublicFacts {
  /** The loss and its parameters. */
  loss: Pick<LearnerOptions, 'loss' | 'quantile' | 'huberThreshold'>;
  /** Rows of the table, or those of the horizon. */
  numRows: number;
  /** Rows of a step. */
  batchSize: number;
  /** Features, each in [-1, 1], and the intercept. */
  dimension: number;
  /** Noise over a clip norm, for one step. */
  noiseMultiplier: number;
}

/** Returns the greatest norm of a gradient, from above. */
function longestGradient({ loss, dimension }: PublicFacts): number {
  const slope = greatestSlope(loss);
  if (slope < Infinity) return slope * Math.sqrt(dimension) * (1 + 2 ** -40);
  throw new Misuse(`--loss ${String(loss.loss)} has slopes of any size: give --clip`);
}

/**
 * Returns the options that the setup chooses. `lambda` is that of the mean gradient of a step: a
 * step of clipped length C moves the weights by C / lambda.
 */
export function chosenOptions(
  setup: Setup,
  facts: PublicFacts,
): Pick<LearnerOptions, 'clipNorm' | 'lambda' | 'domain'> {
  const longest = longestGradient(facts);
  if (setup === 'clip') return { clipNorm: longest };
  const { numRows, batchSize, dimension, noiseMultiplier } = facts;
  const clipNorm = CLIP_SHARE * longest;
  const kind = setup === 'passes' ? 'passes' : 'onePass';
  // Root mean square error of the square root over so many steps, from above.
  const error = kind === 'passes' ? 1 : 1 + Math.log(numRows) / Math.PI;
  const signal = numRows / (noiseMultiplier * error);
  const way = Math.min(LONGEST[kind], PER_SIGNAL[kind] * signal);
  const numSteps = kind === 'passes' ? NUM_PASSES : Math.ceil(numRows / batchSize);
  const lambda = (clipNorm * numSteps * Math.sqrt(dimension)) / way;
  return { clipNorm, lambda, domain: 'whole-space' };
}

/** Options that say how to learn: where one is given, nothing else is chosen but the clip norm. */
const OF_LEARNER = ['domain', 'radius', 'regularisation', 'doubling', 'descent', 'mode'];
const OF_PASSES = ['steps', 'batch', 'state'];

/** Returns how a run is set up, undefined where a clip norm is given. */
export function setupOf(
  has: (option: string) => boolean,
  { loss, isFile, mechanismOptions }: {
    loss: LearnerOptions['loss'];
    isFile: boolean;
    /** Names of options that choose a mechanism, or say who takes part how often. */
    mechanismOptions: readonly string[];
  },
): Setup | undefined {
  if (has('clip')) return undefined;
  const others = [...OF_LEARNER, ...mechanismOptions, 'passes'];
  if (!classifies(loss as 'logistic') || others.some(has)) return 'clip';
  return isFile && !OF_PASSES.some(has) ? 'passes' : 'one pass';
}

/** Says what was chosen, and from what. */
export function reasonFor(
  setup: Setup,
  { numRows, dimension }: { numRows: number; dimension: number },
): string {
  if (setup === 'clip') return 'clip norm: the longest gradient there can be, so none is clipped';
  const common =
    `clipped to ${CLIP_SHARE} of the longest gradient there can be, the weights anywhere, the ` +
    `rate by ${numRows} rows, ${dimension} weights a score, epsilon and delta`;
  if (setup === 'one pass') return `set up for one pass: ${common}`;
  const why = 'steps of all rows, in whose sum no noise is smaller than independent noise';
  return `set up for a whole table: ${NUM_PASSES} ${why}; ${common}`;
}
