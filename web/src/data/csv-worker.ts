// SPDX-License-Identifier: Apache-2.0

// Parses a CSV off the main thread: takes bytes or text, and returns columns.

import { FIRST_BYTES, kindOfFile, NOT_UTF_8 } from '../../../wasm/src/shared/file-kind.ts';
import { CsvError, csvInPieces, RaggedError, type Csv, type ParseOptions } from './csv.ts';

export interface CsvRequest {
  csv: ArrayBuffer | string;
  /** Name of the file, for messages. */
  name: string;
  options: ParseOptions;
}

export type CsvAnswer =
  | { csv: 'progress'; share: number }
  | { csv: 'done'; value: Csv }
  | { csv: 'refused'; message: string; numRagged: number };

/** Milliseconds between two reports. */
const interval = 50;

/** Decodes and parses; awaits `pause` after each report. */
export async function readCsv(
  { csv, name, options }: CsvRequest,
  report: (share: number) => void,
  pause: () => Promise<void>,
): Promise<Csv> {
  const pieces = csvInPieces(typeof csv === 'string' ? csv : decode(csv, name), options);
  let last = performance.now();
  for (;;) {
    const piece = pieces.next();
    if (piece.done) return piece.value;
    if (performance.now() - last < interval) continue;
    report(piece.value);
    await pause();
    last = performance.now();
  }
}

function decode(bytes: ArrayBuffer, name: string): string {
  const kind = kindOfFile(new Uint8Array(bytes, 0, Math.min(FIRST_BYTES, bytes.byteLength)));
  if (kind !== undefined) throw new CsvError(`${name} ${kind}`);
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new CsvError(`${name} ${NOT_UTF_8}`);
  }
}

interface CsvWorkerScope {
  addEventListener(type: 'message', listener: (event: MessageEvent) => void): void;
  postMessage(message: CsvAnswer, transfer?: Transferable[]): void;
}

/** Answers requests in the scope of a worker. */
export function serveCsv(): void {
  const scope = globalThis as unknown as CsvWorkerScope;
  scope.addEventListener('message', async ({ data }) => {
    const request = data as CsvRequest | undefined;
    if (request?.csv === undefined) return;
    const report = (share: number): void => scope.postMessage({ csv: 'progress', share });
    try {
      const value = await readCsv(request, report, async () => {});
      const buffers = value.columns.map(({ values }) => values.buffer as ArrayBuffer);
      scope.postMessage({ csv: 'done', value }, buffers);
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      const numRagged = error instanceof RaggedError ? error.numRows : 0;
      scope.postMessage({ csv: 'refused', message: error.message, numRagged });
    }
  });
}
