// SPDX-License-Identifier: Apache-2.0

// The total that Figure 1 shows of a run, step by step: its release, its band, the truth.

import { twoSigmaRadius } from '../data/chi.ts';
import type { History } from './history.ts';
import type { SimultaneousBand } from './simultaneous.ts';

/** One step of the total that is shown: a coordinate, or the norm of all. */
export interface SumsAt {
  release: number;
  /** Half the width of the band. */
  band: number;
  /** Half the width of the one that holds every step at once; NaN where there is none. */
  wide: number;
  truth: number;
}

/**
 * View of a history: coordinate `view` (from 1), or the norm if `view` is 0; `simultaneous`: its band
 * for every step at once, if it is shown.
 */
export class SumsView {
  private readonly radius: number;
  private readonly wide: number;

  constructor(
    readonly history: History,
    readonly view: number,
    readonly simultaneous?: SimultaneousBand,
  ) {
    this.wide = simultaneous?.[view === 0 ? 'norm' : 'coordinate'] ?? NaN;
    this.radius = view === 0 ? twoSigmaRadius(history.info.dimension) : 2;
  }

  /** At a 0-based step. */
  at(step: number): SumsAt {
    const { trueSums, noisySums, stddev } = this.history;
    return {
      release: this.pick(noisySums, step),
      band: this.radius * (stddev[step] ?? NaN),
      wide: this.wide,
      truth: this.pick(trueSums, step),
    };
  }

  /** The band is centred on the release: an observer knows no other place. */
  upper(at: SumsAt, half: number): number {
    return at.release + half;
  }

  /** The band around a norm starts at 0. */
  lower(at: SumsAt, half: number): number {
    return this.view === 0 ? Math.max(0, at.release - half) : at.release - half;
  }

  private pick(sums: Float64Array, step: number): number {
    const d = this.history.info.dimension;
    if (this.view !== 0) return sums[step * d + this.view - 1] ?? NaN;
    let squares = 0;
    for (let j = step * d; j < (step + 1) * d; ++j) squares += (sums[j] ?? NaN) ** 2;
    return Math.sqrt(squares);
  }
}

/** A lane's total, and in how many steps its bands held the truth. */
export class Track {
  numInside = 0;
  /** Steps outside of the band for every step at once. */
  numBeyond = 0;
  private counted = 0;

  constructor(
    readonly name: string,
    readonly view: SumsView,
  ) {}

  /** Counts the steps that are new. */
  count(): void {
    for (; this.counted < this.view.history.step; ++this.counted) {
      const at = this.view.at(this.counted);
      const distance = Math.abs(at.truth - at.release);
      if (distance <= at.band) this.numInside += 1;
      if (distance > at.wide) this.numBeyond += 1;
    }
  }
}
