// SPDX-License-Identifier: Apache-2.0

// PostgresStore against a real server; skipped where Debian's package postgresql is not installed,
// unless DPFTRL_POSTGRES is set, as `scripts/test postgres` does.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { consumerWith, importEntry, node } from './support/consumer.mjs';
import { programs, read } from './support/pages.mjs';
import { hasPostgres, startPostgres, until } from './support/postgres.mjs';

const { load } = await importEntry('dp-ftrl');
const { PostgresStore } = await importEntry('dp-ftrl/postgres-store');
const dp = await load();
const isAsked = Boolean(process.env.DPFTRL_POSTGRES);
const skip = !hasPostgres && !isAsked && 'there is no server';
/** For tests that wait for events that happen by chance. */
const skipChance = !isAsked && 'only in scripts/test postgres';
const bytes = (...values) => Uint8Array.from(values);
const code =
  (expected, message = /./) =>
  (error) => {
    assert.equal(error.code, expected, error.message);
    assert.match(error.message, message);
    return true;
  };

let server;
before(async () => (server = skip ? undefined : await startPostgres()));
after(() => server?.stop());

let names = 0;
const freshName = () => `stream ${++names}`;

/** Opens a store on a new connection, wrapped by `wrap`; `end` closes both. */
async function opened(name, wrap = (client) => client, on = server) {
  const client = await on.connect();
  try {
    const store = await PostgresStore.open({ client: wrap(client), name });
    return { client, store, end: () => store.close().then(() => client.end()) };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Contents that the next writer finds. */
async function contents(name, on) {
  const { store, end } = await opened(name, undefined, on);
  const found = await store.load();
  await end();
  return found && [...found];
}

test('postgres: saved and appended bytes are loaded again, and a save replaces those before it', {
  skip,
}, async () => {
  const name = freshName();
  const { store, end } = await opened(name);
  assert.equal(await store.load(), undefined);
  await store.save(bytes(1, 2));
  await store.append(bytes(3));
  await store.append(bytes(0, 255));
  await end();
  assert.deepEqual(await contents(name), [1, 2, 3, 0, 255]);
  const again = await opened(name);
  await again.store.load();
  await again.store.save(bytes(9));
  await again.store.append(bytes(8));
  await again.end();
  assert.deepEqual(await contents(name), [9, 8]);
  assert.equal(await contents(`${name} of another`), undefined);
});

const TREE = { strategy: 'tree', steps: 24, epsilon: 1, delta: 1e-6, insecureSeed: 5n };

test('postgres: a stream that is reopened gives the readings of an uninterrupted one', {
  skip,
}, async () => {
  const expected = dp.counter(TREE).releaseMany(Array.from({ length: 24 }, (_, i) => i % 3));
  const name = freshName();
  const readings = [];
  for (let life = 0; life < 4; ++life) {
    const { client, store } = await opened(name);
    const counter = await dp.counter({ ...TREE, store, mustExist: life > 0 });
    assert.equal(counter.step, 6 * life);
    // Overlapping calls take their turn.
    const calls = Array.from({ length: 6 }, (_, i) => counter.release(i % 3));
    readings.push(...(await Promise.all(calls)));
    if (life % 2 === 0) {
      await counter.dispose();
      await store.close();
    }
    await client.end(); // this alone also frees the stream
  }
  assert.deepEqual(readings, expected);
});

test('postgres: active people are those of an uninterrupted stream', { skip }, async () => {
  const { strategy: _, ...target } = TREE;
  const options = { ...target, windows: { day: 1, week: 3 } };
  const days = [['ann', 'bob', 'ann'], ['ann'], ['carl', 'dora'], [], ['bob'], []];
  const whole = dp.active(options);
  const name = freshName();
  for (const [day, people] of days.entries()) {
    const { client, store } = await opened(name);
    const stream = await dp.active({ ...options, store, mustExist: day > 0 });
    assert.equal(stream.step, day);
    whole.addMany(people);
    await Promise.all(people.map((person) => stream.add(person)));
    await client.end(); // those who resolved are stored, and the day is not over
    const { store: next, end } = await opened(name);
    const again = await dp.active({ ...options, store: next });
    assert.deepEqual(await again.end(), whole.end());
    await again.dispose();
    await end();
  }
});

test('postgres: a stream that must exist is refused if there is none', { skip }, async () => {
  const { store, end } = await opened(freshName());
  const opening = dp.counter({ ...TREE, store, mustExist: true });
  await assert.rejects(opening, code('bad_state', /must hold a/));
  await end();
});

test('postgres: one connection at a time has a stream, until it ends', { skip }, async () => {
  const name = freshName();
  const first = await opened(name);
  await assert.rejects(opened(name), code('store_in_use', /another connection has open/));
  await (await opened(freshName())).end();
  await first.client.end();
  await (await opened(name)).end();
});

test('postgres: a writer that lost its lock is refused once another has loaded', {
  skip,
}, async () => {
  const name = freshName();
  const old = await opened(name);
  await old.store.load();
  await old.store.save(bytes(1));
  await old.client.query('SELECT pg_advisory_unlock_all()');
  const next = await opened(name);
  assert.deepEqual([...(await next.store.load())], [1]);
  await assert.rejects(
    old.store.append(bytes(7)),
    code('store_in_use', /another store has loaded since; open it again and make a new stream/),
  );
  await next.store.append(bytes(2));
  for (const call of ['save', 'append', 'load'])
    await assert.rejects(
      old.store[call](bytes(7)),
      code('store_failed', /opened again, for a new stream/),
    );
  await next.end();
  await old.client.end();
  assert.deepEqual(await contents(name), [1, 2]);
});

test('postgres: nothing can be saved before the store is loaded', { skip }, async () => {
  const name = freshName();
  const { store, end } = await opened(name);
  for (const call of ['save', 'append'])
    await assert.rejects(store[call](bytes(1)), code('store_failed', /must be loaded before/));
  assert.equal(await store.load(), undefined);
  await end();
  assert.equal(await contents(name), undefined);
});

test('postgres: a transaction of the caller that may undo a save is refused', {
  skip,
}, async () => {
  const name = freshName();
  const { client, store } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  await client.query('BEGIN');
  await assert.rejects(store.append(bytes(2)), code('store_failed', /within a transaction/));
  await assert.rejects(store.append(bytes(2)), code('store_failed', /opened again/));
  await client.query('ROLLBACK');
  await client.end();
  assert.deepEqual(await contents(name), [1]);
});

test('postgres: a statement that fails changes nothing, and the next one goes on', {
  skip,
}, async () => {
  const name = freshName();
  const { client, store, end } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  await client.query('ALTER TABLE dp_ftrl_parts RENAME TO elsewhere');
  await assert.rejects(
    store.append(bytes(2)),
    code('store_failed', /could not be saved \(.*dp_ftrl_parts.*exist/),
  );
  await client.query('ALTER TABLE elsewhere RENAME TO dp_ftrl_parts');
  await store.append(bytes(3));
  await end();
  assert.deepEqual(await contents(name), [1, 3]);
});

test('postgres: after a lost connection, the store has to be opened again', { skip }, async () => {
  const name = freshName();
  const { client, store } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  const other = await server.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  await other.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
  await other.end();
  await assert.rejects(store.append(bytes(2)), code('store_failed'));
  await assert.rejects(
    store.save(bytes(2)),
    code('store_failed', /opened again, for a new stream, after it has failed/),
  );
  await store.close();
  assert.deepEqual(await contents(name), [1]);
});

test('postgres: each step is written by one of several concurrent writers, and none is lost', {
  skip,
}, async () => {
  const name = freshName();
  let taken = 0;
  /** Adds one byte, the number of existing bytes, each time it acquires the name. */
  const writer = async () => {
    while (taken < 40) {
      let mine;
      try {
        mine = await opened(name);
      } catch (error) {
        assert.equal(error.code, 'store_in_use', error.message);
        continue;
      }
      const found = (await mine.store.load())?.length ?? 0;
      await (found === 0 ? mine.store.save(bytes(0)) : mine.store.append(bytes(found)));
      ++taken;
      await mine.end();
    }
  };
  await Promise.all(Array.from({ length: 6 }, writer));
  assert.deepEqual(
    await contents(name),
    Array.from({ length: taken }, (_, i) => i),
  );
});

/** Saves a state and appends until the store fails; counts the acknowledged writes. */
function writeUntilLost(store) {
  const writing = { acknowledged: 0 };
  const write = async () => {
    for (let i = 0; ; writing.acknowledged = ++i)
      await (i === 0 ? store.save(bytes(0)) : store.append(bytes(i % 256)));
  };
  writing.failed = assert.rejects(write(), code('store_failed'));
  return writing;
}

/**
 * Appends until the server crashes, then calls `use` with the acknowledged writes and the contents.
 */
async function throughCrashes(use, wrap) {
  for (let round = 0; round < 5; ++round) {
    const name = freshName();
    const { client, store } = await opened(name, wrap);
    await client.query('SET synchronous_commit = off');
    await store.load();
    const writing = writeUntilLost(store);
    await new Promise((resolve) => setTimeout(resolve, 30 + 20 * round));
    await server.crash();
    await writing.failed;
    use(writing.acknowledged, (await contents(name)) ?? []);
  }
}

const isWrite = (text) => text.includes('UPDATE dp_ftrl_ledgers');

/** A client that runs statements before and after each write. */
const around = (before, after) => (client) => ({
  query: async (text, values) => {
    for (const statement of isWrite(text) ? before : []) await client.query(statement);
    const answer = await client.query(text, values);
    for (const statement of isWrite(text) ? after : []) await client.query(statement);
    return answer;
  },
});

test(
  'postgres: acknowledged writes survive a crash, even with synchronous_commit off',
  { skip },
  () =>
    throughCrashes((acknowledged, found) => {
      assert.ok(
        acknowledged <= found.length && found.length <= acknowledged + 1,
        `${found.length} of ${acknowledged}`,
      );
      assert.deepEqual(
        found,
        found.map((_, i) => i % 256),
      );
    }),
);

test('postgres: the crash test notices a server that acknowledges too early', {
  skip: skipChance,
}, async () => {
  let lost = 0;
  const early = around(['BEGIN'], ['SET LOCAL synchronous_commit = off', 'COMMIT']);
  await throughCrashes((acknowledged, found) => (lost += acknowledged - found.length), early);
  assert.ok(lost > 0);
});

/** Changes a setting of the server, and waits until it is in effect. */
async function configure(admin, name, value) {
  await admin.query(`ALTER SYSTEM SET ${name} = '${value}'`);
  await admin.query('SELECT pg_reload_conf()');
  await until(
    `${name} is ${value}`,
    async () => (await admin.query(`SHOW ${name}`)).rows[0][name] === value,
  );
}

test('postgres: a synchronous standby has all acknowledged writes', {
  skip: skipChance,
}, async () => {
  const primary = await startPostgres();
  const standby = await primary.standby();
  try {
    const admin = await primary.connect();
    await admin.query("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await admin.query('SELECT pg_reload_conf()');
    for (let state; state !== 'sync'; ) {
      const { rows } = await admin.query('SELECT sync_state FROM pg_stat_replication');
      state = rows[0]?.sync_state;
    }
    await assert.rejects(opened(freshName(), undefined, standby), code('store_failed', /standby/));
    const name = freshName();
    const { store } = await opened(name, undefined, primary);
    await store.load();
    const writing = writeUntilLost(store);
    while (writing.acknowledged < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    await primary.lose();
    await writing.failed;
    const { acknowledged } = writing;
    const promoting = await standby.connect();
    await promoting.query('SELECT pg_promote()');
    await promoting.end();
    const found = await contents(name, standby);
    assert.ok(
      acknowledged <= found.length && found.length <= acknowledged + 1,
      `${found.length} of ${acknowledged}`,
    );
    assert.deepEqual(
      found,
      found.map((_, i) => i % 256),
    );
  } finally {
    await standby.stop();
  }
});

test('postgres: a server without fsync is refused, from the start and later', {
  skip,
}, async () => {
  const name = freshName();
  const admin = await server.connect();
  const { client, store, end } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  await configure(admin, 'fsync', 'off');
  await until(
    'the session knows',
    async () => (await client.query('SHOW fsync')).rows[0].fsync === 'off',
  );
  await assert.rejects(opened(freshName()), code('store_failed', /without fsync/));
  for (const call of ['save', 'append'])
    await assert.rejects(store[call](bytes(7)), code('store_failed', /without fsync/));
  await configure(admin, 'fsync', 'on');
  await until(
    'the session knows',
    async () => (await client.query('SHOW fsync')).rows[0].fsync === 'on',
  );
  await store.append(bytes(2));
  await end();
  await admin.end();
  assert.deepEqual(await contents(name), [1, 2]);
});

test('postgres: a save whose wait for a standby was cancelled is not acknowledged', {
  skip,
}, async () => {
  const name = freshName();
  const admin = await server.connect();
  await admin.query('SET synchronous_commit = local');
  const { client, store } = await opened(name);
  await store.load();
  const { pid } = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0];
  await configure(admin, 'synchronous_standby_names', 'nobody');
  const refused = assert.rejects(
    store.save(bytes(1)),
    code('store_failed', /synchronous replication/),
  );
  const waits = `SELECT 1 FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'`;
  await until('the save waits', async () => (await admin.query(waits, [pid])).rows.length === 1);
  await admin.query('SELECT pg_cancel_backend($1)', [pid]);
  await refused;
  await assert.rejects(store.append(bytes(2)), code('store_failed', /opened again/));
  await configure(admin, 'synchronous_standby_names', '');
  await client.end();
  await admin.end();
  assert.deepEqual(await contents(name), [1]);
});

test('postgres: unlogged tables are refused', { skip }, async () => {
  await (await opened(freshName())).end();
  const admin = await server.connect();
  await admin.query('ALTER TABLE dp_ftrl_parts SET UNLOGGED');
  await assert.rejects(opened(freshName()), code('store_failed', /temporary or unlogged/));
  await admin.query('ALTER TABLE dp_ftrl_parts SET LOGGED');
  await admin.end();
  await (await opened(freshName())).end();
});

test('postgres: a connection within a transaction is refused, and lets go of the name', {
  skip,
}, async () => {
  const name = freshName();
  const client = await server.connect();
  await client.query('BEGIN');
  await assert.rejects(
    PostgresStore.open({ client, name }),
    code('invalid_argument', /in no transaction/),
  );
  await (await opened(name)).end();
  await client.query('ROLLBACK');
  const store = await PostgresStore.open({ client, name });
  await client.query('BEGIN');
  await assert.rejects(client.query('SELECT 1 / 0'));
  await assert.rejects(store.close(), code('store_failed', /could not be closed/));
  await assert.rejects(opened(name), code('store_in_use'));
  await client.end();
  await until('the lock is free', () =>
    opened(name).then(
      ({ end }) => end().then(() => true),
      () => false,
    ),
  );
});

/**
 * A client whose next write waits at a gate, before it runs or before the statement that follows.
 */
function gated(client, where) {
  let reached, open;
  const gate = {
    isOn: false,
    reached: new Promise((resolve) => (reached = resolve)),
    opened: new Promise((resolve) => (open = resolve)),
  };
  const pass = async (place) => {
    if (!gate.isOn || place !== where) return;
    reached();
    await gate.opened;
  };
  const query = async (text, values) => {
    if (isWrite(text)) await pass('before');
    const answer = await client.query(text, values);
    if (isWrite(text)) await pass('after');
    return answer;
  };
  return { gate, open: () => open(), client: { query } };
}

for (const where of ['before', 'after']) {
  test(`postgres: a stream that was paused ${where} its write is refused when it wakes`, {
    skip,
  }, async () => {
    const name = freshName();
    let pause;
    const old = await opened(name, (client) => (pause = gated(client, where)).client);
    const first = await dp.counter({ ...TREE, store: old.store });
    const seen = [await first.release(1)];
    pause.gate.isOn = true;
    const late = first.release(1);
    late.catch(() => {});
    await pause.gate.reached;
    await old.client.query('SELECT pg_advisory_unlock_all()');

    const next = await opened(name);
    const second = await dp.counter({ ...TREE, store: next.store });
    assert.equal(second.step, where === 'before' ? 1 : 2);
    seen.push(await second.release(0));
    pause.open();
    await assert.rejects(late, code('store_in_use', /make a new stream/));
    const again = code('store_failed', /opened again/);
    for (const call of [() => first.releaseAt(1, [1]), () => old.store.load(), () => first.end()])
      await assert.rejects(call(), again);
    seen.push(await second.release(0));
    await first.dispose();
    await second.dispose();
    await old.client.end();
    await next.end();

    const last = await opened(name);
    const third = await dp.counter({ ...TREE, store: last.store });
    assert.equal(third.step, seen.at(-1).step + 1);
    for (const reading of seen) assert.deepEqual(await third.at(reading.step), reading);
    await third.dispose();
    await last.end();
  });
}

test('postgres: a second stream through another object with the same store is refused', {
  skip,
}, async () => {
  const { store, end } = await opened(freshName());
  const through = () => ({
    load: () => store.load(),
    save: (state) => store.save(state),
    close: () => store.close(),
  });
  const first = await dp.counter({ ...TREE, store: through() });
  await first.end();
  await assert.rejects(
    dp.counter({ ...TREE, store: through() }),
    code('store_in_use', /loaded before; open it again/),
  );
  await first.end();
  await first.dispose();
  await end();
});

test('postgres: a release that the caller rolled back is not handed out', { skip }, async () => {
  const name = freshName();
  let isOn = false;
  const undoing = (client) => {
    const undone = around(['BEGIN'], ['ROLLBACK'])(client);
    return { query: (...call) => (isOn ? undone : client).query(...call) };
  };
  const old = await opened(name, undoing);
  const counter = await dp.counter({ ...TREE, store: old.store });
  await counter.release(1);
  isOn = true;
  await assert.rejects(counter.release(1), code('store_failed', /within a transaction/));
  isOn = false;
  await assert.rejects(counter.releaseAt(1, [1]), code('store_failed', /opened again/));
  await counter.dispose();
  await old.end();
  const { store, end } = await opened(name);
  const next = await dp.counter({ ...TREE, store });
  assert.deepEqual([next.step, next.records], [1, 1]);
  await next.dispose();
  await end();
});

/** A client whose first statement matching `isIt` fails with an error, before or after it ran. */
const failing = (isIt, error, isRun) => (client) => {
  let isDone = false;
  return {
    query: async (text, values) => {
      if (isDone || !isIt(text)) return client.query(text, values);
      isDone = true;
      if (isRun) await client.query(text, values);
      throw error;
    },
  };
};

test('postgres: after an error that may hide a commit the store has to be opened again', {
  skip,
}, async () => {
  const answer = (code) => Object.assign(new Error('some error'), { code, length: 90 });
  const isAppend = (text) => isWrite(text) && !text.includes('DELETE');
  // The first check belongs to `load` and the second to `save`.
  const isThirdCheck = () => {
    let checks = 0;
    return (text) => text.includes('isSettled') && ++checks === 3;
  };
  for (const [isIt, error, isRun, found, isUsable] of [
    [isAppend, answer('57014'), false, [1, 3], true],
    [isAppend, answer('57014'), true, [1, 2]],
    ...['08006', '57P01', 'XX000', '40003'].map((code) => [isAppend, answer(code), false, [1]]),
    [isAppend, new Error('Query read timeout'), true, [1, 2]],
    [isAppend, Object.assign(new Error('broken'), { code: 'EPIPE' }), false, [1]],
    [isThirdCheck(), answer('57014'), false, [1, 2]],
  ]) {
    const name = freshName();
    const { client, store } = await opened(name, failing(isIt, error, isRun));
    await store.load();
    await store.save(bytes(1));
    await assert.rejects(store.append(bytes(2)), code('store_failed', /could not be saved/));
    if (isUsable) await store.append(bytes(3));
    else await assert.rejects(store.append(bytes(3)), code('store_failed', /opened again/));
    await client.end();
    assert.deepEqual(await contents(name), found, `${error.code} ${isRun}`);
  }
});

test('postgres: a statement that runs late, after it seemed cancelled, is not repeated', {
  skip,
}, async () => {
  const name = freshName();
  let isDelayed = false;
  let late;
  const { store, end } = await opened(name, (client) => ({
    query: async (text, values) => {
      const run = () => client.query(text, values);
      if (!isDelayed || !isWrite(text)) return run();
      if (late) return late().then(run);
      late = run;
      throw Object.assign(new Error('some error'), { code: '57014', length: 90 });
    },
  }));
  await store.load();
  await store.save(bytes(1));
  isDelayed = true;
  await assert.rejects(store.append(bytes(2)), code('store_failed', /some error/));
  await assert.rejects(store.append(bytes(2)), code('store_failed'));
  await end();
  assert.deepEqual(await contents(name), [1, 2]);
});

test('postgres: when statements are cancelled, no step is stored twice and acknowledged ones stay', {
  skip: skipChance,
}, async (t) => {
  const name = freshName();
  const admin = await server.connect();
  let pid;
  let isOver = false;
  t.after(() => (isOver = true)); // A failure also ends the loop.
  const cancelling = (async () => {
    while (!isOver) {
      if (pid !== undefined) await admin.query('SELECT pg_cancel_backend($1)', [pid]);
      await new Promise((resolve) => setTimeout(resolve, Math.random() * 2));
    }
  })();
  const options = { ...TREE, steps: 4096 };
  const seen = [];
  let refused = 0;
  const isEnough = () => seen.length >= 300 && refused >= 3;
  while (!isEnough()) {
    const { client, store } = await opened(name);
    const counter = await dp.counter({ ...options, store });
    try {
      pid = (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
      // A decided step is requested again, with the same record.
      for (let failures = 0; failures < 5 && !isEnough(); ) {
        const step = seen.length;
        try {
          seen.push(await counter.releaseAt(step, [step % 3]));
        } catch (error) {
          assert.equal(error.code, 'store_failed', error.message);
          ++refused;
          ++failures;
        }
      }
      assert.ok(counter.step >= seen.length);
    } finally {
      pid = undefined;
      await counter.dispose();
      await client.end();
      const free = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory'`;
      await until('the lock is free', async () => (await admin.query(free)).rows.length === 0);
    }
  }
  isOver = true;
  await cancelling;
  await admin.end();
  assert.deepEqual(seen, dp.counter(options).releaseMany(seen.map((_, i) => i % 3)));
  const { store, end } = await opened(name);
  const counter = await dp.counter({ ...options, store });
  assert.ok(counter.step >= seen.length);
  await counter.dispose();
  await end();
});

test('postgres: a name without the part that was written last is refused', { skip }, async () => {
  const name = freshName();
  const first = await opened(name);
  await first.store.load();
  await first.store.save(bytes(1));
  await first.store.append(bytes(2));
  await first.client.query('DELETE FROM dp_ftrl_parts WHERE name = $1 AND part = 2', [name]);
  await first.end();
  const { store, end } = await opened(name);
  await assert.rejects(
    store.load(),
    code('store_failed', /without the part that was written last/),
  );
  await assert.rejects(store.load(), code('store_failed', /opened again/));
  await end();
});

test('postgres: bytes are stored as they were at the call, even if they change later', {
  skip,
}, async () => {
  const name = freshName();
  const { store, end } = await opened(name);
  await store.load();
  for (const call of ['save', 'append']) {
    const given = Buffer.of(1, 2);
    const done = store[call](given);
    given.fill(9);
    await done;
    for (const wrong of [undefined, null, 'ab', [1], {}, new ArrayBuffer(2)])
      await assert.rejects(store[call](wrong), code('wrong_type', /bytes must be a Uint8Array/));
  }
  await end();
  assert.deepEqual(await contents(name), [1, 2, 1, 2]);
});

test('postgres: streams named like tables do not block the creation of tables', {
  skip,
}, async () => {
  const admin = await server.connect();
  const others = await Promise.all(
    ['tables', '_tables', 'dp_ftrl_tables'].map((name) => opened(name)),
  );
  await admin.query(
    `CREATE SCHEMA elsewhere; SET search_path = elsewhere; SET lock_timeout = '5s'`,
  );
  await (await PostgresStore.open({ client: admin, name: freshName() })).close();
  await admin.query('DROP SCHEMA elsewhere CASCADE');
  await admin.end();
  for (const { end } of others) await end();
});

test('postgres: the program of the guide prints what it shows', { skip }, async () => {
  const { code: program, output } = programs(read('docs/guide/stores.md')).find(
    ({ language }) => language === 'ts',
  );
  const folder = consumerWith('pg');
  writeFileSync(join(folder, 'program.mjs'), program);
  const { stdout, stderr } = await node(['program.mjs'], {
    cwd: folder,
    env: { ...process.env, ...server.environment },
  });
  assert.equal(stderr, '');
  assert.equal(stdout, output);
});

test('postgres: a role that may make no tables uses those that are there', { skip }, async () => {
  await (await opened(freshName())).end();
  const admin = await server.connect();
  await admin.query('CREATE ROLE clerk LOGIN');
  await admin.query(
    'GRANT SELECT, INSERT, UPDATE, DELETE ON dp_ftrl_ledgers, dp_ftrl_parts TO clerk',
  );
  await admin.query('SET SESSION AUTHORIZATION clerk');
  const store = await PostgresStore.open({ client: admin, name: freshName() });
  await store.load();
  await store.save(bytes(1));
  await store.close();
  await admin.end();
});

test('postgres: a closed store refuses calls, and leaves the connection open', {
  skip,
}, async () => {
  const { client, store } = await opened(freshName());
  await store.close();
  await store.close();
  await assert.rejects(store.load(), code('disposed'));
  await assert.rejects(store.save(bytes(1)), code('disposed'));
  assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  await client.end();
});

test('postgres: invalid connections and names are refused', async () => {
  const client = { query: async () => ({ rows: [], rowCount: 0 }) };
  const pool = new pg.Pool();
  for (const [options, expected, message] of [
    [undefined, 'wrong_type', /client must be one connected Client of pg, not a Pool/],
    [{ name: 'a' }, 'wrong_type', /client/],
    [{ client: pool, name: 'a' }, 'wrong_type', /not a Pool/],
    [{ client }, 'wrong_type', /name must be a string, got undefined/],
    [{ client, name: 7 }, 'wrong_type', /name/],
    [{ client, name: '' }, 'invalid_argument', /name must have 1 to 200 characters/],
    [{ client, name: 'x'.repeat(201) }, 'invalid_argument', /got 201 characters/],
    [{ client, name: 'a\0' }, 'invalid_argument', /none of them 0/],
    [{ client, name: '\ud800' }, 'invalid_argument', /half a surrogate pair/],
    [{ client, name: '\udc00\ud800' }, 'invalid_argument', /half a surrogate pair/],
    [{ client, name: '\u{1f4a9}' }, 'store_failed', /a standby/],
    [{ client, name: 'a' }, 'store_failed', /a standby/],
    [{ client: { query: async () => 7 }, name: 'a' }, 'store_failed', /a standby/],
  ]) {
    await assert.rejects(PostgresStore.open(options), code(expected, message));
  }
  await pool.end();
});
