// SPDX-License-Identifier: Apache-2.0

/** Most letters of a name that a message shows. */
const MOST_LETTERS = 40;

/** A name, truncated if long, because the first row of a file may hold anything. */
export function shortName(name: string): string {
  return name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}…` : name;
}
