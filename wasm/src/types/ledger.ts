// SPDX-License-Identifier: Apache-2.0

// Running totals that survive restarts.

import type { Handle } from './instance.js';
import type { Store } from './store.js';
import type { PeopleNaming, PrefixSumOptions, PureSumOptions } from './sums.js';
import type { Release, Totals } from './sums.js';

/** Options that say where a ledger is stored. */
export interface StoreOptions {
  store: Store;
  /**
   * True for a ledger that was begun before: an empty store is refused with `bad_state`, because a
   * ledger that begins anew releases the same steps a second time. Default false.
   */
  mustExist?: boolean;
}

export interface LedgerOptions extends PrefixSumOptions, StoreOptions {}

/** Options of a ledger of pure-DP totals (delta = 0). */
export interface PureLedgerOptions extends PureSumOptions, StoreOptions {}

/** Private running totals of consecutive steps of a ledger, concatenated. */
export type Releases = Float64Array & {
  /** 0-based step of the first total. */
  readonly firstStep: number;
};

/**
 * A private running total that survives restarts. Each step is only ever released for one record,
 * and a release is stored before it is returned.
 *
 * Calls take their turn. A release without an index takes the step that is open then, so any number
 * of them may overlap. With an index, a call is a repeat that never counts twice: `step` and
 * `firstStep` are 0-based and at most the ledger's `step`; the same records give the same totals
 * again, and others are refused with code `already_released`. An undefined index is one left out.
 *
 * If the store fails, the step is decided all the same, and cannot be withdrawn: the next call, of
 * whatever kind, stores it first, and fails alike until that works. The error, of code
 * `store_failed`, has the `step` that its call has decided, or none if the call did nothing: so
 * `release(error.step, record)` is always right, and makes nothing twice.
 */
export interface ReleaseLedger
  extends Handle,
    Pick<Totals, 'certificate' | 'dimension' | 'numSteps' | 'grid' | 'insecure'>,
    Pick<Totals, 'stddev' | 'halfWidth'> {
  /** Index of the next step to be released. */
  readonly step: number;
  /** Takes one record as a step, and returns the private running total after it. */
  release(record: ArrayLike<number>): Promise<Release>;
  release(step: number | undefined, record: ArrayLike<number>): Promise<Release>;
  /**
   * Takes `records.length / dimension` records as so many steps. They are stored in parts of
   * bounded size; after a crash, the first of them may be there.
   */
  releaseMany(records: ArrayLike<number>): Promise<Releases>;
  releaseMany(firstStep: number | undefined, records: ArrayLike<number>): Promise<Releases>;
  /**
   * Releases steps with any number of contributions. `steps` holds the contributions to each step,
   * concatenated, `dimension` entries each. Each is clipped separately, so add up one person's
   * contributions to a step beforehand. `memo` is stored atomically with them; if there are no
   * steps, only the memo and the key are stored.
   */
  releaseSteps(
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array | undefined,
  ): Promise<Releases>;
  releaseSteps(
    firstStep: number | undefined,
    steps: readonly ArrayLike<number>[],
    memo?: Uint8Array | undefined,
  ): Promise<Releases>;
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
   * Ends the open step, and returns the private running total after it. With the index of an
   * earlier step, returns the same total as before; see `ReleaseLedger` for turns and failures.
   */
  release(step?: number): Promise<Release>;
  /** Does the same for `numSteps` steps, from the open one or from `firstStep` on. */
  releaseMany(numSteps: number): Promise<Releases>;
  releaseMany(firstStep: number | undefined, numSteps: number): Promise<Releases>;
  /** 32 hexadecimal digits that identify the key and reveal nothing about it. */
  readonly identity: string;
}
