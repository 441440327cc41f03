// SPDX-License-Identifier: Apache-2.0

// CSV as in RFC 4180, for the command and the page. A record is returned as soon as its line end
// has arrived. The parsers we looked at wait for the next byte, which would delay a release that
// could already be made.

import { parseNumber } from './number.js';

export interface CsvRecord {
  cells: string[];
  /** 1-based line on which the record begins. */
  line: number;
  /** True if the only cell is empty and has quotes, which tell it from a blank line. */
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
  /** Trims spaces around cells, also those around quotes. Default: they belong to the cell. */
  trims?: boolean;
}

/** Separators of cells, in order of preference if they occur equally often. */
export const SEPARATORS = [',', ';', '\t'] as const;
export type Separator = (typeof SEPARATORS)[number];

const QUOTE = 34;
const LF = 10;
const CR = 13;
const MAX_CELL = 1 << 20;

function isSpace(code: number): boolean {
  return code === 32 || code === 9 || code === 0xa0;
}

/** Separators found in a header before it is parsed. */
export interface SeenSeparators {
  /** The most frequent one outside of quotes; a comma if there is none. */
  most: Separator;
  /** Another one that occurs as often. */
  rival: Separator | undefined;
  /** False if the text ends before the header does and is short enough to hold a longer one. */
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
  private readonly separator: number;
  private readonly trims: boolean;

  constructor({ separator = ',', trims = false }: CsvOptions = {}) {
    this.separator = separator.charCodeAt(0);
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
        from = at; // The second of a pair stays in the cell.
        this.state = State.quoted;
      } else if (code === this.separator || code === LF || code === CR) {
        if (this.state !== State.closing) this.take(text, from, at);
        from = at + 1;
        this.endCell();
        if (code !== this.separator) records.push(this.endRecord());
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

  /** Returns the last record if the text does not end with a line end. */
  end(): CsvRecord[] {
    if (this.state === State.quoted) {
      throw new CsvFault(this.recordLine, 'a quoted cell is not closed');
    }
    if (this.state === State.start && this.cells.length === 0) return [];
    this.endCell();
    return [this.endRecord()];
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
    const record = {
      cells: this.cells,
      line: this.recordLine,
      ...(isQuoted && { isQuoted }),
    };
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

/** Matches what a spreadsheet may run as a formula; full-width signs count where they are typed. */
const FORMULA = /^[\t\r\n]|^\s*[=+\-@\uff1d\uff0b\uff0d\uff20]/;

/**
 * Writes a name or a category that others may have chosen: one that a spreadsheet would run as a
 * formula follows an apostrophe, which makes it text. Numbers stay as they are.
 */
export function csvCell(text: string): string {
  const isFormula = FORMULA.test(text) && parseNumber(text) === undefined;
  return quotedCell(isFormula ? `'${text}` : text);
}
