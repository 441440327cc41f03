// SPDX-License-Identifier: Apache-2.0

// Tables for a terminal of 100 columns.

const WIDTH = 100;
const GAP = '  ';

export interface TableColumn {
  header: string;
  align: 'left' | 'right';
  /** Whether cells may be broken at spaces if the table is too wide. */
  wraps?: boolean;
}

/** Splits a text where lines may break; short parentheses such as `O(log n)` are not broken. */
function wordsOf(text: string): string[] {
  return text.match(/\S*\([^)]{1,6}\)\S*|\S+/g) ?? [''];
}

/** Wraps words into lines of at most `width`; a longer word gets a line of its own. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of wordsOf(text)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) {
      lines[lines.length - 1] = `${last} ${word}`;
    } else lines.push(word);
  }
  return lines;
}

/** Wraps `text` with every line indented. */
export function paragraph(text: string, indent = '', width = WIDTH): string {
  const lines = wrapWords(text, width - indent.length);
  return lines.map((line) => `${indent}${line}\n`).join('');
}

/**
 * Column widths that fit, if wrapping allows: narrows the widest columns, at most to their longest
 * words.
 */
function widthsOf(columns: readonly TableColumn[], rows: readonly string[][]): number[] {
  const longest = (texts: string[]) => Math.max(...texts.map((text) => text.length));
  const columnOf = (j: number) => [columns[j]!.header, ...rows.map((row) => row[j]!)];
  const widths = columns.map((_, j) => longest(columnOf(j)));
  const least = columns.map(({ header, wraps }, j) =>
    wraps ? longest([header, ...rows.flatMap((row) => wordsOf(row[j]!))]) : widths[j]!,
  );
  const total = () => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  while (total() > WIDTH) {
    const spare = widths.map((width, j) => (width > least[j]! ? width : 0));
    if (Math.max(...spare) === 0) break;
    --widths[spare.indexOf(Math.max(...spare))]!;
  }
  return widths;
}

export function table(columns: readonly TableColumn[], rows: readonly string[][]): string {
  const widths = widthsOf(columns, rows);
  const line = (cells: readonly string[]) =>
    columns
      .map(({ align }, j) =>
        align === 'right' ? cells[j]!.padStart(widths[j]!) : cells[j]!.padEnd(widths[j]!),
      )
      .join(GAP)
      .trimEnd();
  const lines = [line(columns.map(({ header }) => header))];
  for (const row of rows) {
    const cells = row.map((text, j) => (columns[j]!.wraps ? wrapWords(text, widths[j]!) : [text]));
    const height = Math.max(...cells.map((cell) => cell.length));
    for (let i = 0; i < height; ++i) lines.push(line(cells.map((cell) => cell[i] ?? '')));
  }
  return lines.map((each) => `${each}\n`).join('');
}
