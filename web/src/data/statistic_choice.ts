// SPDX-License-Identifier: Apache-2.0

// Which column a statistic is of, and what is public about it: the range of its numbers, or the
// categories of its texts. Neither is ever found in the records. And which sums are released together.

import { parseNumber } from '../../../wasm/src/shared/number.ts';
import type { Roles } from './contributions.ts';
import { suggestColumns, type Csv } from './csv.ts';

/** Category of everything that is in no other. */
export const otherCategory = 'other';
/** Charts of categories; the one for others is one of them. */
export const maxCategories = 6;

/** Readings of more would fill the memory of the page. */
export const maxStatisticSteps = 20_000;

export interface StatisticChoice {
  /** Column of numbers whose mean and spread are released; '' where there is none. */
  measured: string;
  /** Lowest and highest value, "0:90"; '' where nobody has said them. */
  range: string;
  /** Column of texts whose counts are released; '' where there is none. */
  category: string;
  /** Categories with commas between them, without the one for others; '' where nobody has said them. */
  domain: string;
  /** Sums that are released together, "total,window=30,decay=0.98"; '' where nobody has said them. */
  together: string;
}

/** Says what is known of a table that comes with the page. */
export type KnownTable = Omit<StatisticChoice, 'together'>;

export interface StatisticTable {
  csv: Csv;
  choice: StatisticChoice;
}

export type Range = readonly [low: number, high: number];

/** Returns the ends of "low:high", or null where the text is no range. */
export function readRange(text: string): Range | null {
  const ends = text.split(':').map((part) => parseNumber(part.trim()) ?? NaN);
  const [low, high] = ends as [number, number];
  return ends.length === 2 && low < high && Number.isFinite(high - low) ? [low, high] : null;
}

/** Returns the names between commas, or null where some are missing, twice there or too many. */
export function readDomain(text: string): string[] | null {
  const names = text.split(',').map((name) => name.trim());
  const isFull = names.length < maxCategories && names.every((name) => name !== '');
  return isFull && new Set([...names, otherCategory]).size === names.length + 1 ? names : null;
}

/** A sum of the records so far, by what is done to the older ones. */
export interface SumKind {
  workload: 'total' | 'window' | 'decay' | 'momentum';
  /** Steps of the window, or the factor; 0 for a total. */
  value: number;
}

/** Returns the kind that a text such as "window=30" says, or null. */
function readSum(text: string): SumKind | null {
  if (text === 'total') return { workload: 'total', value: 0 };
  const [workload, number, ...rest] = text.split('=').map((part) => part.trim());
  const value = parseNumber(number ?? '') ?? NaN;
  if (rest.length > 0) return null;
  if (workload === 'window') return Number.isSafeInteger(value) && value > 0 ? { workload, value } : null;
  return (workload === 'decay' || workload === 'momentum') && value > 0 && value < 1 ? { workload, value } : null;
}

/** Returns the sums between commas, or null where one cannot be read, is twice there, or has no other beside it. */
export function readTogether(text: string): SumKind[] | null {
  const kinds = text.split(',').flatMap((part) => readSum(part.trim()) ?? []);
  const isFull = kinds.length === text.split(',').length && kinds.length > 1 && kinds.length <= maxCategories;
  return isFull && new Set(kinds.map((kind) => Object.values(kind).join())).size === kinds.length ? kinds : null;
}

/** Column of texts that is neither the time nor the person of a row. */
function suggestCategory(csv: Csv, { time, person }: Roles): string {
  const isText = ({ name, faults }: Csv['columns'][number]): boolean =>
    faults.length === csv.numRows && name !== time && name !== person;
  return csv.columns.find(isText)?.name ?? '';
}

/** A statistic is wanted of which something has to be said first: the message says what. */
export class Wanting extends Error {}

/** Choices, some of them not made yet, beside the columns that are summed. */
type Chosen = StatisticChoice & Roles & { columns: readonly string[]; window: number; decay: number };

/** Returns what was chosen, and where nothing was, what is known of a table that comes with the page. */
export function choiceOf(chosen: Chosen, csv: Csv, known?: KnownTable): StatisticChoice {
  const measured = chosen.measured || (known?.measured ?? chosen.columns[0] ?? suggestColumns(csv, '')[0] ?? '');
  const category = chosen.category || (known?.category ?? suggestCategory(csv, chosen));
  return {
    measured,
    range: chosen.range || (measured === known?.measured ? known.range : ''),
    category,
    domain: chosen.domain || (category === known?.category ? known.domain : ''),
    together: chosen.together || `total,window=${chosen.window},decay=${chosen.decay}`,
  };
}
