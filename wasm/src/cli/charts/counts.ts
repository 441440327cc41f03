// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl count: counts per bucket, and running totals.

import { partOf, type Counts, type CountPart } from '../output/counts.js';
import type { ReleasedStep } from '../output/released.js';
import { apart, BAND_TEXT, banded, PER_ROW, Thinning, type Figure } from './figure.js';

interface CountsChartOptions {
  bucket: string;
  zone: string;
  /** Plural noun for the counted units. */
  unit: string;
  parts: readonly CountPart[];
  /** Column of the categories, and the categories; undefined if all rows are counted together. */
  by: string | undefined;
  labels: readonly string[] | undefined;
}

/** Values of all categories after a bucket, for each part. */
interface CountsBucket {
  time: string;
  numbers: { values: number[]; std: number }[];
}

/** Collects counts as they are released. */
export class CountsChart {
  private readonly thinning = new Thinning<CountsBucket>();

  constructor(private readonly options: CountsChartOptions) {}

  take(steps: readonly ReleasedStep<Counts>[]): void {
    for (const { reading, time } of steps) {
      const numbers = this.options.parts.map((part) => {
        const { values, stddev } = partOf(reading, part);
        return { values: [...values], std: stddev };
      });
      this.thinning.take({ time: time!, numbers });
    }
  }

  figure(): Figure {
    const { bucket, zone, by, unit, parts } = this.options;
    const { points: buckets } = this.thinning;
    const names = this.options.labels ?? [unit];
    const x = buckets.map((_, i) => i);
    const axis = {
      label: `${bucket} (${zone})`,
      log: false,
      names: buckets.map(({ time }) => time),
    };
    const panels = parts.flatMap((part, i) => {
      const [title, label] =
        part === 'count'
          ? [`each ${bucket}`, `${unit} per ${bucket}`]
          : ['so far', unit === 'rows' ? unit : `sum of ${unit} per ${bucket}`];
      const stds = buckets.map(({ numbers }) => numbers[i]!.std);
      const series = names.flatMap((name, j) => {
        const y = buckets.map(({ numbers }) => numbers[i]!.values[j]!);
        return banded(name, x, y, stds);
      });
      const one = { title, x: axis, y: { label, log: false }, series };
      return part === 'count' ? apart(one, { sharesScale: true }) : [one];
    });
    return {
      title: `Private counts per ${bucket}`,
      picture: {
        perRow: PER_ROW,
        notes: [`Shaded: ${BAND_TEXT}.`, ...this.thinning.notes(`${bucket}s`)],
        panels,
      },
      numbers: {
        caption: `Counts, and the standard deviations of their noise${this.thinning.text}`,
        header: [
          `${bucket} (${zone})`,
          ...(by === undefined ? [] : [by]),
          ...parts.flatMap((part) => [part, `${part}_std`]),
        ],
        rows: buckets.flatMap(({ time, numbers }) =>
          names.map((name, j) => [
            time,
            ...(by === undefined ? [] : [name]),
            ...numbers.flatMap(({ values, std }) => [values[j]!, std]),
          ]),
        ),
      },
    };
  }
}
