// SPDX-License-Identifier: Apache-2.0

// Reads JSON files named by options.

import { readFile } from 'node:fs/promises';
import { Misuse } from '../base/failure.js';
import { systemReason } from '../../stores/files.js';
import { doubledKey } from '../base/json.js';

/** Reads the text of a file that an option names. */
export async function readTextFile(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new Misuse(`--${option} ${path}: there is no such file`);
    }
    if (code === 'EISDIR') throw new Misuse(`--${option} ${path} is a folder`);
    throw new Error(`--${option} ${path}: ${systemReason(error)}`, { cause: error });
  }
}

/**
 * Reads the JSON object in a file; its contents are checked where they are used.
 *
 * @param what  the expected object in words, with an article.
 */
export async function readJsonFile(option: string, path: string, what: string): Promise<object> {
  return parseJsonFile(await readTextFile(option, path), { option, path, what });
}

/** Parses the JSON object in the text of a file. */
export function parseJsonFile(
  text: string,
  { option, path, what }: { option: string; path: string; what: string },
): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Misuse(`--${option} ${path} is not JSON: it is damaged, cut short or something else`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Misuse(`--${option} ${path} is not ${what}`);
  }
  const twice = doubledKey(text);
  if (twice !== undefined)
    throw new Misuse(`--${option} ${path} has ${JSON.stringify(twice)} twice`);
  return value;
}
