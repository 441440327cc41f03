// SPDX-License-Identifier: Apache-2.0

// Queue that stores share: one operation after the other, and an end that waits for the last of
// them. A store that let go while it saves would let another one go on from the bytes before.

import { makeError } from '../core/errors.js';

export class StoreQueue {
  private last: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | undefined;

  /** `kind` is the class of the store. */
  constructor(private readonly kind: string) {}

  /** Runs an operation after those that were given before. */
  async add<T>(operation: () => Promise<T>): Promise<T> {
    if (this.closing) throw makeError('disposed', this.kind, { constraint: 'this store was closed' });
    const result = this.last.then(operation);
    this.last = result.catch(() => undefined);
    return result;
  }

  /** Ends the store once, after all that was given; whatever comes later is refused. */
  close(end: () => Promise<void>): Promise<void> {
    this.closing ??= this.last.then(end);
    return this.closing;
  }
}
