// SPDX-License-Identifier: Apache-2.0

// Interfaces of scenes. The texts of a scene are in the list of story.ts, so that headings and
// addresses exist before its module is loaded; the module exports `mount`.

import type { MapPanel, PicturePanel } from '../figures/picture.ts';
import type { Engine } from '../base/engine.ts';
import type { Position } from './position.ts';
import type { SourceName } from './sources.ts';
import type { Stage } from './stage.ts';

/** Services that the story offers to every scene. */
export interface Frame {
  /** True for reduced motion: finished frames, and steps instead of animations. */
  readonly calm: boolean;
  /**
   * Runs computations one at a time, in the order of the requests. Patient work, which takes
   * seconds, lets all other work go first.
   */
  queue<T>(work: () => Promise<T>, options?: { patient?: boolean }): Promise<T>;
  /** The library in a worker, which is started for the first request. */
  library(): Promise<Engine>;
  /** Called when the user releases a handle, so that its position is written to the address. */
  settled(): void;
}

/** A frame for scenes that are mounted once the library is there. */
export interface Context extends Frame {
  readonly engine: Engine;
}

export interface SceneView {
  /** Called when the theme has changed; figures styled by classes need not react. */
  restyle(): void;
  /** Figures in their current state, for download. */
  panels(): (PicturePanel | MapPanel)[];
  /** Position of the scene's handles. */
  readonly position: Position;
  /** Work after `mount` for which the finished frame waits; replaced when the work restarts. */
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
  /** Papers whose results the scene shows. */
  readonly sources: readonly SourceName[];
}

/** A scene that computes with the library. */
interface ComputedScene extends SceneText {
  readonly drawn?: false;
  /** Shown in place of the figure while it loads; default: a note that it is being computed. */
  readonly waits?: string;
  load(): Promise<{ readonly mount: Mount }>;
}

/** A scene that is drawn without the library; results may follow. */
interface DrawnScene extends SceneText {
  readonly drawn: true;
  load(): Promise<{ readonly mount: Mount<Frame> }>;
}

export type Scene = ComputedScene | DrawnScene;
