// SPDX-License-Identifier: Apache-2.0

// Queue shared by the stores: it runs one operation after the other, and closing waits for the last
// of them. If a store were released during a save, another one could continue from the previous
// bytes.

import { makeError } from '../core/errors.js';

export class StoreQueue {
  private last: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | undefined;

  /** `kind` is the class of the store. */
  constructor(private readonly kind: string) {}

  /** Runs an operation after all earlier ones. */
  async add<T>(operation: () => Promise<T>): Promise<T> {
    if (this.closing) throw makeError('disposed', this.kind, { constraint: 'this store was closed' });
    const result = this.last.then(operation);
    this.last = result.catch(() => undefined);
    return result;
  }

  /** Closes the store once, after all earlier operations; later ones are refused. */
  close(end: () => Promise<void>): Promise<void> {
    this.closing ??= this.last.then(end);
    return this.closing;
  }
}
