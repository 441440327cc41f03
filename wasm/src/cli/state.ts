// SPDX-License-Identifier: Apache-2.0

// --state: a release that goes on in the next run.

import { FileStore } from '../file-store.js';
import type { Certificate, DpFtrl, LedgerOptions, ReleaseLedger } from '../types.js';
import type { Args, Known } from './args.js';
import { Misuse } from './failure.js';

export const STATE_OPTIONS: Known = { state: 'value', 'first-step': 'value' };

export interface StateSettings {
  path: string;
  /** Of the first row, 0-based; default: the first that was not released. */
  firstStep: number | undefined;
}

/** Of these a repeated row would have to count as it did before, which nobody remembers. */
const NOT_REPEATED = ['user-column', 'time-column'];

export function readState(args: Args): StateSettings | undefined {
  const path = args.text('state');
  const step = args.count('first-step');
  if (path === undefined) {
    if (step !== undefined) throw new Misuse('--first-step goes with --state');
    return undefined;
  }
  if (args.has('show-nonprivate')) throw new Misuse('--state does not go with --show-nonprivate');
  const other = NOT_REPEATED.find((name) => args.has(name));
  if (other !== undefined && step !== undefined) {
    throw new Misuse(`--first-step does not go with --${other}`);
  }
  if (!args.has('steps') && !args.has('strategy')) {
    throw new Misuse('--state needs --steps, the horizon of all runs together');
  }
  return { path, firstStep: step === undefined ? undefined : step - 1 };
}

/** A ledger as a running total whose next step is that of the next row. */
export class LedgerTotals {
  private constructor(
    private readonly store: FileStore,
    private readonly ledger: ReleaseLedger,
    private next: number,
  ) {}

  static async open(
    dp: DpFtrl,
    { path, firstStep }: StateSettings,
    options: Omit<LedgerOptions, 'store'>,
  ): Promise<LedgerTotals> {
    const store = await FileStore.open(path);
    try {
      const ledger = await dp.ledger({ ...options, store });
      const next = firstStep ?? ledger.step;
      if (next > ledger.step) {
        const what = `at most ${ledger.step + 1}, the first step without a release`;
        throw new Misuse(`--first-step must be ${what}, got ${next + 1}`);
      }
      return new LedgerTotals(store, ledger, next);
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

  /** Steps that are released: more than `step` where steps are repeated. */
  get numReleased(): number {
    return this.ledger.step;
  }

  /** Tells this state from others, wherever its file is. */
  get identity(): string {
    return this.ledger.identity;
  }
  get memo(): Uint8Array | undefined {
    return this.ledger.memo;
  }

  stddev(step: number): number {
    return this.ledger.stddev(step);
  }

  async releaseMany(rows: Float64Array): Promise<Float64Array> {
    const noisy = await this.ledger.releaseMany(this.next, rows);
    this.next += rows.length / this.dimension;
    return noisy;
  }

  async releaseSteps(steps: Float64Array[], memo: Uint8Array): Promise<Float64Array> {
    const noisy = await this.ledger.releaseSteps(this.next, steps, memo);
    this.next += steps.length;
    return noisy;
  }

  async close(): Promise<void> {
    this.ledger.dispose();
    await this.store.close();
  }
}
