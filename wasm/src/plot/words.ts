// SPDX-License-Identifier: Apache-2.0

// Widths of texts. The reader's font is unknown, so the widths are those of wide fonts (DejaVu
// Sans, Verdana): a text that fits in these fits in nearly every font.

/** Default font size. */
export const FONT_SIZE = 11;

/** Widths of letters in units of the font size; the first match counts, or else OTHERS. */
const WIDTHS: readonly (readonly [RegExp, number])[] = [
  [/[\p{M}\p{Cf}]/u, 0],
  [/[ !"'(),./:;I[\\\]`fijlrt|-]/, 0.47],
  [/[a-ln-vx-z0-9$?*_{}]/, 0.64],
  [/[A-LN-VX-Z&+<=>#~^w\u2212]/, 0.84],
  [/\p{Extended_Pictographic}/u, 1.4],
];
const OTHERS = 1;

function widthOfLetter(letter: string): number {
  return WIDTHS.find(([letters]) => letters.test(letter))?.[1] ?? OTHERS;
}

/** Estimates the width of a text; hardly any text is wider. */
export function widthOf(text: string, size = FONT_SIZE): number {
  let sum = 0;
  for (const letter of text) sum += widthOfLetter(letter);
  return sum * size;
}

/** Cuts a text that would not fit. */
export function fit(text: string, room: number, size = FONT_SIZE): string {
  if (widthOf(text, size) <= room) return text;
  const letters = [...text];
  while (letters.length > 0 && widthOf(`${letters.join('')}…`, size) > room) letters.pop();
  return `${letters.join('')}…`;
}

/** Splits a word into pieces that fit. */
function broken(word: string, room: number): string[] {
  const pieces = [''];
  for (const letter of word) {
    if (widthOf(pieces.at(-1)! + letter) > room) pieces.push(letter);
    else pieces[pieces.length - 1] += letter;
  }
  return pieces;
}

/** Breaks a text into lines that fit; a word that is too long is broken as well. */
export function linesOf(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`;
    if (lines.length > 0 && widthOf(longer) <= room) lines[lines.length - 1] = longer;
    else lines.push(...broken(word, room));
  }
  return lines;
}
