// SPDX-License-Identifier: Apache-2.0

// Gives a store to one stream at a time. A store cannot tell two streams in one program apart: both
// would continue from the same step with the same noise, but with different records.

import { makeError, type ErrorPlace } from '../core/errors.js';
import type { Store } from '../types/all.js';

interface Holder {
  /** Owner of the store, held weakly; undefined while the owner is being made. */
  owner: WeakRef<object> | undefined;
}

/** The mark on a store; it is never removed, so that it also works if the store is frozen later. */
interface Mark {
  holder: Holder | undefined;
}

/**
 * Name of the mark. It is on the store itself, so that streams of other realms (frames, contexts of
 * Node) and of other copies of the package see it.
 */
const MARK: unique symbol = Symbol.for('dp-ftrl.held') as never;
const MARKS: unique symbol = Symbol.for('dp-ftrl.marks') as never;

/** Marks of stores that cannot carry one, such as frozen objects: one table for each realm. */
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

/** The exclusive hold of a stream on a store. */
export class StoreHold {
  private constructor(
    private readonly mark: Mark,
    private readonly holder: Holder,
  ) {}

  /** @throws DpError `store_in_use` while another stream holds the store. */
  static take(where: ErrorPlace, store: Store): StoreHold {
    const mark = markOf(store);
    const { holder: other } = mark;
    if (other && (!other.owner || other.owner.deref())) {
      const constraint = 'must not be in use';
      const value = 'one that another stream or budget has; dispose of that first';
      throw makeError('store_in_use', where, { parameter: 'store', constraint, value });
    }
    mark.holder = { owner: undefined };
    return new StoreHold(mark, mark.holder);
  }

  /**
   * Names the owner. If the owner is garbage-collected without being disposed of, the store is free
   * again.
   */
  give(owner: object): void {
    this.holder.owner = new WeakRef(owner);
  }

  /** Frees the store, unless another stream holds it by now. */
  release(): void {
    if (this.mark.holder === this.holder) this.mark.holder = undefined;
  }
}
