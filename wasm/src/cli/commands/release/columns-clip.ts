// SPDX-License-Identifier: Apache-2.0

// Derives one clip norm for all columns from their ranges, and warns about its effect on single
// columns.

import type { ModelInput } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { shortName } from '../../base/short-name.js';
import { namesText } from '../../input/header.js';
import { reachOf } from '../../input/columns.js';
import { counted } from '../../../shared/counted.js';

/** Columns with their known ranges. */
type Ranges = readonly Required<ModelInput>[];

/** Largest supported row length; noise scaled to longer rows may not be finite. */
const LONGEST = 1e300;

/** The largest norm of a row whose values are within their ranges. */
export function longestRow(ranges: Ranges, inL1: boolean): number {
  const reaches = ranges.map(reachOf);
  const longest = inL1 ? reaches.reduce((sum, reach) => sum + reach, 0) : Math.hypot(...reaches);
  if (longest <= LONGEST) return longest;
  throw new Misuse(`--columns must allow no row that is longer than ${LONGEST}, got ${longest}`);
}

/**
 * Ratio between the largest values of two columns above which the noise for one hides the other.
 */
const UNEQUAL = 10;

/** Significant digits of lengths in messages. */
const DIGITS = 4;

function shown(length: number): string {
  return String(Number(length.toPrecision(DIGITS)));
}

/** Warns of a column whose noise is scaled to another column with a much larger range. */
function unequalNotice(ranges: Ranges): string | undefined {
  const inOrder = ranges.toSorted((one, other) => reachOf(one) - reachOf(other));
  const [least, most] = [inOrder[0]!, inOrder.at(-1)!];
  if (reachOf(most) < UNEQUAL * reachOf(least)) return undefined;
  const [small, large] = [least, most].map((range) => {
    return `${JSON.stringify(shortName(range.name))} (up to ${shown(reachOf(range))})`;
  });
  return `${small} gets the noise of ${large}: a separate run under one --budget gives it less`;
}

/** Warns that the clip norm scales down rows that are within their ranges. */
function cutNotice(
  ranges: Ranges,
  { clipNorm, inL1 }: { clipNorm: number; inL1: boolean },
): string | undefined {
  const longest = longestRow(ranges, inL1);
  if (longest <= clipNorm) return undefined;
  return `rows within the ranges of --columns may be ${shown(longest)} long; those longer than --clip ${clipNorm} are scaled down`;
}

/**
 * Warnings about columns that share a clip norm. They depend on the stated ranges, never on the
 * data.
 *
 * @param ranges  undefined if no ranges are known.
 */
export function clipNotices(
  columns: readonly string[],
  { ranges, ...clip }: { ranges: Ranges | undefined; clipNorm: number; inL1: boolean },
): string[] {
  if (ranges)
    return [cutNotice(ranges, clip), unequalNotice(ranges)].filter((it) => it !== undefined);
  if (columns.length < 2) return [];
  const which = namesText(columns) ?? counted(columns.length, 'column');
  const how = '--columns NAME=LOW:HIGH picks columns, and says how large they may be';
  return [
    `${which} share --clip ${clip.clipNorm}: a row is scaled down as a whole, and all have the same noise; ${how}`,
  ];
}
