// SPDX-License-Identifier: Apache-2.0

// dp-ftrl example: prints example tables of the package, so that the guides work in any folder.

import { readdir, readFile } from 'node:fs/promises';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args } from '../options/args.js';
import type { Command } from '../options/command.js';
import { StandardOutput } from '../output/output.js';

export const command: Command = {
  summary: 'example tables to try the other commands on',
  usage: '[NAME]',
  about:
    'Writes an example table to standard output as CSV or, without NAME, the names of all. ' +
    'examples/README.md of the package says what they are and where they come from.',
  options: {},
  examples: [
    'dp-ftrl example shop_day',
    'dp-ftrl example shop_day | dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --columns count',
  ],
  run,
};

const FOLDER = new URL('../examples/', import.meta.url);
const ENDING = '.csv';

async function run(args: Args): Promise<void> {
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
