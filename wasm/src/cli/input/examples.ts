// SPDX-License-Identifier: Apache-2.0

// Rows of a table as examples: features and a label.

import { createHash, type Hash } from 'node:crypto';
import type { ModelInput } from '../../types/all.js';
import { Misuse } from '../failure.js';
import { requireLabel, type Labelled } from './labels.js';
import { SeenRanges } from './ranges.js';
import type { Batch } from './rows.js';
import type { RowStream } from './stream.js';

/** The rows as examples: which columns are features, which one the label. */
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

  /** Cells of a row that are features. */
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

/** Hash that tells rows from others, whatever the batches they come in. */
export class RowsHash {
  private readonly hash: Hash = createHash('sha256');

  see(batch: Batch): void {
    this.hash.update(new Uint8Array(batch.values.slice().buffer));
  }

  digest(): string {
    return this.hash.digest('hex');
  }
}

/** Looks at all rows once, where something has to be known in advance. */
export async function survey(
  rows: RowStream,
  examples: Examples,
  { inputs, fromData, target, numKept }: {
    inputs: ModelInput[];
    fromData: boolean;
    target: Labelled;
    /** Number of cells up to which the table is kept for `rows.rows()`. */
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
