// SPDX-License-Identifier: Apache-2.0

// Pieces of SVG text that all plots use.

/** Size of every panel, and the margins around its contents. */
export const PANEL = { width: 470, height: 320, left: 62, right: 12, top: 44, bottom: 46 };

/** Matches characters that XML may not contain, not even escaped. */
const NO_XML = /[^\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu;

export function escape(text: string): string {
  const entities: Record<string, string> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
  };
  return text.replace(NO_XML, '\ufffd').replace(/[&<>"]/g, (letter) => entities[letter]!);
}

export const round = (value: number) => String(Number(value.toFixed(2)));

export function text(x: number, y: number, words: string, more = ''): string {
  return `<text x="${round(x)}" y="${round(y)}"${more}>${escape(words)}</text>`;
}
