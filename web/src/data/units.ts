// SPDX-License-Identifier: Apache-2.0

// Units of measure of columns. They label numbers without changing them.

export type Units = Readonly<Record<string, string>>;

/** Largest length of a unit, in letters. */
export const maxUnit = 20;

/** The unit that all columns share; '' if there is none. */
export function unitOf(columns: readonly string[], units: Units): string {
  const all = new Set(columns.map((name) => (Object.hasOwn(units, name) ? units[name]! : '')));
  const [unit = ''] = all;
  return all.size === 1 ? unit : '';
}

/** Suffix for the name of a quantity, such as ", in minutes". */
export const inUnit = (unit: string): string => (unit === '' ? '' : `, in ${unit}`);
