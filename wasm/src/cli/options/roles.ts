// SPDX-License-Identifier: Apache-2.0

// No file may have two roles: what is written would replace what is read, or what is kept for ever.

import { existsSync, fstatSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Args } from './args.js';
import { Misuse } from '../failure.js';

/** Options whose files are written. */
const WRITTEN = ['output', 'model', 'result', 'plot', 'state', 'budget'];
/** Beside these there are FILE.new and FILE.lock for a while. */
const KEPT = ['state', 'budget'];
const READ = ['strategy', 'test', 'query-weights'];
/** Options whose values are files. */
export const FILE_OPTIONS: readonly string[] = [...WRITTEN, ...READ, 'workload'];
/** Workloads, whatever files are called. */
const NAMES = ['prefix', 'ranges', 'identity'];

interface Role {
  name: string;
  /** Equal for all paths and names of one file. */
  file: string;
  isWritten: boolean;
}

/** A file by its number or, before it exists, by where it will be. */
async function identify(path: string): Promise<string> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    const folder = dirname(resolve(path));
    return join(await realpath(folder).catch(() => folder), basename(path));
  }
}

/** File that standard input was redirected from, if there is one. */
function standardInput(): Role[] {
  try {
    const found = fstatSync(0, { bigint: true });
    if (!found.isFile()) return [];
    return [{ name: 'standard input', file: `${found.dev} ${found.ino}`, isWritten: false }];
  } catch {
    return []; // closed
  }
}

/** The files that a workload may come from. */
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
  // The model is what dp-ftrl learn writes and dp-ftrl predict reads.
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
  // Elsewhere --from is a time, and what has no option a file.
  const isExperiment = command === 'experiment';
  const readHere = [...(isExperiment ? ['from'] : []), ...WRITTEN.filter(isRead)];
  for (const option of [...READ, ...readHere]) {
    for (const path of args.texts(option)) roles.push(add(`--${option} ${path}`, path, false));
  }
  for (const path of args.texts('workload').flatMap(workloadFiles)) {
    roles.push(add(`--workload ${path}`, path, false));
  }
  const files = isExperiment ? [] : args.files.filter((path) => path !== '-');
  for (const path of files) roles.push(add(path, path, false));
  return [...(await Promise.all(roles)), ...(files.length === 0 ? standardInput() : [])];
}

/** @throws Misuse where a model would be measured on the rows it was learned from. */
function requireHeldOut(roles: readonly Role[], args: Args): void {
  const test = roles.find(({ name }) => name.startsWith('--test '));
  if (!test || args.has('show-nonprivate')) return;
  if (roles.filter(({ file }) => file === test.file).length > 1) {
    const why = 'to measure a model on what it was learned from, say --show-nonprivate';
    throw new Misuse(`${test.name} is the table itself: ${why}`);
  }
}

/**
 * @throws Misuse for a file without a name, and naming both roles of a file that is written and has
 *   another one.
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
