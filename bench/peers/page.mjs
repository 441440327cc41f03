// SPDX-License-Identifier: Apache-2.0

// Reads and replaces the tables of PEERS.md. A section has at most one, and its heading names it.

import { fileURLToPath } from 'node:url';

export const page = fileURLToPath(new URL('../PEERS.md', import.meta.url));

const TABLE = /^## (.+)\n((?:(?!## |\|).*\n)*)((?:\|.*\n)+)/gm;

/** Tables of a text: heading -> rows of cells, without the head. */
export function tablesOf(text) {
  const cellsOf = (line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim());
  const rowsOf = (table) => table.trimEnd().split('\n').slice(2).map(cellsOf);
  return new Map(Array.from(text.matchAll(TABLE), ([, title, , table]) => [title, rowsOf(table)]));
}

/** Breaks words into lines of at most 100 letters. */
const wrap = (words) => words.replace(/(.{1,100})(?: |$)/g, '$1\n');

/**
 * Returns the page with the tables that compare.py printed and, if it printed all, with its machine.
 *
 * @param printed  the machine in the first line, then tables under headings
 * @throws Error   if the page has no table of such a heading
 */
export function withPrinted(text, printed) {
  const fresh = new Map(
    Array.from(printed.matchAll(TABLE), ([, title, , table]) => [title, table]),
  );
  const known = tablesOf(text);
  for (const title of fresh.keys()) {
    if (!known.has(title)) throw new Error(`bench/PEERS.md has no table under '${title}'`);
  }
  const replaced = text.replace(
    TABLE,
    (_, title, prose, table) => `## ${title}\n${prose}${fresh.get(title) ?? table}`,
  );
  if (fresh.size < known.size) return replaced;
  const machine = wrap(`${printed.slice(0, printed.indexOf('\n'))}.`);
  return replaced.replace(/^\d{4}-\d\d-\d\d, .*\n(?:.+\n)*/m, () => machine);
}
