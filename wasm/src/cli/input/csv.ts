// SPDX-License-Identifier: Apache-2.0

// CSV as RFC 4180 has it, in UTF-8. A record is handed out as soon as its line end has arrived,
// which the parsers we looked at do not do: they wait for the next byte, and with it a release that
// could already be made would wait too.

import { Misuse } from '../failure.js';

export interface CsvRecord {
  cells: string[];
  /** 1-based line on which the record begins. */
  line: number;
}

function malformed(line: number, what: string): Misuse {
  return new Misuse(`line ${line}: ${what}`, { code: 'malformed_csv', line });
}

const QUOTE = 34;
const COMMA = 44;
const LF = 10;
const CR = 13;
const MAX_CELL = 1 << 20;

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

  /** Takes a piece of text; returns the records it completes. */
  push(text: string): CsvRecord[] {
    const records: CsvRecord[] = [];
    let at = 0;
    if (this.first && text.length > 0) {
      this.first = false;
      if (text.charCodeAt(0) === 0xfeff) at = 1;
    }
    let from = at; // Text of the cell that is not yet in `this.cell`.
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
      } else if (code === COMMA || code === LF || code === CR) {
        if (this.state !== State.closing) this.take(text, from, at);
        from = at + 1;
        this.endCell();
        if (code !== COMMA) records.push(this.endRecord());
      } else if (this.state === State.start) {
        if (code === QUOTE) from = at + 1;
        this.state = code === QUOTE ? State.quoted : State.plain;
      } else if (this.state === State.closing) {
        throw malformed(this.line, 'text after the closing quote of a cell');
      } else if (code === QUOTE) {
        throw malformed(this.line, 'a quote inside a cell that does not begin with one');
      }
    }
    if (this.state !== State.closing) this.take(text, from, at);
    return records;
  }

  /** The last record, if the text does not end with a line end. */
  end(): CsvRecord[] {
    if (this.state === State.quoted) {
      throw malformed(this.recordLine, 'a quoted cell is not closed');
    }
    if (this.state === State.start && this.cells.length === 0) return [];
    this.endCell();
    return [this.endRecord()];
  }

  private take(text: string, from: number, to: number): void {
    if (to > from) this.cell += text.slice(from, to);
    if (this.cell.length > MAX_CELL) {
      const what = `a cell of more than ${MAX_CELL} characters; a missing quote?`;
      throw malformed(this.recordLine, what);
    }
  }

  private endCell(): void {
    this.cells.push(this.cell);
    this.cell = '';
    this.state = State.start;
  }

  private endRecord(): CsvRecord {
    const record = { cells: this.cells, line: this.recordLine };
    this.cells = [];
    this.recordLine = this.line;
    return record;
  }
}

/** Records of a stream of bytes, as many at a time as each piece completes. */
export async function* csvRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<CsvRecord[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const parser = new CsvParser();
  const decode = (piece?: Uint8Array) => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode();
    } catch {
      throw new Misuse('the input is not UTF-8 text', { code: 'not_utf8' });
    }
  };
  for await (const piece of bytes) {
    const records = parser.push(decode(piece));
    if (records.length > 0) yield records;
  }
  const rest = [...parser.push(decode()), ...parser.end()];
  if (rest.length > 0) yield rest;
}

export function isBlank(record: CsvRecord): boolean {
  return record.cells.length === 1 && record.cells[0]!.trim() === '';
}

/** A cell as RFC 4180 writes it. */
export function csvCell(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
