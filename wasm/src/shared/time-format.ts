// SPDX-License-Identifier: Apache-2.0

// Formats of the cells in a time column, for the command and the page. A format is never guessed,
// because 03/04 is a day in March or in April; a message names the formats that would read a cell.

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
import type { ClockTime } from './time-text.js';

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
  parse(text: string): ClockTime | undefined;
}

/** Range of plausible times in a column of numbers or of another ambiguous format. */
const [FIRST_LIKELY, LAST_LIKELY] = [Date.UTC(1973), Date.UTC(2101)];

const isLikely = (time: number): boolean => time >= FIRST_LIKELY && time < LAST_LIKELY;

/**
 * Parses a number of seconds or milliseconds. An unlikely time that would be likely in the other
 * unit is refused: all rows would be in another century.
 */
function sinceEpoch(text: string, unit: 1 | 1000): ClockTime | undefined {
  if (!/^-?\d{1,15}(?:\.\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  const [wall, other] = [number * unit, (number * 1000) / unit];
  if (!isInRange(wall) || (!isLikely(wall) && isLikely(other))) return undefined;
  return { wall, offset: 0, unit: 'time' };
}

/**
 * Units finer than a millisecond in which some files give times, and their number in a millisecond.
 */
const FINER = { microseconds: 1000, nanoseconds: 1e6 };

/** Says how to convert to milliseconds a number that would be a likely time in a finer unit. */
export function finerText(text: string): string | undefined {
  if (!/^\d{15,20}(?:\.0*)?$/.test(text)) return undefined;
  const found = Object.entries(FINER).find(([, parts]) => isLikely(Number(text) / parts));
  if (found === undefined) return undefined;
  const [unit, parts] = found;
  return `if these are ${unit} since 1970, divide them by ${parts}`;
}

/** The range of days since 1900 that lie between 1973 and 2100. */
const [FIRST_DAY, LAST_DAY] = [26_665, 73_415];

/**
 * Describes a text that looks like a spreadsheet's serial date, or like a time with a named zone.
 */
export function lookAlikeText(text: string): string | undefined {
  const day = /^\d{5}(?:\.\d+)?$/.test(text) ? Number(text) : NaN;
  if (day >= FIRST_DAY && day <= LAST_DAY)
    return 'if these are days since 1900, as spreadsheets count them, save the column as dates';
  const [, time = '', zone = ''] = /^(.*\d) ?([a-z]{2,5})$/i.exec(text) ?? [];
  if (unambiguous(time)?.unit !== 'time') return undefined;
  return `${zone.toUpperCase()} is the name of several zones: write the offset instead, such as -05:00`;
}

/** Two numbers and a year with equal separators, and optionally a time of day. */
const DATED = new RegExp(String.raw`^(\d{1,2})([./-])(\d{1,2})\2(\d{4})${TIME}$`, 'i');

function dated(text: string, isDayFirst: boolean): ClockTime | undefined {
  const match = DATED.exec(text);
  if (match === null) return undefined;
  const [, first, , second, year, ...rest] = match;
  return writtenOf([year, ...(isDayFirst ? [second, first] : [first, second]), ...rest]);
}

const LOGGED = new RegExp(String.raw`^\[?(\d\d)/${MONTH}/(\d{4}):(.*?)\]?$`, 'i');

/** Parses a time in the Common Log Format of web servers. */
function logged(text: string): ClockTime | undefined {
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

/** Reads unambiguous times. */
const UNAMBIGUOUS: CellFormat = { wanted: WANTED, parse: unambiguous };

/** The format of a name; undefined names the format of unambiguous times. */
export function formatOf(name: TimeFormatName | undefined): CellFormat {
  return name === undefined ? UNAMBIGUOUS : FORMATS[name];
}

/** Formats that read all given cells as likely times of these buckets. */
export function formatsOf(cells: readonly string[], buckets: Buckets): TimeFormatName[] {
  return TIME_FORMATS.filter((name) =>
    cells.every((cell) => {
      const read = FORMATS[name].parse(cell.trim());
      const time = read && timeIn(read, buckets);
      return typeof time === 'number' && isLikely(time);
    }),
  );
}

/**
 * Suggests formats for a cell: those that read `cells` as well or, if there are none, all that read
 * the cell.
 */
export function formatsFor(
  cell: string,
  cells: readonly string[],
  buckets: Buckets,
): TimeFormatName[] {
  const some = formatsOf([cell], buckets);
  const all = some.length === 0 ? [] : formatsOf([cell, ...cells], buckets);
  return all.length > 0 ? all : some;
}
