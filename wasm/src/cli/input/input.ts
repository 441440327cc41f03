// SPDX-License-Identifier: Apache-2.0

import { open, stat } from 'node:fs/promises';
import { Misuse, systemReason } from '../failure.js';

/**
 * Bytes that are read at once. Rows of larger pieces outlive the collector's quick rounds, and add
 * 30 MB.
 */
const PIECE = 2 ** 14;

/** So many names say what is meant. */
const MOST_FILES = 4;

function shownFiles(files: readonly string[]): string {
  return [...files.slice(0, MOST_FILES), ...(files.length > MOST_FILES ? ['...'] : [])].join(', ');
}

/** The bytes of the named file, or of standard input. */
export async function openInput(files: readonly string[]): Promise<AsyncIterable<Uint8Array>> {
  if (files.length > 1) {
    const hint = 'join files first; lists such as that of --domain have commas and no spaces';
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

/** True of an input that can be read from the beginning once more. */
export async function isRegularFile(files: readonly string[]): Promise<boolean> {
  const [path] = files;
  return path !== undefined && path !== '-' && (await stat(path)).isFile();
}
