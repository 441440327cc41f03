// SPDX-License-Identifier: Apache-2.0

// Turns rows of a table into examples with features and a label.

import { createHash, type Hash } from 'node:crypto';
import { classifies } from '../../api/learning/loss.js';
import type { ModelInput } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import type { Labelled } from './labels.js';
import { placeOf, placeText } from './place.js';
import { SeenRanges } from './columns.js';
import type { Batch } from './rows.js';
import type { RowStream } from './stream.js';

/** Splits each row into its features and its label. */
export class Examples {
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
  row(batch: Batch, i: number): Float64Array {
    const width = this.columns.length;
    return batch.values
      .subarray(i * width, (i + 1) * width)
      .filter((_, j) => j !== this.labelIndex);
  }

  label(batch: Batch, i: number): number {
    return batch.values[i * this.columns.length + this.labelIndex]!;
  }
}

/** Hash of the rows, independent of how they are split into batches. */
export class RowsHash {
  private readonly hash: Hash = createHash('sha256');

  see(batch: Batch): void {
    this.hash.update(new Uint8Array(batch.values.slice().buffer));
  }

  digest(): string {
    return this.hash.digest('hex');
  }
}

/**
 * Checks a label like the core, but before a budget is spent on learning.
 * @throws Misuse for a label that the loss does not accept, with its row, in the core's words.
 */
function requireLabel(
  { loss, numClasses = 0 }: Labelled,
  label: number,
  { batch, i }: { batch: Batch; i: number },
): void {
  if (!classifies(loss)) return;
  const isClass = Number.isInteger(label) && label >= 0 && label < numClasses;
  if (loss === 'softmax' ? isClass : [-1, 0, 1].includes(label)) return;
  const more =
    Number.isInteger(label) && label > 1
      ? '; for more classes give --loss softmax --classes K'
      : '';
  const wanted =
    loss === 'softmax' ? `an integer from 0 to ${numClasses - 1}` : `-1, 0 or 1${more}`;
  const place = placeOf(batch, i);
  const what = `${placeText(place)}: label must be ${wanted}`;
  throw new Misuse(what, { code: 'invalid_argument', ...place }, String(label));
}

/** Reads all rows once to check labels and to find the number, ranges and hash of rows. */
export async function survey(
  rows: RowStream,
  examples: Examples,
  {
    inputs,
    fromData,
    target,
    numKept,
    check,
  }: {
    inputs: ModelInput[];
    fromData: boolean;
    target: Labelled;
    /** Largest number of cells of a table that is kept in memory for `rows.rows()`. */
    numKept: number;
    /** Throws at a row that goes too far, 0-based in its batch. */
    check?(batch: Batch, i: number): void;
  },
) {
  const seen = new SeenRanges(inputs);
  const hash = new RowsHash();
  let numRows = 0;
  await rows.survey(
    (batch) => {
      numRows += batch.numRows;
      hash.see(batch);
      for (let i = 0; i < batch.numRows; ++i) {
        check?.(batch, i);
        requireLabel(target, examples.label(batch, i), { batch, i });
        if (fromData) seen.see(examples.row(batch, i));
      }
    },
    { numKept },
  );
  return { numRows, inputs: fromData ? seen.complete() : inputs, digest: hash.digest() };
}
