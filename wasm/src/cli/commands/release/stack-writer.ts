// SPDX-License-Identifier: Apache-2.0

// Writes sums of several workloads as text, one row per step with the std of each workload.

import type { Totals, WorkloadError } from '../../../types/all.js';
import type { Released, Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { RowText } from '../../output/row-text.js';
import { ESTIMATE, estimatesOf } from '../../output/estimates.js';
import { StepWriter } from './step-writer.js';
import type { ShownSums } from './writer.js';

interface ShownStack extends ShownSums {
  columns: readonly string[];
  /** One name per workload. */
  names: readonly string[];
  workloads: readonly WorkloadError[];
}

/** Sums of a workload after a step, one per column. */
interface Own {
  name: string;
  values: number[];
  truth: readonly number[] | undefined;
  std: number;
}

export class StackWriter extends StepWriter {
  constructor(
    sink: Sink,
    private readonly shown: ShownStack,
  ) {
    const { json, format, showTrue, timeColumn, columns, names } = shown;
    const times = timeColumn === undefined ? [] : [timeColumn];
    const sums = names.flatMap((name) => {
      const own = columns.map((column) => `${column}_${name}`);
      return [...own, ...(showTrue ? own.map((each) => `${each}_true`) : []), `${name}_std`];
    });
    super(sink, new RowText(['step', ...times, ...sums], format), json);
  }

  /** Writes steps, whose rows hold all estimates. */
  override steps(released: Released, totals: Pick<Totals, 'stddev'>): Promise<Error | undefined> {
    const { columns, names } = this.shown;
    const dimension = names.length * columns.length * ESTIMATE.length;
    return super.steps(released, { dimension, stddev: (step) => totals.stddev(step) });
  }

  protected facts() {
    const { columns, names, workloads } = this.shown;
    return { columns, workloads: names.map((name, i) => ({ name, ...workloads[i] })) };
  }

  protected step(step: Step): string {
    const { index, time } = step;
    const all = this.each(step);
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      const cells = all.flatMap(({ values, truth, std }) => [...values, ...(truth ?? []), std]);
      return this.text.line([index + 1, ...times, ...cells]);
    }
    const { columns, showTrue } = this.shown;
    const named = (values: readonly number[]) =>
      Object.fromEntries(columns.map((column, j) => [column, values[j]]));
    const each = (of: (own: Own) => unknown) =>
      Object.fromEntries(all.map((own) => [own.name, of(own)]));
    return this.object({
      step: index + 1,
      ...(time && { time }),
      sums: each(({ values }) => named(values)),
      ...(showTrue && { trueSums: each(({ truth }) => named(truth!)) }),
      std: each(({ std }) => std),
    });
  }

  private each({ noisy, truth }: Step): Own[] {
    const { columns, names } = this.shown;
    const estimates = estimatesOf(noisy);
    return names.map((name, i) => {
      const [from, to] = [i * columns.length, (i + 1) * columns.length];
      const own = estimates.slice(from, to);
      const values = own.map(({ value }) => value);
      // The noise of all columns has the same distribution.
      return { name, values, truth: truth?.slice(from, to), std: own[0]!.stddev };
    });
  }
}
