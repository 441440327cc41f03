// SPDX-License-Identifier: Apache-2.0

// Private online learning.

import type { Certificate, LatticeNoise } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { BatchLoss, LossName, LossOptions, PenaltyOptions } from './loss.js';
import type { LearnedModel } from './model.js';
import type { ReleaseStore } from '../ledger.js';
import type { MechanismOptions } from '../mechanism.js';

export interface LearnerOptions extends MechanismOptions, Omit<LossOptions, 'loss'> {
  /**
   * Default 'logistic'. 'softmax' has a score for each of `numClasses` classes, labels 0, 1, ... A
   * function is called once for all examples that meet the same weights.
   */
  loss?: LossName | 'softmax' | BatchLoss;
  /** Number of classes, for 'softmax'. */
  numClasses?: number;
  /** Entries of each example (features). Default 1. */
  dimension?: number;
  /**
   * Lets `lambda` grow from its value at the first step with the square root of the steps, by
   * doubling. Default false.
   */
  doubling?: boolean;
  /**
   * Not with `descent`, and only in domains 'whole-space', 'ball' and, without groups, 'box'. Default:
   * none.
   */
  penalty?: PenaltyOptions;
  /** Number of examples of one step, each with its own clipped gradient. Default 1. */
  batchSize?: number;
  /** As for `prefixSum`, like the two that follow. */
  mode?: 'grid' | 'lattice';
  latticeNoise?: LatticeNoise;
  precisionBits?: number;
  /** The mechanism's parameter that is called lambda elsewhere. */
  mechanismLambda?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
  /** As of `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/**
 * Private online learning of a linear model (DP-FTRL): gradients are clipped to `clipNorm` and go
 * into a private prefix sum, and the weights follow from its releases alone. So the weights, and
 * all that is made from them, are as private as the releases: an example is a record, or one of a
 * batch's contributions, of which one person makes at most one.
 */
export interface Learner extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of batches learned from; of one example unless `batchSize` says otherwise. */
  readonly step: number;
  readonly batchSize: number;
  /** Number of examples in the batch that is not full yet: they are not in the weights so far. */
  readonly numWaiting: number;
  readonly grid: number;
  readonly loss: LossName | 'softmax' | 'function';
  /** Number of predictions of an example: the classes of 'softmax', else 1. */
  readonly numScores: number;
  /**
   * Regularisation strength of the next step, for descent the inverse of its rate: both of the mean
   * gradient of a step, as the option `lambda`. Weights follow sums / (`lambda` * `batchSize`).
   */
  readonly lambda: number;
  /** A fixed seed was given: the model is NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /**
   * Learns from `labels.length` examples, features row after row. Labels of classes are 0 or 1, or
   * -1 or +1. `predictions` gets the `numScores` scores of each example from before its label was
   * known: that reads the example, and is NOT private. If an example is refused, the error's
   * `learned` says how many there were before it.
   * Put one with features 0 in its place: leaving it out would shift all that follow.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): void;
  /** Ends the step before its batch is full. */
  endBatch(): void;
  /** Returns the loss of each prediction: reads the labels, and is NOT private. */
  losses(predictions: ArrayLike<number>, labels: ArrayLike<number>): Float64Array;
  /** Returns the model so far, private as a whole. */
  model(): LearnedModel;
}

export interface LearnerLedgerOptions extends LearnerOptions {
  store: ReleaseStore;
  /**
   * Bytes kept with a new state, such as the names of its features. A state that continues keeps
   * its own, which the ledger has as `memo`.
   */
  memo?: Uint8Array;
}

/**
 * A learner that survives restarts: everything it shows has been stored before, so no step is ever
 * made for two batches. Its counts are those of the examples learned from, stored or not:
 * `numExamples` says which one comes next, after a restart and after an error. Calls are made one
 * after the other. A loss given as a function must be the same one after every restart.
 */
export interface LearnerLedger
  extends Omit<Learner, 'learn' | 'endBatch' | 'model'> {
  /** Number of examples learned from, over all restarts: offer none of them again. */
  readonly numExamples: number;
  /**
   * As for a learner; stored once a call. `predictions` are written when that is done. If storing
   * fails the examples count all the same, and the next call, whichever it is, stores them first.
   */
  learn(
    features: ArrayLike<number>,
    labels: ArrayLike<number>,
    predictions?: Float64Array,
  ): Promise<void>;
  endBatch(): Promise<void>;
  model(): Promise<LearnedModel>;
  /** The `memo` given when the state was new: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}
