// SPDX-License-Identifier: Apache-2.0

// The column of a statistic and what is public about it: the range of its numbers, or the
// categories of its texts. Neither is ever derived from the records. Also the sums that are
// released together.

import { isRange } from '../../../wasm/src/shared/categories.ts';
import { nameOf } from '../../../wasm/src/shared/name.ts';
import { parseNumber } from '../../../wasm/src/shared/number.ts';
import type { Roles } from './contributions.ts';
import { suggestColumns, type Csv } from './csv.ts';

/** Category that collects all other names. */
export const otherCategory = 'other';
/** Largest number of categories with a chart, including the category for all others. */
export const maxCategories = 6;

/** Largest horizon of a statistic; the readings of more steps would fill the memory of the page. */
export const maxStatisticSteps = 20_000;

export interface StatisticChoice {
  /** Column of numbers whose mean and spread are released; '' if there is none. */
  measured: string;
  /** Lowest and highest value, "0:90"; '' if not given. */
  range: string;
  /** Column of texts whose counts are released; '' if there is none. */
  category: string;
  /** Categories separated by commas, without the category for all others; '' if not given. */
  domain: string;
  /** Sums that are released together, "total,window=30,decay=0.98"; '' if not given. */
  together: string;
}

/** Public facts about a table that comes with the page. */
export type KnownTable = Omit<StatisticChoice, 'together'>;

export interface StatisticTable {
  csv: Csv;
  choice: StatisticChoice;
}

export type Range = readonly [low: number, high: number];

/** Reads "low:high"; null if the text is not a range. */
export function readRange(text: string): Range | null {
  const ends = text.split(':').map((part) => parseNumber(part.trim()) ?? NaN);
  const [low, high] = ends as [number, number];
  return ends.length === 2 && low < high && Number.isFinite(high - low) ? [low, high] : null;
}

/**
 * Splits names at commas; null if there are too many names, if a name is missing or repeated, or if
 * the text is meant as a range.
 */
export function readDomain(text: string): string[] | null {
  const names = text.split(',').map(nameOf);
  const isFull = names.length < maxCategories && names.every((name) => name !== '');
  return isFull && !isRange(names) && new Set([...names, otherCategory]).size === names.length + 1
    ? names
    : null;
}

/** A kind of sum of the records so far, given by the weights of older records. */
export interface SumKind {
  workload: 'total' | 'window' | 'decay' | 'momentum';
  /** Number of steps in the window, or the factor; 0 for a total. */
  value: number;
}

/** Reads a text such as "window=30"; null if it names no sum. */
function readSum(text: string): SumKind | null {
  if (text === 'total') return { workload: 'total', value: 0 };
  const [workload, number, ...rest] = text.split('=').map((part) => part.trim());
  const value = parseNumber(number ?? '') ?? NaN;
  if (rest.length > 0) return null;
  if (workload === 'window')
    return Number.isSafeInteger(value) && value > 0 ? { workload, value } : null;
  return (workload === 'decay' || workload === 'momentum') && value > 0 && value < 1
    ? { workload, value }
    : null;
}

/** Splits sums at commas; null if one is unreadable or repeated, or if there are 1 or too many. */
export function readTogether(text: string): SumKind[] | null {
  const kinds = text.split(',').flatMap((part) => readSum(part.trim()) ?? []);
  const isFull =
    kinds.length === text.split(',').length && kinds.length > 1 && kinds.length <= maxCategories;
  return isFull && new Set(kinds.map((kind) => Object.values(kind).join())).size === kinds.length
    ? kinds
    : null;
}

/** Suggests a text column that is neither the time nor the person of a row; '' if there is none. */
function suggestCategory(csv: Csv, { time, person }: Roles): string {
  const isText = ({ name, faults }: Csv['columns'][number]): boolean =>
    faults.length === csv.numRows && name !== time && name !== person;
  return csv.columns.find(isText)?.name ?? '';
}

/** Error for a statistic that first needs another setting, named in the message. */
export class Wanting extends Error {}

/** The choices, which may be incomplete, with the columns that are summed. */
type StatisticSettings = StatisticChoice &
  Roles & { columns: readonly string[]; window: number; decay: number };

/** Completes the user's choices with what is known about a table that comes with the page. */
export function choiceOf(chosen: StatisticSettings, csv: Csv, known?: KnownTable): StatisticChoice {
  const measured =
    chosen.measured ||
    (known?.measured ??
      chosen.columns[0] ??
      suggestColumns(csv, [chosen.person, chosen.time])[0] ??
      '');
  const category = chosen.category || (known?.category ?? suggestCategory(csv, chosen));
  return {
    measured,
    range: chosen.range || (measured === known?.measured ? known.range : ''),
    category,
    domain: chosen.domain || (category === known?.category ? known.domain : ''),
    together: chosen.together || `total,window=${chosen.window},decay=${chosen.decay}`,
  };
}
