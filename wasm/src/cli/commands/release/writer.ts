// SPDX-License-Identifier: Apache-2.0

// Writes releases as text, one row per step.

import type { NoiseFacts, Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from './step-writer.js';

/** Output settings of steps. */
export interface ShownSums {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string | undefined;
}

/** Probability that the noise of a total exceeds the half width that is shown. */
const BEYOND = 0.05;

/** Half widths of pure noise, computed once for each standard deviation. */
class HalfWidths {
  private readonly known = new Map<number, number>();

  constructor(private readonly totals: NoiseFacts) {}

  of({ index: step, std }: Step): number {
    const known = this.known.get(std);
    if (known !== undefined) return known;
    const found = this.totals.halfWidth!({ step, probability: BEYOND });
    this.known.set(std, found);
    return found;
  }
}

export class Writer extends StepWriter {
  private readonly halfWidths: HalfWidths | undefined;

  /** @param pure  the totals, if they are pure (without a delta). */
  constructor(
    sink: Sink,
    private readonly columns: string[],
    { json, format, showTrue, timeColumn }: ShownSums,
    pure: NoiseFacts | undefined,
  ) {
    const trueNames = showTrue ? columns.map((name) => `${name}_true`) : [];
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...columns, ...trueNames, 'std'], format), json);
    this.halfWidths = pure && new HalfWidths(pure);
  }

  protected facts() {
    const { columns, halfWidths } = this;
    return { columns, ...(halfWidths && { halfWidthProbability: BEYOND }) };
  }

  protected step(released: Step): string {
    const { index, time, noisy, truth, std } = released;
    const step = index + 1;
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      return this.text.line([step, ...times, ...noisy, ...(truth ?? []), std]);
    }
    const named = (values: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, values[j]]));
    const trueSums = truth && { trueSums: named(truth) };
    const halfWidth = this.halfWidths && { halfWidth: this.halfWidths.of(released) };
    const when = time && { time };
    return this.object({ step, ...when, sums: named(noisy), ...trueSums, std, ...halfWidth });
  }
}
