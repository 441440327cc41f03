// SPDX-License-Identifier: Apache-2.0

// A running total whose state outlives the process. The core decides a step, a store saves it, and
// only then is it returned.

import { float64s, requireCount, requireFinite, wrongType, type Reader } from '../../core/check.js';
import { Turns } from '../../shared/turns.js';
import type { CorePrefixSum } from '../../core/core.js';
import { asErrorsOf, makeError, ofStep } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import type { Certificate, NoiseProbability, Release, ReleaseLedger } from '../../types/all.js';
import type { Releases } from '../../types/all.js';
import { Journal } from '../../stores/journal.js';
import type { StoreHold } from '../../stores/store-hold.js';
import {
  identityOf,
  openStored,
  readMemo,
  STORE_OPTIONS,
  type Stored,
} from '../../stores/stored.js';
import { countRecords, readOptions, requireLength } from '../options.js';
import { asRelease, asReleases } from './release.js';
import { halfWidthOf, readTotals, TOTALS_OPTIONS, type CompleteOptions } from './totals.js';

export const LEDGER_OPTIONS = [...TOTALS_OPTIONS, ...STORE_OPTIONS];

export interface Made extends Stored {
  sums: CorePrefixSum;
  dimension: number;
  insecure: boolean;
}

/** Steps to decide, store and return. */
export interface Task {
  /** Undefined for the step that is open when the turn of the task comes. */
  firstStep: number | undefined;
  numSteps: number;
  /** Number of steps that are decided without a pause. */
  sliceSteps: number;
  /** Decides a slice of the steps, `from` to `to`, counted from the first. */
  decide(firstStep: number, from: number, to: number): void;
  memo: Uint8Array | undefined;
}

/** Entries of a slice, whose noise takes some milliseconds. */
export const SLICE_ENTRIES = 2048;

/**
 * Splits the arguments of a call that begins with the index of a step, unless it is left out; an
 * undefined index is one that is left out.
 */
export function indexed<Rest extends unknown[]>(
  args: readonly unknown[],
  hasIndex: boolean,
): [number | undefined, ...Rest] {
  return (hasIndex ? args : [undefined, ...args]) as [number | undefined, ...Rest];
}

/** Base of ledgers: a core that decides, a journal, and the order of calls. */
export abstract class LedgerHandle extends CoreHandle {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly dimension: number;
  readonly insecure: boolean;
  readonly identity: string;
  protected readonly journal: Journal;
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

  /**
   * Acts after all earlier calls, once what they failed to store is stored. An error of the store
   * has the index of the step that this call is about, unless it is certain that the call did
   * nothing.
   *
   * @param act  is passed a function to be called with the step, once it is decided.
   */
  protected inTurn<T>(
    act: (decided: (step: number) => void) => Promise<T>,
    given?: number,
  ): Promise<T> {
    let step = given;
    const result = this.last.then(async () => {
      try {
        await this.journal.catchUp();
        return await act((decided) => (step = decided));
      } catch (error) {
        throw ofStep(error, step);
      }
    });
    this.last = result.catch(() => undefined);
    return result;
  }

  /** Decides and stores steps when their turn comes, and returns their releases. */
  protected async releases(where: string, task: Task, name = 'firstStep'): Promise<Releases> {
    return this.inTurn(async (decided) => {
      const { numSteps } = task;
      const { decided: open } = this.core.call('ledgerSteps', this.id);
      const most = Math.min(open, this.numSteps - 1);
      const given = task.firstStep;
      const firstStep = given === undefined ? open : requireCount(where, name, given, most);
      if (numSteps > this.numSteps - firstStep) {
        const constraint = `must be below the horizon ${this.numSteps}`;
        const value = String(firstStep + numSteps - 1);
        throw makeError('past_horizon', where, { parameter: 'step', constraint, value });
      }
      await this.decide(task, firstStep, decided);
      const isMemoAlone = numSteps === 0 && task.memo !== undefined;
      if (this.hasUnstoredSteps() || isMemoAlone) await this.journal.write(task.memo);
      return asReleases(this.released(firstStep, numSteps), firstStep);
    }, task.firstStep);
  }

  /** Decides and stores one step, and returns its release. */
  protected async releaseOne(where: string, task: Task): Promise<Release> {
    const total = await this.releases(where, task, 'step');
    return asRelease(total, total.firstStep, this.stddev(total.firstStep));
  }

  protected hasUnstoredSteps(): boolean {
    const { decided, acknowledged } = this.core.call('ledgerSteps', this.id);
    return decided > acknowledged;
  }

  private async decide(
    task: Task,
    firstStep: number,
    decided: (step: number) => void,
  ): Promise<void> {
    const { numSteps, sliceSteps } = task;
    const turns = new Turns();
    for (let from = 0; from < numSteps; from += sliceSteps) {
      void this.id;
      task.decide(firstStep, from, Math.min(numSteps, from + sliceSteps));
      decided(firstStep);
      await turns.pass();
    }
  }
}

export class CoreReleaseLedger extends LedgerHandle implements ReleaseLedger {
  get memo(): Uint8Array | undefined {
    return this.journal.memo;
  }

  async release(
    ...args: [ArrayLike<number>] | [number | undefined, ArrayLike<number>]
  ): Promise<Release> {
    const [step, record] = indexed<[unknown]>(args, args.length > 1);
    const values = float64s('release', 'record', record);
    requireLength('release', 'record', values.length, this.dimension);
    return this.releaseOne('release', this.ofRecords('release', step, values));
  }

  async releaseMany(
    ...args: [ArrayLike<number>] | [number | undefined, ArrayLike<number>]
  ): Promise<Releases> {
    const where = 'releaseMany';
    const [firstStep, records] = indexed<[unknown]>(args, args.length > 1);
    const values = float64s(where, 'records', records);
    countRecords(where, values, this.dimension);
    return this.releases(where, this.ofRecords(where, firstStep, values));
  }

  private ofRecords(where: string, firstStep: number | undefined, values: Float64Array): Task {
    requireFinite(where, where === 'release' ? 'record' : 'records', values);
    const { dimension } = this;
    const decide = (first: number, from: number, to: number): void => {
      const rows = values.subarray(from * dimension, to * dimension);
      this.core.call('ledgerDecide', this.id, first + from, rows);
    };
    const sliceSteps = Math.max(1, Math.floor(SLICE_ENTRIES / dimension));
    return { firstStep, numSteps: values.length / dimension, sliceSteps, decide, memo: undefined };
  }

  async releaseSteps(
    ...args:
      | [steps: readonly ArrayLike<number>[], memo?: Uint8Array | undefined]
      | [
          firstStep: number | undefined,
          steps: readonly ArrayLike<number>[],
          memo?: Uint8Array | undefined,
        ]
  ): Promise<Releases> {
    const where = 'releaseSteps';
    const [firstStep, steps, memo] = indexed<[unknown, unknown]>(args, hasFirstStep(args));
    if (!Array.isArray(steps)) throw wrongType(where, 'steps', 'an array', steps);
    const kept = readMemo(where, memo);
    const all = steps.map((step, i) => {
      const values = float64s(where, `steps[${i}]`, step);
      requireFinite(where, `steps[${i}]`, values);
      requireLength(
        where,
        `steps[${i}]`,
        values.length,
        values.length - (values.length % this.dimension),
      );
      return values;
    });
    const decide = (first: number, i: number): void => {
      this.core.call('ledgerDecideStep', this.id, first + i, all[i]!);
    };
    return this.releases(where, {
      firstStep,
      numSteps: all.length,
      sliceSteps: 1,
      decide,
      memo: kept,
    });
  }
}

/** True if the arguments of `releaseSteps` begin with an index, which may be undefined. */
export function hasFirstStep(args: readonly unknown[]): boolean {
  return args.length > 1 && !Array.isArray(args[0]);
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
