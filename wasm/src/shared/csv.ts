// SPDX-License-Identifier: Apache-2.0

// CSV as in RFC 4180, for the command and the page. A record is returned as soon as its line end
// has arrived. Other parsers wait for the next byte, which would delay a release that could already
// be made.

import { parseNumber } from './number.js';

export interface CsvRecord {
  cells: string[];
  /** 1-based line on which the record begins. */
  line: number;
  /** True if the only cell is empty and quoted, unlike a blank line. */
  isQuoted?: true;
}

/** Error in a text that is not valid CSV. */
export class CsvFault extends Error {
  constructor(
    /** 1-based line. */
    readonly line: number,
    what: string,
  ) {
    super(`line ${line}: ${what}`);
  }
}

export interface CsvOptions {
  /** One character. Default: a comma. */
  separator?: string;
  /**
   * Trims spaces around cells, including spaces around quotes. Default: spaces belong to the cell.
   */
  trims?: boolean;
}

/** Separators of cells; if several occur equally often, the first is preferred. */
export const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

const QUOTE = 34;
const LF = 10;
const CR = 13;
const MAX_CELL = 1 << 20;

/** Index of the first occurrence of `wanted` from a position on; Infinity if there is none. */
function indexFrom(text: string, wanted: string, from: number): number {
  const found = text.indexOf(wanted, from);
  return found < 0 ? Infinity : found;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 9 || code === 0xa0;
}

/** Separators detected in a header before it is parsed. */
export interface SeenSeparators {
  /** The most frequent separator outside of quotes; a comma if there is none. */
  most: Separator;
  /** Another separator that occurs equally often. */
  rival: Separator | undefined;
  /**
   * False if the text ends before the header does and is not longer than a cell may be, so that
   * more text should be read.
   */
  isComplete: boolean;
}

/** Counts the separators of the first record of a text. */
export function seenSeparators(text: string): SeenSeparators {
  const counts = SEPARATORS.map(() => 0);
  let isQuoted = false;
  let at = 0;
  for (; at < text.length; ++at) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isQuoted = !isQuoted;
    if (isQuoted) continue;
    if (code === LF || code === CR) break;
    const place = SEPARATORS.findIndex((separator) => separator.charCodeAt(0) === code);
    if (place >= 0) ++counts[place]!;
  }
  const greatest = Math.max(...counts);
  const [most = SEPARATORS[0], rival] =
    greatest === 0 ? [] : SEPARATORS.filter((_, i) => counts[i] === greatest);
  return { most, rival, isComplete: at < text.length || text.length > MAX_CELL };
}

/** Position of the parser within a cell. */
const enum State {
  start,
  plain,
  quoted,
  /** Just after a quote in a quoted cell: it ends the cell, or is the first of a pair. */
  closing,
}

export class CsvParser {
  private state = State.start;
  private cell = '';
  private cells: string[] = [];
  private line = 1;
  private recordLine = 1;
  private afterCr = false;
  private first = true;
  private isQuoted = false;
  private readonly separator: string;
  private readonly trims: boolean;

  constructor({ separator = ',', trims = false }: CsvOptions = {}) {
    this.separator = separator;
    this.trims = trims;
  }

  /** Parses a piece of text and returns the records it completes. */
  push(text: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    let at = 0;
    if (this.first && text.length > 0) {
      this.first = false;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    const hasCr = text.includes('\r');
    if (this.state === State.start && this.cells.length === 0) {
      at = this.pushPlain(text, { from: at, hasCr }, records);
    }
    const separator = this.separator.charCodeAt(0);
    let from = at; // Start of the part of the cell that is not yet in `this.cell`.
    for (; at < text.length; ++at) {
      const code = text.charCodeAt(at);
      const wasCr = this.afterCr;
      this.afterCr = code === CR;
      if (code === LF && wasCr && this.state !== State.quoted) {
        from = at + 1; // Second half of a CR LF whose record is complete.
        continue;
      }
      if (code === CR || (code === LF && !wasCr)) ++this.line;
      if (this.state === State.quoted) {
        if (code === QUOTE) {
          this.take(text, from, at);
          this.state = State.closing;
        }
      } else if (this.state === State.closing && code === QUOTE) {
        from = at; // The second quote of a pair stays in the cell.
        this.state = State.quoted;
      } else if (code === separator || code === LF || code === CR) {
        if (this.state !== State.closing) this.take(text, from, at);
        from = at + 1;
        this.endCell();
        if (code === separator) continue;
        records.push(this.endRecord());
        from = this.pushPlain(text, { from, hasCr }, records);
        at = from - 1;
      } else if (this.trims && this.state !== State.plain && isSpace(code)) {
        from = at + 1;
      } else if (this.state === State.start) {
        if (code === QUOTE) from = at + 1;
        this.state = code === QUOTE ? State.quoted : State.plain;
      } else if (this.state === State.closing) {
        throw new CsvFault(this.line, 'text after the closing quote of a cell');
      } else if (code === QUOTE) {
        throw new CsvFault(this.line, 'a quote inside a cell that does not begin with one');
      }
    }
    if (this.state !== State.closing) this.take(text, from, at);
    return records;
  }

  end(): CsvRecord[] {
    if (this.state === State.quoted) {
      throw new CsvFault(this.recordLine, 'a quoted cell is not closed');
    }
    if (this.state === State.start && this.cells.length === 0) return [];
    this.endCell();
    return [this.endRecord()];
  }

  /**
   * Between two records, splits the complete lines before the first quote, where cells are exactly
   * the texts between separators. Returns the start of the rest.
   */
  private pushPlain(
    text: string,
    { from, hasCr }: { from: number; hasCr: boolean },
    records: CsvRecord[],
  ): number {
    if (this.trims) return from;
    const quote = text.indexOf('"', from);
    const end = text.lastIndexOf('\n', quote < 0 ? text.length : quote) + 1;
    if (end <= from || end - from > MAX_CELL) return from;
    const isRest = this.afterCr && text.charCodeAt(from) === LF;
    const plain = text.slice(isRest ? from + 1 : from, end);
    const lines = hasCr ? plain.replace(/\r\n?/g, '\n') : plain;
    let comma = -1;
    for (let at = 0, next: number; at < lines.length; at = next) {
      const lineEnd = lines.indexOf('\n', at);
      next = lineEnd + 1;
      const cells: string[] = [];
      for (;;) {
        if (comma < at) comma = indexFrom(lines, this.separator, at);
        if (comma > lineEnd) break;
        cells.push(lines.slice(at, comma));
        at = comma + 1;
      }
      cells.push(lines.slice(at, lineEnd));
      records.push({ cells, line: this.line++ });
    }
    this.recordLine = this.line;
    this.afterCr = false;
    return end;
  }

  private take(text: string, from: number, to: number): void {
    if (to > from) this.cell += text.slice(from, to);
    if (this.cell.length > MAX_CELL) {
      const what = `a cell of more than ${MAX_CELL} characters; a missing quote?`;
      throw new CsvFault(this.recordLine, what);
    }
  }

  private endCell(): void {
    const isPlain = this.state === State.plain;
    this.isQuoted = this.state === State.closing;
    this.cells.push(this.trims && isPlain ? this.cell.trimEnd() : this.cell);
    this.cell = '';
    this.state = State.start;
  }

  private endRecord(): CsvRecord {
    const isQuoted = this.isQuoted && this.cells.length === 1 && this.cells[0] === '';
    const { cells, recordLine: line } = this;
    const record: CsvRecord = isQuoted ? { cells, line, isQuoted } : { cells, line };
    this.cells = [];
    this.recordLine = this.line;
    return record;
  }
}

/** True if a record is a blank line. */
export function isBlank({ cells, isQuoted }: CsvRecord): boolean {
  return cells.length === 1 && !isQuoted && cells[0]!.trim() === '';
}

/** Writes a cell as RFC 4180 does: a parser returns the same text. */
export function quotedCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Matches texts that a spreadsheet may run as a formula; some accept full-width signs. */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

/**
 * Writes a name or category that others may have chosen: if a spreadsheet would run it as a
 * formula, a leading apostrophe makes it text. Numbers stay as they are.
 */
export function csvCell(text: string): string {
  const isFormula = FORMULA.test(text) && parseNumber(text) === undefined;
  return quotedCell(isFormula ? `'${text}` : text);
}
