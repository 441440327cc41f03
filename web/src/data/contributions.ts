// SPDX-License-Identifier: Apache-2.0

// Turns the rows of a table into the records of each step, like the command with a user column and
// a time column, and like `peopleSum` of the library.

import type { Table } from 'dp-ftrl';
import { bucketOf, BUCKETS as buckets, bucketText } from '../../../wasm/src/shared/calendar.ts';
import type { Bucket, Buckets } from '../../../wasm/src/shared/calendar.ts';
import { earlierText, Span } from '../../../wasm/src/shared/span.ts';
import { timeIn, unambiguous, WANTED, type Written } from '../../../wasm/src/shared/time-text.ts';
import { unknownZone, Zone } from '../../../wasm/src/shared/zone.ts';
import { personOfId } from '../../../wasm/src/shared/person.ts';
import { CsvError, findColumn, placeOf, textsOf, type Column, type Csv } from './csv.ts';

export { buckets, type Bucket };

/** How cells that identify persons are read; the first is the default. */
export const idKinds = ['texts', 'numbers'] as const;
export type Ids = (typeof idKinds)[number];

/** Roles of columns that are not summed; '' if there is no such column. */
export interface Roles {
  /** Column that identifies the person of a row; without one, single rows are protected. */
  person: string;
  /** How cells of that column are read: with numbers, 7 and 007 are one person. */
  ids: Ids;
  /** Column with the time of a row; all rows of a bucket form one step. Without it, a row is a step. */
  time: string;
  bucket: Bucket;
  /** Zone by whose clocks buckets begin, and of times without an offset. */
  timeZone: string;
  /** Times in the first and the last bucket, declared beforehand; '' to take those of the rows. */
  from: string;
  to: string;
}

/** Limit on the rows of one person that count. */
export interface Limit {
  maxContributions: number;
  /** Fewest steps between two of them, j - i. */
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

/** Records to sum. Each step has as many as the fullest one, padded with zeros. */
export interface Records {
  table: Table;
  /** Number of records per step. */
  batchSize: number;
  /** Sums of all rows of each step, including those that do not count, before clipping. */
  raw: Float64Array;
  numSteps: number;
  numContributions: number;
  /** Number of rows left out by the limits on their person. */
  numDropped: number;
  /** Null without a user column. */
  numPersons: number | null;
  /** Times of the first and the last step; null without a time column. */
  span: [string, string] | null;
}

/** The page keeps every number of its records: 8 bytes each. */
const maxRecordEntries = 8_000_000;

type Role = RoleError['role'];

function columnOf(csv: Csv, name: string, role: Role): Column {
  const column = csv.columns.find((one) => one.name === name);
  if (column === undefined) throw new RoleError(role, `there is no column “${name}”`);
  return column;
}

function refuse(csv: Csv, row: number, { name }: Column, role: Role, what: string): never {
  throw new RoleError(role, `${placeOf(csv, row)}, column “${name}”: ${what}`);
}

/** Returns the person of each row, told apart as in the command and the package. */
function personsOf(csv: Csv, { person, ids }: Roles): string[] {
  const column = columnOf(csv, person, 'person');
  return textsOf(column).map((id, row) => {
    const name = personOfId(id, ids === 'numbers');
    if (name) return name;
    const what = name === '' ? 'is missing' : 'is not a number: read ids as texts';
    return refuse(csv, row, column, 'person', what);
  });
}

/** Times of a column as written; undefined for a cell that is no time. */
const knownTimes = new WeakMap<Column, (Written | undefined)[]>();

function timesOf(column: Column): (Written | undefined)[] {
  let times = knownTimes.get(column);
  if (times === undefined) {
    times = textsOf(column).map((text) => unambiguous(text.trim()));
    knownTimes.set(column, times);
  }
  return times;
}

function bucketsIn({ bucket, timeZone }: Roles): Buckets {
  const zone = Zone.of(timeZone);
  if (zone !== undefined) return { bucket, zone };
  throw new RoleError('time', `“${timeZone}” is not the name of a zone: ${unknownZone(timeZone)}`);
}

/** Returns a declared time; null if none is declared. */
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

/** Returns the bucket of a declared time; null if none is declared. */
function edgeOf(roles: Roles, name: 'from' | 'to'): number | null {
  const time = edgeTime(roles, name);
  return time === null ? null : bucketOf(time, bucketsIn(roles));
}

/** Returns the declared first and last bucket, like --from and --to of the command. */
function edgesOf(roles: Roles): { first: number | null; last: number | null } {
  const [first, last] = [edgeOf(roles, 'from'), edgeOf(roles, 'to')];
  if (first === null && last !== null) throw new RoleError('time', 'to needs from');
  if (first !== null && last !== null && last < first) {
    throw new RoleError('time', 'to must not be before from');
  }
  return { first, last };
}

/**
 * Returns the bucket number of each row; buckets must not decrease nor lie outside the declared
 * range.
 */
function bucketsOf(csv: Csv, roles: Roles): Float64Array {
  const { time, bucket } = roles;
  const column = columnOf(csv, time, 'time');
  const { first, last: end } = edgesOf(roles);
  const buckets = bucketsIn(roles);
  let last = -Infinity;
  const indices = Float64Array.from(timesOf(column), (written, row) => {
    if (written === undefined) refuse(csv, row, column, 'time', `must be ${WANTED}`);
    const at = timeIn(written, buckets);
    if (typeof at === 'string') refuse(csv, row, column, 'time', at);
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
    return index;
  });
  if (end === null) requireShort(csv, { column, indices, first, bucket });
  return indices;
}

/** Refuses rows whose times are absurdly far apart, before their steps are made. */
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
  indices.forEach((index, row) => span.add(index - origin, row));
  const excess = span.excess((row) => (row === undefined ? 'from' : placeOf(csv, row)));
  if (excess) refuse(csv, excess.to, column, 'time', `${excess.what}, or set from and to`);
}

/** Decides row by row which rows count. */
class Counting {
  private readonly seen = new Map<string, { count: number; last: number }>();

  constructor(private readonly limit: Limit) {}

  get numPersons(): number {
    return this.seen.size;
  }

  /** True if a row counts. In a step that counts, all rows of the person do. */
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
  /** Null without a user column. */
  persons: string[] | null;
  /** Number of the first bucket; 0, the first row, if there is no time column. */
  origin: number;
}

/** Returns the layout of a table; without a time column, every row is a step. */
function layoutOf(csv: Csv, roles: Roles): Layout {
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
  /** Returns the time of a step, from 0; null if steps have no times. */
  timeOf: ((step: number) => string) | null;
}

/**
 * Returns the rows of the first `maxSteps` steps that count. If a person has several in a step,
 * only the first counts, as in `peopleStatistic` of the library, because their sum would be no
 * actual record.
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

/** Returns the rows as records of steps. */
export function recordsOf(csv: Csv, names: readonly string[], roles: Roles, limit: Limit): Records {
  if (names.length === 0) throw new CsvError('choose at least one column to sum');
  const columns = names.map((name) => findColumn(csv, name).values);
  const width = columns.length;
  const { numSteps, stepOf, persons, origin } = layoutOf(csv, roles);
  checkSize(numSteps * width);
  const counting = new Counting(limit);
  const raw = new Float64Array(numSteps * width);
  /** Records in the order of their steps. */
  const steps: number[] = [];
  const values: number[] = [];
  let open = new Map<string, number>();
  let openStep = -1;
  let numDropped = 0;
  let batchSize = 1;
  let size = 0;
  for (let row = 0; row < csv.numRows; ++row) {
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

interface Sparse {
  steps: readonly number[];
  values: readonly number[];
  width: number;
  numSteps: number;
  batchSize: number;
}

/** Pads every step with zeros, which add nothing and are what an absent person contributes. */
function padded({ steps, values, width, numSteps, batchSize }: Sparse): Table {
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

/** Returns a text column named like a person whose values repeat; '' if there is none. */
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

/** Returns a column of times; '' if there is none. */
export function suggestTime(csv: Csv): string {
  return csv.columns.find((column) => isTimeColumn(csv, column))?.name ?? '';
}

export function isTimeColumn(csv: Csv, column: Column): boolean {
  const { faults, values } = column;
  if (faults.length > 0) {
    return faults.length === csv.numRows && timesOf(column).every((at) => at !== undefined);
  }
  const [first, last] = likelyYears;
  const areYears = values.every((value) => value >= first && value <= last);
  return areYears && timesOf(column).every((at) => at?.unit === 'year');
}

/** Numbers outside of these are no years. */
const likelyYears = [1800, 2100] as const;

/** Returns the shortest buckets that the times of a column fit, at least as long as `bucket`. */
export function fittingBucket(csv: Csv, name: string, bucket: Bucket): Bucket {
  const column = csv.columns.find((one) => one.name === name);
  const units = column === undefined ? [] : timesOf(column).map((at) => at?.unit);
  const least = units.includes('year') ? 'year' : units.includes('month') ? 'month' : bucket;
  return buckets.indexOf(bucket) < buckets.indexOf(least) ? least : bucket;
}

const isoText = (time: number): string => `${new Date(time).toISOString().slice(0, 19)}Z`;

/** Returns the usual name of a zone, or a name that is unknown as it is. */
export function zoneName(name: string): string {
  return Zone.of(name.trim())?.name ?? name.trim();
}

/** Returns the difference of a zone from UTC in milliseconds if it never changes. */
export function fixedOffset(zone: string): number | undefined {
  return Zone.of(zone)?.fixedOffset;
}

/** Returns a declared time in ISO 8601; '' if none is declared. */
export function edgeText(roles: Roles, name: 'from' | 'to'): string {
  const time = roles.time === '' ? null : edgeTime(roles, name);
  return time === null ? '' : isoText(time);
}

/** Returns the table with its times in ISO 8601, for programs that read no other times. */
export function withTimes(csv: Csv, roles: Roles): Csv {
  if (roles.time === '') return csv;
  const buckets = bucketsIn(roles);
  const columns = csv.columns.map((column) => {
    if (column.name !== roles.time) return column;
    const texts = textsOf(column);
    const faults = timesOf(column).map((written, row) => {
      const time = written && timeIn(written, buckets);
      return { row, text: typeof time === 'number' ? isoText(time) : texts[row]! };
    });
    return { ...column, faults };
  });
  return { ...csv, columns };
}
