// SPDX-License-Identifier: Apache-2.0

/**
 * A store for ledgers in the browser's IndexedDB, which appends or replaces. Any number of tabs may
 * open a ledger, but only one of them continues it.
 */

import { makeError } from './core/errors.js';
import { joined } from './shared/joined.js';
import type { ReleaseStore } from './types/all.js';
import { StoreQueue } from './stores/store-queue.js';

const STORE = 'IndexedDbStore';
const DATABASE = 'dp-ftrl';
/** Version 1 had no frames; code that only saves whole ledgers would lose them. */
const VERSION = 2;
/** Saved bytes and the generation that saved them, by the ledger's name. */
const BASES = 'ledgers';
/** Bytes appended since, by name and generation, after an empty row for the base itself. */
const FRAMES = 'frames';

interface Base {
  generation: number;
  bytes: Uint8Array;
}

interface Tables {
  bases: IDBObjectStore;
  frames: IDBObjectStore;
}

type FrameKey = [name: string, generation: number];

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error!);
  });
}

function completed(transaction: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error('given up'));
  });
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, VERSION);
  request.onupgradeneeded = () => {
    const { objectStoreNames } = request.result;
    for (const name of [BASES, FRAMES]) {
      if (!objectStoreNames.contains(name)) request.result.createObjectStore(name);
    }
  };
  const opened = settled(request);
  const refused = new Promise<never>((_, reject) => {
    request.onblocked = () => {
      opened.then((database) => database.close()).catch(() => undefined);
      const constraint = 'the database is open in a tab with an older version: close that tab';
      reject(makeError('store_in_use', STORE, { constraint }));
    };
  });
  return Promise.race([opened, refused]);
}

/**
 * One named ledger. Bytes are saved or appended in a transaction that first checks whether another
 * store has done so since this one last read or wrote them: of two tabs that continue from the same
 * bytes, one is refused.
 */
export class IndexedDbStore implements ReleaseStore {
  private readonly queue = new StoreQueue(STORE);
  /**
   * Number of saves and appends up to the one that was read or written last; 0 if there is none.
   */
  private generation = 0;

  private constructor(
    private readonly database: IDBDatabase,
    private readonly name: string,
  ) {
    // Let a page of a later version open the database without waiting for this one.
    database.onversionchange = () => database.close();
  }

  /**
   * Opens the ledger of this name, which need not exist yet.
   *
   * @throws DpError `store_in_use` if a tab has the database open with an older version of this
   *   package, and `store_failed` if there is no IndexedDB, or the browser refuses.
   */
  static async open(name: string): Promise<IndexedDbStore> {
    try {
      return new IndexedDbStore(await openDatabase(), name);
    } catch (cause) {
      if ((cause as { code?: unknown }).code === 'store_in_use') throw cause;
      throw makeError('store_failed', STORE, { constraint: 'the database could not be opened' }, cause);
    }
  }

  /**
   * Returns the bytes saved last, followed by all bytes appended since; undefined if there are
   * none.
   *
   * @throws DpError `disposed` after `close`, and `store_failed` if the browser refuses or has lost
   *   some of the bytes.
   */
  async load(): Promise<Uint8Array | undefined> {
    return this.queue.add(() => this.read());
  }

  /**
   * @throws DpError `store_in_use` if another store has saved or appended since this one read or
   *   wrote, `disposed` after `close`, and `store_failed` if the browser refuses.
   */
  async save(bytes: Uint8Array): Promise<void> {
    const { name } = this;
    return this.queue.add(() =>
      this.change(({ bases, frames }, generation) => {
        frames.delete(this.range());
        bases.put({ generation, bytes } satisfies Base, name);
        frames.put(new Uint8Array(), [name, generation] satisfies FrameKey);
      }),
    );
  }

  /** @throws as `save` does, and `store_failed` if there is nothing yet to append to. */
  async append(bytes: Uint8Array): Promise<void> {
    return this.queue.add(async () => {
      if (this.generation === 0) throw this.failed('has nothing yet to append to');
      return this.change(({ frames }, generation) => {
        frames.put(bytes, [this.name, generation] satisfies FrameKey);
      });
    });
  }

  /** Closes the database once a pending save has finished. */
  async close(): Promise<void> {
    return this.queue.close(async () => this.database.close());
  }

  private range(): IDBKeyRange {
    return IDBKeyRange.bound([this.name, 0], [this.name, Infinity]);
  }

  private failed(constraint: string, cause?: unknown): Error {
    const where = { call: STORE, part: JSON.stringify(this.name) };
    return makeError('store_failed', where, { parameter: 'name', constraint }, cause);
  }

  private async read(): Promise<Uint8Array | undefined> {
    let found: [Base | undefined, IDBValidKey[], Uint8Array[]];
    try {
      const { bases, frames } = this.tables(this.database.transaction([BASES, FRAMES], 'readonly'));
      found = await Promise.all([
        settled(bases.get(this.name)),
        settled(frames.getAllKeys(this.range())),
        settled(frames.getAll(this.range())),
      ]);
    } catch (cause) {
      throw this.failed('could not be read', cause);
    }
    const [base, keys, frames] = found;
    const generations = keys.map((key) => (key as FrameKey)[1]);
    const first = base?.generation ?? 0;
    const last = generations.at(-1) ?? first;
    // A base from before there were frames has no row of its own among them.
    const expected = generations[0] === first ? last - first + 1 : last - first;
    if (generations.length !== expected) throw this.failed('lost some of what was appended');
    this.generation = last;
    return base && joined([base.bytes, ...frames]);
  }

  private tables(transaction: IDBTransaction): Tables {
    return { bases: transaction.objectStore(BASES), frames: transaction.objectStore(FRAMES) };
  }

  /**
   * Runs `act` with the next generation, in a transaction that is aborted if others have written
   * since.
   */
  private async change(act: (tables: Tables, generation: number) => void): Promise<void> {
    const expected = this.generation;
    let isOther = false;
    try {
      // 'strict' completes only when the data is on disk; the default may only reach the system's
      // buffers.
      const transaction = this.database.transaction([BASES, FRAMES], 'readwrite', {
        durability: 'strict',
      });
      const tables = this.tables(transaction);
      const compare = (generation: number) => {
        isOther = generation !== expected;
        if (isOther) transaction.abort();
        else act(tables, expected + 1);
      };
      const last = tables.frames.openKeyCursor(this.range(), 'prev');
      last.onsuccess = () => {
        if (last.result) return compare((last.result.key as FrameKey)[1]);
        const base = tables.bases.get(this.name);
        base.onsuccess = () => compare((base.result as Base | undefined)?.generation ?? 0);
      };
      await completed(transaction);
    } catch (cause) {
      if (!isOther) throw this.failed('could not be saved', cause);
      const where = { call: STORE, part: JSON.stringify(this.name) };
      const refusal = {
        parameter: 'name',
        constraint: 'must not be in use',
        value: 'one that was saved elsewhere; load it again',
      };
      throw makeError('store_in_use', where, refusal, cause);
    }
    this.generation = expected + 1;
  }
}
