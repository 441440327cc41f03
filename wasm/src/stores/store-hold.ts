// SPDX-License-Identifier: Apache-2.0

// Gives a store to one ledger at a time. A store cannot tell two ledgers in one program apart: both
// would continue from the same step with the same noise, each for other records.

import { makeError, type Where } from '../core/errors.js';
import type { Store } from '../types/all.js';

interface Holder {
  /** Owner of the store, while it is alive; undefined while it is being made. */
  owner: WeakRef<object> | undefined;
  /** Set on release: resolves once nothing is being saved any more. */
  end: Promise<unknown> | undefined;
}

/** The mark on a store; it stays, so that it also serves if the store is frozen later. */
interface Mark {
  holder: Holder | undefined;
}

/**
 * Name of the mark. It is on the store itself, so that ledgers of other realms (frames, contexts of
 * Node) and of other copies of the package see it.
 */
const MARK: unique symbol = Symbol.for('dp-ftrl.held') as never;
const MARKS: unique symbol = Symbol.for('dp-ftrl.marks') as never;

/** Marks of stores that cannot have one, such as frozen ones: one table for each realm. */
function separateMarks(): WeakMap<object, Mark> {
  const host = globalThis as { [MARKS]?: WeakMap<object, Mark> };
  return (host[MARKS] ??= new WeakMap<object, Mark>());
}

function markOf(store: Store & { [MARK]?: Mark }): Mark {
  const known = store[MARK] ?? separateMarks().get(store);
  if (known) return known;
  const mark: Mark = { holder: undefined };
  if (!Reflect.defineProperty(store, MARK, { value: mark })) separateMarks().set(store, mark);
  return mark;
}

/** The exclusive hold of a ledger on a store. */
export class StoreHold {
  private constructor(private readonly holder: Holder) {}

  /**
   * Takes the store, after waiting for pending saves of a ledger that was disposed of.
   *
   * @throws DpError `store_in_use` while another ledger has the store.
   */
  static async take(where: Where, store: Store): Promise<StoreHold> {
    const mark = markOf(store);
    for (;;) {
      const other = mark.holder;
      if (other?.end) await other.end;
      else if (other && (!other.owner || other.owner.deref())) {
        const constraint = 'must not be in use';
        const value = 'one that another ledger has; dispose of that first';
        throw makeError('store_in_use', where, { parameter: 'store', constraint, value });
      }
      if (mark.holder !== other) continue; // Another one was faster.
      mark.holder = { owner: undefined, end: undefined };
      return new StoreHold(mark.holder);
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
