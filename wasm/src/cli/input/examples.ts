// SPDX-License-Identifier: Apache-2.0

// Turns rows of a table into examples with features and a label.

import { createHash, type Hash } from 'node:crypto';
import { classifies } from '../../api/learning/loss.js';
import type { ModelInput } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import type { LabelKind } from './labels.js';
import { placeOf, placeText } from './place.js';
import { SeenRanges } from './columns.js';
import type { RowBatch } from './rows.js';
import type { RowStream } from './stream.js';

/** Splits each row into its features and its label. */
export class ExampleRows {
  readonly features: string[];
  private readonly labelIndex: number;

  constructor(
    private readonly columns: readonly string[],
    label: string,
  ) {
    this.labelIndex = columns.indexOf(label);
    this.features = columns.filter((name) => name !== label);
    if (this.features.length === 0) throw new Misuse('there is no feature, only the label');
  }

  /** Features of a row. */
  row(batch: RowBatch, i: number): Float64Array {
    const width = this.columns.length;
    return batch.values
      .subarray(i * width, (i + 1) * width)
      .filter((_, j) => j !== this.labelIndex);
  }

  label(batch: RowBatch, i: number): number {
    return batch.values[i * this.columns.length + this.labelIndex]!;
  }
}

/** Hash of the rows, independent of how they are split into batches. */
export class RowsHash {
  private readonly hash: Hash = createHash('sha256');

  see(batch: RowBatch): void {
    this.hash.update(new Uint8Array(batch.values.slice().buffer));
  }

  digest(): string {
    return this.hash.digest('hex');
  }
}

/**
 * Checks labels before a budget is spent on learning. Repeats the checks of the core, and refuses
 * labels among which both -1 and 0 occur, because both denote the same class.
 */
class LabelCheck {
  private hasZero = false;
  private hasMinus = false;

  constructor(private readonly target: LabelKind) {}

  /** @throws Misuse that names the row, for a label that the loss does not accept. */
  require(label: number, batch: RowBatch, i: number): void {
    const wanted = this.fault(label);
    if (wanted === undefined) return;
    const place = placeOf(batch, i);
    const what = `${placeText(place)}: label must be ${wanted}`;
    throw new Misuse(what, { code: 'invalid_argument', ...place }, String(label));
  }

  /** Requirement that a label violates, if any. */
  private fault(label: number): string | undefined {
    const { loss, numClasses = 0 } = this.target;
    if (!classifies(loss)) return undefined;
    if (loss === 'softmax') {
      const isClass = Number.isInteger(label) && label >= 0 && label < numClasses;
      return isClass ? undefined : `an integer from 0 to ${numClasses - 1}`;
    }
    if (![-1, 0, 1].includes(label)) return `-1, 0 or 1${otherLoss(label)}`;
    this.hasZero ||= label === 0;
    this.hasMinus ||= label === -1;
    if (!this.hasZero || !this.hasMinus) return undefined;
    const three = 'three classes are 0, 1 and 2, with --loss softmax --classes 3';
    return `0 or 1 in all rows, or -1 or 1 in all; ${three}`;
  }
}

/** Advice about labels of more than two classes. */
function otherLoss(label: number): string {
  if (Number.isInteger(label) && label > 1)
    return '; for more classes give --loss softmax --classes K';
  return Number.isInteger(label) ? '' : '; --loss squared or absolute predicts other numbers';
}

/** Reads all rows once to check labels and to find the number of rows, the ranges and the hash. */
export async function survey(
  rows: RowStream,
  examples: ExampleRows,
  {
    inputs,
    fromData,
    target,
    numKept,
    check,
  }: {
    inputs: ModelInput[];
    fromData: boolean;
    target: LabelKind;
    /** Largest number of cells of a table that is kept in memory for `rows.rows()`. */
    numKept: number;
    /** Throws if row `i` of a batch, counted from 0, is past the horizon. */
    check?(batch: RowBatch, i: number): void;
  },
) {
  const seen = new SeenRanges(inputs);
  const labels = new LabelCheck(target);
  const hash = new RowsHash();
  let numRows = 0;
  await rows.survey(
    (batch) => {
      numRows += batch.numRows;
      hash.see(batch);
      for (let i = 0; i < batch.numRows; ++i) {
        check?.(batch, i);
        labels.require(examples.label(batch, i), batch, i);
        if (fromData) seen.see(examples.row(batch, i));
      }
    },
    { numKept },
  );
  return { numRows, inputs: fromData ? seen.complete() : inputs, digest: hash.digest() };
}
