// SPDX-License-Identifier: Apache-2.0

// Reduces a series to about as many points as the chart has pixels, step by step. A bucket of steps
// is drawn as its smallest and its largest value, in order of occurrence.

/** An upper edge is drawn at the largest value of a bucket, a lower edge at the smallest. */
export type Edge = 'line' | 'upper' | 'lower';

export class Decimated {
  /** Number of steps so far. */
  step = 0;
  /** Values of the last step. */
  last: ArrayLike<number> = [];
  private readonly bucket: number;
  private readonly ratio: number;
  private readonly columns: Float64Array[];
  private readonly low: Float64Array;
  private readonly high: Float64Array;
  private readonly lowFirst: boolean[];
  /** End of the current bucket in steps, and the indices of its points. */
  private end = 0;
  private first = 0;
  private second = 0;
  private points = 0;

  /**
   * With `spacing` 'linear' all buckets have the same length; with 'log' they are equally wide on a
   * logarithmic axis.
   */
  constructor(
    readonly numSteps: number,
    readonly edges: readonly Edge[],
    maxBuckets: number,
    spacing: 'linear' | 'log' = 'linear',
  ) {
    const buckets = Math.max(1, Math.round(maxBuckets));
    this.bucket = spacing === 'log' ? 1 : Math.max(1, Math.ceil(numSteps / buckets));
    this.ratio = spacing === 'log' ? numSteps ** (1 / buckets) : 1;
    const size = Math.min(numSteps, 2 * buckets) + 2;
    this.columns = Array.from({ length: edges.length + 1 }, () => new Float64Array(size));
    this.low = new Float64Array(edges.length);
    this.high = new Float64Array(edges.length);
    this.lowFirst = edges.map(() => true);
  }

  /** Appends the next step, with one value per column. */
  push(values: ArrayLike<number>): void {
    const fresh = this.step === this.end;
    if (fresh) {
      this.end = Math.max(this.step + this.bucket, Math.ceil(this.step * this.ratio));
      this.first = this.points;
      this.second = this.end - this.step === 1 ? this.first : this.first + 1;
      this.points = this.second + 1;
    }
    this.step += 1;
    this.last = values;
    const steps = this.columns[0]!;
    if (fresh) steps[this.first] = this.step;
    steps[this.second] = this.step;
    for (let k = 0; k < this.edges.length; ++k) this.update(k, values[k] ?? NaN, fresh);
    for (let k = 0; k < this.edges.length; ++k) this.write(k, this.first, this.second);
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

  /** Steps (from 1) and columns so far, as views valid until the next push. */
  data(): Float64Array[] {
    return this.columns.map((column) => column.subarray(0, this.points));
  }
}
