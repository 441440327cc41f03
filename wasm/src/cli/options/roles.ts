// SPDX-License-Identifier: Apache-2.0

// Refuses a file that is given in two roles, one of which would overwrite an input or kept state.

import { existsSync, fstatSync } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Args } from './args.js';
import { separated } from './list.js';
import { Misuse } from '../base/failure.js';

/** Names that always mean workloads, even if files with these names exist. */
const NAMES = ['prefix', 'ranges', 'identity'];

interface Role {
  name: string;
  /** Identity of the file, which is the same for all paths to it. */
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

/** Existing files to which a value of --workload or --workloads may refer. */
function workloadFiles(text: string): string[] {
  const named = separated(text).map((entry) => entry.replace(/^[^=]*=|"|\+momentum:.*$/g, ''));
  const parts = [text, ...text.split('+'), text.replace(/,momentum=[^,]*$/, ''), ...named];
  return [...new Set(parts)].filter((part) => !NAMES.includes(part) && existsSync(part));
}

/** The files named on a command line, and the role of each. */
function filesOf(args: Args) {
  return Object.entries(args.options).flatMap(([option, { file }]) =>
    file === undefined ? [] : args.texts(option).map((path) => ({ option, file, path })),
  );
}

async function rolesOf(args: Args): Promise<Role[]> {
  const roles: Promise<Role>[] = [];
  const add = async (name: string, path: string, isWritten: boolean): Promise<Role> => ({
    name,
    file: await identify(path),
    isWritten,
  });
  for (const { option, file, path } of filesOf(args)) {
    for (const each of file === 'workload' ? workloadFiles(path) : [path]) {
      roles.push(add(`--${option} ${each}`, each, file === 'written' || file === 'kept'));
    }
    if (file !== 'kept') continue;
    const place = await realpath(path).catch(() => path);
    for (const end of ['new', 'lock']) {
      roles.push(add(`FILE.${end} of --${option} ${path}`, `${place}.${end}`, true));
    }
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
 * @throws Misuse for an empty file name, and for a file that is written but has another role as
 *   well; the message names both roles.
 */
export async function requireOneRoleEach(args: Args): Promise<void> {
  const nameless = filesOf(args).find(({ file, path }) => file !== 'workload' && path === '');
  if (nameless) throw new Misuse(`--${nameless.option} must be the name of a file, got ""`);
  const roles = await rolesOf(args);
  roles.forEach((role, i) => {
    const other = roles
      .slice(i + 1)
      .find(({ file, isWritten }) => file === role.file && (isWritten || role.isWritten));
    if (other) throw new Misuse(`${role.name} and ${other.name} are the same file`);
  });
  requireHeldOut(roles, args);
}
