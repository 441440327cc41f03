// SPDX-License-Identifier: Apache-2.0

// Running totals that survive restarts, and their storage.

import type { Handle } from './instance.js';
import type { PrefixSumOptions, PureSumOptions, Totals } from './sums.js';

/**
 * Storage for the bytes of a ledger, such as `FileStore` (dp-ftrl/file-store) and `IndexedDbStore`
 * (dp-ftrl/indexed-db). The bytes hold the key and the true sums: as secret as the records. A
 * ledger has exclusive use of its store until it is disposed of; another ledger is refused with
 * `store_in_use`. A store is identified by its object: do not wrap one store in two.
 */
export interface ReleaseStore {
  /** Returns the bytes that were saved last, or undefined (or null) if none were ever saved. */
  load(): Promise<Uint8Array | null | undefined>;
  /**
   * Replaces the bytes, all or nothing. Resolves when they would outlive a crash; rejects, and
   * replaces nothing, where others have saved since `load`.
   */
  save(bytes: Uint8Array): Promise<void>;
  /**
   * Adds bytes behind those that were saved or appended last: `load` returns all of them, one after
   * the other. Optional: with it a release costs what it adds, without it ledgers save everything
   * again. Resolves when the bytes would outlive a crash. What a crash leaves of them must be their
   * beginning, or lack sectors of 512 bytes that read as zeros. Rejects, and adds nothing, where
   * others have saved or appended since; a store that cannot tell whether it added them rejects
   * everything from then on.
   */
  append?(bytes: Uint8Array): Promise<void>;
  /**
   * Lets go of the storage once a pending save has succeeded or failed; `save` rejects from then
   * on.
   */
  close(): Promise<void>;
}

export interface LedgerOptions extends PrefixSumOptions {
  store: ReleaseStore;
}

/** Options of a ledger of totals without a delta. */
export interface PureLedgerOptions extends PureSumOptions {
  store: ReleaseStore;
}

/**
 * A private running total that survives restarts: each step is released for one record, ever. A
 * release is stored before it is handed out.
 */
export interface ReleaseLedger
  extends Handle,
    Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'>,
    Pick<Totals, 'stddev' | 'halfWidth'> {
  /** The next step that has no release yet. */
  readonly step: number;
  /**
   * Returns the private running total after a 0-based step, up to `step`. Asked again with the same
   * record it gives the same total; with another one it rejects with code `already_released`.
   */
  release(step: number, record: ArrayLike<number>): Promise<Float64Array>;
  /** Does the same for `records.length / dimension` steps from `firstStep` on, stored once. */
  releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array>;
  /**
   * Does the same for steps with several contributions: `steps` holds for each step all
   * contributions, one after the other, `dimension` entries each, or none. Each is clipped by
   * itself: add up before what one person contributes to a step. `memo` is stored with them, all or
   * nothing; without steps it is stored alone, with the key.
   */
  releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array>;
  /** The memo stored last with `releaseSteps`: as secret as the rest. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}

interface Durability {
  /**
   * When contributions are stored. 'contribution' (default): each call of `contribute` stores its
   * own, and a crash loses none of a call that had resolved. 'release': `release` stores them with
   * its step, in one write; a crash loses those to the open step, which have to be given again.
   */
  durable?: 'contribution' | 'release';
}

export interface PeopleLedgerOptions extends LedgerOptions, Durability {}

/** Options of a ledger of people's totals without a delta. */
export interface PurePeopleLedgerOptions extends PureLedgerOptions, Durability {}

/**
 * A private running total of people's contributions that survives restarts, as `peopleSum` makes it:
 * `participation` holds for each person over all of them, and each step has one release, ever.
 */
export interface PeopleLedger
  extends Handle,
    Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'>,
    Pick<Totals, 'stddev' | 'halfWidth'> {
  /** The open step. */
  readonly step: number;
  /**
   * Number of contributions so far, whether they counted or not, with what earlier processes stored:
   * the index of the next one to be given. Those of a call that was refused are not among them, those
   * of a call whose storing failed are: the next call stores them. NOT private.
   */
  readonly numContributions: number;
  /** Number of these that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds records of `dimension` entries to the open step, with the person each is from, all or none.
   * The store has a keyed code of each name, and the sum of a person's records to the open step.
   */
  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): Promise<void>;
  /**
   * Ends the step, if it is the open one, and returns the private running total after it; that of an
   * earlier step is the one that was returned before.
   */
  release(step: number): Promise<Float64Array>;
  /** Does the same for `numSteps` steps from `firstStep` on, stored once. */
  releaseMany(firstStep: number, numSteps: number): Promise<Float64Array>;
  /** 32 hexadecimal digits that tell the key from others, and say nothing of it. */
  readonly identity: string;
}
