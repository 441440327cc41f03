// SPDX-License-Identifier: Apache-2.0

// Parses the bytes of the input into records.

import { given } from '../../core/given.js';
import { CsvFault, CsvParser, type CsvRecord } from '../../shared/csv.js';
import {
  FIRST_BYTES,
  JSON_TEXTS,
  kindOfFile,
  kindOfMarkup,
  kindOfText,
  NOT_UTF_8,
} from '../../shared/file-kind.js';
import { joined } from '../../shared/joined.js';
import { Misuse } from '../base/failure.js';
import type { Delimiter } from './delimiter.js';
import type { TableFormat } from './format.js';
import { JsonLines, type TableRecord } from './json-lines.js';

/** Matches the beginning of other kinds of files: markup, scripts, PDF. */
const OTHER_KIND = /^\uFEFF?\s*(<[!?a-z]|#!|%PDF)/i;

/** Calls `read`, and turns errors about malformed CSV into Misuse. */
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

/** Refuses a file that is not UTF-8 text, judging by its first bytes. */
function requireText(first: Uint8Array): void {
  const kind = kindOfFile(first);
  if (kind !== undefined) throw new Misuse(`the input ${kind}`, { code: 'other_format' });
}

/** The format of a text, and advice for a text that should be CSV but is JSON. */
export type RecordFormat = { kind: 'csv'; ifJson?: string } | { kind: 'jsonl' };

/**
 * Refuses text that begins like JSON if CSV is expected, and JSON that is not one object per line.
 */
function requireFormat(beginning: string, expected: RecordFormat): void {
  const markup = kindOfMarkup(beginning);
  if (markup !== undefined) throw new Misuse(`the input ${markup}`, { code: 'other_format' });
  const json = kindOfText(beginning);
  const how = expected.kind === 'csv' ? (expected.ifJson ?? 'write it as CSV') : undefined;
  if (json === undefined || (json === 'lines' && how === undefined)) return;
  const isRead = expected.kind === 'jsonl' || expected.ifJson !== undefined;
  const what = json !== 'lines' && isRead ? JSON_TEXTS[json] : `is JSON, not CSV: ${how}`;
  throw new Misuse(`the input ${what}`, { code: 'other_format' });
}

/** Decodes a stream of bytes chunk by chunk; the last chunk of text may be empty. */
export async function* textOf(
  bytes: AsyncIterable<Uint8Array>,
  expected: RecordFormat,
): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decode = (piece?: Uint8Array) => {
    try {
      return piece ? decoder.decode(piece, { stream: true }) : decoder.decode();
    } catch {
      throw new Misuse(`the input ${NOT_UTF_8}`, { code: 'not_utf8' });
    }
  };
  let first = new Uint8Array();
  let beginning = '';
  for await (const piece of bytes) {
    if (first.length < FIRST_BYTES) {
      first = joined([first, piece.subarray(0, FIRST_BYTES - first.length)]);
      requireText(first);
    }
    const text = decode(piece);
    if (beginning.length < FIRST_BYTES) {
      beginning += text.slice(0, FIRST_BYTES);
      requireFormat(beginning, expected);
    }
    yield text;
  }
  yield decode();
}

function parserOf(delimiter: Delimiter, text: string, isWhole: boolean): CsvParser | undefined {
  const separator = delimiter.of(text, isWhole);
  return separator === undefined ? undefined : new CsvParser({ separator });
}

/**
 * Yields the records of a stream of bytes; the records that a chunk completes are yielded together.
 *
 * @param delimiter  default: a comma.
 * @param ifJson  advice for bytes that are JSON, if the command can read JSON.
 */
export async function* csvRecords(
  bytes: AsyncIterable<Uint8Array>,
  { delimiter, ifJson }: { delimiter?: Delimiter; ifJson?: string } = {},
): AsyncGenerator<CsvRecord[]> {
  let parser = delimiter ? undefined : new CsvParser();
  let waiting = '';
  let isOther: boolean | undefined;
  for await (const text of textOf(bytes, { kind: 'csv', ...given({ ifJson }) })) {
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
  for await (const text of textOf(bytes, { kind: 'jsonl' })) yield* all(lines.push(text));
  yield* all(lines.end());
}

/** Yields the records of a table, chunk by chunk; the first record names the columns. */
export function tableRecords(
  bytes: AsyncIterable<Uint8Array>,
  format: TableFormat,
): AsyncGenerator<TableRecord[]> {
  return format.kind === 'csv' ? csvRecords(bytes, format) : jsonRecords(bytes);
}
