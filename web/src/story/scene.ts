// SPDX-License-Identifier: Apache-2.0

// Interfaces of scenes. The texts of a scene are in the list of story.ts, so that headings and
// addresses exist before its module is loaded; the module exports `mount`.

import type { MapPanel, Panel } from '../figures/picture.ts';
import type { Engine } from '../base/engine.ts';
import type { Position } from './position.ts';
import type { SourceName } from './sources.ts';
import type { Stage } from './stage.ts';

export interface Context {
  readonly engine: Engine;
  /** True for reduced motion: finished frames, and steps instead of animations. */
  readonly calm: boolean;
  /**
   * Runs computations one at a time, in the order of the requests. Patient work, which takes
   * seconds, lets all other work go first.
   */
  queue<T>(work: () => Promise<T>, options?: { patient?: boolean }): Promise<T>;
  /** Called when the user releases a handle, to put its position into the address. */
  settled(): void;
}

export interface SceneView {
  /** Called when the theme has changed; figures styled by classes need not react. */
  restyle(): void;
  /** Returns the figures as they are now, for download. */
  panels(): (Panel | MapPanel)[];
  /** Position of the scene's handles. */
  readonly position: Position;
  /** Work after `mount` that the finished frame waits for; replaced when the work restarts. */
  readonly working?: Promise<void>;
  dispose?(): void;
}

/** Fills the figure and the words of a scene. Called once, when the scene is about to become visible. */
export type Mount = (stage: Stage, context: Context) => Promise<SceneView>;

export interface Scene {
  /** Name in addresses. */
  readonly id: string;
  readonly title: string;
  /** Introductory sentence. */
  readonly sentence: string;
  /** Papers that it shows. */
  readonly sources: readonly SourceName[];
  load(): Promise<{ readonly mount: Mount }>;
}
