// SPDX-License-Identifier: Apache-2.0

// Operations on a file that must never be two files, for Node: one name, one process at a time, and
// bytes that have reached the disk.

import { createHash, randomBytes } from 'node:crypto';
import { link, lstat, open, readFile, realpath, rename, rm, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Only the owner may read: the bytes hold a key and sums. */
const MODE = 0o600;
const INTERVAL_MILLISECONDS = 50;

export const IN_A_FOLDER = 'must be in a folder that exists';

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Says what a file system lacks. */
const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EFBIG: 'the file would be too large',
};

/** Why the file system refused, with its code where there is one: "the disk is full: ENOSPC". */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const words = code === undefined ? undefined : REFUSALS[code];
  return words === undefined ? message : `${words}: ${code}`;
}

/** Whether there was no room for more. What had been written before is as it was. */
export function isFull(error: unknown): boolean {
  return hasCode(error, 'ENOSPC', 'EDQUOT', 'EFBIG');
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

/** Access to a file: a mode, and the group that it speaks of. */
export interface Permissions {
  mode: number;
  gid: number;
}

/**
 * Lets the same people use a file as another, whatever the mask of this process; without rights for
 * its group where the group cannot be given.
 */
export async function permit(file: FileHandle, { mode, gid }: Permissions): Promise<void> {
  const hasGroup =
    (await file.stat()).gid === gid ||
    (await file.chown((await file.stat()).uid, gid).then(
      () => true,
      () => false,
    ));
  await file.chmod(hasGroup ? mode : mode & 0o707);
}

/**
 * Writes what is to last into a new file, never into what is there: for the owner only, unless
 * there are permissions.
 */
async function writeSynced(
  path: string,
  bytes: Uint8Array | string,
  permissions?: Permissions,
): Promise<void> {
  const handle = await open(path, 'wx', MODE);
  try {
    try {
      if (permissions) await permit(handle, permissions);
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
  } catch (error) {
    // A part of the bytes is of no use, and on a full disk in the way.
    await removeQuietly(path);
    throw error;
  }
}

/** Removes a file that is of no use, where another error is to be told. */
async function removeQuietly(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
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

/** Permissions of a file; undefined where there is none. */
export async function permissionsOf(path: string): Promise<Permissions | undefined> {
  try {
    const { mode, gid } = await stat(path);
    return { mode: mode & 0o777, gid };
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * At any instant the file has whole bytes, the old ones or the new ones; FILE.new is between. It is
 * for the owner only, unless there are permissions.
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array | string,
  permissions?: Permissions,
): Promise<void> {
  const temporary = `${path}.new`;
  // Removes what a crash left: nothing that is there is reused, neither a link nor permissions.
  await rm(temporary, { force: true });
  await writeSynced(temporary, bytes, permissions);
  try {
    await rename(temporary, path);
  } catch (error) {
    await removeQuietly(temporary);
    throw error;
  }
  await syncFolder(dirname(path));
}

/** When a process began, in the units of the system, where that can be known; else "-". */
async function startOf(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may hold anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '-';
  } catch {
    return '-';
  }
}

/** Content of a lock: number and start of its process, and a word that no other lock has. */
async function nameLock(): Promise<string> {
  return `${process.pid} ${await startOf(process.pid)} ${randomBytes(12).toString('hex')}`;
}

/** Whether the process that wrote a lock still runs. */
async function isAlive(owner: string): Promise<boolean> {
  const [number, start = '-'] = owner.split(' ');
  const pid = Number(number);
  if (!Number.isInteger(pid) || pid < 1) return true; // not written by us: unknown
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false;
  }
  const now = await startOf(pid);
  return now === start || now === '-' || start === '-';
}

/** The text of a file; undefined where there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
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

/**
 * Puts our lock in the place of one whose process is gone. Of all that find it one may: the one
 * whose claim on this very lock exists, and after it died the one with the next claim. There is a
 * lock all the time, and none is ever put back.
 */
async function takeOver(lock: string, gone: string, own: string): Promise<boolean> {
  const claims: string[] = [];
  const name = createHash('sha256').update(gone).digest('hex').slice(0, 24);
  for (let k = 1; ; ++k) {
    const claim = `${lock}.${name}.${k}`;
    claims.push(claim);
    if (await createLock(claim, own)) break;
    const other = await readText(claim);
    if (other === undefined || (await isAlive(other))) return false;
  }
  const isStill = (await readText(lock)) === gone;
  if (isStill) {
    const temporary = `${lock}.${randomBytes(6).toString('hex')}`;
    await writeSynced(temporary, own);
    await rename(temporary, lock);
  }
  for (const claim of claims) await rm(claim, { force: true });
  return isStill;
}

export interface LockOptions {
  /** How long to wait for a process that runs, in milliseconds. */
  patience: number;
  /** The error for the owner that it stayed with: "process 7". */
  refuse: (who: string, lock: string) => Error;
}

/** FILE.lock: this process has the file. The lock of a process that is gone is taken over. */
export class FileLock {
  private constructor(
    private readonly path: string,
    private readonly own: string,
  ) {}

  static async take(file: string, { patience, refuse }: LockOptions): Promise<FileLock> {
    const lock = `${file}.lock`;
    const own = await nameLock();
    const end = performance.now() + patience;
    for (;;) {
      if (await createLock(lock, own)) return new FileLock(lock, own);
      const owner = await readText(lock);
      if (owner === undefined) continue;
      const isGone = !(await isAlive(owner));
      if (isGone && (await takeOver(lock, owner, own))) return new FileLock(lock, own);
      // Another process is about to take over the lock of a process that is gone.
      const isOver = performance.now() >= end;
      if (isOver && !isGone) throw refuse(`process ${owner.split(' ')[0]}`, lock);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MILLISECONDS));
    }
  }

  /** Removes only our own lock: one that was removed by hand may have been followed by another. */
  async release(): Promise<void> {
    if ((await readText(this.path)) === this.own) await unlink(this.path);
  }
}
