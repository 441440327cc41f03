// SPDX-License-Identifier: Apache-2.0

// Recognises numbers in other notations, to suggest the accepted one, and those out of reach.

import { beyondText } from '../../shared/number.js';

const COMMA = /^[+-]?\d*,\d+([eE][+-]?\d+)?$/;
const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+$/;

/** Whether a text is a number except that it has a decimal comma. */
export function hasDecimalComma(text: string): boolean {
  return COMMA.test(text) && !THOUSANDS.test(text);
}

/**
 * Returns how to write a number that has a decimal comma or is a percentage, or says that it is out
 * of reach, or else ''.
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
