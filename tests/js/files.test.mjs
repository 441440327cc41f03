// SPDX-License-Identifier: Apache-2.0

// Parts of the command that write files or numbers, tested without running the command.

import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { constants } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { scratchFolder } from './support/scratch.mjs';
import { importSource } from './support/sources.mjs';

const folder = scratchFolder('files');

/** Runs `use` while opening a folder fails with a code, as it does on Windows. */
async function withoutFolders(code, use) {
  const { open } = fs;
  fs.open = (path, ...more) =>
    path === folder
      ? Promise.reject(Object.assign(new Error(code), { code }))
      : open(path, ...more);
  syncBuiltinESMExports();
  try {
    await use();
  } finally {
    fs.open = open;
    syncBuiltinESMExports();
  }
}

test('files: where folders cannot be opened, files are replaced all the same', async () => {
  const { writeFile } = await importSource('cli/output/output.ts');
  const { replaceFile } = await importSource('stores/files.ts');
  for (const [write, name] of [
    [writeFile, 'output'],
    [replaceFile, 'store'],
  ]) {
    const path = join(folder, name);
    await withoutFolders('EPERM', () => write(path, 'whole'));
    assert.equal(readFileSync(path, 'utf8'), 'whole');
    await assert.rejects(
      withoutFolders('EIO', () => write(path, 'more')),
      { code: 'EIO' },
    );
  }
});

/** Records the disk operations of `use` in order, with the names of the files in the folder. */
async function recorded(use) {
  const events = [];
  const { open, rename } = fs;
  const nameOf = (path) => (path === folder ? 'FOLDER' : path.slice(folder.length + 1));
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const { sync, writeFile } = prototype;
  const names = new WeakMap();
  fs.open = async (path, ...more) => {
    const opened = await open(path, ...more);
    names.set(opened, nameOf(path));
    return opened;
  };
  fs.rename = async (from, to) => {
    await rename(from, to);
    events.push(`rename ${nameOf(from)} to ${nameOf(to)}`);
  };
  const recording = (name, real) =>
    async function (...args) {
      const result = await real.apply(this, args);
      events.push(`${name} ${names.get(this)}`);
      return result;
    };
  prototype.sync = recording('sync', sync);
  prototype.writeFile = recording('write', writeFile);
  syncBuiltinESMExports();
  try {
    await use();
  } finally {
    Object.assign(fs, { open, rename });
    Object.assign(prototype, { sync, writeFile });
    syncBuiltinESMExports();
  }
  return events;
}

test('files: bytes are synced before the file is renamed, and the folder is synced afterwards', async () => {
  const { writeFile } = await importSource('cli/output/output.ts');
  const { replaceFile } = await importSource('stores/files.ts');
  for (const [write, name] of [
    [writeFile, 'synced-output'],
    [replaceFile, 'synced-store'],
  ]) {
    for (const text of ['new', 'over the old one']) {
      const events = await recorded(() => write(join(folder, name), text));
      const temporary = events[0].replace('write ', '');
      assert.notEqual(temporary, name);
      const then = [`sync ${temporary}`, `rename ${temporary} to ${name}`, 'sync FOLDER'];
      assert.deepEqual(events, [`write ${temporary}`, ...then]);
      assert.equal(readFileSync(join(folder, name), 'utf8'), text);
    }
  }
});

test('files: a lock is whole and on the disk before it has its name', async () => {
  const { FileLock } = await importSource('stores/files.ts');
  const path = join(folder, 'locked');
  const refuse = (who) => new Error(who);
  const { link } = fs;
  let said;
  fs.link = async (from, to) => {
    said = readFileSync(from, 'utf8');
    return link(from, to);
  };
  let lock;
  let events;
  try {
    events = await recorded(async () => {
      lock = await FileLock.take(path, { patience: 0, refuse });
    });
  } finally {
    fs.link = link;
    syncBuiltinESMExports();
  }
  assert.match(said, new RegExp(`^${process.pid} `));
  assert.equal(readFileSync(`${path}.lock`, 'utf8'), said);
  assert.deepEqual(
    events.map((event) => event.split(' ')[0]),
    ['write', 'sync'],
  );
  // A lock that was removed by hand and replaced by another must not be removed.
  writeFileSync(`${path}.lock`, 'of another process');
  await lock.release();
  assert.ok(existsSync(`${path}.lock`));
  await assert.rejects(FileLock.take(path, { patience: 0, refuse }), /process of/);
  unlinkSync(`${path}.lock`);
});

test('files: a file that another process put in the place of a new one is not written into', async () => {
  const { replaceFile } = await importSource('stores/files.ts');
  const [path, victim] = ['raced', 'victim'].map((name) => join(folder, name));
  writeFileSync(victim, 'mine');
  const { rm } = fs;
  // Acts just after the old file was removed.
  fs.rm = async (...args) => {
    await rm(...args);
    symlinkSync(victim, `${path}.new`);
  };
  syncBuiltinESMExports();
  try {
    await assert.rejects(replaceFile(path, 'secret'), { code: 'EEXIST' });
  } finally {
    fs.rm = rm;
    syncBuiltinESMExports();
  }
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
});

test('files: a replaced file keeps its permissions, and no other group gets them', async () => {
  const { permit, replaceFile, permissionsOf } = await importSource('stores/files.ts');
  const path = join(folder, 'permitted');
  await replaceFile(path, 'first');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  chmodSync(path, 0o640);
  await replaceFile(path, 'second', await permissionsOf(path));
  assert.equal(statSync(path).mode & 0o777, 0o640);
  // If the file's group cannot be set, another group must not get the permissions meant for it.
  const fileOf = (chown) => {
    const file = { stat: async () => ({ uid: 1, gid: 1 }), chown };
    return { ...file, chmod: async (mode) => (fileOf.mode = mode) };
  };
  await permit(
    fileOf(async () => assert.fail()),
    { mode: 0o660, gid: 1 },
  );
  assert.equal(fileOf.mode, 0o660);
  await permit(
    fileOf(async () => {}),
    { mode: 0o664, gid: 2 },
  );
  assert.equal(fileOf.mode, 0o664);
  await permit(
    fileOf(() => Promise.reject(new Error('EPERM'))),
    { mode: 0o664, gid: 2 },
  );
  assert.equal(fileOf.mode, 0o604);
});

/** Runs `use` while a method of open files fails with a system error code. */
async function whereFilesFail(method, code, use) {
  const handle = await fs.open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  const whole = prototype[method];
  prototype[method] = async function (...given) {
    // The disk becomes full after part of the bytes.
    if (method === 'writeFile') await whole.call(this, given[0].slice(0, 3));
    throw Object.assign(new Error(`${code}: refused, write`), {
      code,
      errno: -constants.errno[code],
      syscall: 'write',
    });
  };
  try {
    return await use();
  } finally {
    prototype[method] = whole;
  }
}

test('files: what killed processes left on their way to a lock is removed by the next owner', async () => {
  const { FileLock } = await importSource('stores/files.ts');
  const path = join(mkdtempSync(join(folder, 'left-')), 'store');
  const gone = '999999999 12 word';
  const left = ['0123456789ab', `${'0123456789ab'.repeat(2)}.1`].map(
    (end) => `${path}.lock.${end}`,
  );
  const others = [`${path}.lock.txt`, `${path}.lock.0123456789abc`];
  const alive = `${path}.lock.ba9876543210`;
  for (const name of [...left, ...others]) writeFileSync(name, gone);
  writeFileSync(alive, `${process.pid} - word`);
  const refuse = (who) => new Error(who);
  const lock = await FileLock.take(path, { patience: 0, refuse });
  assert.deepEqual(left.filter(existsSync), []);
  assert.deepEqual([...others, alive].filter(existsSync), [...others, alive]);
  await lock.release();
});

test('file store: one cannot be made without its lock', async () => {
  const { FileStore } = await importSource('file-store.ts');
  const message =
    'FileStore: path must be opened by FileStore.open, which locks the file, got new FileStore';
  assert.throws(() => new FileStore('unlocked.led'), { code: 'invalid_argument', message });
});

test('file store: a full disk is named, and nothing is lost', async () => {
  const { FileStore } = await importSource('file-store.ts');
  const refusals = [
    ['writeFile', 'ENOSPC', /store: path could not be saved \(the disk is full: ENOSPC\)$/],
    ['sync', 'ENOSPC', /the disk is full: ENOSPC/],
    ['sync', 'EDQUOT', /the disk quota is used up: EDQUOT/],
    ['writeFile', 'EROFS', /the file system is read-only: EROFS/],
    ['writeFile', 'EFBIG', /the file would be too large: EFBIG/],
    ['sync', 'EIO', /store: path could not be saved \(i\/o error: EIO\)$/],
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
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code)) {
      // Room may exist for fewer bytes, or later.
      await store.save(Uint8Array.of(1, 2, 3, 4, 5));
    } else {
      const again = {
        code: 'store_failed',
        message: /could not be saved before; close it and open/,
      };
      await assert.rejects(store.save(Uint8Array.of(7)), again);
    }
    await store.close();
  }
  // Room exists again.
  const last = await FileStore.open(path);
  assert.deepEqual(await last.load(), Uint8Array.of(1, 2, 3, 4, 5));
  await last.save(Uint8Array.of(6));
  await last.close();
  assert.deepEqual([...readFileSync(path)], [6]);
});

test('file store: a disk without room for the lock is reported, and opening works once there is room', async () => {
  const { FileStore } = await importSource('file-store.ts');
  const inside = mkdtempSync(join(folder, 'lock-'));
  const path = join(inside, 'store');
  const open = () => whereFilesFail('writeFile', 'ENOSPC', () => FileStore.open(path));
  const message = /^FileStore: .*store: path could not be opened \(the disk is full: ENOSPC\)$/;
  await assert.rejects(open, { code: 'store_failed', message });
  assert.deepEqual(readdirSync(inside), [], 'no lock, no part of one');
  const store = await FileStore.open(path);
  await store.close();
});

test('files: what cannot take the place of a file is not left beside it', async () => {
  const { replaceFile } = await importSource('stores/files.ts');
  const inside = mkdtempSync(join(folder, 'place-'));
  mkdirSync(join(inside, 'taken'));
  await assert.rejects(replaceFile(join(inside, 'taken'), 'bytes'), { code: 'EISDIR' });
  assert.deepEqual(readdirSync(inside), ['taken']);
});

test('keys: a key is wiped when its call is over, and the caller keeps his', async () => {
  const { KEY_BYTES, withKey } = await importSource('core/key.ts');
  const zeros = new Uint8Array(KEY_BYTES);
  const own = Uint8Array.from({ length: KEY_BYTES }, (_, i) => i + 1);
  const plain = { insecureSeed: undefined, more: 5 };
  for (const given of [undefined, own]) {
    let seen;
    const during = withKey(
      'test',
      plain,
      ({ key, more }) => {
        assert.equal(more, 5);
        seen = key;
        return key.slice();
      },
      given,
    );
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
  assert.throws(() => withKey('test', plain, () => 1, zeros), {
    code: 'invalid_argument',
    message,
  });
});

test('numbers: a bound is shown with six digits, and never below itself', async () => {
  const { roundedUp } = await importSource('shared/number.ts');
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
