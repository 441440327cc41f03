// SPDX-License-Identifier: Apache-2.0

// Running totals that survive restarts, and their storage.

import type { Handle } from './instance.js';
import type { PeopleNaming, PrefixSumOptions, PureSumOptions, Totals } from './sums.js';

/**
 * Storage for the state of a ledger, such as `FileStore` (dp-ftrl/file-store) and `IndexedDbStore`
 * (dp-ftrl/indexed-db). The stored bytes contain the key and the true sums, so they are as secret
 * as the records. A ledger has exclusive use of its store until it is disposed of; another ledger
 * is refused with `store_in_use`. Stores are identified by object identity, so do not wrap one
 * store in two objects.
 */
export interface ReleaseStore {
  /** Returns the bytes that were saved last, or undefined (or null) if none were ever saved. */
  load(): Promise<Uint8Array | null | undefined>;
  /**
   * Replaces the bytes atomically. Resolves once they would survive a crash. Rejects without
   * replacing anything if another writer has saved since `load`.
   */
  save(bytes: Uint8Array): Promise<void>;
  /**
   * Appends bytes to those saved or appended last; `load` returns all of them, concatenated.
   * Optional: with it, a release writes only what it adds; without it, ledgers save their whole
   * state again. Resolves once the bytes would survive a crash. After a crash, the remaining bytes
   * must be a prefix of them, or lack 512-byte sectors that read as zeros. Rejects without
   * appending if another writer has saved or appended since; a store that cannot tell whether it
   * appended the bytes rejects every later call.
   */
  append?(bytes: Uint8Array): Promise<void>;
  /** Releases the storage once a pending save has settled; `save` rejects from then on. */
  close(): Promise<void>;
}

export interface LedgerOptions extends PrefixSumOptions {
  store: ReleaseStore;
}

/** Options of a ledger of pure-DP totals (delta = 0). */
export interface PureLedgerOptions extends PureSumOptions {
  store: ReleaseStore;
}

/**
 * A private running total that survives restarts. Each step is only ever released for one record,
 * and a release is stored before it is returned.
 */
export interface ReleaseLedger
  extends Handle,
    Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'>,
    Pick<Totals, 'stddev' | 'halfWidth'> {
  /** Index of the next step to be released. */
  readonly step: number;
  /**
   * Returns the private running total after a 0-based step, at most the ledger's `step`. Calling it
   * again with the same record returns the same total; with another record it rejects with code
   * `already_released`.
   */
  release(step: number, record: ArrayLike<number>): Promise<Float64Array>;
  /**
   * Does the same for `records.length / dimension` steps from `firstStep` on, with one write to the
   * store.
   */
  releaseMany(firstStep: number, records: ArrayLike<number>): Promise<Float64Array>;
  /**
   * Does the same for steps with any number of contributions. `steps` holds the contributions to
   * each step, concatenated, `dimension` entries each. Each is clipped separately, so add up one
   * person's contributions to a step beforehand. `memo` is stored atomically with them; if there
   * are no steps, only the memo and the key are stored.
   */
  releaseSteps(
    firstStep: number,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array,
  ): Promise<Float64Array>;
  /** The memo stored last with `releaseSteps`; as secret as the rest of the state. */
  readonly memo: Uint8Array | undefined;
  /** 32 hexadecimal digits that identify the key and reveal nothing about it. */
  readonly identity: string;
}

interface Durability {
  /**
   * Determines when contributions are stored. 'contribution' (default): each call of `contribute`
   * stores its contributions, and a crash loses none of a call that has resolved. 'release':
   * `release` stores them with its step in one write; a crash loses those to the open step, which
   * must be given again.
   */
  durable?: 'contribution' | 'release';
}

export interface PeopleLedgerOptions extends LedgerOptions, Durability, PeopleNaming {}

/** Options of a ledger of people's pure-DP totals (delta = 0). */
export interface PurePeopleLedgerOptions extends PureLedgerOptions, Durability, PeopleNaming {}

/**
 * A private running total of people's contributions, as in `PeopleSum`, that survives restarts.
 * `participation` is enforced for each person across restarts, and each step has only one release,
 * ever.
 */
export interface PeopleLedger
  extends Handle,
    Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'>,
    Pick<Totals, 'stddev' | 'halfWidth'> {
  /** Index of the open step. */
  readonly step: number;
  /**
   * Number of contributions so far, whether or not they counted, including those stored by earlier
   * processes; this is the index of the next contribution to give. Contributions of a refused call
   * are excluded; those of a call that failed to store are included, and the next call stores them.
   * NOT private.
   */
  readonly numContributions: number;
  /** Number of contributions that did not count. It depends on the data: NOT private. */
  readonly numDropped: number;
  /**
   * Adds records of `dimension` entries, each with the person it is from, to the open step; adds
   * all or none. The store holds a keyed code of each name, and the sum of each person's records in
   * the open step.
   */
  contribute(people: string | ArrayLike<string>, records: ArrayLike<number>): Promise<void>;
  /**
   * Ends the step if it is the open one, and returns the private running total after it. For an
   * earlier step, returns the same total as before.
   */
  release(step: number): Promise<Float64Array>;
  /** Does the same for `numSteps` steps from `firstStep` on, with one write to the store. */
  releaseMany(firstStep: number, numSteps: number): Promise<Float64Array>;
  /** 32 hexadecimal digits that identify the key and reveal nothing about it. */
  readonly identity: string;
}
