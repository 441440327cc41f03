// SPDX-License-Identifier: Apache-2.0

// Writes counts as text, with one row per bucket and category.

import { partOf, type Counts, type CountPart } from '../../output/counts.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from '../stream/step-writer.js';

interface CountTable {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string;
  parts: readonly CountPart[];
  /** Column of the categories, and the categories; undefined if all rows are counted together. */
  by: string | undefined;
  labels: readonly string[] | undefined;
}

export class CountWriter extends StepWriter<Counts> {
  constructor(
    sink: Sink,
    private readonly shown: CountTable,
  ) {
    const { timeColumn, by, parts, showTrue, format, json } = shown;
    const names = [timeColumn, ...(by === undefined ? [] : [by])];
    const numbers = parts.flatMap((part) => [part, `${part}_std`]);
    const trueNames = showTrue ? parts.map((part) => `${part}_true`) : [];
    super(sink, new RowText([...names, ...numbers, ...trueNames], format), json);
  }

  protected facts() {
    const { by, labels } = this.shown;
    return labels ? { by, categories: labels } : {};
  }

  protected step({ reading, time = '' }: ReleasedStep<Counts>): string {
    const { parts, labels = [undefined] } = this.shown;
    const { nonprivate } = reading;
    const all = parts.map((part) => ({
      part,
      ...partOf(reading, part),
      truths: nonprivate && partOf(nonprivate, part).values,
    }));
    const lines = labels.map((label, j) => {
      if (!this.json) {
        const names = label === undefined ? [time] : [time, label];
        const numbers = all.flatMap(({ values, stddev }) => [values[j]!, stddev]);
        const truths = nonprivate ? all.map(({ truths: own }) => own![j]!) : [];
        return this.text.line([...names, ...numbers, ...truths]);
      }
      const numbers = all.flatMap(({ part, values, stddev, truths }) => [
        [part, values[j]!],
        [`${part}Std`, stddev],
        ...(truths ? [[`${part}True`, truths[j]!]] : []),
      ]);
      const category = label !== undefined && { category: label };
      return this.object({ time, ...category, ...Object.fromEntries(numbers) });
    });
    return lines.join('');
  }
}
