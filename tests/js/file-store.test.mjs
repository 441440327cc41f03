// SPDX-License-Identifier: Apache-2.0

// FileStore: one process at a time, all or nothing, and nothing over what others have written.
// Crashes are tested in power-loss.test.mjs and kill.test.mjs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, linkSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { entryUrl, importEntry, node } from './support/consumer.mjs';
import { PowerLoss } from './support/power-loss.mjs';
import { scratchFolder } from './support/scratch.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('file-store');

const target = { strategy: 'tree', steps: 500, epsilon: 1, delta: 1e-6 };
const place = (name) => join(scratch, name);

/** Opens a counter in a file, passes it to `use` and closes it. */
async function withCounter(path, use) {
  const store = await FileStore.open(path);
  try {
    const counter = await dp.counter({ ...target, store });
    try {
      return await use(counter);
    } finally {
      await counter.dispose();
    }
  } finally {
    await store.close();
  }
}

const code = (expected, message) => (error) => {
  assert.equal(error.code, expected, error.message);
  assert.match(error.message, message);
  return true;
};

test('file store: a stream goes on in it, and overlapping calls take their turn', async () => {
  const path = place('lives');
  for (let life = 0; life < 3; ++life) {
    await withCounter(path, async (counter) => {
      assert.equal(counter.step, 100 * life);
      const all = await Promise.all(Array.from({ length: 100 }, () => counter.release(1)));
      assert.deepEqual(
        all.map(({ step }) => step),
        Array.from({ length: 100 }, (_, i) => 100 * life + i),
      );
    });
  }
});

/** A promise and the function that resolves it. */
function gate() {
  let open;
  const passed = new Promise((resolve) => (open = resolve));
  return { passed, open };
}

/** Replaces a function of the file system while `use` runs. */
async function replacing(name, replacement, use) {
  const real = fs[name];
  const put = (it) => {
    fs[name] = it;
    syncBuiltinESMExports();
  };
  put((...args) => replacement(() => real(...args), ...args));
  try {
    return await use();
  } finally {
    put(real);
  }
}

test('file store: only the owner may read the file, and only one store may have it open', async () => {
  const path = place('alone');
  await withCounter(path, async (counter) => {
    await counter.release(1);
    assert.equal(statSync(path).mode & 0o777, 0o600);
    await assert.rejects(FileStore.open(path), code('store_in_use', /must not be in use/));
    const other = `import { FileStore } from ${JSON.stringify(entryUrl('dp-ftrl/file-store').href)};
      await FileStore.open(${JSON.stringify(path)}).catch((error) => console.log(error.code));`;
    const { stdout } = await node(['--input-type=module', '-e', other]);
    assert.equal(stdout, 'store_in_use\n');
  });
  assert.ok(!existsSync(`${path}.lock`) && !existsSync(`${path}.new`));
});

test('file store: the lock of a process that is gone is taken over', async () => {
  const path = place('gone');
  writeFileSync(`${path}.lock`, '999999999 12');
  await (await FileStore.open(path)).close();
  writeFileSync(`${path}.lock`, 'not one of ours');
  await assert.rejects(FileStore.open(path), code('store_in_use', /gone\.lock/));
  // A process id that was since reassigned to another process.
  writeFileSync(`${path}.lock`, `${process.ppid} 1`);
  if (existsSync('/proc/self/stat')) await (await FileStore.open(path)).close();
});

test('file store: if many processes find the lock of a dead one, only one takes it over', async (t) => {
  const path = place('contended');
  writeFileSync(`${path}.lock`, '999999999 12');
  const other = `import { FileStore } from ${JSON.stringify(entryUrl('dp-ftrl/file-store').href)};
    const opened = await FileStore.open(${JSON.stringify(path)}).catch((error) => error.code);
    console.log(typeof opened === 'string' ? opened : 'open');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    if (typeof opened !== 'string') await opened.close();
    process.exit();`;
  const children = Array.from({ length: 5 }, () =>
    spawn(process.execPath, ['--input-type=module', '-e', other]),
  );
  t.after(() => children.forEach((child) => child.kill()));
  const said = await Promise.all(
    children.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()),
  );
  assert.equal(said.filter((word) => word === 'open').length, 1, said.join(' '));
  assert.equal(said.filter((word) => word === 'store_in_use').length, 4, said.join(' '));
  await Promise.all(children.map((child) => (child.stdin.write('\n'), once(child, 'exit'))));
  const left = readdirSync(dirname(path)).filter((name) => name.startsWith('contended.'));
  assert.deepEqual(left, []);
});

test('file store: a lock is not taken over once another has done so', async () => {
  const path = place('meanwhile');
  writeFileSync(`${path}.lock`, '999999999 12');
  let other;
  const link = async (act, _from, to) => {
    // The other store is opened after the lock was found and before it is claimed.
    if (!to.endsWith('.lock') && !other) await (other = FileStore.open(path));
    return act();
  };
  await replacing('link', link, () =>
    assert.rejects(FileStore.open(path), code('store_in_use', /must not be in use/)),
  );
  await (await other).close();
});

test('file store: what lies at FILE.new is not written into', async () => {
  const [path, victim] = [place('clean'), place('victim')];
  writeFileSync(victim, 'mine');
  symlinkSync(victim, `${path}.new`);
  await withCounter(path, (counter) => counter.release(1));
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
  writeFileSync(`${path}.new`, '', { mode: 0o666 });
  await withCounter(path, (counter) => counter.release(1));
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('file store: a symbolic link leads to its file, and a file with two hard links is refused', async () => {
  const [path, name] = [place('real'), place('name')];
  await withCounter(path, (counter) => counter.release(1));
  symlinkSync(path, name);
  await withCounter(name, async (counter) => {
    await assert.rejects(FileStore.open(path), code('store_in_use', /must not be in use/));
    assert.equal(counter.step, 1);
    await counter.release(1);
  });
  // Saving replaced the file, not the link.
  await withCounter(path, (counter) => assert.equal(counter.step, 2));
  unlinkSync(name);
  linkSync(path, name);
  for (const each of [path, name]) {
    await assert.rejects(FileStore.open(each), code('invalid_argument', /one of 2 names/));
  }
  unlinkSync(name);
  symlinkSync(place('nothing'), name);
  await assert.rejects(FileStore.open(name), code('invalid_argument', /a link to nothing/));
  await assert.rejects(FileStore.open(place('')), code('invalid_argument', /a file of one name/));
  assert.ok(!existsSync(`${name}.lock`) && !existsSync(`${path}.lock`));
});

test('file store: saved bytes are loaded, and missing folders and saves after closing are refused', async () => {
  const path = place('folder/missing');
  await assert.rejects(FileStore.open(path), code('invalid_argument', /in a folder that exists/));
  const store = await FileStore.open(place('closed'));
  assert.equal(await store.load(), undefined);
  await store.save(new Uint8Array([1, 2]));
  assert.deepEqual(await store.load(), new Uint8Array([1, 2]));
  await store.close();
  await assert.rejects(store.save(new Uint8Array(1)), code('disposed', /was closed/));
});

test('file store: closing waits for what is being saved, and later saves are refused', async () => {
  const path = place('closing');
  const store = await FileStore.open(path);
  const counter = await dp.counter({ ...target, store });
  const [begun, ended] = [gate(), gate()];
  const rename = async (act) => {
    begun.open();
    await ended.passed;
    return act();
  };
  await replacing('rename', rename, async () => {
    const first = counter.release(0);
    await begun.passed;
    let isClosed = false;
    const closing = store.close().then(() => (isClosed = true));
    const again = store.close();
    const late = assert.rejects(counter.release(0), code('disposed', /was closed/));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isClosed, false);
    await assert.rejects(FileStore.open(path), { code: 'store_in_use' });
    ended.open();
    await Promise.all([first, closing, again, late]);
    await counter.dispose();
  });
  await withCounter(path, (next) => assert.equal(next.step, 1));
});

test('file store: saves at the same time are made one after the other', async () => {
  const path = place('turns-of-a-file');
  const store = await FileStore.open(path);
  const all = [1, 2, 3, 4].map((byte) => Uint8Array.of(byte, byte));
  await Promise.all(all.map((bytes) => store.save(bytes)));
  assert.deepEqual(await store.load(), all.at(-1));
  await store.close();
  assert.deepEqual(new Uint8Array(readFileSync(path)), all.at(-1));
});

test('file store: a save never overwrites what another store has saved since', async () => {
  const path = place('since');
  await withCounter(path, (counter) => counter.release(0));
  const store = await FileStore.open(path);
  const counter = await dp.counter({ ...target, store });
  await counter.release(0);
  // The lock is removed, as by another container that cannot see this process.
  unlinkSync(`${path}.lock`);
  const other = await FileStore.open(path);
  const second = await dp.counter({ ...target, store: other });
  await second.release(1);
  const refused = code('store_in_use', /since: path must not be in use, got one that others saved/);
  await assert.rejects(counter.release(0), refused);
  await assert.rejects(counter.release(0), code('store_failed', /could not be saved before/));
  await counter.dispose();
  await store.close();
  // Closing the first store does not remove the lock of the second, either.
  await assert.rejects(FileStore.open(path), { code: 'store_in_use' });
  await second.release(1);
  await second.dispose();
  await other.close();
  const blind = await FileStore.open(path);
  await assert.rejects(blind.save(new Uint8Array(40)), { code: 'store_in_use' });
  await blind.close();
});

test('file store: a path that is not a non-empty string is refused', async () => {
  for (const path of [undefined, 5, {}]) {
    const refused = code('wrong_type', /FileStore: path must be a string/);
    await assert.rejects(FileStore.open(path), refused);
  }
  const empty = code('invalid_argument', /path must be the name of a file, got ""/);
  await assert.rejects(FileStore.open(''), empty);
});

const PATH = '/power/full';

/**
 * Runs `use` with a counter that has ended `steps` steps, in a file on a simulated disk, and
 * returns the disk.
 */
async function onDisk(steps, use) {
  const disk = new PowerLoss();
  await disk.use(async () => {
    const store = await FileStore.open(PATH);
    const counter = await dp.counter({ ...target, store });
    for (let i = 0; i < steps; ++i) await counter.end();
    await use({ disk, counter });
    await counter.dispose();
    await store.close();
  });
  return disk;
}

const broken = (code, syscall) => Object.assign(new Error(`${code}!`), { code, syscall });

test('file store: a full disk is named, nothing is lost, and the next try works', async () => {
  for (const [operation, path, steps] of [
    ['write', PATH, 3],
    ['sync', PATH, 3],
    ['write', `${PATH}.new`, 0],
    ['sync', `${PATH}.new`, 0],
  ]) {
    const left = await onDisk(steps, async ({ disk, counter }) => {
      let isFull = true;
      disk.after = (name, at) => {
        if (!isFull || name !== operation || at !== path) return;
        isFull = false;
        throw broken('ENOSPC', name);
      };
      const refused = code('store_failed', /could not be saved \(the disk is full: ENOSPC\)/);
      await assert.rejects(counter.release(1), refused);
      assert.ok(!isFull);
      assert.ok(!disk.now.has(`${PATH}.new`));
      assert.equal(counter.step, steps);
      assert.equal((await counter.release(1)).step, steps + 1);
    });
    // The step that failed was decided, and is stored with the next one.
    await left.use(() =>
      withCounter(PATH, (next) => assert.deepEqual([next.step, next.records], [steps + 2, 2])),
    );
  }
});

test('file store: after any other failure it must be opened again', async () => {
  for (const operation of ['write', 'sync', 'truncate']) {
    const disk = await onDisk(3, async ({ disk, counter }) => {
      disk.after = (name, path) => {
        if (path !== PATH) return;
        if (name === operation) throw broken('EIO', name);
        if (operation === 'truncate' && name === 'write') throw broken('ENOSPC', name);
      };
      await assert.rejects(counter.release(1), { code: 'store_failed' });
      disk.after = () => {};
      const ended = code('store_failed', /could not be saved before/);
      await assert.rejects(counter.release(1), ended);
    });
    await disk.use(() =>
      withCounter(PATH, async (next) => {
        assert.ok(next.step === 3 || next.step === 4);
        assert.equal((await next.end()).step, next.step - 1);
      }),
    );
  }
});

test('file store: nothing is appended to what others have changed', async () => {
  const changes = {
    appended: (_disk, inode) => inode.change(Buffer.concat([inode.now, Buffer.alloc(92)])),
    cut: (_disk, inode) => inode.change(inode.now.subarray(0, -92)),
    'written over': (_disk, inode) =>
      inode.change(Buffer.concat([inode.now.subarray(0, -1), Buffer.alloc(1, 9)])),
    replaced: (disk, inode) => disk.now.set(PATH, disk.copyOf(inode)),
    removed: (disk) => disk.now.delete(PATH),
  };
  for (const [what, change] of Object.entries(changes)) {
    // Before the first append all bytes are compared, later only the end.
    for (const steps of [1, 4]) {
      await onDisk(steps, async ({ disk, counter }) => {
        change(disk, disk.now.get(PATH));
        const after = disk.now.get(PATH)?.now;
        const release = counter.release(0);
        // A copy with all bytes is as good as the file, until something was appended.
        if (what === 'replaced' && steps === 1) return release;
        const refused = code('store_in_use', /others saved or removed/);
        await assert.rejects(release, refused, `${what} ${steps}`);
        assert.equal(disk.now.get(PATH)?.now, after, 'it was written to');
      });
    }
  }
});
