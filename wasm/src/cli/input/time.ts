// SPDX-License-Identifier: Apache-2.0

// Timestamps, and the minutes, hours, days, weeks, months and years they lie in. All in UTC.

import { Misuse } from '../failure.js';
import type { Args, Known } from '../options/args.js';

export const TIME_OPTIONS: Known = {
  'time-column': 'value',
  bucket: 'value',
  from: 'value',
  to: 'value',
};

const BUCKETS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type Bucket = (typeof BUCKETS)[number];

const MINUTE = 60_000;
const LENGTH = { minute: MINUTE, hour: 60 * MINUTE, day: 1440 * MINUTE, week: 7 * 1440 * MINUTE };
/** 1970 began on a Thursday; weeks begin on Mondays. */
const WEEK_SHIFT = 3 * LENGTH.day;
const WANTED = 'a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z';

const DATE = String.raw`(\d{4})-(\d\d)-(\d\d)`;
const CLOCK = String.raw`(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?`;
const ZONE = String.raw`(Z|[+-]\d\d(?::?\d\d)?)?`;
const PATTERN = new RegExp(`^${DATE}(?:[T ]${CLOCK} ?${ZONE})?$`);

function offsetOf(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(3).replace(':', '') || 0);
  return (zone[0] === '-' ? -minutes : minutes) * MINUTE;
}

/** Milliseconds since 1970 of a time as ISO 8601 writes it; UTC where no zone is given. */
export function parseTime(text: string): number | undefined {
  const match = PATTERN.exec(text);
  if (match === null) return undefined;
  const [year, month, day, hour, minute, second] = match
    .slice(1, 7)
    .map((part) => Number(part ?? 0)) as [number, number, number, number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC would take the year 50 for 1950.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  // 60: a leap second.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  return date.getTime() + (hour * 60 + minute) * MINUTE + second * 1000 - offsetOf(match[7]);
}

/** Number of the bucket a time lies in. Consecutive buckets have consecutive numbers. */
export function bucketOf(time: number, bucket: Bucket): number {
  const date = new Date(time);
  if (bucket === 'year') return date.getUTCFullYear();
  if (bucket === 'month') return date.getUTCFullYear() * 12 + date.getUTCMonth();
  return Math.floor((time + (bucket === 'week' ? WEEK_SHIFT : 0)) / LENGTH[bucket]);
}

/** A bucket as the time at which it begins: `2026`, `2026-03`, `2026-03-02T09:00Z`. */
export function bucketText(index: number, bucket: Bucket): string {
  const pad = (value: number, width: number) => String(value).padStart(width, '0');
  if (bucket === 'year') return pad(index, 4);
  if (bucket === 'month') return `${pad(Math.floor(index / 12), 4)}-${pad((index % 12) + 1, 2)}`;
  const start = index * LENGTH[bucket] - (bucket === 'week' ? WEEK_SHIFT : 0);
  const text = new Date(start).toISOString();
  return bucket === 'day' || bucket === 'week' ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}

export interface Times {
  column: string;
  bucket: Bucket;
  /** First bucket; that of the first row where it is not given. */
  first: number | undefined;
  /** Last bucket, if the range is given. */
  last: number | undefined;
}

export function readTimes(args: Args): Times | undefined {
  const column = args.text('time-column');
  if (column === undefined) {
    const stray = ['bucket', 'from', 'to'].find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --time-column`);
    return undefined;
  }
  const rows = ['epochs', 'participations'].find((name) => args.has(name));
  if (rows !== undefined) {
    throw new Misuse(`--time-column protects a row, or a person by --user-column: no --${rows}`);
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
    // In a release of several runs --to ends one of them, and the state knows where it began.
    const isPart = args.has('state');
    if (first === undefined && !isPart) throw new Misuse('--to needs --from');
    if (args.has('steps') && !isPart) throw new Misuse('give --steps or --to, not both');
    if (first !== undefined && last < first) throw new Misuse('--to must not be before --from');
  }
  return { column, bucket, first, last };
}

/** Turns the times of the rows into steps, 0-based, which must not go back. */
export class Clock {
  private first: number | undefined;
  /** Step of the latest row. */
  step = -1;

  constructor(private readonly times: Times) {
    this.first = times.first;
  }

  /** The bucket of step 0, as soon as it is known. */
  get origin(): number | undefined {
    return this.first;
  }

  /** Step of the next row. */
  advance(text: string, where: { row: number; line: number }): number {
    const { column, bucket } = this.times;
    const place = `row ${where.row} (line ${where.line}), column ${JSON.stringify(column)}`;
    const time = parseTime(text.trim());
    if (time === undefined) {
      const fault = { code: 'not_a_time', ...where, column };
      throw new Misuse(`${place} must be ${WANTED}`, fault, text);
    }
    const index = bucketOf(time, bucket);
    this.first ??= index;
    const step = index - this.first;
    if (step < Math.max(0, this.step)) {
      const what =
        this.step < 0
          ? `before the ${bucket} of --from`
          : `in an earlier ${bucket} than the row above it: rows must be in time order`;
      throw new Misuse(`${place} is ${what}`, { code: 'out_of_order', ...where, column });
    }
    this.step = step;
    return step;
  }

  /** The bucket of a step, in words. */
  label(step: number): string {
    return bucketText((this.first ?? 0) + step, this.times.bucket);
  }
}
