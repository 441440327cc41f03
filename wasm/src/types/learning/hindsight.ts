// SPDX-License-Identifier: Apache-2.0

// Non-private baselines of learners (twins and comparators), and bounds on their regret.

import type { Handle } from '../instance.js';
import type { LearnerOptions } from '../streams/learner.js';
import type { DescentOptions, DomainName, LinearLoss, PenaltyOptions } from '../streams/loss.js';

/** Options of a learner on which its twin depends. */
export interface TwinOptions
  extends Partial<
    Pick<
      LearnerOptions,
      | 'dimension'
      | 'clip'
      | 'batchSize'
      | 'domain'
      | 'radius'
      | 'lambda'
      | 'doubling'
      | 'descent'
      | 'penalty'
    >
  > {
  /** Default 'logistic'. */
  loss?: LinearLoss;
  /** Horizon of the learner; used for the default of `lambda`, from the theorem without noise. */
  steps: number;
}

/**
 * Non-private baseline: the learner without noise, on exact sums of its clipped gradients. NOT
 * private.
 */
export interface Twin extends Handle {
  readonly dimension: number;
  /** Scores of an example: the number of classes for `softmax`, else 1. */
  readonly numScores: number;
  /**
   * Learns from examples, `batchSize` of them per step, and returns the scores of each example,
   * computed before its label is used.
   */
  learn(features: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
  /** Ends the step before its batch is full. */
  endBatch(): void;
  /** Weights used for the next batch, concatenated by class: NOT private. */
  weights(): Float64Array;
}

export interface ComparatorOptions
  extends Pick<TwinOptions, 'dimension' | 'loss' | 'domain' | 'radius'> {
  /** Target for `BestFixed.gap`, in units of the mean loss. Default 1e-6. */
  gap?: number;
}

/** The fixed weights with the least mean loss: NOT private. */
export interface BestFixed {
  /** A point of the domain. */
  weights: Float64Array;
  /** Mean loss of these weights. */
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
 * A search for the best fixed weights of the domain in hindsight; in the whole space, among weights
 * of norm at most `radius`. It keeps all examples, and is NOT private.
 */
export interface Comparator extends Handle, Pick<Twin, 'dimension' | 'numScores'> {
  append(features: ArrayLike<number>, labels: ArrayLike<number>): void;
  /** Best weights for the examples so far; at least one is required. */
  best(): BestFixed;
}

/** Options of a learner on which the regret theorems depend. */
export interface RegretBoundsOptions {
  /** Weights of the model: `dimension`, times the number of classes for softmax. Default 1. */
  dimension?: number;
  domain?: DomainName;
  radius?: number;
  /** As for the learner: regularisation strength relative to the mean gradient of a step. */
  lambda?: number;
  descent?: DescentOptions;
  doubling?: boolean;
  /** If given, the bounds cover the losses including this penalty. */
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
  /** Sum of the three terms. */
  total: number;
}

/** Upper bounds on the average regret; null where no implemented theorem gives a bound. */
export interface RegretBounds {
  /** The `lambda` that the bounds are for; the learner's default if none was given. */
  lambda: number;
  /**
   * Bound on the expected average regret. For descent, only with strategy 'independent' and without
   * `rates` and momentum.
   */
  expected: RegretTerms | null;
  /** Bound that the average regret exceeds with probability at most `failureProbability`. */
  highProbability: RegretTerms | null;
  /**
   * Both bounds, computed from the largest error over the steps instead of the root mean squared
   * error; never below `expected` and `highProbability`. Null for descent.
   */
  byMaxError: { expected: RegretTerms; highProbability: RegretTerms } | null;
  /**
   * Bound in the form of Henzinger, Upadhyay and Upadhyay, with `stability` four times as large.
   */
  hazan: RegretTerms | null;
}
