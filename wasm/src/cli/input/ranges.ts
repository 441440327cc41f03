// SPDX-License-Identifier: Apache-2.0

// --range NAME=LOW:HIGH: what is known of a feature without looking at the data.

import type { ModelInput } from '../../types/all.js';
import { parseNumber } from '../../shared/number.js';
import { Misuse } from '../failure.js';
import type { Args } from '../options/args.js';
import { unknownColumn } from './header.js';

function parseRange(text: string): Required<ModelInput> {
  const match = /^(.+)=([^=:]+):([^=:]+)$/.exec(text);
  const [low, high] = [match?.[2], match?.[3]].map((part) => parseNumber(part?.trim() ?? ''));
  const isRange = low !== undefined && high !== undefined && low < high;
  if (!match || !isRange || !Number.isFinite(high - low)) {
    throw new Misuse(`--range must be NAME=LOW:HIGH with LOW < HIGH, got ${JSON.stringify(text)}`);
  }
  return { name: match[1]!, low, high };
}

/** Name in --range that stands for every feature without a range of its own. */
const OTHERS = '*';

/** The features, each with the range that was stated for it or for all that have none. */
export function readInputs(args: Args, features: readonly string[]): ModelInput[] {
  const ranges = args.texts('range').map(parseRange);
  ranges.forEach(({ name }, i) => {
    const isKnown = name === OTHERS || features.includes(name);
    if (!isKnown) throw unknownColumn('feature in --range', name, features);
    if (ranges.findIndex((range) => range.name === name) < i) {
      throw new Misuse(`--range is given twice for ${JSON.stringify(name)}`);
    }
  });
  const others = ranges.find((range) => range.name === OTHERS);
  return features.map((name) => {
    const own = ranges.find((range) => range.name === name);
    return own ?? (others ? { ...others, name } : { name });
  });
}

/** Ranges that are read from the data, for those that were not stated. NOT private. */
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
