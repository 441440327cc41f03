// SPDX-License-Identifier: Apache-2.0

// Which part of the page an address opens.

/** Opens the laboratory with its defaults: an address without settings opens the story. */
export const laboratory = 'lab';

export interface Route {
  view: 'story' | 'lab';
  /** The scene to go to, or null for the beginning. */
  scene: string | null;
  /** Whether that scene is shown alone, for other pages to embed. */
  embedded: boolean;
}

/** `?embed=ID`, `#scene=ID` and nothing at all are the story; settings are the laboratory. */
export function routeOf({ search, hash }: { search: string; hash: string }): Route {
  const embedded = new URLSearchParams(search).get('embed');
  const text = hash.replace(/^#/, '');
  const scene = new URLSearchParams(text).get('scene');
  if (text !== '' && scene === null) return { view: 'lab', scene: null, embedded: false };
  return { view: 'story', scene: scene ?? embedded, embedded: embedded !== null };
}
