// SPDX-License-Identifier: Apache-2.0

// --workload: a named workload with its numbers, or a file of numbers without a header.

import { parse } from 'node:path';
import type { Workload } from '../../types/all.js';
import { counted } from '../../shared/counted.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { isBlank, type CsvRecord } from '../../shared/csv.js';
import { csvRecords } from './records.js';
import { openInput } from './input.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';

export const WORKLOAD_OPTION = under('Workload', {
  workload: {
    value: 'A',
    file: 'workload',
    meaning:
      'prefix (default), momentum=B[,decay=A], window=W, or a CSV file of numbers without a ' +
      'header: a column of learning rates (FILE,momentum=B for rates with momentum), or a square ' +
      'lower-triangular matrix',
    brief: 'prefix (default), window=W, momentum=B[,decay=A], or a CSV file',
  },
});

export const WORKLOADS_OPTIONS = {
  workload: { ...WORKLOAD_OPTION.workload, repeats: true },
  ...under('Workload', {
    importance: {
      value: '1,4,...',
      meaning:
        'with several --workload: weights of their squared errors in the mean that is minimised, ' +
        'one for each. Default: equal',
    },
  }),
};

const WANTED =
  'prefix, window=W, momentum=B, momentum=B,decay=A, a CSV file of numbers, or FILE,momentum=B with a file of rates';

function wrong(text: string): never {
  if (text.startsWith('window=')) {
    const what = 'window=W, a whole number of steps: of rows, or with --bucket day of days';
    throw new Misuse(`--workload must be ${what}, got ${JSON.stringify(text)}`);
  }
  throw new Misuse(`--workload must be ${WANTED}, got ${JSON.stringify(text)}`);
}

/** The width of a window, if it is an integer. */
function windowIn(text: string): number | undefined {
  const sliding = /^window=(.*)$/.exec(text);
  const window = sliding ? parseNumber(sliding[1]!) : undefined;
  return Number.isSafeInteger(window) ? window : undefined;
}

/** Returns a named workload, or undefined if the text must be the name of a file. */
function parseNamed(text: string): Workload | undefined {
  if (text === 'prefix') return text;
  const average = /^momentum=([^,]*)(?:,decay=([^,]*))?$/.exec(text);
  if (average) {
    const momentum = parseNumber(average[1]!);
    const decay = parseNumber(average[2] ?? '1');
    if (momentum !== undefined && decay !== undefined) return { momentum, decay };
  }
  const window = windowIn(text);
  if (window !== undefined) return { window };
  return text === '' || text === '-' || /^\w+=/.test(text) ? wrong(text) : undefined;
}

/** The workload as written in the option; for a file, only whether it holds rates or a matrix. */
export function workloadText(workload: Workload): string {
  if (typeof workload === 'string') return workload;
  if ('window' in workload) return `window=${workload.window}`;
  if (!('rates' in workload || 'matrix' in workload)) {
    const { momentum = 0, decay = 1 } = workload as { momentum?: number; decay?: number };
    return `momentum=${momentum},decay=${decay}`;
  }
  return Object.keys(workload)[0]!;
}

class NumberReader {
  readonly rows: number[][] = [];
  private blank: number | undefined;

  add(record: CsvRecord): void {
    const { cells, line } = record;
    if (isBlank(record)) {
      this.blank ??= line; // Allowed only at the end.
      return;
    }
    if (this.blank !== undefined) throw new Misuse(`line ${this.blank} is blank`);
    const width = this.rows[0]?.length ?? cells.length;
    if (cells.length !== width) {
      throw new Misuse(`line ${line} has ${counted(cells.length, 'cell')}, the first has ${width}`);
    }
    this.rows.push(cells.map((cell, j) => this.number(cell.trim(), line, j + 1)));
  }

  private number(text: string, line: number, cell: number): number {
    const value = parseNumber(text);
    if (value !== undefined) return value;
    const got = JSON.stringify(text.slice(0, 40));
    const what = text === '' ? 'is missing' : `is not a number: ${got}`;
    throw new Misuse(`line ${line}, cell ${cell} ${what}`);
  }
}

/** Reads the rows of the CSV file of numbers that an option names. */
export async function readNumbers(path: string, option = 'workload'): Promise<number[][]> {
  const reader = new NumberReader();
  try {
    for await (const records of csvRecords(await openInput([path]))) {
      records.forEach((record) => reader.add(record));
    }
  } catch (error) {
    if (error instanceof Misuse) throw new Misuse(`--${option} ${path}: ${error.message}`);
    throw error;
  }
  return reader.rows;
}

/** `1 row and 3 columns` */
function shapeText(rows: readonly number[][]): string {
  return `${counted(rows.length, 'row')} and ${counted(rows[0]?.length ?? 0, 'column')}`;
}

async function readFile(path: string, steps: number): Promise<Workload> {
  const rows = await readNumbers(path);
  const numColumns = rows[0]?.length ?? 0;
  const shape = `--workload ${path} has ${shapeText(rows)}`;
  if (numColumns !== 1 && numColumns !== rows.length) {
    throw new Misuse(`${shape}; it must be one column of learning rates, or a square matrix`);
  }
  if (rows.length !== steps) throw new Misuse(`${shape}, but --steps is ${steps}`);
  return numColumns === 1 ? { rates: rows.flat() } : { matrix: rows.flat() };
}

/** Reads `rates.csv,momentum=0.9`. */
async function readRates(path: string, momentum: number, steps: number): Promise<Workload> {
  const workload = await readFile(path, steps);
  if (typeof workload !== 'string' && 'rates' in workload) return { ...workload, momentum };
  throw new Misuse(`--workload ${path} is a matrix; momentum goes with one column of rates`);
}

async function readText(text: string, steps: number): Promise<Workload> {
  const named = parseNamed(text);
  if (named !== undefined) return named;
  const withMomentum = /^(.+),momentum=([^,]*)$/.exec(text);
  if (!withMomentum) return readFile(text, steps);
  return readRates(withMomentum[1]!, parseNumber(withMomentum[2]!) ?? wrong(text), steps);
}

export async function readWorkload(args: Args, steps: number): Promise<Workload> {
  return readText(args.text('workload') ?? 'prefix', steps);
}

/** Reads all workloads, for commands that accept several. */
export async function readWorkloads(texts: readonly string[], steps: number): Promise<Workload[]> {
  return Promise.all(texts.map((text) => readText(text, steps)));
}

/** Rejects malformed workloads before reading any file; files are checked against the horizon. */
export function requireNamedOrFile(args: Args): void {
  args.texts('workload').forEach(parseNamed);
}

/** A workload's name in column names: `prefix`, `window_7`, `decay_0.9`, `rates_momentum_0.9`. */
function nameInColumns(text: string): string {
  const named = parseNamed(text);
  const words = named === undefined ? text : workloadText(named);
  const [first, ...rest] = words.split(/,(?=momentum=|decay=)/);
  const parts = [named === undefined ? parse(first!).name : first!, ...rest];
  const told = parts.filter((part) => part !== 'momentum=0' && part !== 'decay=1');
  return (told.length === 0 ? parts : told).join('_').replaceAll('=', '_');
}

/** The names of all workloads within column names, which must differ. */
export function namesInColumns(texts: readonly string[]): string[] {
  const names = texts.map(nameInColumns);
  names.forEach((name, i) => {
    const first = names.indexOf(name);
    if (first === i) return;
    const [one, other] = [texts[first]!, texts[i]!];
    if (one === other) throw new Misuse(`--workload ${other} is given twice`);
    throw new Misuse(`--workload ${one} and --workload ${other} would both be called ${name}`);
  });
  return names;
}

/** Reads --importance, one positive number per workload. */
export function readImportance(args: Args): number[] | undefined {
  const weights = args.numbers('importance');
  if (weights === undefined) return undefined;
  const { length } = args.texts('workload');
  if (length < 2) throw new Misuse('--importance needs several --workload to weigh');
  if (weights.length !== length) {
    throw new Misuse(
      `--importance must be ${length} numbers, one per --workload, got ${weights.length}`,
    );
  }
  if (weights.some((weight) => !(weight > 0))) {
    throw new Misuse(
      `--importance must be positive numbers, got ${JSON.stringify(args.text('importance'))}`,
    );
  }
  return weights;
}

/** Reads --query-weights, one positive number per step. */
export async function readQueryWeights(args: Args, steps: number): Promise<number[] | undefined> {
  const path = args.text('query-weights');
  if (path === undefined) return undefined;
  const rows = await readNumbers(path, 'query-weights');
  if (rows.length === steps && rows[0]!.length === 1) return rows.flat();
  const wanted = `one column of ${counted(steps, 'weight')}`;
  throw new Misuse(`--query-weights ${path} must be ${wanted}, has ${shapeText(rows)}`);
}
