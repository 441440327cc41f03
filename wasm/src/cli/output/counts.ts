// SPDX-License-Identifier: Apache-2.0

// The readings of dp-ftrl count: counts of each bucket, running totals, or both.

import type { Estimates, Sums, Totals } from '../../types/streams/readings.js';

export type Part = 'count' | 'total';
/** A stream of one part has no name for it. */
export type Counts = Totals | Sums<Part, Estimates>;

export function partOf(reading: Counts, part: Part): Estimates {
  return 'sums' in reading ? reading.sums[part] : reading;
}
