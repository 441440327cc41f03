// SPDX-License-Identifier: Apache-2.0

// Steps that were released, as writers and charts take them.

import type { Step as Reading } from '../../types/streams/readings.js';

export interface Step<R extends Reading> {
  reading: R;
  /** Time of the step, if steps are times. */
  time: string | undefined;
  /** Totals without noise, with --show-nonprivate. */
  truth: readonly number[] | undefined;
}

/** Released steps, and the fault that follows them, if any. */
export interface Released<R extends Reading> {
  steps: Step<R>[];
  fault?: Error;
}
