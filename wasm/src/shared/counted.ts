// SPDX-License-Identifier: Apache-2.0

// Numbers with their nouns, for the command and the page.

/** The noun after a number: `row` after 1, else `rows`. */
export function nounAfter(count: number, noun: string, plural = `${noun}s`): string {
  return count === 1 ? noun : plural;
}

/** The noun for a time or a row with its article: `a day`, `an hour`. */
export function withArticle(noun: string): string {
  return `${noun === 'hour' ? 'an' : 'a'} ${noun}`;
}

/** A number with its noun: `1 row`, `2 rows`. */
export function counted(count: number, noun: string, plural?: string): string {
  return `${count} ${nounAfter(count, noun, plural)}`;
}
