// SPDX-License-Identifier: Apache-2.0

/**
 * A store for streams and budgets in a file, for Node. It is open in one process at a time, and
 * appends to the file or replaces it.
 */

import { createHash, type Hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import {
  FileLock,
  hasCode,
  IN_A_FOLDER,
  isFull,
  placeOf,
  reasonOf,
  replaceFile,
} from './stores/files.js';
import { GrowingFile } from './stores/growing-file.js';
import { StoreQueue } from './stores/store-queue.js';
import type { ErrorCode, Refusal, Store, StoreLease } from './types/all.js';

function hashOf(bytes: Uint8Array): Hash {
  return createHash('sha256').update(bytes);
}

/** Digest of the bytes hashed so far; more may follow. */
function digestOf(hash: Hash | undefined): string | undefined {
  return hash?.copy().digest('hex');
}

const NOT_IN_USE = 'must not be in use';

/** Error about the file at `path`. */
function ofFile(code: ErrorCode, path: string, refusal: Refusal, cause?: unknown): Error {
  const where = { call: 'FileStore', part: path };
  return makeError(code, where, { parameter: 'path', ...refusal }, cause);
}

/**
 * A stream's file, with FILE.lock beside it while it is open and FILE.new while it is replaced.
 * Saving writes FILE.new, syncs it, renames it to FILE and syncs the folder, so at any instant the
 * file holds all the old bytes or all the new ones. Appending writes after the existing bytes and
 * syncs the file. Both first check that the file still has the bytes that this store last read or
 * wrote: saving compares all of them, appending compares the file's inode number, its length and
 * its last bytes.
 *
 * A path through symbolic links refers to the file they lead to. A file with several names (hard
 * links) is refused, because only one of the names would be updated.
 *
 * A lock whose process no longer runs is taken over. Processes that share the file must see each
 * other's process ids (one machine, one container), and the file system must support hard links.
 */
export class FileStore implements Store {
  private readonly queue = new StoreQueue('FileStore', (value) => this.inUse(value));
  /** Hash of the bytes last read or written; undefined without a file. */
  private seen: Hash | undefined;
  /** The file opened for appending; undefined until something is appended. */
  private growing: GrowingFile | undefined;
  private failed: unknown;

  private constructor(
    private readonly path: string,
    private readonly unlock: () => Promise<void>,
  ) {
    // JavaScript can call a private constructor, and would get a store without a lock.
    if (typeof unlock === 'function') return;
    const constraint = 'must be opened by FileStore.open, which locks the file';
    const value = 'new FileStore';
    throw makeError('invalid_argument', 'FileStore', { parameter: 'path', constraint, value });
  }

  /**
   * Opens the file for this process alone; it need not exist yet.
   *
   * @throws TypeError for a path that is not a string.
   * @throws DpError `store_in_use` while another process, or this one, has it open.
   * @throws RangeError for an empty path, for a link to nothing, for a file with several names, and
   *   if the folder does not exist.
   * @throws DpError `store_failed` if the file system refuses, with its error as `cause`.
   */
  static async open(path: string): Promise<FileStore> {
    if (typeof path !== 'string') throw wrongType('FileStore', 'path', 'a string', path);
    if (path === '') {
      const constraint = 'must be the name of a file';
      throw makeError('invalid_argument', 'FileStore', {
        parameter: 'path',
        constraint,
        value: '""',
      });
    }
    try {
      return await FileStore.lock(path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).syscall === undefined) throw error;
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) {
        const about = { parameter: 'path', constraint: IN_A_FOLDER, value: JSON.stringify(path) };
        throw makeError('invalid_argument', 'FileStore', about, error);
      }
      const constraint = `could not be opened (${reasonOf(error)})`;
      throw ofFile('store_failed', path, { constraint }, error);
    }
  }

  private static async lock(path: string): Promise<FileStore> {
    const place = await placeOf(path, (value) => {
      const constraint = 'must be a file of one name, or the name of a new one';
      return ofFile('invalid_argument', path, { constraint, value });
    });
    const refuse = (who: string, lock: string) =>
      ofFile('store_in_use', path, {
        constraint: NOT_IN_USE,
        value: `one that ${who} has (${lock})`,
      });
    const lock = await FileLock.take(place, { patience: 0, refuse });
    return new FileStore(place, () => lock.release());
  }

  /**
   * Reads the file, and replaces it with a synced copy; undefined if there is no file.
   * @throws like `save`.
   */
  async load(lease?: StoreLease): Promise<Uint8Array | undefined> {
    return this.queue.load(lease, async () => {
      this.requireUsable();
      await this.endGrowing();
      const bytes = await this.read();
      this.seen = bytes && hashOf(bytes);
      // After a killed process or a failed sync, bytes may be in the system's memory only.
      if (bytes) await this.change(() => replaceFile(this.path, bytes));
      return bytes;
    });
  }

  /**
   * @throws DpError `store_in_use` if the file is not what this store last read or wrote, or if
   *   another lease has loaded it since; `disposed` after `close`, and `store_failed` if the file
   *   system refuses: the message has the reason (a full disk, a quota, a read-only file system),
   *   `cause` the error. The file then holds all the old bytes or all the new ones, and FILE.new is
   *   gone. After a full disk the store can be used again; after other errors it has to be opened
   *   again.
   */
  async save(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    return this.write(lease, async () => {
      await this.endGrowing();
      await this.requireSame();
      await replaceFile(this.path, bytes);
      this.seen = hashOf(bytes);
    });
  }

  /** Throws like `save`; the file then holds the old bytes and perhaps a part of the new bytes. */
  async append(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    return this.write(lease, async () => {
      const file = (this.growing ??= await this.grow());
      if (!(await file.isSame())) throw this.changed();
      try {
        await file.append(bytes);
      } catch (error) {
        if (isFull(error)) await file.cut();
        throw error;
      }
      this.seen!.update(bytes);
    });
  }

  /** Closes the store, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Releases the file once a pending save has finished. */
  async close(): Promise<void> {
    return this.queue.close(async () => {
      try {
        await this.endGrowing();
      } finally {
        await this.unlock();
      }
    });
  }

  /** Changes the file after all earlier operations. */
  private async write(lease: StoreLease | undefined, change: () => Promise<void>): Promise<void> {
    return this.queue.write(lease, () => this.change(change));
  }

  private async change(change: () => Promise<void>): Promise<void> {
    this.requireUsable();
    try {
      await change();
    } catch (error) {
      // After a failed sync the contents of the disk are unknown, and another sync would not reveal
      // them.
      if (!isFull(error)) this.failed = error;
      if (hasCode(error, 'store_in_use')) throw error;
      const constraint = `could not be saved (${reasonOf(error)})`;
      throw ofFile('store_failed', this.path, { constraint }, error);
    }
  }

  /** Opens the file for appending, if it holds what this store last read or wrote. */
  private async grow(): Promise<GrowingFile> {
    const { file, bytes } = await GrowingFile.open(this.path).catch((error: unknown) => {
      throw hasCode(error, 'ENOENT') ? this.changed() : error;
    });
    if (digestOf(hashOf(bytes)) === digestOf(this.seen)) return file;
    await file.close();
    throw this.changed();
  }

  private async endGrowing(): Promise<void> {
    const file = this.growing;
    this.growing = undefined;
    await file?.close();
  }

  private async read(): Promise<Uint8Array | undefined> {
    try {
      return new Uint8Array(await readFile(this.path));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  /**
   * Throws if the file has changed: a process that saved here without this lock has released steps
   * that this store does not know.
   */
  private async requireSame(): Promise<void> {
    const bytes = await this.read();
    if (digestOf(bytes && hashOf(bytes)) !== digestOf(this.seen)) throw this.changed();
  }

  private changed(): Error {
    return this.inUse(
      'one that others saved or removed since it was read; close it and open it again',
    );
  }

  private inUse(value: string): Error {
    return ofFile('store_in_use', this.path, { constraint: NOT_IN_USE, value });
  }

  private requireUsable(): void {
    if (this.failed === undefined) return;
    const constraint = 'could not be saved before; close it and open it again';
    throw ofFile('store_failed', this.path, { constraint }, this.failed);
  }
}
