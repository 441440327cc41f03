// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl release: running totals.

import type { Totals } from '../../types/all.js';
import type { Released } from '../input/steps.js';
import { BAND_TEXT, banded, Thinning, type Figure } from './figure.js';

interface Options {
  columns: readonly string[];
  numSteps: number;
  /** Column of the times, where steps are times. */
  timeColumn: string | undefined;
}

/** Collects totals as they are released. */
export class TotalsChart {
  private readonly thinning: Thinning;
  private readonly steps: number[] = [];
  private readonly labels: string[] = [];
  private readonly totals: number[][] = [];
  private readonly stds: number[] = [];

  constructor(private readonly options: Options) {
    this.thinning = new Thinning(options.numSteps);
  }

  take({ first, noisy, labels }: Released, totals: Pick<Totals, 'dimension' | 'stddev'>): void {
    const { dimension } = totals;
    for (let k = 0; k < noisy.length / dimension; ++k) {
      if (!this.thinning.shows(first + k)) continue;
      this.steps.push(first + k + 1);
      if (labels) this.labels.push(labels[k]!);
      this.totals.push([...noisy.subarray(k * dimension, (k + 1) * dimension)]);
      this.stds.push(totals.stddev(first + k));
    }
  }

  figure(): Figure {
    const { columns, timeColumn } = this.options;
    const { steps, labels, totals, stds } = this;
    const isTimed = timeColumn !== undefined;
    const x = isTimed ? labels.map((_, i) => i) : steps;
    const series = columns.flatMap((name, j) =>
      banded(name, x, totals.map((row) => row[j]!), stds),
    );
    return {
      title: 'Private running totals',
      picture: {
        panels: [
          {
            title: `Shaded: ${BAND_TEXT}`,
            x: { label: timeColumn ?? 'step', log: false, ...(isTimed && { names: labels }) },
            y: { label: 'total so far', log: false },
            series,
          },
        ],
      },
      numbers: {
        caption: `Totals, and the standard deviation of their noise${this.thinning.text}`,
        header: ['step', ...(isTimed ? [timeColumn] : []), ...columns, 'std'],
        rows: steps.map((step, i) => [
          step,
          ...(isTimed ? [labels[i]!] : []),
          ...totals[i]!,
          stds[i]!,
        ]),
      },
    };
  }
}
