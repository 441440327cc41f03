// SPDX-License-Identifier: Apache-2.0

// Writes readings of statistics as text.

import type { Estimate, Totals } from '../../../types/all.js';
import type { Released, Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { warn } from '../../output/notices.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from '../release/step-writer.js';
import { ESTIMATE, estimatesOf } from '../../output/estimates.js';

/** A step with its released estimates. */
export interface Reading {
  step: number;
  time: string | undefined;
  estimates: Estimate[];
}

/** Column names of an estimate, for the cells of `cellsOf`. */
export function cellNames(name: string): string[] {
  return [name, `${name}_low`, `${name}_high`];
}

export function cellsOf({ value, low, high }: Estimate): number[] {
  return [value, low, high];
}

/** Output settings common to all statistics. */
export interface Shown {
  json: boolean;
  format: Format;
  timeColumn: string | undefined;
}

/** Writer of readings whose first estimate is the number of all rows, which `all` names. */
export abstract class ReadingWriter extends StepWriter {
  protected readonly numbersOfAStep: number;
  /** Lower end of the latest interval for the number of all rows. */
  private lowest: number | undefined;

  protected constructor(
    sink: Sink,
    private readonly about: { command: string; all: string },
    { json, format, timeColumn }: Shown,
    numEstimates: number,
    names: readonly string[],
  ) {
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...names], format), json);
    this.numbersOfAStep = numEstimates * ESTIMATE.length;
  }

  /** Text of a step. */
  protected abstract reading(reading: Reading): string;

  /** Writes steps, whose rows hold all estimates. */
  override steps(released: Released, totals: Pick<Totals, 'stddev'>): Promise<Error | undefined> {
    const dimension = this.numbersOfAStep;
    return super.steps(released, { dimension, stddev: (step) => totals.stddev(step) });
  }

  override async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    await super.end(fault, about);
    if (this.lowest === undefined || this.lowest > 0) return;
    const { command, all } = this.about;
    const what = `after the last step the interval of the ${all} reaches 0`;
    const advice = 'a larger --epsilon or more rows would help';
    warn(command, `the noise hides nearly everything: ${what}; ${advice}`);
  }

  protected step({ index, time, noisy }: Step): string {
    const estimates = estimatesOf(noisy);
    this.lowest = estimates[0]!.low;
    return this.reading({ step: index + 1, time, estimates });
  }

  /** First cells of every line of a step. */
  protected firstCells({ step, time }: Reading): (string | number)[] {
    return time === undefined ? [step] : [step, time];
  }

  /** The JSON object of a step. */
  protected objectOf({ step, time }: Reading, rest: object): string {
    return this.object({ step, ...(time && { time }), ...rest });
  }
}
