// SPDX-License-Identifier: Apache-2.0

// Ledgers and their file store. Crashes are tested in kill.test.mjs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import { existsSync, linkSync, readdirSync, readFileSync } from 'node:fs';
import { statSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fails } from './support/command.mjs';
import { dpFtrl, entryUrl, importEntry, node } from './support/consumer.mjs';
import { scratchFolder } from './support/scratch.mjs';
import { isWiped, keysDrawn, keysRead, memoryStore, slowStore } from './support/stores.mjs';

const { load } = await importEntry('dp-ftrl');
const { FileStore } = await importEntry('dp-ftrl/file-store');
const dp = await load();
const scratch = scratchFolder('ledger');

const target = { mechanism: 'tree', numSteps: 50, epsilon: 1, delta: 1e-6 };
const place = (name) => join(scratch, name);

/** Opens a ledger in a file, passes it to `use` and closes it. */
async function withLedger(path, options, use) {
  const store = await FileStore.open(path);
  try {
    const ledger = await dp.ledger({ ...target, ...options, store });
    try {
      return await use(ledger);
    } finally {
      ledger.dispose();
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

test('ledger: its releases over several restarts are those of one running total', async () => {
  const options = { dimension: 2, insecureSeed: 3 };
  for (const mechanism of ['tree', 'optimal', 'blt-rational']) {
    const path = place(`lives-${mechanism}`);
    const sums = dp.prefixSum({ ...target, ...options, mechanism });
    for (let life = 0; life < 3; ++life) {
      await withLedger(path, { ...options, mechanism }, async (ledger) => {
        assert.equal(ledger.step, 4 * life);
        for (let i = 0; i < 4; ++i) {
          const record = [Math.sin(ledger.step), 0.1];
          const stddev = sums.stddev(ledger.step);
          assert.equal(ledger.stddev(ledger.step), stddev);
          assert.deepEqual(await ledger.release(ledger.step, record), sums.release(record));
        }
      });
    }
    sums.dispose();
  }
  assert.equal(dp.liveHandles, 0);
});

test('ledger: a released step is given again for its record, and refused for another', async () => {
  const path = place('again');
  const record = [0.25];
  const first = await withLedger(path, {}, (ledger) => ledger.release(0, record));
  await withLedger(path, {}, async (ledger) => {
    assert.equal(ledger.insecure, false);
    assert.deepEqual(await ledger.release(0, record), first);
    const refused = /step must not be one that was released for another record, got 0/;
    await assert.rejects(ledger.release(0, [0.5]), code('already_released', refused));
    assert.equal(ledger.step, 1);
    const rows = await ledger.releaseMany(0, [0.25, 0.5, 0.75]);
    assert.deepEqual(rows.slice(0, 1), first);
    assert.equal(ledger.step, 3);
    const ahead = (name) =>
      code('invalid_argument', new RegExp(`: ${name} must be an integer from 0 to 3, got`));
    for (const step of [7, 50]) {
      await assert.rejects(ledger.release(step, record), ahead('step'));
      await assert.rejects(ledger.releaseMany(step, record), ahead('firstStep'));
      await assert.rejects(ledger.releaseSteps(step, [record]), ahead('firstStep'));
    }
    await ledger.releaseMany(3, new Float64Array(47));
    await assert.rejects(ledger.release(50, record), code('invalid_argument', /0 to 49/));
  });
});

test('ledger: calls at the same time are made one after the other', async () => {
  await withLedger(place('turns'), {}, async (ledger) => {
    const all = await Promise.all([0, 1, 2, 1].map((step) => ledger.release(step, [step / 4])));
    assert.deepEqual(all[1], all[3]);
    assert.equal(ledger.step, 3);
  });
  // A slow first save must not overwrite later ones.
  const { store, most } = slowStore();
  const ledger = await dp.ledger({ ...target, store });
  await Promise.all([0, 1, 2].map((step) => ledger.release(step, [0])));
  ledger.dispose();
  assert.equal(most(), 1, 'saves at the same time');
  const next = await dp.ledger({ ...target, store });
  assert.equal(next.step, 3);
  next.dispose();
});

test('ledger: nothing is handed out that could not be stored', async () => {
  let bytes;
  let broken = true;
  const store = {
    load: async () => bytes,
    save: async (given) => {
      if (broken) throw new Error('disk full');
      bytes = given;
    },
    close: async () => {},
  };
  const ledger = await dp.ledger({ ...target, store });
  await assert.rejects(ledger.release(0, [1]), code('store_failed', /disk full/));
  assert.equal(ledger.step, 0);
  await assert.rejects(ledger.release(0, [0]), code('store_failed', /disk full/));
  broken = false;
  // It may have been stored nevertheless, so the step stays bound to its record.
  await assert.rejects(ledger.release(0, [0]), code('already_released', /another record/));
  const release = await ledger.release(0, [1]);
  ledger.dispose();
  const next = await dp.ledger({ ...target, store });
  assert.deepEqual(await next.release(0, [1]), release);
  next.dispose();
});

test('ledger: a memo that could not be stored is kept once its step is', async () => {
  let broken = false;
  const store = memoryStore(async () => {
    if (broken) throw new Error('disk full');
  });
  const memo = (text) => new TextEncoder().encode(text);
  const ledger = await dp.ledger({ ...target, store });
  for (const [step, kept] of [
    [0, undefined],
    [2, memo('one')],
  ]) {
    if (kept) await ledger.releaseSteps(1, [[0]], kept);
    broken = true;
    await assert.rejects(ledger.releaseSteps(step, [[1]], memo('lost')), /disk full/);
    assert.deepEqual(ledger.memo, kept);
    broken = false;
    await ledger.releaseSteps(step, [[1]]);
    assert.deepEqual(ledger.memo, memo('lost'));
  }
  ledger.dispose();
  const next = await dp.ledger({ ...target, store });
  assert.equal(next.step, 3);
  assert.deepEqual(next.memo, memo('lost'));
  next.dispose();
});

test('ledger: each has a fresh key, and with it noise of its own', async () => {
  const made = [];
  for (const store of [memoryStore(), memoryStore()]) {
    const ledger = await dp.ledger({ ...target, store });
    const releases = await ledger.releaseMany(0, new Float64Array(20));
    const key = (await store.load()).slice(0, 32);
    assert.ok(
      key.some((byte) => byte !== 0),
      'a key of zeros is known to everybody',
    );
    made.push({ key, releases, identity: ledger.identity });
    ledger.dispose();
  }
  const [one, other] = made;
  for (const name of ['key', 'releases', 'identity']) {
    assert.notDeepEqual(one[name], other[name], name);
  }
});

test('ledger: says when its noise is from a fixed seed, in every life', async () => {
  for (const [options, insecure] of [
    [{ insecureSeed: 0 }, true],
    [{}, false],
  ]) {
    const store = memoryStore();
    for (let life = 0; life < 2; ++life) {
      const ledger = await dp.ledger({ ...target, ...options, store });
      assert.equal(ledger.insecure, insecure);
      await ledger.release(life, [1]);
      ledger.dispose();
    }
  }
});

test('ledger: its key is wiped when it is disposed of, or its state was refused', async () => {
  const store = memoryStore();
  const drawn = await keysDrawn(async () => {
    const ledger = await dp.ledger({ ...target, store });
    await ledger.release(0, [1]);
    return ledger;
  });
  const stored = (await store.load()).slice(0, 32);
  assert.deepEqual(drawn.keys, [stored]);
  drawn.result.dispose();
  assert.ok(isWiped(drawn.keys[0]), 'a fresh one');
  const { keys, reading } = keysRead(store);
  const next = await dp.ledger({ ...target, store: reading });
  assert.deepEqual(keys, [stored]);
  next.dispose();
  assert.ok(isWiped(keys[0]), 'one that was stored');
  const refused = dp.ledger({ ...target, epsilon: 2, store: reading });
  await assert.rejects(refused, { code: 'bad_state' });
  assert.equal(keys.length, 2);
  assert.ok(isWiped(keys[1]), 'one that was refused');
  assert.deepEqual((await store.load()).slice(0, 32), stored, 'the store keeps its own');
});

/** A promise and the function that resolves it. */
function gate() {
  let open;
  const passed = new Promise((resolve) => (open = resolve));
  return { passed, open };
}

test('ledger: only one ledger at a time can use a store, whatever its kind', async () => {
  const file = await FileStore.open(place('shared'));
  const inUse = code('store_in_use', /store must not be in use, got one that another ledger has/);
  for (const store of [file, memoryStore(), Object.freeze(memoryStore())]) {
    const options = { ...target, store };
    const first = await dp.ledger(options);
    await assert.rejects(dp.ledger(options), inUse);
    await first.release(0, [0]);
    await assert.rejects(dp.ledger(options), inUse);
    first.dispose();
    // The store is also in use while a ledger is being made; a ledger that fails releases it.
    const both = await Promise.allSettled([dp.ledger(options), dp.ledger(options)]);
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
    both.find(({ status }) => status === 'fulfilled').value.dispose();
    await assert.rejects(dp.ledger({ ...options, epsilon: 2 }), { code: 'bad_state' });
    const next = await dp.ledger(options);
    await assert.rejects(next.release(0, [1]), { code: 'already_released' });
    next.dispose();
  }
  await file.close();
  const { load: loadExternal } = await importEntry('dp-ftrl/external');
  const external = await loadExternal();
  const store = memoryStore();
  const first = await dp.ledger({ ...target, store });
  await assert.rejects(external.ledger({ ...target, store }), inUse);
  first.dispose();
  assert.equal(dp.liveHandles, 0);
});

test('ledger: one that was disposed of has its store until it has saved', async () => {
  const saving = gate();
  const store = memoryStore(() => saving.passed);
  const first = await dp.ledger({ ...target, store });
  const pending = assert.rejects(first.release(0, [0]), { code: 'disposed' });
  await new Promise(setImmediate);
  first.dispose();
  let isOpen = false;
  const opening = dp.ledger({ ...target, store }).finally(() => (isOpen = true));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(isOpen, false);
  saving.open();
  await pending;
  const second = await opening;
  assert.equal(second.step, 1);
  await assert.rejects(second.release(0, [1]), { code: 'already_released' });
  second.dispose();
});

test('ledger: a store that loads null is empty, and one that loads a string is refused', async () => {
  const odd = (stored) => ({ ...memoryStore(), load: async () => stored });
  const ledger = await dp.ledger({ ...target, store: odd(null) });
  assert.equal(ledger.step, 0);
  ledger.dispose();
  const refused = code(
    'wrong_type',
    /store must be one that loads a Uint8Array, got string "bytes"/,
  );
  await assert.rejects(dp.ledger({ ...target, store: odd('bytes') }), refused);
});

test('ledger: the wrong mechanism, seed, bytes and stores are refused', async () => {
  const path = place('wrong');
  await withLedger(path, {}, (ledger) => ledger.release(0, [1]));
  const open = (options) => withLedger(path, options, () => assert.fail('it was opened'));
  await assert.rejects(open({ epsilon: 2 }), code('bad_state', /must be of this mechanism/));
  await assert.rejects(open({ mechanism: 'honaker' }), code('bad_state', /of this mechanism/));
  await assert.rejects(open({ insecureSeed: 1 }), code('bad_state', /must be of this key/));
  const good = readFileSync(path);
  for (const [at, message] of [
    [3, /must be of this key/],
    [33, /begin with/],
    [37, /cut short in their state/],
    [44, /of version 1/],
    [good.length - 1, /checksum/],
  ]) {
    const bad = Buffer.from(good);
    bad[at] ^= 1;
    writeFileSync(path, bad);
    await assert.rejects(open({}), code('bad_state', message));
  }
  for (const length of [0, 31, 90, good.length - 1]) {
    writeFileSync(path, good.subarray(0, length));
    await assert.rejects(open({}), code('bad_state', /truncated|cut short/));
  }
  await assert.rejects(dp.ledger({ ...target, store: {} }), code('wrong_type', /store must be/));
  await assert.rejects(dp.ledger(target), code('wrong_type', /store must be/));
});

test('file store: only the owner may read the file, and only one store may have it open', async () => {
  const path = place('alone');
  await withLedger(path, {}, async (ledger) => {
    await ledger.release(0, [1]);
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

test('file store: if many processes find the lock of a dead one, only one takes it over', async () => {
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
  const said = await Promise.all(
    children.map(async ({ stdout }) => String((await once(stdout, 'data'))[0]).trim()),
  );
  assert.equal(said.filter((word) => word === 'open').length, 1, said.join(' '));
  assert.equal(said.filter((word) => word === 'store_in_use').length, 4, said.join(' '));
  await Promise.all(children.map((child) => (child.stdin.write('\n'), once(child, 'exit'))));
  const left = readdirSync(dirname(path)).filter((name) => name.startsWith('contended.'));
  assert.deepEqual(left, []);
});

test('file store: what lies at FILE.new is not written into', async () => {
  const [path, victim] = [place('clean'), place('victim')];
  writeFileSync(victim, 'mine');
  symlinkSync(victim, `${path}.new`);
  await withLedger(path, {}, (ledger) => ledger.release(0, [1]));
  assert.equal(readFileSync(victim, 'utf8'), 'mine');
  writeFileSync(`${path}.new`, '', { mode: 0o666 });
  await withLedger(path, {}, (ledger) => ledger.release(1, [1]));
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

test('file store: a symbolic link leads to its file, and a file with two hard links is refused', async () => {
  const [path, name] = [place('real'), place('name')];
  await withLedger(path, {}, (ledger) => ledger.release(0, [1]));
  symlinkSync(path, name);
  await withLedger(name, {}, async (ledger) => {
    await assert.rejects(FileStore.open(path), code('store_in_use', /must not be in use/));
    assert.equal(ledger.step, 1);
    await ledger.release(1, [1]);
  });
  // Saving replaced the file, not the link.
  await withLedger(path, {}, (ledger) => assert.equal(ledger.step, 2));
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

/** Makes saving stop before the new file is put in place, until `open` is called. */
function stopSaving() {
  const { rename } = fs;
  const begun = gate();
  const ended = gate();
  fs.rename = async (...paths) => {
    begun.open();
    await ended.passed;
    return rename(...paths);
  };
  syncBuiltinESMExports();
  const open = () => {
    ended.open();
    fs.rename = rename;
    syncBuiltinESMExports();
  };
  return { reached: begun.passed, open };
}

test('file store: closing waits for what is being saved, and later saves are refused', async () => {
  const path = place('closing');
  const store = await FileStore.open(path);
  const ledger = await dp.ledger({ ...target, store });
  const slow = stopSaving();
  try {
    const first = ledger.release(0, [0]);
    await slow.reached;
    let isClosed = false;
    const closing = store.close().then(() => (isClosed = true));
    const again = store.close();
    const late = assert.rejects(ledger.release(1, [0]), code('disposed', /was closed/));
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.equal(isClosed, false);
    await assert.rejects(FileStore.open(path), { code: 'store_in_use' });
    slow.open();
    await Promise.all([first, closing, again, late]);
    ledger.dispose();
  } finally {
    slow.open();
  }
  await withLedger(path, {}, async (next) => {
    assert.equal(next.step, 1);
    await assert.rejects(next.release(0, [1]), { code: 'already_released' });
  });
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
  await withLedger(path, {}, (ledger) => ledger.release(0, [0]));
  const store = await FileStore.open(path);
  const ledger = await dp.ledger({ ...target, store });
  await ledger.release(1, [0]);
  // The lock is removed, as by another container that cannot see this process.
  unlinkSync(`${path}.lock`);
  const other = await FileStore.open(path);
  const second = await dp.ledger({ ...target, store: other });
  await second.release(2, [1]);
  const refused = code('store_in_use', /since: path must not be in use, got one that others saved/);
  await assert.rejects(ledger.release(2, [0]), refused);
  await assert.rejects(ledger.release(3, [0]), code('store_failed', /could not be saved before/));
  ledger.dispose();
  await store.close();
  // It does not remove the lock of the other, either.
  await assert.rejects(FileStore.open(path), { code: 'store_in_use' });
  await second.release(3, [1]);
  second.dispose();
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

const release = ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--steps', '8'];
const seeded = [...release, '--seed', '5', '--mechanism', 'tree', '--quiet'];

test('release --state: runs on several days give the rows of one release', async () => {
  const rows = [1, 0, 1, 1, 0, 1];
  const csv = (values) => ['count', ...values].map((value) => `${value}\n`).join('');
  const path = place('days');
  const whole = await dpFtrl(seeded, { input: csv(rows) });
  const days = [];
  for (const day of [rows.slice(0, 2), rows.slice(2, 5), rows.slice(5)]) {
    const {
      stdout,
      stderr,
      code: exit,
    } = await dpFtrl([...seeded, '--state', path], {
      input: csv(day),
    });
    assert.equal(exit, 0, stderr);
    days.push(...stdout.trimEnd().split('\n').slice(1));
  }
  assert.deepEqual(days, whole.stdout.trimEnd().split('\n').slice(1));
  const again = await dpFtrl([...seeded, '--state', path, '--first-step', '3'], {
    input: csv(rows.slice(2)),
  });
  assert.deepEqual(again.stdout.trimEnd().split('\n').slice(1), days.slice(2));
  const state = [...seeded, '--state', path];
  await fails(
    [...state, '--first-step', '3'],
    2,
    /--state .*days: step 3 was released for another row$/,
    {
      input: csv([0]),
    },
  );
  await fails([...state, '--first-step', '8'], 2, /--first-step must be at most 7/, {
    input: csv([0]),
  });
  const other = [...state, '--neighbours', 'replace-one'];
  await fails(
    other,
    2,
    /begun with --neighbours zero-out, this run has --neighbours replace-one$/,
    { input: csv([0]) },
  );
  await fails(state, 2, /row 3 .* is past the horizon/, { input: csv([1, 1, 1]) });
});

test('ledger: steps may have many contributions, and a memo is stored with them', async () => {
  const options = { dimension: 2, insecureSeed: 3 };
  const path = place('steps');
  const steps = [[1, 0, 0.5, 0.5], [], [0, 1], [0.1, 0.2, 0.3, 0.4, 5, 6]];
  const sums = dp.prefixSum({ ...target, ...options });
  const expected = steps.flatMap((step) => {
    for (let i = 0; i < step.length; i += 2) sums.contribute(step.slice(i, i + 2));
    return [...sums.endSteps()];
  });
  sums.dispose();
  const memo = (text) => new TextEncoder().encode(text);
  let identity;
  await withLedger(path, options, async (ledger) => {
    assert.equal(ledger.memo, undefined);
    identity = ledger.identity;
    assert.match(identity, /^[0-9a-f]{32}$/);
    const first = await ledger.releaseSteps(0, steps.slice(0, 2), memo('one'));
    assert.deepEqual([...first], expected.slice(0, 4));
    assert.deepEqual(ledger.memo, memo('one'));
  });
  await withLedger(path, options, async (ledger) => {
    assert.equal(ledger.identity, identity);
    assert.deepEqual(ledger.memo, memo('one'));
    assert.deepEqual([...(await ledger.releaseSteps(2, steps.slice(2)))], expected.slice(4));
    assert.deepEqual(ledger.memo, memo('one'), 'it stays until there is another');
    // Known steps store nothing, so no memo either.
    await ledger.releaseSteps(3, steps.slice(3), memo('two'));
    assert.deepEqual(ledger.memo, memo('one'));
    const other = ledger.releaseSteps(3, [steps[3].slice(2)]);
    await assert.rejects(other, { code: 'already_released' });
    await assert.rejects(ledger.releaseSteps(4, [[1, 2, 3]]), { code: 'wrong_length' });
    await assert.rejects(ledger.releaseSteps(4, [[1]], 'memo'), { code: 'wrong_type' });
    await assert.rejects(ledger.releaseSteps(4, 7), { code: 'wrong_type' });
  });
  const bytes = readFileSync(path);
  const short = place('short');
  writeFileSync(short, bytes.subarray(0, bytes.indexOf('one') + 1));
  const cut = withLedger(short, options, () => {});
  await assert.rejects(cut, code('bad_state', /cut short/));
  const fresh = await withLedger(place('fresh'), { dimension: 2 }, (ledger) => ledger.identity);
  assert.notEqual(fresh, identity);
});

test('release --state: what does not go together is refused', async () => {
  const input = 'count\n1\n';
  const path = place('refused');
  await fails([...release, '--first-step', '2'], 2, /--first-step goes with --state/, { input });
  const shown = [...release, '--state', path, '--show-nonprivate'];
  await fails(shown, 2, /--state does not go with --show-nonprivate/, { input });
  await fails(
    ['release', '--epsilon', '1', '--delta', '1e-6', '--clip', '1', '--state', path],
    2,
    /--state needs --steps/,
    { input },
  );
});
