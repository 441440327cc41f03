// SPDX-License-Identifier: Apache-2.0

// Reads the rows of the input once or more, first perhaps only to count the steps.

import { openInput, isRegularFile } from './input.js';
import { Misuse } from '../base/failure.js';
import { readTable, type RowBatch, type NumericTable, type RowRequest } from './rows.js';

/** Rows of a batch without faults, from index `from` to index `to - 1`. */
function partOf(batch: RowBatch, from: number, to: number): RowBatch {
  const width = batch.values.length / batch.numRows;
  return {
    values: batch.values.subarray(from * width, to * width),
    numRows: to - from,
    firstRow: batch.firstRow + from,
    lines: batch.lines.slice(from, to),
    texts: batch.texts.map((cells) => cells.slice(from, to)),
    missing: batch.missing,
  };
}

async function* startingWith(
  first: RowBatch | undefined,
  rest: AsyncGenerator<RowBatch>,
): AsyncGenerator<RowBatch> {
  if (first) yield first;
  yield* rest;
}

export class RowStream {
  /** Batches kept for another pass, instead of reading the input again. */
  private kept: RowBatch[] | undefined;

  private constructor(
    private readonly files: readonly string[],
    private readonly wanted: RowRequest,
    private table: NumericTable,
  ) {}

  static async open(files: readonly string[], wanted: RowRequest): Promise<RowStream> {
    return new RowStream(files, wanted, await readTable(await openInput(files), wanted));
  }

  get columns(): string[] {
    return this.table.columns;
  }

  /** Rows read so far that add nothing because a cell is missing. */
  get numSkipped(): number {
    return this.table.numSkipped;
  }

  /** Ids read so far that often stand for a missing value. */
  get marks(): readonly string[] {
    return [...this.table.marks];
  }

  /** Reorders the columns; must be called before the first row is read. */
  arrange(columns: readonly string[]): void {
    this.table.arrange(columns);
  }

  /**
   * Passes all rows to `visit`; `rows()` then starts from the beginning again. Throws at the first
   * bad row.
   *
   * @param numKept  maximum number of cells of a table that is kept in memory although its file
   *                 could be read again.
   * @param mayBeEmpty  whether a table without rows is accepted.
   */
  async survey(
    visit: (batch: RowBatch) => void | Promise<void>,
    { numKept = 0, mayBeEmpty = false } = {},
  ): Promise<void> {
    if (this.kept) {
      if (this.kept.length === 0 && !mayBeEmpty) throw this.noRows();
      for (const batch of this.kept) await visit(batch);
      return;
    }
    const isFile = await isRegularFile(this.files);
    let again = isFile && numKept === 0;
    let kept: RowBatch[] = [];
    let numRows = 0;
    for await (const batch of this.table.batches) {
      await visit(batch);
      if (batch.fault) throw batch.fault;
      numRows += batch.numRows;
      if (isFile && numRows * this.columns.length > numKept) {
        again = true;
        kept = [];
      }
      if (!again) kept.push(batch);
    }
    if (numRows === 0 && !mayBeEmpty) throw this.noRows();
    if (!again) this.kept = kept;
    await this.rewind();
  }

  private noRows(): Misuse {
    return new Misuse(
      this.numSkipped > 0
        ? 'every row of the input has a missing cell, and --missing skip leaves such rows out'
        : 'the input has a header but no rows',
    );
  }

  /** Reads all rows and sorts them by a key; the sort is stable. */
  async sort(keyOf: (batch: RowBatch, i: number) => number): Promise<void> {
    const all: { batch: RowBatch; i: number; key: number }[] = [];
    for await (const batch of this.table.batches) {
      if (batch.fault) throw batch.fault;
      for (let i = 0; i < batch.numRows; ++i) all.push({ batch, i, key: keyOf(batch, i) });
    }
    all.sort((one, other) => one.key - other.key);
    this.kept = [];
    for (let from = 0, to; from < all.length; from = to) {
      const { batch, i } = all[from]!;
      to = from + 1;
      while (all[to]?.batch === batch && all[to]!.i === i + to - from) ++to;
      this.kept.push(partOf(batch, i, i + to - from));
    }
  }

  /** Makes `rows()` start from the beginning again; allowed only after a survey. */
  async rewind(): Promise<void> {
    if (this.kept) return;
    this.table = await readTable(await openInput(this.files), this.wanted);
  }

  /** Reads the first batch, which `rows()` yields again; undefined for a table without rows. */
  async first(): Promise<RowBatch | undefined> {
    if (this.kept) return this.kept[0];
    const { batches } = this.table;
    const { value: first } = (await batches.next()) as { value: RowBatch | undefined };
    this.table = { ...this.table, batches: startingWith(first, batches) };
    return first;
  }

  rows(): AsyncIterable<RowBatch> | Iterable<RowBatch> {
    return this.kept ?? this.table.batches;
  }
}
