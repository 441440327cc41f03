// SPDX-License-Identifier: Apache-2.0

// A running total whose state outlives the process. The core decides a step, a store saves it, and
// only then is it returned.

import { float64s, requireCount, wrongType, type Reader } from '../../core/check.js';
import type { CorePrefixSum } from '../../core/core.js';
import { asErrorsOf } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import type { Certificate, NoiseProbability, ReleaseLedger } from '../../types/all.js';
import { Journal } from '../../stores/journal.js';
import type { StoreHold } from '../../stores/store-hold.js';
import { identityOf, openStored, readMemo, type Stored } from '../../stores/stored.js';
import { countRecords, readOptions, requireLength } from '../options.js';
import { halfWidthOf, readTotals, TOTALS_OPTIONS, type CompleteOptions } from './totals.js';

export const LEDGER_OPTIONS = [...TOTALS_OPTIONS, 'store'];

export interface Made extends Stored {
  sums: CorePrefixSum;
  dimension: number;
  insecure: boolean;
}

/** Steps to decide, store and return. */
interface Task {
  firstStep: number;
  numSteps: number;
  decide(): void;
  memo: Uint8Array | undefined;
}

/** Base of ledgers: a core that decides, a journal, and the order of calls. */
export abstract class LedgerHandle extends CoreHandle {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly dimension: number;
  readonly insecure: boolean;
  readonly identity: string;
  protected readonly journal: Journal;
  /** True if there are contributions that are not stored. */
  protected waits = false;
  private readonly hold: StoreHold;
  private readonly key: Uint8Array<ArrayBuffer>;
  /** Chain of the calls, which run one after the other in the order in which they were made. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(instance: Instance, made: Made, kind: string) {
    super(instance, made.sums.id, kind);
    this.certificate = Object.freeze(made.sums.certificate);
    this.grid = made.sums.grid;
    this.dimension = made.dimension;
    this.insecure = made.insecure;
    this.hold = made.hold;
    this.key = made.key;
    const { core } = instance;
    this.identity = identityOf(core.call('ledgerCommitment', made.sums.id));
    try {
      this.journal = new Journal({ ...made, core, ledger: () => this.id });
    } catch (error) {
      super.dispose();
      throw error;
    }
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.core.call('ledgerSteps', this.id).acknowledged;
  }

  stddev(step: number): number {
    requireCount('stddev', 'step', step, this.numSteps - 1);
    return this.core.call('ledgerStddev', this.id, step);
  }

  halfWidth(wanted: NoiseProbability): number {
    const { core, id, certificate } = this;
    return halfWidthOf({ core, id, certificate }, 'ledgerHalfWidth', wanted);
  }

  /** Returns private running totals of stored steps. */
  released(firstStep: number, numSteps: number): Float64Array {
    return this.core.call('ledgerReleased', this.id, firstStep, numSteps);
  }

  override dispose(): void {
    this.key.fill(0);
    this.hold.release(this.last);
    super.dispose();
  }

  protected inTurn<T>(act: () => Promise<T>): Promise<T> {
    const result = this.last.then(act);
    this.last = result.then(() => this.tidy()).catch(() => undefined);
    return result;
  }

  /** Decides and stores steps when their turn comes, and returns their releases. */
  protected async releases(where: string, task: Task, name = 'firstStep'): Promise<Float64Array> {
    return this.inTurn(() => {
      const { decided } = this.core.call('ledgerSteps', this.id);
      requireCount(where, name, task.firstStep, Math.min(decided, this.numSteps - 1));
      return this.commit(task);
    });
  }

  protected hasUnstoredSteps(): boolean {
    const { decided, acknowledged } = this.core.call('ledgerSteps', this.id);
    return decided > acknowledged;
  }

  protected async write(memo?: Uint8Array): Promise<void> {
    await this.journal.write(memo);
    this.waits = false;
  }

  /** Shortens a long log, once the release has been returned. */
  private async tidy(): Promise<void> {
    if (this.waits || !this.journal.isLong) return;
    await new Promise((resolve) => setTimeout(resolve));
    if (!this.disposed) await this.journal.shorten();
  }

  private async commit({ firstStep, numSteps, decide, memo }: Task): Promise<Float64Array> {
    decide();
    const isMemoAlone = numSteps === 0 && memo !== undefined;
    if (this.hasUnstoredSteps() || isMemoAlone) await this.write(memo);
    return this.released(firstStep, numSteps);
  }
}

export class CoreReleaseLedger extends LedgerHandle implements ReleaseLedger {
  get memo(): Uint8Array | undefined {
    return this.journal.memo;
  }

  async release(step: number, record: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('release', 'record', record);
    requireLength('release', 'record', values.length, this.dimension);
    return this.releases('release', this.ofRecords(step, values), 'step');
  }

  async releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('releaseMany', 'records', records);
    countRecords('releaseMany', values, this.dimension);
    return this.releases('releaseMany', this.ofRecords(firstStep, values));
  }

  private ofRecords(firstStep: number, values: Float64Array): Task {
    const numSteps = values.length / this.dimension;
    const decide = (): void => {
      this.core.call('ledgerDecide', this.id, firstStep, values);
    };
    return { firstStep, numSteps, decide, memo: undefined };
  }

  async releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array> {
    const where = 'releaseSteps';
    if (!Array.isArray(steps)) throw wrongType(where, 'steps', 'an array', steps);
    const kept = readMemo(where, memo);
    const all = steps.map((step, i) => float64s(where, `steps[${i}]`, step));
    const decide = (): void => {
      all.forEach((step, i) => this.core.call('ledgerDecideStep', this.id, firstStep + i, step));
    };
    return this.releases(where, { firstStep, numSteps: all.length, decide, memo: kept });
  }
}

/** Opens the store of these options, and makes a ledger from its contents. */
export async function openTotals<T extends LedgerHandle>(
  reader: Reader,
  complete: CompleteOptions,
  make: (given: CompleteOptions & object, made: Omit<Made, 'sums'>) => T,
): Promise<T> {
  const { dimension, insecureSeed } = complete;
  const insecure = insecureSeed !== undefined;
  return openStored(reader, complete, (given, stored) =>
    make(given, { ...stored, dimension, insecure }),
  );
}

export async function makeLedger(instance: Instance, options: unknown): Promise<ReleaseLedger> {
  return openLedger(instance, readOptions('ledger', options, LEDGER_OPTIONS));
}

/**
 * Opens a ledger of the totals that the options describe; other options are allowed.
 * @param kind  its name in the error after it was disposed of.
 */
export async function openLedger(
  instance: Instance,
  reader: Reader,
  kind?: string,
): Promise<CoreReleaseLedger> {
  return openLedgerOf(instance, reader, readTotals(reader, instance.mechanisms), kind);
}

/** The same with complete options, where `make` calls the core; the reader has the store. */
export async function openLedgerOf(
  instance: Instance,
  reader: Reader,
  complete: CompleteOptions,
  kind = 'release ledger',
  make = (given: CompleteOptions, _stored: Pick<Stored, 'memo'>) =>
    instance.core.call('ledgerCreate', given),
): Promise<CoreReleaseLedger> {
  return openTotals(reader, complete, (given, made) => {
    return asErrorsOf(reader.where, () => {
      const sums = make(given, made);
      return new CoreReleaseLedger(instance, { ...made, sums }, kind);
    });
  });
}
