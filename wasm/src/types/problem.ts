// SPDX-License-Identifier: Apache-2.0

// The problem that a strategy is chosen for.

import type { Bound, Participation, Workload } from './mechanism.js';

/** The sums of a stream, and how often one user contributes to them. */
export interface Problem {
  /** Horizon, 1 .. 2^40. */
  steps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /** How often a person contributes: like `participation`, but without epochs. */
  people?: Bound;
  /** Default 'once'. */
  participation?: Participation;
}
