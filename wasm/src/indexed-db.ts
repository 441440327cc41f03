// SPDX-License-Identifier: Apache-2.0

/** A store for ledgers in the browser's IndexedDB: any number of tabs, of which one goes on. */

import { makeError } from './core/errors.js';
import type { ReleaseStore } from './types/all.js';
import { StoreQueue } from './stores/store-queue.js';

const STORE = 'IndexedDbStore';
const DATABASE = 'dp-ftrl';
const TABLE = 'ledgers';

interface Row {
  generation: number;
  bytes: Uint8Array;
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(TABLE);
  return settled(request);
}

/**
 * One named row. Saving commits the new bytes in a transaction that first looks whether others have
 * saved since this store was loaded: of two tabs that go on from the same bytes one is refused.
 */
export class IndexedDbStore implements ReleaseStore {
  private readonly queue = new StoreQueue(STORE);
  /** Generation of the row that was read or saved last; 0 if there is none. */
  private generation = 0;

  private constructor(
    private readonly database: IDBDatabase,
    private readonly name: string,
  ) {}

  /**
   * Opens the row of this name, which need not exist yet.
   *
   * @throws DpError `store_failed` where there is no IndexedDB, or the browser refuses.
   */
  static async open(name: string): Promise<IndexedDbStore> {
    try {
      return new IndexedDbStore(await openDatabase(), name);
    } catch (cause) {
      throw makeError('store_failed', STORE, { constraint: 'the database could not be opened' }, cause);
    }
  }

  /** The bytes of the row; undefined where there is none. */
  async load(): Promise<Uint8Array | undefined> {
    return this.queue.add(async () => {
      const table = this.database.transaction(TABLE, 'readonly').objectStore(TABLE);
      const row = (await settled(table.get(this.name))) as Row | undefined;
      this.generation = row?.generation ?? 0;
      return row?.bytes;
    });
  }

  /**
   * @throws DpError `store_in_use` where another has saved since this store read or saved,
   *   `disposed` after `close`, and `store_failed` where the browser refuses.
   */
  async save(bytes: Uint8Array): Promise<void> {
    return this.queue.add(() => this.replace(bytes));
  }

  /** Ends the connection, once a pending save has finished. */
  async close(): Promise<void> {
    return this.queue.close(async () => this.database.close());
  }

  private async replace(bytes: Uint8Array): Promise<void> {
    const expected = this.generation;
    // On disk before it is complete: the default may only reach the system's buffers.
    const transaction = this.database.transaction(TABLE, 'readwrite', { durability: 'strict' });
    const done = new Promise<void>((resolve, reject) => {
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error('given up'));
    });
    const table = transaction.objectStore(TABLE);
    let isOther = false;
    const get = table.get(this.name);
    get.onsuccess = () => {
      const row = get.result as Row | undefined;
      isOther = (row?.generation ?? 0) !== expected;
      if (isOther) transaction.abort();
      else table.put({ generation: expected + 1, bytes }, this.name);
    };
    try {
      await done;
    } catch (cause) {
      const where = { call: STORE, part: JSON.stringify(this.name) };
      if (isOther) {
        const refusal = {
          parameter: 'name',
          constraint: 'must not be in use',
          value: 'one that was saved elsewhere; load it again',
        };
        throw makeError('store_in_use', where, refusal, cause);
      }
      const refusal = { parameter: 'name', constraint: 'could not be saved' };
      throw makeError('store_failed', where, refusal, cause);
    }
    this.generation = expected + 1;
  }
}
