// SPDX-License-Identifier: Apache-2.0

// Releases as text: rows, or one JSON object with a row a line.

import type { Certificate, Totals } from '../../../types/all.js';
import { endOfRows } from '../../failure.js';
import type { Format } from '../../input/format.js';
import type { Released } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import { RowText } from '../../output/row-text.js';

interface Line {
  step: number;
  time: string | undefined;
  noisy: Float64Array;
  truth: readonly number[] | undefined;
  std: number;
}

/** Writes one release after the other. */
export class Writer {
  private rows = 0;
  private readonly text: RowText;

  constructor(
    private readonly sink: Sink,
    private readonly columns: string[],
    private readonly options: {
      json: boolean;
      format: Format;
      showTrue: boolean;
      timeColumn: string | undefined;
    },
  ) {
    const { format, showTrue, timeColumn } = options;
    const trueNames = showTrue ? columns.map((name) => `${name}_true`) : [];
    const times = timeColumn === undefined ? [] : [timeColumn];
    this.text = new RowText(['step', ...times, ...columns, ...trueNames, 'std'], format);
  }

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    if (this.options.json) {
      const head = { ...about, certificate, columns: this.columns };
      await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
    } else {
      await this.sink.write(this.text.head());
    }
  }

  /** Writes some steps; returns the fault that ends the run, if there is one. */
  async steps(
    { first, noisy, truths, labels, fault }: Released,
    totals: Pick<Totals, 'dimension' | 'stddev'>,
  ): Promise<Error | undefined> {
    const { dimension } = totals;
    let text = '';
    for (let k = 0; k < noisy.length / dimension; ++k) {
      text += this.line({
        step: first + k + 1,
        time: labels?.[k],
        noisy: noisy.subarray(k * dimension, (k + 1) * dimension),
        truth: truths?.[k],
        std: totals.stddev(first + k),
      });
    }
    if (text !== '') await this.sink.write(text);
    return fault;
  }

  private line({ step, time, noisy, truth, std }: Line): string {
    const times = time === undefined ? [] : [time];
    if (!this.options.json) {
      return this.text.line([step, ...times, ...noisy, ...(truth ?? []), std]);
    }
    const named = (values: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, values[j]]));
    const trueSums = truth && { trueSums: named(truth) };
    const row = { step, ...(time && { time }), sums: named(noisy), ...trueSums, std };
    return `${this.rows++ === 0 ? '' : ','}\n${JSON.stringify(row)}`;
  }

  /** Closes the JSON object. */
  async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    if (this.options.json) await this.sink.write(endOfRows(fault, about));
  }
}
