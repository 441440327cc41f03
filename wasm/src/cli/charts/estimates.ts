// SPDX-License-Identifier: Apache-2.0

// Figures of statistics: estimates with their intervals.

import type { Estimate, Step as Reading } from '../../types/streams/readings.js';
import { STEP_AXIS } from '../../plot/picture.js';
import type { ReleasedStep } from '../output/released.js';
import { apart, PER_ROW, Thinning, type Figure } from './figure.js';

/** A number and its interval. */
type Interval = Pick<Estimate, 'value' | 'low' | 'high'>;

interface EstimatesChartOptions<R extends Reading> {
  title: string;
  /** Column of the times, if steps are times. */
  timeColumn: string | undefined;
  confidence: number;
  /** One name per estimate of a step. */
  names: readonly string[];
  /** Whether the estimates of a panel share a scale. */
  sharesScale: boolean;
  /** Panels, one per kind of estimate. */
  panels: readonly { label: string; series: readonly { name: string; index: number }[] }[];
  /** Estimates of a step, in the order of the names. */
  estimates(reading: R): readonly Interval[];
}

/** Estimates after a step. */
interface EstimateRow {
  step: number;
  /** Empty if steps are not times. */
  label: string;
  estimates: readonly Interval[];
}

/** Collects estimates as they are released. */
export class EstimatesChart<R extends Reading> {
  private readonly thinning = new Thinning<EstimateRow>();

  constructor(private readonly options: EstimatesChartOptions<R>) {}

  take(steps: readonly ReleasedStep<R>[]): void {
    for (const { reading, time = '' } of steps) {
      const estimates = this.options.estimates(reading);
      this.thinning.take({ step: reading.step + 1, label: time, estimates });
    }
  }

  figure(): Figure {
    const { title, timeColumn, confidence, names, panels, sharesScale } = this.options;
    const { points } = this.thinning;
    const isTimed = timeColumn !== undefined;
    const x = points.map(({ step }, i) => (isTimed ? i : step));
    const labels = points.map(({ label }) => label);
    const xAxis = isTimed ? { label: timeColumn, log: false, names: labels } : STEP_AXIS;
    const curves = (index: number, of: string) => {
      const [low, y, to] = (['low', 'value', 'high'] as const).map((end) =>
        points.map(({ estimates }) => estimates[index]![end]),
      ) as [number[], number[], number[]];
      return [
        { name: '', of, x, y: low, to },
        { name: of, x, y },
      ];
    };
    return {
      title,
      picture: {
        perRow: PER_ROW,
        notes: [`Shaded: intervals of confidence ${confidence}.`, ...this.thinning.notes('steps')],
        panels: panels.flatMap(({ label, series }) => {
          const panel = {
            title: label,
            x: xAxis,
            y: { label, log: false },
            series: series.flatMap(({ name, index }) => curves(index, name)),
          };
          return apart(panel, { sharesScale });
        }),
      },
      numbers: {
        caption: `Estimates, and the ends of their intervals${this.thinning.text}`,
        header: [
          'step',
          ...(isTimed ? [timeColumn] : []),
          ...names.flatMap((name) => [name, `${name}_low`, `${name}_high`]),
        ],
        rows: points.map(({ step, label, estimates }) => [
          step,
          ...(isTimed ? [label] : []),
          ...estimates.flatMap(({ value, low, high }) => [value, low, high]),
        ]),
      },
    };
  }
}
