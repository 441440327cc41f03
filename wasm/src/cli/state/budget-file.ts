// SPDX-License-Identifier: Apache-2.0

// The file of --budget: an account, its limit, and every release charged to it.

import { Misuse } from '../failure.js';
import { ACCOUNTS, type Account } from './composition.js';

const FORMAT = 'dp-ftrl budget 2';
/** Format without an account, whose releases have a mu. Older versions refuse newer files. */
const OLDER_FORMAT = 'dp-ftrl budget 1';

export interface PrivacyTarget {
  epsilon: number;
  delta: number;
}

export interface Entry {
  when: string;
  /** The cost, under the name of the account. */
  mu?: number;
  rho?: number;
  epsilon: number;
  delta: number;
  mechanism: string;
  numSteps: number;
  columns: string[];
  /** Identity of the state of a release over several runs, which distinguishes keys. */
  state?: string;
  /** Known number of released steps of such a release; missing in older files. */
  step?: number;
  /** Mark of its last run (state-runs.ts); missing in older files. */
  run?: string;
}

export interface BudgetFile {
  format: typeof FORMAT;
  account: Account;
  limit: PrivacyTarget;
  neighbours: string;
  /** Privacy unit that the limit protects, in words. */
  unit: string;
  /** Total of all releases in the account, and its epsilon at the limit's delta. */
  spent: { mu?: number; rho?: number; epsilon: number };
  releases: Entry[];
}

export function newFile(
  about: Pick<BudgetFile, 'account' | 'limit' | 'neighbours' | 'unit'>,
): BudgetFile {
  const { account, limit, neighbours, unit } = about;
  const spent = { [account]: 0, epsilon: 0 };
  return { format: FORMAT, account, limit, neighbours, unit, spent, releases: [] };
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function isAccount(value: unknown): value is Account {
  return (ACCOUNTS as readonly unknown[]).includes(value);
}

/** Returns the cost of each release. */
export function costsOf({ account, releases }: BudgetFile): number[] {
  return releases.map((entry) => entry[account]!);
}

/** Parses a file of either format into the current one; `isOlder` tells if it was the older. */
export function parseFile(path: string, text: string): { file: BudgetFile; isOlder: boolean } {
  const bad = (what: string) => new Misuse(`--budget ${path}: ${what}`);
  let given: (Partial<Omit<BudgetFile, 'format'>> & { format?: string }) | null;
  try {
    given = JSON.parse(text) as typeof given;
  } catch {
    throw bad('it is not JSON');
  }
  const isOlder = given?.format === OLDER_FORMAT;
  if (given?.format !== FORMAT && !isOlder) {
    throw bad(`its format is not "${FORMAT}" or "${OLDER_FORMAT}"`);
  }
  const account = isOlder ? 'mu' : given!.account;
  if (!isAccount(account)) throw bad(`its account is not ${ACCOUNTS.join(' or ')}`);
  const { limit, releases, unit, neighbours } = given!;
  if (!isPositive(limit?.epsilon) || !isPositive(limit.delta) || !(limit.delta < 1)) {
    throw bad('its limit is not an epsilon > 0 and a delta between 0 and 1');
  }
  if (!Array.isArray(releases) || !releases.every((entry) => isPositive(entry?.[account]))) {
    throw bad(`a release in it has no ${account} > 0`);
  }
  if (!releases.every((entry) => entry.delta !== 0 || isPositive(entry.epsilon))) {
    throw bad('a release in it with delta 0 has no epsilon > 0');
  }
  const isStep = (step: unknown) => Number.isSafeInteger(step ?? 0) && Number(step ?? 0) >= 0;
  if (!releases.every((entry) => isStep(entry.step))) {
    throw bad('a release in it has a step that is not a count');
  }
  if (!releases.every(({ run = '' }) => typeof run === 'string')) {
    throw bad('a release in it has a run that is not a text');
  }
  if (typeof unit !== 'string' || typeof neighbours !== 'string') {
    throw bad('it does not say what it protects');
  }
  const file = { ...given, format: FORMAT, account } as BudgetFile;
  return { file, isOlder };
}
