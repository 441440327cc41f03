// SPDX-License-Identifier: Apache-2.0

// --budget: the total privacy loss of all releases of a data set.
//
// A privacy filter (docs/math/budgets.md): releases may be chosen after seeing earlier ones. Costs
// add up in two shares, fixed when the file is created: the epsilons of pure releases, and one
// account for all other releases. Costs add up only for the same neighbours and privacy unit, so a
// budget protects a single unit.

import { access, constants } from 'node:fs/promises';
import {
  FileLock,
  hasCode,
  permissionsOf,
  placeOf,
  readText,
  replaceFile,
  systemReason,
} from '../../stores/files.js';
import type { Permissions } from '../../stores/files.js';
import { refusalOf } from '../../core/errors.js';
import type {
  Budget as PackageBudget,
  Certificate,
  Charge,
  Cost,
  DpFtrl,
} from '../../types/all.js';
import type { Args } from '../options/args.js';
import { EPSILON, NOT_NEGATIVE, PROBABILITY } from '../options/numbers.js';
import { under } from '../options/option.js';
import { neighboursOf } from '../input/protection.js';
import { fileText, newFile, parseFile, totalsOf } from './budget-file.js';
import type { BudgetFile, BudgetEntry } from './budget-file.js';
import { ACCOUNTS, budgetOf, type AccountName, type PrivacyLimit } from './composition.js';
import type { Share, BudgetSplit } from './composition.js';
import { addNote, Misuse } from '../base/failure.js';
import { shownBeyond } from '../output/report.js';
import { drawMark, type PaidState } from './state-runs.js';
import { counted } from '../../shared/counted.js';

export const BUDGET_OPTIONS = under('Budget', {
  budget: {
    value: 'FILE',
    file: 'kept',
    meaning:
      'ledger of all releases of a data set, which together stay within its limit; one that ' +
      'would exceed it is refused. It refuses older copies of a --state, too',
  },
  'budget-epsilon': {
    value: 'E',
    number: EPSILON,
    meaning: 'epsilon of the limit of a new FILE; goes with --budget-delta',
  },
  'budget-delta': {
    value: 'D',
    number: PROBABILITY,
    meaning: 'delta of the limit of a new FILE; goes with --budget-epsilon',
  },
  'budget-account': {
    value: 'A',
    values: ACCOUNTS,
    meaning:
      'what a new FILE adds up: mu (default; Gaussian DP) or rho (zero-concentrated DP; ' +
      'accepts discrete Gaussian noise, and has room for more pure releases)',
  },
  'budget-pure': {
    value: 'P',
    number: NOT_NEGATIVE,
    meaning:
      'the part of epsilon that a new FILE keeps for pure releases, whose epsilons add up in ' +
      'it. Default: all of it if the first release is pure, else 0, and pure releases count ' +
      'in the account',
  },
});

/** Maximum time to wait for other releases, which lock the file while they are recorded. */
const PATIENCE_MILLISECONDS = 5000;
const DEFAULT_ACCOUNT: AccountName = 'mu';

export interface Spending extends Omit<BudgetEntry, 'when' | Share | 'state' | 'step' | 'run'> {
  cost: Cost;
  /** Neighbours in words; see `neighboursOf`. */
  neighbours: string;
  unit: string;
}

/** Spending of a release, from the certificate of its stream. */
export function spendingOf(
  certificate: Certificate,
  { mechanism, columns, unit }: Pick<Spending, 'mechanism' | 'columns' | 'unit'>,
): Spending {
  const { epsilon, delta, numSteps } = certificate;
  const neighbours = neighboursOf(certificate);
  return { cost: certificate, epsilon, delta, neighbours, mechanism, numSteps, columns, unit };
}

/** Settings for a new file; an existing file must have the same settings. */
interface BudgetRequest {
  limit: PrivacyLimit | undefined;
  account: AccountName | undefined;
  pure: number | undefined;
}

/** Privacy unit of a release, and whether it is pure. */
type ReleaseUnit = Pick<Spending, 'neighbours' | 'unit'> & { isPure: boolean };

function pair({ epsilon, delta }: { epsilon: number | string; delta: number }): string {
  return `(${epsilon}, ${delta})`;
}

/** Records that at least `step` steps of a state are released. */
function raiseSteps(entries: readonly BudgetEntry[], step: number): void {
  for (const entry of entries) entry.step = Math.max(entry.step ?? 0, step);
}

export class SharedBudget {
  /** Lock held while a state runs, so that a copy of it cannot run at the same time. */
  private running: { state: string; lock: FileLock; step: number } | undefined;
  /** Whether this run has written an entry, or continues an earlier entry. */
  isCharged = false;

  private constructor(
    private readonly path: string,
    private readonly wanted: BudgetRequest,
    private readonly quiet: boolean,
  ) {}

  static read(args: Args): SharedBudget | undefined {
    const path = args.text('budget');
    const epsilon = args.number('budget-epsilon');
    const delta = args.number('budget-delta');
    const account = args.has('budget-account')
      ? args.oneOf('budget-account', ACCOUNTS, DEFAULT_ACCOUNT)
      : undefined;
    const pure = args.number('budget-pure');
    if (path === undefined) {
      const stray = Object.keys(BUDGET_OPTIONS).find((name) => args.has(name));
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
    if (pure !== undefined && epsilon !== undefined && pure > epsilon) {
      throw new Misuse(`--budget-pure must be at most --budget-epsilon ${epsilon}, got ${pure}`);
    }
    const limit = epsilon === undefined ? undefined : { epsilon, delta: delta! };
    return new SharedBudget(path, { limit, account, pure }, args.has('quiet'));
  }

  /**
   * Records the release before its first number is written, so that a crash may waste budget but
   * never spend it unrecorded. The record is never struck out again, because a later failure may
   * depend on noise. Refuses a release that would exceed the limit, and an old copy of a state: a
   * copy with fewer steps than are known to be released, or made before the last run began. During
   * the run of a state, `reached` records the released steps; `finish` ends the run.
   */
  async spend(dp: DpFtrl, spending: Spending, state?: PaidState): Promise<void> {
    const { neighbours, unit, cost, ...about } = spending;
    await this.change(async (place) => {
      const isPure = about.delta === 0;
      const file = await this.open(place, { neighbours, unit, isPure });
      const { releases } = file;
      const before = releases.filter((it) => state !== undefined && it.state === state.identity);
      if (state) {
        await this.begin(place, state);
        this.requireNewest(before, state);
      }
      if (before.length > 0) {
        const own = this.charge(budgetOf(dp, file, []), file, cost);
        if (before.some((it) => it[own.part] === own.cost)) {
          await this.mark(before, state!);
          return file;
        }
      }
      const entry = this.enter(dp, file, { cost, about });
      this.tell(file);
      if (before.length === 0 && state && state.numReleased > 0) {
        const what = `--state has released ${counted(state.numReleased, 'step')}`;
        const where = `that --budget ${this.path} does not list`;
        const how = 'name the budget from the first run on';
        const harm = 'all of it is charged, but choices made from them are not bounded';
        this.warn(`${what} ${where}: ${harm}; ${how}`);
      }
      if (state) {
        entry.state = state.identity;
        await this.mark([...before, entry], state);
      }
      return file;
    });
    this.isCharged = true;
  }

  /**
   * Says what would be spent after a release, without charging it. Refuses a release that would
   * exceed the limit.
   */
  async quote(dp: DpFtrl, spending: Spending): Promise<string> {
    const { neighbours, unit, cost, ...about } = spending;
    const file = await this.open(this.path, { neighbours, unit, isPure: about.delta === 0 });
    this.enter(dp, file, { cost, about });
    const { length } = file.releases;
    const verb = length === 1 ? 'release would spend' : 'releases would spend';
    return `--budget ${this.path}: ${length} ${verb} ${this.spent(file)}`;
  }

  /** Charges a release, and adds it to the list in the file. */
  private enter(
    dp: DpFtrl,
    file: BudgetFile,
    { cost, about }: { cost: Cost; about: Omit<Spending, 'neighbours' | 'unit' | 'cost'> },
  ): BudgetEntry {
    const budget = budgetOf(dp, file, file.releases);
    const paid = this.charge(budget, file, cost);
    const entry: BudgetEntry = { when: new Date().toISOString(), [paid.part]: paid.cost, ...about };
    file.releases.push(entry);
    file.spent = totalsOf(budget);
    return entry;
  }

  /** Says how much of the limit is spent. */
  private spent({ spent: { epsilon, delta }, limit }: BudgetFile): string {
    // Hides the rounding errors of sums of decimals.
    const all = pair({ epsilon: shownBeyond(epsilon * (1 - 2 ** -49), 0), delta });
    return `${all} of ${pair(limit)} together`;
  }

  /**
   * If the release was charged, adds to the error that ends the run a note that it stays charged.
   */
  noteCharge(error: unknown): void {
    if (!this.isCharged || !(error instanceof Error)) return;
    const why = 'what fails after the first noise may depend on it';
    addNote(error, `--budget ${this.path} stays charged, as ${why}`);
  }

  /**
   * Draws a mark for this run of a state, and stores it in the state before it is stored in the
   * budget file.
   */
  private async mark(entries: readonly BudgetEntry[], state: PaidState): Promise<void> {
    const last = drawMark();
    await state.begin({ last, before: entries.find(({ run }) => run !== undefined)?.run });
    raiseSteps(entries, state.numReleased);
    for (const entry of entries) entry.run = last;
  }

  /** Charges a release, and returns the charge. Refuses a release that does not fit. */
  private charge(budget: PackageBudget, { account, limit, pure }: BudgetFile, cost: Cost): Charge {
    try {
      budget.charge('', cost);
      return budget.charges.at(-1)!;
    } catch (error) {
      const { code } = error as { code?: unknown };
      if (code === 'unsupported') {
        const what = 'which cannot count discrete Gaussian noise';
        const how =
          'give --lattice-noise rounded-gaussian or begin a file with --budget-account rho';
        throw new Misuse(`--budget ${this.path} has the account mu, ${what}: ${how} for both`);
      }
      if (code !== 'budget_spent') throw error;
      const { constraint, value } = refusalOf(error);
      const beside = pure > 0 ? `, beside its --budget-pure ${pure}` : '';
      const which = `limit ${pair(limit)}, account ${account}${beside}`;
      const text = `this release ${constraint}, got ${value} (${which})`;
      throw new Misuse(`--budget ${this.path}: ${text}`, { code });
    }
  }

  /** Warns that a new file begins, or reports what is spent. */
  private tell(file: BudgetFile): void {
    const { releases } = file;
    if (releases.length === 1) {
      const what = 'releases of the same data that it does not list are not counted';
      const began = `a new budget of ${pair(file.limit)} begins, ${this.splitText(file)}; ${what}`;
      this.warn(`--budget ${this.path}: ${began}`);
      return;
    }
    if (this.quiet) return;
    const what = `${releases.length} releases spend ${this.spent(file)}`;
    process.stderr.write(`dp-ftrl: --budget ${this.path}: ${what}\n`);
  }

  private splitText({ account, limit, pure }: BudgetSplit): string {
    if (pure === 0) return `account ${account}`;
    if (pure < limit.epsilon) return `epsilon ${pure} of it for pure releases, account ${account}`;
    return 'all of it for pure releases (a smaller --budget-pure leaves some for others)';
  }

  private warn(text: string): void {
    process.stderr.write(`dp-ftrl: warning: ${text}\n`);
  }

  /**
   * Records that `step` steps are stored, before their releases are shown. From then on, older
   * copies of the state are refused.
   */
  async reached(step: number): Promise<void> {
    const { running } = this;
    if (running === undefined || step <= running.step) return;
    await this.change(async (place) => {
      const text = await readText(place);
      if (text === undefined) return undefined; // Refused before the file existed.
      const file = parseFile(this.path, text);
      raiseSteps(
        file.releases.filter(({ state }) => state === running.state),
        step,
      );
      return file;
    });
    running.step = step;
  }

  /** Ends the run of a state, even a failed one, with `step` steps stored. */
  async finish(step: number): Promise<void> {
    const { running } = this;
    try {
      await this.reached(step);
    } finally {
      this.running = undefined;
      await running?.lock.release();
    }
  }

  /** Writes the file that `make` returns, under a lock against other processes. */
  private async change(make: (place: string) => Promise<BudgetFile | undefined>): Promise<void> {
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
        const file = await make(place);
        if (file) await replaceFile(place, fileText(file), permissions);
      } finally {
        await lock.release();
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) {
        throw new Misuse(`--budget ${this.path}: the folder does not exist`);
      }
      const what = `--budget ${this.path} could not be written: ${systemReason(error)}`;
      throw new Error(what, { cause: error });
    }
  }

  /**
   * The permissions of the file, which must be writable: replacing a file would check only the
   * permissions of its folder.
   */
  private async requireWritable(place: string): Promise<Permissions | undefined> {
    const permissions = await permissionsOf(place);
    if (!permissions) return undefined;
    const isAllowed = await access(place, constants.W_OK).then(
      () => true,
      () => false,
    );
    // Also refuses a read-only file for users such as root, who may write any file.
    if (isAllowed && (permissions.mode & 0o222) !== 0) return permissions;
    throw new Misuse(`--budget ${this.path} is read-only`);
  }

  private async begin(place: string, state: PaidState): Promise<void> {
    const { identity, numReleased: step } = state;
    const lock = await FileLock.take(`${place}.${identity}`, {
      patience: 0,
      refuse: (who) => new Misuse(`--state: ${who} is releasing from a copy of it`),
    });
    this.running = { state: identity, lock, step };
  }

  /**
   * Refuses an old copy of a state, because its noise would be used again: a copy with fewer steps
   * than are known to be released, or one made before the last run began, because that run may have
   * been killed before it could record its steps.
   */
  private requireNewest(before: readonly BudgetEntry[], { numReleased, runs }: PaidState): void {
    const known = Math.max(0, ...before.map((entry) => entry.step ?? 0));
    const marks = [runs?.last, runs?.before];
    const isCopy = before.some(({ run }) => run !== undefined && !marks.includes(run));
    if (numReleased >= known && !isCopy) return;
    const what =
      numReleased < known
        ? `${counted(numReleased, 'step is', 'steps are')} released in it, ${known} by --budget ${this.path}`
        : `--budget ${this.path} knows of a later run`;
    const harm = 'releasing steps again for other rows would show what differs';
    throw new Misuse(`--state is an old copy: ${what}; ${harm}`, { code: 'bad_state' });
  }

  private async open(place: string, { isPure, ...protects }: ReleaseUnit): Promise<BudgetFile> {
    const text = await readText(place);
    if (text !== undefined) {
      const file = parseFile(this.path, text);
      this.requireSame(file, protects);
      return file;
    }
    const { limit, account = DEFAULT_ACCOUNT } = this.wanted;
    if (limit === undefined) {
      const how = 'to create one, give --budget-epsilon and --budget-delta';
      throw new Misuse(`--budget: there is no file ${this.path}; ${how}`);
    }
    const { pure = isPure ? limit.epsilon : 0 } = this.wanted;
    return newFile({ account, limit, pure, ...protects });
  }

  private requireSame(file: BudgetFile, protects: Omit<ReleaseUnit, 'isPure'>): void {
    const { limit = file.limit, account = file.account, pure = file.pure } = this.wanted;
    const fixed = 'which cannot be changed';
    if (limit.epsilon !== file.limit.epsilon || limit.delta !== file.limit.delta) {
      throw new Misuse(`--budget ${this.path} has the limit ${pair(file.limit)}, ${fixed}`);
    }
    if (account !== file.account) {
      throw new Misuse(`--budget ${this.path} has the account ${file.account}, ${fixed}`);
    }
    if (pure !== file.pure) {
      throw new Misuse(`--budget ${this.path} has --budget-pure ${file.pure}, ${fixed}`);
    }
    for (const name of ['neighbours', 'unit'] as const) {
      if (file[name] === protects[name]) continue;
      const got = `it is for ${name} ${JSON.stringify(file[name])}`;
      const what = `this release protects ${JSON.stringify(protects[name])}`;
      throw new Misuse(`--budget ${this.path}: ${got}, ${what}; they do not add up`);
    }
  }
}
