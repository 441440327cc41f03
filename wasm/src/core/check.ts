// SPDX-License-Identifier: Apache-2.0

// Checks arguments from JavaScript: types, shapes and integers. The core checks ranges, and its
// messages are passed on.

import { closest } from '../shared/closest.js';
import { makeError, within, type ErrorPlace } from './errors.js';

export type Fields = Record<string, unknown>;

const SHORT = 20;
const LONG = 60;

/** Describes a value in a message: "string", "null", "array", "number 5". */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (ArrayBuffer.isView(value)) return Object.prototype.toString.call(value).slice(8, -1);
  const kind = typeof value;
  const isShown =
    kind === 'number' || kind === 'boolean' || (kind === 'string' && String(value).length <= SHORT);
  return isShown ? `${kind} ${show(value)}` : kind;
}

/** Formats a value for a message. */
function show(value: unknown): string {
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'string') return Object(value) === value ? kindOf(value) : String(value);
  const text = JSON.stringify(value);
  return text.length <= LONG ? text : `${text.slice(0, LONG)}... (${value.length} characters)`;
}

function refused(
  code: 'wrong_type' | 'invalid_argument',
  where: ErrorPlace,
  parameter: string,
  wanted: string,
  value: string,
): Error {
  return makeError(code, where, { parameter, constraint: `must be ${wanted}`, value });
}

export function wrongType(where: ErrorPlace, name: string, wanted: string, value: unknown): Error {
  return refused('wrong_type', where, name, wanted, kindOf(value));
}

export function outOfRange(where: ErrorPlace, name: string, wanted: string, value: unknown): Error {
  return refused('invalid_argument', where, name, wanted, show(value));
}

/** Lists the known names, and suggests the closest one. */
function listing(known: readonly string[], name: string): string {
  const near = closest(name, known);
  return `${known.join(', ')}${near === undefined ? '' : ` (did you mean ${near}?)`}`;
}

/** Requires an integer between 0 and `most`. */
export function requireCount(
  where: ErrorPlace,
  name: string,
  value: unknown,
  most: number,
): number {
  if (typeof value !== 'number') throw wrongType(where, name, 'a number', value);
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw outOfRange(where, name, `an integer from 0 to ${most}`, value);
  }
  return value;
}

/** True for a Uint8Array of any realm. */
export function isBytes(value: unknown): value is Uint8Array {
  return (
    ArrayBuffer.isView(value) && Object.prototype.toString.call(value) === '[object Uint8Array]'
  );
}

/**
 * Reads the own enumerable properties of an options object, each once. Unknown keys are refused,
 * and known keys that are inherited or not enumerable, too: a misspelt or an inherited `neighbours`
 * must not be ignored. Properties that others put on `Object.prototype` are not options.
 */
export function optionsObject(where: ErrorPlace, value: unknown, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, 'options', 'an object', value);
  }
  const own = Object.assign(Object.create(null) as Fields, value);
  for (const key of Object.keys(own)) {
    if (!known.includes(key)) {
      // Options may share a name, as learners and mechanisms share lambda.
      const constraint = `is an unknown option; known are ${listing([...new Set(known)], key)}`;
      throw makeError('wrong_type', where, { parameter: key, constraint });
    }
  }
  const hidden = known.find((key) => key in value && !(key in own) && !(key in Object.prototype));
  if (hidden !== undefined) {
    const wanted = 'an own enumerable property of options';
    throw refused('wrong_type', where, hidden, wanted, 'an inherited one');
  }
  return own;
}

/** Reads options one by one, and names the option in every error. */
export class Reader {
  constructor(
    readonly where: ErrorPlace,
    private readonly fields: Fields,
  ) {}

  has(name: string): boolean {
    return this.fields[name] !== undefined;
  }

  raw(name: string): unknown {
    return this.fields[name];
  }

  number(name: string): number {
    const value = this.fields[name];
    if (typeof value !== 'number') throw wrongType(this.where, name, 'a number', value);
    return value;
  }

  numberOr<T>(name: string, fallback: T): number | T {
    return this.has(name) ? this.number(name) : fallback;
  }

  /**
   * Reads a count. It is passed to the core as a double, so it has to be a safe integer; the core
   * checks its range.
   */
  count(name: string): number {
    const value = this.number(name);
    if (!Number.isInteger(value)) throw outOfRange(this.where, name, 'an integer', value);
    if (!Number.isSafeInteger(value))
      throw outOfRange(this.where, name, 'an integer of at most 2^53 - 1', value);
    return value;
  }

  countOr<T>(name: string, fallback: T): number | T {
    return this.has(name) ? this.count(name) : fallback;
  }

  flag(name: string): boolean {
    const value = this.fields[name];
    if (typeof value !== 'boolean') throw wrongType(this.where, name, 'a boolean', value);
    return value;
  }

  flagOr(name: string, fallback: boolean): boolean {
    return this.has(name) ? this.flag(name) : fallback;
  }

  oneOf<T extends string>(name: string, known: readonly T[]): T {
    const value = this.fields[name];
    if (typeof value !== 'string') throw wrongType(this.where, name, 'a string', value);
    if (!(known as readonly string[]).includes(value)) {
      const wanted = known.length === 1 ? known[0]! : `one of ${listing(known, value)}`;
      throw outOfRange(this.where, name, wanted, value);
    }
    return value as T;
  }

  /** Defaults to the first of the known names unless a fallback is given. */
  oneOfOr<T extends string>(name: string, known: readonly T[], fallback = known[0]!): T {
    return this.has(name) ? this.oneOf(name, known) : fallback;
  }

  /** Reads a 64-bit seed as a bigint. */
  seed(name: string): bigint {
    const value = this.fields[name];
    if (typeof value !== 'number' && typeof value !== 'bigint') {
      throw wrongType(this.where, name, 'a number or a bigint', value);
    }
    const wanted =
      typeof value === 'number' ? 'an integer from 0 to 2^53 - 1' : 'from 0 to 2^64 - 1';
    if (typeof value === 'number' ? !Number.isSafeInteger(value) : value >= 1n << 64n) {
      throw outOfRange(this.where, name, wanted, value);
    }
    if (value < 0) throw outOfRange(this.where, name, wanted, value);
    return BigInt(value);
  }

  seedOr<T>(name: string, fallback: T): bigint | T {
    return this.has(name) ? this.seed(name) : fallback;
  }
}

/** The keys of `value` must be among `known`. */
export function readOptions(where: ErrorPlace, value: unknown, known: readonly string[]): Reader {
  return new Reader(where, optionsObject(where, value, known));
}

/** Reads an option that is an object, whose keys must be among `known`. */
export function readNested(
  where: ErrorPlace,
  name: string,
  value: unknown,
  wanted: string,
  known: readonly string[],
): Reader {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, name, wanted, value);
  }
  return new Reader(where, optionsObject(within(where, name), value, known));
}

/** Picks the named options that are present. */
export function optionsOf(reader: Reader, names: readonly string[]): Fields {
  const given = names.filter((name) => reader.has(name));
  return Object.fromEntries(given.map((name) => [name, reader.raw(name)]));
}

function detached(where: ErrorPlace, name: string): Error {
  const got = 'one whose buffer was transferred or made smaller';
  return refused('wrong_type', where, name, 'an array with its memory', got);
}

/** Allocates a Float64Array of a length, or with the entries of a typed array. */
export function newFloat64s(
  where: ErrorPlace,
  name: string,
  length: number,
  source: ArrayBufferView | number = length,
): Float64Array {
  try {
    return new Float64Array(source as unknown as ArrayLike<number>);
  } catch (error) {
    if (error instanceof RangeError) {
      throw outOfRange(where, name, 'of a length that memory can hold', length);
    }
    throw detached(where, name);
  }
}

/**
 * Copies to a plain Float64Array that no other code can reach, resize or detach. Entries have to be
 * numbers: `null` and `"1"` are not converted to 0 and 1.
 */
export function float64s(where: ErrorPlace, name: string, value: unknown): Float64Array {
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    if (/Big(Int|Uint)64Array/.test(Object.prototype.toString.call(value))) {
      throw wrongType(where, name, 'an array of numbers', value);
    }
    // Reads the array itself, so that a subclass cannot override `length` or the iterator.
    return newFloat64s(where, name, (value as unknown as ArrayLike<number>).length, value);
  }
  if (typeof value !== 'object' || value === null) {
    throw wrongType(where, name, 'an array of numbers', value);
  }
  const length: unknown = (value as ArrayLike<unknown>).length;
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) {
    throw wrongType(where, name, 'an array of numbers', value);
  }
  const copy = newFloat64s(where, name, length);
  for (let i = 0; i < length; ++i) {
    const entry = (value as ArrayLike<unknown>)[i];
    if (typeof entry !== 'number') throw wrongType(where, `${name}[${i}]`, 'a number', entry);
    copy[i] = entry;
  }
  return copy;
}

/** @throws RangeError that names the first number that is not finite. */
export function requireFinite(where: ErrorPlace, name: string, values: Float64Array): void {
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) throw outOfRange(where, `${name}[${bad}]`, 'finite', values[bad]);
}

/** @throws RangeError for an object with an unexpected format or version. */
export function requireFormat(
  where: ErrorPlace,
  value: object,
  wanted: { format: string; version: number },
): void {
  const { format, version } = value as Fields;
  if (format !== wanted.format) {
    throw outOfRange(where, 'format', JSON.stringify(wanted.format), format);
  }
  if (version !== wanted.version) {
    throw outOfRange(where, 'version', `${wanted.version}, the one this package reads`, version);
  }
}

const typedArray = Object.getPrototypeOf(Float64Array.prototype) as Float64Array;
const lengthOf = Object.getOwnPropertyDescriptor(typedArray, 'length')!.get!;

/** Arrays of either precision. */
export type Floats = Float32Array | Float64Array;
export type FloatsClass<Rows extends Floats> = new (
  buffer: ArrayBuffer | number,
  byteOffset?: number,
  length?: number,
) => Rows;

/** The true length of an output array, even if a subclass overrides `length`. */
export function writableLength(
  where: ErrorPlace,
  name: string,
  value: unknown,
  wanted: FloatsClass<Floats> = Float64Array,
): number {
  if (!(value instanceof wanted)) throw wrongType(where, name, `a ${wanted.name}`, value);
  try {
    typedArray.keys.call(value); // Throws for a detached buffer, whose `length` would be 0.
  } catch {
    throw detached(where, name);
  }
  return lengthOf.call(value) as number;
}

function newArray<Rows extends Floats>(
  where: ErrorPlace,
  length: number,
  wanted: FloatsClass<Rows>,
): Rows {
  try {
    return new wanted(length);
  } catch {
    throw outOfRange(where, 'numRows', 'of a length that memory can hold', length);
  }
}

/**
 * Makes an array of a length, or takes `out`, whose length must agree. The core writes to a plain
 * array over the same memory, so that no code of a subclass runs there.
 */
export function roomFor<Rows extends Floats>(
  where: ErrorPlace,
  length: number,
  wanted: FloatsClass<Rows>,
  out: Rows | undefined,
): { rows: Rows; view: Rows } {
  if (out === undefined) {
    const rows = newArray(where, length, wanted);
    return { rows, view: rows };
  }
  const got = writableLength(where, 'out', out, wanted);
  if (got !== length) {
    const constraint = `must have ${length} entries`;
    throw makeError('wrong_length', where, { parameter: 'out', constraint, value: String(got) });
  }
  const [buffer, start] = ['buffer', 'byteOffset'].map((name) =>
    Object.getOwnPropertyDescriptor(typedArray, name)!.get!.call(out),
  ) as [ArrayBuffer, number];
  return { rows: out, view: new wanted(buffer, start, length) };
}

/**
 * A private buffer for copies, kept for the next call of the same length, so that a loop over
 * batches of one size allocates nothing.
 */
export class Scratch {
  private kept: Float64Array = new Float64Array();

  /** Earlier contents may remain in the array. */
  array(where: ErrorPlace, name: string, length: number): Float64Array {
    if (this.kept.length !== length) this.kept = newFloat64s(where, name, length);
    return this.kept;
  }

  /**
   * Copies like `float64s`. Uses the buffer only for a Float64Array, since reading anything else
   * may run foreign code.
   */
  copy(where: ErrorPlace, name: string, value: unknown): Float64Array {
    if (!(value instanceof Float64Array)) return float64s(where, name, value);
    const copy = this.array(where, name, writableLength(where, name, value));
    overwrite(copy, value);
    return copy;
  }
}

/** Overwrites the beginning of an array, even if a subclass overrides `set`. */
export function overwrite(target: Float64Array, values: Float64Array): void {
  typedArray.set.call(target, values);
}
