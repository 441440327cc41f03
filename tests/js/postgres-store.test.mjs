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
import { hasPostgres, startPostgres } from './support/postgres.mjs';

const { load } = await importEntry('dp-ftrl');
const { PostgresStore } = await importEntry('dp-ftrl/postgres-store');
const dp = await load();
const skip = !hasPostgres && !process.env.DPFTRL_POSTGRES && 'there is no server';
const bytes = (...values) => Uint8Array.from(values);
const code = (expected, message = /./) => (error) => {
  assert.equal(error.code, expected, error.message);
  assert.match(error.message, message);
  return true;
};

let server;
before(async () => (server = skip ? undefined : await startPostgres()));
after(() => server?.stop());

let ledgers = 0;
const freshName = () => `ledger ${++ledgers}`;

/** Opens a store on a connection of its own; `end` closes both. */
async function opened(name) {
  const client = await server.connect();
  try {
    const store = await PostgresStore.open({ client, name });
    return { client, store, end: () => store.close().then(() => client.end()) };
  } catch (error) {
    await client.end();
    throw error;
  }
}

/** Returns what the next writer finds. */
async function contents(name) {
  const { store, end } = await opened(name);
  const found = await store.load();
  await end();
  return found && [...found];
}

test('postgres: what is saved and appended comes back, after saves without what was before', { skip }, async () => {
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

test('postgres: a ledger goes on over lives, with the releases of one without end', { skip }, async () => {
  const options = { mechanism: 'tree', numSteps: 24, epsilon: 1, delta: 1e-6, insecureSeed: 5n };
  const expected = dp.prefixSum(options).releaseMany(Array.from({ length: 24 }, (_, i) => i % 3));
  const name = freshName();
  const totals = [];
  for (let life = 0; life < 4; ++life) {
    const { client, store } = await opened(name);
    const ledger = await dp.ledger({ ...options, store });
    assert.equal(ledger.step, 6 * life);
    for (let i = 6 * life; i < 6 * life + 6; ++i) totals.push(...(await ledger.release(i, [i % 3])));
    if (life % 2 === 0) {
      ledger.dispose();
      await store.close();
    }
    await client.end(); // alone it frees the ledger too
  }
  assert.deepEqual(totals, [...expected]);
});

test('postgres: one connection at a time has a ledger, until it ends', { skip }, async () => {
  const name = freshName();
  const first = await opened(name);
  await assert.rejects(opened(name), code('store_in_use', /another connection has open/));
  await (await opened(freshName())).end();
  await first.client.end();
  await (await opened(name)).end();
});

test('postgres: a writer that lost its lock is refused once another has loaded', { skip }, async () => {
  const name = freshName();
  const old = await opened(name);
  await old.store.load();
  await old.store.save(bytes(1));
  await old.client.query('SELECT pg_advisory_unlock_all()');
  const next = await opened(name);
  assert.deepEqual([...(await next.store.load())], [1]);
  for (const call of ['save', 'append'])
    await assert.rejects(old.store[call](bytes(7)), code('store_in_use', /another connection has loaded since/));
  await next.store.append(bytes(2));
  for (const call of ['save', 'append']) await assert.rejects(old.store[call](bytes(7)), code('store_in_use'));
  await next.end();
  await old.client.end();
  assert.deepEqual(await contents(name), [1, 2]);
});

test('postgres: nothing is saved before it was loaded', { skip }, async () => {
  const name = freshName();
  const { store, end } = await opened(name);
  for (const call of ['save', 'append'])
    await assert.rejects(store[call](bytes(1)), code('store_in_use', /load it again/));
  await end();
  assert.equal(await contents(name), undefined);
});

test('postgres: a transaction of the caller that may undo a save is refused', { skip }, async () => {
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

test('postgres: a statement that fails changes nothing, and the next one goes on', { skip }, async () => {
  const name = freshName();
  const { client, store, end } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  await client.query('ALTER TABLE dp_ftrl_parts RENAME TO elsewhere');
  await assert.rejects(store.append(bytes(2)), code('store_failed', /could not be saved \(.*dp_ftrl_parts.*exist/));
  await client.query('ALTER TABLE elsewhere RENAME TO dp_ftrl_parts');
  await store.append(bytes(3));
  await end();
  assert.deepEqual(await contents(name), [1, 3]);
});

test('postgres: after a connection that was lost the store has to be opened again', { skip }, async () => {
  const name = freshName();
  const { client, store } = await opened(name);
  await store.load();
  await store.save(bytes(1));
  const other = await server.connect();
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
  await other.query('SELECT pg_terminate_backend($1)', [rows[0].pid]);
  await other.end();
  await assert.rejects(store.append(bytes(2)), code('store_failed'));
  await assert.rejects(store.save(bytes(2)), code('store_failed', /opened again after its connection has failed/));
  await store.close();
  assert.deepEqual(await contents(name), [1]);
});

test('postgres: of writers side by side each step has one, and none is lost', { skip }, async () => {
  const name = freshName();
  let taken = 0;
  /** Adds one byte, the number of those before, as often as it gets hold of the ledger. */
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
  assert.deepEqual(await contents(name), Array.from({ length: taken }, (_, i) => i));
});

/** Appends until the server crashes; calls `use` with what was acknowledged and what is there then. */
async function throughCrashes(use, settings = 'SELECT 1') {
  for (let round = 0; round < 5; ++round) {
    const name = freshName();
    const { client, store } = await opened(name);
    await client.query(settings);
    await store.load();
    let acknowledged = 0;
    const writing = (async () => {
      for (; ; ++acknowledged)
        await (acknowledged === 0 ? store.save(bytes(0)) : store.append(bytes(acknowledged % 256)));
    })();
    const failed = assert.rejects(writing, code('store_failed'));
    await new Promise((resolve) => setTimeout(resolve, 30 + 20 * round));
    await server.crash();
    await failed;
    use(acknowledged, (await contents(name)) ?? []);
  }
}

test('postgres: what was acknowledged outlives a crash of the server', { skip }, () =>
  throughCrashes((acknowledged, found) => {
    assert.ok(acknowledged <= found.length && found.length <= acknowledged + 1, `${found.length} of ${acknowledged}`);
    assert.deepEqual(found, found.map((_, i) => i % 256));
  }));

test('postgres: that test notices a server that acknowledges too early', { skip }, async () => {
  let lost = 0;
  await throughCrashes((acknowledged, found) => (lost += acknowledged - found.length), 'SET synchronous_commit = off');
  assert.ok(lost > 0);
});

test('postgres: a server without fsync is refused, and synchronous_commit is on', { skip }, async () => {
  const admin = await server.connect();
  const set = async (value) => {
    await admin.query(`ALTER SYSTEM SET fsync = ${value}`);
    await admin.query('SELECT pg_reload_conf()');
    for (;;) {
      const { rows } = await admin.query('SHOW fsync');
      if (rows[0].fsync === value) break;
    }
  };
  await set('off');
  await assert.rejects(opened(freshName()), code('store_failed', /without fsync/));
  await set('on');
  await admin.query(`ALTER ROLE test SET synchronous_commit = 'off'`);
  const { client, end } = await opened(freshName());
  assert.equal((await client.query('SHOW synchronous_commit')).rows[0].synchronous_commit, 'on');
  await end();
  await admin.query(`ALTER ROLE test SET synchronous_commit = 'remote_apply'`);
  const strict = await opened(freshName());
  assert.equal((await strict.client.query('SHOW synchronous_commit')).rows[0].synchronous_commit, 'remote_apply');
  await strict.end();
  await admin.query('ALTER ROLE test RESET synchronous_commit');
  await admin.end();
});

test('postgres: the program of the guide prints what it shows', { skip }, async () => {
  const { code: program, output } = programs(read('docs/guide/ledgers.md')).find(({ language }) => language === 'ts');
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
  await admin.query('GRANT SELECT, INSERT, UPDATE, DELETE ON dp_ftrl_ledgers, dp_ftrl_parts TO clerk');
  await admin.query('SET SESSION AUTHORIZATION clerk');
  const store = await PostgresStore.open({ client: admin, name: freshName() });
  await store.load();
  await store.save(bytes(1));
  await store.close();
  await admin.end();
});

test('postgres: an ended store refuses, and keeps the connection', { skip }, async () => {
  const { client, store } = await opened(freshName());
  await store.close();
  await store.close();
  await assert.rejects(store.load(), code('disposed'));
  await assert.rejects(store.save(bytes(1)), code('disposed'));
  assert.equal((await client.query('SELECT 1 AS one')).rows[0].one, 1);
  await client.end();
});

test('postgres: what is no connection or no name is refused', async () => {
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
    [{ client, name: 'a' }, 'store_failed', /a standby/],
  ]) {
    await assert.rejects(PostgresStore.open(options), code(expected, message));
  }
  await pool.end();
});
