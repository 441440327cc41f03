// SPDX-License-Identifier: Apache-2.0

// --budget: what all releases of a data set have spent together.
//
// How releases add up is in composition.ts. It holds for one kind of neighbours, so a budget
// protects one unit only.

import { access, constants } from 'node:fs/promises';
import { FileLock, hasCode, permissionsOf, placeOf, readText, replaceFile } from '../files.js';
import type { Permissions } from '../files.js';
import type { DpFtrl, Neighbours } from '../types.js';
import type { Args, Known } from './args.js';
import { composedMu, epsilonOf, fits, type PrivacyTarget } from './composition.js';
import { Misuse } from './failure.js';
import { shownBeyond } from './report.js';

export const BUDGET_OPTIONS: Known = {
  budget: 'value',
  'budget-epsilon': 'value',
  'budget-delta': 'value',
};

const FORMAT = 'dp-ftrl budget 1';
/** For other releases, which have the file while they write themselves down. */
const PATIENCE_MILLISECONDS = 5000;

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
  /** Of such a release: steps that are known to be released. Older files do not say. */
  step?: number;
}

interface Ledger {
  format: typeof FORMAT;
  limit: PrivacyTarget;
  neighbours: Neighbours;
  /** Whose part in the data the limit protects, in words. */
  unit: string;
  /** Of all releases together: Gaussian DP, and the least epsilon known at the limit's delta. */
  spent: { mu: number; epsilon: number };
  releases: Entry[];
}

export interface Spending extends Omit<Entry, 'when' | 'mu'> {
  /** null of releases that are not mu-GDP for any mu: they are refused. */
  mu: number | null;
  neighbours: Neighbours;
  unit: string;
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
  if (!releases.every((entry) => entry.delta !== 0 || isPositive(entry.epsilon))) {
    throw bad('a release in it with delta 0 has no epsilon > 0');
  }
  const isStep = (step: unknown) => Number.isSafeInteger(step ?? 0) && Number(step ?? 0) >= 0;
  if (!releases.every((entry) => isStep(entry.step))) {
    throw bad('a release in it has a step that is not a count');
  }
  if (typeof unit !== 'string' || typeof neighbours !== 'string') {
    throw bad('it does not say what it protects');
  }
  return ledger as Ledger;
}

/** So many steps of a state are known to be released. */
function raiseSteps(entries: readonly Entry[], step: number): void {
  for (const entry of entries) entry.step = Math.max(entry.step ?? 0, step);
}

export class Budget {
  /** Kept for the run of a state, so that a copy of it does not run at the same time. */
  private running: { state: string; lock: FileLock; step: number } | undefined;

  private constructor(
    private readonly path: string,
    private readonly limit: PrivacyTarget | undefined,
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
   * spend it unseen. Refuses what would exceed the limit, and the copy of a state that has fewer
   * steps than are known to be released; `reached` says how many are, `finish` ends the run of a
   * state. `prepare` is done before
   * something new is written down, when it is known to fit.
   */
  async spend(dp: DpFtrl, spending: Spending, prepare?: () => Promise<void>): Promise<void> {
    const { neighbours, unit, mu: own, ...entry } = spending;
    if (own === null) {
      const what = 'adds up Gaussian DP, which --mode lattice has with --lattice-noise';
      throw new Misuse(`--budget ${what} rounded-gaussian only`);
    }
    const { state, step = 0 } = entry;
    await this.change(async (place) => {
      const ledger = await this.open(place, { neighbours, unit });
      const isNew = ledger.releases.length === 0;
      const before = ledger.releases.filter((it) => state !== undefined && it.state === state);
      if (state !== undefined) {
        await this.begin(place, state, step);
        this.requireNewest(before, step);
      }
      if (before.some((it) => it.mu === own)) {
        raiseSteps(before, step);
        return ledger;
      }
      const all = [...ledger.releases, { ...entry, mu: own }];
      const { delta } = ledger.limit;
      const epsilon = epsilonOf(dp, all, delta);
      const limit = `(${ledger.limit.epsilon}, ${delta})`;
      if (!fits(dp, all, ledger.limit)) {
        const which = isNew ? 'this release' : `with this release all ${all.length}`;
        const shown = shownBeyond(epsilon, ledger.limit.epsilon);
        const what = `${which} would spend (${shown}, ${delta})`;
        const message = `${what}, beyond the limit ${limit} of ${this.path}`;
        throw new Misuse(message, { code: 'budget_exceeded' });
      }
      if (isNew) {
        const what = 'releases of the same data that it does not name are not counted';
        const began = `--budget ${this.path}: a new budget of ${limit} begins; ${what}`;
        process.stderr.write(`dp-ftrl: warning: ${began}\n`);
      }
      await prepare?.();
      ledger.releases.push({ when: new Date().toISOString(), mu: own, ...entry });
      ledger.spent = { mu: composedMu(all), epsilon };
      return ledger;
    });
  }

  /**
   * So many steps are stored, and what they release is about to be shown: an older copy of the state
   * is refused from now on.
   */
  async reached(step: number): Promise<void> {
    const { running } = this;
    if (running === undefined || step <= running.step) return;
    await this.change(async (place) => {
      const text = await readText(place);
      if (text === undefined) return undefined; // refused before it began
      const ledger = parseLedger(this.path, text);
      raiseSteps(ledger.releases.filter(({ state }) => state === running.state), step);
      return ledger;
    });
    running.step = step;
  }

  /** The run of a state is over, also where it failed: `step` steps are stored. */
  async finish(step: number): Promise<void> {
    const { running } = this;
    try {
      await this.reached(step);
    } finally {
      this.running = undefined;
      await running?.lock.release();
    }
  }

  /** Writes what `make` returns, while nobody else changes the file. */
  private async change(make: (place: string) => Promise<Ledger | undefined>): Promise<void> {
    try {
      const place = await placeOf(this.path, (got) => {
        const wanted = 'a file of one name, or the name of a new one';
        return new Misuse(`--budget ${this.path} must be ${wanted}, got ${got}`);
      });
      const lock = await FileLock.take(place, {
        patience: PATIENCE_MILLISECONDS,
        refuse: (who, path) => {
          const hint = `remove ${path} if no other dp-ftrl is running`;
          const what = `another release is using it (${who})`;
          return new Error(`--budget ${this.path}: ${what}; ${hint}`);
        },
      });
      try {
        const permissions = await this.requireWritable(place);
        const ledger = await make(place);
        const text = `${JSON.stringify(ledger, null, 2)}\n`;
        if (ledger) await replaceFile(place, text, permissions);
      } finally {
        await lock.release();
      }
    } catch (error) {
      const { syscall, message } = error as NodeJS.ErrnoException;
      if (syscall === undefined) throw error;
      if (hasCode(error, 'ENOENT')) {
        throw new Misuse(`--budget ${this.path}: the folder does not exist`);
      }
      throw new Error(`--budget ${this.path}: ${message}`, { cause: error });
    }
  }

  /** The permissions it has and keeps. Replacing asks for those of the folder only. */
  private async requireWritable(place: string): Promise<Permissions | undefined> {
    const permissions = await permissionsOf(place);
    if (!permissions) return undefined;
    const isAllowed = await access(place, constants.W_OK).then(
      () => true,
      () => false,
    );
    // Some users may write everything: they are told, too, that nobody else is meant to.
    if (isAllowed && (permissions.mode & 0o222) !== 0) return permissions;
    throw new Misuse(`--budget ${this.path} is read-only`);
  }

  private async begin(place: string, state: string, step: number): Promise<void> {
    const lock = await FileLock.take(`${place}.${state}`, {
      patience: 0,
      refuse: (who) => new Misuse(`--state: ${who} is releasing from a copy of it`),
    });
    this.running = { state, lock, step };
  }

  /** A state that has released less than is known is an old copy: its noise would come again. */
  private requireNewest(before: readonly Entry[], step: number): void {
    const known = Math.max(0, ...before.map((entry) => entry.step ?? 0));
    if (step >= known) return;
    const what = `--state is an old copy: ${step} steps are released in it`;
    const harm = 'releasing the others again for other rows would tell what differs';
    const message = `${what}, ${known} by --budget ${this.path}; ${harm}`;
    throw new Misuse(message, { code: 'bad_state' });
  }

  private async open(
    place: string,
    wanted: { neighbours: Neighbours; unit: string },
  ): Promise<Ledger> {
    const text = await readText(place);
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
