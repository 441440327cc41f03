// SPDX-License-Identifier: Apache-2.0

// Writes steps as text: either rows, or one JSON object with a row per line.

import type { Certificate } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { endOfRows } from '../../base/failure.js';
import type { Sink } from '../../output/output.js';
import type { ReleasedStep } from '../../output/released.js';
import type { RowText } from '../../output/row-text.js';

export abstract class StepWriter<R extends Reading> {
  private numObjects = 0;

  protected constructor(
    private readonly sink: Sink,
    protected readonly text: RowText,
    protected readonly json: boolean,
  ) {}

  /** Members of the JSON object that concern all rows. */
  protected abstract facts(): Record<string, unknown>;
  /** Text of a step. */
  protected abstract step(step: ReleasedStep<R>): string;

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    if (!this.json) return this.sink.write(this.text.head());
    const head = { ...about, certificate, ...this.facts() };
    await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
  }

  async steps(steps: readonly ReleasedStep<R>[]): Promise<void> {
    const text = steps.map((step) => this.step(step)).join('');
    if (text !== '') await this.sink.write(text);
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
