// SPDX-License-Identifier: Apache-2.0

// Moments as rows of numbers, which steppers hand on as they do totals.

import type { Estimate, Moments, Statistic } from '../../../types/all.js';
import type { RowTotals } from '../../input/steps.js';

/** Numbers of an estimate. */
export const ESTIMATE = ['value', 'low', 'high', 'stddev'] as const;

/** Kind and columns of each estimate of a step, in order. */
export function estimatesOf(columns: readonly string[], covariance: boolean): string[][] {
  const each = (kind: string): string[][] => columns.map((name) => [kind, name]);
  const pairs = columns.flatMap((a, i) => columns.slice(i + 1).map((b) => ['covariance', a, b]));
  return [['count'], ...each('mean'), ...each('variance'), ...(covariance ? pairs : [])];
}

function numbersOf({ count, mean, variance, covariance }: Moments): number[] {
  const pairs = covariance?.flatMap((row, i) => row.slice(i + 1)) ?? [];
  const all: Estimate[] = [count, ...mean, ...variance, ...pairs];
  return all.flatMap((estimate) => ESTIMATE.map((name) => estimate[name]));
}

function rowsOf(moments: readonly Moments[]): Float64Array {
  return Float64Array.from(moments.flatMap(numbersOf));
}

/** A statistic whose moments are rows of numbers, also those that an error has. */
export class MomentTotals implements RowTotals {
  constructor(private readonly statistic: Statistic) {}

  get certificate() {
    return this.statistic.certificate;
  }
  /** Numbers of a record: a row of moments has others. */
  get dimension() {
    return this.statistic.dimension;
  }
  get numSteps() {
    return this.statistic.numSteps;
  }
  get step() {
    return this.statistic.step;
  }

  stddev(step: number): number {
    return this.statistic.stddev(step);
  }
  contribute(records: ArrayLike<number>): void {
    this.statistic.contribute(records);
  }
  releaseMany(records: ArrayLike<number>): Float64Array {
    return rowsOf(this.statistic.releaseMany(records));
  }
  endSteps(numSteps?: number): Float64Array {
    return rowsOf(this.statistic.endSteps(numSteps));
  }
  dispose(): void {
    this.statistic.dispose();
  }
}
