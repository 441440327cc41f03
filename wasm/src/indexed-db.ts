// SPDX-License-Identifier: Apache-2.0

/**
 * A store for streams and budgets in the browser's IndexedDB. It appends to the bytes of a name or
 * replaces them. A name is open in one tab or worker at a time; another may open it once the first
 * has closed it or is gone.
 */

import { makeError } from './core/errors.js';
import { joined } from './shared/joined.js';
import { readStoreName } from './stores/store-name.js';
import { StoreQueue } from './stores/store-queue.js';
import type { Store, StoreLease } from './types/all.js';

const STORE = 'IndexedDbStore';
const DATABASE = 'dp-ftrl';
/**
 * Version 1 had no frames. Code of version 1 would lose them, and databases of version 1 are no
 * longer read.
 */
const VERSION = 2;
/** Saved bytes and the generation that saved them, by name. */
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

const CLOSED =
  'was closed by the browser, as when site data is cleared: open it again, with mustExist';

/** Error about a name that is in use. */
function refused(name: string, value: string, cause?: unknown): Error {
  const where = { call: STORE, part: JSON.stringify(name) };
  const refusal = { parameter: 'name', constraint: 'must not be in use', value };
  return makeError('store_in_use', where, refusal, cause);
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

/** The part of `navigator.storage` that is used; older browsers lack it. */
interface StorageManagerPart {
  persisted?(): Promise<boolean>;
  persist?(): Promise<boolean>;
}

/**
 * Asks the browser not to evict the storage of this site. Workers can only query whether it agreed.
 */
async function askToPersist(): Promise<boolean> {
  const storage = globalThis.navigator?.storage as StorageManagerPart | undefined;
  try {
    return Boolean((await storage?.persisted?.()) || (await storage?.persist?.()));
  } catch {
    return false;
  }
}

/** Holds the lock of a name until `end` is called, or until its tab is gone. */
interface NameLock {
  end: () => void;
}

/** Names the context that holds a lock, if the browser reports it. */
async function holderOf(lock: string): Promise<string> {
  const { held = [] } = await navigator.locks.query();
  const id = held.find(({ name }) => name === lock)?.clientId;
  return id === undefined ? '' : ` (client ${id})`;
}

/** @throws what `refuse` returns if the lock is taken. */
async function lockName(name: string, refuse: (value: string) => Error): Promise<NameLock> {
  // Insecure contexts have no locks; writes check for other writers in any case.
  if (!globalThis.navigator?.locks) return { end: () => undefined };
  const lock = `dp-ftrl ${name}`;
  const end = await new Promise<(() => void) | undefined>((resolve, reject) => {
    const hold = (granted: unknown) =>
      granted ? new Promise<void>((done) => resolve(done)) : resolve(undefined);
    navigator.locks.request(lock, { ifAvailable: true }, hold).catch(reject);
  });
  if (end) return { end };
  const who = await holderOf(lock).catch(() => '');
  throw refuse(`one that a tab or worker of this site has open${who}; close it there first`);
}

function openDatabase(): Promise<IDBDatabase> {
  const request = indexedDB.open(DATABASE, VERSION);
  const opened = settled(request);
  const refused = new Promise<never>((_, reject) => {
    request.onupgradeneeded = ({ oldVersion }) => {
      if (oldVersion === 0) {
        for (const name of [BASES, FRAMES]) request.result.createObjectStore(name);
        return;
      }
      // Keep the content: with an empty database, the same steps would be released a second time.
      request.transaction!.abort();
      const constraint = 'the database must be of this version of the package';
      const value = 'one of an earlier version; delete it to begin anew';
      reject(makeError('bad_state', STORE, { constraint, value }));
    };
    request.onblocked = () => {
      opened.then((database) => database.close()).catch(() => undefined);
      const constraint = 'the database is open in a tab with an older version: close that tab';
      reject(makeError('store_in_use', STORE, { constraint }));
    };
  });
  opened.catch(() => undefined);
  return Promise.race([refused, opened]);
}

/**
 * One named stream or budget, open in one tab or worker at a time where the browser has Web Locks.
 * Bytes are saved or appended in a transaction that first checks whether another store has saved or
 * appended since this one last read or wrote: of two writers that continue from the same bytes, one
 * is refused.
 *
 * The browser may evict what a site stores; a stream then begins anew and releases the same steps a
 * second time. The store asks the browser for persistence, `persisted` resolves to the answer, and
 * `mustExist` in the options of a stream refuses a store that was evicted.
 */
export class IndexedDbStore implements Store {
  /**
   * Resolves to true if the browser has promised not to evict the storage of this site; false if it
   * refused or cannot be asked. It may wait for the user.
   */
  readonly persisted: Promise<boolean> = askToPersist();
  private readonly queue = new StoreQueue(STORE, (value) => refused(this.name, value));
  /**
   * Number of saves and appends up to the last one that was read or written; 0 if there are none.
   */
  private generation = 0;
  /** Rejects if the browser closes the database, after which pending requests never settle. */
  private readonly lost: Promise<never>;
  private isLost = false;
  // Defined by the constructor where the symbol exists; not every browser has it yet.
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;

  private constructor(
    private readonly database: IDBDatabase,
    private readonly name: string,
    private readonly lock: NameLock,
  ) {
    if (typeof Symbol.asyncDispose === 'symbol') {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.close() });
    }
    // Let a page of a later version open the database without waiting for this one.
    database.onversionchange = () => database.close();
    this.lost = new Promise((_, reject) => {
      database.onclose = () => {
        this.isLost = true;
        reject(this.failed(CLOSED));
      };
    });
    this.lost.catch(() => undefined); // Calls report the loss.
  }

  /**
   * Opens the stream or budget of this name, which need not exist yet.
   *
   * @throws TypeError for a name that is not a string.
   * @throws RangeError for a name that does not have 1 to 200 characters, or that has half a
   *   surrogate pair.
   * @throws DpError `store_in_use` while a tab or worker has it open, or a tab has the database
   *   open with an older version of this package; `bad_state` if the database is of an older
   *   version; `store_failed` if there is no IndexedDB, or the browser refuses.
   */
  static async open(name: string): Promise<IndexedDbStore> {
    const known = readStoreName(STORE, name);
    let lock: NameLock | undefined;
    try {
      lock = await lockName(known, (value) => refused(known, value));
      return new IndexedDbStore(await openDatabase(), known, lock);
    } catch (cause) {
      lock?.end();
      const { code } = cause as { code?: unknown };
      if (code === 'store_in_use' || code === 'bad_state') throw cause;
      throw makeError(
        'store_failed',
        STORE,
        { constraint: 'the database could not be opened' },
        cause,
      );
    }
  }

  /**
   * Reads the bytes saved last, followed by all bytes appended since; undefined if there are none.
   *
   * @throws DpError `disposed` after `close`, and `store_failed` if the browser refuses, has closed
   * the database or has lost some of the bytes.
   */
  async load(lease?: StoreLease): Promise<Uint8Array | undefined> {
    return this.queue.load(lease, () => this.unlessLost(() => this.read()));
  }

  /**
   * @throws DpError `store_in_use` if another store has saved or appended since this one read or
   *   wrote, or if another lease has loaded; `disposed` after `close`, and `store_failed` if the
   *   browser refuses, or has closed the database.
   */
  async save(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    const { name } = this;
    return this.write(lease, () =>
      this.change(({ bases, frames }, generation) => {
        frames.delete(this.range());
        bases.put({ generation, bytes } satisfies Base, name);
        frames.put(new Uint8Array(), [name, generation] satisfies FrameKey);
      }),
    );
  }

  /** @throws like `save`, and `store_failed` if there is nothing yet to append to. */
  async append(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    return this.write(lease, async () => {
      if (this.generation === 0) throw this.failed('has nothing yet to append to');
      return this.change(({ frames }, generation) => {
        frames.put(bytes, [this.name, generation] satisfies FrameKey);
      });
    });
  }

  /** Closes the database once a pending save has finished. */
  async close(): Promise<void> {
    return this.queue.close(async () => {
      this.database.close();
      this.lock.end();
    });
  }

  private write(lease: StoreLease | undefined, change: () => Promise<void>): Promise<void> {
    return this.queue.write(lease, () => this.unlessLost(change));
  }

  /** Fails as soon as the browser closes the database. */
  private async unlessLost<T>(act: () => Promise<T>): Promise<T> {
    if (this.isLost) throw this.failed(CLOSED);
    return Promise.race([act(), this.lost]);
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
    const last = generations.at(-1) ?? 0;
    // The base has a row of its own among the frames.
    const expected = base ? last - base.generation + 1 : 0;
    if (generations.length !== expected) throw this.failed('lost some of what was appended');
    this.generation = last;
    return base && joined([base.bytes, ...frames]);
  }

  private tables(transaction: IDBTransaction): Tables {
    return { bases: transaction.objectStore(BASES), frames: transaction.objectStore(FRAMES) };
  }

  /**
   * Runs `act` with the next generation, in a transaction that is aborted if another store has
   * written since this one last read or wrote.
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
      last.onsuccess = () => compare((last.result?.key as FrameKey | undefined)?.[1] ?? 0);
      await completed(transaction);
    } catch (cause) {
      if (!isOther) throw this.failed('could not be saved', cause);
      throw refused(this.name, 'one that was saved elsewhere; load it again', cause);
    }
    this.generation = expected + 1;
  }
}
