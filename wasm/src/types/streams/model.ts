// SPDX-License-Identifier: Apache-2.0

// Models: the results of learning, as plain data.

import type { Certificate } from '../certificate.js';
import type { LossName } from './loss.js';

/** One feature of a model, and its scaling. */
export interface ModelInput {
  name: string;
  /** Public range that is mapped to [-1, 1]; values outside are clamped to it. */
  low?: number;
  high?: number;
}

/** A linear model as plain, JSON-serialisable data for `predict`. */
export interface LearnedModel {
  format: 'dp-ftrl model';
  version: 1;
  loss: LossName | 'softmax' | 'function';
  /** Classes, for 'softmax'; weights are concatenated by class. */
  numClasses?: number;
  inputs: ModelInput[];
  /** Whether the last of the weights belongs to a feature that is always 1. */
  intercept: boolean;
  /**
   * For a learner, the average of its iterates, to which the regret theorem applies. For `learn`,
   * the latest weights or the mean of the later ones; for the command, as `--average` says.
   */
  weights: number[];
  /** The latest weights, which adapt sooner to a change. */
  lastWeights: number[];
  numExamples: number;
  /**
   * False if the model was made with a fixed seed, or with any setting that was read from the data.
   */
  private: boolean;
  certificate: Certificate;
  /** The privacy unit of the certificate, in words. */
  protects?: string;
  /**
   * Epsilons of the two parts, at the same delta, if second moments were released first. Epsilon,
   * mu and rho of the certificate cover both parts; its noise and clip norm describe the learner.
   */
  preconditioning?: { momentsEpsilon: number; learnerEpsilon: number };
  /**
   * Performance of the weights on the rows of another file: NOT private unless that file is public.
   */
  test?: {
    note: string;
    numExamples: number;
    /** Mean loss. */
    loss: number;
    /** Fraction of correctly predicted classes; null if there are no classes. */
    accuracy: number | null;
  };
  /** Measured on the data: NOT private. */
  nonprivate?: {
    /** Mean loss, over one pass, of the predictions made before each label was known. */
    progressiveLoss: number;
    /** Mean loss of always predicting 0. */
    zeroLoss: number;
    /** Fraction of correctly predicted classes; null if there are no classes. */
    progressiveAccuracy: number | null;
    /** Loss and accuracy of the learner without noise. */
    twin?: { progressiveLoss: number; progressiveAccuracy: number | null };
    /**
     * Excess of the mean losses of learner and twin, over all passes, above `bestLoss`, the mean
     * loss of the best fixed weights in hindsight (in the domain; in the whole space, among weights
     * of norm at most `radius`). The true regrets are larger by at most `gap`. Losses exclude the
     * penalty. Null if there are too many rows to keep.
     */
    regret?: { private: number; twin: number; bestLoss: number; gap: number } | null;
    /** Mean losses of the average and of the latest weights, on rows that were not learned from. */
    heldOutLoss?: { average: number; last: number };
  };
}
