// SPDX-License-Identifier: Apache-2.0

// Runs the tests beside this file, two files at a time and the largest first. In the order of their
// names, as `node --test` has it, a long one comes last, and runs while the other processor idles.
//
//   usage: node tests/browser/run.mjs

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { tap } from 'node:test/reporters';

const folder = import.meta.dirname;
const files = readdirSync(folder)
  .filter((name) => name.endsWith('.test.mjs'))
  .map((name) => join(folder, name))
  .sort((a, b) => statSync(b).size - statSync(a).size);
const results = run({ files, concurrency: 2 });
results.on('test:fail', () => {
  process.exitCode = 1;
});
results.compose(tap).pipe(process.stdout);
