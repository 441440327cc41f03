// SPDX-License-Identifier: Apache-2.0

// From CSV records to rows of numbers and of texts, with every cell that is not one named.

import { isBlank, type CsvRecord } from '../../shared/csv.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../failure.js';
import type { Delimiter } from './delimiter.js';
import { outsideDomain, type Domain } from './domain.js';
import { columnName, columnText, requireName, unknownColumn } from './header.js';
import { csvRecords } from './records.js';

/** Some rows, and the fault that follows them, if there is one. */
export interface Batch {
  /** numRows * columns.length numbers, row after row. */
  values: Float64Array;
  numRows: number;
  /** 1-based number of the first row, the header not counted. */
  firstRow: number;
  /** 1-based line of each row. */
  lines: number[];
  /** For each text column its cells. */
  texts: string[][];
  /** Why the row after these cannot be read. No batch follows. */
  fault?: Misuse;
}

export interface Wanted {
  /** Columns of numbers; none: all that are not columns of texts, unless only those are wanted. */
  columns: readonly string[];
  texts: readonly string[];
  onlyTexts?: boolean;
  delimiter: Delimiter;
  /** Makes each row one of the values of a column: 1 there, 0 at the others; no column of numbers. */
  categories?: Domain | undefined;
}

export interface NumericTable {
  columns: string[];
  batches: AsyncGenerator<Batch>;
  /** Puts the columns into another order, before the first row is read. */
  arrange(columns: readonly string[]): void;
}

/** The name of what is summed where there is no column to sum: each row counts as 1. */
const ROWS = 'rows';

function chooseColumns(header: string[], names: readonly string[]): number[] {
  const indices: number[] = [];
  for (const name of names) {
    const index = header.indexOf(name);
    if (index < 0) throw unknownColumn('column', name, header);
    requireName(header, index);
    const other = header.indexOf(name, index + 1);
    if (other >= 0) {
      const what = `the header has more than one ${columnText(header, index)}`;
      throw new Misuse(`${what}: cells ${index + 1} and ${other + 1}`);
    }
    if (indices.includes(index)) throw new Misuse(`column ${JSON.stringify(name)} is given twice`);
    indices.push(index);
  }
  return indices;
}

/** The column whose values are counted, and where it is in the header. */
interface Categories {
  domain: Domain;
  index: number;
}

class RowReader {
  private numRows = 0;
  private blank: { row: number; line: number } | undefined;

  constructor(
    private readonly header: string[],
    /** None: a number that is always 1. */
    private readonly indices: number[],
    private readonly textIndices: number[],
    private readonly allColumns: boolean,
    private readonly categories: Categories | undefined,
  ) {}

  read(records: CsvRecord[]): Batch {
    const { categories, indices } = this;
    const width = categories?.domain.labels.length ?? Math.max(1, indices.length);
    const countsAll = !categories && indices.length === 0;
    const values = new Float64Array(records.length * width).fill(countsAll ? 1 : 0);
    const lines: number[] = [];
    const texts: string[][] = this.textIndices.map(() => []);
    const firstRow = this.numRows + 1;
    const batch = (fault?: Misuse): Batch => ({
      values: values.subarray(0, lines.length * width),
      numRows: lines.length,
      firstRow,
      lines,
      texts,
      ...(fault && { fault }),
    });
    for (const record of records) {
      // Blank lines at the end are common and harmless; anywhere else a value is missing.
      if (isBlank(record)) {
        this.blank ??= { row: this.numRows + 1, line: record.line };
        continue;
      }
      if (this.blank) {
        const { row, line } = this.blank;
        const what = `row ${row} (line ${line}) is blank`;
        return batch(new Misuse(what, { code: 'blank', row, line }));
      }
      try {
        this.readRow(record, values.subarray(lines.length * width));
      } catch (error) {
        if (error instanceof Misuse) return batch(error);
        throw error;
      }
      ++this.numRows;
      lines.push(record.line);
      this.textIndices.forEach((index, j) => texts[j]!.push(record.cells[index]!));
    }
    return batch();
  }

  private readRow({ cells, line }: CsvRecord, out: Float64Array): void {
    const row = this.numRows + 1;
    const where = `row ${row} (line ${line})`;
    if (cells.length !== this.header.length) {
      const what = `${where} has ${cells.length} cells, the header has ${this.header.length}`;
      throw new Misuse(what, { code: 'wrong_width', row, line });
    }
    if (this.categories) {
      const { domain, index } = this.categories;
      const place = domain.index(cells[index]!);
      if (place === undefined) throw outsideDomain(domain, cells[index]!, { row, line });
      out[place] = 1;
    }
    this.indices.forEach((index, j) => {
      const text = cells[index]!.trim();
      const value = parseNumber(text);
      if (value === undefined) {
        const what = text === '' ? 'is missing' : 'is not a number';
        const column = columnName(this.header, index);
        const hint =
          this.allColumns && this.header.length > 1 ? '; --column NAME picks columns' : '';
        const code = text === '' ? 'missing' : 'not_a_number';
        const message = `${where}, ${columnText(this.header, index)} ${what}${hint}`;
        const fault = { code, row, line, ...(column !== undefined && { column }) };
        throw new Misuse(message, fault, text);
      }
      out[j] = value;
    });
  }
}

/** Reads the header; the rows follow as they arrive. */
export async function readTable(
  bytes: AsyncIterable<Uint8Array>,
  wanted: Wanted,
): Promise<NumericTable> {
  const pieces = csvRecords(bytes, wanted.delimiter);
  let records: CsvRecord[] = [];
  while (records.length === 0) {
    const piece = await pieces.next();
    if (piece.done) throw new Misuse('the input is empty; the first row must name the columns');
    records = piece.value;
  }
  const [first, ...rest] = records;
  if (isBlank(first!)) throw new Misuse('the first row is blank; it must name the columns');
  const header = first!.cells.map((name) => name.trim());
  const textIndices = chooseColumns(header, wanted.texts);
  const summed = wanted.texts.find((name) => wanted.columns.includes(name));
  if (summed !== undefined) {
    throw new Misuse(`column ${JSON.stringify(summed)} cannot be summed as well`);
  }
  const { categories } = wanted;
  const all = wanted.columns.length === 0 && !wanted.onlyTexts;
  const names = all ? header.filter((it) => !wanted.texts.includes(it)) : wanted.columns;
  const indices = chooseColumns(header, names);
  const by = categories && {
    domain: categories,
    index: chooseColumns(header, [categories.column])[0]!,
  };
  const reader = new RowReader(header, indices, textIndices, all, by);

  async function* batches(): AsyncGenerator<Batch> {
    let batch = reader.read(rest);
    if (batch.numRows > 0 || batch.fault) yield batch;
    while (!batch.fault) {
      let piece: IteratorResult<CsvRecord[]>;
      try {
        piece = await pieces.next();
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        yield { ...reader.read([]), fault: error };
        return;
      }
      if (piece.done) return;
      batch = reader.read(piece.value);
      if (batch.numRows > 0 || batch.fault) yield batch;
    }
  }
  const rows = categories ? [...categories.labels] : [ROWS];
  const columns = indices.length === 0 ? rows : indices.map((index) => header[index]!);
  return {
    columns,
    batches: batches(),
    arrange(wanted) {
      if (indices.length === 0) return;
      indices.splice(0, Infinity, ...wanted.map((name) => header.indexOf(name)));
      columns.splice(0, Infinity, ...wanted);
    },
  };
}
