// SPDX-License-Identifier: Apache-2.0

// Writes counts as text, with one row per bucket and category.

import type { Totals } from '../../../types/streams/readings.js';
import type { Sink } from '../../output/output.js';
import type { Step } from '../../output/released.js';
import { RowText, type Format } from '../../output/row-text.js';
import { StepWriter } from '../stream/step-writer.js';
import { Differences } from '../../output/differences.js';

interface Counted {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string;
  /** Column of the categories, and the categories; undefined if all rows are counted together. */
  by: string | undefined;
  labels: readonly string[] | undefined;
  /** Standard deviation of each bucket's count. */
  stddevs: Float64Array;
  /** Totals before the first bucket, if an earlier run released them. */
  before: ArrayLike<number> | undefined;
}

/** Counts and totals of one category after a bucket. */
interface Line {
  count: number;
  total: number;
  countTrue?: number;
  totalTrue?: number;
}

/** Writes counts bucket by bucket. */
export class CountWriter extends StepWriter<Totals> {
  private readonly noisy: Differences;
  private readonly exact = new Differences();

  constructor(
    sink: Sink,
    private readonly options: Counted,
  ) {
    const { timeColumn, by, showTrue, format, json } = options;
    const names = [timeColumn, ...(by === undefined ? [] : [by])];
    const trueNames = showTrue ? ['count_true', 'total_true'] : [];
    const header = [...names, 'count', 'count_std', 'total', 'total_std', ...trueNames];
    super(sink, new RowText(header, format), json);
    this.noisy = new Differences(Array.from(options.before ?? []));
  }

  protected facts() {
    const { by, labels } = this.options;
    return labels ? { by, categories: labels } : {};
  }

  protected step({ reading, time = '', truth }: Step<Totals>): string {
    const { labels, stddevs } = this.options;
    const { values, stddev: std } = reading;
    const countStd = stddevs[reading.step]!;
    const lines = this.linesOf([...values], truth).map(
      ({ count, total, countTrue, totalTrue }, j) => {
        if (!this.json) {
          const names = labels === undefined ? [time] : [time, labels[j]!];
          const truths = countTrue === undefined ? [] : [countTrue, totalTrue!];
          return this.text.line([...names, count, countStd, total, std, ...truths]);
        }
        const category = labels && { category: labels[j]! };
        const truths = countTrue !== undefined && { countTrue, totalTrue };
        return this.object({ time, ...category, count, countStd, total, totalStd: std, ...truths });
      },
    );
    return lines.join('');
  }

  private linesOf(now: readonly number[], truth: readonly number[] | undefined): Line[] {
    const counts = this.noisy.next(now);
    const trueCounts = truth && this.exact.next(truth);
    return now.map((total, j) => ({
      count: counts[j]!,
      total,
      ...(truth && { countTrue: trueCounts![j]!, totalTrue: truth[j]! }),
    }));
  }
}
