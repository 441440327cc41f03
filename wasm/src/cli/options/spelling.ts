// SPDX-License-Identifier: Apache-2.0

// Recognises numbers in other notations, to suggest the accepted notation, and numbers out of
// range.

import { beyondText } from '../../shared/number.js';

const COMMA = /^[+-]?\d*,\d+([eE][+-]?\d+)?$/;
const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+$/;

/** Whether a text is a number with a decimal comma. */
export function hasDecimalComma(text: string): boolean {
  return COMMA.test(text) && !THOUSANDS.test(text);
}

const DIGITS = String.raw`\d[\d.,'’\s]*`;
/** A currency sign or a separate word beside the digits, or a percent or degree sign after them. */
const UNITS = [
  new RegExp(String.raw`^[+-]?(?:\p{Sc}|\p{L}+\s)\s*[+-]?${DIGITS}$`, 'u'),
  new RegExp(String.raw`^[+-]?${DIGITS}(?:\p{Sc}|[%‰]|°\s?\p{L}?|\s\p{L}+(?:/\p{L}+)?)$`, 'u'),
];
/** Digits in groups of three, with one separator between them and another before decimals. */
const GROUPS = /^[+-]?\d{1,3}([,.'’\s])\d{3}(?:\1\d{3})*(?:(?!\1)[.,]\d*)?$/;

/**
 * Names what keeps a cell from being read as a number under any option: a unit, or separators
 * between thousands.
 */
export function surplusText(text: string): string | undefined {
  if (UNITS.some((unit) => unit.test(text))) return 'a unit such as € or %';
  // A single point may also be decimal.
  const isGrouped = GROUPS.test(text) && !/^[+-]?\d+\.\d+$/.test(text);
  return isGrouped ? 'separators between thousands' : undefined;
}

/**
 * Advice on a number with a decimal comma or a percent sign, or on a number out of range; otherwise
 * ''.
 */
export function spellingHint(text: string): string {
  const number = text.trim();
  const beyond = beyondText(number);
  if (beyond !== undefined) return `, which ${beyond}`;
  if (hasDecimalComma(number)) return `; write ${number.replace(',', '.')}, with a point`;
  const percent = /^(\d+(?:[.,]\d+)?) ?%$/.exec(number)?.[1];
  if (percent === undefined) return '';
  return `; it is not a percentage: ${number} is ${Number(percent.replace(',', '.')) / 100}`;
}
