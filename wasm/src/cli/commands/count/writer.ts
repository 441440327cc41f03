// SPDX-License-Identifier: Apache-2.0

// Counts as text: a row for each bucket and category, or one JSON object.

import type { Certificate, Totals } from '../../../types/all.js';
import { endOfRows } from '../../failure.js';
import type { Format } from '../../input/format.js';
import type { Released } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { RowText } from '../../output/row-text.js';
import { Differences } from './differences.js';

interface Counted {
  json: boolean;
  format: Format;
  showTrue: boolean;
  timeColumn: string;
  /** The column of the categories, and these; undefined where all rows are counted together. */
  by: string | undefined;
  labels: readonly string[] | undefined;
  /** Std of each bucket's count. */
  stddevs: Float64Array;
}

/** Numbers of one category after a bucket. */
interface Line {
  count: number;
  total: number;
  countTrue?: number;
  totalTrue?: number;
}

/** Writes the counts of one bucket after the other. */
export class CountWriter {
  private rows = 0;
  private readonly rowText: RowText;
  private readonly noisy = new Differences();
  private readonly exact = new Differences();

  constructor(
    private readonly sink: Sink,
    private readonly options: Counted,
  ) {
    const { timeColumn, by, showTrue, format } = options;
    const names = [timeColumn, ...(by === undefined ? [] : [by])];
    const trueNames = showTrue ? ['count_true', 'total_true'] : [];
    const header = [...names, 'count', 'count_std', 'total', 'total_std', ...trueNames];
    this.rowText = new RowText(header, format);
  }

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    const { json, by, labels } = this.options;
    if (!json) return this.sink.write(this.rowText.head());
    const head = { ...about, certificate, ...(labels && { by, categories: labels }) };
    await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  }

  /** Writes some buckets; returns the fault that ends the run, if there is one. */
  async steps(
    { first, noisy, truths, labels: times, fault }: Released,
    totals: Pick<Totals, 'dimension' | 'stddev'>,
  ): Promise<Error | undefined> {
    const { dimension } = totals;
    let text = '';
    for (let k = 0; k < noisy.length / dimension; ++k) {
      const now = [...noisy.subarray(k * dimension, (k + 1) * dimension)];
      const lines = this.linesOf(now, truths?.[k]);
      const stds = { count: this.options.stddevs[first + k]!, total: totals.stddev(first + k) };
      text += this.text(times?.[k] ?? '', lines, stds);
    }
    if (text !== '') await this.sink.write(text);
    return fault;
  }

  /** Closes the JSON object. */
  async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    if (this.options.json) await this.sink.write(endOfRows(fault, about));
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

  private text(time: string, lines: readonly Line[], std: { count: number; total: number }): string {
    const { json, labels } = this.options;
    if (!json) {
      const texts = lines.map(({ count, total, countTrue, totalTrue }, j) => {
        const names = labels === undefined ? [time] : [time, labels[j]!];
        const truths = countTrue === undefined ? [] : [countTrue, totalTrue!];
        return this.rowText.line([...names, count, std.count, total, std.total, ...truths]);
      });
      return texts.join('');
    }
    const rows = lines.map(({ count, total, countTrue, totalTrue }, j) => {
      const category = labels && { category: labels[j]! };
      const truths = countTrue !== undefined && { countTrue, totalTrue };
      const row = { time, ...category, count, countStd: std.count, total, totalStd: std.total };
      return `${this.rows++ === 0 ? '' : ','}\n${JSON.stringify({ ...row, ...truths })}`;
    });
    return rows.join('');
  }
}
