// SPDX-License-Identifier: Apache-2.0

// Released steps, in the form that writers and charts take.

import type { Step as Reading } from '../../types/streams/readings.js';

export interface ReleasedStep<R extends Reading> {
  reading: R;
  /** Time of the step, if steps are times. */
  time: string | undefined;
}

/** Released steps, and the fault that follows them, if any. */
export interface ReleasedSteps<R extends Reading> {
  steps: ReleasedStep<R>[];
  fault?: Error;
}
