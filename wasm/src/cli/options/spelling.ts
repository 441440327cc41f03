// SPDX-License-Identifier: Apache-2.0

// Numbers as they are written elsewhere.

const COMMA = /^[+-]?\d*,\d+([eE][+-]?\d+)?$/;
const THOUSANDS = /^[+-]?[1-9]\d{0,2}(,\d{3})+$/;

/** Whether a text is a number but for its decimal comma. */
export function hasDecimalComma(text: string): boolean {
  return COMMA.test(text) && !THOUSANDS.test(text);
}

/** Says how a number in an option is to be written, if it is one elsewhere. */
export function spellingHint(text: string): string {
  const number = text.trim();
  if (hasDecimalComma(number)) return `; write ${number.replace(',', '.')}, with a point`;
  const percent = /^(\d+(?:[.,]\d+)?) ?%$/.exec(number)?.[1];
  if (percent === undefined) return '';
  return `; it is not a percentage: ${number} is ${Number(percent.replace(',', '.')) / 100}`;
}
