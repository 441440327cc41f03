// SPDX-License-Identifier: Apache-2.0

// Cells without a value, read as with --missing and --na of the command: what happens to a row
// depends on that row alone, and moves no other row to another step.

import {
  isMark,
  isMissing,
  listWith,
  marksOf,
  type MissingPolicy,
} from '../../../wasm/src/shared/missing.ts';
import { faultsOf, textsOf, type Cell, type Column, type Csv } from './csv.ts';

/** Which cells are missing, and what happens to their rows. */
export interface MissingChoice {
  missing: MissingPolicy;
  /** Texts of missing cells besides the empty text, separated by commas; '' for none. */
  na: string;
}

/** Refuses missing cells; only empty cells count as missing. */
export const noMarks: MissingChoice = { missing: 'refuse', na: '' };

/**
 * Names of the columns that are read: columns of numbers, and columns of texts, which are never
 * read as 0.
 */
export interface NeededColumns {
  numbers: readonly string[];
  texts: readonly string[];
}

const marksIn = ({ na }: MissingChoice): string[] => (na === '' ? [] : (marksOf(na) ?? []));

/** Missing cells of a column. */
export function missingIn(column: Column, choice: MissingChoice): Cell[] {
  const marks = marksIn(choice);
  // A number such as -999 is missing only if it is listed.
  const areNumbers = marks.some((mark) => Number.isFinite(Number(mark)));
  const cells = areNumbers ? textsOf(column).map((text, row) => ({ row, text })) : column.faults;
  return cells.filter(({ text }) => isMissing(text, marks));
}

/** True if a cell is missing or looks missing. */
export function looksMissing(text: string, choice: MissingChoice): boolean {
  return isMissing(text, marksIn(choice)) || isMark(text);
}

/** Adds the texts suggested for some cells to the list of missing texts. */
export function suggestMarks(cells: readonly Cell[], choice: MissingChoice): string {
  const marks = marksIn(choice);
  const texts = cells.map(({ text }) => text).filter((text) => !isMissing(text, marks));
  return texts.length === 0 ? choice.na : listWith(texts, marks).join(',');
}

/** Texts of a column that look missing but are not listed as missing, in rows that are read. */
export function marksAmong(csv: Csv, column: Column, choice: MissingChoice): string[] {
  const marks = marksIn(choice);
  const cells = faultsOf(csv, column).map(({ text }) => text.trim());
  return [...new Set(cells.filter((text) => isMark(text) && !marks.includes(text)))];
}

function asZero(column: Column, cells: readonly Cell[]): Column {
  const values = column.values.slice();
  for (const { row } of cells) values[row] = 0;
  const isZero = new Set(cells.map(({ row }) => row));
  const others = (all: Cell[]): Cell[] => all.filter(({ row }) => !isZero.has(row));
  return { ...column, values, faults: others(column.faults), written: others(column.written) };
}

/** Results of `readMissing`, by table and choice. */
const known = new WeakMap<Csv, Map<string, Csv>>();

/** Reads the table for some columns: missing numbers are 0, or their rows are skipped. */
export function readMissing(csv: Csv, needed: NeededColumns, choice: MissingChoice): Csv {
  const { missing, na } = choice;
  if (missing === 'refuse') return csv;
  if (!known.has(csv)) known.set(csv, new Map());
  const reads = known.get(csv)!;
  const key = JSON.stringify([missing, na, needed]);
  const read = reads.get(key) ?? { skip: skipping, zero: zeroing }[missing](csv, needed, choice);
  reads.set(key, read);
  return read;
}

function skipping(csv: Csv, { numbers, texts }: NeededColumns, choice: MissingChoice): Csv {
  const names = [...numbers, ...texts];
  const columns = csv.columns.filter(({ name }) => names.includes(name));
  const rows = columns.flatMap((column) => missingIn(column, choice).map(({ row }) => row));
  return rows.length === 0 ? csv : { ...csv, skipped: new Set([...csv.skipped, ...rows]) };
}

function zeroing(csv: Csv, { numbers }: NeededColumns, choice: MissingChoice): Csv {
  const columns = csv.columns.map((column) => {
    const cells = numbers.includes(column.name) ? missingIn(column, choice) : [];
    return cells.length === 0 ? column : asZero(column, cells);
  });
  return { ...csv, columns };
}
