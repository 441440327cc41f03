// SPDX-License-Identifier: Apache-2.0

// --time-format: format of the cells in a time column. It is never guessed, because 03/04 is a day
// in March or in April; a cell that other formats would read is refused with their names.

import type { Buckets } from '../../shared/calendar.js';
import {
  isInRange,
  monthNamed,
  monthOf,
  MONTH,
  TIME,
  timeIn,
  unambiguous,
  WANTED,
  writtenOf,
  yearFirst,
} from '../../shared/time-text.js';
import type { Written } from '../../shared/time-text.js';
import type { Args } from '../options/args.js';
import { Missing } from './missing.js';

export const TIME_FORMATS = [
  'iso',
  'month-name',
  'seconds',
  'milliseconds',
  'day-month-year',
  'month-day-year',
  'log',
] as const;
type Name = (typeof TIME_FORMATS)[number];

interface Format {
  /** Description of a cell in this format. */
  wanted: string;
  parse(text: string): Written | undefined;
}

/** Times that a column of numbers or of another format plausibly has. */
const [FIRST_LIKELY, LAST_LIKELY] = [Date.UTC(1973), Date.UTC(2101)];

const isLikely = (time: number): boolean => time >= FIRST_LIKELY && time < LAST_LIKELY;

/**
 * Parses a number of seconds or milliseconds. One that is an unlikely time, but would be a likely
 * one in the other unit, is refused: all rows would be in another century.
 */
function sinceEpoch(text: string, unit: 1 | 1000): Written | undefined {
  if (!/^-?\d{1,15}(?:\.\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  const [wall, other] = [number * unit, (number * 1000) / unit];
  if (!isInRange(wall) || (!isLikely(wall) && isLikely(other))) return undefined;
  return { wall, offset: 0, unit: 'time' };
}

/** Parts of a millisecond since 1970 in which some files have times, and how many make one. */
const FINER = { microseconds: 1000, nanoseconds: 1e6 };

/** Says how to read a number that would be a likely time in a finer unit; or ''. */
function finerHint(text: string): string {
  if (!/^\d{15,20}(?:\.0*)?$/.test(text)) return '';
  const found = Object.entries(FINER).find(([, parts]) => isLikely(Number(text) / parts));
  if (found === undefined) return '';
  const [unit, parts] = found;
  const how = `divide them by ${parts} and give --time-format milliseconds`;
  return `; if these are ${unit} since 1970, ${how}`;
}

/** Two numbers and a year with equal separators, and optionally a clock. */
const DATED = new RegExp(String.raw`^(\d{1,2})([./-])(\d{1,2})\2(\d{4})${TIME}$`, 'i');

function dated(text: string, isDayFirst: boolean): Written | undefined {
  const match = DATED.exec(text);
  if (match === null) return undefined;
  const [, first, , second, year, ...rest] = match;
  return writtenOf([year, ...(isDayFirst ? [second, first] : [first, second]), ...rest]);
}

const LOGGED = new RegExp(String.raw`^\[?(\d\d)/${MONTH}/(\d{4}):(.*?)\]?$`, 'i');

/** Parses a time in the Common Log Format of web servers. */
function logged(text: string): Written | undefined {
  const match = LOGGED.exec(text);
  if (match === null) return undefined;
  const [, day, month, year, clock] = match;
  return yearFirst(`${year}-${monthOf(month!)}-${day}T${clock}`);
}

const FORMATS: Readonly<Record<Name, Format>> = {
  iso: {
    wanted: 'a date such as 2026-03-01, or a time such as 2026-03-01T09:30:00Z',
    parse: yearFirst,
  },
  'month-name': {
    wanted: 'a date such as Mar 1 2026, or a time such as 1 March 2026 09:30',
    parse: monthNamed,
  },
  seconds: {
    wanted: 'seconds since 1970 such as 1772355600, up to the year 9999',
    parse: (text) => sinceEpoch(text, 1000),
  },
  milliseconds: {
    wanted: 'milliseconds since 1970 such as 1772355600000, up to the year 9999',
    parse: (text) => sinceEpoch(text, 1),
  },
  'day-month-year': {
    wanted: 'a date such as 31.12.2026 or 31/12/2026, or a time such as 31/12/2026 18:30',
    parse: (text) => dated(text, true),
  },
  'month-day-year': {
    wanted: 'a date such as 12/31/2026, or a time such as 12/31/2026 6:30 PM',
    parse: (text) => dated(text, false),
  },
  log: { wanted: 'a time such as 31/Dec/2026:18:30:00 +0000', parse: logged },
};

/** Reads what can be read in one way only. */
const UNAMBIGUOUS: Format = { wanted: WANTED, parse: unambiguous };

/** Reads the cells of a time column. */
export class TimeFormat {
  private constructor(
    private readonly format: Format,
    private readonly buckets: Buckets,
    /** Whether the cells are numbers, which may be no times at all. */
    readonly isNumeric: boolean,
    private readonly missing: Missing,
  ) {}

  static read(args: Args, buckets: Buckets): TimeFormat {
    const name = args.has('time-format') ? args.oneOf('time-format', TIME_FORMATS) : undefined;
    const isNumeric = name === 'seconds' || name === 'milliseconds';
    const format = name === undefined ? UNAMBIGUOUS : FORMATS[name];
    const missing = Missing.read(args, { areSteps: false });
    return new TimeFormat(format, buckets, isNumeric, missing);
  }

  /** Returns milliseconds since 1970. */
  parse(text: string): number | undefined {
    const written = this.format.parse(text);
    const time = written && timeIn(written, this.buckets);
    return typeof time === 'number' ? time : undefined;
  }

  /**
   * Explains why a cell is no time of these buckets: a code, and a text to follow the place of the
   * cell. Other formats are named if they read it as a likely time, and all of `texts` if any does.
   */
  fault(text: string, texts: readonly string[]): { code: string; what: string } {
    const written = this.format.parse(text);
    const why = written && timeIn(written, this.buckets);
    if (typeof why === 'string')
      return { code: 'not_a_time', what: `${why}${this.advice(written!)}` };
    const reads = (name: Name, cell: string) => {
      const read = FORMATS[name].parse(cell.trim());
      const time = read && timeIn(read, this.buckets);
      return typeof time === 'number' && isLikely(time);
    };
    const some = TIME_FORMATS.filter((name) => reads(name, text));
    const all = some.filter((name) => texts.every((cell) => reads(name, cell)));
    const others = all.length > 0 ? all : some;
    const hint = others.length > 0 ? `; --time-format ${others.join(' or ')} would read it` : '';
    const code = others.length > 1 ? 'ambiguous_time' : 'not_a_time';
    const cell = text.trim();
    const more = hint || finerHint(cell) || this.missing.hint(cell);
    return { code, what: `must be ${this.format.wanted}${more}` };
  }

  private advice({ unit, isLeap }: Written): string {
    if (isLeap) return '';
    if (unit === 'year') return ': give --bucket year';
    if (unit === 'month') return ': give --bucket month or year';
    return '; --time-zone says whose clocks show these times';
  }
}
