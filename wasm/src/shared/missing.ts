// SPDX-License-Identifier: Apache-2.0

// Which cells of a table are missing, for the command and the page: those that are empty, and those
// that hold a text which the user lists. Texts that often stand for a missing value are suggested,
// and never taken for one.

/** The list that is suggested for a cell which holds one of its texts. */
export const SUGGESTED = ['NA', 'NaN', 'null', '-'];
/** Other texts for a missing value. */
const OTHERS = ['N/A', 'n/a', 'na', 'nan', 'NULL', 'None', 'none', '--', '?', '.', '#N/A'];

/** Returns the list of texts to suggest for a cell that looks missing; undefined for other cells. */
export function listFor(cell: string): readonly string[] | undefined {
  const text = cell.trim();
  return [SUGGESTED, OTHERS].find((list) => list.includes(text));
}

/** True if a cell is empty or holds one of the texts. */
export function isMissing(cell: string, texts: readonly string[] = []): boolean {
  const text = cell.trim();
  return text === '' || texts.includes(text);
}
