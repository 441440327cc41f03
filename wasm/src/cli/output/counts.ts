// SPDX-License-Identifier: Apache-2.0

// The readings of dp-ftrl count: counts per bucket, running totals, or both.

import type { Estimates, Step, Sums } from '../../types/streams/readings.js';
import type { ReleasedStep } from './released.js';

export type CountPart = 'count' | 'total';
type Numbers = Pick<Estimates, 'values' | 'stddev'>;
/** A reading of counts, of totals, or of both; a stream of one part does not name the part. */
export type Counts =
  | (Numbers & Step & { readonly nonprivate?: Numbers & Step })
  | Sums<CountPart, Numbers>;

export function partOf(reading: Counts, part: CountPart): Numbers {
  return 'sums' in reading ? reading.sums[part] : reading;
}

/** Adds up the counts of buckets, whose noises are independent. */
export class AddedCounts {
  private variance = 0;
  private readonly released: number[] = [];
  private readonly nonprivate: number[] = [];

  /** The counts and the totals after the next bucket. */
  next({ reading, time }: ReleasedStep<Counts>): ReleasedStep<Counts> {
    const { step, nonprivate } = reading;
    this.variance += partOf(reading, 'count').stddev ** 2;
    const added = { step, sums: this.added(reading, this.released) };
    if (!nonprivate) return { reading: added, time };
    const truth = { step, sums: this.added(nonprivate, this.nonprivate) };
    return { reading: { ...added, nonprivate: truth }, time };
  }

  private added(reading: Counts, totals: number[]): Record<CountPart, Numbers> {
    const count = partOf(reading, 'count');
    count.values.forEach((value, j) => (totals[j] = (totals[j] ?? 0) + value));
    const total = { values: Float64Array.from(totals), stddev: Math.sqrt(this.variance) };
    return { count, total };
  }
}
