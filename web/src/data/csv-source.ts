// SPDX-License-Identifier: Apache-2.0

// Reads a file or a long text in a worker, and a short text at once.

import { startWorker } from '../base/engine.ts';
import { CsvError, parseCsv, RaggedError, type Csv, type ParseOptions } from './csv.ts';
import { readCsv, type CsvAnswer, type CsvRequest } from './csv-worker.ts';

/** Parsing a shorter text takes less time than starting a worker. */
const shortText = 200_000;

const nextTask = (): Promise<void> => new Promise((resolve) => setTimeout(resolve));

/** Calls `report` with the share read so far. @throws CsvError for a text that is not a table. */
export async function loadCsv(
  source: string | File,
  options: ParseOptions,
  report: (share: number) => void,
): Promise<Csv> {
  if (typeof source === 'string' && source.length < shortText) return parseCsv(source, options);
  const csv = typeof source === 'string' ? source : await source.arrayBuffer();
  const name = typeof source === 'string' ? 'the text' : source.name;
  const request: CsvRequest = { csv, name, options };
  let worker: Worker | null = null;
  try {
    worker = startWorker(
      () => new Worker(new URL('./csv-entry.ts', import.meta.url), { type: 'module' }),
    );
    return await ask(worker, request, report);
  } catch (error) {
    if (error instanceof CsvError) throw error;
    return readCsv(request, report, nextTask); // Without a worker, reads in slices on this thread.
  } finally {
    worker?.terminate();
  }
}

function ask(worker: Worker, request: CsvRequest, report: (share: number) => void): Promise<Csv> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<CsvAnswer>) => {
      if (data.csv === 'progress') report(data.share);
      else if (data.csv === 'done') resolve(data.value);
      else if (data.csv === 'refused') reject(refusal(data));
    };
    worker.onerror = ({ message }) => reject(new Error(message));
    worker.postMessage(request);
  });
}

const refusal = ({ message, numRagged }: { message: string; numRagged: number }): CsvError =>
  numRagged > 0 ? new RaggedError(message, numRagged) : new CsvError(message);
