// SPDX-License-Identifier: Apache-2.0

// Positions of handles as texts in the address, so that a scene can be shared as it is and Back
// undoes a move.

export interface Position {
  /** The values of the handles, separated by `_`. */
  read(): string;
  /** Moves the handles; false if the scene cannot parse the text. */
  put(text: string): boolean;
}

export const joined = (...values: readonly (number | string)[]): string => values.join('_');

/**
 * Index of each value in its list; null if a value is not in its list, or if there are more or
 * fewer values than lists.
 */
export function placesOf(
  text: string,
  ...lists: readonly (readonly (number | string)[])[]
): number[] | null {
  const values = text.split('_');
  if (values.length !== lists.length) return null;
  const places = lists.map((list, i) => list.findIndex((value) => String(value) === values[i]));
  return places.includes(-1) ? null : places;
}

/** Position of one handle with a list of stops. */
export function positionIn(
  list: readonly (number | string)[],
  place: () => number,
  go: (place: number) => void,
): Position {
  return {
    read: () => String(list[place()]),
    put(text) {
      const places = placesOf(text, list);
      if (places !== null) go(places[0]!);
      return places !== null;
    },
  };
}
