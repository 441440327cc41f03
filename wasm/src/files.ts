// SPDX-License-Identifier: Apache-2.0

// What a file that must never be two files needs, for Node: one name, one process at a time, and
// bytes that have reached the disk.

import { randomBytes } from 'node:crypto';
import { link, lstat, open, readFile, realpath, rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Only the owner may read: the bytes hold a key and sums. */
const MODE = 0o600;
const INTERVAL_MILLISECONDS = 50;

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return false;
    throw error;
  }
}

/**
 * The one place of a file, however its path leads there; of a new file where it will be. Renaming
 * something over a link would leave two files: one that went on, and one that did not.
 *
 * @throws what `refuse` makes of "a link to nothing", of what is no file, and of a file with
 *   several names (hard links).
 */
export async function placeOf(path: string, refuse: (got: string) => Error): Promise<string> {
  let place: string;
  try {
    place = await realpath(path);
  } catch (error) {
    if (!hasCode(error, 'ENOENT')) throw error;
    if (await isLink(path)) throw refuse('a link to nothing');
    return join(await realpath(dirname(path)), basename(path));
  }
  const found = await stat(place);
  if (!found.isFile()) throw refuse('something else');
  if (found.nlink > 1) throw refuse(`one of ${found.nlink} names (hard links) of a file`);
  return place;
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

/** Makes what was renamed in a folder last. */
export async function syncFolder(folder: string): Promise<void> {
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

/** At any instant the file has whole bytes, the old ones or the new ones; FILE.new is between. */
export async function replaceFile(path: string, bytes: Uint8Array | string): Promise<void> {
  const temporary = `${path}.new`;
  await writeSynced(temporary, bytes);
  await rename(temporary, path);
  await syncFolder(dirname(path));
}

/** What names a process for as long as the machine runs: its number, and where known its start. */
async function nameOf(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may hold anything.
    const started = text.slice(text.lastIndexOf(')') + 2).split(' ')[19];
    return `${pid} ${started}`;
  } catch {
    return `${pid}`;
  }
}

/** Whether the process that wrote a lock still runs. */
async function isAlive(owner: string): Promise<boolean> {
  const pid = Number(owner.split(' ')[0]);
  if (!Number.isInteger(pid) || pid < 1) return true; // not written by us: nobody knows
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false;
  }
  const now = await nameOf(pid);
  return now === owner || !now.includes(' ') || !owner.includes(' ');
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

/** Removes the lock of a process that no longer runs; gives the owner of one that has to stay. */
async function takeAway(lock: string): Promise<string | undefined> {
  try {
    const owner = await readFile(lock, 'utf8');
    if (await isAlive(owner)) return owner;
    // Renamed first: of two that find it stale one gets it, and looks at what it got.
    const aside = `${lock}.${randomBytes(6).toString('hex')}`;
    await rename(lock, aside);
    const taken = await readFile(aside, 'utf8');
    if (taken === owner) {
      await unlink(aside);
      return undefined;
    }
    // The other one was quicker, and this is its new lock.
    await rename(aside, lock);
    return taken;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

export interface LockOptions {
  /** How long to wait for a process that runs, in milliseconds. */
  patience: number;
  /** The error for the owner that it stayed with: "process 7". */
  refuse: (who: string, lock: string) => Error;
}

/** FILE.lock: this process has the file. The lock of a process that is gone is taken over. */
export class FileLock {
  private constructor(private readonly path: string) {}

  static async take(file: string, { patience, refuse }: LockOptions): Promise<FileLock> {
    const lock = `${file}.lock`;
    const own = await nameOf(process.pid);
    const end = performance.now() + patience;
    for (;;) {
      if (await createLock(lock, own)) return new FileLock(lock);
      const owner = await takeAway(lock);
      if (owner === undefined) continue;
      if (performance.now() >= end) throw refuse(`process ${owner.split(' ')[0]}`, lock);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MILLISECONDS));
    }
  }

  async release(): Promise<void> {
    await unlink(this.path);
  }
}
