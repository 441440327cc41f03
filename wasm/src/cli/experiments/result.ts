// SPDX-License-Identifier: Apache-2.0

// Results of experiments, as plain data from which plots are drawn.

import type { Axis, Panel, Series } from '../../plot/picture.js';
import { Misuse } from '../failure.js';

/** A number that the experiment measures, and its value in the literature. */
export interface Finding {
  what: string;
  value: number;
  expected?: number;
}

export interface Result {
  format: 'dp-ftrl experiment';
  version: 1;
  name: string;
  title: string;
  settings: Record<string, number | string>;
  panels: Panel[];
  findings: Finding[];
}

function isSeries(value: unknown): value is Series {
  const { name, of, x, y, spread } = (value ?? {}) as Partial<Series>;
  const areNumbers = (list: unknown) =>
    Array.isArray(list) && list.every((it) => typeof it === 'number' && Number.isFinite(it));
  return (
    typeof name === 'string' &&
    (of === undefined || typeof of === 'string') &&
    areNumbers(x) &&
    areNumbers(y) &&
    x!.length === y!.length &&
    (spread === undefined || (areNumbers(spread) && spread.length === y!.length))
  );
}

function isPanel(value: unknown): value is Panel {
  const { title, x, y, series } = (value ?? {}) as Partial<Panel>;
  const isAxis = (axis: Axis | undefined) =>
    typeof axis?.label === 'string' && typeof axis.log === 'boolean';
  return (
    typeof title === 'string' &&
    isAxis(x) &&
    isAxis(y) &&
    Array.isArray(series) &&
    series.length > 0 &&
    series.every(isSeries)
  );
}

function isFinding(value: unknown): value is Finding {
  const { what, value: found } = (value ?? {}) as Partial<Finding>;
  return typeof what === 'string' && typeof found === 'number';
}

/** Parses a saved result; checks only what its table and its plot need. */
export function parseResult(text: string): Result {
  let value: Partial<Result> | null = null;
  try {
    value = JSON.parse(text) as Partial<Result> | null;
  } catch {
    // Not JSON; reported below.
  }
  const isResult = value?.format === 'dp-ftrl experiment' && value.version === 1;
  if (!isResult) throw new Misuse('--from must be a result that dp-ftrl experiment wrote');
  const { title, panels, findings } = value!;
  const isWhole =
    typeof title === 'string' &&
    Array.isArray(panels) &&
    panels.length > 0 &&
    panels.every(isPanel) &&
    Array.isArray(findings) &&
    findings.every(isFinding);
  if (!isWhole) throw new Misuse('--from: the result is damaged');
  return value as Result;
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
