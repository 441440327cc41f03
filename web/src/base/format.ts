// SPDX-License-Identifier: Apache-2.0

import { nounAfter } from '../../../wasm/src/shared/counted.ts';

const minus = (text: string): string => text.replace('-', '−');

/** Formats a whole number with thousands separators. */
export function count(value: number): string {
  return minus(value.toLocaleString('en-US'));
}

/** Formats a whole number with its noun: `1 row`, `1,024 rows`. */
export function counted(value: number, noun: string, plural?: string): string {
  return `${count(value)} ${nounAfter(value, noun, plural)}`;
}

/** Decimals that show at least `digits` significant digits of a positive number. */
const decimalsOf = (size: number, digits: number): number =>
  Math.max(0, digits - 1 - Math.floor(Math.log10(size)));

/**
 * Formats a number to `digits` significant digits, or all its integer digits, without trailing
 * zeros.
 */
export function quantity(value: number, digits = 4): string {
  if (!Number.isFinite(value)) return value === Infinity ? '∞' : '–';
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return scientific(value, digits);
  const maximumFractionDigits = decimalsOf(size, digits);
  return minus(value.toLocaleString('en-US', { minimumFractionDigits: 0, maximumFractionDigits }));
}

/** Keeps trailing zeros, unlike `quantity`, so that a column of a table lines up. */
export function digits(value: number, num = 4): string {
  const size = Math.abs(value);
  return size >= 1e-4 && size < 1e7 ? fixed(value, decimalsOf(size, num)) : quantity(value, num);
}

/** Formats with a fixed number of decimals, so that a changing number does not jump. */
export function fixed(value: number, decimals: number): string {
  if (!Number.isFinite(value)) return '–';
  return minus(
    value.toLocaleString('en-US', {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    }),
  );
}

/** Keeps a text on one line. */
export function unbroken(text: string): string {
  return text.replaceAll(' ', '\u00a0').replaceAll('-', '\u2011');
}

export function percent(value: number): string {
  return Number.isFinite(value) ? unbroken(`${fixed(100 * value, 1)} %`) : '–';
}

/** Formats a share as a percentage without decimals. */
export function roundPercent(value: number): string {
  return unbroken(`${fixed(100 * value, 0)} %`);
}

/** Names of 1 / 2, 1 / 3 and so on. */
const parts = [
  ...['half', 'third', 'quarter', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth'],
  ...['eleventh', 'twelfth'],
];
const endings = ['th', 'st', 'nd', 'rd'];

/** A half, a tenth, a 27th, an 80th. */
function partOf(num: number): string {
  const isTeen = num % 100 >= 11 && num % 100 <= 13;
  const ending = (isTeen ? undefined : endings[num % 10]) ?? 'th';
  const name = parts[num - 2] ?? `${count(num)}${ending}`;
  return unbroken(`${/^(e|8|11\D|18\D)/.test(name) ? 'an' : 'a'} ${name}`);
}

/** Formats a ratio in words: a tenth, 63 %, the same, 2.4 times. */
export function share(ratio: number): string {
  if (Math.abs(ratio - 1) < 0.005) return 'the same';
  if (ratio > 1) return `${quantity(ratio, 2)} times`;
  const num = Math.round(1 / ratio);
  return num > 1 && Math.abs(num * ratio - 1) < 0.08 ? partOf(num) : roundPercent(ratio);
}

const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹';

/** Formats a whole number as superscript. */
export function raised(value: number): string {
  return String(value).replace(/[-\d]/g, (c) => (c === '-' ? '⁻' : (superscripts[Number(c)] ?? c)));
}

/** Formats 1e-6 as 10⁻⁶, 2.5e-7 as 2.5 × 10⁻⁷. */
export function scientific(value: number, digits = 3): string {
  if (value === 0) return '0';
  const [mantissa = '0', exponent = '0'] = value.toExponential(digits - 1).split('e');
  const power = raised(Number(exponent));
  const short = String(Number(mantissa));
  return short === '1' ? `10${power}` : `${minus(short)} × 10${power}`;
}

/** Formats the tick of an axis: −5,000,000, or 1.5 × 10⁷ if `power` is true. */
export function tickText(value: number, digits: number, power: boolean): string {
  if (power) return scientific(value, digits);
  return minus(value.toLocaleString('en-US', { maximumSignificantDigits: digits }));
}

/** Names the records for which a lower bound holds; empty if it holds for all. */
export function boundRecords(minDimension: number): string {
  return minDimension === 1 ? '' : `, for records of ${minDimension} numbers or more`;
}
