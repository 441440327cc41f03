// SPDX-License-Identifier: Apache-2.0

// Options for rows that are events in time, and the step of each row.

import { Misuse } from '../failure.js';
import type { Args, Known } from '../options/args.js';
import { faultAt, type Place } from './place.js';
import { TimeFormat } from './time-format.js';
import { bucketOf, BUCKETS, bucketText, parseTime, WANTED, type Bucket } from '../../shared/calendar.js';

export const TIME_OPTIONS: Known = {
  'time-column': 'value',
  'time-format': 'value',
  bucket: 'value',
  from: 'value',
  to: 'value',
};

/** Advice for rows outside a range of buckets. */
export const OUTSIDE = 'rows outside --from and --to are refused, remove them from the file first';

export interface Times {
  column: string;
  format: TimeFormat;
  bucket: Bucket;
  /** First bucket; if not given, the bucket of the first row. */
  first: number | undefined;
  /** Last bucket, if the range is given. */
  last: number | undefined;
}

export function readTimes(args: Args): Times | undefined {
  const column = args.text('time-column');
  if (column === undefined) {
    const stray = ['bucket', 'time-format', 'from', 'to'].find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --time-column`);
    return undefined;
  }
  const rows = ['epochs', 'participations'].find((name) => args.has(name));
  if (rows !== undefined) {
    throw new Misuse(`with --time-column one row is protected, not a user: no --${rows}`);
  }
  if (!args.has('bucket')) throw new Misuse(`--time-column needs --bucket ${BUCKETS.join('|')}`);
  const bucket = args.oneOf('bucket', BUCKETS, 'day');
  const edge = (name: string) => {
    const text = args.text(name);
    if (text === undefined) return undefined;
    const time = parseTime(text);
    if (time === undefined) {
      throw new Misuse(`--${name} must be ${WANTED}, got ${JSON.stringify(text)}`);
    }
    return bucketOf(time, bucket);
  };
  const [first, last] = [edge('from'), edge('to')];
  if (last !== undefined) {
    // In a release of several runs, --to ends one run; the state records where the release began.
    const isPart = args.has('state');
    if (first === undefined && !isPart) throw new Misuse('--to needs --from');
    if (args.has('steps') && !isPart) throw new Misuse('give --steps or --to, not both');
    if (first !== undefined && last < first) throw new Misuse('--to must not be before --from');
  }
  return { column, format: TimeFormat.read(args), bucket, first, last };
}

/** Time of a row, in milliseconds since 1970. */
export function timeOf(
  text: string,
  { column, format }: Pick<Times, 'column' | 'format'>,
  where: Place,
): number {
  const time = format.parse(text.trim());
  if (time !== undefined) return time;
  throw faultAt(where, { ...format.fault(text.trim()), column }, text);
}

/** End of the message for a row that is out of order. */
export const IN_ORDER = 'rows must be in time order';

/** Turns the times of the rows into 0-based steps, which must not decrease. */
export class Clock {
  private first: number | undefined;
  /** Step of the latest row. */
  step = -1;

  constructor(private readonly times: Times) {
    this.first = times.first;
  }

  /** Bucket of step 0, or undefined until it is known. */
  get origin(): number | undefined {
    return this.first;
  }

  /** Returns the step of the next row. */
  advance(text: string, where: Place): number {
    const { column, bucket } = this.times;
    const index = bucketOf(timeOf(text, this.times, where), bucket);
    this.first ??= index;
    const step = index - this.first;
    if (step < Math.max(0, this.step)) {
      const what =
        this.step < 0
          ? `is before the ${bucket} of --from: ${OUTSIDE}`
          : `is in an earlier ${bucket} than the row above it: ${IN_ORDER}`;
      throw faultAt(where, { code: 'out_of_order', what, column });
    }
    this.step = step;
    return step;
  }

  /** The bucket of a step, in words. */
  label(step: number): string {
    return bucketText((this.first ?? 0) + step, this.times.bucket);
  }
}
