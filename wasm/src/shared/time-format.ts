// SPDX-License-Identifier: Apache-2.0

// Formats of the cells in a time column, for the command and the page. A format is never guessed,
// because 03/04 is a day in March or in April; of a cell that others would read, those are named.

import type { Buckets } from './calendar.js';
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
} from './time-text.js';
import type { Written } from './time-text.js';

export const TIME_FORMATS = [
  'iso',
  'month-name',
  'seconds',
  'milliseconds',
  'day-month-year',
  'month-day-year',
  'log',
] as const;
export type TimeFormatName = (typeof TIME_FORMATS)[number];

export interface CellFormat {
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

/** Says how to make milliseconds of a number that would be a likely time in a finer unit. */
export function finerText(text: string): string | undefined {
  if (!/^\d{15,20}(?:\.0*)?$/.test(text)) return undefined;
  const found = Object.entries(FINER).find(([, parts]) => isLikely(Number(text) / parts));
  if (found === undefined) return undefined;
  const [unit, parts] = found;
  return `if these are ${unit} since 1970, divide them by ${parts}`;
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

const FORMATS: Readonly<Record<TimeFormatName, CellFormat>> = {
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
const UNAMBIGUOUS: CellFormat = { wanted: WANTED, parse: unambiguous };

/** Returns a format; without a name, that of times that can be read in one way only. */
export function formatOf(name: TimeFormatName | undefined): CellFormat {
  return name === undefined ? UNAMBIGUOUS : FORMATS[name];
}

/** Returns the formats that read all of some cells as likely times of these buckets. */
export function formatsOf(cells: readonly string[], buckets: Buckets): TimeFormatName[] {
  return TIME_FORMATS.filter((name) =>
    cells.every((cell) => {
      const read = FORMATS[name].parse(cell.trim());
      const time = read && timeIn(read, buckets);
      return typeof time === 'number' && isLikely(time);
    }),
  );
}

/** Returns the formats to suggest for a cell: those that also read `cells`, or else any. */
export function formatsFor(
  cell: string,
  cells: readonly string[],
  buckets: Buckets,
): TimeFormatName[] {
  const some = formatsOf([cell], buckets);
  const all = some.length === 0 ? [] : formatsOf([cell, ...cells], buckets);
  return all.length > 0 ? all : some;
}
