// SPDX-License-Identifier: Apache-2.0

/** Splits a list at its commas, except those within quotes, and trims its entries. */
export function separated(text: string): string[] {
  return text.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).map((entry) => entry.trim());
}
