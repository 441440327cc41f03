// SPDX-License-Identifier: Apache-2.0

// Parts of the command that write files or numbers, without a run of it.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { importSource } from './support/sources.mjs';

const folder = mkdtempSync(join(tmpdir(), 'dp-ftrl-files-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `use` where opening a folder fails with a code, as it does on Windows. */
async function withoutFolders(code, use) {
  const { open } = fs;
  fs.open = (path, ...more) =>
    path === folder ? Promise.reject(Object.assign(new Error(code), { code })) : open(path, ...more);
  syncBuiltinESMExports();
  try {
    await use();
  } finally {
    fs.open = open;
    syncBuiltinESMExports();
  }
}

test('files: where folders cannot be opened, files are replaced all the same', async () => {
  const { writeFile } = await importSource('output.ts');
  const { replaceFile } = await importSource('../files.ts');
  for (const [write, name] of [[writeFile, 'output'], [replaceFile, 'store']]) {
    const path = join(folder, name);
    await withoutFolders('EPERM', () => write(path, 'whole'));
    assert.equal(readFileSync(path, 'utf8'), 'whole');
    await assert.rejects(withoutFolders('EIO', () => write(path, 'more')), { code: 'EIO' });
  }
});

test('numbers: a bound is shown with six digits, and never below itself', async () => {
  const { roundedUp } = await importSource('report.ts');
  const cases = [
    [1.0000004, 1.00001],
    [1.2345674, 1.23457],
    [1.2345676, 1.23457],
    [9.9999991, 10],
    [123456.7, 123457],
    [1.5, 1.5],
    [1.23456, 1.23456],
    [Infinity, Infinity],
  ];
  for (const [bound, shown] of cases) assert.equal(roundedUp(bound), shown);
  for (let bound = 1; bound < 3; bound *= 1.0001) {
    const shown = roundedUp(bound);
    assert.ok(shown >= bound && shown < bound * (1 + 1.1e-5), `${bound}`);
  }
});
