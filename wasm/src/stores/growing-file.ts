// SPDX-License-Identifier: Apache-2.0

// A file that grows at its end, for Node: appended bytes are on the disk before more follow.

import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { hasCode } from './files.js';

/** Number of bytes at the end that are compared: the tag of a frame, and more. */
const COMPARED = 64;

/** Copies the last bytes, which are compared. */
function endOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.subarray(Math.max(0, bytes.length - COMPARED)));
}

export class GrowingFile {
  private constructor(
    private readonly path: string,
    private readonly handle: FileHandle,
    private size: number,
    private end: Buffer,
  ) {}

  /** Opens a file and reads all its bytes. */
  static async open(path: string): Promise<{ file: GrowingFile; bytes: Uint8Array }> {
    const handle = await open(path, 'r+');
    try {
      const bytes = await handle.readFile();
      return { file: new GrowingFile(path, handle, bytes.length, endOf(bytes)), bytes };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /**
   * True if the path still leads to this file, and nothing else has appended to it or truncated it.
   */
  async isSame(): Promise<boolean> {
    const own = await this.handle.stat({ bigint: true });
    try {
      const there = await stat(this.path, { bigint: true });
      if (there.dev !== own.dev || there.ino !== own.ino) return false;
    } catch (error) {
      if (hasCode(error, 'ENOENT')) return false;
      throw error;
    }
    if (own.size !== BigInt(this.size)) return false;
    const { length } = this.end;
    const { buffer } = await this.handle.read(Buffer.alloc(length), 0, length, this.size - length);
    return buffer.equals(this.end);
  }

  /** Resolves once the bytes are on the disk; until then the file may have a part of them. */
  async append(bytes: Uint8Array): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const rest = bytes.length - done;
      done += (await this.handle.write(bytes, done, rest, this.size + done)).bytesWritten;
    }
    await this.handle.sync();
    this.size += bytes.length;
    this.end = endOf(Buffer.concat([this.end, endOf(bytes)]));
  }

  /** Cuts off what a failed `append` left. */
  async cut(): Promise<void> {
    await this.handle.truncate(this.size);
    await this.handle.sync();
  }

  async close(): Promise<void> {
    await this.handle.close();
  }
}
