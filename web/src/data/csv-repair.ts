// SPDX-License-Identifier: Apache-2.0

// Ways to read cells that are not numbers. They are offered to the user, never applied
// automatically.

import { count, counted } from '../base/format.ts';
import { faultsOf, numRead, placeOf, showCell, type Cell, type Column, type Csv } from './csv.ts';
import { looksMissing, suggestMarks, type MissingChoice } from './missing-cells.ts';

/**
 * A way to read the faulty cells of a column, either by changing the table or by a treatment of
 * missing cells.
 */
export type ColumnReading = {
  /** Describes the effect; used as the text of a button. */
  text: string;
} & ({ apply(csv: Csv): Csv } | { choice: MissingChoice });

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

/** Reads the faulty cells that match `pattern` as numbers. */
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

function asZero(
  { name, values, faults, written }: Column,
  isRead: (cell: Cell) => boolean,
): Column {
  const fixed = values.slice();
  const zeros = faults.filter(isRead);
  for (const { row } of zeros) fixed[row] = 0;
  const rest = faults.filter((cell) => !isRead(cell));
  return { name, values: fixed, faults: rest, written: [...written, ...zeros] };
}

/** Leaves these rows out; if every row is a step, the steps remain. */
function without(csv: Csv, faults: readonly Cell[]): Csv {
  return { ...csv, skipped: new Set([...csv.skipped, ...faults.map(({ row }) => row)]) };
}

/**
 * Ways to read a column, best first; empty if it needs no repair or holds nothing like a number. A
 * treatment of missing cells applies to the whole table.
 */
export function readingsOf(csv: Csv, column: Column, choice: MissingChoice): ColumnReading[] {
  const { name } = column;
  const faults = faultsOf(csv, column);
  if (faults.length === 0) return [];
  const readings: ColumnReading[] = [];
  const offer = (pattern: RegExp, read: (text: string) => number): void => {
    const example = faults.find(({ text }) => pattern.test(text));
    if (example === undefined) return;
    const text = `read “${example.text}” as ${String(read(example.text))}`;
    const apply = (one: Csv): Csv => withColumn(one, name, (c) => reread(c, pattern, read));
    readings.push({ text, apply });
  };
  offer(thousands, withoutCommas);
  offer(decimalComma, commaAsPoint);
  const isNumeric = faults.length < numRead(csv);
  if (readings.length === 0 && !isNumeric) return [];
  const isGap = ({ text }: Cell): boolean => looksMissing(text, choice);
  const gaps = faults.filter(isGap);
  if (gaps.length > 0) {
    const na = suggestMarks(gaps, choice);
    readings.push({ text: 'count missing cells as 0', choice: { missing: 'zero', na } });
    if (isNumeric) {
      readings.push({
        text: 'leave out rows with missing cells',
        choice: { missing: 'skip', na },
      });
    }
    return readings;
  }
  readings.push({
    text: `count ${faults.length === 1 ? 'it' : 'them'} as 0`,
    apply: (one) => withColumn(one, name, (c) => asZero(c, (cell) => !isGap(cell))),
  });
  if (isNumeric) {
    const rows = faults.length === 1 ? 'its row' : `their ${counted(faults.length, 'row')}`;
    readings.push({ text: `leave out ${rows}`, apply: (one) => without(one, faults) });
  }
  return readings;
}

/** Lists the cells of a column that are not numbers, with their rows. */
export function faultsText(csv: Csv, column: Column, choice: MissingChoice): string {
  const faults = faultsOf(csv, column);
  const cells = faults
    .slice(0, maxListed)
    .map(({ row, text }) => `${showCell(text)} in ${placeOf(csv, row)}`);
  const more = faults.length > maxListed ? ` and ${count(faults.length - maxListed)} more` : '';
  const areMissing = faults.every(({ text }) => looksMissing(text, choice));
  const are = faults.length === 1 ? 'is' : 'are';
  const what = areMissing ? 'missing' : faults.length === 1 ? 'not a number' : 'not numbers';
  const list = `${cells.join(', ')}${more}`;
  return `“${column.name}” is not summed: ${counted(faults.length, 'cell')} ${are} ${what}: ${list}.`;
}
