// SPDX-License-Identifier: Apache-2.0

// Queue shared by the stores: it runs one operation after another, and closing waits for the last.
// If a store were released during a save, another store could continue from the previous bytes.
//
// A store belongs to its last loader alone, even if objects are wrapped around it. A write that
// does not name the lease of the last load is refused. Callers without a lease cannot be told
// apart, so after a second load without a lease none of them may write.

import { makeError } from '../core/errors.js';
import type { StoreLease } from '../types/all.js';

export class StoreQueue {
  private last: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | undefined;
  private isLoaded = false;
  /** Lease of the last load. */
  private holder: StoreLease | undefined;

  /**
   * @param kind    the class of the store.
   * @param refuse  makes the error for a value that is in use.
   */
  constructor(
    private readonly kind: string,
    private readonly refuse: (value: string) => Error,
  ) {}

  /** Loads after all earlier operations; if that succeeds, earlier leases end. */
  async load<T>(lease: StoreLease | undefined, operation: () => Promise<T>): Promise<T> {
    return this.add(async () => {
      const result = await operation();
      this.holder = lease ?? (this.isLoaded ? {} : undefined);
      this.isLoaded = true;
      return result;
    });
  }

  /** Writes after all earlier operations. @throws DpError `store_in_use` for another lease. */
  async write<T>(lease: StoreLease | undefined, operation: () => Promise<T>): Promise<T> {
    return this.add(async () => {
      if (lease === this.holder) return operation();
      throw this.refuse('one that was loaded again since; close it and open it again');
    });
  }

  /** Closes the store once, after all earlier operations; later ones are refused. */
  close(end: () => Promise<void>): Promise<void> {
    this.closing ??= this.last.then(end);
    return this.closing;
  }

  private async add<T>(operation: () => Promise<T>): Promise<T> {
    if (this.closing)
      throw makeError('disposed', this.kind, { constraint: 'this store was closed' });
    const result = this.last.then(operation);
    this.last = result.catch(() => undefined);
    return result;
  }
}
