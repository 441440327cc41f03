// SPDX-License-Identifier: Apache-2.0

// Mechanisms side by side.

import type { MechanismName, MechanismParameters, Participation } from './mechanism.js';
import type { SavedStrategy, Workload } from './mechanism.js';
import type { OptimizeProgress } from './optimization.js';
import type { Refusal } from './refusal.js';
import type { CertifiedBound } from './unit-error.js';

export interface CompareOptions {
  /** Horizon, 1 .. 2^40. */
  numSteps: number;
  workload?: Workload;
  participation?: Participation;
  /** Error by which the table is sorted. Default 'max'. */
  objective?: 'max' | 'mean';
  /**
   * Adds what prefix sums without a delta cost at this epsilon, and from which delta on Gaussian
   * noise is better.
   */
  epsilon?: number;
  /** Saved strategies to be compared as well. */
  strategies?: readonly SavedStrategy[];
}

export interface ComparedMechanism {
  mechanism: MechanismName;
  /** Parameters that differ from the defaults. */
  parameters: MechanismParameters;
  /** Whether this is one of the saved strategies that were given. */
  saved: boolean;
  /** As in `Certificate`: present where there is no search for the participation. */
  optimisedFor?: string;
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /** Error of the objective / lowerBound; null where no bound is available. */
  ratio: number | null;
  stepCost: string;
  memoryCost: string;
  causal: boolean;
  /** As in the catalogue. */
  pureDp: boolean;
}

/** A mechanism that a comparison has no row for. */
export interface LeftOut {
  mechanism: MechanismName;
  parameters: MechanismParameters;
  /** Why, in words. */
  reason: string;
  /** The same as data. */
  refusal: Refusal;
}

/**
 * Totals without a delta beside the best mechanism of a table. Errors are root mean squares at clip
 * norm 1, zero-out neighbours; records are clipped in l1-norm, which bounds their l2-norm.
 */
export interface PureComparison {
  epsilon: number;
  /** Parameters of tree-k with the least mean error. */
  parameters: { arity: number; subtractive: boolean };
  sensitivity: number;
  sensitivityExactness: 'exact' | 'upper bound';
  maxError: number;
  meanError: number;
  /**
   * The delta at which the best mechanism of the table has the same error of the objective: below
   * it, Laplace noise without a delta is the smaller one.
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
  /** Mechanisms that have no formula at this size or take too long, with the reason. */
  leftOut: LeftOut[];
  /**
   * Mechanisms whose error of the objective would rise with normalised columns: tried up to 256
   * steps.
   */
  raisedByNormalizing: MechanismName[];
  /** Present where `epsilon` was given. */
  pure?: PureComparison;
}

/** A comparison that runs mechanism by mechanism. */
export interface PiecewiseComparison {
  /** Iterations count the rows of the table, including those that will be left out. */
  readonly progress: OptimizeProgress;
  readonly finished: boolean;
  /** Runs one piece. Returns false when nothing is left. */
  advance(): boolean;
  /** Returns the table at the end; before that throws a DpError of code 'bad_state'. */
  result(): Comparison;
}
