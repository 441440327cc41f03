// SPDX-License-Identifier: Apache-2.0

// True and private sums side by side, for study.

import type { Certificate } from '../certificate.js';
import type { Handle } from '../instance.js';
import type { LearnerOptions } from '../streams/learner.js';
import type { LinearLoss } from '../streams/loss.js';
import type { PrivacyTarget, StreamOptions } from '../streams/options.js';

/**
 * Synthetic streams. `heavy-tailed` has features of infinite variance, so that clipping matters;
 * `sparse` has about 7 of 8 features at 0; `adversarial` answers the private learner's weights with
 * the example that is worst for it.
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

export interface SimulationOptions
  extends PrivacyTarget,
    Pick<StreamOptions, 'steps' | 'participation' | 'neighbours' | 'strategy'>,
    Pick<LearnerOptions, 'clip' | 'domain' | 'radius' | 'lambda' | 'doubling' | 'descent'> {
  /** Entries (features) of each record; taken from the table if there is one. Default 4. */
  dimension?: number;
  /** Synthetic stream (ignored when a table is given). Default 'stationary'. */
  stream?: StreamName;
  /** Seed of the synthetic stream. Default 1. */
  streamSeed?: number | bigint;
  /** Seed of the noise, always fixed: a simulation is never a private release. Default 1. */
  noiseSeed?: number | bigint;
  /** Data to use instead of a synthetic stream; without `labels` only sums are simulated. */
  table?: Table;
  /** Loss of both learners. Default 'logistic'. */
  loss?: Exclude<LinearLoss, { softmax: number }>;
  /**
   * Examples per step, or records for a table without labels. A last batch that the table does not
   * fill is left out. Default 1.
   */
  batchSize?: number;
  /** Prefixes at which regret is measured; 0 disables it. Default 64. */
  numRegretPrefixes?: number;
}

export interface AdvanceOptions {
  /** Stops early, with fewer steps, after about this time. Default: no limit. */
  maxMilliseconds?: number;
}

/** Results of consecutive steps; k = steps, d = dimension, b = batchSize. */
export interface SimulationChunk {
  firstStep: number;
  steps: number;
  /** k*d, row-major. SECRET in a real deployment. */
  trueSums: Float64Array;
  /** k*d, row-major: the sums that would be released. */
  noisySums: Float64Array;
  /** k: predicted std of the noise of each coordinate of the release. */
  stddev: Float64Array;
  /** k: mean loss of the predictions made before learning; empty without a learner. */
  privateLoss: Float64Array;
  twinLoss: Float64Array;
  /** k*b entries, each 0 or 1, step after step; empty if labels are not classes. */
  privateCorrect: Uint8Array;
  twinCorrect: Uint8Array;
  /** Average regret after `steps` steps, at the prefixes within this chunk. */
  regret: {
    steps: Float64Array;
    private: Float64Array;
    twin: Float64Array;
    /** Certified optimality gap of the comparator, in units of the average loss. */
    gap: Float64Array;
  };
}

/**
 * Shows true and private sums side by side, for demonstration and study. NEVER private: the seed of
 * its noise is fixed, and it holds and returns the true sums, which a deployment must keep secret.
 * Its certificate equals the certificate of `totals` with the same options and no seed.
 */
export interface Simulation extends Handle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly steps: number;
  readonly step: number;
  readonly finished: boolean;
  readonly learns: boolean;
  /** True if labels are classes, so that accuracy is defined. */
  readonly classifies: boolean;
  /**
   * True if no gradient can exceed the clip norm. If false, `regretBound` bounds the regret of the
   * clipped problem.
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
  /** Runs at most `maxSteps` steps. Returns an empty chunk past the end. */
  advance(maxSteps: number, options?: AdvanceOptions): SimulationChunk;
  /**
   * Mean losses of the average of the iterates and of the latest weights, on `numExamples` examples
   * of the synthetic stream after the horizon. If examples are independent, the expected risk of
   * the average exceeds the risk of any fixed weights by at most the expected average regret.
   */
  heldOutRisk(numExamples: number): HeldOutRisk;
}

/** Risks on the synthetic stream. The twin learns without noise, so its risk is NOT private. */
export interface HeldOutRisk {
  average: { private: number; twin: number };
  last: { private: number; twin: number };
}
