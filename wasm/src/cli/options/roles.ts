// SPDX-License-Identifier: Apache-2.0

// Refuses a file with two roles, where writing one would overwrite an input or kept state.

import { existsSync, fstatSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Args } from './args.js';
import { Misuse } from '../base/failure.js';

/** Options whose files are written. */
const WRITTEN = ['output', 'model', 'plot', 'state', 'budget'];
/** Options whose files temporarily have FILE.new and FILE.lock beside them. */
const KEPT = ['state', 'budget'];
const READ = ['strategy', 'test', 'query-weights'];
/** Options whose values are files. */
export const FILE_OPTIONS: readonly string[] = [...WRITTEN, ...READ, 'workload'];
/** Names that always mean workloads, even if there are files with these names. */
const NAMES = ['prefix', 'ranges', 'identity'];

interface Role {
  name: string;
  /** Identity of the file, equal for all paths to it. */
  file: string;
  isWritten: boolean;
}

/** Identifies a file by device and inode or, before it exists, by its resolved path. */
async function identify(path: string): Promise<string> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    const folder = dirname(resolve(path));
    return join(await realpath(folder).catch(() => folder), basename(path));
  }
}

/** The file that standard input is redirected from, if any. */
function standardInput(): Role[] {
  try {
    const found = fstatSync(0, { bigint: true });
    if (!found.isFile()) return [];
    return [{ name: 'standard input', file: `${found.dev} ${found.ino}`, isWritten: false }];
  } catch {
    return []; // Standard input is closed.
  }
}

/** Existing files that a --workload value may refer to. */
function workloadFiles(text: string): string[] {
  const parts = [text, ...text.split('+'), text.replace(/,momentum=[^,]*$/, '')];
  return [...new Set(parts)].filter((part) => !NAMES.includes(part) && existsSync(part));
}

async function rolesOf(command: string, args: Args): Promise<Role[]> {
  const roles: Promise<Role>[] = [];
  const add = async (name: string, path: string, isWritten: boolean): Promise<Role> => ({
    name,
    file: await identify(path),
    isWritten,
  });
  // dp-ftrl learn writes the model, dp-ftrl predict reads it.
  const isRead = (option: string) => command === 'predict' && option === 'model';
  for (const option of WRITTEN.filter((each) => !isRead(each))) {
    for (const path of args.texts(option)) {
      roles.push(add(`--${option} ${path}`, path, true));
      if (!KEPT.includes(option)) continue;
      const place = await realpath(path).catch(() => path);
      for (const end of ['new', 'lock']) {
        roles.push(add(`FILE.${end} of --${option} ${path}`, `${place}.${end}`, true));
      }
    }
  }
  for (const option of [...READ, ...WRITTEN.filter(isRead)]) {
    for (const path of args.texts(option)) roles.push(add(`--${option} ${path}`, path, false));
  }
  for (const path of args.texts('workload').flatMap(workloadFiles)) {
    roles.push(add(`--workload ${path}`, path, false));
  }
  const files = args.files.filter((path) => path !== '-');
  for (const path of files) roles.push(add(path, path, false));
  return [...(await Promise.all(roles)), ...(files.length === 0 ? standardInput() : [])];
}

/** @throws Misuse if a model would be tested on its training rows without --show-nonprivate. */
function requireHeldOut(roles: readonly Role[], args: Args): void {
  const test = roles.find(({ name }) => name.startsWith('--test '));
  if (!test || args.has('show-nonprivate')) return;
  if (roles.filter(({ file }) => file === test.file).length > 1) {
    const why = 'to measure a model on the rows it was learned from, add --show-nonprivate';
    throw new Misuse(`${test.name} is the table itself: ${why}`);
  }
}

/**
 * @throws Misuse for an empty file name, and for a file that is written and has another role; the
 *   message names both roles.
 */
export async function requireOneRoleEach(command: string, args: Args): Promise<void> {
  const nameless = [...WRITTEN, ...READ].find((option) => args.texts(option).includes(''));
  if (nameless !== undefined) throw new Misuse(`--${nameless} must be the name of a file, got ""`);
  const roles = await rolesOf(command, args);
  roles.forEach((role, i) => {
    const other = roles
      .slice(i + 1)
      .find(({ file, isWritten }) => file === role.file && (isWritten || role.isWritten));
    if (other) throw new Misuse(`${role.name} and ${other.name} are the same file`);
  });
  requireHeldOut(roles, args);
}
