// SPDX-License-Identifier: Apache-2.0

// The problem that a strategy is chosen for.

import type { Workload } from './mechanism.js';
import type { Bound } from './streams/options.js';

/** The sums of a stream, and who contributes to them when. */
export interface Problem {
  /** Horizon, 1 .. 2^40. */
  steps: number;
  /** Default 'prefix'. */
  workload?: Workload;
  /** How often a person contributes. It is the same as a participation, but for epochs. */
  people?: Bound;
  /** Default 'once'. */
  participation?: Bound | { epochs: number };
}
