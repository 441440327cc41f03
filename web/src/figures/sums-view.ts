// SPDX-License-Identifier: Apache-2.0

// The total of a run shown in Figure 1, step by step: its release, its band and the truth.

import type { MechanismName } from 'dp-ftrl';
import { twoSigmaRadius } from '../data/chi.ts';
import type { History } from '../run/history.ts';
import type { SimultaneousBand } from './simultaneous.ts';

/** One step of the shown total, which is a coordinate or the norm of all coordinates. */
export interface SumsAt {
  release: number;
  /** Half width of the band. */
  band: number;
  /** Half width of the simultaneous band; NaN if there is none. */
  wide: number;
  truth: number;
}

/**
 * View of a history: coordinate `view` (from 1), or the norm if `view` is 0. `simultaneous` is its
 * simultaneous band, if shown.
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

  at(step: number): SumsAt {
    const { trueSums, noisySums, stddev } = this.history;
    return {
      release: this.pick(noisySums, step),
      band: this.radius * (stddev[step] ?? NaN),
      wide: this.wide,
      truth: this.pick(trueSums, step),
    };
  }

  /**
   * Upper end of a band. The band is centred on the release, which is all that an observer knows.
   */
  upper(at: SumsAt, half: number): number {
    return at.release + half;
  }

  /** Lower end of a band. The band around a norm is cut off at 0. */
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

/** The total of a lane, and the number of steps at which its bands contained the truth. */
export class Track {
  numInside = 0;
  /** Number of steps at which the truth was outside the simultaneous band. */
  numBeyond = 0;
  private counted = 0;

  constructor(
    readonly mechanism: MechanismName,
    readonly view: SumsView,
  ) {}

  /** Counts new steps. */
  count(): void {
    for (; this.counted < this.view.history.step; ++this.counted) {
      const at = this.view.at(this.counted);
      const distance = Math.abs(at.truth - at.release);
      if (distance <= at.band) this.numInside += 1;
      if (distance > at.wide) this.numBeyond += 1;
    }
  }
}
