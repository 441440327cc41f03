// SPDX-License-Identifier: Apache-2.0

// The span of the times of a table whose first and last bucket are those of its rows. One row of
// the year 9999 or 1970, which often stands for a missing time, makes it absurdly long; that is
// said before anything is computed for so many steps.

import type { Bucket } from '../../shared/calendar.js';
import { Misuse } from '../failure.js';
import { placeText, type Place } from './place.js';
import type { Times } from './time.js';

/** Most buckets without rows between two rows, if they are more than half of all buckets. */
const MOST_EMPTY: Readonly<Record<Bucket, number>> = {
  minute: 31 * 24 * 60,
  hour: 366 * 24,
  day: 10 * 366,
  week: 20 * 53,
  month: 30 * 12,
  year: 100,
};

/** Horizon that is never too long, and most buckets per row of a longer one. */
const [SHORT, MOST_PER_ROW] = [100_000, 100];

/** Longest horizon of any mechanism. */
const MOST_STEPS = 2 ** 24;

/** Two successive rows, or the first and the last one, and the number of buckets between them. */
interface Gap {
  /** Undefined for the bucket of --from. */
  from: Place | undefined;
  to: Place;
  distance: number;
}

/** Collects the steps of rows in time order. */
export class Span {
  private numRows = 0;
  private first: Place | undefined;
  private last: { step: number; place: Place } | undefined;
  private widest: Gap | undefined;

  constructor(private readonly times: Times) {}

  add(step: number, place: Place): void {
    const { last, widest } = this;
    const distance = step - (last?.step ?? 0);
    if (distance > (widest?.distance ?? 0)) this.widest = { from: last?.place, to: place, distance };
    if (this.times.first === undefined) this.first ??= place;
    this.numRows += 1;
    this.last = { step, place };
  }

  /** @throws Misuse if there are absurdly many buckets, which names two rows that cause it. */
  check(): void {
    const { last, widest, numRows } = this;
    if (!last || !widest) return;
    const { bucket } = this.times;
    const numSteps = last.step + 1;
    const isGap = widest.distance > MOST_EMPTY[bucket] && 2 * widest.distance > numSteps;
    const isSparse = numSteps > SHORT && numSteps > MOST_PER_ROW * numRows;
    if (!isGap && !isSparse && numSteps <= MOST_STEPS) return;
    const gap = isGap ? widest : { from: this.first, to: last.place, distance: last.step };
    throw this.refusal(gap, numSteps);
  }

  private refusal({ from, to, distance }: Gap, numSteps: number): Misuse {
    const { column, bucket } = this.times;
    const counted = (number: number) => `${number.toLocaleString('en-US')} ${bucket}s`;
    const start = from === undefined ? '--from' : placeText(from);
    const what = `is ${counted(distance)} after ${start}, so that there would be ${counted(numSteps)}`;
    const hint = 'correct or remove the wrong one, or give --from and --to';
    return new Misuse(`${placeText(to, column)} ${what}: ${hint}`, { code: 'past_horizon', ...to, column });
  }
}
