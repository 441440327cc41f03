// SPDX-License-Identifier: Apache-2.0

// One contribution to a sum of many: clipped, and put on the grid of the release.

/** Clips to a norm and truncates to multiples of a grid; the norm never comes out longer. */
export class ContributionGrid {
  /** floor(clipNorm / grid), at most 2^31 in every release. */
  private readonly maxNorm: number;

  constructor(
    private readonly clipNorm: number,
    private readonly grid: number,
  ) {
    this.maxNorm = Math.floor(clipNorm / grid);
  }

  /** Adds the contribution to `sum`, in grids. All entries stay integers. */
  addTo(sum: Float64Array, contribution: Float64Array): void {
    const { clipNorm, grid } = this;
    const largest = contribution.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (largest === 0) return;
    // Norm / largest: the norm itself may overflow.
    const ratio = Math.sqrt(contribution.reduce((total, x) => total + (x / largest) ** 2, 0));
    const clipped = largest * ratio > clipNorm;
    const units = contribution.map((x) =>
      Math.trunc((clipped ? (x / largest / ratio) * clipNorm : x) / grid),
    );
    this.shorten(units);
    units.forEach((x, j) => (sum[j]! += x));
  }

  /**
   * Rounding of the norm may have left the vector a little too long: the largest entries are made
   * smaller until it is not. Decided with integers, which do not round.
   */
  private shorten(units: Float64Array): void {
    const near = units.reduce((total, x) => total + x * x, 0);
    if (near <= 0.999 * this.maxNorm ** 2) return;
    const limit = BigInt(this.maxNorm) ** 2n;
    const square = () => units.reduce((total, x) => total + BigInt(x) ** 2n, 0n);
    while (square() > limit) {
      const largest = units.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
      const j = units.findIndex((x) => Math.abs(x) === largest);
      units[j] = units[j]! - Math.sign(units[j]!);
    }
  }
}
