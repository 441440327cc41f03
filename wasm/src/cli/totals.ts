// SPDX-License-Identifier: Apache-2.0

// Running totals of the steps: with noise, and for --show-nonprivate without.

import type { PrefixSum } from '../types.js';

/** Noisy totals of as many steps as could be released, and the error that stopped the rest. */
export interface Released {
  noisy: Float64Array;
  fault?: Error;
}

export interface Totals {
  release(values: Float64Array): Released;
  /** Adds a step to the sums without noise, and gives them. */
  addTrue(step: Float64Array): readonly number[];
}

function releaseMany(sums: PrefixSum, values: Float64Array): Released {
  try {
    return { noisy: sums.releaseMany(values) };
  } catch (error) {
    const { released } = error as { released?: Float64Array };
    if (!(error instanceof Error) || !released) throw error;
    return { noisy: released, fault: error };
  }
}

/** A step is one row, which the prefix sum clips and puts on its grid. */
export class RowTotals implements Totals {
  private readonly sums: number[];

  constructor(
    private readonly prefixSum: PrefixSum,
    private readonly clipNorm: number,
  ) {
    this.sums = new Array<number>(prefixSum.dimension).fill(0);
  }

  release(values: Float64Array): Released {
    return releaseMany(this.prefixSum, values);
  }

  addTrue(row: Float64Array): readonly number[] {
    const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (largest === 0) return this.sums;
    // Norm / largest, as in the core: the norm itself may overflow.
    const ratio = Math.sqrt(row.reduce((sum, value) => sum + (value / largest) ** 2, 0));
    const clipped = largest * ratio > this.clipNorm;
    row.forEach((value, j) => {
      this.sums[j]! += clipped ? (value / largest / ratio) * this.clipNorm : value;
    });
    return this.sums;
  }
}

/**
 * A step is a sum of contributions, each clipped and on the grid already. The prefix sum would clip
 * the whole step to the norm of one contribution, so it gets records of zeros and answers with its
 * noise alone, in grids; the sums are added as integers. Theorem 1 of docs/math/grid.md has the
 * same law in mind: a release is an integer sum plus rounded noise.
 */
export class BucketTotals implements Totals {
  private readonly sums: Float64Array;
  private readonly trueSums: number[];

  constructor(private readonly prefixSum: PrefixSum) {
    this.sums = new Float64Array(prefixSum.dimension);
    this.trueSums = new Array<number>(prefixSum.dimension).fill(0);
  }

  release(values: Float64Array): Released {
    const { dimension, grid } = this.prefixSum;
    const { noisy, ...rest } = releaseMany(this.prefixSum, new Float64Array(values.length));
    for (let i = 0; i < noisy.length; ++i) {
      const j = i % dimension;
      const sum = this.sums[j]! + values[i]!;
      const total = sum + noisy[i]! / grid;
      if (!Number.isSafeInteger(sum) || !Number.isSafeInteger(total)) {
        const what = `a total is beyond 2^53 times the grid ${grid}`;
        const fault = Object.assign(new Error(what), { code: 'resource_exhausted' });
        return { noisy: noisy.slice(0, i - j), fault };
      }
      this.sums[j] = sum;
      noisy[i] = total * grid;
    }
    return { noisy, ...rest };
  }

  addTrue(step: Float64Array): readonly number[] {
    step.forEach((value, j) => (this.trueSums[j]! += value * this.prefixSum.grid));
    return this.trueSums;
  }
}
