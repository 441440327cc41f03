// SPDX-License-Identifier: Apache-2.0

// Reads JSON files named by options.

import { readFile } from 'node:fs/promises';
import { Misuse } from '../base/failure.js';
import { doubledKey } from '../base/json.js';

/**
 * Reads the JSON object in a file; its contents are checked where it is used.
 *
 * @param what  expected object, in words with an article.
 */
export async function readJsonFile(option: string, path: string, what: string): Promise<object> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new Misuse(`--${option} ${path}: there is no such file`);
    }
    if (code === 'EISDIR') throw new Misuse(`--${option} ${path} is a folder`);
    throw new Error(`--${option} ${path}: ${message}`, { cause: error });
  }
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
