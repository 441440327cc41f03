// SPDX-License-Identifier: Apache-2.0

/** A store for ledgers in the browser's IndexedDB: any number of tabs, of which one goes on. */

import { makeError } from './errors.js';
import type { ReleaseStore } from './types.js';

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
  private generation: number | undefined;

  private constructor(
    private readonly database: IDBDatabase,
    private readonly name: string,
  ) {}

  static async open(name: string): Promise<IndexedDbStore> {
    try {
      return new IndexedDbStore(await openDatabase(), name);
    } catch (cause) {
      throw makeError('store_failed', 'IndexedDbStore: the database could not be opened', cause);
    }
  }

  async load(): Promise<Uint8Array | undefined> {
    const table = this.database.transaction(TABLE, 'readonly').objectStore(TABLE);
    const row = (await settled(table.get(this.name))) as Row | undefined;
    this.generation = row?.generation ?? 0;
    return row?.bytes;
  }

  async save(bytes: Uint8Array): Promise<void> {
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
      else table.put({ generation: expected! + 1, bytes }, this.name);
    };
    try {
      await done;
    } catch (cause) {
      const name = JSON.stringify(this.name);
      if (isOther) {
        const what = 'must not be in use, got one that was saved elsewhere; load it again';
        throw makeError('store_in_use', `IndexedDbStore: ${name} ${what}`, cause);
      }
      throw makeError('store_failed', `IndexedDbStore: ${name} could not be saved`, cause);
    }
    this.generation = expected! + 1;
  }

  async close(): Promise<void> {
    this.database.close();
  }
}
