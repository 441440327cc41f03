// SPDX-License-Identifier: Apache-2.0

// --columns NAME,NAME=LOW:HIGH: numeric columns, and what is known about them without the data.

import type { ModelInput } from '../../types/all.js';
import { nameOf } from '../../shared/name.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import { shortName } from '../base/short-name.js';
import type { Args } from '../options/args.js';
import { separated } from '../options/list.js';
import { under } from '../options/option.js';

export const COLUMNS_OPTION = under('Columns', {
  columns: {
    value: 'NAME[=LOW:HIGH],...',
    repeats: true,
    meaning:
      'columns of numbers, and the range of each, known without the data. A * stands for any ' +
      "letters: '*=LOW:HIGH' are all others; the pattern with most letters wins. A name with a " +
      `comma or = needs quotes: '"a,b"=LOW:HIGH'. May be repeated. Default: all without another role`,
  },
});

/** The range of all columns that match a name or a pattern. */
export type ColumnRange = Required<ModelInput>;

/** Names and patterns of columns, and the ranges of some of them. */
interface ColumnList {
  columns: string[];
  ranges: ColumnRange[];
}

/** Advice on a range in another notation, or on a name that needs quotes; otherwise ''. */
function entryHint(text: string, entry: string): string {
  const [, name, low, high] = /^(.+)=([\d.,]+)(?:[-:;]|\.\.)([\d.,]+)$/.exec(text) ?? [];
  const written = `${name}=${[low, high].map((end) => end?.replace(',', '.')).join(':')}`;
  if (name !== undefined && written !== text) return `; write ${written}`;
  return /=.*[:\d]/.test(entry) ? '' : `; a name with a comma or = needs quotes, as in '"a=b"'`;
}

function wrongEntry(text: string, entry: string): Misuse {
  const wanted = 'NAME or NAME=LOW:HIGH with LOW < HIGH, separated by commas';
  const got = `${JSON.stringify(text)}${entryHint(text, entry)}`;
  return new Misuse(`--columns must be ${wanted}, got ${got}`);
}

/** Reads an entry of a value of --columns. */
function readEntry(entry: string, text: string): { name: string; range?: ColumnRange } {
  const quoted = /^"((?:[^"]|"")*)"(?:=(.*))?$/.exec(entry);
  const at = entry.lastIndexOf('=');
  const end = at < 0 ? entry.length : at;
  const name = nameOf(quoted ? quoted[1]!.replaceAll('""', '"') : entry.slice(0, end));
  const bounds = quoted ? quoted[2] : at < 0 ? undefined : entry.slice(at + 1);
  if (name === '') throw wrongEntry(text, entry);
  if (bounds === undefined) return { name };
  const [low, high, more] = bounds.split(':').map((part) => parseNumber(part.trim()));
  const isRange = low !== undefined && high !== undefined && low < high && more === undefined;
  if (!isRange || bounds.split(':').length > 2) throw wrongEntry(text, entry);
  if (!Number.isFinite(high - low))
    throw new Misuse(`--columns ${entry} is wider than a number can be`);
  return { name, range: { name, low, high } };
}

/** Reads the columns in the given order; an empty list means all columns. */
export function readColumns(args: Args): ColumnList {
  const entries = args
    .texts('columns')
    .flatMap((text) => separated(text).map((entry) => readEntry(entry, text)));
  const columns = entries.map(({ name }) => name);
  const twice = columns.find((name, i) => columns.indexOf(name) < i);
  if (twice !== undefined) throw new Misuse(`column ${JSON.stringify(twice)} is given twice`);
  return {
    columns,
    ranges: entries.flatMap(({ range }) => range ?? []),
  };
}

/** Reads the columns of a command that takes no ranges. */
export function readNames(args: Args): string[] {
  const { columns, ranges } = readColumns(args);
  const [range] = ranges;
  if (range === undefined) return columns;
  const what = '--columns must be names here, without ranges: --domain has the values';
  throw new Misuse(`${what}, got ${JSON.stringify(entryText(range))}`);
}

/** A range as written in --columns. */
export function entryText({ name, low, high }: ColumnRange): string {
  const quoted = /[,="]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;
  return `${quoted}=${low}:${high}`;
}

/** Whether a feature's name matches a pattern in which * stands for any characters. */
export function matches(pattern: string, feature: string): boolean {
  const [first, ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === feature;
  const last = rest.pop()!;
  if (!feature.startsWith(first!)) return false;
  let at = first!.length;
  for (const part of rest) {
    const found = feature.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return feature.length - last.length >= at && feature.endsWith(last);
}

/**
 * The range given for a feature's name or, failing that, for the matching pattern with the most
 * letters.
 */
function rangeOf(ranges: readonly ColumnRange[], feature: string) {
  const own = ranges.find(({ name }) => name === feature);
  if (own) return own;
  const letters = ({ name }: ModelInput) => name.replaceAll('*', '').length;
  const fitting = ranges.filter(({ name }) => matches(name, feature));
  const most = Math.max(...fitting.map(letters));
  const [best, rival] = fitting.filter((range) => letters(range) === most);
  if (rival) {
    const two = `${JSON.stringify(best!.name)} and ${JSON.stringify(rival.name)}`;
    throw new Misuse(`--columns: ${two} fit ${JSON.stringify(shortName(feature))} equally well`);
  }
  return best;
}

/** Gives each column the range stated for its name or for a pattern that matches it. */
export function inputsOf(ranges: readonly ColumnRange[], columns: readonly string[]): ModelInput[] {
  return columns.map((name) => ({ ...rangeOf(ranges, name), name }));
}

/** Range of each column; every column must have one. */
export function requireRanges(
  ranges: readonly ColumnRange[],
  columns: readonly string[],
): ColumnRange[] {
  return inputsOf(ranges, columns).map(({ name, low, high }) => {
    if (low !== undefined && high !== undefined) return { name, low, high };
    const column = JSON.stringify(shortName(name));
    const why = 'what is known of it without the data';
    throw new Misuse(`column ${column} needs a range in --columns NAME=LOW:HIGH, ${why}`);
  });
}

/** The largest absolute value in a range. */
export function reachOf({ low, high }: ColumnRange): number {
  return Math.max(-low, high);
}

/** Ranges computed from the data for columns without a given range. NOT private. */
export class SeenRanges {
  private readonly lows: number[];
  private readonly highs: number[];

  constructor(private readonly inputs: readonly ModelInput[]) {
    this.lows = inputs.map(() => Infinity);
    this.highs = inputs.map(() => -Infinity);
  }

  see(row: Float64Array): void {
    row.forEach((value, j) => {
      this.lows[j] = Math.min(this.lows[j]!, value);
      this.highs[j] = Math.max(this.highs[j]!, value);
    });
  }

  complete(): ModelInput[] {
    return this.inputs.map((input, j) => {
      const [low, high] = [this.lows[j]!, this.highs[j]!];
      const isRange = low < high && Number.isFinite(high - low);
      return input.low !== undefined || !isRange ? input : { name: input.name, low, high };
    });
  }
}
