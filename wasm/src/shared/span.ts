// SPDX-License-Identifier: Apache-2.0

// The span of a table whose first and last bucket come from its rows. One row of the year 9999 or
// 1970, which often stands for a missing time, makes the span absurdly long, and is reported before
// anything is computed.

import type { Bucket } from './calendar.js';
import { nounAfter } from './counted.js';

/**
 * Largest distance between two rows, in buckets, that is accepted if it is more than half of all
 * buckets.
 */
const MOST_EMPTY: Readonly<Record<Bucket, number>> = {
  minute: 31 * 24 * 60,
  hour: 366 * 24,
  day: 10 * 366,
  week: 20 * 53,
  month: 30 * 12,
  year: 100,
};

/** Longest horizon at which rows may be arbitrarily rare; the most buckets per row beyond it. */
const [SHORT, MOST_PER_ROW] = [100_000, 100];

/** Longest horizon that is accepted, the limit of Toeplitz mechanisms. */
const MOST_STEPS = 2 ** 24;

const counted = (number: number, bucket: Bucket): string =>
  `${number.toLocaleString('en-US')} ${nounAfter(number, bucket)}`;

/**
 * Says that a row is in an earlier bucket than the row above it, and how many buckets earlier if
 * that is absurd.
 */
export function earlierText(distance: number, bucket: Bucket): string {
  if (distance <= MOST_EMPTY[bucket]) return `is in an earlier ${bucket} than the row above it`;
  return `is ${counted(distance, bucket)} before the row above it, so that one of them may be wrong`;
}

/** Two successive rows, or the first and the last one, and the number of buckets between them. */
interface Gap<Place> {
  /** Undefined for the first bucket, if it is declared. */
  from: Place | undefined;
  to: Place;
  distance: number;
}

/** Collects the steps of rows in time order. */
export class Span<Place> {
  private numRows = 0;
  private first: Place | undefined;
  private last: { step: number; place: Place } | undefined;
  private widest: Gap<Place> | undefined;

  /** @param hasFirst  whether step 0 is declared; otherwise it is the step of the first row. */
  constructor(
    private readonly bucket: Bucket,
    private readonly hasFirst: boolean,
  ) {}

  add(step: number, place: Place): void {
    const { last, widest } = this;
    const distance = step - (last?.step ?? 0);
    if (distance > (widest?.distance ?? 0))
      this.widest = { from: last?.place, to: place, distance };
    if (!this.hasFirst) this.first ??= place;
    this.numRows += 1;
    this.last = { step, place };
  }

  /** Explains why there are absurdly many buckets, if there are: a clause about the row `to`. */
  excess(nameOf: (place: Place | undefined) => string): { to: Place; what: string } | undefined {
    const { last, widest, numRows, bucket } = this;
    if (!last || !widest) return undefined;
    const numSteps = last.step + 1;
    const isGap = widest.distance > MOST_EMPTY[bucket] && 2 * widest.distance > numSteps;
    const isSparse = numSteps > SHORT && numSteps > MOST_PER_ROW * numRows;
    if (!isGap && !isSparse && numSteps <= MOST_STEPS) return undefined;
    const gap = isGap ? widest : { from: this.first, to: last.place, distance: last.step };
    const what = `is ${counted(gap.distance, bucket)} after ${nameOf(gap.from)}, so that there would be`;
    return {
      to: gap.to,
      what: `${what} ${counted(numSteps, bucket)}: correct or remove the wrong one`,
    };
  }
}
