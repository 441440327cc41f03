// SPDX-License-Identifier: Apache-2.0

// Converts records to rows of numbers and texts, and reports cells that are neither.

import { counted } from '../../shared/counted.js';
import { isBlank } from '../../shared/csv.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../failure.js';
import { hasDecimalComma } from '../options/spelling.js';
import { outsideDomain, type Domain } from './domain.js';
import { columnName, columnText, requireName, unknownColumn } from './header.js';
import type { Decimal, TableFormat } from './format.js';
import type { TableRecord } from './json-lines.js';
import { EMPTY, type Missing } from './missing.js';
import { faultAt, placeText, type Place } from './place.js';
import { tableRecords } from './records.js';

/** A batch of rows, and the fault that follows them, if any. */
export interface Batch {
  /** numRows * columns.length numbers, row after row. */
  values: Float64Array;
  numRows: number;
  /** 1-based number of the first row, the header not counted. */
  firstRow: number;
  /** 1-based line of each row. */
  lines: number[];
  /** Cells of each text column. */
  texts: string[][];
  /** 0-based rows that are zeros because a cell is empty. */
  blank?: ReadonlySet<number>;
  /** Error in the row after these; no further batch follows. */
  fault?: Misuse;
}

export interface Wanted {
  /** Columns of numbers. If empty: all columns not in `texts`, or none with `onlyTexts`. */
  columns: readonly string[];
  texts: readonly string[];
  onlyTexts?: boolean;
  format: TableFormat;
  /** Default: refuse. */
  missing?: Missing;
  /** Returns known ranges of the columns, to which numbers are clamped. */
  ranges?(columns: readonly string[]): readonly { low: number; high: number }[] | undefined;
  /** Advice for a cell that is not a number, if no columns were named. */
  instead?: string;
  /** Column whose empty cells are refused even where those of other columns are read as 0. */
  neverZero?: string;
  /** One-hot encodes a column: 1 at the row's value, 0 at the others; no column of numbers. */
  categories?: Domain | undefined;
}

export interface NumericTable {
  columns: string[];
  batches: AsyncGenerator<Batch>;
  /** Reorders the columns; must be called before the first row is read. */
  arrange(columns: readonly string[]): void;
}

/** Advice if all columns are read. */
export const PICKS = '--column NAME picks columns';

/** Name of the sum if no column is summed and each row counts as 1. */
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

/** Ranges of columns by their places in the header. */
type Ranges = ReadonlyMap<number, { low: number; high: number }>;

/** The column whose values are counted, and its index in the header. */
interface Categories {
  domain: Domain;
  index: number;
}

/** Collects the rows of a batch while it is read. */
class Rows {
  readonly lines: number[] = [];
  private readonly texts: string[][];
  private readonly blank = new Set<number>();

  constructor(
    /** Buffer for these rows and those after them. */
    readonly values: Float64Array,
    private readonly width: number,
    private readonly firstRow: number,
    private readonly textIndices: readonly number[],
  ) {
    this.texts = textIndices.map(() => []);
  }

  /** Buffer for the next row. */
  get room(): Float64Array {
    const from = this.lines.length * this.width;
    return this.values.subarray(from, from + this.width);
  }

  /** Buffer for the rows after these. */
  get rest(): Float64Array {
    return this.values.subarray(this.lines.length * this.width);
  }

  add({ cells, line }: TableRecord, isBlanked: boolean): void {
    if (isBlanked) this.blank.add(this.lines.length);
    this.lines.push(line);
    this.textIndices.forEach((index, j) => this.texts[j]!.push(cells[index]!));
  }

  batch(fault?: Misuse): Batch {
    return {
      values: this.values.subarray(0, this.lines.length * this.width),
      numRows: this.lines.length,
      firstRow: this.firstRow,
      lines: this.lines,
      texts: this.texts,
      ...(this.blank.size > 0 && { blank: this.blank }),
      ...(fault && { fault }),
    };
  }
}

class RowReader {
  private numRows = 0;
  private blank: Place | undefined;

  constructor(
    private readonly header: string[],
    /** Columns of numbers; if empty, each row has one number that is always 1. */
    private readonly indices: number[],
    private readonly textIndices: number[],
    private readonly allColumns: boolean,
    private readonly categories: Categories | undefined,
    private readonly missing: { policy: Missing; never: string | undefined },
    private readonly numbers: { decimal: Decimal; ranges: Ranges | undefined },
    private readonly instead: string,
  ) {}

  /** Yields batches, the last one with the fault that ends them; a dropped row begins a new one. */
  *read(records: TableRecord[]): Generator<Batch> {
    const { categories, indices } = this;
    const width = categories?.domain.labels.length ?? Math.max(1, indices.length);
    const countsAll = !categories && indices.length === 0;
    const rowsIn = (room: Float64Array) =>
      new Rows(room, width, this.numRows + 1, this.textIndices);
    let rows = rowsIn(new Float64Array(records.length * width).fill(countsAll ? 1 : 0));
    for (const record of records) {
      // Blank lines at the end are common and harmless; anywhere else a value is missing.
      if (isBlank(record) && !record.object) {
        this.blank ??= this.placeOf(record);
        continue;
      }
      if (this.blank) {
        return yield rows.batch(faultAt(this.blank, { code: 'blank', what: 'is blank' }));
      }
      if (this.missing.policy === 'drop' && this.lacks(record)) {
        yield rows.batch();
        ++this.numRows;
        rows = rowsIn(rows.rest);
        continue;
      }
      try {
        rows.add(record, this.readRow(record, rows.room));
      } catch (error) {
        if (error instanceof Misuse) return yield rows.batch(error);
        throw error;
      }
      ++this.numRows;
    }
    yield rows.batch();
  }

  /** Returns an empty batch with the fault that ends the rows. */
  ended(fault: Misuse): Batch {
    return new Rows(new Float64Array(), 1, this.numRows + 1, this.textIndices).batch(fault);
  }

  /** Indices of the cells that each row must have. */
  private get needed(): number[] {
    const { categories, indices, textIndices } = this;
    return [...indices, ...textIndices, ...(categories ? [categories.index] : [])];
  }

  /** Whether a needed cell of a row is empty. */
  private lacks({ cells, object }: TableRecord): boolean {
    if (cells.length !== this.header.length) return false;
    return this.needed.some((index) => cells[index]!.trim() === '' && !object?.nested.has(index));
  }

  /** The place of the next row. */
  private placeOf({ line }: TableRecord): Place {
    return { row: this.numRows + 1, line };
  }

  /** Throws for a cell, naming its column only if that looks like a name. */
  private refuseCell(
    record: TableRecord,
    index: number,
    { code, what, value }: { code: string; what: string; value?: string },
  ): never {
    const place = this.placeOf(record);
    const column = columnName(this.header, index);
    const message = `${placeText(place)}, ${columnText(this.header, index)} ${what}`;
    throw new Misuse(message, { code, ...place, ...(column !== undefined && { column }) }, value);
  }

  /** Refuses an object with an unknown key, if all columns are read, or a needed list or object. */
  private requireFlat(record: TableRecord): void {
    const { object } = record;
    if (!object) return;
    if (object.hasMore && this.allColumns) {
      const what = `has a key that the first row does not have; ${PICKS}`;
      throw faultAt(this.placeOf(record), { code: 'unknown_key', what });
    }
    const index = this.needed.find((each) => object.nested.has(each));
    if (index === undefined) return;
    this.refuseCell(record, index, { code: 'nested', what: 'is a list or an object' });
  }

  private numberOf(text: string): number | undefined {
    if (this.numbers.decimal === 'point') return parseNumber(text);
    return text.includes('.') ? undefined : parseNumber(text.replace(',', '.'));
  }

  /** Message that a cell is not a number, with a reason that concerns only its notation. */
  private notANumber(text: string): string {
    if (this.numbers.decimal === 'comma') {
      return `is not a number${text.includes('.') ? ': it has a point, despite --decimal comma' : ''}`;
    }
    const why = ': it has a decimal comma, which --decimal comma reads';
    return `is not a number${hasDecimalComma(text) ? why : ''}`;
  }

  /** Reads the numbers of a row; returns whether they are all zero because a cell is empty. */
  private readRow(record: TableRecord, out: Float64Array): boolean {
    const { cells } = record;
    const place = this.placeOf(record);
    if (cells.length !== this.header.length) {
      const what = `has ${counted(cells.length, 'cell')}, the header has ${this.header.length}`;
      throw faultAt(place, { code: 'wrong_width', what });
    }
    this.requireFlat(record);
    const { policy, never } = this.missing;
    if (policy === 'blank' && this.lacks(record)) {
      out.fill(0);
      return true;
    }
    if (this.categories) {
      const { domain, index } = this.categories;
      const value = domain.index(cells[index]!);
      if (value === undefined) throw outsideDomain(domain, cells[index]!, place);
      out[value] = 1;
    }
    this.indices.forEach((index, j) => {
      const text = cells[index]!.trim();
      const isZero = text === '' && policy === 'zero' && this.header[index] !== never;
      const value = isZero ? 0 : this.numberOf(text);
      if (value === undefined) {
        const [code, what] =
          text === '' ? ['missing', EMPTY] : ['not_a_number', this.notANumber(text)];
        const hint = this.allColumns && this.header.length > 1 ? `; ${this.instead}` : '';
        this.refuseCell(record, index, { code, what: `${what}${hint}`, value: text });
      }
      const range = isZero ? undefined : this.numbers.ranges?.get(index);
      out[j] = range ? Math.min(Math.max(value, range.low), range.high) : value;
    });
    return false;
  }
}


/** Reads the header; rows are read lazily as they arrive. */
export async function readTable(
  bytes: AsyncIterable<Uint8Array>,
  wanted: Wanted,
): Promise<NumericTable> {
  const pieces = tableRecords(bytes, wanted.format);
  let records: TableRecord[] = [];
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
  const missing = { policy: wanted.missing ?? 'refuse', never: wanted.neverZero };
  const { decimal = 'point' } = wanted.format;
  const known = wanted.ranges?.(indices.map((index) => header[index]!));
  const ranges = known && new Map(indices.map((index, j) => [index, known[j]!]));
  const numbers = { decimal, ranges };
  const { instead = PICKS } = wanted;
  const reader = new RowReader(header, indices, textIndices, all, by, missing, numbers, instead);

  async function* batches(): AsyncGenerator<Batch> {
    for (let records = rest; ; ) {
      for (const batch of reader.read(records)) {
        if (batch.numRows > 0 || batch.fault) yield batch;
        if (batch.fault) return;
      }
      let piece: IteratorResult<TableRecord[]>;
      try {
        piece = await pieces.next();
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        return yield reader.ended(error);
      }
      if (piece.done) return;
      records = piece.value;
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
