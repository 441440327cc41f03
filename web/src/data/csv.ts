// SPDX-License-Identifier: Apache-2.0

// Parses CSV text to named columns of numbers. Nothing is repaired silently: a cell that is not a
// number makes its column unusable until the user chooses how to read it.

import type { LossName, Table } from 'dp-ftrl';
import { count, counted } from '../base/format.ts';
import {
  CsvFault,
  CsvParser,
  isBlank,
  quotedCell,
  seenSeparators,
} from '../../../wasm/src/shared/csv.ts';
import { JSON_TEXTS, kindOfMarkup, kindOfText } from '../../../wasm/src/shared/file-kind.ts';
import { cellsText, placesOf, unnamedText } from '../../../wasm/src/shared/header.ts';
import { nameOf } from '../../../wasm/src/shared/name.ts';
import { parseNumber } from '../../../wasm/src/shared/number.ts';
import { personOfId } from '../../../wasm/src/shared/person.ts';

export class CsvError extends Error {}

/** Error for rows with more or fewer cells than the header. */
export class RaggedError extends CsvError {
  constructor(
    message: string,
    readonly numRows: number,
  ) {
    super(message);
  }
}

/** A cell as written. */
export interface Cell {
  /** Row 0 is the first below the header. */
  row: number;
  text: string;
}

export interface Column {
  name: string;
  /** NaN for a cell that is not a number. */
  values: Float64Array;
  /** Cells that are not numbers, by row. */
  faults: Cell[];
  /**
   * Cells whose text cannot be recovered from the value, because several texts spell the same
   * number.
   */
  written: Cell[];
}

/** Matches a number of at most 15 digits as `String` writes it. */
const shortest = /^(?!-0$)-?(?:(?:0|[1-9]\d{0,8})(?:\.\d{0,5}[1-9])?|[1-9]\d{9,14})$/;

export interface Csv {
  numRows: number;
  /** 1-based line of each row in the text. */
  lines: Int32Array;
  columns: Column[];
  /** Rows that add nothing. If every row is a step, these rows remain steps. */
  skipped: ReadonlySet<number>;
  /** Names the columns that are left out because they have no name; null if none are. */
  unnamed: string | null;
  /** Name of the column that the page added to count each row once; absent if there is none. */
  rows?: string;
}

const maxRows = 100_000;
export const maxBytes = 20_000_000;

export function showCell(cell: string): string {
  if (cell === '') return 'an empty cell';
  return `“${cell.length > 24 ? `${cell.slice(0, 24)}…` : cell}”`;
}

/** "row 3 (line 4 of the text)"; row 1 is the first row below the header. */
export function placeOf(csv: Csv, row: number): string {
  return `row ${row + 1} (line ${csv.lines[row]} of the text)`;
}

export function numRead({ numRows, skipped }: Csv): number {
  return numRows - skipped.size;
}

/** Cells of a column that are not numbers, in the rows read. */
export function faultsOf({ skipped }: Csv, { faults }: Column): Cell[] {
  return skipped.size === 0 ? faults : faults.filter(({ row }) => !skipped.has(row));
}

/** Why a column cannot be summed as it is; null if it can be. */
function faultText(csv: Csv, column: Column): string | null {
  const { name } = column;
  const faults = faultsOf(csv, column);
  const [first] = faults;
  if (first === undefined) return null;
  const others = faults.length > 1 ? `, and ${count(faults.length - 1)} more like it` : '';
  return (
    `${placeOf(csv, first.row)}, column “${name}”: must be a number, ` +
    `got ${showCell(first.text)}${others}`
  );
}

function checkHeader(names: string[]): void {
  if (names.every((name) => name === '')) {
    throw new CsvError('the cells of the first row are empty; they must name the columns');
  }
  for (const name of names.filter((each) => each !== '')) {
    const [first, second] = placesOf(names, name);
    if (second === undefined) continue;
    throw new CsvError(
      `the header has more than one column “${name}”: ${cellsText(first, second)}`,
    );
  }
  if (names.every((name) => parseNumber(name) !== undefined)) {
    throw new CsvError('the first row must name the columns, but all its cells are numbers');
  }
}

/** Builds columns row by row. */
class Builder {
  private readonly columns: (Omit<Column, 'values'> & { values: number[] })[];
  private readonly lines: number[] = [];
  private numRagged = 0;
  private firstRagged = '';

  constructor(private readonly names: string[]) {
    this.columns = names.map((name) => ({ name, values: [], faults: [], written: [] }));
  }

  take(cells: string[], line: number): void {
    const row = this.lines.length;
    const width = this.columns.length;
    if (cells.length !== width) {
      this.numRagged += 1;
      this.firstRagged ||=
        `row ${row + 1} (line ${line} of the text) must have as many cells as the header, ` +
        `${width}, got ${cells.length}`;
      return;
    }
    this.lines.push(line);
    for (const [k, { values, faults, written }] of this.columns.entries()) {
      const text = cells[k]!;
      const value = parseNumber(text);
      if (value === undefined) faults.push({ row, text });
      else if (!shortest.test(text)) written.push({ row, text });
      values.push(value ?? NaN);
    }
  }

  finish(leaveOut: boolean): Csv {
    const numRows = this.lines.length;
    if (this.numRagged > 0 && !leaveOut) {
      const others =
        this.numRagged > 1
          ? `; ${counted(this.numRagged - 1, 'more row')} ${this.numRagged === 2 ? 'differs' : 'differ'}`
          : '';
      throw new RaggedError(`${this.firstRagged}${others}`, this.numRagged);
    }
    if (numRows === 0) throw new CsvError('there is no row below the header');
    if (numRows > maxRows) {
      throw new CsvError(`at most ${counted(maxRows, 'row')} fit, got ${count(numRows)}`);
    }
    const named = this.columns.filter(({ name }) => name !== '');
    const columns = named.map((column) => ({
      ...column,
      values: Float64Array.from(column.values),
    }));
    const unnamed = unnamedText(this.names) ?? null;
    const lines = Int32Array.from(this.lines);
    return { numRows, lines, columns, skipped: new Set(), unnamed };
  }
}

export interface ParseOptions {
  /** Leaves out rows with more or fewer cells than the header, instead of refusing the text. */
  leaveOutRagged?: boolean;
}

const piece = 1 << 14;

/** Yields the non-blank records, one piece of text at a time, with the share read so far. */
function* recordsOf(text: string) {
  const parser = new CsvParser({ separator: seenSeparators(text).most, trims: true });
  for (let at = 0; at < text.length; at += piece) {
    const records = parser.push(text.slice(at, at + piece));
    if (at + piece >= text.length) records.push(...parser.end());
    yield { records: records.filter((one) => !isBlank(one)), share: at / text.length };
  }
}

/**
 * Parses in pieces, and yields the share read so far between them.
 * @throws CsvError with a message for the user who supplied the text.
 */
export function* csvInPieces(text: string, options: ParseOptions = {}): Generator<number, Csv> {
  if (text.length > maxBytes) {
    throw new CsvError(
      `the text must be at most ${maxBytes / 1e6} MB, got ${counted(text.length, 'byte')}`,
    );
  }
  if (text.trim() === '') throw new CsvError('the text is empty');
  const markup = kindOfMarkup(text);
  if (markup !== undefined) throw new CsvError(`the text ${markup}`);
  const json = kindOfText(text);
  if (json === 'lines')
    throw new CsvError('the text is JSON: write it as CSV, or read it with the command');
  if (json !== undefined)
    throw new CsvError(`the text ${JSON_TEXTS[json]}, and read that with the command`);
  try {
    let builder: Builder | undefined;
    for (const { records, share } of recordsOf(text)) {
      for (const { cells, line } of records) {
        if (builder !== undefined) builder.take(cells, line);
        else {
          const names = cells.map(nameOf);
          checkHeader(names);
          builder = new Builder(names);
        }
      }
      yield share;
    }
    if (builder === undefined) throw new CsvError('the text is empty');
    return builder.finish(options.leaveOutRagged ?? false);
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    throw new CsvError(`the text is not CSV: ${error.message}`);
  }
}

/** Parses a short text at once. */
export function parseCsv(text: string, options: ParseOptions = {}): Csv {
  const pieces = csvInPieces(text, options);
  let piece = pieces.next();
  while (!piece.done) piece = pieces.next();
  return piece.value;
}

/** Columns worth offering: those with at least one number. */
export function offered(csv: Csv): Column[] {
  return csv.columns.filter((column) => faultsOf(csv, column).length < numRead(csv));
}

/** Values of a column, without those of skipped rows. */
export function valuesOf({ skipped }: Csv, { values }: Column): Float64Array {
  return skipped.size === 0 ? values : values.filter((_, row) => !skipped.has(row));
}

function isCounter(values: Float64Array): boolean {
  if (values.length < 3) return false;
  const step = values[1]! - values[0]!;
  return step > 0 && values.every((v, i) => i === 0 || Math.abs(v - values[i - 1]! - step) < 1e-9);
}

/**
 * Suggests columns to sum: columns of numbers, preferably those that do not just count the rows.
 *
 * @param taken  columns with another role, such as the label, person or time of a row.
 */
export function suggestColumns(csv: Csv, taken: readonly string[]): string[] {
  const clean = csv.columns.filter(
    (column) => faultsOf(csv, column).length === 0 && !taken.includes(column.name),
  );
  const telling = clean.filter((column) => !isCounter(valuesOf(csv, column)));
  return (telling.length > 0 ? telling : clean).map((column) => column.name);
}

/**
 * Words in the names of columns that identify, number or locate rows; sums of such columns mean
 * nothing.
 */
const wordsOfNoQuantity =
  /(^|[^a-z])(ids?|uuid|guid|zip|zipcode|postcode|lat|latitude|lon|lng|longitude)([^a-z]|$)/;
const namesOfNoQuantity =
  /^(year|month|day|hour|minute|week|weekday|quarter|date|time|timestamp|epoch|row|index|nr|no|number|sequence|line|rank|key|code|phone)$/;
/** Minimum number of rows for which distinct numbers suggest an id. */
const leastTelling = 20;

/** True if a column is clearly a quantity, not an id, year, row number or coordinate. */
export function isQuantity(csv: Csv, name: string): boolean {
  const plain = name.replace(/([a-z])(?=[A-Z])/g, '$1_').toLowerCase();
  if (wordsOfNoQuantity.test(plain) || namesOfNoQuantity.test(plain)) return false;
  const values = valuesOf(csv, findColumn(csv, name));
  if (!values.every(Number.isInteger)) return true;
  if (isCounter(values)) return false;
  const areYears = values.every((value) => value >= 1900 && value < 2100);
  const areDistinct = values.length >= leastTelling && new Set(values).size === values.length;
  return !areYears && !areDistinct;
}

/** Adds a column that counts each row once, unless the table has one. */
export function withRows(csv: Csv): Csv & { rows: string } {
  if (csv.rows !== undefined) return { ...csv, rows: csv.rows };
  const names = csv.columns.map(({ name }) => name);
  let name = 'rows';
  while (names.includes(name)) name += ' counted';
  const values = new Float64Array(csv.numRows).fill(1);
  const columns = [...csv.columns, { name, values, faults: [], written: [] }];
  return { ...csv, columns, rows: name };
}

export function findColumn(csv: Csv, name: string): Column {
  const column = csv.columns.find((one) => one.name === name);
  if (column === undefined) {
    const known = csv.columns.map((one) => `“${one.name}”`).join(', ');
    throw new CsvError(`there is no column “${name}”; there are ${known}`);
  }
  const fault = faultText(csv, column);
  if (fault !== null) throw new CsvError(fault);
  return column;
}

/** Texts of the cells of a column, as they were written. */
export function textsOf({ values, faults, written }: Column): string[] {
  const texts = Array.from(values, String);
  for (const { row, text } of written) texts[row] = text;
  for (const { row, text } of faults) texts[row] = text.trim();
  return texts;
}

/**
 * Writes a table as CSV, with numbers as parsed and each person's id in a single spelling. Columns
 * keep their own names, because programs look them up by name. A skipped row has empty cells only;
 * with a time column, it is left out.
 */
export function csvText(
  csv: Csv,
  {
    person,
    areNumbers,
    hasTimes = false,
  }: { person: string; areNumbers: boolean; hasTimes?: boolean },
): string {
  const { skipped } = csv;
  const columns = csv.columns.map((column) =>
    column.name === person
      ? textsOf(column).map((id) => personOfId(id, areNumbers) ?? id)
      : textsOf({ ...column, written: [] }),
  );
  const lines = [csv.columns.map(({ name }) => name)];
  for (let row = 0; row < csv.numRows; ++row) {
    if (hasTimes && skipped.has(row)) continue;
    lines.push(columns.map((texts) => (skipped.has(row) ? '' : texts[row]!)));
  }
  // A blank line is not a row, so a table with one column gets a second column, without a name.
  if (skipped.size > 0 && columns.length === 1) for (const cells of lines) cells.push('');
  return lines.map((cells) => `${cells.map(quotedCell).join(',')}\n`).join('');
}

/** Row of the first label that the logistic loss cannot learn; -1 if there is none. */
export function firstUnfit(values: Float64Array): number {
  return values.findIndex((value) => ![0, 1, -1].includes(value));
}

/** Throws if rows are skipped: a learner is measured on every row. */
function requireAll(csv: Csv): void {
  const [row] = csv.skipped;
  if (row === undefined) return;
  throw new CsvError(
    `a learner is measured on every row, but ${placeOf(csv, row)} is left out: ` +
      'remove such rows from the table first',
  );
}

/** Labels in the form that the loss can learn. */
export function labelColumn(csv: Csv, name: string, loss: LossName): Float64Array {
  requireAll(csv);
  const { values } = findColumn(csv, name);
  const wrong = loss === 'logistic' ? firstUnfit(values) : -1;
  if (wrong >= 0) {
    throw new CsvError(
      `row ${wrong + 1}, column “${name}”: a label for the logistic loss must be 0, 1 or −1, ` +
        `got ${values[wrong]}; the squared loss takes any number`,
    );
  }
  return values;
}

/** Builds a table in row-major order. */
export function makeTable(csv: Csv, names: string[], labels: Float64Array | null): Table {
  if (names.length === 0) throw new CsvError('choose at least one column to sum');
  const columns = names.map((name) => findColumn(csv, name));
  const values = new Float64Array(csv.numRows * columns.length);
  for (const [k, column] of columns.entries()) {
    for (let i = 0; i < csv.numRows; ++i) values[i * columns.length + k] = column.values[i]!;
  }
  return {
    numRows: csv.numRows,
    numColumns: columns.length,
    values,
    ...(labels === null ? {} : { labels }),
  };
}

/** Number of rows whose l2 norm exceeds the clip norm. */
export function numClipped(table: Table, clipNorm: number): number {
  let clipped = 0;
  for (let i = 0; i < table.numRows; ++i) {
    let squares = 0;
    for (let k = 0; k < table.numColumns; ++k) {
      squares += table.values[i * table.numColumns + k]! ** 2;
    }
    if (Math.sqrt(squares) > clipNorm) clipped += 1;
  }
  return clipped;
}
