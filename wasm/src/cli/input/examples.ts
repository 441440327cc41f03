// SPDX-License-Identifier: Apache-2.0

// Turns rows of a table into examples with features and a label.

import { createHash, type Hash } from 'node:crypto';
import type { ModelInput } from '../../types/all.js';
import { Misuse } from '../failure.js';
import { requireLabel, type Labelled } from './labels.js';
import { SeenRanges } from './ranges.js';
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

/** Reads all rows once to check labels and to find the number, ranges and hash of rows. */
export async function survey(
  rows: RowStream,
  examples: Examples,
  { inputs, fromData, target, numKept }: {
    inputs: ModelInput[];
    fromData: boolean;
    target: Labelled;
    /** Largest number of cells of a table that is kept in memory for `rows.rows()`. */
    numKept: number;
  },
) {
  const seen = new SeenRanges(inputs);
  const hash = new RowsHash();
  let numRows = 0;
  await rows.survey((batch) => {
    numRows += batch.numRows;
    hash.see(batch);
    for (let i = 0; i < batch.numRows; ++i) {
      requireLabel(target, examples.label(batch, i), { batch, i });
      if (fromData) seen.see(examples.row(batch, i));
    }
  }, numKept);
  return { numRows, inputs: fromData ? seen.complete() : inputs, digest: hash.digest() };
}
