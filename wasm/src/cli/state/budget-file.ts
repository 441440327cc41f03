// SPDX-License-Identifier: Apache-2.0

// The file of --budget: a limit, its split into shares, and every release charged to one of them.

import type { Budget } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { ACCOUNTS, type Account, type Paid, type Share, type Split } from './composition.js';

const FORMAT = 'dp-ftrl budget 3';
/** Formats of earlier versions, whose files had no split. */
const EARLIER = /^dp-ftrl budget [12]$/;

/** A release, and its cost under the name of the share that pays it. */
export interface Entry extends Paid {
  when: string;
  epsilon: number;
  delta: number;
  mechanism: string;
  numSteps: number;
  columns: string[];
  /** Identity of the state of a release over several runs, which distinguishes keys. */
  state?: string;
  /** Known number of released steps of such a release. */
  step?: number;
  /** Mark of its last run (state-runs.ts). */
  run?: string;
}

export interface BudgetFile extends Split {
  format: typeof FORMAT;
  neighbours: string;
  /** Privacy unit that the limit protects, in words. */
  unit: string;
  /** Total of each share, and the (epsilon, delta) of all releases together. */
  spent: { pure: number; mu?: number; rho?: number; epsilon: number; delta: number };
  releases: Entry[];
}

export function newFile(about: Split & Pick<BudgetFile, 'neighbours' | 'unit'>): BudgetFile {
  const { account, limit, pure, neighbours, unit } = about;
  const spent = { pure: 0, [account]: 0, epsilon: 0, delta: 0 };
  return { format: FORMAT, account, limit, pure, neighbours, unit, spent, releases: [] };
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function isAccount(value: unknown): value is Account {
  return (ACCOUNTS as readonly unknown[]).includes(value);
}

/** Returns the total of each share, and what all releases guarantee together. */
export function totalsOf({ account, spent }: Budget): BudgetFile['spent'] {
  const { pure, total, epsilon, delta } = spent;
  return { pure, [account]: total, epsilon, delta };
}

export function parseFile(path: string, text: string): BudgetFile {
  const bad = (what: string) => new Misuse(`--budget ${path}: ${what}`);
  let given: (Partial<Omit<BudgetFile, 'format'>> & { format?: string }) | null;
  try {
    given = JSON.parse(text) as typeof given;
  } catch {
    throw bad('it is not JSON');
  }
  if (EARLIER.test(given?.format ?? '')) {
    const how = 'begin another file, with what this one has spent taken off its limit';
    throw bad(`it is of an earlier version of dp-ftrl: ${how}`);
  }
  if (given?.format !== FORMAT) throw bad(`its format is not "${FORMAT}"`);
  const { account, pure } = given;
  if (!isAccount(account)) throw bad(`its account is not ${ACCOUNTS.join(' or ')}`);
  const { limit, releases, unit, neighbours } = given;
  if (!isPositive(limit?.epsilon) || !isPositive(limit.delta) || !(limit.delta < 1)) {
    throw bad('its limit is not an epsilon > 0 and a delta between 0 and 1');
  }
  if (pure !== 0 && !(isPositive(pure) && pure <= limit.epsilon)) {
    throw bad('its pure share is not a number from 0 to the epsilon of its limit');
  }
  const shares = pure > 0 ? (['pure', account] as const) : ([account] as const);
  const isPaid = (entry: Entry | null) => {
    const costs = ['pure', ...ACCOUNTS].filter((share) => entry?.[share as Share] !== undefined);
    return costs.length === 1 && shares.some((share) => isPositive(entry?.[share]));
  };
  if (!Array.isArray(releases) || !releases.every(isPaid)) {
    throw bad(`a release in it has not one cost, ${shares.join(' or ')} > 0`);
  }
  if (!releases.every((entry) => entry.pure === undefined || entry.delta === 0)) {
    throw bad('a release in it with a delta is not pure');
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
  return given as BudgetFile;
}
