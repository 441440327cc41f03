// SPDX-License-Identifier: Apache-2.0

// Units of measure of columns: they say what numbers are of, and change none.

export type Units = Readonly<Record<string, string>>;

/** Letters of a unit, at most. */
export const maxUnit = 20;

/** The unit that columns have in common; '' if there is none. */
export function unitOf(columns: readonly string[], units: Units): string {
  const all = new Set(columns.map((name) => (Object.hasOwn(units, name) ? units[name]! : '')));
  const [unit = ''] = all;
  return all.size === 1 ? unit : '';
}

/** Follows the name of a number: ", in minutes". */
export const inUnit = (unit: string): string => (unit === '' ? '' : `, in ${unit}`);
