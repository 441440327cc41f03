// SPDX-License-Identifier: Apache-2.0

// Writes, as text, readings whose numbers have intervals.

import type { Estimate, Step as Reading } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import { warn } from '../../output/notices.js';
import type { ReleasedStep } from '../../output/released.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from './step-writer.js';

/** Column names of an estimate, for the cells of `cellsOf`. */
export function cellNames(name: string): string[] {
  return [name, `${name}_low`, `${name}_high`];
}

export function cellsOf({ value, low, high }: Estimate): number[] {
  return [value, low, high];
}

/** Output settings common to all readings. */
export interface OutputSettings {
  json: boolean;
  format: Format;
  timeColumn: string | undefined;
}

/** Writer of readings with an estimate of the number of all rows. */
export abstract class ReadingWriter<R extends Reading> extends StepWriter<R> {
  /** Lower end of the latest interval for the number of all rows. */
  private lowest: number | undefined;

  /**
   * @param command  name of the command in warnings.
   * @param all  what warnings call the number of all rows.
   */
  protected constructor(
    sink: Sink,
    private readonly about: { command: string; all: string },
    { json, format, timeColumn }: OutputSettings,
    names: readonly string[],
  ) {
    const times = timeColumn === undefined ? [] : [timeColumn];
    super(sink, new RowText(['step', ...times, ...names], format), json);
  }

  /** The number of all rows. */
  protected abstract countOf(reading: R): Estimate;
  /** Text of a step. */
  protected abstract reading(step: ReleasedStep<R>): string;

  override async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    await super.end(fault, about);
    if (this.lowest === undefined || this.lowest > 0) return;
    const { command, all } = this.about;
    const what = `after the last step the interval of the ${all} reaches 0`;
    const advice = 'a larger --epsilon or more rows would help';
    warn(command, `the noise hides nearly everything: ${what}; ${advice}`);
  }

  protected step(step: ReleasedStep<R>): string {
    this.lowest = this.countOf(step.reading).low;
    return this.reading(step);
  }

  /** Cells at the beginning of every line of a step. */
  protected firstCells({ reading, time }: ReleasedStep<R>): (string | number)[] {
    return [reading.step + 1, ...(time === undefined ? [] : [time])];
  }

  /** The JSON object of a step, with the members of `rest`. */
  protected objectOf({ reading, time }: ReleasedStep<R>, rest: object): string {
    return this.object({ step: reading.step + 1, ...(time && { time }), ...rest });
  }
}
