// SPDX-License-Identifier: Apache-2.0

// Non-private baselines of learners (twins and comparators), and bounds on their regret.

import type { Handle } from '../instance.js';
import type { Learner } from './linear-learner.js';
import type { DescentOptions, DomainName, LossName, LossOptions, PenaltyOptions } from './loss.js';

/** Options of a learner on which its twin and comparator depend. */
export interface HindsightOptions extends Omit<LossOptions, 'loss'> {
  /** Default 'logistic'. */
  loss?: LossName | 'softmax';
  numClasses?: number;
  dimension?: number;
}

export interface TwinOptions extends HindsightOptions {
  /**
   * Horizon of the learner; used for the default of `lambda`, that of the theorem without noise.
   */
  numSteps: number;
  clipNorm?: number;
  doubling?: boolean;
  penalty?: PenaltyOptions;
  batchSize?: number;
}

/**
 * Non-private baseline: the learner without noise, on exact sums of its clipped gradients. NOT
 * private.
 */
export interface Twin
  extends Handle,
    Pick<Learner, 'dimension' | 'numScores' | 'learn' | 'endBatch'> {
  /** Returns the weights used for the next batch, concatenated by class: NOT private. */
  weights(): Float64Array;
}

export interface ComparatorOptions extends Omit<HindsightOptions, 'lambda' | 'descent'> {
  /** Target for `BestFixed.gap`, in units of the mean loss. Default 1e-6. */
  gap?: number;
}

/** The fixed weights with the least mean loss: NOT private. */
export interface BestFixed {
  /** A point of the domain. */
  weights: Float64Array;
  /** Its mean loss. */
  loss: number;
  /**
   * Bound on the suboptimality: the least mean loss is at most this much below `loss`, proved for
   * these weights.
   */
  gap: number;
  /** True if `gap` is at most the requested one. */
  certified: boolean;
}

/**
 * A search for the best fixed weights of the domain in hindsight; in the whole space, among those
 * of norm at most `radius`. It keeps all examples, and is NOT private.
 */
export interface Comparator extends Handle, Pick<Learner, 'dimension' | 'numScores'> {
  append(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** Returns the best weights for the examples so far; at least one is required. */
  best(): BestFixed;
}

/** Options of a learner on which the regret theorems depend. */
export interface RegretBoundsOptions {
  /** Number of weights of the model: `dimension` times the classes of softmax. Default 1. */
  dimension?: number;
  domain?: DomainName;
  radius?: number;
  /** As for the learner: regularisation strength relative to the mean gradient of a step. */
  lambda?: number;
  descent?: DescentOptions;
  doubling?: boolean;
  /** If given, the bounds are on the regret of the losses including their penalty. */
  penalty?: PenaltyOptions;
  /**
   * As for the learner, with 'softmax': determines which weights belong to a feature. Default 1.
   */
  numClasses?: number;
  batchSize?: number;
  /** Failure probability of `highProbability`, between 0 and 1. Default 0.05. */
  failureProbability?: number;
}

/** Terms of a bound on the average regret, in units of the loss. */
export interface RegretTerms {
  regularisation: number;
  stability: number;
  noise: number;
  /** Their sum. */
  total: number;
}

/** Upper bounds on the average regret; null where no implemented theorem gives one. */
export interface RegretBounds {
  /** The `lambda` the bounds are for; the learner's default if none was given. */
  lambda: number;
  /**
   * Bound on the expected average regret; for descent only with independent noise on each gradient.
   */
  expected: RegretTerms | null;
  /** Bound that the average regret exceeds with probability at most `failureProbability`. */
  highProbability: RegretTerms | null;
  /**
   * Bound in the form of Henzinger, Upadhyay and Upadhyay, with `stability` four times as large.
   */
  hazan: RegretTerms | null;
}
