// SPDX-License-Identifier: Apache-2.0

// Converts records to rows of numbers and texts, and reports the cells at fault.

import { counted } from '../../shared/counted.js';
import { isBlank, SEPARATORS } from '../../shared/csv.js';
import { cellsText, placesOf, unnamedText } from '../../shared/header.js';
import { isMark } from '../../shared/missing.js';
import { nameOf } from '../../shared/name.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { hasDecimalComma, surplusText } from '../options/spelling.js';
import { outsideDomain, type Domain } from './domain.js';
import { matches } from './columns.js';
import { columnName, columnText, requireName, unknownColumn } from './header.js';
import { notationFault, withPoint, type DecimalMark, type TableFormat } from './format.js';
import type { TableRecord } from './json-lines.js';
import { labelOfText, labelText, type LabelKind } from './labels.js';
import { emptyText, Missing, ZERO } from './missing.js';
import { faultAt, placeText, type RowPlace } from './place.js';
import { tableRecords } from './records.js';

/** A batch of rows, and the fault that follows them, if any. */
export interface RowBatch {
  /** numRows * columns.length numbers, row after row. */
  values: Float64Array;
  numRows: number;
  /** 1-based number of the first row, not counting the header. */
  firstRow: number;
  /** 1-based line of each row. */
  lines: number[];
  /** Cells of each text column. */
  texts: string[][];
  /** 0-based rows that add nothing because a cell is missing; their cells are not to be read. */
  blank?: ReadonlySet<number>;
  /** Error in the row after this batch; no further batch follows. */
  fault?: Misuse;
  /** Which cells count as missing, for messages about `texts`. */
  missing: Missing;
}

export interface RowRequest {
  /** Numeric columns. If empty: all columns not in `texts`, or none with `onlyTexts`. */
  columns: readonly string[];
  /** Whether a * in `columns` stands for any letters. */
  hasPatterns?: boolean;
  texts: readonly string[];
  onlyTexts?: boolean;
  format: TableFormat;
  /** Default: refuse. */
  missing?: Missing;
  /** Known ranges of the columns, to which numbers are clamped. */
  ranges?(columns: readonly string[]): readonly { low: number; high: number }[] | undefined;
  /** Advice for a cell that is not a number, if no columns were named. */
  instead?: string;
  /** Advice for a word in a numeric column. */
  ofWords?: string;
  /** Column of labels, and their loss: a missing label is never read as 0. */
  label?: { column: string } & LabelKind;
  /** Domains of the text columns that have a domain. */
  domains?: readonly Domain[];
  /**
   * One-hot encodes a column: 1 at the value of the row and 0 elsewhere. There are then no numeric
   * columns.
   */
  categories?: Domain | undefined;
  /** The text column that holds the ids of persons. */
  ids?: string | undefined;
}

export interface NumericTable {
  columns: string[];
  batches: AsyncGenerator<RowBatch>;
  /** Rows so far that add nothing because a cell is missing. */
  readonly numSkipped: number;
  /** Ids so far that often stand for a missing value. */
  readonly marks: ReadonlySet<string>;
  /** Reorders the columns; must be called before the first row is read. */
  arrange(columns: readonly string[]): void;
}

const INFINITE = /^[+-]?inf(?:inity)?$/i;
const WORD = /^\p{L}\D*$/u;

/** Advice for the case that all columns are read. */
export const PICKS = '--columns NAME picks columns';

/** Name of the sum if no column is summed and each row counts as 1. */
const ROWS = 'rows';

function chooseColumns(header: string[], names: readonly string[]): number[] {
  const indices: number[] = [];
  for (const name of names) {
    const [index, other] = placesOf(header, name);
    if (index < 0 || name === '') throw unknownColumn('column', name, header);
    requireName(header, index);
    if (other !== undefined) {
      const what = `the header has more than one ${columnText(header, index)}`;
      throw new Misuse(`${what}: ${cellsText(index, other)}`);
    }
    if (indices.includes(index)) throw new Misuse(`column ${JSON.stringify(name)} is given twice`);
    indices.push(index);
  }
  return indices;
}

/** Columns in the order of `names` or, if any name is a pattern, in the order of the table. */
function picked(names: readonly string[], known: readonly string[]): readonly string[] {
  if (!names.some((name) => name.includes('*') && !known.includes(name))) return names;
  const unknown = names.filter((name) => !known.some((each) => matches(name, each)));
  return [...unknown, ...known.filter((each) => names.some((name) => matches(name, each)))];
}

/** Ranges of columns, by index in the header. */
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
    /** Buffer for these rows and the rows after them. */
    readonly values: Float64Array,
    readonly width: number,
    private readonly firstRow: number,
    private readonly textIndices: readonly number[],
    private readonly textOf: (cell: string, index: number) => string,
    private readonly missing: Missing,
  ) {
    this.texts = textIndices.map(() => []);
  }

  /** Index of the next row's first number in `values`. */
  get begin(): number {
    return this.lines.length * this.width;
  }

  /** Buffer for the rows that follow. */
  get rest(): Float64Array {
    return this.values.subarray(this.begin);
  }

  add({ cells, line }: TableRecord, isBlanked: boolean): void {
    if (isBlanked) this.blank.add(this.lines.length);
    this.lines.push(line);
    for (let j = 0; j < this.texts.length; ++j) {
      const index = this.textIndices[j]!;
      this.texts[j]!.push(this.textOf(cells[index]!, index));
    }
  }

  batch(fault?: Misuse): RowBatch {
    return {
      values: this.values.subarray(0, this.begin),
      numRows: this.lines.length,
      firstRow: this.firstRow,
      lines: this.lines,
      texts: this.texts,
      ...(this.blank.size > 0 && { blank: this.blank }),
      ...(fault && { fault }),
      missing: this.missing,
    };
  }
}

/** The cells to read from each record; columns are given by their index in the header. */
interface RowPlan {
  header: readonly string[];
  /** Columns of numbers; if empty, each row has one number that is always 1. */
  indices: number[];
  textIndices: readonly number[];
  allColumns: boolean;
  categories: Categories | undefined;
  /** Domains of text columns. */
  domains: ReadonlyMap<number, Domain>;
  missing: Missing;
  /** Whether an empty line can be a row with one cell. */
  isCsv: boolean;
  label: ({ index: number } & LabelKind) | undefined;
  /** Column of ids; -1 if there is none. */
  idIndex: number;
  decimal: DecimalMark;
  ranges: Ranges | undefined;
  instead: string;
  ofWords: string;
}

class RowReader {
  numSkipped = 0;
  readonly marks = new Set<string>();
  private numRows = 0;
  private blank: TableRecord | undefined;
  /** Columns of texts and of categories. */
  private readonly labels: readonly number[];

  constructor(private readonly plan: RowPlan) {
    const { categories, textIndices } = plan;
    this.labels = categories ? [...textIndices, categories.index] : textIndices;
  }

  /**
   * Yields batches, the last one with the fault, if there is one; a dropped row starts a new batch.
   */
  *read(records: TableRecord[]): Generator<RowBatch> {
    const { categories, indices, missing, textIndices } = this.plan;
    const width = categories?.domain.labels.length ?? Math.max(1, indices.length);
    const countsAll = !categories && indices.length === 0;
    const textOf = (cell: string, index: number) => this.textOf(cell, index);
    const rowsIn = (room: Float64Array) =>
      new Rows(room, width, this.numRows + 1, textIndices, textOf, missing);
    let rows = rowsIn(new Float64Array(records.length * width).fill(countsAll ? 1 : 0));
    for (const record of records) {
      // Blank lines at the end are common and harmless; anywhere else a value is missing.
      if (isBlank(record) && !this.isEmptyCell(record)) {
        this.blank ??= record;
        continue;
      }
      if (this.blank) return yield rows.batch(this.blankFault(this.blank));
      if (missing.policy === 'drop' && this.lacks(record)) {
        yield rows.batch();
        ++this.numSkipped;
        ++this.numRows;
        rows = rowsIn(rows.rest);
        continue;
      }
      try {
        rows.add(record, this.readRow(record, rows));
        this.seeId(record);
      } catch (error) {
        if (error instanceof Misuse) return yield rows.batch(error);
        throw error;
      }
      ++this.numRows;
    }
    yield rows.batch();
  }

  /**
   * Whether a blank line is an accepted row with one empty cell. If empty cells are refused, blank
   * lines at the end are not rows; only the next row shows whether a blank line is at the end.
   */
  private isEmptyCell({ object }: TableRecord): boolean {
    if (object) return true;
    const { header, isCsv, missing } = this.plan;
    if (!isCsv || header.length > 1) return false;
    return missing.policy !== 'refuse' || this.domainOf(0)?.hasOther === true;
  }

  /** Error for a blank line that another row follows. */
  private blankFault(record: TableRecord): Misuse {
    const { header, isCsv } = this.plan;
    const [index] = this.needed;
    if (isCsv && header.length === 1 && index !== undefined)
      return this.missingFault(record, index);
    return faultAt(this.placeOf(record), { code: 'blank', what: 'is blank' });
  }

  /** The domain of a column of categories. */
  private domainOf(index: number): Domain | undefined {
    const { categories, domains } = this.plan;
    return index === categories?.index ? categories.domain : domains.get(index);
  }

  private seeId({ cells }: TableRecord): void {
    const { idIndex } = this.plan;
    if (idIndex < 0) return;
    const id = cells[idIndex]!;
    if (isMark(id) && !this.plan.missing.has(id)) this.marks.add(id.trim());
  }

  /** An empty batch with the fault that ends the rows. */
  ended(fault: Misuse): RowBatch {
    const { missing, textIndices } = this.plan;
    const none = new Float64Array();
    return new Rows(none, 1, this.numRows + 1, textIndices, String, missing).batch(fault);
  }

  /** Indices of the cells that each row must have. */
  private get needed(): number[] {
    return [...this.plan.indices, ...this.labels];
  }

  /** Whether a needed cell of a row is missing. */
  private lacks({ cells, object }: TableRecord): boolean {
    const { header, missing } = this.plan;
    if (cells.length !== header.length) return false;
    return this.needed.some((index) => missing.has(cells[index]!) && !object?.nested.has(index));
  }

  /** Text of a needed cell; with --missing zero, a missing value of a domain is read as 0. */
  private textOf(cell: string, index: number): string {
    const { domains, missing } = this.plan;
    return missing.policy === 'zero' && domains.has(index) && missing.has(cell) ? ZERO : cell;
  }

  /** Refuses a row with a missing cell that is neither read as 0 nor counted with --other. */
  private requireTexts(record: TableRecord): void {
    const { missing } = this.plan;
    for (const index of this.labels) {
      const cell = record.cells[index]!;
      if (!missing.has(cell)) continue;
      const domain = this.domainOf(index);
      if (domain && (domain.hasOther || missing.policy === 'zero')) continue;
      throw this.missingFault(record, index);
    }
  }

  private missingFault(record: TableRecord, index: number): Misuse {
    const { indices, label } = this.plan;
    const value = record.cells[index]!.trim();
    const isNumber = indices.includes(index) && index !== label?.index;
    const canBeZero = isNumber || this.domainOf(index)?.index(ZERO) !== undefined;
    const what = `${emptyText(value, canBeZero)}${this.advice}`;
    return this.cellFault(record, index, { code: 'missing', what, value });
  }

  /** Advice for a cell at fault, if no columns were named. */
  private get advice(): string {
    const { allColumns, header, instead } = this.plan;
    return allColumns && header.length > 1 ? `; ${instead}` : '';
  }

  /** The place of the next row. */
  private placeOf({ line }: TableRecord): RowPlace {
    return { row: this.numRows + 1, line };
  }

  /** Error for a cell; names the column only if its header looks like a name. */
  private cellFault(
    record: TableRecord,
    index: number,
    { code, what, value }: { code: string; what: string; value?: string },
  ): Misuse {
    const place = this.placeOf(record);
    const { header } = this.plan;
    const column = columnName(header, index);
    const message = `${placeText(place)}, ${columnText(header, index)} ${what}`;
    return new Misuse(message, { code, ...place, ...(column !== undefined && { column }) }, value);
  }

  /**
   * Refuses an object with an unknown key, if all columns are read, or with a list or an object in
   * a needed column.
   */
  private requireFlat(record: TableRecord): void {
    const { object } = record;
    if (!object) return;
    if (object.hasMore && this.plan.allColumns) {
      const what = `has a key that the first row does not have; ${PICKS}`;
      throw faultAt(this.placeOf(record), { code: 'unknown_key', what });
    }
    const index = this.needed.find((each) => object.nested.has(each));
    if (index === undefined) return;
    throw this.cellFault(record, index, { code: 'nested', what: 'is a list or an object' });
  }

  private numberOf(text: string): number | undefined {
    const written = withPoint(text, this.plan.decimal);
    return written === undefined ? undefined : parseNumber(written);
  }

  /** Message that a cell is not a number, with a reason if only the notation is at fault. */
  private notANumber(text: string): string {
    const { decimal, header, missing, ofWords } = this.plan;
    const [only = '', ...others] = header;
    if (others.length === 0 && SEPARATORS.some((separator) => only.includes(separator)))
      return `is not a number: the header ${only} has one cell, hence another separator`;
    if (text.includes('\0')) return 'has a byte of value 0: the file is not text';
    const surplus = surplusText(text);
    if (surplus !== undefined)
      return `is not a number: it has ${surplus}, to be taken out of the file first`;
    const fault = notationFault(text, decimal);
    if (fault !== undefined) return fault;
    if (decimal === 'point' && hasDecimalComma(text))
      return 'is not a number: it has a decimal comma, which --decimal comma reads';
    if (INFINITE.test(text)) return `is not a finite number${missing.hint(text, true)}`;
    const advice = missing.hint(text);
    return `is not a number${advice === '' && WORD.test(text) ? ofWords : advice}`;
  }

  /** Reads the numbers of a row; returns whether it adds nothing because a cell is missing. */
  private readRow(record: TableRecord, { values, begin, width }: Rows): boolean {
    const { cells } = record;
    const { categories, header, indices, missing, ranges } = this.plan;
    if (cells.length !== header.length) {
      const what = `has ${counted(cells.length, 'cell')}, the header has ${header.length}`;
      throw faultAt(this.placeOf(record), { code: 'wrong_width', what });
    }
    this.requireFlat(record);
    if (missing.policy === 'blank' && this.lacks(record)) {
      values.fill(0, begin, begin + width);
      ++this.numSkipped;
      return true;
    }
    this.requireTexts(record);
    if (categories) {
      const { domain, index } = categories;
      const cell = missing.has(cells[index]!) && missing.policy === 'zero' ? ZERO : cells[index]!;
      const value = domain.index(cell);
      if (value === undefined) {
        throw outsideDomain(domain, cell, { where: this.placeOf(record), missing });
      }
      values[begin + value] = 1;
    }
    for (let j = 0; j < indices.length; ++j) {
      const index = indices[j]!;
      const isZero = missing.has(cells[index]!) && this.canBeZero(index);
      const value = isZero ? 0 : this.readNumber(record, index);
      const range = isZero ? undefined : ranges?.get(index);
      values[begin + j] = range ? Math.min(Math.max(value, range.low), range.high) : value;
    }
    return false;
  }

  private canBeZero(index: number): boolean {
    return this.plan.missing.policy === 'zero' && index !== this.plan.label?.index;
  }

  private readNumber(record: TableRecord, index: number): number {
    const text = record.cells[index]!.trim();
    const label = index === this.plan.label?.index ? this.plan.label : undefined;
    if (this.plan.missing.has(text)) throw this.missingFault(record, index);
    const value = this.numberOf(text) ?? (label && labelOfText(text, label));
    if (value !== undefined) return value;
    const what = label
      ? `${labelText(label)}${this.plan.missing.hint(text)}`
      : `${this.notANumber(text)}${this.advice}`;
    throw this.cellFault(record, index, { code: 'not_a_number', what, value: text });
  }
}

/** Reads the header; rows are read lazily as they arrive. */
export async function readTable(
  bytes: AsyncIterable<Uint8Array>,
  wanted: RowRequest,
): Promise<NumericTable> {
  const pieces = tableRecords(bytes, wanted.format);
  const naming =
    wanted.format.kind === 'csv'
      ? 'the first row must name the columns'
      : 'the keys of the first object name the columns';
  let records: TableRecord[] = [];
  while (records.length === 0) {
    const piece = await pieces.next();
    if (piece.done) throw new Misuse(`the input is empty; ${naming}`);
    records = piece.value;
  }
  const [first, ...rest] = records;
  if (isBlank(first!)) throw new Misuse(`the input begins with a blank line; ${naming}`);
  const header = first!.cells.map(nameOf);
  if (header.every((name) => name === '')) {
    throw new Misuse('the cells of the first row are empty; they must name the columns');
  }
  const textIndices = chooseColumns(header, wanted.texts);
  const summed = wanted.texts.find((name) => wanted.columns.includes(name));
  if (summed !== undefined) {
    throw new Misuse(`column ${JSON.stringify(summed)} cannot be summed as well`);
  }
  const { categories } = wanted;
  const { columns: asked, hasPatterns = false } = wanted;
  const isAll = asked.length === 0 || (hasPatterns && asked.includes('*'));
  const all = isAll && !wanted.onlyTexts;
  const named = header.filter((it) => it !== '' && !wanted.texts.includes(it));
  const unnamed = all ? unnamedText(header) : undefined;
  if (unnamed !== undefined) wanted.format.announce(unnamed);
  const names = hasPatterns ? picked(asked, named) : asked;
  const indices = chooseColumns(header, all && asked.length === 0 ? named : names);
  const by = categories && {
    domain: categories,
    index: chooseColumns(header, [categories.column])[0]!,
  };
  const { missing = Missing.refused, label, domains = [], instead = PICKS } = wanted;
  const ofWords = wanted.ofWords === undefined ? '' : `; ${wanted.ofWords}`;
  if (missing.policy === 'zero')
    [...domains, ...(categories ? [categories] : [])].forEach((it) => it.requireZero());
  const known = wanted.ranges?.(indices.map((index) => header[index]!));
  const reader = new RowReader({
    header,
    indices,
    textIndices,
    allColumns: all,
    categories: by,
    domains: new Map(domains.map((domain) => [header.indexOf(domain.column), domain])),
    missing,
    isCsv: wanted.format.kind === 'csv',
    label: label && { ...label, index: header.indexOf(label.column) },
    idIndex: wanted.ids === undefined ? -1 : header.indexOf(wanted.ids),
    decimal: wanted.format.decimal ?? 'point',
    ranges: known && new Map(indices.map((index, j) => [index, known[j]!])),
    instead,
    ofWords,
  });

  async function* batches(): AsyncGenerator<RowBatch> {
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
    get numSkipped() {
      return reader.numSkipped;
    },
    marks: reader.marks,
    arrange(wanted) {
      if (indices.length === 0) return;
      indices.splice(0, Infinity, ...wanted.map((name) => header.indexOf(name)));
      columns.splice(0, Infinity, ...wanted);
    },
  };
}
