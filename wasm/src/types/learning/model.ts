// SPDX-License-Identifier: Apache-2.0

// Models: the results of learning, as plain data.

import type { Certificate } from '../certificate.js';
import type { LossName } from './loss.js';

/** One feature, and what a model does with it. */
export interface ModelInput {
  name: string;
  /** Public range that is mapped to [-1, 1]; values outside are moved to its edge. */
  low?: number;
  high?: number;
}

/** Factors on what `learn` chooses; 1 by default. */
export interface Candidate {
  /** On the rate, that is on how far all steps move the weights. */
  rate?: number;
  /** On the clip norm. */
  clip?: number;
}

/** How a model was tuned. */
export interface Tuning {
  /** As of `TuningCost`. */
  learnerEpsilon: number;
  selectionEpsilon: number;
  /** The settings, of which the model has one. */
  candidates: readonly Required<Candidate>[];
  /** Index of that one. */
  chosen: number;
  /** Rows that chose, and that none learned from. */
  numHeldOut: number;
}

/** A linear model as plain data: JSON keeps it, and `predict` uses it. */
export interface LearnedModel {
  format: 'dp-ftrl model';
  version: 1;
  loss: LossName | 'softmax' | 'function';
  /** Number of classes, for 'softmax': the weights of one class follow those of another. */
  numClasses?: number;
  inputs: ModelInput[];
  /** Whether the last of the weights belongs to a feature that is always 1. */
  intercept: boolean;
  /**
   * Average of the weights that were played: the one the regret theorem is about. Of the command
   * the mean after half the horizon, if it was not told otherwise.
   */
  weights: number[];
  /** The latest weights, which follow a change sooner. */
  lastWeights: number[];
  numExamples: number;
  /** False if it was made with a fixed seed, or with something else that was read from the data. */
  private: boolean;
  certificate: Certificate;
  /** The privacy unit of the certificate, in words. */
  protects?: string;
  /**
   * Epsilons of the parts, at the same delta, where second moments were released first. Epsilon, mu and
   * rho of the certificate are of both, its noise and clip norm those of the learner.
   */
  preconditioning?: { momentsEpsilon: number; learnerEpsilon: number };
  /** How the settings were chosen, where the data chose them: `learnTuned`. */
  tuning?: Tuning;
  /** How well the weights do on the rows of another file: NOT private unless that file is public. */
  test?: {
    note: string;
    numExamples: number;
    /** Mean loss. */
    loss: number;
    /** Share of correctly predicted classes; null where there are no classes. */
    accuracy: number | null;
  };
  /** Measured on the data: NOT private. */
  nonprivate?: {
    /** Mean loss, over one pass, of the predictions that were made before each label was known. */
    progressiveLoss: number;
    /** Mean loss of always predicting 0. */
    zeroLoss: number;
    /** Share of correctly predicted classes; null where there are no classes. */
    progressiveAccuracy: number | null;
    /** The same for the learner without noise. */
    twin?: { progressiveLoss: number; progressiveAccuracy: number | null };
    /**
     * Excess of the mean losses of learner and twin, over all passes, above `bestLoss`, that of the
     * best fixed weights in hindsight (of the domain; of the whole space, of those of norm at most
     * `radius`); the regrets are at most `gap` more. Losses are without penalty. Null where there
     * are too many rows to keep.
     */
    regret?: { private: number; twin: number; bestLoss: number; gap: number } | null;
    /**
     * Mean loss of the average weights, and of the latest ones, on rows that were not learned from.
     */
    heldOutLoss?: { average: number; last: number };
  };
}
