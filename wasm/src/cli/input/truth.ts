// SPDX-License-Identifier: Apache-2.0

// True values that the releases estimate, for --show-nonprivate.

import type { Workload } from '../../types/all.js';

interface Clip {
  clipNorm: number;
  /** Whether the norm is the l1-norm; otherwise it is the l2-norm. */
  inL1: boolean;
}

/** Returns min(1, clipNorm / norm) times the record, even if the norm overflows. */
function clipped(record: Float64Array, { clipNorm, inL1 }: Clip): Float64Array {
  const largest = record.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return record;
  const power = inL1 ? 1 : 2;
  const sum = record.reduce((before, value) => before + Math.abs(value / largest) ** power, 0);
  const ratio = inL1 ? sum : Math.sqrt(sum);
  if (largest * ratio <= clipNorm) return record;
  return record.map((value) => (value / largest / ratio) * clipNorm);
}

/** Adds to a person's contribution to a step; saturates at the largest double, like the core. */
export function addOf(parts: Map<string, Float64Array>, person: string, row: Float64Array): void {
  const part = parts.get(person) ?? new Float64Array(row.length);
  const most = Number.MAX_VALUE; // Not infinity, which could not be clipped.
  parts.set(
    person,
    part.map((value, j) => Math.min(Math.max(value + row[j]!, -most), most)),
  );
}

function added(a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, j) => value + b[j]!);
}

/**
 * Sums over a sliding window without subtraction. Blocks have the length of the window, so that
 * every window is the end of one block and the beginning of the next.
 */
class LastSteps {
  /** Steps of the open block, and their sum. */
  private steps: number[][] = [];
  private sum: number[];
  /** Suffix sums of the previous block, from each step to its end. */
  private rests: number[][] = [];

  constructor(
    private readonly window: number,
    private readonly zeros: readonly number[],
  ) {
    this.sum = [...zeros];
  }

  /** The sums after the step. */
  next(step: number[]): number[] {
    this.steps.push(step);
    this.sum = added(this.sum, step);
    const numSteps = this.steps.length;
    const all = added(this.rests[numSteps] ?? this.zeros, this.sum);
    if (numSteps < this.window) return all;
    let rest = [...this.zeros];
    this.rests = [];
    for (let i = numSteps - 1; i > 0; --i) this.rests[i] = rest = added(this.steps[i]!, rest);
    this.steps = [];
    this.sum = [...this.zeros];
    return all;
  }
}

/** m <- momentum m + x, S <- decay S + rate m. */
class Recursion {
  private average: number[] | undefined;
  private sum: number[] | undefined;
  private numSteps = 0;

  constructor(
    private readonly momentum: number,
    private readonly decay: number,
    private readonly rates: ArrayLike<number> | undefined,
  ) {}

  /** The sums after the step. */
  next(step: number[]): number[] {
    const rate = this.rates?.[this.numSteps++] ?? 1;
    const { average, sum, momentum, decay } = this;
    const next = step.map((x, j) => momentum * (average?.[j] ?? 0) + x);
    this.average = next;
    this.sum = next.map((x, j) => decay * (sum?.[j] ?? 0) + rate * x);
    return [...this.sum];
  }
}

/** Rows of a matrix times all steps so far. */
class MatrixRows {
  private readonly steps: number[][] = [];
  private readonly numSteps: number;

  constructor(private readonly matrix: ArrayLike<number>) {
    this.numSteps = Math.sqrt(matrix.length);
  }

  /** The sums after the step. */
  next(step: number[]): number[] {
    const begin = this.steps.push(step) * this.numSteps - this.numSteps;
    const zeros = step.map(() => 0);
    return this.steps.reduce(
      (sums, each, k) => sums.map((sum, j) => sum + this.matrix[begin + k]! * each[j]!),
      zeros,
    );
  }
}

interface Queries {
  next(step: number[]): number[];
}

/** Answers of a workload, step by step; undefined for running totals. */
function queriesOf(workload: Workload, zeros: readonly number[]): Queries | undefined {
  if (typeof workload === 'string') return undefined;
  if ('window' in workload) return new LastSteps(workload.window, zeros);
  if ('matrix' in workload) return new MatrixRows(workload.matrix);
  const {
    momentum = 0,
    decay = 1,
    rates,
  } = workload as {
    momentum?: number;
    decay?: number;
    rates?: ArrayLike<number>;
  };
  return new Recursion(momentum, decay, rates);
}

/** Adds up the true totals. */
export interface Truth {
  add(contribution: Float64Array): void;
  /** Adds values of a person, which count from the end of the step on. */
  addOf(person: string, values: Float64Array): void;
  /** The sums after the step. */
  endStep(): number[];
}

/** Sums of clipped contributions; those of one person to a step are added before clipping. */
class TrueSums implements Truth {
  /** Running totals or, for other workloads, the sums of the open step. */
  private readonly sums: number[];
  private readonly queries: Queries | undefined;
  private readonly parts = new Map<string, Float64Array>();

  constructor(
    dimension: number,
    private readonly clip: Clip,
    workload: Workload,
  ) {
    this.sums = new Array<number>(dimension).fill(0);
    this.queries = queriesOf(workload, [...this.sums]);
  }

  add(contribution: Float64Array): void {
    clipped(contribution, this.clip).forEach((value, j) => (this.sums[j]! += value));
  }

  addOf(person: string, values: Float64Array): void {
    addOf(this.parts, person, values);
  }

  endStep(): number[] {
    for (const part of this.parts.values()) this.add(part);
    this.parts.clear();
    const sums = [...this.sums];
    if (this.queries === undefined) return sums;
    this.sums.fill(0);
    return this.queries.next(sums);
  }
}

/** True sums of several workloads, concatenated. */
class TrueStack implements Truth {
  constructor(private readonly each: readonly TrueSums[]) {}

  add(contribution: Float64Array): void {
    this.each.forEach((sums) => sums.add(contribution));
  }

  addOf(person: string, values: Float64Array): void {
    this.each.forEach((sums) => sums.addOf(person, values));
  }

  endStep(): number[] {
    return this.each.flatMap((sums) => sums.endStep());
  }
}

export function trueSumsOf(dimension: number, clip: Clip, workloads: readonly Workload[]): Truth {
  return new TrueStack(workloads.map((workload) => new TrueSums(dimension, clip, workload)));
}
