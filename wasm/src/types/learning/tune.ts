// SPDX-License-Identifier: Apache-2.0

// Private tuning of a learner's settings, and its privacy cost.

import type { MechanismOptions } from '../mechanism.js';
import type { LearnOptions } from './learn.js';
import type { Candidate } from './model.js';

export interface LearnTunedOptions extends LearnOptions {
  /**
   * 2 to 64 candidate settings. Default: the settings that `learn` chooses, with its rate, a
   * quarter of it, and four times it.
   */
  candidates?: readonly Candidate[];
  /** As for `tuningCost`. */
  composes?: boolean;
}

export interface TuningCostOptions extends Required<Pick<MechanismOptions, 'epsilon' | 'delta'>> {
  /** Number of candidates, 2 to 64. */
  numCandidates: number;
  /**
   * Whether the model will be composed with other releases (`compose`), in which case the choice
   * may cost an account no more than the learners do. If false (default), its epsilon may equal the
   * target's.
   */
  composes?: boolean;
}

/** Privacy budgets of the parts of a tuned model. */
export interface TuningCost {
  /** Epsilon of each candidate, at the same delta: the part of the target that tuning leaves. */
  learnerEpsilon: number;
  /** Epsilon of the choice, which is pure DP and is spent on the held-out rows only. */
  selectionEpsilon: number;
  /** Gaussian DP of the whole, for `compose`; it implies an epsilon above the target. */
  mu: number;
  /** zCDP of the whole. */
  rho: number;
}
