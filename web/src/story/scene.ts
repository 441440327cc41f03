// SPDX-License-Identifier: Apache-2.0

// Interfaces of scenes. The texts of a scene are in the list of story.ts, so that headings and
// addresses exist before its module is loaded; the module exports `mount`.

import type { MapPanel, Panel } from '../figures/picture.ts';
import type { Engine } from '../base/engine.ts';
import type { Position } from './position.ts';
import type { SourceName } from './sources.ts';
import type { Stage } from './stage.ts';

/** The part of the story that every scene gets. */
export interface Frame {
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

/** The same, with the library in a worker. */
export interface Context extends Frame {
  readonly engine: Engine;
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

/**
 * Fills the figure and the words of a scene. Called once, when the scene is about to become visible.
 */
export type Mount<C extends Frame = Context> = (stage: Stage, context: C) => Promise<SceneView>;

interface SceneText {
  /** Name in addresses. */
  readonly id: string;
  readonly title: string;
  /** Introductory sentence. */
  readonly sentence: string;
  /** Papers that it shows. */
  readonly sources: readonly SourceName[];
}

/** A scene that computes with the library. */
interface ComputedScene extends SceneText {
  readonly drawn?: false;
  load(): Promise<{ readonly mount: Mount }>;
}

/** A scene that was drawn when the page was built, for which the library is not loaded. */
interface DrawnScene extends SceneText {
  readonly drawn: true;
  load(): Promise<{ readonly mount: Mount<Frame> }>;
}

export type Scene = ComputedScene | DrawnScene;
