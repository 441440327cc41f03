// SPDX-License-Identifier: Apache-2.0

// Private learning from gradients of any model.

import type { Certificate } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { StoreOptions } from '../ledger.js';
import type { MechanismOptions } from '../mechanism.js';

export interface GradientLearnerOptions extends MechanismOptions {
  /** Number of weights of the model, and entries of each gradient. Default 1. */
  dimension?: number;
  /**
   * 'here' (default): takes gradients of single examples and clips each to `clipNorm`. 'by the
   * caller': takes the sum of a batch of gradients that the caller clipped; see `noise` and
   * `addNoiseTo`. The certificate says so, too.
   */
  clipping?: 'here' | 'by the caller';
  /**
   * Divisor of the sums of gradients, regardless of the number of examples in the batch. Default 1.
   */
  batchSize?: number;
  /** Initial weights, which must not depend on the data. Default: zeros. */
  start?: ArrayLike<number>;
  /**
   * 'ftrl': start - rate * (sum of all gradients). 'descent' (default): gradient descent, with
   * `momentum`. 'adam': Adam, with the variance of the noise subtracted from its second moment.
   */
  rule?: 'ftrl' | 'descent' | 'adam';
  /** Learning rate. */
  rate: number;
  /** Momentum, for 'descent'. Default 0. */
  momentum?: number;
  /** Largest distance of the weights from `start`, for 'ftrl' and 'descent'. Default: unlimited. */
  radius?: number;
  /** Decay of the first moment, for 'adam'. Default 0.9. */
  beta1?: number;
  /** Decay of the second moment, for 'adam'. Default 0.999. */
  beta2?: number;
  /**
   * Lower limit of the corrected second moment, a squared gradient, for 'adam'. Default: one
   * standard deviation of its noise for zero gradients.
   */
  floor?: number;
  /** Spacing of the sums of gradients, a power of two. */
  grid?: number;
  /** As in `prefixSum`: NOT private. */
  insecureSeed?: number | bigint;
}

/**
 * Private learning of any model from its gradients. Gradients go into private running sums, and the
 * weights are computed from those alone. The weights and everything derived from them are therefore
 * as private as the certificate says.
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
  /**
   * True if a fixed seed was given: the weights are then NOT private, even if the certificate says
   * so.
   */
  readonly insecure: boolean;
  /** Returns the weights at which to compute the next gradients. */
  weights(): Float64Array;
  /**
   * Adds gradients of examples, concatenated, to the batch that `update` ends; for batches too
   * large for one call. Each is clipped. A person may have at most one in a batch. A call with a
   * gradient that is not finite adds none of them. If the batch has no room for all, the error's
   * `contributed` is the number that was added. Refused if the caller clips.
   */
  contribute(gradients: ArrayLike<number>): void;
  /**
   * Ends a batch, and returns the next weights. `gradients` are those of its examples, or of those
   * not yet added by `contribute`; if the caller clips, their sum. A refused call changes nothing,
   * unless the error has `contributed`, as for `contribute`. Fails with code 'bad_state' if weights
   * overflow; the batch is then spent.
   */
  update(gradients?: ArrayLike<number>): Float64Array;
}

export interface GradientLearnerLedgerOptions
  extends Omit<GradientLearnerOptions, 'clipping'>,
    StoreOptions {
  /** Initial weights; a store that already holds a learner has its own. */
  start?: ArrayLike<number>;
}

/**
 * Private learning of any model that survives restarts: the private sum of a batch is stored before
 * the weights are updated with it. When opened again, it resumes at the weights that were stored
 * last. The store holds the key and the true sums, so it is as secret as the examples.
 */
export interface GradientLearnerLedger
  extends Handle,
    Omit<GradientLearner, keyof Handle | 'clipping' | 'contribute' | 'update'> {
  /**
   * Ends the batch of the open step, and returns the next weights. `gradients` are those of all its
   * examples, concatenated; each is clipped. A refused call changes nothing. If storing fails, the
   * step is decided all the same, and the next call stores it first; ask for it again by
   * `update(error.step, gradients)`, which returns the weights after that step: other gradients are
   * refused with code 'already_released', because the noise may be known. Fails with code
   * 'bad_state' if weights overflow, now and whenever the store is opened: the rate was too large,
   * and the steps are spent.
   */
  update(gradients: ArrayLike<number>): Promise<Float64Array>;
  update(step: number | undefined, gradients: ArrayLike<number>): Promise<Float64Array>;
}
