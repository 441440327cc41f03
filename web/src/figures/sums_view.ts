// SPDX-License-Identifier: Apache-2.0

// The total that Figure 1 shows of a run, step by step: its release, its band, the truth.

import { twoSigmaRadius } from '../data/chi.ts';
import type { History } from './history.ts';

/** One step of the total that is shown: a coordinate, or the norm of all. */
export interface SumsAt {
  release: number;
  /** Half the width of the band. */
  band: number;
  truth: number;
}

/** View of a history: coordinate `view` (from 1), or the norm if `view` is 0. */
export class SumsView {
  private readonly radius: number;

  constructor(
    readonly history: History,
    readonly view: number,
  ) {
    this.radius = view === 0 ? twoSigmaRadius(history.info.dimension) : 2;
  }

  /** At a 0-based step. */
  at(step: number): SumsAt {
    const { trueSums, noisySums, stddev } = this.history;
    return {
      release: this.pick(noisySums, step),
      band: this.radius * (stddev[step] ?? NaN),
      truth: this.pick(trueSums, step),
    };
  }

  /** The band is centred on the release: an observer knows no other place. */
  upper(at: SumsAt): number {
    return at.release + at.band;
  }

  /** The band around a norm starts at 0. */
  lower(at: SumsAt): number {
    return this.view === 0 ? Math.max(0, at.release - at.band) : at.release - at.band;
  }

  private pick(sums: Float64Array, step: number): number {
    const d = this.history.info.dimension;
    if (this.view !== 0) return sums[step * d + this.view - 1] ?? NaN;
    let squares = 0;
    for (let j = step * d; j < (step + 1) * d; ++j) squares += (sums[j] ?? NaN) ** 2;
    return Math.sqrt(squares);
  }
}

/** A lane's total, and in how many steps its band held the truth. */
export class Track {
  numInside = 0;
  private counted = 0;

  constructor(
    readonly name: string,
    readonly view: SumsView,
  ) {}

  /** Counts the steps that are new. */
  count(): void {
    for (; this.counted < this.view.history.step; ++this.counted) {
      const at = this.view.at(this.counted);
      if (Math.abs(at.truth - at.release) <= at.band) this.numInside += 1;
    }
  }
}
