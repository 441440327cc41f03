// SPDX-License-Identifier: Apache-2.0

// True and private sums side by side, for study.

import type { Certificate } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { LossOptions } from './loss.js';
import type { MechanismOptions } from '../mechanism.js';

/**
 * Synthetic streams. `heavy-tailed` has features of infinite variance, so that clipping matters;
 * `sparse` has zeros in 7 of 8; `adversarial` answers the private learner's weights with the
 * example that costs it most.
 */
export type StreamName =
  | 'stationary'
  | 'drifting'
  | 'switching'
  | 'heavy-tailed'
  | 'sparse'
  | 'adversarial';

/** A numeric table, row after row. */
export interface Table {
  numRows: number;
  numColumns: number;
  /** numRows * numColumns entries, row-major. */
  values: Float64Array;
  /** Labels for learning, numRows entries. Logistic loss: 0/1 or -1/+1. */
  labels?: Float64Array;
}

export interface SimulationOptions extends MechanismOptions, LossOptions {
  /** Entries of each record (features). Taken from the table when there is one. Default 4. */
  dimension?: number;
  /** Synthetic stream (ignored when a table is given). Default 'stationary'. */
  stream?: StreamName;
  /** Seed of the synthetic stream. Default 1. */
  streamSeed?: number | bigint;
  /** Seed of the noise, always fixed: a simulation is never a private release. Default 1. */
  noiseSeed?: number | bigint;
  /** Own data instead of a synthetic stream; without `labels` only sums are simulated. */
  table?: Table;
  /** The mechanism's parameter that is called lambda elsewhere. */
  mechanismLambda?: number;
  /** As for `learner`: both learners' `lambda` grows. Default false. */
  doubling?: boolean;
  /**
   * Number of examples of a step, or of records of a table without labels. A batch that the table
   * does not fill is left out. Default 1.
   */
  batchSize?: number;
  /** Prefixes at which regret is measured; 0 turns it off. Default 64. */
  numRegretPrefixes?: number;
}

/** Results of some consecutive steps; k = numSteps, d = dimension, b = batchSize. */
export interface SimulationChunk {
  firstStep: number;
  numSteps: number;
  /** k*d, row-major. SECRET in a real deployment. */
  trueSums: Float64Array;
  /** k*d, row-major: what would be released. */
  noisySums: Float64Array;
  /** k: predicted std of the noise of each coordinate of the release. */
  stddev: Float64Array;
  /** k: mean loss of the predictions made before learning; empty without a learner. */
  privateLoss: Float64Array;
  twinLoss: Float64Array;
  /** k*b entries 0 or 1, step after step, classification only; else empty. */
  privateCorrect: Uint8Array;
  twinCorrect: Uint8Array;
  /** Regret measured at prefixes of this chunk: average regret after `steps` steps. */
  regret: {
    steps: Float64Array;
    private: Float64Array;
    twin: Float64Array;
    /** Certified optimality gap of the comparator, average loss. */
    gap: Float64Array;
  };
}

/**
 * Shows the true and the private sums side by side. For demonstration and study, NEVER private: the
 * seed of its noise is fixed, and it holds and returns the true sums, which a deployment must keep
 * secret. Its certificate is that of a `prefixSum` with the same options and no seed.
 */
export interface Simulation extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly numSteps: number;
  readonly step: number;
  readonly finished: boolean;
  readonly learns: boolean;
  /** Whether labels are classes, so that there is an accuracy. */
  readonly classifies: boolean;
  /**
   * Whether no gradient can exceed the clip norm. If false, `regretBound` is that of the clipped
   * problem.
   */
  readonly clippingImpossible: boolean;
  readonly grid: number;
  /** Regularisation used by the private learner and by its twin; 0 without a learner. */
  readonly lambda: { private: number; twin: number };
  /**
   * Bound of the regret theorem on the expected average regret; null without a learner, and for
   * descent with rates, momentum or correlated noise.
   */
  readonly regretBound: { private: number; twin: number } | null;
  /** Runs at most `maxSteps` steps. Past the end: an empty chunk. */
  advance(maxSteps: number): SimulationChunk;
  /**
   * Returns the mean loss on `numExamples` examples of the synthetic stream that come after the
   * horizon: of the average of the weights played, whose expected risk exceeds that of any fixed
   * weights by at most the average regret where examples are independent, and of the latest
   * weights.
   */
  heldOutRisk(numExamples: number): HeldOutRisk;
}

/** Risks on the synthetic stream; the twin's, which learns without noise, is NOT private. */
export interface HeldOutRisk {
  average: { private: number; twin: number };
  last: { private: number; twin: number };
}
