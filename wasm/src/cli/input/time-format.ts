// SPDX-License-Identifier: Apache-2.0

// --time-format: format of the cells in a time column. It is never guessed, because 03/04 is a day
// in March or in April; a cell that other formats would read is refused with their names.

import { parseTime, timeOfParts, WANTED } from '../../shared/calendar.js';
import type { Args } from '../options/args.js';

export const TIME_FORMATS = [
  'iso',
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
  /** Returns milliseconds since 1970. */
  parse(text: string): number | undefined;
}

/** The range of ISO 8601, whose years have four digits, like those of buckets. */
const [FIRST, LAST] = [parseTime('0000-01-01')!, parseTime('9999-12-31T23:59:59Z')! + 999];

function sinceEpoch(text: string, unit: number): number | undefined {
  const time = /^-?\d{1,15}(?:\.\d+)?$/.test(text) ? Number(text) * unit : NaN;
  return time >= FIRST && time <= LAST ? time : undefined;
}

const CLOCK = String.raw`(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?`;
const ZONE = String.raw`(Z|[+-]\d\d(?::?\d\d)?)?`;
/** Two numbers and a year with equal separators, and optionally a 24-hour or 12-hour clock. */
const DATED = new RegExp(
  String.raw`^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:,?[T ]${CLOCK}(?: ?([AaPp])[Mm])? ?${ZONE})?$`,
);

/** The hour on a 24-hour clock; `half` is the first letter of am or pm, if given. */
function hourOf(hour: string | undefined, half: string | undefined): string | undefined {
  if (half === undefined || hour === undefined) return hour;
  const [number, isAfternoon] = [Number(hour), half.toLowerCase() === 'p'];
  if (number < 1 || number > 12) return '24'; // There is no such hour.
  return String((number % 12) + (isAfternoon ? 12 : 0));
}

function dated(text: string, isDayFirst: boolean): number | undefined {
  const match = DATED.exec(text);
  if (match === null) return undefined;
  const [, first, , second, year, hour, minute, seconds, half, zone] = match;
  const [day, month] = isDayFirst ? [first, second] : [second, first];
  return timeOfParts([year, month, day, hourOf(hour, half), minute, seconds], zone);
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const LOGGED = new RegExp(String.raw`^\[?(\d\d)/([A-Za-z]{3})/(\d{4}):${CLOCK} ?${ZONE}\]?$`);

/** Parses a time in the Common Log Format of web servers. */
function logged(text: string): number | undefined {
  const match = LOGGED.exec(text);
  if (match === null) return undefined;
  const [, day, name, year, hour, minute, second, zone] = match;
  const month = MONTHS.indexOf(name!.toLowerCase()) + 1;
  return timeOfParts([year, String(month), day, hour, minute, second], zone);
}

const FORMATS: Readonly<Record<Name, Format>> = {
  iso: { wanted: WANTED, parse: parseTime },
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

/** Reads the cells of a time column. */
export class TimeFormat {
  private constructor(private readonly format: Format) {}

  static read(args: Args): TimeFormat {
    return new TimeFormat(FORMATS[args.oneOf('time-format', TIME_FORMATS)]);
  }

  parse(text: string): number | undefined {
    return this.format.parse(text);
  }

  /** Explains why a cell lacks this format: a code, and a text to follow the place of the cell. */
  fault(text: string): { code: string; what: string } {
    const others = TIME_FORMATS.filter((name) => FORMATS[name].parse(text) !== undefined);
    const hint = others.length > 0 ? `; --time-format ${others.join(' or ')} would read it` : '';
    const code = others.length > 1 ? 'ambiguous_time' : 'not_a_time';
    return { code, what: `must be ${this.format.wanted}${hint}` };
  }
}
