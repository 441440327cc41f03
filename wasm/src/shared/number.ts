// SPDX-License-Identifier: Apache-2.0

// Numbers are decimal texts within the range of a double: one rule for cells, options and numeric
// ids of persons, in the command and on the page.

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;

/**
 * Parses a finite decimal number. Returns undefined for anything else, such as hexadecimal,
 * "Infinity" or an empty text, and for a number that is too large for a double.
 */
export function parseNumber(text: string): number | undefined {
  if (!DECIMAL.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/**
 * Names the limit that a decimal number exceeds if it is out of range for a double; else undefined.
 */
export function beyondText(text: string): string | undefined {
  if (!DECIMAL.test(text)) return undefined;
  if (parseNumber(text) === undefined) return 'is beyond the largest number, 1.8e308';
  const isTiny = Number(text) === 0 && /[1-9]/.test(text.replace(/e.*/i, ''));
  return isTiny ? 'is below the smallest number, 4.9e-324' : undefined;
}

/** Rounds a positive bound up to some digits, at most 15: the result is never below it. */
export function roundedUp(bound: number, numDigits = 6): number {
  const shown = Number(bound.toPrecision(numDigits));
  if (shown >= bound) return shown;
  const after = numDigits - 1;
  const [digits, exponent] = bound.toExponential(after).split('e') as [string, string];
  return Number(`${Math.round(Number(digits) * 10 ** after) + 1}e${Number(exponent) - after}`);
}

/** Decimal digits and a power of ten, equal for all texts of a number. */
interface DecimalNumber {
  isNegative: boolean;
  /** Without zeros at either end; '' for zero. */
  digits: string;
  exponent: number;
}

/** Parses a decimal number exactly, even with more digits than a double has. */
function parseDecimal(text: string): DecimalNumber | undefined {
  const match = /^([+-]?)(?=\.?\d)(\d*)\.?(\d*)(?:[eE]([+-]?\d{1,9}))?$/.exec(text);
  if (match === null) return undefined;
  const [, sign, whole, part, power = '0'] = match;
  const all = `${whole}${part}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return { isNegative: false, digits, exponent: 0 };
  const exponent = Number(power) - part!.length + all.length - digits.length;
  return { isNegative: sign === '-', digits, exponent };
}

/**
 * The canonical text of a decimal number: "7" for 7, 7.0, +7, 007 and 7e0. Different numbers have
 * different texts, however many digits they have. Undefined for other texts, and for numbers too
 * large for a double.
 */
export function canonicalNumber(text: string): string | undefined {
  const decimal = parseDecimal(text);
  if (decimal === undefined || !Number.isFinite(Number(text))) return undefined;
  const { isNegative, digits, exponent } = decimal;
  if (digits === '') return '0';
  const zeros = exponent >= 0 && exponent <= MOST_ZEROS;
  const written = zeros ? `${digits}${'0'.repeat(exponent)}` : `${digits}e${exponent}`;
  return `${isNegative ? '-' : ''}${written}`;
}

/** Maximum number of zeros at the end of a canonical number; more are written as a power of ten. */
const MOST_ZEROS = 30;

/** Whole number of up to 15 digits that a text denotes: 1 for 1.0, 01, +1 and 1e0. */
export function wholeNumber(text: string): number | undefined {
  const canonical = canonicalNumber(text);
  return canonical !== undefined && /^-?\d{1,15}$/.test(canonical) ? Number(canonical) : undefined;
}
