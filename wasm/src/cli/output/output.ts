// SPDX-License-Identifier: Apache-2.0

// Destinations of results: standard output, or a file that is written atomically.

import { randomBytes } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { open, realpath, rename, stat, unlink, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { hasCode, permit, syncFolder, systemReason } from '../../stores/files.js';
import type { Permissions } from '../../stores/files.js';
import { Misuse } from '../base/failure.js';
import { SIGNALS } from '../base/signals.js';

export interface Sink {
  write(text: string): Promise<void>;
  /** Completes the output after everything was written. */
  commit(): Promise<void>;
  /**
   * Ends the output after a failure: no file appears, but text already on standard output stays.
   */
  abandon(): Promise<void>;
  /** How much of the output may have been seen. */
  readonly seen: 'nothing' | 'part' | 'whole';
}

/** Error for a destination that cannot be written. */
function writeError(where: string, cause: unknown): Error {
  const { code } = cause as NodeJS.ErrnoException;
  return Object.assign(new Error(`${where}: ${systemReason(cause)}`, { cause }), { code });
}

/** Thrown when the reader has closed our output; ends the command silently unless `mustBeSaid`. */
export class ClosedPipe extends Error {
  mustBeSaid = false;

  constructor() {
    super('the output was closed');
  }
}

export class StandardOutput implements Sink {
  seen: Sink['seen'] = 'nothing';

  write(text: string): Promise<void> {
    this.seen = 'part';
    // The callback runs once the text has been passed on, so a slow reader slows us down.
    return new Promise((resolve, reject) => {
      process.stdout.write(text, (error) => {
        if (!error) resolve();
        else
          reject(hasCode(error, 'EPIPE') ? new ClosedPipe() : writeError('standard output', error));
      });
    });
  }

  async commit(): Promise<void> {
    this.seen = 'whole';
  }

  async abandon(): Promise<void> {}
}

interface FileOptions {
  /** The option that named the file. Default `output`. */
  option?: string | undefined;
  /** Whether other code handles signals for the file. */
  isGuarded?: boolean;
}

export class AtomicFile implements Sink {
  private readonly onSignal = (signal: NodeJS.Signals) => {
    this.unlisten();
    unlinkSync(this.temporary);
    process.kill(process.pid, signal);
  };

  seen: Sink['seen'] = 'nothing';

  private constructor(
    /** The option and the path as typed. */
    private readonly given: string,
    private readonly path: string,
    private readonly temporary: string,
    private readonly file: FileHandle,
    private readonly permissions: Permissions | undefined,
    isGuarded: boolean,
  ) {
    if (isGuarded) return;
    for (const signal of SIGNALS) process.on(signal, this.onSignal);
  }

  static async create(
    given: string,
    { option = 'output', isGuarded = false }: FileOptions = {},
  ): Promise<AtomicFile> {
    let path = given;
    let permissions: Permissions | undefined;
    try {
      path = await realpath(given);
      const existing = await stat(path);
      if (!existing.isFile()) throw new Misuse(`--${option} ${given} is not a regular file`);
      permissions = { mode: existing.mode & 0o777, gid: existing.gid };
    } catch (error) {
      if (error instanceof Misuse) throw error;
      if (!hasCode(error, 'ENOENT', 'ENOTDIR')) throw writeError(`--${option} ${given}`, error);
    }
    const temporary = join(
      dirname(path),
      `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`,
    );
    try {
      // Until complete, the file is readable only by its owner, because whatever others read is
      // released.
      const file = await open(temporary, 'wx', 0o600);
      return new AtomicFile(`--${option} ${given}`, path, temporary, file, permissions, isGuarded);
    } catch (error) {
      if (hasCode(error, 'ENOENT', 'ENOTDIR')) {
        throw new Misuse(`--${option} ${given}: the folder does not exist`);
      }
      if (!hasCode(error, 'EACCES', 'EPERM')) throw writeError(`--${option} ${given}`, error);
      const reason = `no permission to write in ${dirname(given)}`;
      throw new Error(`--${option} ${given}: ${reason}`, { cause: error });
    }
  }

  async write(text: string): Promise<void> {
    try {
      await this.file.writeFile(text);
    } catch (error) {
      throw writeError(this.given, error);
    }
  }

  /** Does nothing when called again. */
  async commit(): Promise<void> {
    if (this.seen === 'whole') return;
    try {
      await this.permitOthers();
      await this.file.sync();
      await this.file.close();
      await rename(this.temporary, this.path);
      this.seen = 'whole';
      this.unlisten();
      await syncFolder(dirname(this.path)); // Now the name is on disk, too.
    } catch (error) {
      throw writeError(this.given, error);
    }
  }

  /** Gives the file the permissions of the one it replaces, or else the default permissions. */
  private async permitOthers(): Promise<void> {
    if (this.permissions) return permit(this.file, this.permissions);
    // Some file systems have no permissions to change.
    await this.file.chmod(0o666 & ~process.umask()).catch(() => {});
  }

  async abandon(): Promise<void> {
    await this.file.close().catch(() => {});
    await unlink(this.temporary).catch(() => {});
    this.unlisten();
  }

  private unlisten(): void {
    for (const signal of SIGNALS) process.off(signal, this.onSignal);
  }
}

/** Refuses a path that cannot be written, before any work begins. */
export async function requireWritable(path: string | undefined, option?: string): Promise<void> {
  if (path !== undefined) await (await AtomicFile.create(path, { option })).abandon();
}

/** Writes the entire output to a sink and commits it. */
export async function writeWhole(sink: Sink, text: string): Promise<void> {
  try {
    await sink.write(text);
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}

/** Writes a file atomically. */
export async function writeFile(
  path: string,
  text: string,
  options: FileOptions = {},
): Promise<void> {
  await writeWhole(await AtomicFile.create(path, options), text);
}
