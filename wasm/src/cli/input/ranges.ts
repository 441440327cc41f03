// SPDX-License-Identifier: Apache-2.0

// --range NAME=LOW:HIGH: range of a feature, known without looking at the data.

import type { ModelInput } from '../../types/all.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { shortName } from '../base/short-name.js';
import { unknownColumn } from './header.js';

/** Returns how to write a range that has another notation, or else ''. */
function rangeHint(text: string): string {
  const [, name, low, high] = /^(.+)=([\d.,]+)(?:[-:;]|\.\.)([\d.,]+)$/.exec(text) ?? [];
  if (name === undefined) return '';
  const written = `${name}=${[low!, high!].map((end) => end.replace(',', '.')).join(':')}`;
  return written === text ? '' : `; write ${written}`;
}

function parseRange(text: string): Range {
  const match = /^(.+)=([^=:]+):([^=:]+)$/.exec(text);
  const [low, high] = [match?.[2], match?.[3]].map((part) => parseNumber(part?.trim() ?? ''));
  const isRange = low !== undefined && high !== undefined && low < high;
  if (!match || !isRange || !Number.isFinite(high - low)) {
    const got = `${JSON.stringify(text)}${rangeHint(text)}`;
    throw new Misuse(`--range must be NAME=LOW:HIGH with LOW < HIGH, got ${got}`);
  }
  return { name: match[1]!, low, high };
}

/** Whether a feature's name matches a pattern in which a star stands for any characters. */
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

/** The range given for a feature's name, or else by the matching pattern with most letters. */
function rangeOf(ranges: readonly Range[], feature: string) {
  const own = ranges.find(({ name }) => name === feature);
  if (own) return own;
  const letters = ({ name }: ModelInput) => name.replaceAll('*', '').length;
  const fitting = ranges.filter(({ name }) => matches(name, feature));
  const most = Math.max(...fitting.map(letters));
  const [best, rival] = fitting.filter((range) => letters(range) === most);
  if (rival) {
    const two = `${JSON.stringify(best!.name)} and ${JSON.stringify(rival.name)}`;
    throw new Misuse(`--range: ${two} fit ${JSON.stringify(shortName(feature))} equally well`);
  }
  return best;
}

/** A range of the columns that a name or a pattern fits. */
export type Range = Required<ModelInput>;

export function readRanges(args: Args): Range[] {
  return args.texts('range').map(parseRange);
}

/**
 * Returns the features, each with the range given for its name or for a pattern that matches it.
 *
 * @param word  noun for a feature in messages.
 */
export function inputsOf(
  ranges: readonly Range[],
  features: readonly string[],
  word = 'feature',
): ModelInput[] {
  ranges.forEach(({ name }, i) => {
    const isKnown = features.some((feature) => feature === name || matches(name, feature));
    if (!isKnown) throw unknownColumn(`${word} in --range`, name, features);
    if (ranges.findIndex((range) => range.name === name) < i) {
      throw new Misuse(`--range is given twice for ${JSON.stringify(name)}`);
    }
  });
  return features.map((name) => ({ ...rangeOf(ranges, name), name }));
}

export function readInputs(args: Args, features: readonly string[]): ModelInput[] {
  return inputsOf(readRanges(args), features);
}

/** Returns the range of each column; every column must have one. */
export function requireRanges(ranges: readonly Range[], columns: readonly string[]): Range[] {
  return inputsOf(ranges, columns, 'column').map(({ name, low, high }) => {
    if (low !== undefined && high !== undefined) return { name, low, high };
    const column = JSON.stringify(shortName(name));
    const why = 'what is known of it without the data';
    throw new Misuse(`column ${column} needs a --range NAME=LOW:HIGH, ${why}`);
  });
}

/** The largest absolute value in a range. */
export function reachOf({ low, high }: Range): number {
  return Math.max(-low, high);
}

/** Ranges computed from the data where none is given. NOT private. */
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
