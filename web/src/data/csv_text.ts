// SPDX-License-Identifier: Apache-2.0

// A CSV text as records of cells, RFC 4180 with any one-character separator; cells are trimmed and
// blank lines left out.

/** A text that is no CSV: what is wrong, and on which line. */
export class CsvSyntaxError extends Error {}

export interface CsvRecord {
  cells: string[];
  /** 1-based line of the text on which it begins. */
  line: number;
}

/** The separator that makes most cells of the first line. */
export function separatorOf(text: string): string {
  const end = text.search(/[\r\n]/);
  const header = end < 0 ? text : text.slice(0, end);
  const counts = [',', ';', '\t'].map((c) => ({ c, n: header.split(c).length }));
  return counts.reduce((best, one) => (one.n > best.n ? one : best)).c;
}

const quote = 34;
const isBreak = (code: number): boolean => code === 10 || code === 13;
const isSpace = (code: number): boolean => code === 32 || code === 9 || code === 0xa0;

/** A cell and the place after it. */
interface Cell {
  text: string;
  end: number;
}

export class CsvReader {
  private line = 1;
  /** Characters read. */
  at: number;
  private readonly separator: number;

  constructor(private readonly text: string) {
    this.at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
    this.separator = separatorOf(text.slice(this.at)).charCodeAt(0);
  }

  /** The next record that is not blank; null at the end. */
  next(): CsvRecord | null {
    const { text } = this;
    while (this.at < text.length) {
      const { line } = this;
      const cells: string[] = [];
      for (;;) {
        const cell = this.cell();
        cells.push(cell.text);
        this.at = cell.end;
        if (this.at >= text.length || isBreak(text.charCodeAt(this.at))) break;
        this.at += 1; // The separator.
      }
      this.endLine();
      if (cells.length > 1 || cells[0] !== '') return { cells, line };
    }
    return null;
  }

  private endLine(): void {
    const { text } = this;
    if (this.at >= text.length) return;
    const isPair = text.charCodeAt(this.at) === 13 && text.charCodeAt(this.at + 1) === 10;
    this.at += isPair ? 2 : 1;
    this.line += 1;
  }

  private cell(): Cell {
    const { text, separator } = this;
    let from = this.at;
    while (isSpace(text.charCodeAt(from)) && text.charCodeAt(from) !== separator) from += 1;
    if (text.charCodeAt(from) === quote) return this.quoted(from + 1);
    let end = from;
    for (; end < text.length; ++end) {
      const code = text.charCodeAt(end);
      if (code === separator || isBreak(code)) break;
      if (code === quote) {
        throw new CsvSyntaxError(`line ${this.line} has a quote inside a cell without quotes`);
      }
    }
    return { text: text.slice(from, end).trimEnd(), end };
  }

  private quoted(from: number): Cell {
    const { text, separator, line } = this;
    let cell = '';
    let at = from;
    for (;;) {
      const end = text.indexOf('"', at);
      if (end < 0) throw new CsvSyntaxError(`the quote on line ${line} is not closed`);
      cell += text.slice(at, end);
      at = end + 1;
      if (text.charCodeAt(at) !== quote) break;
      cell += '"';
      at += 1;
    }
    this.line += cell.match(/\r\n|\r|\n/g)?.length ?? 0;
    while (isSpace(text.charCodeAt(at)) && text.charCodeAt(at) !== separator) at += 1;
    const code = text.charCodeAt(at);
    if (at < text.length && code !== separator && !isBreak(code)) {
      throw new CsvSyntaxError(`line ${this.line} has text after the closing quote of a cell`);
    }
    return { text: cell, end: at };
  }
}
