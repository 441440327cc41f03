// SPDX-License-Identifier: Apache-2.0

// The figure of dp-ftrl release: running totals.

import type { Workload } from '../../types/all.js';
import type { Totals } from '../../types/streams/readings.js';
import { STEP_AXIS } from '../../plot/picture.js';
import { workloadText } from '../input/workload.js';
import type { ReleasedStep } from '../output/released.js';
import { BAND_TEXT, banded, Thinning, type Figure } from './figure.js';
import { counted } from '../../shared/counted.js';

interface TotalsChartOptions {
  columns: readonly string[];
  /** Column of the times, if steps are times. */
  timeColumn: string | undefined;
  /** Workload whose sums are drawn. */
  workload: Workload;
}

function titleOf(workload: Workload): string {
  if (workload === 'prefix') return 'Private running totals';
  return typeof workload === 'object' && 'window' in workload
    ? `Private sums of the last ${counted(workload.window, 'step')}`
    : `Private sums with weights (${workloadText(workload)})`;
}

/** Totals after a step. */
interface TotalsRow {
  step: number;
  /** Empty if steps are not times. */
  label: string;
  totals: number[];
  std: number;
}

/** Collects totals as they are released. */
export class TotalsChart {
  private readonly thinning = new Thinning<TotalsRow>();

  constructor(private readonly options: TotalsChartOptions) {}

  take(steps: readonly ReleasedStep<Totals>[]): void {
    for (const { reading, time = '' } of steps) {
      const { step, values, stddev: std } = reading;
      this.thinning.take({ step: step + 1, label: time, totals: [...values], std });
    }
  }

  figure(): Figure {
    const { columns, timeColumn, workload } = this.options;
    const { points } = this.thinning;
    const isTimed = timeColumn !== undefined;
    const labels = points.map(({ label }) => label);
    const x = points.map(({ step }, i) => (isTimed ? i : step));
    const stds = points.map(({ std }) => std);
    const series = columns.flatMap((name, j) =>
      banded(
        name,
        x,
        points.map(({ totals }) => totals[j]!),
        stds,
      ),
    );
    return {
      title: titleOf(workload),
      picture: {
        notes: this.thinning.notes('steps'),
        panels: [
          {
            title: `Shaded: ${BAND_TEXT}`,
            x: isTimed ? { label: timeColumn, log: false, names: labels } : STEP_AXIS,
            y: { label: workload === 'prefix' ? 'total so far' : 'sum', log: false },
            series,
          },
        ],
      },
      numbers: {
        caption: `Totals, and the standard deviation of their noise${this.thinning.text}`,
        header: ['step', ...(isTimed ? [timeColumn] : []), ...columns, 'std'],
        rows: points.map(({ step, label, totals, std }) => [
          step,
          ...(isTimed ? [label] : []),
          ...totals,
          std,
        ]),
      },
    };
  }
}
