// SPDX-License-Identifier: Apache-2.0

/** The same fields, which may be missing but are never undefined. */
export type Given<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Returns the fields that have a value. */
export function given<T extends object>(fields: T): Given<T> {
  const all = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(all) as Given<T>;
}
