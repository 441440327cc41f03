// SPDX-License-Identifier: Apache-2.0

// As many points as the chart has pixels, kept up to date step by step: a bucket of steps is drawn
// as its least and its greatest value, in the order in which they came.

/** An upper edge is drawn at the greatest value of a bucket, a lower one at the least. */
export type Edge = 'line' | 'upper' | 'lower';

export class Decimated {
  /** Steps taken in. */
  step = 0;
  private readonly bucket: number;
  private readonly columns: Float64Array[];
  private readonly low: Float64Array;
  private readonly high: Float64Array;
  private readonly lowFirst: boolean[];
  private points = 0;

  constructor(
    readonly numSteps: number,
    readonly edges: readonly Edge[],
    maxBuckets: number,
  ) {
    this.bucket = Math.max(1, Math.ceil(numSteps / Math.max(1, maxBuckets)));
    const size = this.bucket === 1 ? numSteps : 2 * Math.ceil(numSteps / this.bucket);
    this.columns = Array.from({ length: edges.length + 1 }, () => new Float64Array(size));
    this.low = new Float64Array(edges.length);
    this.high = new Float64Array(edges.length);
    this.lowFirst = edges.map(() => true);
  }

  /** Takes in the next step: one value a column. */
  push(values: ArrayLike<number>): void {
    const inBucket = this.step % this.bucket;
    const first = this.bucket === 1 ? this.step : 2 * Math.floor(this.step / this.bucket);
    const second = this.bucket === 1 ? first : first + 1;
    this.step += 1;
    this.points = second + 1;
    const steps = this.columns[0]!;
    if (inBucket === 0) steps[first] = this.step;
    steps[second] = this.step;
    for (let k = 0; k < this.edges.length; ++k) this.update(k, values[k] ?? NaN, inBucket === 0);
    for (let k = 0; k < this.edges.length; ++k) this.write(k, first, second);
  }

  private update(k: number, value: number, fresh: boolean): void {
    if (fresh) {
      this.low[k] = value;
      this.high[k] = value;
      this.lowFirst[k] = true;
    } else if (value < this.low[k]!) {
      this.low[k] = value;
      this.lowFirst[k] = false;
    } else if (value > this.high[k]!) {
      this.high[k] = value;
      this.lowFirst[k] = true;
    }
  }

  private write(k: number, first: number, second: number): void {
    const column = this.columns[k + 1]!;
    const low = this.low[k]!;
    const high = this.high[k]!;
    const edge = this.edges[k];
    const lowFirst = this.lowFirst[k]!;
    column[first] = edge === 'upper' || (edge === 'line' && !lowFirst) ? high : low;
    column[second] = edge === 'upper' || (edge === 'line' && lowFirst) ? high : low;
  }

  /** Steps (from 1) and columns so far; views, valid until the next push. */
  data(): Float64Array[] {
    return this.columns.map((column) => column.subarray(0, this.points));
  }
}
