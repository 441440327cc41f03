// SPDX-License-Identifier: Apache-2.0

// Checks of what JavaScript hands over: types, shapes and integers. Ranges are the core's business;
// its messages pass through.

import { makeError } from './errors.js';

export type Fields = Record<string, unknown>;

/** What a value is, for a message: "string", "null", "array", "NaN". */
function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value;
}

/** A value as it appears in a message. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'bigint') return `${value}n`;
  return String(value);
}

export function wrongType(where: string, name: string, wanted: string, value: unknown): Error {
  return makeError('wrong_type', `${where}: ${name} must be ${wanted}, got ${kindOf(value)}`);
}

export function outOfRange(where: string, name: string, wanted: string, value: unknown): Error {
  return makeError('invalid_argument', `${where}: ${name} must be ${wanted}, got ${show(value)}`);
}

/** An options object without keys we do not know: a misspelt `neighbours` must not be ignored. */
export function optionsObject(where: string, value: unknown, known: readonly string[]): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw wrongType(where, 'options', 'an object', value);
  }
  for (const key of Object.keys(value)) {
    if (!known.includes(key)) {
      throw makeError(
        'wrong_type',
        `${where}: unknown option ${JSON.stringify(key)}; known are ${known.join(', ')}`,
      );
    }
  }
  return value as Fields;
}

/** Reads one option after the other, each with its name in the message. */
export class Reader {
  constructor(
    readonly where: string,
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

  /** A count: crosses as a double, so it has to be a safe integer. The core checks its range. */
  count(name: string): number {
    const value = this.number(name);
    if (!Number.isSafeInteger(value)) throw outOfRange(this.where, name, 'an integer', value);
    return value;
  }

  countOr<T>(name: string, fallback: T): number | T {
    return this.has(name) ? this.count(name) : fallback;
  }

  oneOf<T extends string>(name: string, known: readonly T[]): T {
    const value = this.fields[name];
    if (typeof value !== 'string') throw wrongType(this.where, name, 'a string', value);
    if (!(known as readonly string[]).includes(value)) {
      throw outOfRange(this.where, name, `one of ${known.join(', ')}`, value);
    }
    return value as T;
  }

  oneOfOr<T extends string>(name: string, known: readonly T[], fallback: T): T {
    return this.has(name) ? this.oneOf(name, known) : fallback;
  }

  /** A 64-bit seed, as bigint. */
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

  seedOr(name: string, fallback: bigint): bigint {
    return this.has(name) ? this.seed(name) : fallback;
  }
}

/** A copy as Float64Array. Entries have to be numbers: `null` or `"1"` are not read as 0 or 1. */
export function float64s(where: string, name: string, value: unknown): Float64Array {
  if (value instanceof Float64Array) return value;
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    if (value instanceof BigInt64Array || value instanceof BigUint64Array) {
      throw wrongType(where, name, 'an array of numbers', 1n);
    }
    return Float64Array.from(value as unknown as ArrayLike<number>);
  }
  if (typeof value !== 'object' || value === null) {
    throw wrongType(where, name, 'an array of numbers', value);
  }
  const length: unknown = (value as ArrayLike<unknown>).length;
  if (typeof length !== 'number' || !Number.isSafeInteger(length) || length < 0) {
    throw wrongType(where, name, 'an array of numbers', value);
  }
  const copy = new Float64Array(length);
  for (let i = 0; i < length; ++i) {
    const entry = (value as ArrayLike<unknown>)[i];
    if (typeof entry !== 'number') throw wrongType(where, `${name}[${i}]`, 'a number', entry);
    copy[i] = entry;
  }
  return copy;
}
