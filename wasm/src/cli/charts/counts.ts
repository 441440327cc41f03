// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl count: counts per bucket, and running totals.

import type { Totals } from '../../types/streams/readings.js';
import { Differences } from '../output/differences.js';
import type { Step } from '../output/released.js';
import { apart, BAND_TEXT, banded, PER_ROW, Thinning, type Figure } from './figure.js';

interface Options {
  bucket: string;
  zone: string;
  /** Plural noun for the counted units. */
  unit: string;
  /** Column of the categories, and the categories; undefined if all rows are counted together. */
  by: string | undefined;
  labels: readonly string[] | undefined;
  /** Standard deviation of each bucket's count. */
  stddevs: Float64Array;
  /** Totals before the first bucket, if an earlier run released them. */
  before?: ArrayLike<number> | undefined;
}

/** Counts and totals of all categories after a bucket. */
interface Bucket {
  time: string;
  counts: number[];
  totals: number[];
  countStd: number;
  totalStd: number;
}

/** Collects counts as they are released. */
export class CountsChart {
  private readonly thinning = new Thinning<Bucket>();
  private readonly differences: Differences;

  constructor(private readonly options: Options) {
    this.differences = new Differences(Array.from(options.before ?? []));
  }

  take(steps: readonly Step<Totals>[]): void {
    for (const { reading, time } of steps) {
      const now = [...reading.values];
      const counts = this.differences.next(now);
      const stds = { countStd: this.options.stddevs[reading.step]!, totalStd: reading.stddev };
      this.thinning.take({ time: time!, counts, totals: now, ...stds });
    }
  }

  figure(): Figure {
    const { bucket, zone, by, unit } = this.options;
    const { points: buckets } = this.thinning;
    const names = this.options.labels ?? [unit];
    const x = buckets.map((_, i) => i);
    const axis = {
      label: `${bucket} (${zone})`,
      log: false,
      names: buckets.map(({ time }) => time),
    };
    const panel = (
      [title, label]: [string, string],
      numbers: 'counts' | 'totals',
      std: 'countStd' | 'totalStd',
    ) => ({
      title,
      x: axis,
      y: { label, log: false },
      series: names.flatMap((name, j) => {
        const y = buckets.map((each) => each[numbers][j]!);
        return banded(
          name,
          x,
          y,
          buckets.map((each) => each[std]),
        );
      }),
    });
    return {
      title: `Private counts per ${bucket}`,
      picture: {
        perRow: PER_ROW,
        notes: [`Shaded: ${BAND_TEXT}.`, ...this.thinning.notes(`${bucket}s`)],
        panels: [
          ...apart(panel([`each ${bucket}`, `${unit} per ${bucket}`], 'counts', 'countStd'), {
            sharesScale: true,
          }),
          panel(
            ['so far', unit === 'rows' ? unit : `sum of ${unit} per ${bucket}`],
            'totals',
            'totalStd',
          ),
        ],
      },
      numbers: {
        caption: `Counts, and the standard deviations of their noise${this.thinning.text}`,
        header: [
          `${bucket} (${zone})`,
          ...(by === undefined ? [] : [by]),
          ...['count', 'count_std', 'total', 'total_std'],
        ],
        rows: buckets.flatMap(({ time, counts, totals, countStd, totalStd }) =>
          names.map((name, j) => [
            time,
            ...(by === undefined ? [] : [name]),
            ...[counts[j]!, countStd, totals[j]!, totalStd],
          ]),
        ),
      },
    };
  }
}
