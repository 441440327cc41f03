// SPDX-License-Identifier: Apache-2.0

// Maps an address to the part of the page that it opens.

/** Address of the laboratory with its defaults; an address without settings opens the story. */
export const laboratory = 'lab';

/** Address names of the settings of a histogram; any of them opens the histogram view. */
export const queriesNames = {
  histogram: 'histogram',
  queries: 'queries',
  queriesView: 'queries-by',
} as const;

export interface Route {
  view: 'story' | 'lab' | 'queries';
  /** The scene to go to; null for the beginning. */
  scene: string | null;
  /** True if only this scene is shown, for embedding. */
  embedded: boolean;
  /** Positions of handles, by scene. */
  positions: ReadonlyMap<string, string>;
}

/**
 * `?embed=ID`, `#scene=ID` and an empty address open the story, `#queries` and settings of a
 * histogram open the histogram view, and other settings open the laboratory. Besides the scene, the
 * address may hold positions of handles, each keyed by the id of its scene.
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

export function addressOf(scene: string, positions: ReadonlyMap<string, string>): string {
  return new URLSearchParams([['scene', scene], ...positions]).toString();
}
