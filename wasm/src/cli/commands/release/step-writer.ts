// SPDX-License-Identifier: Apache-2.0

// Steps as text: rows, or one JSON object with a row a line.

import type { Certificate, Totals } from '../../../types/all.js';
import { endOfRows } from '../../failure.js';
import type { Released } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import type { RowText } from '../../output/row-text.js';

/** One step that was released. */
export interface Step {
  /** Counted from 0. */
  index: number;
  /** The time of the step, where steps are times. */
  time: string | undefined;
  noisy: Float64Array;
  truth: readonly number[] | undefined;
  /** Standard deviation of the totals. */
  std: number;
}

/** Writes one step after the other. */
export abstract class StepWriter {
  private numObjects = 0;

  protected constructor(
    private readonly sink: Sink,
    protected readonly text: RowText,
    protected readonly json: boolean,
  ) {}

  /** Facts of the JSON object about all rows. */
  protected abstract facts(): Record<string, unknown>;
  /** Text of a step. */
  protected abstract step(step: Step): string;

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    if (!this.json) return this.sink.write(this.text.head());
    const head = { ...about, certificate, ...this.facts() };
    await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  }

  /** Writes some steps; returns the fault that ends the run, if there is one. */
  async steps(
    { first, noisy, truths, labels, fault }: Released,
    totals: Pick<Totals, 'dimension' | 'stddev'>,
  ): Promise<Error | undefined> {
    const { dimension } = totals;
    let text = '';
    for (let k = 0; k < noisy.length / dimension; ++k) {
      text += this.step({
        index: first + k,
        time: labels?.[k],
        noisy: noisy.subarray(k * dimension, (k + 1) * dimension),
        truth: truths?.[k],
        std: totals.stddev(first + k),
      });
    }
    if (text !== '') await this.sink.write(text);
    return fault;
  }

  /** Closes the JSON object. */
  async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    if (this.json) await this.sink.write(endOfRows(fault, about));
  }

  /** A row of the JSON object. */
  protected object(row: object): string {
    return `${this.numObjects++ === 0 ? '' : ','}\n${JSON.stringify(row)}`;
  }
}
