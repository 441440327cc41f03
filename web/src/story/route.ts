// SPDX-License-Identifier: Apache-2.0

// Which part of the page an address opens.

/** Opens the laboratory with its defaults: an address without settings opens the story. */
export const laboratory = 'lab';

/** Names in the address of what is asked of a histogram; each of them opens that view. */
export const queriesNames = {
  histogram: 'histogram',
  queries: 'queries',
  queriesView: 'queries-by',
} as const;

export interface Route {
  view: 'story' | 'lab' | 'queries';
  /** The scene to go to, or null for the beginning. */
  scene: string | null;
  /** Whether that scene is shown alone, for other pages to embed. */
  embedded: boolean;
  /** Positions of handles, by scene. */
  positions: ReadonlyMap<string, string>;
}

/**
 * `?embed=ID`, `#scene=ID` and nothing at all are the story, `#queries` and settings of a histogram
 * the view of its own; other settings are the laboratory. Beside the scene to go to stand positions of
 * handles, each under the name of its scene.
 */
export function routeOf({ search, hash }: { search: string; hash: string }): Route {
  const embedded = new URLSearchParams(search).get('embed');
  const text = hash.replace(/^#/, '');
  const names = new Map(new URLSearchParams(text));
  const scene = names.get('scene') ?? null;
  if (text !== '' && scene === null) {
    const asks = Object.values(queriesNames).some((name) => names.has(name));
    return { view: asks ? 'queries' : 'lab', scene: null, embedded: false, positions: new Map() };
  }
  names.delete('scene');
  return {
    view: 'story',
    scene: scene ?? embedded,
    embedded: embedded !== null,
    positions: names,
  };
}

/** The address of a scene, with the positions of handles that were moved. */
export function addressOf(scene: string, positions: ReadonlyMap<string, string>): string {
  return new URLSearchParams([['scene', scene], ...positions]).toString();
}
