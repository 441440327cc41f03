// SPDX-License-Identifier: Apache-2.0

// --budget: what all releases of a data set have spent together.
//
// Each release is mu-GDP for its own mu, and all of them together for the root of the sum of
// squares (Dong, Roth, Su, 1905.02383, corollary 3.3), also when later ones are chosen after seeing
// earlier ones. That holds for one kind of neighbours, so a budget protects one unit only.

import { open, readFile, rename, unlink } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { DpFtrl, Neighbours } from '../types.js';
import type { Args, Known } from './args.js';
import { Misuse } from './failure.js';

export const BUDGET_OPTIONS: Known = {
  budget: 'value',
  'budget-epsilon': 'value',
  'budget-delta': 'value',
};

const FORMAT = 'dp-ftrl budget 1';

interface Entry {
  when: string;
  mu: number;
  epsilon: number;
  delta: number;
  mechanism: string;
  numSteps: number;
  columns: string[];
  /** Of a release of several runs: the identity of its state, which tells keys apart. */
  state?: string;
}

interface Ledger {
  format: typeof FORMAT;
  limit: { epsilon: number; delta: number };
  neighbours: Neighbours;
  /** Whose part in the data the limit protects, in words. */
  unit: string;
  /** Of all releases together. */
  spent: { mu: number; epsilon: number };
  releases: Entry[];
}

export interface Spending extends Omit<Entry, 'when' | 'mu'> {
  /** null of releases that are not mu-GDP for any mu: they are refused. */
  mu: number | null;
  neighbours: Neighbours;
  unit: string;
}

/** Root of the sum of squares, never below it; of one mu that mu. */
function composed(mus: readonly number[]): number {
  if (mus.length === 1) return mus[0]!;
  const sum = mus.reduce((total, mu) => total + mu * mu, 0);
  return Math.sqrt(sum) * (1 + (mus.length + 4) * Number.EPSILON);
}

function isPositive(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0;
}

function parseLedger(path: string, text: string): Ledger {
  const bad = (what: string) => new Misuse(`--budget ${path}: ${what}`);
  let ledger: Partial<Ledger> | null;
  try {
    ledger = JSON.parse(text) as Partial<Ledger> | null;
  } catch {
    throw bad('it is not JSON');
  }
  if (ledger?.format !== FORMAT) throw bad(`its format is not "${FORMAT}"`);
  const { limit, releases, unit, neighbours } = ledger;
  if (!isPositive(limit?.epsilon) || !isPositive(limit.delta) || !(limit.delta < 1)) {
    throw bad('its limit is not an epsilon > 0 and a delta between 0 and 1');
  }
  if (!Array.isArray(releases) || !releases.every((entry) => isPositive(entry?.mu))) {
    throw bad('a release in it has no mu > 0');
  }
  if (typeof unit !== 'string' || typeof neighbours !== 'string') {
    throw bad('it does not say what it protects');
  }
  return ledger as Ledger;
}

/** The file at a path; undefined where there is none. */
async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Error(`--budget ${path}: ${message}`, { cause: error });
  }
}

/** Replaces the file by a whole new one that has reached the disk. */
async function replace(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  const file = await open(temporary, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(temporary, path);
  const folder = await open(dirname(path), 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Runs `use` while nobody else changes the file. */
async function locked(path: string, use: () => Promise<void>): Promise<void> {
  const lock = `${path}.lock`;
  try {
    await (await open(lock, 'wx')).close();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') {
      const hint = `remove ${lock} if no other dp-ftrl is running`;
      throw new Error(`--budget ${path}: another release is using it; ${hint}`, { cause: error });
    }
    if (code === 'ENOENT') throw new Misuse(`--budget ${path}: the folder does not exist`);
    throw new Error(`--budget ${path}: ${message}`, { cause: error });
  }
  try {
    await use();
  } finally {
    await unlink(lock);
  }
}

export class Budget {
  private constructor(
    private readonly path: string,
    private readonly limit: { epsilon: number; delta: number } | undefined,
  ) {}

  static read(args: Args): Budget | undefined {
    const path = args.text('budget');
    const epsilon = args.positive('budget-epsilon');
    const delta = args.probability('budget-delta');
    if (path === undefined) {
      const stray = ['budget-epsilon', 'budget-delta'].find((name) => args.has(name));
      if (stray !== undefined) throw new Misuse(`--${stray} needs --budget`);
      return undefined;
    }
    const hidden = ['seed', 'show-nonprivate'].find((name) => args.has(name));
    if (hidden !== undefined) {
      throw new Misuse(`--budget counts private releases: it does not go with --${hidden}`);
    }
    if ((epsilon === undefined) !== (delta === undefined)) {
      throw new Misuse('give --budget-epsilon and --budget-delta together');
    }
    return new Budget(path, epsilon === undefined ? undefined : { epsilon, delta: delta! });
  }

  /**
   * Writes the release down, before its first number is written: a crash may waste budget, never
   * spend it unseen. Refuses what would exceed the limit.
   */
  async spend(dp: DpFtrl, spending: Spending): Promise<void> {
    const { neighbours, unit, mu: own, ...entry } = spending;
    if (own === null) {
      const what = 'adds up Gaussian DP, which --mode lattice has with --lattice-noise';
      throw new Misuse(`--budget ${what} rounded-gaussian only`);
    }
    await locked(this.path, async () => {
      const ledger = await this.open({ neighbours, unit });
      const { state } = entry;
      const isWritten = ledger.releases.some((it) => it.state === state && it.mu === own);
      if (state !== undefined && isWritten) return;
      const mu = composed([...ledger.releases.map((it) => it.mu), own]);
      const { delta } = ledger.limit;
      const { epsilon } = dp.calibrate({ mu, delta });
      if (mu > dp.calibrate(ledger.limit).mu) {
        const after = `(${epsilon.toPrecision(6)}, ${delta})`;
        const limit = `(${ledger.limit.epsilon}, ${delta})`;
        const what = `with this release all ${ledger.releases.length + 1} would spend ${after}`;
        const message = `${what}, beyond the limit ${limit} of ${this.path}`;
        throw new Misuse(message, { code: 'budget_exceeded' });
      }
      ledger.releases.push({ when: new Date().toISOString(), mu: own, ...entry });
      ledger.spent = { mu, epsilon };
      await replace(this.path, `${JSON.stringify(ledger, null, 2)}\n`);
    });
  }

  private async open(wanted: { neighbours: Neighbours; unit: string }): Promise<Ledger> {
    const text = await readText(this.path);
    if (text === undefined) {
      if (this.limit === undefined) {
        const how = 'to begin one give --budget-epsilon and --budget-delta';
        throw new Misuse(`--budget: there is no file ${this.path}; ${how}`);
      }
      const spent = { mu: 0, epsilon: 0 };
      return { format: FORMAT, limit: this.limit, ...wanted, spent, releases: [] };
    }
    const ledger = parseLedger(this.path, text);
    const { epsilon, delta } = this.limit ?? ledger.limit;
    if (epsilon !== ledger.limit.epsilon || delta !== ledger.limit.delta) {
      const limit = `(${ledger.limit.epsilon}, ${ledger.limit.delta})`;
      throw new Misuse(`--budget ${this.path} has the limit ${limit}, which is not changed here`);
    }
    for (const name of ['neighbours', 'unit'] as const) {
      if (ledger[name] === wanted[name]) continue;
      const got = `it is for ${name} ${JSON.stringify(ledger[name])}`;
      const what = `this release protects ${JSON.stringify(wanted[name])}`;
      throw new Misuse(`--budget ${this.path}: ${got}, ${what}; they do not add up`);
    }
    return ledger;
  }
}
