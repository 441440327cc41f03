// SPDX-License-Identifier: Apache-2.0

// Columns without a name of their own, for the command and the page. A column without a name, such
// as the row numbers that pandas writes first, is left out; a name that two columns share is
// refused, with the numbers of both, when one of them is read.

/** Names the columns that are left out because they have no name; undefined if all have one. */
export function unnamedText(names: readonly string[]): string | undefined {
  const numbers = names.flatMap((name, i) => (name === '' ? [i + 1] : []));
  const [first, ...rest] = numbers;
  if (first === undefined) return undefined;
  if (rest.length === 0) return `has no name for column ${first}, which is left out`;
  const all = `${[first, ...rest.slice(0, -1)].join(', ')} and ${rest.at(-1)}`;
  return `has no names for columns ${all}, which are left out`;
}

/** 0-based indices of the first two columns of this name: -1 and undefined if they are missing. */
export function placesOf(
  names: readonly string[],
  name: string,
): [first: number, second: number | undefined] {
  const first = names.indexOf(name);
  const second = names.indexOf(name, first + 1);
  return [first, first < 0 || second < 0 ? undefined : second];
}

/** Numbers of two columns with the same name, for a message. */
export function cellsText(first: number, second: number): string {
  return `cells ${first + 1} and ${second + 1}`;
}
