// SPDX-License-Identifier: Apache-2.0

// One ledger at a time has a store. A store cannot tell two ledgers in one program apart: both
// would go on from the same step with the same noise, each for other records.

import { makeError, type Where } from '../core/errors.js';
import type { ReleaseStore } from '../types/all.js';

interface Holder {
  /** Owner of the store, while that lives; undefined while it is being made. */
  owner: WeakRef<object> | undefined;
  /** Set when it was given up: resolves once nothing is being saved any more. */
  end: Promise<unknown> | undefined;
}

const HOLDERS: unique symbol = Symbol.for('dp-ftrl.holders') as never;

/** One table for all entries and copies of the package, made by the first ledger. */
function holders(): WeakMap<object, Holder> {
  const host = globalThis as { [HOLDERS]?: WeakMap<object, Holder> };
  return (host[HOLDERS] ??= new WeakMap<object, Holder>());
}

/** The exclusive hold of a ledger on a store. */
export class StoreHold {
  private constructor(private readonly holder: Holder) {}

  /**
   * Waits for what a ledger that was disposed of is still saving.
   *
   * @throws DpError `store_in_use` while another ledger has it.
   */
  static async take(where: Where, store: ReleaseStore): Promise<StoreHold> {
    const all = holders();
    for (;;) {
      const other = all.get(store);
      if (other?.end) await other.end;
      else if (other && (!other.owner || other.owner.deref())) {
        const constraint = 'must not be in use';
        const value = 'one that another ledger has; dispose of that first';
        throw makeError('store_in_use', where, { parameter: 'store', constraint, value });
      }
      if (all.get(store) !== other) continue; // Another one was faster.
      const holder: Holder = { owner: undefined, end: undefined };
      all.set(store, holder);
      return new StoreHold(holder);
    }
  }

  /** Should `owner` be forgotten without being disposed of, the store is free again. */
  give(owner: object): void {
    this.holder.owner = new WeakRef(owner);
  }

  /** The store is free when `last` has settled. */
  release(last: Promise<unknown>): void {
    this.holder.end ??= last.catch(() => undefined);
  }
}
