// SPDX-License-Identifier: Apache-2.0

// From CSV records to rows of numbers, with every cell that is not one named.

import { parseNumber } from './args.js';
import { csvRecords, isBlank, type CsvRecord } from './csv.js';
import { Misuse, unknownName } from './failure.js';

/** Some rows, and the fault that follows them, if there is one. */
export interface Batch {
  /** numRows * columns.length numbers, row after row. */
  values: Float64Array;
  numRows: number;
  /** 1-based line of each row. */
  lines: number[];
  /** Why the row after these cannot be read. No batch follows. */
  fault?: Misuse;
}

export interface NumericTable {
  columns: string[];
  batches: AsyncGenerator<Batch>;
}

function chooseColumns(header: string[], wanted: readonly string[]): number[] {
  const isNumber = (name: string) => parseNumber(name) !== undefined;
  const noHeader = 'the first row does not look like a header that names the columns';
  const names = wanted.length === 0 ? header : wanted;
  const indices: number[] = [];
  for (const name of names) {
    const index = header.indexOf(name);
    if (index < 0) {
      // Without a header these are somebody's data: not for a log.
      if (!header.some(isNumber)) throw unknownName('column', name, header);
      const got = `${noHeader}: some of its cells are numbers`;
      throw new Misuse(`there is no column ${JSON.stringify(name)}, and ${got}`);
    }
    if (isNumber(name)) throw new Misuse(`${noHeader}: its cell ${index + 1} is a number`);
    if (header.includes(name, index + 1)) {
      throw new Misuse(`the header has more than one column ${JSON.stringify(name)}`);
    }
    if (indices.includes(index)) throw new Misuse(`column ${JSON.stringify(name)} is given twice`);
    indices.push(index);
  }
  return indices;
}

class RowReader {
  private numRows = 0;
  private blank: { row: number; line: number } | undefined;

  constructor(
    private readonly header: string[],
    private readonly indices: number[],
    private readonly allColumns: boolean,
  ) {}

  read(records: CsvRecord[]): Batch {
    const width = this.indices.length;
    const values = new Float64Array(records.length * width);
    const lines: number[] = [];
    const batch = (fault?: Misuse): Batch => ({
      values: values.subarray(0, lines.length * width),
      numRows: lines.length,
      lines,
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
    this.indices.forEach((index, j) => {
      const text = cells[index]!.trim();
      const value = parseNumber(text);
      if (value === undefined) {
        const column = this.header[index]!;
        const what =
          text === '' ? 'is missing' : `is not a number: ${JSON.stringify(text.slice(0, 40))}`;
        const hint =
          this.allColumns && this.header.length > 1 ? '; --column NAME picks columns' : '';
        const code = text === '' ? 'missing' : 'not_a_number';
        const message = `${where}, column ${JSON.stringify(column)} ${what}${hint}`;
        throw new Misuse(message, { code, row, line, column });
      }
      out[j] = value;
    });
  }
}

/** Reads the header; the rows follow as they arrive. */
export async function readTable(
  bytes: AsyncIterable<Uint8Array>,
  wanted: readonly string[],
): Promise<NumericTable> {
  const pieces = csvRecords(bytes);
  let records: CsvRecord[] = [];
  while (records.length === 0) {
    const piece = await pieces.next();
    if (piece.done) throw new Misuse('the input is empty; the first row must name the columns');
    records = piece.value;
  }
  const [first, ...rest] = records;
  if (isBlank(first!)) throw new Misuse('the first row is blank; it must name the columns');
  const header = first!.cells.map((name) => name.trim());
  const indices = chooseColumns(header, wanted);
  const reader = new RowReader(header, indices, wanted.length === 0);

  async function* batches(): AsyncGenerator<Batch> {
    let batch = reader.read(rest);
    if (batch.numRows > 0 || batch.fault) yield batch;
    while (!batch.fault) {
      let piece: IteratorResult<CsvRecord[]>;
      try {
        piece = await pieces.next();
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        yield { values: new Float64Array(), numRows: 0, lines: [], fault: error };
        return;
      }
      if (piece.done) return;
      batch = reader.read(piece.value);
      if (batch.numRows > 0 || batch.fault) yield batch;
    }
  }
  return { columns: indices.map((index) => header[index]!), batches: batches() };
}

/** Everything at once: the horizon is the number of rows. A bad row is thrown. */
export async function readAll(table: NumericTable): Promise<Batch> {
  const parts: Batch[] = [];
  for await (const batch of table.batches) {
    if (batch.fault) throw batch.fault;
    parts.push(batch);
  }
  const numRows = parts.reduce((sum, part) => sum + part.numRows, 0);
  if (numRows === 0) throw new Misuse('the input has a header but no rows');
  const values = new Float64Array(numRows * table.columns.length);
  let at = 0;
  for (const part of parts) {
    values.set(part.values, at);
    at += part.values.length;
  }
  return { values, numRows, lines: parts.flatMap((part) => part.lines) };
}
