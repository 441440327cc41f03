// SPDX-License-Identifier: Apache-2.0

// Which rows of a person count, so that one person's part in the stream is bounded.

import type { Participation } from '../types.js';
import type { Args, Known } from './args.js';
import { Misuse } from './failure.js';

export const PEOPLE_OPTIONS: Known = { 'user-column': 'value', 'max-contributions': 'value' };

export interface People {
  /** Column that says whose row it is. */
  column: string;
  maxContributions: number;
  /** Steps between two contributions, j - i. */
  minSeparation: number;
}

export function readPeople(args: Args): People | undefined {
  const column = args.text('user-column');
  const maxContributions = args.count('max-contributions');
  if (column === undefined) {
    if (maxContributions !== undefined) throw new Misuse('--max-contributions needs --user-column');
    return undefined;
  }
  if (maxContributions === undefined) throw new Misuse('--user-column needs --max-contributions');
  const other = ['epochs', 'participations'].find((name) => args.has(name));
  if (other !== undefined) throw new Misuse(`give --user-column or --${other}, not both`);
  return { column, maxContributions, minSeparation: args.count('min-separation') ?? 1 };
}

/** The participation pattern that the bound makes sure of. */
export function participationOf({ maxContributions, minSeparation }: People): Participation {
  return maxContributions === 1 ? 'single' : { participations: maxContributions, minSeparation };
}

/**
 * The earliest contributions of each person: the first, and then each that comes at least
 * `minSeparation` steps after the last one that counted, until there are `maxContributions`. What
 * counts of one person depends on nobody else, so leaving a person out changes nothing else.
 */
export class ContributionBound {
  private readonly counted = new Map<string, { times: number; last: number }>();
  /** Rows that did not count. Not private. */
  numDropped = 0;

  constructor(private readonly people: People) {}

  /** Steps must not go back. Several rows of a person at one step are one contribution. */
  admits(person: string, step: number): boolean {
    const { maxContributions, minSeparation } = this.people;
    const before = this.counted.get(person);
    if (before === undefined) {
      this.counted.set(person, { times: 1, last: step });
      return true;
    }
    if (before.last === step) return true;
    if (before.times < maxContributions && step - before.last >= minSeparation) {
      ++before.times;
      before.last = step;
      return true;
    }
    ++this.numDropped;
    return false;
  }
}
