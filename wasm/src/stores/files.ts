// SPDX-License-Identifier: Apache-2.0

// File operations for Node on a file whose history must never fork: the file has one name and is
// open in one process at a time, and its bytes have reached the disk.

import { createHash, randomBytes } from 'node:crypto';
import { link, lstat, open, readdir, readFile, realpath, rename } from 'node:fs/promises';
import { rm, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { getSystemErrorMap } from 'node:util';

/** Only the owner may read: the bytes contain a key and sums. */
const MODE = 0o600;
const INTERVAL_MILLISECONDS = 50;

export const IN_A_FOLDER = 'must be in a folder that exists';

export function hasCode(error: unknown, ...codes: string[]): boolean {
  return codes.includes((error as NodeJS.ErrnoException | undefined)?.code ?? '');
}

/** Plain words for the system's reasons. */
const REFUSALS: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EFBIG: 'the file would be too large',
};

/** The system's reason alone; an error's message also names the call and the file. */
export function systemReason(error: unknown): string {
  const { code, errno, message } = error as NodeJS.ErrnoException;
  return REFUSALS[code ?? ''] ?? getSystemErrorMap().get(errno ?? 0)?.[1] ?? message;
}

/** The system's reason, with its code if there is one: "the disk is full: ENOSPC". */
export function reasonOf(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  const reason = systemReason(error);
  return code === undefined ? reason : `${reason}: ${code}`;
}

/** True if the disk was full. Bytes written before are unchanged. */
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
 * Real path of a file that exists or will be created. Renaming a file over a link would leave two
 * files, only one of which is updated.
 *
 * @throws what `refuse` returns for "a link to nothing", for something that is not a file, and for
 * a file with several names (hard links).
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
  if (!found.isFile()) throw refuse(found.isDirectory() ? 'a folder' : 'something else');
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
    // A partial file is useless, and takes up space on a full disk.
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

/** Undefined if there is no file. */
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
 * Replaces a file by renaming FILE.new: at any instant it holds all the old bytes or all the new
 * ones. Only the owner has access, unless permissions are given.
 */
export async function replaceFile(
  path: string,
  bytes: Uint8Array | string,
  permissions?: Permissions,
): Promise<void> {
  const temporary = `${path}.new`;
  // Remove what a crash left, so that neither a link nor old permissions are reused.
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

/** Start of a process in the system's units; "-" if unknown. */
async function startOf(pid: number): Promise<string> {
  try {
    const text = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The name of the program is in brackets and may contain anything.
    return text.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? '-';
  } catch {
    return '-';
  }
}

/** Content of a lock: id and start of its process, and a word that is unique to the lock. */
async function nameLock(): Promise<string> {
  return `${process.pid} ${await startOf(process.pid)} ${randomBytes(12).toString('hex')}`;
}

/** True unless the process that wrote a lock is known to be gone. */
async function isAlive(owner: string): Promise<boolean> {
  const [number, start = '-'] = owner.split(' ');
  const pid = Number(number);
  if (!Number.isInteger(pid) || pid < 1) return true; // written by another program: unknown
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!hasCode(error, 'EPERM')) return false;
  }
  const now = await startOf(pid);
  return now === start || now === '-' || start === '-';
}

/** Undefined if there is no file. */
export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/** Creates the lock with all its content at once; false if there already is a lock. */
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
 * Replaces the lock of a process that is gone with ours. Among all processes that find such a lock,
 * only the one that has created the claim on it may replace it or, if that process has died too,
 * the one with the next claim. There is a lock at every moment, and no lock is ever put back.
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

/** Suffixes of temporary files created while taking a lock. */
const ON_THE_WAY = /^\.(?:[0-9a-f]{12}|[0-9a-f]{24}\.\d+)$/;

/** Removes temporary files that dead processes left while taking a lock that is now ours. */
async function removeLeft(lock: string): Promise<void> {
  const [folder, name] = [dirname(lock), basename(lock)];
  const all = await readdir(folder).catch(() => []);
  for (const each of all) {
    if (!each.startsWith(name) || !ON_THE_WAY.test(each.slice(name.length))) continue;
    const path = join(folder, each);
    const owner = await readText(path).catch(() => undefined);
    if (owner !== undefined && !(await isAlive(owner))) await removeQuietly(path);
  }
}

export interface LockOptions {
  /** Milliseconds to wait for a running process. */
  patience: number;
  /** Error for the process that holds the lock: "process 7". */
  refuse: (who: string, lock: string) => Error;
}

/**
 * FILE.lock, which marks the file as this process's. Taking it replaces the lock of a dead process.
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
      const isNew = await createLock(lock, own);
      const owner = isNew ? own : await readText(lock);
      if (owner === undefined) continue;
      const isGone = !isNew && !(await isAlive(owner));
      if (isNew || (isGone && (await takeOver(lock, owner, own)))) {
        await removeLeft(lock);
        return new FileLock(lock, own);
      }
      // If the owner is gone, another process is about to take over its lock.
      const isOver = performance.now() >= end;
      if (isOver && !isGone) throw refuse(`process ${owner.split(' ')[0]}`, lock);
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MILLISECONDS));
    }
  }

  /**
   * Removes only our own lock: another process may have taken over after someone removed it by
   * hand.
   */
  async release(): Promise<void> {
    if ((await readText(this.path)) === this.own) await unlink(this.path);
  }
}
