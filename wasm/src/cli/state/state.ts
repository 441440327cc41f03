// SPDX-License-Identifier: Apache-2.0

// --state: a release that is continued by the next run.

import type { Certificate, NoiseProbability, ReleaseLedger, Store } from '../../types/all.js';
import type { RefusalError } from '../../core/errors.js';
import { Misuse } from '../base/failure.js';
import type { Known } from '../options/args.js';
import {
  beginnerOf,
  inWords,
  memoOf,
  openStore,
  requireBudget,
  requireStored,
} from './state-file.js';
import type { StateKind, StateSettings } from './state-file.js';
import { memoOfNothing, orderOf, readMemo, requireSame, writeMemo } from './state-memo.js';
import type { Continued, Memo } from './state-memo.js';
import type { MarkedStore, PaidState, Runs } from './state-runs.js';

export const STATE_OPTIONS: Known = { state: 'value', continue: 'flag', 'first-step': 'value' };

/** Members of ledgers whose releases are rows of numbers, one per step. */
export type StepLedger = Pick<ReleaseLedger, 'certificate' | 'dimension' | 'numSteps' | 'step'> &
  Pick<ReleaseLedger, 'identity' | 'stddev' | 'dispose'> &
  Partial<Pick<ReleaseLedger, 'halfWidth'>> & {
    releaseSteps(
      firstStep: number,
      steps: readonly ArrayLike<number>[],
      memo: Uint8Array,
    ): Promise<Float64Array>;
  };

/** A release that is continued by the next run. */
export interface Lasting {
  kind: Exclude<StateKind, 'learn'>;
  /** Options that must be the same in all runs, in addition to those common to all commands. */
  fixed: string;
  isSeeded: boolean;
  /** Opens the ledger, with the columns in the order of the first run. */
  open(store: Store, columns: readonly string[]): Promise<StepLedger>;
  wanted: Continued;
}

interface Opening {
  stored: Uint8Array | undefined;
  store: MarkedStore;
  mustExist: boolean;
  hasBudget: boolean;
}

/** Opens the ledger, which must have the same columns, persons and times if it was stored. */
async function goOn({ kind, open, wanted }: Lasting, opening: Opening) {
  const { stored, store, mustExist, hasBudget } = opening;
  requireStored(stored, mustExist);
  requireBudget(store, hasBudget);
  const bytes = stored && memoOf(stored, kind);
  const memo = bytes && readMemo(bytes);
  // A statistic stores its kind first, so a run may have ended before it stored a memo.
  const isNew = stored === undefined || (memo === undefined && kind !== 'release');
  if (!isNew) requireSame(memo, wanted);
  const columns = orderOf(memo?.columns, wanted.columns, 'sums');
  const ledger = await open(store, columns);
  if (isNew ? ledger.step > 0 : memo && memo.step !== ledger.step) {
    ledger.dispose();
    throw new Misuse(
      isNew ? `it was not begun by ${beginnerOf(kind)}` : 'its parts are from different runs',
    );
  }
  return { ledger, memo, columns, isNew };
}

const FIXED =
  '--mechanism or parameter of it, --steps, --epsilon, --delta, --neighbours, --workload';

/** Words an error about a step that was already released; steps are 1-based in messages. */
function ofStep(error: unknown, path: string): unknown {
  const { code, value } = error as Partial<RefusalError>;
  if (code !== 'already_released') return error;
  const what = `step ${Number(value) + 1} was released for another row`;
  return new Misuse(`--state ${path}: ${what}`, { code });
}

/** Adapts a ledger to running totals; the next row is released as the next step. */
export class LedgerTotals implements PaidState {
  private constructor(
    private readonly path: string,
    private readonly store: MarkedStore,
    private readonly ledger: StepLedger,
    private next: number,
    /** Memo of the last run; undefined for a new state, and for an older one of rows only. */
    readonly memo: Memo | undefined,
    /** Columns in the order of the first run. */
    readonly columns: readonly string[],
    /** Memo with which a new state begins. */
    private first: Uint8Array | undefined,
  ) {}

  static async open(
    { path, firstStep, mustExist, hasBudget }: StateSettings,
    lasting: Lasting,
  ): Promise<LedgerTotals> {
    const { wanted, isSeeded, fixed } = lasting;
    const store = await openStore(path);
    try {
      const stored = await store.load();
      const opening = { stored, store, mustExist, hasBudget };
      const { ledger, memo, columns, isNew } = await goOn(lasting, opening).catch(
        (error: unknown) => {
          const options = `${FIXED}, ${fixed} or kind of participation`;
          throw inWords(error, path, { stored, isSeeded, options });
        },
      );
      if (!isNew && memo === undefined) {
        const what = 'does not say which columns it sums: they are taken in the order of this run';
        process.stderr.write(`dp-ftrl release: warning: --state ${path} ${what}\n`);
      }
      const next = firstStep ?? ledger.step;
      if (next > ledger.step) {
        const what = `at most ${ledger.step + 1}, the first step without a release`;
        throw new Misuse(`--first-step must be ${what}, got ${next + 1}`);
      }
      const first = isNew ? memoOfNothing({ ...wanted, columns }) : undefined;
      return new LedgerTotals(path, store, ledger, next, memo, columns, first);
    } catch (error) {
      await store.close();
      throw error;
    }
  }

  get certificate(): Certificate {
    return this.ledger.certificate;
  }
  get dimension(): number {
    return this.ledger.dimension;
  }
  get numSteps(): number {
    return this.ledger.numSteps;
  }
  get step(): number {
    return this.next;
  }

  /** Number of released steps, more than `step` if steps are repeated. */
  get numReleased(): number {
    return this.ledger.step;
  }

  get identity(): string {
    return this.ledger.identity;
  }

  get runs(): Runs | undefined {
    return this.store.runs;
  }

  stddev(step: number): number {
    return this.ledger.stddev(step);
  }

  halfWidth(wanted: NoiseProbability): number {
    return this.ledger.halfWidth!(wanted);
  }

  /** Stores a new state before its first step, so that the next run has the same key. */
  async begin(runs: Runs): Promise<void> {
    await this.store.mark(runs);
    if (this.first) await this.ledger.releaseSteps(0, [], this.first);
    this.first = undefined;
  }

  /** Makes every row a step. */
  async releaseMany(rows: Float64Array): Promise<Float64Array> {
    const { dimension } = this;
    const steps = Array.from({ length: rows.length / dimension }, (_, i) =>
      rows.subarray(i * dimension, (i + 1) * dimension),
    );
    return this.releaseRows(steps);
  }

  /** Ends steps without rows. */
  endSteps(numSteps: number): Promise<Float64Array> {
    return this.releaseRows(Array.from({ length: numSteps }, () => new Float64Array()));
  }

  async releaseSteps(steps: Float64Array[], memo: Uint8Array): Promise<Float64Array> {
    const noisy = await this.ledger.releaseSteps(this.next, steps, memo).catch((error: unknown) => {
      throw ofStep(error, this.path);
    });
    this.next += steps.length;
    return noisy;
  }

  async close(): Promise<void> {
    this.ledger.dispose();
    await this.store.close();
  }

  private releaseRows(steps: Float64Array[]): Promise<Float64Array> {
    const step = Math.max(this.numReleased, this.next + steps.length);
    const columns = [...this.columns];
    const memo = { step, columns, people: null, time: null, counted: [] };
    return this.releaseSteps(steps, writeMemo(memo));
  }
}
