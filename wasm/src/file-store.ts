// SPDX-License-Identifier: Apache-2.0

/** A store for ledgers in a file, for Node: one process at a time, replaced all or nothing. */

import { randomBytes } from 'node:crypto';
import { link, open, readFile, rename, unlink } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { makeError } from './errors.js';
import type { ReleaseStore } from './types.js';

/** Only the owner may read: the bytes hold a key and sums. */
const MODE = 0o600;

function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** What names a process for as long as the machine runs: its number, and where known its start. */
async function nameOf(pid: number): Promise<string> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may hold anything.
    const started = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return `${pid} ${started}`;
  } catch {
    return `${pid}`;
  }
}

/** Whether the process that wrote a lock still runs. */
async function isAlive(lock: string): Promise<boolean> {
  const pid = Number(lock.split(' ')[0]);
  if (!Number.isInteger(pid) || pid < 1) return true; // not written by us: nobody knows
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false;
  }
  const now = await nameOf(pid);
  return now === lock || !now.includes(' ') || !lock.includes(' ');
}

/** Writes what is to last, for the owner only. */
async function writeSynced(path: string, bytes: Uint8Array | string): Promise<void> {
  const handle = await open(path, 'w', MODE);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Creates the lock with its whole content, or finds that there is one. */
async function createLock(lock: string, own: string): Promise<boolean> {
  const temporary = `${lock}.${randomBytes(6).toString('hex')}`;
  await writeSynced(temporary, own);
  try {
    await link(temporary, lock);
    return true;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
    return false;
  } finally {
    await unlink(temporary);
  }
}

async function syncFolder(folder: string): Promise<void> {
  let handle;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    // Windows opens no folders; there renaming is made to last by the file system itself.
    if (!hasCode(error, 'EPERM', 'EISDIR', 'EACCES', 'EINVAL')) throw error;
  } finally {
    await handle?.close();
  }
}

/**
 * A file, beside it FILE.lock while it is open and FILE.new while it is replaced. Saving writes
 * FILE.new, syncs it, renames it to FILE and syncs the folder: at any instant there are whole
 * bytes, the old ones or the new ones.
 *
 * A lock whose process no longer runs is taken over. Processes that share the file must see each
 * other's numbers (one machine, one container), and the file system must know hard links.
 */
export class FileStore implements ReleaseStore {
  private isOpen = true;
  private failed: unknown;

  private constructor(private readonly path: string) {}

  /**
   * Opens the file, which need not exist yet, for this process alone.
   *
   * @throws DpError `store_in_use` while another process, or this one, has it open.
   */
  static async open(path: string): Promise<FileStore> {
    const full = resolve(path);
    const lock = `${full}.lock`;
    const own = await nameOf(process.pid);
    const refuse = (who: string) =>
      makeError(
        'store_in_use',
        `FileStore: ${path} must not be in use, got one that ${who} has (${lock})`,
      );
    for (;;) {
      if (await createLock(lock, own)) return new FileStore(full);
      await takeAway(lock, refuse);
    }
  }

  async load(): Promise<Uint8Array | undefined> {
    this.requireOpen();
    try {
      return new Uint8Array(await readFile(this.path));
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return undefined;
      throw error;
    }
  }

  async save(bytes: Uint8Array): Promise<void> {
    this.requireOpen();
    const temporary = `${this.path}.new`;
    try {
      await writeSynced(temporary, bytes);
      await rename(temporary, this.path);
      await syncFolder(dirname(this.path));
    } catch (error) {
      // What a failed sync left on the disk is unknown, and another sync would not tell.
      this.failed = error;
      throw makeError('store_failed', `FileStore: ${this.path} could not be saved`, error);
    }
  }

  async close(): Promise<void> {
    if (!this.isOpen) return;
    this.isOpen = false;
    await unlink(`${this.path}.lock`);
  }

  private requireOpen(): void {
    if (!this.isOpen) throw makeError('disposed', 'FileStore: this store was closed');
    if (this.failed === undefined) return;
    const what = 'saving failed before; close it and open it again';
    throw makeError('store_failed', `FileStore: ${this.path}: ${what}`, this.failed);
  }
}

/** Removes the lock of a process that no longer runs. */
async function takeAway(lock: string, refuse: (who: string) => Error): Promise<void> {
  let owner;
  try {
    owner = await readFile(lock, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  if (await isAlive(owner)) throw refuse(`process ${owner.split(' ')[0]}`);
  // Renamed first: of two that find it stale one gets it, and looks at what it got.
  const aside = `${lock}.${randomBytes(6).toString('hex')}`;
  try {
    await rename(lock, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const taken = await readFile(aside, 'utf8');
  if (taken !== owner) {
    // The other one was quicker, and this is its new lock.
    await rename(aside, lock);
    throw refuse(`process ${taken.split(' ')[0]}`);
  }
  await unlink(aside);
}
