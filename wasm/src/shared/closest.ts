// SPDX-License-Identifier: Apache-2.0

/**
 * Known name closest to a misspelt name, if they differ in few letters: at most one in three, or a
 * single letter, and not in every letter.
 */
export function closest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = mostTypos(name, 3) + 1;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    const isOther = distance >= Math.max(name.length, candidate.length);
    if (!isOther && distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** True if a text equals another except for one typo per `every` letters, or for a single typo. */
export function isNear(text: string, other: string, every: number): boolean {
  return editDistance(text, other) <= mostTypos(text, every);
}

function mostTypos(text: string, every: number): number {
  return Math.max(1, Math.floor(text.length / every));
}

/**
 * Least number of letters to insert, delete, replace, or swap with the next letter (each at most
 * once).
 */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  for (let i = 1; i <= a.length; ++i) {
    const [before, row] = [rows[i - 1]!, [i]];
    for (let j = 1; j <= b.length; ++j) {
      const substitution = before[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      row[j] = Math.min(substitution, before[j]! + 1, row[j - 1]! + 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwap) row[j] = Math.min(row[j]!, rows[i - 2]![j - 2]! + 1);
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
