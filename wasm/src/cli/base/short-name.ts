// SPDX-License-Identifier: Apache-2.0

/** Maximum number of letters of a name shown in a message. */
const MOST_LETTERS = 40;

/** A name, truncated if long: the first row of a file may hold anything. */
export function shortName(name: string): string {
  return name.length > MOST_LETTERS ? `${name.slice(0, MOST_LETTERS - 1)}…` : name;
}
