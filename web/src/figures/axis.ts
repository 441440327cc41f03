// SPDX-License-Identifier: Apache-2.0

import uPlot from 'uplot';

/**
 * A range that grows with the data and never shrinks, because a chart that keeps rescaling is hard
 * to read.
 */
export class GrowingRange {
  private low = Infinity;
  private high = -Infinity;
  private shown: [number, number];

  constructor(private readonly start: [number, number]) {
    this.shown = start;
  }

  include(value: number): void {
    if (value < this.low) this.low = value;
    if (value > this.high) this.high = value;
  }

  /** All values so far, with a small margin, for a chart that gets no more values. */
  whole(): [number, number] {
    if (this.low >= this.high) return this.get();
    const room = 0.03 * (this.high - this.low);
    return [this.low - room, this.high + room];
  }

  /** Round limits around all values so far, with room for the next values. */
  get(): [number, number] {
    if (this.low > this.high) return this.start;
    if (this.low < this.shown[0] || this.high > this.shown[1] || this.shown === this.start) {
      const [low, high] = uPlot.rangeNum(this.low, this.high, 0.12, true);
      this.shown = [low ?? 0, high ?? 1];
    }
    return this.shown;
  }
}
