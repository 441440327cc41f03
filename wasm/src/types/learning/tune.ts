// SPDX-License-Identifier: Apache-2.0

// Private tuning: settings of a learner chosen by the data, and what that costs.

import type { MechanismOptions } from '../mechanism.js';
import type { LearnOptions } from './learn.js';
import type { Candidate } from './model.js';

export interface LearnTunedOptions extends LearnOptions {
  /** 2 to 64 settings. Default: as `learn` chooses, a quarter of that rate, and four times it. */
  candidates?: readonly Candidate[];
  /** As of `tuningCost`. */
  composes?: boolean;
}

export interface TuningCostOptions extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>> {
  /** 2 to 64. */
  numCandidates: number;
  /**
   * Whether the model will be composed with other releases (`compose`): the choice then may cost an
   * account no more than the learners do. Default false: it may have epsilon itself.
   */
  composes?: boolean;
}

/** Budgets of the parts of a tuned model. */
export interface TuningCost {
  /** Epsilon of each candidate, at the same delta: what tuning leaves of the target. */
  learnerEpsilon: number;
  /** Epsilon of the choice, which has no delta and is paid for by the rows that are held out. */
  selectionEpsilon: number;
  /** Gaussian DP of the whole, for `compose`: it implies more than epsilon. */
  mu: number;
  /** zCDP of the whole. */
  rho: number;
}
