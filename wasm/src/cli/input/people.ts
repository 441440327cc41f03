// SPDX-License-Identifier: Apache-2.0

// Options for the person of each row, and for how many rows of a person count.

import type { Participation } from '../../types/all.js';
import { Misuse } from '../failure.js';
import type { Args, Known } from '../options/args.js';

export const PEOPLE_OPTIONS: Known = { 'user-column': 'value', 'max-contributions': 'value' };

export interface People {
  /** Column that identifies the person of each row. */
  column: string;
  maxContributions: number;
  /** Least number of steps between two contributions, j - i. */
  minSeparation: number;
}

export function readPeople(args: Args): People | undefined {
  const column = args.text('user-column');
  const maxContributions = args.count('max-contributions');
  if (column === undefined) {
    if (maxContributions !== undefined) throw new Misuse('--max-contributions needs --user-column');
    return undefined;
  }
  if (maxContributions === undefined) {
    const what = 'of each person at most K rows (or buckets) count';
    const why = 'a small K leaves rows out, a large K adds noise, about in proportion';
    throw new Misuse(`--user-column needs --max-contributions K: ${what}; ${why}`);
  }
  const other = ['epochs', 'participations'].find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`give --user-column or --${other}, not both`);
  return { column, maxContributions, minSeparation: args.count('min-separation') ?? 1 };
}

/** The participation pattern that the bound enforces. */
export function participationOf({ maxContributions, minSeparation }: People): Participation {
  return maxContributions === 1 ? 'single' : { participations: maxContributions, minSeparation };
}
