// SPDX-License-Identifier: Apache-2.0

// The file of --budget: a limit, its split into shares, and every release charged to a share.

import { checksumOf } from '../../shared/checksum.js';
import type { Budget } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import { doubledKey } from '../base/json.js';
import {
  ACCOUNTS,
  type AccountName,
  type BudgetCharge,
  type Share,
  type BudgetSplit,
} from './composition.js';

const FORMAT = 'dp-ftrl budget 3';
/** Formats of earlier versions, whose files do not split the limit. */
const EARLIER = /^dp-ftrl budget [12]$/;

/** A release, with its cost under the name of the share that pays for it. */
export interface BudgetEntry extends BudgetCharge {
  when: string;
  epsilon: number;
  delta: number;
  mechanism: string;
  numSteps: number;
  columns: string[];
  /**
   * Identity of the state, for a release over several runs; a different key gives a different
   * identity.
   */
  state?: string;
  /** Number of steps known to be released, for a release over several runs. */
  step?: number;
  /** Mark of the last run of the state (state-runs.ts). */
  run?: string;
}

export interface BudgetFile extends BudgetSplit {
  format: typeof FORMAT;
  neighbours: string;
  /** Privacy unit that the limit protects, in words. */
  unit: string;
  /** Total of each share, and (epsilon, delta) of all releases together. */
  spent: { pure: number; mu?: number; rho?: number; epsilon: number; delta: number };
  releases: BudgetEntry[];
}

export function newFile(about: BudgetSplit & Pick<BudgetFile, 'neighbours' | 'unit'>): BudgetFile {
  const { account, limit, pure, neighbours, unit } = about;
  const spent = { pure: 0, [account]: 0, epsilon: 0, delta: 0 };
  return { format: FORMAT, account, limit, pure, neighbours, unit, spent, releases: [] };
}

const isText = (value: unknown) => typeof value === 'string';
const isNumber = (value: unknown) => typeof value === 'number' && value >= 0;
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0;

/** Checks of the fields of a release other than its cost. */
const ENTRY_FIELDS: { [name in Exclude<keyof BudgetEntry, Share>]-?: (value: unknown) => boolean } =
  {
    when: isText,
    epsilon: isNumber,
    delta: isNumber,
    mechanism: isText,
    numSteps: isCount,
    columns: (value) => Array.isArray(value) && value.every(isText),
    state: isText,
    step: isCount,
    run: isText,
  };

const FIELDS: { [name in keyof BudgetFile | 'checksum']-?: readonly string[] } = {
  ...{ format: [], neighbours: [], unit: [], account: [], pure: [], checksum: [] },
  limit: ['epsilon', 'delta'],
  spent: ['pure', ...ACCOUNTS, 'epsilon', 'delta'],
  releases: ['pure', ...ACCOUNTS, ...Object.keys(ENTRY_FIELDS)],
};

/** Finds a field that a budget file must not have. */
function unknownField(given: object): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(FIELDS, name)) return name;
    const known = FIELDS[name as keyof typeof FIELDS];
    for (const each of known.length === 0 ? [] : [value].flat()) {
      const stray = Object.keys(Object(each)).find((key) => !known.includes(key));
      if (stray !== undefined) return stray;
    }
  }
  return undefined;
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function isAccount(value: unknown): value is AccountName {
  return (ACCOUNTS as readonly unknown[]).includes(value);
}

/** Total of each share, and the guarantee of all releases together. */
export function totalsOf({ account, spent }: Budget): BudgetFile['spent'] {
  const { pure, total, epsilon, delta } = spent;
  return { pure, [account]: total, epsilon, delta };
}

function checksum(file: BudgetFile): string {
  return checksumOf(new TextEncoder().encode(JSON.stringify(file)));
}

/** Text of a budget file, with a checksum that reveals accidental changes. */
export function fileText(file: BudgetFile): string {
  return `${JSON.stringify({ ...file, checksum: checksum(file) }, null, 2)}\n`;
}

export function parseFile(path: string, text: string): BudgetFile {
  const bad = (what: string) => new Misuse(`--budget ${path}: ${what}`);
  let given: (Partial<Omit<BudgetFile, 'format'>> & { format?: string; checksum?: string }) | null;
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
  const twice = doubledKey(text);
  if (twice !== undefined) throw bad(`it has ${JSON.stringify(twice)} twice`);
  const stray = unknownField(given);
  if (stray !== undefined) throw bad(`${JSON.stringify(stray)} is not a field of a budget`);
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
  const isPaid = (entry: BudgetEntry | null) => {
    const costs = ['pure', ...ACCOUNTS].filter((share) => entry?.[share as Share] !== undefined);
    return costs.length === 1 && shares.some((share) => isPositive(entry?.[share]));
  };
  if (!Array.isArray(releases) || !releases.every(isPaid)) {
    throw bad(`a release in it has not one cost, ${shares.join(' or ')} > 0`);
  }
  if (!releases.every((entry) => entry.pure === undefined || entry.delta === 0)) {
    throw bad('a release in it with a delta is not pure');
  }
  for (const [name, isFit] of Object.entries(ENTRY_FIELDS)) {
    const isOptional = ['state', 'step', 'run'].includes(name);
    const isGood = (value: unknown) => (isOptional && value === undefined) || isFit(value);
    if (!releases.every((entry) => isGood(entry[name as keyof BudgetEntry])))
      throw bad(`a release in it has no fitting "${name}"`);
  }
  const totals: unknown[] = Object.values(given.spent ?? {});
  if (totals.length === 0 || !totals.every(isNumber)) throw bad('it does not say what is spent');
  if (typeof unit !== 'string' || typeof neighbours !== 'string') {
    throw bad('it does not say what it protects');
  }
  const { checksum: written, ...content } = given;
  if (written === checksum(content as BudgetFile)) return content as BudgetFile;
  throw bad('it was damaged or edited, as its checksum says; restore a copy of it');
}
