// SPDX-License-Identifier: Apache-2.0

// Writes steps as text: either rows, or one JSON object with a row per line.

import type { Certificate, Totals } from '../../../types/all.js';
import { endOfRows } from '../../base/failure.js';
import { eachStep, type Released, type Step } from '../../input/steps.js';
import type { Sink } from '../../output/output.js';
import type { RowText } from '../../output/row-text.js';

/** Writes steps in order. */
export abstract class StepWriter {
  private numObjects = 0;

  protected constructor(
    private readonly sink: Sink,
    protected readonly text: RowText,
    protected readonly json: boolean,
  ) {}

  /** Members of the JSON object that concern all rows. */
  protected abstract facts(): Record<string, unknown>;
  /** Text of a step. */
  protected abstract step(step: Step): string;

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    if (!this.json) return this.sink.write(this.text.head());
    const head = { ...about, certificate, ...this.facts() };
    await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  }

  /** Writes some steps; returns the fault that ends the run, if any. */
  async steps(
    released: Released,
    totals: Pick<Totals, 'dimension' | 'stddev'>,
  ): Promise<Error | undefined> {
    const text = eachStep(released, totals)
      .map((step) => this.step(step))
      .join('');
    if (text !== '') await this.sink.write(text);
    return released.fault;
  }

  /** Closes the JSON object. */
  async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    if (this.json) await this.sink.write(endOfRows(fault, about));
  }

  /** Formats a row of the JSON object. */
  protected object(row: object): string {
    return `${this.numObjects++ === 0 ? '' : ','}\n${JSON.stringify(row)}`;
  }
}
