// SPDX-License-Identifier: Apache-2.0

// Gives a store to one ledger at a time. A store cannot tell two ledgers in one program apart: both
// would continue from the same step with the same noise, each for other records.

import { makeError, type Where } from '../core/errors.js';
import type { ReleaseStore } from '../types/all.js';

interface Holder {
  /** Owner of the store, while it is alive; undefined while it is being made. */
  owner: WeakRef<object> | undefined;
  /** Set on release: resolves once nothing is being saved any more. */
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
   * Takes the store, after waiting for pending saves of a ledger that was disposed of.
   *
   * @throws DpError `store_in_use` while another ledger has the store.
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

  /**
   * Names the owner. If it is garbage-collected without being disposed of, the store is free again.
   */
  give(owner: object): void {
    this.holder.owner = new WeakRef(owner);
  }

  /** Frees the store once `last` has settled. */
  release(last: Promise<unknown>): void {
    this.holder.end ??= last.catch(() => undefined);
  }
}
