// SPDX-License-Identifier: Apache-2.0

// Writes sums of several workloads as text, one row per step with the std of each workload.

import type { Certificate } from '../../../types/all.js';
import type { Estimates, Sums } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import { RowText } from '../../output/row-text.js';
import { StepWriter } from '../stream/step-writer.js';
import type { SumsOutput } from './writer.js';

/** Sums of all workloads after a step. */
export type StackReading = Sums<string, Estimates>;

interface StackOutput extends SumsOutput {
  columns: readonly string[];
  /** One name per workload. */
  names: readonly string[];
  /** The workloads in words. */
  workloads: readonly string[];
  errors: NonNullable<Certificate['workloads']>;
}

/** Sums of a workload after a step, one per column. */
interface WorkloadValues {
  name: string;
  values: Float64Array;
  truth: Float64Array | undefined;
  std: number;
}

export class StackWriter extends StepWriter<StackReading> {
  constructor(
    sink: Sink,
    private readonly shown: StackOutput,
  ) {
    const { json, format, showTrue, timeColumn, columns, names } = shown;
    const times = timeColumn === undefined ? [] : [timeColumn];
    const sums = names.flatMap((name) => {
      const own = columns.map((column) => `${column}_${name}`);
      return [...own, ...(showTrue ? own.map((each) => `${each}_true`) : []), `${name}_std`];
    });
    super(sink, new RowText(['step', ...times, ...sums], format), json);
  }

  protected facts() {
    const { columns, names, workloads, errors } = this.shown;
    const each = names.map((name, i) => ({ name, workload: workloads[i], ...errors[name] }));
    return { columns, workloads: each };
  }

  protected step({ reading, time }: ReleasedStep<StackReading>): string {
    const all = this.each(reading);
    if (!this.json) {
      const times = time === undefined ? [] : [time];
      const cells = all.flatMap(({ values, truth, std }) => [...values, ...(truth ?? []), std]);
      return this.text.line([reading.step + 1, ...times, ...cells]);
    }
    const { columns, showTrue } = this.shown;
    const named = (values: Float64Array) =>
      Object.fromEntries(columns.map((column, j) => [column, values[j]]));
    const each = (of: (own: WorkloadValues) => unknown) =>
      Object.fromEntries(all.map((own) => [own.name, of(own)]));
    return this.object({
      step: reading.step + 1,
      ...(time && { time }),
      sums: each(({ values }) => named(values)),
      ...(showTrue && { trueSums: each(({ truth }) => named(truth!)) }),
      std: each(({ std }) => std),
    });
  }

  private each({ sums, nonprivate }: StackReading): WorkloadValues[] {
    return this.shown.names.map((name) => {
      const { values, stddev: std } = sums[name]!;
      return { name, values, truth: nonprivate && nonprivate.sums[name]!.values, std };
    });
  }
}
