// SPDX-License-Identifier: Apache-2.0

// Releases as text: a row a step.

import type { Format } from '../../input/format.js';
import type { Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { RowText } from '../../output/row-text.js';
import { StepWriter } from './step-writer.js';

/** How steps are shown. */
export interface ShownSums {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string | undefined;
}

export class Writer extends StepWriter {
  constructor(
    sink: Sink,
    private readonly columns: string[],
    { json, format, showTrue, timeColumn }: ShownSums,
  ) {
    const trueNames = showTrue ? columns.map((name) => `${name}_true`) : [];
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...columns, ...trueNames, 'std'], format), json);
  }

  protected facts() {
    return { columns: this.columns };
  }

  protected step({ index, time, noisy, truth, std }: Step): string {
    const step = index + 1;
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      return this.text.line([step, ...times, ...noisy, ...(truth ?? []), std]);
    }
    const named = (values: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, values[j]]));
    const trueSums = truth && { trueSums: named(truth) };
    return this.object({ step, ...(time && { time }), sums: named(noisy), ...trueSums, std });
  }
}
