// SPDX-License-Identifier: Apache-2.0

// A running total whose state outlives the process: decided by the core, saved by a store, and only
// then handed out.

import { float64s, requireCount, wrongType, type Reader } from '../../core/check.js';
import type { CorePrefixSum } from '../../core/core.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import type { Certificate, ReleaseLedger } from '../../types/all.js';
import { Journal } from '../../stores/journal.js';
import type { StoreHold } from '../../stores/store-hold.js';
import { identityOf, openStored, readMemo, type Stored } from '../../stores/stored.js';
import { countRecords, readOptions, requireLength } from '../options.js';
import { readTotals, TOTALS_OPTIONS } from './totals.js';

const OPTIONS = [...TOTALS_OPTIONS, 'store'];

interface Made extends Stored {
  sums: CorePrefixSum;
  dimension: number;
  insecure: boolean;
}

/** Steps to be decided, stored and handed out. */
interface Task {
  firstStep: number;
  numSteps: number;
  decide(): void;
  memo: Uint8Array | undefined;
}

export class CoreReleaseLedger extends CoreHandle implements ReleaseLedger {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly dimension: number;
  readonly insecure: boolean;
  readonly identity: string;
  private readonly hold: StoreHold;
  private readonly key: Uint8Array<ArrayBuffer>;
  private readonly journal: Journal;
  /** Releases are made one after the other, in the order in which they were asked for. */
  private last: Promise<unknown> = Promise.resolve();

  constructor(instance: Instance, made: Made) {
    super(instance, made.sums.id, 'release ledger');
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

  get memo(): Uint8Array | undefined {
    return this.journal.memo;
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

  async release(step: number, record: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('release', 'record', record);
    requireLength('release', 'record', values.length, this.dimension);
    return this.inTurn('release', this.ofRecords(step, values));
  }

  async releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array> {
    const values = float64s('releaseMany', 'records', records);
    countRecords('releaseMany', values, this.dimension);
    return this.inTurn('releaseMany', this.ofRecords(firstStep, values));
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
    return this.inTurn(where, { firstStep, numSteps: all.length, decide, memo: kept });
  }

  /** Private running totals after steps that were stored. */
  released(firstStep: number, numSteps: number): Float64Array {
    return this.core.call('ledgerReleased', this.id, firstStep, numSteps);
  }

  override dispose(): void {
    this.key.fill(0);
    this.hold.release(this.last);
    super.dispose();
  }

  private inTurn(where: string, task: Task): Promise<Float64Array> {
    requireCount(where, 'step', task.firstStep, this.numSteps - 1);
    const result = this.last.then(() => this.commit(task));
    this.last = result.then(() => this.tidy()).catch(() => undefined);
    return result;
  }

  /** Shortens the log where it is long, once the release was handed out. */
  private async tidy(): Promise<void> {
    if (!this.journal.isLong) return;
    await new Promise((resolve) => setTimeout(resolve));
    if (!this.disposed) await this.journal.shorten();
  }

  private async commit({ firstStep, numSteps, decide, memo }: Task): Promise<Float64Array> {
    decide();
    const { decided, acknowledged } = this.core.call('ledgerSteps', this.id);
    const isMemoAlone = numSteps === 0 && memo !== undefined;
    if (decided > acknowledged || isMemoAlone) await this.journal.write(memo);
    return this.released(firstStep, numSteps);
  }
}

export function makeLedger(instance: Instance, options: unknown): Promise<ReleaseLedger> {
  return openLedger(instance, readOptions('ledger', options, OPTIONS));
}

/** Opens the ledger of totals that the options ask for, whichever others they have. */
export async function openLedger(
  instance: Instance,
  reader: Reader,
): Promise<CoreReleaseLedger> {
  const complete = readTotals(reader, instance.mechanisms);
  return openStored(reader, complete, (given, stored) => {
    const sums = instance.core.call('ledgerCreate', given);
    const { dimension, insecureSeed } = complete;
    const insecure = insecureSeed !== undefined;
    return new CoreReleaseLedger(instance, { ...stored, sums, dimension, insecure });
  });
}
