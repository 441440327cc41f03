// SPDX-License-Identifier: Apache-2.0

// Writes totals as text, one row per step.

import type { Totals } from '../../../types/streams/readings.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from '../stream/step-writer.js';

/** How steps are written. */
export interface SumsOutput {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string | undefined;
}

/** Upper bound on the probability that the noise of a total exceeds the half width shown. */
const BEYOND = Number((1 - DEFAULT_CONFIDENCE).toPrecision(12));

export class Writer extends StepWriter<Totals> {
  /** @param pure  whether the noise is Laplace noise, whose half widths do not follow from `std`. */
  constructor(
    sink: Sink,
    private readonly columns: string[],
    { json, format, showTrue, timeColumn }: SumsOutput,
    private readonly pure: boolean,
  ) {
    const trueNames = showTrue ? columns.map((name) => `${name}_true`) : [];
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...columns, ...trueNames, 'std'], format), json);
  }

  protected facts() {
    const { columns, pure } = this;
    return { columns, ...(pure && { halfWidthProbability: BEYOND }) };
  }

  protected step({ reading, time }: ReleasedStep<Totals>): string {
    const { values, stddev: std, halfWidth, nonprivate } = reading;
    const step = reading.step + 1;
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      return this.text.line([step, ...times, ...values, ...(nonprivate?.values ?? []), std]);
    }
    const named = (numbers: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, numbers[j]]));
    return this.object({
      step,
      ...(time && { time }),
      sums: named(values),
      ...(nonprivate && { trueSums: named(nonprivate.values) }),
      std,
      ...(this.pure && { halfWidth }),
    });
  }
}
