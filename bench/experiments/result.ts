// SPDX-License-Identifier: Apache-2.0

// Results of experiments, as plain data from which plots are drawn.

import type { Panel } from '../../wasm/src/plot/picture.ts';

/** A number that the experiment measures, and the value that theory predicts, if any. */
export interface Finding {
  what: string;
  value: number;
  expected?: number;
}

export interface Result {
  name: string;
  title: string;
  settings: Record<string, number | string>;
  panels: Panel[];
  findings: Finding[];
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Standard error of the mean of independent values; 0 for a single one. */
export function standardError(values: readonly number[]): number {
  if (values.length < 2) return 0;
  const centre = mean(values);
  const variance = mean(values.map((value) => (value - centre) ** 2));
  return Math.sqrt(variance / (values.length - 1));
}

/** 0-based ranks; equal values share their mean rank. */
function ranks(values: readonly number[]): number[] {
  return values.map((value) => {
    const below = values.filter((other) => other < value).length;
    const equal = values.filter((other) => other === value).length;
    return below + (equal - 1) / 2;
  });
}

/** Spearman's rank correlation: 1 if both lists have the same order, -1 if opposite. */
export function rankCorrelation(a: readonly number[], b: readonly number[]): number {
  const [x, y] = [ranks(a), ranks(b)];
  const [mx, my] = [mean(x), mean(y)];
  const product = (u: number[], mu: number, v: number[], mv: number) =>
    u.reduce((sum, each, i) => sum + (each - mu) * (v[i]! - mv), 0);
  return product(x, mx, y, my) / Math.sqrt(product(x, mx, x, mx) * product(y, my, y, my));
}
