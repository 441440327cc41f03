// SPDX-License-Identifier: Apache-2.0

// Positions of handles as texts for the address, so that a scene is shared as it was left and Back
// undoes what was moved.

export interface Position {
  /** Values with `_` between them. */
  read(): string;
  /** Moves the handles there; false for a text that means nothing to the scene. */
  put(text: string): boolean;
}

export const joined = (...values: readonly (number | string)[]): string => values.join('_');

/**
 * Places of the values in their lists, or null where a value is in none or there are not as many as
 * lists.
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
