// SPDX-License-Identifier: Apache-2.0

/** Fields may be missing but are never undefined. */
export type DefinedFields<T> = { [Name in keyof T]?: Exclude<T[Name], undefined> };

/** Leaves out fields without a value. */
export function given<T extends object>(fields: T): DefinedFields<T> {
  const all = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(all) as DefinedFields<T>;
}
