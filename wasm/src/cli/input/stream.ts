// SPDX-License-Identifier: Apache-2.0

// The rows of the input, once or more: the first time perhaps only to see how many steps there are.

import { openInput, isRegularFile } from './input.js';
import { Misuse } from '../failure.js';
import { readTable, type Batch, type NumericTable, type Wanted } from './rows.js';

export class RowStream {
  /** Batches to be read again, of an input that cannot be. */
  private kept: Batch[] | undefined;

  private constructor(
    private readonly files: readonly string[],
    private readonly wanted: Wanted,
    private table: NumericTable,
  ) {}

  static async open(files: readonly string[], wanted: Wanted): Promise<RowStream> {
    return new RowStream(files, wanted, await readTable(await openInput(files), wanted));
  }

  get columns(): string[] {
    return this.table.columns;
  }

  /** The same columns in another order, before the first row is read. */
  arrange(columns: readonly string[]): void {
    this.table.arrange(columns);
  }

  /**
   * Shows all rows once; `rows()` starts from the beginning again. A bad row is thrown.
   *
   * @param numKept  cells up to which a table is kept that could be read again.
   */
  async survey(visit: (batch: Batch) => void, numKept = 0): Promise<void> {
    const isFile = await isRegularFile(this.files);
    let again = isFile && numKept === 0;
    let kept: Batch[] = [];
    let numRows = 0;
    for await (const batch of this.table.batches) {
      if (batch.fault) throw batch.fault;
      visit(batch);
      numRows += batch.numRows;
      if (isFile && numRows * this.columns.length > numKept) {
        again = true;
        kept = [];
      }
      if (!again) kept.push(batch);
    }
    if (numRows === 0) throw new Misuse('the input has a header but no rows');
    if (!again) this.kept = kept;
    await this.rewind();
  }

  /** After a survey: `rows()` starts from the beginning again. */
  async rewind(): Promise<void> {
    if (this.kept) return;
    this.table = await readTable(await openInput(this.files), this.wanted);
  }

  rows(): AsyncIterable<Batch> | Iterable<Batch> {
    return this.kept ?? this.table.batches;
  }
}
