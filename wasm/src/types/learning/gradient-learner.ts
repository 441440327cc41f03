// SPDX-License-Identifier: Apache-2.0

// Private learning from gradients of any model.

import type { Certificate } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { ReleaseStore } from '../ledger.js';
import type { MechanismOptions } from '../mechanism.js';

export interface GradientLearnerOptions extends MechanismOptions {
  /** Number of weights of the model, and entries of each gradient. Default 1. */
  dimension?: number;
  /**
   * 'here' (default): gradients of single examples are given, and each is clipped to `clipNorm`.
   * 'by the caller': the sum of a batch is given, of gradients that the caller clipped; see
   * `noise`, `addNoiseTo`. The certificate says so, too.
   */
  clipping?: 'here' | 'by the caller';
  /**
   * Number by which sums of gradients are divided, whatever the number of examples that came.
   * Default 1.
   */
  batchSize?: number;
  /** Weights at the start, which must not depend on the data. Default: zeros. */
  start?: ArrayLike<number>;
  /**
   * 'ftrl': start - rate * (sum of all gradients). 'descent' (default): gradient descent, with
   * `momentum`. 'adam': Adam, with the variance of the noise taken from its second moment.
   */
  rule?: 'ftrl' | 'descent' | 'adam';
  /** Learning rate. */
  rate: number;
  /** Momentum, for 'descent'. Default 0. */
  momentum?: number;
  /** Distance from `start` within which weights stay, for 'ftrl' and 'descent'. Default: any. */
  radius?: number;
  /** Decay of the first moment, for 'adam'. Default 0.9. */
  beta1?: number;
  /** Decay of the second moment, for 'adam'. Default 0.999. */
  beta2?: number;
  /**
   * Least value of the corrected second moment, a squared gradient, for 'adam'. Default: what the
   * noise makes of it for gradients that are zero, one standard deviation.
   */
  floor?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
  /** As of `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/**
 * Private learning of any model from its gradients. They go into private running sums, and the
 * weights follow from those alone: they are as private as the certificate says, and so is all that
 * is made of them.
 */
export interface GradientLearner extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  /** Number of updates made. */
  readonly step: number;
  readonly clipping: 'here' | 'by the caller';
  readonly batchSize: number;
  readonly rule: 'ftrl' | 'descent' | 'adam';
  readonly grid: number;
  /** A fixed seed was given: the weights are NOT private, whatever the certificate says. */
  readonly insecure: boolean;
  /** Returns the weights at which the next gradients are to be taken. */
  weights(): Float64Array;
  /**
   * Adds gradients of examples, one after the other, to the batch that `update` ends: for batches
   * that do not fit at once. Each is clipped. One person has at most one in a batch. A call with a
   * gradient that is not finite adds none of them. If the batch has no room for all, the error's
   * `contributed` says how many it took. Refused where clipping is by the caller.
   */
  contribute(gradients: ArrayLike<number>): void;
  /**
   * Ends a batch, and returns the next weights. `gradients` are those of its examples, or of those
   * that are not in it yet; where clipping is by the caller, their sum. A call that is refused
   * changes nothing, unless the error has `contributed`, as of `contribute`. Code 'bad_state' where
   * weights leave the doubles: the batch is spent then.
   */
  update(gradients?: ArrayLike<number>): Float64Array;
}

export interface GradientLearnerLedgerOptions extends Omit<GradientLearnerOptions, 'clipping'> {
  /** Weights at the start; a store that holds a learner has its own. */
  start?: ArrayLike<number>;
  store: ReleaseStore;
}

/**
 * Private learning of any model that survives restarts: the private sum of a batch is stored before
 * the weights move by it. Opened again, it is at the weights that were stored last. The store holds
 * the key and the true sums: as secret as the examples.
 */
export interface GradientLearnerLedger
  extends Handle,
    Omit<GradientLearner, keyof Handle | 'clipping' | 'contribute' | 'update'> {
  /**
   * Ends the batch of step `step`, and returns the next weights. `gradients` are those of all its
   * examples, one after the other; each is clipped. A call that is refused changes nothing. After a
   * store that failed the same batch is asked for again: another one is refused with code
   * 'already_released', as its noise may be known. Where weights leave the doubles the code is
   * 'bad_state', now and whenever the store is opened: the rate was too large, and the steps are spent.
   */
  update(gradients: ArrayLike<number>): Promise<Float64Array>;
}
