// SPDX-License-Identifier: Apache-2.0

import { open, stat } from 'node:fs/promises';
import { Misuse } from '../base/failure.js';
import { systemReason } from '../../stores/files.js';

/** Bytes per read. Reads four times as large are slower and need 20 MB more. */
const PIECE = 2 ** 16;

/** Maximum number of file names listed in a message. */
const MOST_FILES = 4;

function shownFiles(files: readonly string[]): string {
  return [...files.slice(0, MOST_FILES), ...(files.length > MOST_FILES ? ['...'] : [])].join(', ');
}

/** Opens the named file, or standard input. */
export async function openInput(files: readonly string[]): Promise<AsyncIterable<Uint8Array>> {
  if (files.length > 1) {
    const hint = 'join files first; lists of values have commas and no spaces';
    throw new Misuse(`one input file at most, got ${files.length}: ${shownFiles(files)}; ${hint}`);
  }
  const [path] = files;
  if (path === undefined || path === '-') return process.stdin;
  try {
    const file = await open(path, 'r');
    if ((await file.stat()).isDirectory()) {
      await file.close();
      throw new Misuse(`${path} is a folder`);
    }
    return file.createReadStream({ highWaterMark: PIECE });
  } catch (error) {
    if (error instanceof Misuse) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') throw new Misuse(`there is no file ${path}`);
    throw new Error(`cannot read ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/** True if the input can be read again from the beginning. */
export async function isRegularFile(files: readonly string[]): Promise<boolean> {
  const [path] = files;
  return path !== undefined && path !== '-' && (await stat(path)).isFile();
}
