// SPDX-License-Identifier: Apache-2.0

// The shapes of a scene. The words of a scene stand in the list of story.ts, so that headings and
// addresses are there before its module is loaded; the module exports `mount`.

import type { MapPanel, Panel } from '../figures/picture.ts';
import type { Engine } from '../page/engine.ts';
import type { Position } from './position.ts';

export interface Context {
  readonly engine: Engine;
  /** Reduced motion: finished frames, and steps instead of movements. */
  readonly calm: boolean;
  /**
   * Scenes compute one at a time, in the order in which they ask. Patient work, which takes seconds,
   * lets all other work go first.
   */
  queue<T>(work: () => Promise<T>, options?: { patient?: boolean }): Promise<T>;
  /** The reader has let go of a handle: the address takes its position. */
  settled(): void;
}

export interface SceneView {
  /** Called when the theme has changed; figures styled by classes have nothing to do. */
  restyle(): void;
  /** Its figures as they are now, to be taken away. */
  panels(): (Panel | MapPanel)[];
  /** Position of its handles, which the reader moves. */
  readonly position: Position;
  /** Work after `mount` that its finished frame waits for; another one once it begins anew. */
  readonly working?: Promise<void>;
  dispose?(): void;
}

/** Fills the stage of a scene. Called once, when the scene is about to be seen. */
export type Mount = (stage: HTMLElement, context: Context) => Promise<SceneView>;

export interface Scene {
  /** Name in addresses. */
  readonly id: string;
  readonly title: string;
  /** The one sentence. */
  readonly sentence: string;
  load(): Promise<{ readonly mount: Mount }>;
}
