// SPDX-License-Identifier: Apache-2.0

// Private online learning.

import type { Certificate, LatticeNoise } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { BatchLoss, LossName, LossOptions, PenaltyOptions } from './loss.js';
import type { LearnedModel } from './model.js';
import type { StoreOptions } from '../ledger.js';
import type { MechanismOptions } from '../mechanism.js';

export interface LearnerOptions extends MechanismOptions, Omit<LossOptions, 'loss'> {
  /**
   * Default 'logistic'. 'softmax' has a score for each of `numClasses` classes, with labels 0, 1,
   * ... A function is called once for all examples that are evaluated at the same weights.
   */
  loss?: LossName | 'softmax' | BatchLoss;
  /** Number of classes, for 'softmax'. */
  numClasses?: number;
  /** Number of entries (features) of each example. Default 1. */
  dimension?: number;
  /**
   * Makes `lambda` grow, from its value at the first step, with the square root of the number of
   * steps, by doubling. Default false.
   */
  doubling?: boolean;
  /**
   * Penalty of the weights. Not available with `descent`, and only in domains 'whole-space', 'ball'
   * and, without groups, 'box'. Default: none.
   */
  penalty?: PenaltyOptions;
  /** Number of examples per step, each with its own clipped gradient. Default 1. */
  batchSize?: number;
  /** As for `prefixSum`, like `latticeNoise` and `precisionBits`. */
  mode?: 'grid' | 'lattice';
  latticeNoise?: LatticeNoise;
  precisionBits?: number;
  /**
   * The mechanism's parameter `lambda`, renamed because a learner's `lambda` is its regularisation.
   */
  mechanismLambda?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
  /** As in `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/**
 * Private online learning of a linear model (DP-FTRL). Gradients are clipped to `clipNorm` and go
 * into a private prefix sum, and the weights are computed from its releases alone, so the weights
 * and everything derived from them are as private as the releases. An example is a record, or one
 * of a batch's contributions, of which a person makes at most one.
 */
export interface Learner extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of batches learned from, of `batchSize` examples each unless ended early. */
  readonly step: number;
  readonly batchSize: number;
  /** Number of examples in the unfinished batch, which the weights do not reflect yet. */
  readonly numWaiting: number;
  readonly grid: number;
  readonly loss: LossName | 'softmax' | 'function';
  /** Number of predictions per example: the number of classes for 'softmax', else 1. */
  readonly numScores: number;
  /**
   * Regularisation strength of the next step, or for descent the inverse of its rate; both relative
   * to the mean gradient of a step, as the option `lambda`. Weights follow sums / (`lambda` *
   * `batchSize`).
   */
  readonly lambda: number;
  /**
   * True if a fixed seed was given: the model is then NOT private, even if the certificate says so.
   */
  readonly insecure: boolean;
  /**
   * Learns from `labels.length` examples, with features row after row. Class labels are 0 or 1, or
   * -1 or +1. `predictions` receives the `numScores` scores of each example, computed before its
   * label is used: they depend on the example, and are NOT private. If an example is refused, the
   * error's `learned` is the number of examples before it. Replace the refused one by an example
   * with features 0: leaving it out would shift all that follow.
   */
  learn(features: ArrayLike<number>, labels: ArrayLike<number>, predictions?: Float64Array): void;
  /** Ends the step before its batch is full. */
  endBatch(): void;
  /** Returns the loss of each prediction. Depends on the labels, and is NOT private. */
  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
  /** Returns the current model, all of which is private. */
  model(): LearnedModel;
}

export interface LearnerLedgerOptions extends LearnerOptions, StoreOptions {
  /**
   * Bytes stored with a new state, such as the names of its features. A continued state keeps its
   * own, which the ledger returns as `memo`.
   */
  memo?: Uint8Array;
}

/**
 * A learner that survives restarts: everything it returns has been stored before, so no step is
 * ever made for two batches. Its counts are those of the examples learned from, stored or not;
 * `numExamples` is the index of the next one, after a restart and after an error. Calls are
 * executed one after the other. A loss given as a function must be the same after every restart.
 */
export interface LearnerLedger extends Omit<Learner, 'learn' | 'endBatch' | 'model'> {
  /** Number of examples learned from, across restarts; none of them may be passed again. */
  readonly numExamples: number;
  /**
   * As `Learner.learn`, stored once per call; `predictions` are written after that. If storing
   * fails, the examples still count, and the next call of any kind stores them first.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): Promise<void>;
  endBatch(): Promise<void>;
  model(): Promise<LearnedModel>;
  /** The `memo` given when the state was new; as secret as the rest of the state. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that identify the key and reveal nothing about it. */
  readonly identity: string;
}
