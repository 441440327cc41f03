// SPDX-License-Identifier: Apache-2.0

// Mechanisms side by side.

import type { EncoderStrategy, MechanismName, MechanismParameters } from './mechanism.js';
import type { SavedStrategy } from './mechanism.js';
import type { Problem } from './problem.js';
import type { Refusal } from './refusal.js';
import type { CertifiedBound } from './unit-error.js';

export interface CompareOptions extends Problem {
  /** Error by which the table is sorted. Default 'max'. */
  objective?: 'max' | 'mean';
  /**
   * Adds the errors of pure-DP prefix sums at this epsilon, and the delta above which Gaussian
   * noise is better.
   */
  epsilon?: number;
  /** Saved strategies, and encoders of your own, to include in the comparison. */
  strategies?: readonly (SavedStrategy | EncoderStrategy)[];
}

export interface ComparedMechanism {
  mechanism: MechanismName;
  /** Parameters that differ from the defaults. */
  parameters: MechanismParameters;
  /** True if this is one of the given `strategies`. */
  saved: boolean;
  /** If so, its index among them. */
  index?: number;
  /** As in `Certificate`: present if there is no search for the requested participation. */
  optimisedFor?: string;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  /** Root mean squared error over the steps. */
  meanError: number;
  /** Mean squared error, the square of `meanError`. */
  meanSquaredError: number;
  /** Error named by `objective`, divided by `lowerBound`; null if no bound is available. */
  ratio: number | null;
  stepCost: string;
  memoryCost: string;
  causal: boolean;
  /** As in `StrategyInfo`. */
  pureDp: boolean;
}

/** A mechanism omitted from a comparison. */
export interface ExcludedMechanism {
  mechanism: MechanismName;
  parameters: MechanismParameters;
  /** Reason, in words. */
  reason: string;
  /** Reason, as data. */
  refusal: Refusal;
}

/**
 * Pure-DP totals compared with the best mechanism of a table. Errors are RMS errors at clip norm 1
 * and zero-out neighbours; records are clipped in l1-norm, which bounds their l2-norm.
 */
export interface PureComparison {
  epsilon: number;
  /** Parameters of 'tree-k' with the least mean error. */
  parameters: { arity: number; subtractive: boolean };
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /**
   * Delta at which the best mechanism of the table has the same error (as named by `objective`).
   * Below this delta, the pure-DP totals are more accurate.
   */
  crossoverDelta: number;
}

export interface Comparison extends CertifiedBound {
  numSteps: number;
  workload: string;
  participation: string;
  objective: 'max' | 'mean';
  /** Best first. */
  mechanisms: ComparedMechanism[];
  /**
   * Mechanisms omitted because they have no formula at this size or take too long, with the reason.
   */
  leftOut: ExcludedMechanism[];
  /**
   * Mechanisms whose error (as named by `objective`) would rise with normalised columns; tested up
   * to 256 steps.
   */
  raisedByNormalizing: MechanismName[];
  /** Present if `epsilon` was given. */
  pure?: PureComparison;
}
