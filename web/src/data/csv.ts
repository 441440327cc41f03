// SPDX-License-Identifier: Apache-2.0

// A CSV text as named columns of numbers. Nothing is repaired: a cell that is not a number makes
// its column unusable, and the message names row and column.

import { parse } from 'csv-parse/browser/esm/sync';
import type { LossName, Table } from 'dp-ftrl';

/** Matches the text of a decimal number. */
export const decimal = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i;

export class CsvError extends Error {}

export interface Column {
  name: string;
  values: Float64Array;
  /** Cells that are numbers. */
  numNumbers: number;
  /** Fault of the first cell that is not a number; null if every cell is one. */
  fault: string | null;
}

export interface Csv {
  numRows: number;
  columns: Column[];
}

interface Parsed {
  info: { lines: number };
  record: string[];
}

/** It is read in one piece, on the thread of the page. */
const maxRows = 100_000;
export const maxBytes = 20_000_000;

function separator(text: string): string {
  const end = text.search(/[\r\n]/);
  const header = end < 0 ? text : text.slice(0, end);
  const counts = [',', ';', '\t'].map((c) => ({ c, n: header.split(c).length }));
  return counts.reduce((best, one) => (one.n > best.n ? one : best)).c;
}

function show(cell: string): string {
  if (cell === '') return 'an empty cell';
  return `“${cell.length > 24 ? `${cell.slice(0, 24)}…` : cell}”`;
}

/** "row 3 (line 4 of the text), column “count”". Row 1 is the first below the header. */
function place(row: number, line: number, column: string): string {
  return `row ${row} (line ${line} of the text), column “${column}”`;
}

function read(text: string): Parsed[] {
  try {
    return parse(text, {
      bom: true,
      delimiter: separator(text),
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as Parsed[];
  } catch (error) {
    throw new CsvError(`the text is not CSV: ${error instanceof Error ? error.message : error}`);
  }
}

function checkHeader(names: string[]): void {
  for (const [i, name] of names.entries()) {
    if (name === '') throw new CsvError(`the header row has no name for column ${i + 1}`);
    if (names.indexOf(name) !== i) throw new CsvError(`the header row has “${name}” twice`);
  }
  if (names.every((name) => decimal.test(name))) {
    throw new CsvError('the first row must name the columns, but all its cells are numbers');
  }
}

/** @throws CsvError with a message for the person who gave the text. */
export function parseCsv(text: string): Csv {
  if (text.length > maxBytes) {
    throw new CsvError(`the text must be at most ${maxBytes / 1e6} MB, got ${text.length} bytes`);
  }
  if (text.trim() === '') throw new CsvError('the text is empty');
  const [header, ...rows] = read(text);
  const names = header!.record;
  checkHeader(names);
  if (rows.length === 0) throw new CsvError('there is no row below the header');
  if (rows.length > maxRows) {
    const most = maxRows.toLocaleString('en-US');
    throw new CsvError(`at most ${most} rows fit, got ${rows.length.toLocaleString('en-US')}`);
  }
  const columns: Column[] = names.map((name) => ({
    name,
    values: new Float64Array(rows.length),
    numNumbers: 0,
    fault: null,
  }));
  for (const [i, { record, info }] of rows.entries()) {
    if (record.length !== names.length) {
      throw new CsvError(
        `row ${i + 1} (line ${info.lines} of the text) must have as many cells as the header, ` +
          `${names.length}, got ${record.length}`,
      );
    }
    for (const [k, column] of columns.entries()) readCell(column, i, info.lines, record[k]!);
  }
  return { numRows: rows.length, columns };
}

function readCell(column: Column, row: number, line: number, cell: string): void {
  const value = decimal.test(cell) ? Number(cell) : NaN;
  column.values[row] = value;
  if (Number.isFinite(value)) column.numNumbers += 1;
  else column.fault ??= `${place(row + 1, line, column.name)}: must be a number, got ${show(cell)}`;
}

/** Columns worth offering: at least one number in them. */
export function offered(csv: Csv): Column[] {
  return csv.columns.filter((column) => column.numNumbers > 0);
}

function isCounter(values: Float64Array): boolean {
  if (values.length < 3) return false;
  const step = values[1]! - values[0]!;
  return step > 0 && values.every((v, i) => i === 0 || Math.abs(v - values[i - 1]! - step) < 1e-9);
}

/** Columns to begin with: clean ones that do not just count the rows. */
export function suggestColumns(csv: Csv, label: string): string[] {
  const clean = csv.columns.filter((column) => column.fault === null && column.name !== label);
  const telling = clean.filter((column) => !isCounter(column.values));
  return (telling.length > 0 ? telling : clean).map((column) => column.name);
}

function find(csv: Csv, name: string): Column {
  const column = csv.columns.find((one) => one.name === name);
  if (column === undefined) {
    const known = csv.columns.map((one) => `“${one.name}”`).join(', ');
    throw new CsvError(`there is no column “${name}”; there are ${known}`);
  }
  if (column.fault !== null) throw new CsvError(column.fault);
  return column;
}

/** The labels a loss can learn. */
export function labelColumn(csv: Csv, name: string, loss: LossName): Float64Array {
  const column = find(csv, name);
  const wrong = column.values.findIndex((v) => loss === 'logistic' && ![0, 1, -1].includes(v));
  if (wrong >= 0) {
    throw new CsvError(
      `row ${wrong + 1}, column “${name}”: a label for the logistic loss must be 0, 1 or −1, ` +
        `got ${column.values[wrong]}; the squared loss takes any number`,
    );
  }
  return column.values;
}

/** Chosen columns, row after row. */
export function makeTable(csv: Csv, names: string[], labels: Float64Array | null): Table {
  if (names.length === 0) throw new CsvError('choose at least one column to sum');
  const columns = names.map((name) => find(csv, name));
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

/** How many rows are longer than the clip norm, in l2. */
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
