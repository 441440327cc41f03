// SPDX-License-Identifier: Apache-2.0

import type { EffectiveParameters } from '../types.js';

/** Entries of a list that are shown to people. */
const SHOWN = 4;

function shortCell(value: number | boolean): string {
  return typeof value === 'boolean' ? String(value) : String(Number(value.toPrecision(6)));
}

/** Six digits of a positive bound, which stays one: never below it. */
export function roundedUp(bound: number): number {
  const shown = Number(bound.toPrecision(6));
  if (shown >= bound) return shown;
  const [digits, exponent] = bound.toExponential(5).split('e') as [string, string];
  return Number(`${Math.round(Number(digits) * 1e5) + 1}e${Number(exponent) - 5}`);
}

function cell(value: unknown): string {
  if (typeof value !== 'number' || Number.isInteger(value)) return String(value ?? 'not computed');
  return String(Number(value.toPrecision(13)));
}

/** The parameters a mechanism was made with: `height 13, weight 5`. */
export function parametersText(parameters: EffectiveParameters): string {
  return Object.entries(parameters)
    .map(([name, value]) => {
      const list = [value].flat();
      const text = list.slice(0, SHOWN).map((each) => shortCell(each)).join(' ');
      return `${name} ${text}${list.length > SHOWN ? ' ...' : ''}`;
    })
    .join(', ');
}

/** JSON on one line, or a small table of the labelled entries. */
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
