// SPDX-License-Identifier: Apache-2.0

// Parts of the command that write files or numbers, without a run of it.

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
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

/** Runs `use` where a method of open files fails with a code of the system. */
async function whereFilesFail(method, code, use) {
  const handle = await fs.open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const whole = prototype[method];
  prototype[method] = async function (...given) {
    // A disk is full after a part of the bytes.
    if (method === 'writeFile') await whole.call(this, given[0].slice(0, 3));
    throw Object.assign(new Error(`${code}: refused, write`), { code, errno: -1, syscall: 'write' });
  };
  try {
    return await use();
  } finally {
    prototype[method] = whole;
  }
}

test('file store: a full disk is named, and nothing is lost', async () => {
  const { FileStore } = await importSource('../file-store.ts');
  const refusals = [
    ['writeFile', 'ENOSPC', /store could not be saved \(the disk is full: ENOSPC\)$/],
    ['sync', 'ENOSPC', /the disk is full: ENOSPC/],
    ['sync', 'EDQUOT', /the disk quota is used up: EDQUOT/],
    ['writeFile', 'EROFS', /the file system is read-only: EROFS/],
    ['writeFile', 'EFBIG', /the file would be too large: EFBIG/],
    ['sync', 'EIO', /store could not be saved \(EIO: refused, write\)$/],
  ];
  const inside = mkdtempSync(join(folder, 'full-'));
  const path = join(inside, 'store');
  const first = await FileStore.open(path);
  await first.save(Uint8Array.of(1, 2, 3, 4, 5));
  await first.close();
  for (const [method, code, message] of refusals) {
    const store = await FileStore.open(path);
    assert.deepEqual(await store.load(), Uint8Array.of(1, 2, 3, 4, 5), 'what was saved is there');
    const save = () => whereFilesFail(method, code, () => store.save(Uint8Array.of(9, 9, 9, 9)));
    await assert.rejects(save, (error) => {
      assert.equal(error.code, 'store_failed');
      assert.match(error.message, message);
      assert.equal(error.cause.code, code);
      return true;
    });
    assert.deepEqual(readdirSync(inside).sort(), ['store', 'store.lock'], 'nothing is left over');
    const again = { code: 'store_failed', message: /saving failed before; close it and open it/ };
    await assert.rejects(store.save(Uint8Array.of(7)), again);
    await store.close();
  }
  // There is room again.
  const last = await FileStore.open(path);
  assert.deepEqual(await last.load(), Uint8Array.of(1, 2, 3, 4, 5));
  await last.save(Uint8Array.of(6));
  await last.close();
  assert.deepEqual([...readFileSync(path)], [6]);
});

test('file store: a disk without room for the lock is named, and the next one gets it', async () => {
  const { FileStore } = await importSource('../file-store.ts');
  const inside = mkdtempSync(join(folder, 'lock-'));
  const path = join(inside, 'store');
  const open = () => whereFilesFail('writeFile', 'ENOSPC', () => FileStore.open(path));
  const message = /^FileStore: .*store could not be opened \(the disk is full: ENOSPC\)$/;
  await assert.rejects(open, { code: 'store_failed', message });
  assert.deepEqual(readdirSync(inside), [], 'no lock, no part of one');
  const store = await FileStore.open(path);
  await store.close();
});

test('files: what cannot take the place of a file is not left beside it', async () => {
  const { replaceFile } = await importSource('../files.ts');
  const inside = mkdtempSync(join(folder, 'place-'));
  mkdirSync(join(inside, 'taken'));
  await assert.rejects(replaceFile(join(inside, 'taken'), 'bytes'), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(inside), ['taken']);
});

test('keys: a key is wiped when its call is over, and the caller keeps his', async () => {
  const { KEY_BYTES, withKey } = await importSource('../key.ts');
  const zeros = new Uint8Array(KEY_BYTES);
  const own = Uint8Array.from({ length: KEY_BYTES }, (_, i) => i + 1);
  const plain = { insecureSeed: undefined, more: 5 };
  for (const given of [undefined, own]) {
    let seen;
    const during = withKey('test', plain, ({ key, more }) => {
      assert.equal(more, 5);
      seen = key;
      return key.slice();
    }, given);
    assert.notDeepEqual(during, zeros, 'it was there');
    if (given) assert.deepEqual(during, own);
    assert.deepEqual(seen, zeros, 'and is gone');
    const broken = ({ key }) => {
      seen = key;
      throw new Error('refused');
    };
    assert.throws(() => withKey('test', plain, broken, given), /refused/);
    assert.deepEqual(seen, zeros, 'after an error, too');
  }
  assert.deepEqual([...own.subarray(0, 3)], [1, 2, 3]);
  const seeded = withKey('test', { insecureSeed: 3n }, ({ key }) => key, own);
  assert.equal(seeded, undefined, 'a seed needs none');
  const message = 'test: key must be random bytes, got zeros';
  assert.throws(() => withKey('test', plain, () => 1, zeros), { code: 'invalid_argument', message });
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
