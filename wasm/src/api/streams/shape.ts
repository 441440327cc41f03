// SPDX-License-Identifier: Apache-2.0

// How the arguments of a record become a row of numbers for the core, and how the flat numbers that
// the core returns for a step become a reading.

import type { Core } from '../../core/core.js';
import type { Certificate } from '../../types/all.js';
import type { Named } from '../../types/streams/options.js';
import type { Estimate, Estimates } from '../../types/streams/readings.js';

/** Options by name, with values that JSON can have; options left out are not there. */
export type StoredOptions = Record<string, unknown>;

/** A stream, as far as the readings of its steps may depend on it. */
export interface Noise {
  readonly core: Core;
  readonly certificate: Certificate;
  readonly grid: number;
  /** Options that the stream began with, as a store keeps them. */
  readonly initial: StoredOptions;
}

/** Reads the steps one after the other, because each reading depends on all sums before. */
export interface Course<R> {
  /** Number of steps that were read. */
  readonly step: number;
  /** Returns the reading of the next step from its numbers. */
  next(where: string, numbers: Float64Array): R;
  /** Returns the weights after these steps. */
  weights(): Float64Array;
  /** Throws if no step can follow. */
  requireOpen(where: string): void;
}

/** A stream of the core. */
export interface Filled {
  readonly core: Core;
  readonly id: number;
}

export interface Shape<R> {
  /** Names of the parts of a record, and of lists of them, in errors. */
  readonly one: readonly string[];
  readonly many: readonly string[];
  /** Number of entries that are summed, which estimates the bytes of a step in a store. */
  readonly numSums: number;
  /** Whether readings keep nothing of the array that they are read from. */
  readonly isCopied: boolean;
  /** Returns the row of a record, in a new array. */
  row(where: string, ...record: readonly unknown[]): Float64Array;
  /** Returns the rows of records, concatenated, and how many they are. */
  rows(where: string, ...records: readonly unknown[]): { rows: Float64Array; numRecords: number };
  /** Number of records with which `releaseMany` ends a step. Default 1. */
  readonly perStep?: number;
  /** Returns the reading of a step from its numbers. */
  readonly read?: (numbers: Float64Array, step: number) => R;
  /** Whether only the core can tell whether a record is taken. */
  readonly isCheckedByCore?: boolean;
  /** Fills in what depends on the weights, just before the rows of at most one step are added. */
  readonly fill?: (stream: Filled, rows: Float64Array) => void;
  /** Begins to read, where readings depend on all sums before; in place of `read`. */
  readonly begin?: (noise: Noise) => Course<R>;
}

/** Number of values of an estimate as it crosses the boundary. */
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

/** Returns an object with these names as properties, which has no prototype. */
export function named<T>(names: readonly string[], make: (i: number) => T): Named<string, T> {
  const all = Object.create(null) as Record<string, T>;
  names.forEach((name, i) => (all[name] = make(i)));
  return all;
}

/** Names a property of an argument or option. */
export function memberOf(name: string, key: string): string {
  return /^[A-Za-z]\w*$/.test(key) ? `${name}.${key}` : `${name}[${JSON.stringify(key)}]`;
}
