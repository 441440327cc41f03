// SPDX-License-Identifier: Apache-2.0

// Runs the tests of a folder, two files at a time and the largest first. In alphabetical order, as
// in `node --test`, a long file comes last and runs while the other processor idles. A file in
// which the browser stopped drawing a page runs once more.
//
//   usage: node tests/run.mjs FOLDER

import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { run } from 'node:test';
import { tap } from 'node:test/reporters';
import { inspect } from 'node:util';
import { STALLED } from './browser/stalled.mjs';

/**
 * Runs files and returns those with failures: file -> whether the browser stopped drawing in it.
 */
async function failuresOf(files) {
  const failures = new Map();
  const results = run({ files, concurrency: 2, timeout: 1_800_000 });
  results.on('test:fail', ({ file, details }) => {
    const isStalled = inspect(details.error).includes(STALLED);
    failures.set(file, isStalled || failures.get(file) === true);
  });
  const printed = results.compose(tap);
  printed.pipe(process.stdout, { end: false });
  await once(printed, 'end');
  return failures;
}

const [, , folder] = process.argv;
if (folder === undefined) throw new Error('usage: node tests/run.mjs FOLDER');
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.test.mjs'))
  .map((name) => join(folder, name))
  .sort((a, b) => statSync(b).size - statSync(a).size);
const failures = await failuresOf(files);
const again = [...failures.keys()].filter((file) => failures.get(file));
if (again.length > 0) {
  console.log(`# ${STALLED} in ${again.map((file) => basename(file)).join(', ')}: once more`);
}
const left = again.length > 0 ? await failuresOf(again) : new Map();
process.exitCode = left.size > 0 || again.length < failures.size ? 1 : 0;
