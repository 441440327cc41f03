// SPDX-License-Identifier: Apache-2.0

// Parses timestamps and finds the minute, hour, day, week, month or year they lie in, all in UTC.
// The page uses this file, too.

export const BUCKETS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type Bucket = (typeof BUCKETS)[number];

const MINUTE = 60_000;
const LENGTH = { minute: MINUTE, hour: 60 * MINUTE, day: 1440 * MINUTE, week: 7 * 1440 * MINUTE };
/** 1970 began on a Thursday; weeks begin on Mondays. */
const WEEK_SHIFT = 3 * LENGTH.day;
/** Describes the accepted formats in messages. */
export const WANTED = 'a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z';

const DATE = String.raw`(\d{4})-(\d\d)-(\d\d)`;
const CLOCK = String.raw`(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?`;
const ZONE = String.raw`(Z|[+-]\d\d(?::?\d\d)?)?`;
const PATTERN = new RegExp(`^${DATE}(?:[T ]${CLOCK} ?${ZONE})?$`);

/** Returns the offset from UTC in milliseconds; undefined if it is invalid. */
function offsetOf(zone: string | undefined): number | undefined {
  if (zone === undefined || zone === 'Z') return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(3).replace(':', '') || 0)];
  if (hours > 23 || minutes > 59) return undefined;
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * MINUTE;
}

/** Year, month and day in digits, then hour, minute and second, which may be missing. */
export type TimeParts = readonly (string | undefined)[];

/**
 * Returns milliseconds since 1970; undefined if the time is invalid.
 *
 * @param zone  `Z` or an offset; default: UTC.
 */
export function timeOfParts(parts: TimeParts, zone: string | undefined): number | undefined {
  const [year, month, day, hour, minute, second] = Array.from({ length: 6 }, (_, i) =>
    Number(parts[i] ?? 0),
  ) as [number, number, number, number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day); // Date.UTC would take the year 50 for 1950.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  // Second 60 is a leap second.
  const offset = offsetOf(zone);
  if (hour > 23 || minute > 59 || second > 60 || offset === undefined) return undefined;
  const time = date.getTime() + (hour * 60 + minute) * MINUTE + second * 1000 - offset;
  const utcYear = new Date(time).getUTCFullYear();
  return utcYear < 0 || utcYear > 9999 ? undefined : time;
}

/** Returns milliseconds since 1970 of an ISO 8601 time, which is in UTC unless it has a zone. */
export function parseTime(text: string): number | undefined {
  const match = PATTERN.exec(text);
  return match === null ? undefined : timeOfParts(match.slice(1, 7), match[7]);
}

/**
 * Returns the number of the bucket a time lies in. Consecutive buckets have consecutive numbers.
 */
export function bucketOf(time: number, bucket: Bucket): number {
  const date = new Date(time);
  if (bucket === 'year') return date.getUTCFullYear();
  if (bucket === 'month') return date.getUTCFullYear() * 12 + date.getUTCMonth();
  return Math.floor((time + (bucket === 'week' ? WEEK_SHIFT : 0)) / LENGTH[bucket]);
}

/** Formats a bucket as the time at which it begins: `2026`, `2026-03`, `2026-03-02T09:00Z`. */
export function bucketText(index: number, bucket: Bucket): string {
  const pad = (value: number, width: number) => String(value).padStart(width, '0');
  if (bucket === 'year') return pad(index, 4);
  if (bucket === 'month') return `${pad(Math.floor(index / 12), 4)}-${pad((index % 12) + 1, 2)}`;
  const start = index * LENGTH[bucket] - (bucket === 'week' ? WEEK_SHIFT : 0);
  const text = new Date(start).toISOString();
  return bucket === 'day' || bucket === 'week' ? text.slice(0, 10) : `${text.slice(0, 16)}Z`;
}
