// SPDX-License-Identifier: Apache-2.0

// Parses the bytes of the input into records.

import { CsvFault, CsvParser, type CsvRecord } from '../../shared/csv.js';
import { Misuse } from '../failure.js';
import type { Delimiter } from './delimiter.js';
import type { TableFormat } from './format.js';
import { JsonLines, type TableRecord } from './json-lines.js';

/** Matches the beginning of other kinds of files: markup, scripts, PDF. */
const OTHER_KIND = /^\uFEFF?\s*(<[!?a-z]|#!|%PDF)/i;

/** Returns the result of `read`, turning malformed CSV into a Misuse. */
function parsed(read: () => CsvRecord[], isOther: boolean): CsvRecord[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    const { message, line } = error;
    const hint = isOther ? '; this does not look like a CSV file' : '';
    throw new Misuse(`${message}${hint}`, { code: 'malformed_csv', line });
  }
}

/** Decodes a stream of bytes chunk by chunk; the last text may be empty. */
export async function* textOf(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decode = (piece?: Uint8Array) => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode();
    } catch {
      throw new Misuse('the input is not UTF-8 text', { code: 'not_utf8' });
    }
  };
  for await (const piece of bytes) yield decode(piece);
  yield decode();
}

function parserOf(delimiter: Delimiter, text: string, isWhole: boolean): CsvParser | undefined {
  const separator = delimiter.of(text, isWhole);
  return separator === undefined ? undefined : new CsvParser({ separator });
}

/**
 * Yields the records of a stream of bytes, those that each chunk completes together.
 *
 * @param delimiter  default: a comma.
 */
export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
  delimiter?: Delimiter,
): AsyncGenerator<CsvRecord[]> {
  let parser = delimiter ? undefined : new CsvParser();
  let waiting = '';
  let isOther: boolean | undefined;
  for await (const text of textOf(bytes)) {
    waiting += text;
    isOther ??= waiting === '' ? undefined : OTHER_KIND.test(waiting);
    const ready = (parser ??= parserOf(delimiter!, waiting, false));
    if (!ready) continue;
    const records = parsed(() => ready.push(waiting), isOther === true);
    waiting = '';
    if (records.length > 0) yield records;
  }
  const last = parser ?? parserOf(delimiter!, waiting, true)!;
  const rest = parsed(() => [...last.push(waiting), ...last.end()], isOther === true);
  if (rest.length > 0) yield rest;
}

async function* jsonRecords(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<TableRecord[]> {
  const lines = new JsonLines();
  /** Yields the records before a fault, then throws it. */
  async function* all(completed: Generator<TableRecord>): AsyncGenerator<TableRecord[]> {
    const records: TableRecord[] = [];
    try {
      for (const record of completed) records.push(record);
    } finally {
      if (records.length > 0) yield records;
    }
  }
  for await (const text of textOf(bytes)) yield* all(lines.push(text));
  yield* all(lines.end());
}

/** Yields the records of a table, those of each chunk together; the first names the columns. */
export function tableRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: TableFormat,
): AsyncGenerator<TableRecord[]> {
  return format.kind === 'csv' ? csvRecords(bytes, format.delimiter) : jsonRecords(bytes);
}
