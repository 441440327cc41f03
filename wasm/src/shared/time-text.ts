// SPDX-License-Identifier: Apache-2.0

// Parses unambiguous times: the year comes first, or the month is a word. Also used by the page.

import { bucketOf, BUCKETS, type Bucket, type Buckets } from './calendar.js';
import { HOUR, MINUTE, offsetOf, SECOND } from './zone.js';

/** A time as written. */
export interface ClockTime {
  /** Reading of the clock, in milliseconds since 1970. */
  wall: number;
  /** Offset of that clock from UTC; undefined if it is not written. */
  offset: number | undefined;
  /** Precision of the time. */
  unit: 'year' | 'month' | 'day' | 'time';
  /** Set if the time is a leap second, which is not supported here. */
  isLeap?: true;
}

/** Describes the accepted formats in messages. */
export const WANTED =
  'a date such as 2026-03-01 or Mar 1 2026, or a time such as 2026-03-01T09:30:00Z';

/** Times have years of four digits, like the names of buckets. */
const [FIRST, LAST] = [Date.parse('0000-01-01'), Date.parse('9999-12-31T23:59:59.999Z')];

export function isInRange(time: number): boolean {
  return time >= FIRST && time <= LAST;
}

const SPACE = String.raw`[ \u00a0\u202f]`;
/** Hour 24 is the end of a day: 24:00:00 and nothing later. */
const CLOCK = String.raw`(?!24:00(?::00)?[.,]\d*[1-9])(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:${SPACE}?([ap])\.?m\.?)?`;
const OFFSET = String.raw`[+-]\d\d(?::?\d\d(?::\d\d)?)?`;
/** UTC or an offset. A zone name after an offset is ignored. */
const ZONE = String.raw`(?:${SPACE}?(?:(z|utc?|gmt)|(?:utc|gmt)?(${OFFSET}))(?:${SPACE}?(?:\[[\w/+-]+\]|\([^)]*\)|utc|[a-z]{3,5}))?)?`;
/** A time of day and its zone, after a date. */
export const TIME = `(?:(?:t|,?${SPACE}+)${CLOCK}${ZONE})?`;

/** Texts of year, month and day, then of hour, minute, second, am or pm, UTC and offset. */
export type TimeParts = readonly (string | undefined)[];

/** The hour on a 24-hour clock; `half` is the first letter of am or pm, if given. */
function hourOf(hour: number, half: string | undefined): number {
  if (half === undefined) return hour;
  if (hour < 1 || hour > 12) return NaN; // There is no such hour.
  return (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
}

/** @param parts  a missing month or day means the first one; the unit is then a year or a month. */
export function writtenOf(parts: TimeParts): ClockTime | undefined {
  const [year, month, day] = parts;
  const [y, m, d] = [Number(year), Number(month ?? 1), Number(day ?? 1)];
  const date = new Date(0);
  date.setUTCFullYear(y, m - 1, d); // Date.UTC would take the year 50 for 1950.
  if (date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return undefined;
  const unit =
    month === undefined
      ? 'year'
      : day === undefined
        ? 'month'
        : parts[3] === undefined
          ? 'day'
          : 'time';
  if (unit !== 'time') return { wall: date.getTime(), offset: undefined, unit };
  const hour = hourOf(Number(parts[3]), parts[6]);
  const [minute, second] = [Number(parts[4]), Number(parts[5] ?? 0)];
  // In ISO 8601, 24:00 is 00:00 of the next day.
  const isEnd = hour === 24 && minute === 0 && second === 0;
  if (!(hour <= 23 || isEnd) || minute > 59 || second > 60) return undefined;
  const offset =
    parts[7] !== undefined ? 0 : parts[8] === undefined ? undefined : offsetOf(parts[8]);
  if (parts[8] !== undefined && offset === undefined) return undefined;
  const wall = date.getTime() + hour * HOUR + minute * MINUTE + second * SECOND;
  return { wall, offset, unit, ...(second === 60 && { isLeap: true }) };
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const FULL =
  'january|february|march|april|may|june|july|august|september|october|november|december';
export const MONTH = String.raw`(${FULL}|${MONTHS.join('|')}|sept)\.?`;

/** The number of a month, from its name or the beginning of its name. */
export function monthOf(name: string): string {
  return String(MONTHS.indexOf(name.slice(0, 3).toLowerCase()) + 1);
}

const pattern = (text: string): RegExp => new RegExp(`^${text}$`, 'i');

const DATED = pattern(String.raw`(\d{4})([-/.])(\d{1,2})\2(\d{1,2})${TIME}`);
const COMPACT = pattern(
  String.raw`(\d{4})(\d\d)(\d\d)(?:t(?!2400(?:00)?[.,]\d*[1-9])(\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?${ZONE})?`,
);
const YEAR = /^(\d{4})(?:\.0+)?$/;
const YEAR_MONTH = /^(\d{4})[-/](\d{1,2})$/;
const MONTH_YEAR = /^(\d{1,2})[-/](\d{4})$/;

/** Reads a time whose year comes first, as in ISO 8601, a year, or a month of a year. */
export function yearFirst(text: string): ClockTime | undefined {
  const dated = DATED.exec(text);
  if (dated !== null) return writtenOf([dated[1], ...dated.slice(3)]);
  const compact = COMPACT.exec(text);
  if (compact !== null) {
    const [, ...parts] = compact;
    return writtenOf([...parts.slice(0, 6), undefined, ...parts.slice(6)]);
  }
  const year = YEAR.exec(text);
  if (year !== null) return writtenOf([year[1]]);
  const month = YEAR_MONTH.exec(text);
  if (month !== null) return writtenOf([month[1], month[2]]);
  const reversed = MONTH_YEAR.exec(text);
  return reversed === null ? undefined : writtenOf([reversed[2], reversed[1]]);
}

const WEEKDAY = String.raw`(?:(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday)\.?,?${SPACE}+)?`;
const DAY_OF_MONTH = String.raw`(\d{1,2})(?:st|nd|rd|th)?`;
const GAP = `(?:${SPACE}+|-|/)`;
const NAMED_FIRST = pattern(`${WEEKDAY}${MONTH}${GAP}${DAY_OF_MONTH},?${GAP}(\\d{4})${TIME}`);
const NAMED_SECOND = pattern(`${WEEKDAY}${DAY_OF_MONTH}${GAP}${MONTH},?${GAP}(\\d{4})${TIME}`);
const NAMED_LAST = pattern(String.raw`(\d{4})${GAP}${MONTH}${GAP}${DAY_OF_MONTH}${TIME}`);
const NAMED_ALONE = pattern(`${MONTH},?${GAP}(\\d{4})`);
/** Format of `date` and `asctime`, where the year comes last. */
const SYSTEM = pattern(
  `${WEEKDAY}${MONTH}${SPACE}+(\\d{1,2})${SPACE}+${CLOCK}${ZONE}${SPACE}+(\\d{4})`,
);

/** Reads a time whose month is an English word. */
export function monthNamed(text: string): ClockTime | undefined {
  if (!/[a-z]{3}/i.test(text)) return undefined;
  let found: RegExpExecArray | null;
  if ((found = NAMED_FIRST.exec(text))) {
    return writtenOf([found[3], monthOf(found[1]!), found[2], ...found.slice(4)]);
  }
  if ((found = NAMED_SECOND.exec(text))) {
    return writtenOf([found[3], monthOf(found[2]!), found[1], ...found.slice(4)]);
  }
  if ((found = NAMED_LAST.exec(text))) {
    return writtenOf([found[1], monthOf(found[2]!), found[3], ...found.slice(4)]);
  }
  if ((found = SYSTEM.exec(text))) {
    return writtenOf([found[9], monthOf(found[1]!), ...found.slice(2, 9)]);
  }
  found = NAMED_ALONE.exec(text);
  return found === null ? undefined : writtenOf([found[2], monthOf(found[1]!)]);
}

/** Reads an unambiguous time. */
export function unambiguous(text: string): ClockTime | undefined {
  return yearFirst(text) ?? monthNamed(text);
}

/** A clause that says why a time falls into none of the buckets. */
export type TimeFault = string;

/** Milliseconds since 1970, or the reason why no bucket contains this time. */
export function timeIn(
  { wall, offset, unit, isLeap }: ClockTime,
  { bucket, zone }: Buckets,
): number | TimeFault {
  if (isLeap) return 'has second 60, a leap second: write second 59';
  const coarsest: Bucket = unit === 'time' || unit === 'day' ? 'minute' : unit;
  if (BUCKETS.indexOf(bucket) < BUCKETS.indexOf(coarsest)) {
    return unit === 'year' ? 'is a year without a month' : 'is a month without a day';
  }
  let time = offset === undefined ? zone.timeOf(wall) : wall - offset;
  if (time === undefined && unit !== 'time') time = zone.movedStart(wall);
  if (time === undefined) return `is skipped by the clocks of ${zone.name}`;
  if (isInRange(time) && isInRange(zone.wall(time))) return time;
  return 'is not between the years 0 and 9999';
}

/** Bucket number from its text; undefined for other texts. */
export function bucketOfText(text: string, buckets: Buckets): number | undefined {
  const written = unambiguous(text);
  const time = written && timeIn(written, buckets);
  return typeof time === 'number' ? bucketOf(time, buckets) : undefined;
}
