// SPDX-License-Identifier: Apache-2.0

// dp-ftrl example: prints example tables of the package, so that the guides work in any folder.

import { readdir, readFile } from 'node:fs/promises';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args, Known } from '../options/args.js';
import { StandardOutput } from '../output/output.js';

export const options: Known = {};

const FOLDER = new URL('../examples/', import.meta.url);
const ENDING = '.csv';

export async function run(args: Args): Promise<void> {
  const [name, ...more] = args.files;
  if (more.length > 0) throw new Misuse(`give one example, got ${args.files.length}`);
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(ENDING)).sort();
  const names = files.map((file) => file.slice(0, -ENDING.length));
  const output = new StandardOutput();
  if (name === undefined) return output.write(names.map((each) => `${each}\n`).join(''));
  const wanted = name.endsWith(ENDING) ? name.slice(0, -ENDING.length) : name;
  if (!names.includes(wanted)) throw unknownName('example', name, names);
  await output.write(await readFile(new URL(`${wanted}${ENDING}`, FOLDER), 'utf8'));
}
