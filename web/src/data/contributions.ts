// SPDX-License-Identifier: Apache-2.0

// Turns the rows of a table into the records of each step, as the command does with a user column
// and a time column, and as the package does for streams with `people`.

import type { Table } from 'dp-ftrl';
import { bucketOf, BUCKETS as buckets, bucketText } from '../../../wasm/src/shared/calendar.ts';
import type { Bucket, Buckets } from '../../../wasm/src/shared/calendar.ts';
import { earlierText, Span } from '../../../wasm/src/shared/span.ts';
import { isMissing } from '../../../wasm/src/shared/missing.ts';
import {
  finerText,
  formatOf,
  formatsFor,
  formatsOf,
  TIME_FORMATS,
} from '../../../wasm/src/shared/time-format.ts';
import type { TimeFormatName } from '../../../wasm/src/shared/time-format.ts';
import { timeIn, unambiguous, WANTED, type ClockTime } from '../../../wasm/src/shared/time-text.ts';
import { unknownZone, Zone } from '../../../wasm/src/shared/zone.ts';
import { personOfId, sizeOfPerson } from '../../../wasm/src/shared/person.ts';
import {
  CsvError,
  faultsOf,
  findColumn,
  isQuantity,
  numRead,
  placeOf,
  textsOf,
  valuesOf,
} from './csv.ts';
import type { Column, Csv } from './csv.ts';
import { readMissing, type MissingChoice } from './missing-cells.ts';

export { buckets, type Bucket };

/** How cells that identify persons are read; the first is the default. */
export const idKinds = ['texts', 'numbers'] as const;
export type IdKind = (typeof idKinds)[number];

/** Formats of times; the default, the first, reads unambiguous times. */
export const timeFormats = ['any', ...TIME_FORMATS] as const;
export type TimeFormat = (typeof timeFormats)[number];

/** Name of each format, as it follows “times are”. */
export const timeFormatNames: Record<TimeFormat, string> = {
  any: 'like 2026-03-01 or Mar 1 2026',
  iso: 'like 2026-03-01',
  'month-name': 'like Mar 1 2026',
  seconds: 'in seconds since 1970',
  milliseconds: 'in milliseconds since 1970',
  'day-month-year': 'day first, like 31.12.2026',
  'month-day-year': 'month first, like 12/31/2026',
  log: 'like 31/Dec/2026:18:30:00',
};

/**
 * Roles of columns that are not summed ('' if no column has the role), and how their cells are
 * read.
 */
export interface Roles extends MissingChoice {
  /**
   * Column that identifies the person of a row; without such a column, single rows are protected.
   */
  person: string;
  /** How the cells of the person column are read: as numbers, 7 and 007 are one person. */
  ids: IdKind;
  /**
   * Column with the time of a row; all rows of a bucket form one step. Without such a column, a row
   * is a step.
   */
  time: string;
  /** Format in which the times are written. */
  timeFormat: TimeFormat;
  bucket: Bucket;
  /** Time zone in which buckets begin, and in which times without an offset are read. */
  timeZone: string;
  /**
   * Times within the first and the last bucket, declared in advance; '' to take them from the rows.
   */
  from: string;
  to: string;
}

/** Limit on the rows of one person that count. */
export interface Limit {
  maxContributions: number;
  /** Minimum separation j - i of two counted rows, in steps. */
  minSeparation: number;
}

/** Error for a column that cannot have its role. */
export class RoleError extends CsvError {
  constructor(
    readonly role: 'person' | 'time',
    message: string,
  ) {
    super(message);
  }
}

/** Records to sum. Every step is padded with zeros to the number of records of the fullest step. */
export interface StepRecords {
  table: Table;
  batchSize: number;
  /** Sum of all rows of each step before clipping, including rows that do not count. */
  raw: Float64Array;
  numSteps: number;
  numContributions: number;
  /** Number of rows beyond the limit of their person. */
  numDropped: number;
  /** Number of persons; null without a user column. */
  numPersons: number | null;
  /** Times of the first and the last step; null without a time column. */
  span: [string, string] | null;
}

/** The page keeps every number of its records, at 8 bytes each. */
const maxRecordEntries = 8_000_000;

type Role = RoleError['role'];

const gapText = 'is missing: fill it in, or choose that missing cells skip their row';

function columnOf(csv: Csv, name: string, role: Role): Column {
  const column = csv.columns.find((one) => one.name === name);
  if (column === undefined) throw new RoleError(role, `there is no column “${name}”`);
  return column;
}

function refuse(csv: Csv, row: number, { name }: Column, role: Role, what: string): never {
  throw new RoleError(role, `${placeOf(csv, row)}, column “${name}”: ${what}`);
}

/** Person of each row, identified in the same way as by the command and the package. */
function personsOf(csv: Csv, { person, ids }: Roles): string[] {
  const column = columnOf(csv, person, 'person');
  return textsOf(column).map((id, row) => {
    if (csv.skipped.has(row)) return '';
    const name = personOfId(id, ids === 'numbers');
    if (!name) {
      const what = name === '' ? gapText : 'is not a number: read ids as texts';
      return refuse(csv, row, column, 'person', what);
    }
    const size = sizeOfPerson(name);
    return typeof size === 'string' ? refuse(csv, row, column, 'person', `must be ${size}`) : name;
  });
}

type Times = readonly (ClockTime | undefined)[];

/** Times of a column as written, by their format; undefined for a cell that is not a time. */
const knownTimes = new WeakMap<Column, Map<TimeFormat, Times>>();

const nameOf = (format: TimeFormat): TimeFormatName | undefined =>
  format === 'any' ? undefined : format;

function timesOf(column: Column, format: TimeFormat): Times {
  if (!knownTimes.has(column)) knownTimes.set(column, new Map());
  const formats = knownTimes.get(column)!;
  let times = formats.get(format);
  if (times === undefined) {
    const { parse } = formatOf(nameOf(format));
    times = textsOf(column).map((text) => parse(text.trim()));
    formats.set(format, times);
  }
  return times;
}

/** Advice for a time that belongs to no bucket. */
function adviceOn({ unit, isLeap }: ClockTime): string {
  if (isLeap) return '';
  if (unit === 'year') return ': choose that a step is a year';
  if (unit === 'month') return ': choose that a step is a month or a year';
  return ': the zone says whose clocks show these times';
}

/** Explains why a cell is not a time in the chosen format, and names formats that would read it. */
function notATime(column: Column, row: number, roles: Roles): string {
  const texts = textsOf(column);
  if (isMissing(texts[row]!)) return gapText;
  const others = formatsFor(texts[row]!, texts, bucketsIn(roles));
  const names = others.map((name) => `“${timeFormatNames[name]}”`);
  const finer = finerText(texts[row]!);
  const hint =
    names.length > 0
      ? `; choose that times are ${names.join(' or ')}`
      : finer === undefined
        ? ''
        : `; ${finer}`;
  return `must be ${formatOf(nameOf(roles.timeFormat)).wanted}${hint}`;
}

function bucketsIn({ bucket, timeZone }: Roles): Buckets {
  const zone = Zone.of(timeZone);
  if (zone !== undefined) return { bucket, zone };
  throw new RoleError('time', `“${timeZone}” is not the name of a zone: ${unknownZone(timeZone)}`);
}

/** Declared time in the first or the last bucket; null if none is declared. */
function edgeTime(roles: Roles, name: 'from' | 'to'): number | null {
  const text = roles[name].trim();
  if (text === '') return null;
  const written = unambiguous(text);
  if (written === undefined)
    throw new RoleError('time', `${name} must be ${WANTED}, got “${text}”`);
  const time = timeIn(written, bucketsIn(roles));
  if (typeof time === 'number') return time;
  throw new RoleError('time', `${name} must be one ${roles.bucket}: “${text}” ${time}`);
}

/** First or last bucket; null if no time is declared. */
function edgeOf(roles: Roles, name: 'from' | 'to'): number | null {
  const time = edgeTime(roles, name);
  return time === null ? null : bucketOf(time, bucketsIn(roles));
}

/** First and last bucket, like --from and --to of the command. */
function edgesOf(roles: Roles): { first: number | null; last: number | null } {
  const [first, last] = [edgeOf(roles, 'from'), edgeOf(roles, 'to')];
  if (first === null && last !== null) throw new RoleError('time', 'to needs from');
  if (first !== null && last !== null && last < first) {
    throw new RoleError('time', 'to must not be before from');
  }
  return { first, last };
}

/** Bucket of each row. Refuses buckets that decrease or lie outside the declared range. */
function bucketsOf(csv: Csv, roles: Roles): Float64Array {
  const { time, bucket } = roles;
  const column = columnOf(csv, time, 'time');
  const { first, last: end } = edgesOf(roles);
  const buckets = bucketsIn(roles);
  let last = -Infinity;
  const times = timesOf(column, roles.timeFormat);
  const indices = new Float64Array(times.length);
  for (const [row, written] of times.entries()) {
    if (csv.skipped.has(row)) continue;
    if (written === undefined)
      return refuse(csv, row, column, 'time', notATime(column, row, roles));
    const at = timeIn(written, buckets);
    if (typeof at === 'string') refuse(csv, row, column, 'time', `${at}${adviceOn(written)}`);
    const index = bucketOf(at, buckets);
    if (index < last) {
      const what = earlierText(last - index, bucket);
      refuse(csv, row, column, 'time', `${what}: rows must be in time order`);
    }
    if (first !== null && index < first) {
      refuse(csv, row, column, 'time', `is before the ${bucket} of from`);
    }
    if (end !== null && index > end)
      refuse(csv, row, column, 'time', `is after the ${bucket} of to`);
    last = index;
    indices[row] = index;
  }
  fillSkipped(csv, indices);
  if (end === null) requireShort(csv, { column, indices, first, bucket });
  return indices;
}

/**
 * Gives each skipped row the bucket of the last row above it that is read or, failing that, of the
 * first row that is read.
 */
function fillSkipped({ skipped }: Csv, indices: Float64Array): void {
  let latest = indices[indices.findIndex((_, row) => !skipped.has(row))]!;
  for (let row = 0; row < indices.length; ++row) {
    if (skipped.has(row)) indices[row] = latest;
    latest = indices[row]!;
  }
}

/** Refuses rows whose times are implausibly far apart, before steps are created for them. */
function requireShort(
  csv: Csv,
  {
    column,
    indices,
    first,
    bucket,
  }: {
    column: Column;
    indices: Float64Array;
    first: number | null;
    bucket: Bucket;
  },
): void {
  const span = new Span<number>(bucket, first !== null);
  const origin = first ?? indices[0]!;
  indices.forEach((index, row) => {
    if (!csv.skipped.has(row)) span.add(index - origin, row);
  });
  const excess = span.excess((row) => (row === undefined ? 'from' : placeOf(csv, row)));
  if (excess) refuse(csv, excess.to, column, 'time', `${excess.what}, or set from and to`);
}

/**
 * Decides row by row which rows count, by the rule of streams with `people`. The rule is repeated
 * here, because the controls need the answer at once, and the package runs in a worker.
 */
class Counting {
  private readonly seen = new Map<string, { count: number; last: number }>();

  constructor(private readonly limit: Limit) {}

  get numPersons(): number {
    return this.seen.size;
  }

  /**
   * True if a row counts. If one row of a person in a step counts, all their rows in that step do.
   */
  takes(person: string, step: number): boolean {
    const { maxContributions, minSeparation } = this.limit;
    const known = this.seen.get(person);
    if (known === undefined) {
      this.seen.set(person, { count: 1, last: step });
      return true;
    }
    if (known.last === step) return true;
    if (known.count >= maxContributions || step - known.last < minSeparation) return false;
    known.count += 1;
    known.last = step;
    return true;
  }
}

/** Step and person of each row. */
interface Layout {
  numSteps: number;
  stepOf(row: number): number;
  /** Person of each row; null without a user column. */
  persons: string[] | null;
  /** Bucket of step 0; without a time column, 0 for the first row. */
  origin: number;
}

/** Assigns rows to steps; without a time column, every row is a step. */
function layoutOf(csv: Csv, roles: Roles): Layout {
  if (numRead(csv) === 0) throw new CsvError('no row is left: each has a missing cell');
  const indices = roles.time === '' ? null : bucketsOf(csv, roles);
  const persons = roles.person === '' ? null : personsOf(csv, roles);
  const edges = indices === null ? { first: null, last: null } : edgesOf(roles);
  const origin = edges.first ?? indices?.[0] ?? 0;
  const end = edges.last ?? indices?.at(-1) ?? csv.numRows - 1;
  const stepOf = (row: number): number => (indices === null ? row : indices[row]! - origin);
  return { numSteps: end - origin + 1, stepOf, persons, origin };
}

/** Rows that count, as separate records. */
export interface CountedRows {
  rows: number[];
  /** Index in `rows` of the first row of each step, followed by the length of `rows`. */
  starts: number[];
  numDropped: number;
  /** Time of a step (steps count from 0); null if steps have no times. */
  timeOf: ((step: number) => string) | null;
}

/**
 * Rows that count in the first `maxSteps` steps. If a person has several rows in a step, only the
 * first counts, as in a histogram of people, because the sum of their rows would not be an actual
 * record.
 */
export function countedRows(csv: Csv, roles: Roles, limit: Limit, maxSteps: number): CountedRows {
  const { numSteps, stepOf, persons, origin } = layoutOf(csv, roles);
  const counting = new Counting(limit);
  const latest = new Map<string, number>();
  const rows: number[] = [];
  const starts = [0];
  let numDropped = 0;
  for (let row = 0; row < csv.numRows; ++row) {
    const step = stepOf(row);
    if (step >= maxSteps) break;
    while (starts.length <= step) starts.push(rows.length);
    if (csv.skipped.has(row)) continue;
    const person = persons?.[row];
    if (person !== undefined && (latest.get(person) === step || !counting.takes(person, step))) {
      numDropped += 1;
      continue;
    }
    if (person !== undefined) latest.set(person, step);
    rows.push(row);
  }
  while (starts.length <= Math.min(numSteps, maxSteps)) starts.push(rows.length);
  const timeOf =
    roles.time === '' ? null : (step: number) => bucketText(origin + step, bucketsIn(roles));
  return { rows, starts, numDropped, timeOf };
}

/** The people of each day, by id, each as often as they have rows on that day. */
export interface DayPeople {
  days: readonly (readonly string[])[];
  numPersons: number;
  /** Date of a day; days count from 0. */
  timeOf(day: number): string;
}

/** The events of a table by day, for counts of active people. */
export function peopleByDay(csv: Csv, roles: Roles): DayPeople {
  const { time } = roles;
  if (fittingBucket(csv, time, 'day') !== 'day') {
    throw new RoleError('time', `active people are counted by day, but “${time}” has no days`);
  }
  const byDay: Roles = { ...roles, bucket: 'day' };
  const read = readFor(csv, [], byDay);
  const { numSteps, stepOf, persons, origin } = layoutOf(read, byDay);
  const days = Array.from({ length: numSteps }, (): string[] => []);
  for (const [row, person] of persons!.entries()) {
    if (!read.skipped.has(row)) days[stepOf(row)]!.push(person);
  }
  const timeOf = (day: number): string => bucketText(origin + day, bucketsIn(byDay));
  return { days, numPersons: new Set(days.flat()).size, timeOf };
}

/** Reads the table for sums or a statistic of some columns. */
export function readFor(csv: Csv, names: readonly string[], roles: Roles): Csv {
  const texts = [roles.person, roles.time].filter((name) => name !== '');
  return readMissing(csv, { numbers: names, texts }, roles);
}

/** Columns whose cells are all numbers. */
export function numberColumns(csv: Csv, roles: Roles): string[] {
  const areNumbers = ({ name }: Column): boolean => {
    const read = readFor(csv, [name], roles);
    return faultsOf(read, read.columns.find((one) => one.name === name)!).length === 0;
  };
  return csv.columns.filter(areNumbers).map(({ name }) => name);
}

/** Suggests the column to sum; none if no column is clearly a quantity. */
export function suggestQuantity(csv: Csv, roles: Roles): string[] {
  const isFree = (name: string): boolean => name !== roles.person && name !== roles.time;
  const found = numberColumns(csv, roles).find(
    (name) => isFree(name) && isQuantity(readFor(csv, [name], roles), name),
  );
  return found === undefined ? [] : [found];
}

/** Converts the rows of a table to records of steps. */
export function recordsOf(
  table: Csv,
  names: readonly string[],
  roles: Roles,
  limit: Limit,
): StepRecords {
  if (names.length === 0) throw new CsvError('choose at least one column to sum');
  const csv = readFor(table, names, roles);
  const columns = names.map((name) => findColumn(csv, name).values);
  const width = columns.length;
  const { numSteps, stepOf, persons, origin } = layoutOf(csv, roles);
  checkSize(numSteps * width);
  const counting = new Counting(limit);
  const raw = new Float64Array(numSteps * width);
  /** Step of each record, in order. */
  const steps: number[] = [];
  const values: number[] = [];
  let open = new Map<string, number>();
  let openStep = -1;
  let numDropped = 0;
  let batchSize = 1;
  let size = 0;
  for (let row = 0; row < csv.numRows; ++row) {
    if (csv.skipped.has(row)) continue;
    const step = stepOf(row);
    if (step !== openStep) [open, openStep, size] = [new Map(), step, 0];
    for (let k = 0; k < width; ++k) raw[step * width + k]! += columns[k]![row]!;
    const person = persons?.[row];
    if (person !== undefined && !counting.takes(person, step)) {
      numDropped += 1;
      continue;
    }
    let at = person === undefined ? undefined : open.get(person);
    if (at === undefined) {
      at = steps.length;
      steps.push(step);
      for (let k = 0; k < width; ++k) values.push(0);
      if (person !== undefined) open.set(person, at);
      size += 1;
      if (size > batchSize) batchSize = size;
    }
    for (let k = 0; k < width; ++k) values[at * width + k]! += columns[k]![row]!;
  }
  return {
    table: padded({ steps, values, width, numSteps, batchSize }),
    batchSize,
    raw,
    numSteps,
    numContributions: steps.length,
    numDropped,
    numPersons: persons === null ? null : counting.numPersons,
    span:
      roles.time === ''
        ? null
        : [
            bucketText(origin, bucketsIn(roles)),
            bucketText(origin + numSteps - 1, bucketsIn(roles)),
          ],
  };
}

function checkSize(entries: number): void {
  if (entries <= maxRecordEntries) return;
  const most = maxRecordEntries.toLocaleString('en-US');
  throw new RoleError(
    'time',
    `the page keeps at most ${most} numbers, counting as many records in every step as in the ` +
      `fullest; got ${entries.toLocaleString('en-US')}: choose another bucket`,
  );
}

interface SparseRecords {
  steps: readonly number[];
  values: readonly number[];
  width: number;
  numSteps: number;
  batchSize: number;
}

/** Pads every step with zeros, which add nothing and equal the contribution of an absent person. */
function padded({ steps, values, width, numSteps, batchSize }: SparseRecords): Table {
  checkSize(numSteps * batchSize * width);
  const full = new Float64Array(numSteps * batchSize * width);
  let place = 0;
  for (const [at, step] of steps.entries()) {
    place = at > 0 && steps[at - 1] === step ? place + 1 : 0;
    for (let k = 0; k < width; ++k) {
      full[(step * batchSize + place) * width + k] = values[at * width + k]!;
    }
  }
  return { numRows: numSteps * batchSize, numColumns: width, values: full };
}

/** Words in the names of columns that identify a person. */
const personWords = /user|person|member|customer|client|patient|visitor|student|employee|account/i;

/**
 * Suggests a text column whose name suggests ids of persons and whose values recur; '' if there is
 * none.
 */
export function suggestPerson(csv: Csv): string {
  const person = csv.columns.find((column) => {
    const { name, faults } = column;
    if (!personWords.test(name)) return false;
    if (faults.length < csv.numRows || isTimeColumn(csv, column)) return false;
    const texts = new Set(faults.map(({ text }) => text));
    return texts.size > 1 && 2 * texts.size <= csv.numRows && !texts.has('');
  });
  return person?.name ?? '';
}

/** Suggests a column of times; '' if there is none. */
export function suggestTime(csv: Csv): string {
  return csv.columns.find((column) => isTimeColumn(csv, column))?.name ?? '';
}

/** True if a column holds unambiguous times. */
export function isTimeColumn(csv: Csv, column: Column): boolean {
  if (numRead(csv) === 0) return false;
  const times = (): Times => timesOf(column, 'any').filter((_, row) => !csv.skipped.has(row));
  const faults = faultsOf(csv, column);
  if (faults.length > 0) {
    return faults.length === numRead(csv) && times().every((at) => at !== undefined);
  }
  const [first, last] = likelyYears;
  const areYears = valuesOf(csv, column).every((value) => value >= first && value <= last);
  return areYears && times().every((at) => at?.unit === 'year');
}

/** Formats in which a column holds plausible times, by table and column. */
const knownFormats = new WeakMap<Csv, Map<string, readonly TimeFormat[]>>();

/** Formats in which the column holds plausible times; empty if it cannot hold times. */
function formatsIn(csv: Csv, column: Column): readonly TimeFormat[] {
  if (!knownFormats.has(csv)) knownFormats.set(csv, new Map());
  const formats = knownFormats.get(csv)!;
  const found = formats.get(column.name) ?? findFormats(csv, column);
  formats.set(column.name, found);
  return found;
}

function findFormats(csv: Csv, column: Column): readonly TimeFormat[] {
  if (isTimeColumn(csv, column)) return ['any'];
  const texts = textsOf(column).filter((_, row) => !csv.skipped.has(row));
  if (texts.length === 0) return [];
  return formatsOf(texts, { bucket: 'day', zone: Zone.UTC });
}

/** Numbers outside this range are not taken for years. */
const likelyYears = [1800, 2100] as const;

/** The shortest bucket, at least as long as `bucket`, into which all times of a column fit. */
export function fittingBucket(csv: Csv, name: string, bucket: Bucket): Bucket {
  const column = csv.columns.find((one) => one.name === name);
  const units = column === undefined ? [] : timesOf(column, 'any').map((at) => at?.unit);
  const least = units.includes('year') ? 'year' : units.includes('month') ? 'month' : bucket;
  return buckets.indexOf(bucket) < buckets.indexOf(least) ? least : bucket;
}

/** The format that reads a column; the default format if none does or several do. */
export function fittingFormat(csv: Csv, name: string, choice: MissingChoice): TimeFormat {
  const read = readMissing(csv, { numbers: [], texts: [name] }, choice);
  const column = read.columns.find((one) => one.name === name);
  const [format = 'any', ...others] = column === undefined ? [] : formatsIn(read, column);
  return others.length > 0 ? 'any' : format;
}

/** True if a column holds times in some format. */
export function canBeTime(csv: Csv, column: Column, choice: MissingChoice): boolean {
  const read = readMissing(csv, { numbers: [], texts: [column.name] }, choice);
  return formatsIn(read, column).length > 0;
}

const isoText = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Canonical name of a time zone; an unknown name is returned unchanged. */
export function zoneName(name: string): string {
  return Zone.of(name.trim())?.name ?? name.trim();
}

/** Offset from UTC in milliseconds; undefined unless the offset of the zone never changes. */
export function fixedOffset(zone: string): number | undefined {
  return Zone.of(zone)?.fixedOffset;
}

/** Declared time in ISO 8601; '' if none is declared. */
export function edgeText(roles: Roles, name: 'from' | 'to'): string {
  const time = roles.time === '' ? null : edgeTime(roles, name);
  return time === null ? '' : isoText(time);
}

/** Rewrites times in ISO 8601, for programs that read no other times. */
export function withTimes(csv: Csv, roles: Roles): Csv {
  if (roles.time === '') return csv;
  const buckets = bucketsIn(roles);
  const columns = csv.columns.map((column) => {
    if (column.name !== roles.time) return column;
    const texts = textsOf(column);
    const faults = timesOf(column, roles.timeFormat).map((written, row) => {
      const time = written && timeIn(written, buckets);
      return { row, text: typeof time === 'number' ? isoText(time) : texts[row]! };
    });
    return { ...column, faults };
  });
  return { ...csv, columns };
}
