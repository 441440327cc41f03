// SPDX-License-Identifier: Apache-2.0

import { roundedUp } from '../../shared/number.js';
import type { EffectiveParameters } from '../../types/all.js';

/** Maximum number of entries shown of a list. */
const SHOWN = 4;

function shortCell(value: number | boolean): string {
  return typeof value === 'boolean' ? String(value) : String(Number(value.toPrecision(6)));
}

/**
 * The bound, rounded up to at least 6 digits, and to as many as it takes to show that it exceeds
 * the limit.
 */
export function shownBeyond(bound: number, limit: number): string {
  for (let numDigits = 6; numDigits <= 15; ++numDigits) {
    const shown = Number(bound.toPrecision(numDigits));
    if (shown > limit) return String(roundedUp(bound, numDigits));
  }
  return String(Math.max(bound, limit * (1 + Number.EPSILON)));
}

function cell(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value ?? 'not computed');
  return String(Number(value.toPrecision(13)));
}

/** Parameters of a mechanism, such as `arity 7, subtractive`. */
export function parametersText(parameters: EffectiveParameters): string {
  return Object.entries(parameters)
    .map(([name, value]) => {
      const list = [value].flat();
      const text = list
        .slice(0, SHOWN)
        .map((each) => shortCell(each))
        .join(' ');
      return `${name} ${text}${list.length > SHOWN ? ' ...' : ''}`;
    })
    .join(', ');
}

/** Labels of a lower bound on factorizations, which name the records to which the bound applies. */
export function boundLabels(bound: {
  lowerBoundMinDimension?: number | null | undefined;
}): Record<string, string> {
  const dimension = bound.lowerBoundMinDimension ?? 1;
  if (dimension === 1) return { lowerBound: 'lower bound, every factorization' };
  return {
    lowerBound: `lower bound, records of ${dimension} numbers or more`,
    lowerBoundEveryDimension: 'lower bound, every factorization',
  };
}

/** Formats a result as one line of JSON, or as a table of the entries that have a label. */
export function report(
  result: Record<string, unknown>,
  json: boolean,
  labels: Record<string, string>,
): string {
  if (json) return `${JSON.stringify(result)}\n`;
  const width = Math.max(...Object.values(labels).map((label) => label.length));
  return Object.entries(labels)
    .map(([key, label]) => `${label.padEnd(width)}  ${cell(result[key])}\n`)
    .join('');
}
