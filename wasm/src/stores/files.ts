// SPDX-License-Identifier: Apache-2.0

// Operations, for Node, on a file that must never be two files: one name, one process at a time,
// and bytes that have reached the disk.

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

/** Explains error codes of the file system. */
const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EFBIG: 'the file would be too large',
};

/** Returns why the file system refused, in words, if it is a common reason. */
export function commonReason(error: unknown): string | undefined {
  return REFUSALS[(error as NodeJS.ErrnoException).code ?? ''];
}

/**
 * Returns why the file system refused, with the code if there is one: "the disk is full: ENOSPC".
 */
export function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  const words = commonReason(error);
  return words === undefined ? message : `${words}: ${code}`;
}

/** True if there was no room for more. Bytes written before are unchanged. */
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
 * Returns the real path of a file, or of a new file that will be there. Renaming something over a
 * link would leave two files, only one of which continues.
 *
 * @throws what `refuse` returns for "a link to nothing", for something that is not a file, and for
 *   a file with several names (hard links).
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

/** Access to a file: a mode, and the group that the mode refers to. */
export interface Permissions {
  mode: number;
  gid: number;
}

/**
 * Gives a file the permissions of another, regardless of the umask of this process; without rights
 * for the group if the group cannot be set.
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
 * Writes a new file, never an existing one, and syncs it. Only the owner has access, unless
 * permissions are given.
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
    // A partial file is useless, and takes up room on a full disk.
    await removeQuietly(path);
    throw error;
  }
}

/** Removes a useless file without an error of its own, so that an earlier error can be reported. */
async function removeQuietly(path: string): Promise<void> {
  await rm(path, { force: true }).catch(() => undefined);
}

/** Syncs a folder, so that a rename in it is durable. */
export async function syncFolder(folder: string): Promise<void> {
  let handle;
  try {
    handle = await open(folder, 'r');
    await handle.sync();
  } catch (error) {
    // Windows cannot open folders; its file system makes renames durable itself.
    if (!hasCode(error, 'EPERM', 'EISDIR', 'EACCES', 'EINVAL')) throw error;
  } finally {
    await handle?.close();
  }
}

/** Returns the permissions of a file; undefined if there is none. */
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
 * Replaces a file by way of FILE.new: at any instant it holds all the old bytes or all the new
 * ones. Only the owner has access, unless permissions are given.
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array | string,
  permissions?: Permissions,
): Promise<void> {
  const temporary = `${path}.new`;
  // Removes what a crash left, so that neither a link nor old permissions are reused.
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

/** Returns when a process began, in the system's units, or "-" if that is unknown. */
async function startOf(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may contain anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '-';
  } catch {
    return '-';
  }
}

/**
 * Returns the content of a lock: id and start of its process, and a word that is unique to the
 * lock.
 */
async function nameLock(): Promise<string> {
  return `${process.pid} ${await startOf(process.pid)} ${randomBytes(12).toString('hex')}`;
}

/** True unless the process that wrote a lock is known to be gone. */
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

/** Returns the text of a file; undefined if there is none. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Creates the lock with all its content at once; false if there already is one. */
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
 * Replaces the lock of a process that is gone by ours. Among all that find it, only the process
 * whose claim on this very lock exists may do so or, if that process died, the one with the next
 * claim. There is a lock at every moment, and none is ever put back.
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
  /** Milliseconds to wait for a process that runs. */
  patience: number;
  /** Returns the error for the process that still has the lock: "process 7". */
  refuse: (who: string, lock: string) => Error;
}

/**
 * FILE.lock, the mark that this process has the file. It replaces the lock of a process that is
 * gone.
 */
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
      // If the owner is gone, another process is about to take over its lock.
      const isOver = performance.now() >= end;
      if (isOver && !isGone) throw refuse(`process ${owner.split(' ')[0]}`, lock);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MILLISECONDS));
    }
  }

  /** Removes only our own lock: if someone removed it by hand, another one may be in its place. */
  async release(): Promise<void> {
    if ((await readText(this.path)) === this.own) await unlink(this.path);
  }
}
