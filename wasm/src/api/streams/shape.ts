// SPDX-License-Identifier: Apache-2.0

// Converts the arguments of a record to a row of numbers for the core, and the flat numbers that
// the core returns for a step to a reading.

import type { Core } from '../../core/core.js';
import type { Certificate } from '../../types/all.js';
import type { NamedRecord } from '../../types/streams/options.js';
import type { Estimate, Estimates } from '../../types/streams/readings.js';

/** Options by name, with JSON values; options not given are absent. */
export type StoredOptions = Record<string, unknown>;

/** The properties of a stream that its readings may depend on. */
export interface StreamFacts {
  readonly core: Core;
  readonly certificate: Certificate;
  readonly grid: number;
  /** Options with which the stream began, as a store keeps them. */
  readonly initial: StoredOptions;
}

/** Reads steps in order, for readings that depend on all earlier sums. */
export interface Course<R> {
  /** Number of steps read so far. */
  readonly step: number;
  /** Reads the next step from its numbers. */
  next(where: string, numbers: Float64Array): R;
  /** Weights after these steps. */
  weights(): Float64Array;
  /** Throws if no step can follow. */
  requireOpen(where: string): void;
}

/** A stream of the core. */
export interface RecordRows {
  readonly core: Core;
  readonly id: number;
}

export interface Shape<R> {
  /** Names of the parts of a record, and of lists of them, in errors. */
  readonly one: readonly string[];
  readonly many: readonly string[];
  /** Number of summed entries, from which the bytes of a step in a store are estimated. */
  readonly numSums: number;
  /** True if the array from which a reading is made may be overwritten by the next reading. */
  readonly isCopied: boolean;
  /** Text added to errors at the horizon. */
  readonly atHorizon?: string;
  /** Makes the row of a record, in a new array. */
  row(where: string, ...record: readonly unknown[]): Float64Array;
  /** Concatenates the rows of records, and counts them. */
  rows(where: string, ...records: readonly unknown[]): { rows: Float64Array; numRecords: number };
  /** `releaseMany` ends a step after this many records. Default 1. */
  readonly perStep?: number;
  /** Reads a step from its numbers. */
  readonly read?: (numbers: Float64Array, step: number) => R;
  /** True if only the core can tell whether a record is accepted. */
  readonly isCheckedByCore?: boolean;
  /**
   * Fills in entries that depend on the weights, just before the rows of at most one step are
   * added.
   */
  readonly fill?: (stream: RecordRows, rows: Float64Array) => void;
  /** Starts a course, for readings that depend on all earlier sums; replaces `read`. */
  readonly begin?: (noise: StreamFacts) => Course<R>;
}

/** How many numbers the core returns for an estimate. */
export const ESTIMATE = 4;

export function estimateAt(numbers: Float64Array, at: number): Estimate {
  return {
    value: numbers[at]!,
    low: numbers[at + 1]!,
    high: numbers[at + 2]!,
    stddev: numbers[at + 3]!,
  };
}

/** Reads `length` values, their standard deviation and their half width. */
export function estimatesAt(numbers: Float64Array, at: number, length: number): Estimates {
  const end = at + length;
  return {
    values: numbers.subarray(at, end),
    stddev: numbers[end]!,
    halfWidth: numbers[end + 1]!,
  };
}

/** Makes an object with these names as properties, which has no prototype. */
export function named<T>(names: readonly string[], make: (i: number) => T): NamedRecord<string, T> {
  const all = Object.create(null) as Record<string, T>;
  names.forEach((name, i) => (all[name] = make(i)));
  return all;
}

/** Names a property of an argument or option. */
export function memberOf(name: string, key: string): string {
  return /^[A-Za-z]\w*$/.test(key) ? `${name}.${key}` : `${name}[${JSON.stringify(key)}]`;
}
