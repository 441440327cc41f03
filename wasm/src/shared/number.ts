// SPDX-License-Identifier: Apache-2.0

/**
 * Parses a finite decimal number. Returns undefined for anything else, such as hexadecimal,
 * "Infinity" or an empty text.
 */
export function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}

/** Rounds a positive bound up to some digits, at most 15: the result is never below it. */
export function roundedUp(bound: number, numDigits = 6): number {
  const shown = Number(bound.toPrecision(numDigits));
  if (shown >= bound) return shown;
  const after = numDigits - 1;
  const [digits, exponent] = bound.toExponential(after).split('e') as [string, string];
  return Number(`${Math.round(Number(digits) * 10 ** after) + 1}e${Number(exponent) - after}`);
}
