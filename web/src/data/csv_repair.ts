// SPDX-License-Identifier: Apache-2.0

// Ways to read cells that are not numbers. Each is offered, and none is applied automatically.

import { isMark, isMissing } from '../../../wasm/src/shared/missing.ts';
import { placeOf, showCell, type Cell, type Column, type Csv } from './csv.ts';

/** A way to read the faulty cells of a column. */
export interface Reading {
  /** Describes the effect; the text of a button. */
  text: string;
  apply(csv: Csv): Csv;
}

/** Largest number of faulty cells listed. */
const maxListed = 5;

const thousands = /^[+-]?\d{1,3}(,\d{3})+(\.\d*)?$/;
const decimalComma = /^[+-]?(\d+(,\d*)?|,\d+)$/;

const withoutCommas = (text: string): number => Number(text.replaceAll(',', ''));
const commaAsPoint = (text: string): number => Number(text.replace(',', '.'));

function withColumn(csv: Csv, name: string, change: (column: Column) => Column): Csv {
  const columns = csv.columns.map((one) => (one.name === name ? change(one) : one));
  return { ...csv, columns };
}

/** Reads the faulty cells that match `pattern`. */
function reread(
  { name, values, faults, written }: Column,
  pattern: RegExp,
  read: (text: string) => number,
): Column {
  const fixed = values.slice();
  const isRead = ({ text }: Cell): boolean => pattern.test(text);
  for (const { row, text } of faults.filter(isRead)) fixed[row] = read(text);
  return {
    name,
    values: fixed,
    faults: faults.filter((cell) => !isRead(cell)),
    written: [...written, ...faults.filter(isRead)],
  };
}

function asZero({ name, values, faults, written }: Column): Column {
  const fixed = values.slice();
  for (const { row } of faults) fixed[row] = 0;
  return { name, values: fixed, faults: [], written: [...written, ...faults] };
}

/** Returns the table without the rows in which the column has a fault. */
function without(csv: Csv, { faults }: Column): Csv {
  const isOut = new Set(faults.map(({ row }) => row));
  const place = new Int32Array(csv.numRows);
  let numRows = 0;
  for (let row = 0; row < csv.numRows; ++row) {
    place[row] = numRows;
    if (!isOut.has(row)) numRows += 1;
  }
  const kept = (cells: Cell[]): Cell[] =>
    cells.filter(({ row }) => !isOut.has(row)).map(({ row, text }) => ({ row: place[row]!, text }));
  return {
    ...csv,
    numRows,
    lines: csv.lines.filter((_, row) => !isOut.has(row)),
    columns: csv.columns.map((column) => ({
      name: column.name,
      values: column.values.filter((_, row) => !isOut.has(row)),
      faults: kept(column.faults),
      written: kept(column.written),
    })),
  };
}

/**
 * Returns ways to read a column, best first; empty if it needs no repair or holds nothing like a
 * number.
 */
export function readingsOf(csv: Csv, column: Column): Reading[] {
  const { name, faults } = column;
  if (faults.length === 0) return [];
  const readings: Reading[] = [];
  const offer = (pattern: RegExp, read: (text: string) => number): void => {
    const example = faults.find(({ text }) => pattern.test(text));
    if (example === undefined) return;
    const text = `read “${example.text}” as ${String(read(example.text))}`;
    const apply = (one: Csv): Csv => withColumn(one, name, (c) => reread(c, pattern, read));
    readings.push({ text, apply });
  };
  offer(thousands, withoutCommas);
  offer(decimalComma, commaAsPoint);
  if (readings.length === 0 && faults.length === csv.numRows) return [];
  const them = faults.length === 1 ? 'it' : 'them';
  readings.push({
    text: `count ${them} as 0`,
    apply: (one) => withColumn(one, name, asZero),
  });
  if (faults.length < csv.numRows) {
    const rows = faults.length === 1 ? 'its row' : `their ${faults.length} rows`;
    readings.push({ text: `leave out ${rows}`, apply: (one) => without(one, column) });
  }
  return readings;
}

/** Lists the cells of a column that are not numbers, with their rows. */
export function faultsText(csv: Csv, { name, faults }: Column): string {
  const cells = faults
    .slice(0, maxListed)
    .map(({ row, text }) => `${showCell(text)} in ${placeOf(csv, row)}`);
  const more = faults.length > maxListed ? ` and ${faults.length - maxListed} more` : '';
  const isOne = faults.length === 1;
  const areMissing = faults.every(({ text }) => isMissing(text) || isMark(text));
  const numbers = isOne ? 'cell is not a number' : 'cells are not numbers';
  const are = areMissing ? `${isOne ? 'cell is' : 'cells are'} missing` : numbers;
  return `“${name}” is not summed: ${faults.length} ${are}: ${cells.join(', ')}${more}.`;
}
