// SPDX-License-Identifier: Apache-2.0

/** A decimal number, finite. Nothing else: no hexadecimal, no "Infinity", no empty text. */
export function parseNumber(text: string): number | undefined {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : undefined;
}
