// SPDX-License-Identifier: Apache-2.0

// Bytes of the input as CSV records.

import { CsvFault, CsvParser, type CsvRecord } from '../../shared/csv.js';
import { Misuse } from '../failure.js';

/** Returns what `read` returns; a text that is no CSV is a misuse. */
function parsed(read: () => CsvRecord[]): CsvRecord[] {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CsvFault)) throw error;
    const { message, line } = error;
    throw new Misuse(message, { code: 'malformed_csv', line });
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
    const records = parsed(() => parser.push(decode(piece)));
    if (records.length > 0) yield records;
  }
  const rest = parsed(() => [...parser.push(decode()), ...parser.end()]);
  if (rest.length > 0) yield rest;
}
