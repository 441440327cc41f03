// SPDX-License-Identifier: Apache-2.0

// For --show-nonprivate: what the releases estimate, without their noise.

interface Clip {
  clipNorm: number;
  /** Whether the norm is the l1-norm, else it is the l2-norm. */
  inL1: boolean;
}

/** min(1, clipNorm / norm) times the record. The norm itself may overflow. */
function clipped(record: Float64Array, { clipNorm, inL1 }: Clip): Float64Array {
  const largest = record.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  if (largest === 0) return record;
  const power = inL1 ? 1 : 2;
  const sum = record.reduce((before, value) => before + Math.abs(value / largest) ** power, 0);
  const ratio = inL1 ? sum : Math.sqrt(sum);
  if (largest * ratio <= clipNorm) return record;
  return record.map((value) => (value / largest / ratio) * clipNorm);
}

/** Adds to what one person contributes to a step; sums stay within the doubles, as in the core. */
export function addOf(parts: Map<string, Float64Array>, person: string, row: Float64Array): void {
  const part = parts.get(person) ?? new Float64Array(row.length);
  const most = Number.MAX_VALUE; // Not an infinity, which clipping could make no sense of.
  parts.set(person, part.map((value, j) => Math.min(Math.max(value + row[j]!, -most), most)));
}

function added(a: readonly number[], b: readonly number[]): number[] {
  return a.map((value, j) => value + b[j]!);
}

/**
 * Sums of the last steps, without subtracting what leaves: in blocks as long as the window, of which
 * the last one adds what it has of each beginning.
 */
class LastSteps {
  /** Steps of the open block, and their sum. */
  private steps: number[][] = [];
  private sum: number[];
  /** Sums of the block before from each step on to its end. */
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

/** Sums of clipped contributions; those of one person to a step are added up first. */
export class TrueSums {
  /** All so far or, for a window, those of the open step. */
  private readonly sums: number[];
  private readonly last: LastSteps | undefined;
  private readonly parts = new Map<string, Float64Array>();

  constructor(
    dimension: number,
    private readonly clip: Clip,
    window?: number,
  ) {
    this.sums = new Array<number>(dimension).fill(0);
    if (window !== undefined) this.last = new LastSteps(window, [...this.sums]);
  }

  add(contribution: Float64Array): void {
    clipped(contribution, this.clip).forEach((value, j) => (this.sums[j]! += value));
  }

  /** Counts from the end of the step on. */
  addOf(person: string, values: Float64Array): void {
    addOf(this.parts, person, values);
  }

  /** The sums after the step. */
  endStep(): number[] {
    for (const part of this.parts.values()) this.add(part);
    this.parts.clear();
    const sums = [...this.sums];
    if (this.last === undefined) return sums;
    this.sums.fill(0);
    return this.last.next(sums);
  }
}
