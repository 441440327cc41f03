// SPDX-License-Identifier: Apache-2.0

// --workload: a named workload with its parameters, or a file of numbers without a header;
// --workloads: several workloads, each with a name.

import type { Workload } from '../../types/all.js';
import { counted } from '../../shared/counted.js';
import { nameOf } from '../../shared/name.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { isBlank, type CsvRecord } from '../../shared/csv.js';
import { csvRecords } from './records.js';
import { openInput } from './input.js';
import type { Args } from '../options/args.js';
import { separated } from '../options/list.js';
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
  ...WORKLOAD_OPTION,
  ...under('Workload', {
    workloads: {
      value: 'NAME=A,...',
      repeats: true,
      file: 'workload',
      meaning:
        'several sums of the same rows, which share their noise and the budget, by names of your ' +
        'choice: week=window:7,total=prefix, where : and + stand for the = and , of ' +
        '--workload. May be repeated',
      brief: 'several sums, one budget: week=window:7,total=prefix',
    },
    importance: {
      value: '1,4,...',
      meaning:
        'with --workloads: the weight of the squared error of each in the mean that is ' +
        'minimised. Default: equal',
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

/** The workload that a text names; undefined if the text must be the name of a file. */
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

/** The workload as written in the option; for a file, only `rates` or `matrix`. */
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
      this.blank ??= line; // A blank line is allowed only at the end.
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
export function shapeText(rows: readonly number[][]): string {
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

/** Workloads, and the names of their sums; workloads from --workload have no names. */
interface WorkloadOptions {
  texts: string[];
  names: string[] | undefined;
}

/** Reads an entry of --workloads, in which `:` and `+` stand for `=` and `,`. */
function readEntry(entry: string): { name: string; text: string } {
  const [, name, value] = /^(\p{L}[\p{L}\p{N}_.-]*)=(.+)$/u.exec(entry) ?? [];
  if (name !== undefined && value !== undefined) {
    const text = value.replaceAll(
      /(^|\+)(window|momentum|decay):/g,
      (_, plus, word) => `${plus && ','}${word}=`,
    );
    return { name: nameOf(name), text: text.replaceAll('"', '') };
  }
  const wanted = 'NAME=A separated by commas, such as week=window:7,total=prefix';
  throw new Misuse(`--workloads must be ${wanted}, got ${JSON.stringify(entry)}`);
}

/** A workload as written in --workloads. */
export function entryText(name: string, workload: Workload): string {
  return `${name}=${workloadText(workload).replaceAll('=', ':').replaceAll(',', '+')}`;
}

/**
 * Reads the workloads of --workload or --workloads. Rejects malformed workloads before any file is
 * read; files are checked later, against the horizon.
 */
export function readWorkloadOptions(args: Args): WorkloadOptions {
  const texts = args.texts('workload');
  const entries = args.texts('workloads').flatMap(separated).map(readEntry);
  if (texts.length > 0 && entries.length > 0) {
    throw new Misuse('give --workload or --workloads, not both');
  }
  const names = entries.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new Misuse(`--workloads has the name ${twice} twice`);
  const asked = entries.length === 0 ? texts : entries.map(({ text }) => text);
  asked.forEach(parseNamed);
  return { texts: asked, names: entries.length === 0 ? undefined : names };
}

/** Reads --importance, one positive number per workload. */
export function readImportance(args: Args): number[] | undefined {
  const weights = args.numbers('importance');
  if (weights === undefined) return undefined;
  const { names } = readWorkloadOptions(args);
  if (!names) throw new Misuse('--importance needs --workloads to weigh');
  if (weights.length !== names.length) {
    const wanted = `${counted(names.length, 'number')}, one for each of --workloads`;
    throw new Misuse(`--importance must be ${wanted}, got ${weights.length}`);
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
