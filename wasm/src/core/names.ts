// SPDX-License-Identifier: Apache-2.0

// JavaScript spelling of the core's names.

/** Converts the core's names in a text to JavaScript spelling: `loglog_power` -> `loglogPower`. */
export function camelCase(text: string): string {
  return text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/**
 * Splits a path to a part of a parameter after its first name: `'rates[3]'` into `'rates'` and
 * `'[3]'`.
 */
export function rootOf(path: string): [root: string, rest: string] {
  const end = [...path].findIndex((letter) => '[(.'.includes(letter));
  return end < 0 ? [path, ''] : [path.slice(0, end), path.slice(end)];
}
