// SPDX-License-Identifier: Apache-2.0

/** A store for ledgers in PostgreSQL, for services of several processes: one of them goes on. */

import { wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import { StoreQueue } from './stores/store-queue.js';
import type { ErrorCode, Refusal, ReleaseStore } from './types/all.js';

const STORE = 'PostgresStore';

/** The part of a `Client` of the package pg that the store uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[]; rowCount: number | null }>;
}

/** Options of a store. */
export interface PostgresStoreOptions {
  /**
   * One connection, a `Client` of the package pg that is connected and in no transaction, of which
   * the store has sole use until it is closed. Not a `Pool`, whose queries are spread over several.
   */
  client: PostgresClient;
  /** Name of the ledger, up to 200 characters. */
  name: string;
}

/** Ledgers, of whose rows writers take generations, and what was saved and appended to them. */
const HAS_TABLES = `SELECT to_regclass('dp_ftrl_parts') IS NOT NULL AS "hasTables"`;
const TABLES = `
  SELECT pg_advisory_xact_lock(hashtextextended('dp_ftrl tables', 0));
  CREATE TABLE IF NOT EXISTS dp_ftrl_ledgers (
    name text PRIMARY KEY, generation bigint NOT NULL, last_part bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS dp_ftrl_parts (
    name text REFERENCES dp_ftrl_ledgers ON DELETE CASCADE, part bigint, bytes bytea NOT NULL,
    PRIMARY KEY (name, part))`;
/** Parameters: name. Of one server, the lock is free when its session ends, however it ends. */
const LOCK = `SELECT pg_try_advisory_lock(hashtextextended('dp_ftrl ' || $1::text, 0)) AS "isMine"`;
const UNLOCK = `SELECT pg_advisory_unlock(hashtextextended('dp_ftrl ' || $1::text, 0))`;
/** Parameters: name. From then on statements of earlier generations change nothing. */
const CLAIM = `
  INSERT INTO dp_ftrl_ledgers AS mine VALUES ($1, 1, 0)
  ON CONFLICT (name) DO UPDATE SET generation = mine.generation + 1 RETURNING generation::text`;
const LOAD = 'SELECT bytes FROM dp_ftrl_parts WHERE name = $1 ORDER BY part';
/** Parameters: name, generation, bytes. The next part, if the row is still this writer's. */
const NEXT = `
  WITH mine AS (
    UPDATE dp_ftrl_ledgers SET last_part = last_part + 1
    WHERE name = $1 AND generation = $2::bigint RETURNING name, last_part)`;
const INSERT = 'INSERT INTO dp_ftrl_parts SELECT name, last_part, $3 FROM mine';
const APPEND = `${NEXT} ${INSERT}`;
const SAVE = `${NEXT}, gone AS (
    DELETE FROM dp_ftrl_parts AS old USING mine WHERE old.name = mine.name AND part < last_part)
  ${INSERT}`;
/** Whether nothing is open that could still be rolled back. */
const SETTLED = 'SELECT txid_current_if_assigned() IS NULL AS "isSettled"';
/** Nothing of a standby. */
const DURABLE = `
  SELECT current_setting('fsync') = 'on' AS "isDurable",
    CASE WHEN current_setting('synchronous_commit') NOT IN ('on', 'remote_apply')
      THEN set_config('synchronous_commit', 'on', false) END
  WHERE NOT pg_is_in_recovery()`;

function refusing(code: ErrorCode, name: string, refusal: Refusal, cause?: unknown): Error {
  const where = { call: STORE, part: JSON.stringify(name) };
  return makeError(code, where, { parameter: 'name', ...refusal }, cause);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : 'no reason given';
}

/**
 * One named ledger in the tables dp_ftrl_ledgers and dp_ftrl_parts, which are made where there are
 * none. Two things keep writers apart. While the connection lives it has an advisory lock of the
 * server, so that a second store of this name is refused. And each opening takes a new generation of
 * the row, without which nothing can be saved: a writer whose lock was lost, with its connection or
 * in a fail-over, is refused from then on.
 *
 * A release is durable when the server says so: `synchronous_commit` is switched on for the
 * connection, and a server that runs without fsync is refused. A standby that is promoted must have
 * what was acknowledged, so it has to be a synchronous one (`synchronous_standby_names`).
 */
export class PostgresStore implements ReleaseStore {
  private readonly queue = new StoreQueue(STORE);
  private generation: string | undefined;
  private failed: unknown;

  private constructor(
    private readonly client: PostgresClient,
    private readonly name: string,
  ) {}

  /**
   * Opens the ledger of this name, which need not exist yet, for this connection alone.
   *
   * @throws TypeError for a client without `query`, and for a Pool; for a name that is no string.
   * @throws RangeError for a name of another length, and a connection within a transaction.
   * @throws DpError `store_in_use` while another connection has it open, and `store_failed` where
   *   the server refuses, is a standby or runs without fsync.
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const { client, name } = options ?? {};
    if (typeof client?.query !== 'function' || 'totalCount' in client) {
      throw wrongType(STORE, 'client', 'one connected Client of pg, not a Pool', client);
    }
    if (typeof name !== 'string') throw wrongType(STORE, 'name', 'a string', name);
    if (name.length < 1 || name.length > 200 || name.includes('\0')) {
      const constraint = 'must have 1 to 200 characters, none of them 0';
      const value = name.length > 200 ? `${name.length} characters` : JSON.stringify(name);
      throw makeError('invalid_argument', STORE, { parameter: 'name', constraint, value });
    }
    const store = new PostgresStore(client, name);
    await store.prepare();
    return store;
  }

  /** The bytes that were saved, and behind them those appended since; undefined if there are none. */
  async load(): Promise<Uint8Array | undefined> {
    return this.queue.add(async () => {
      this.requireUsable();
      const [claim] = await this.ask<{ generation: string }>('could not be loaded', CLAIM);
      this.generation = claim!.generation;
      const parts = await this.ask<{ bytes: Uint8Array }>('could not be loaded', LOAD);
      await this.requireSettled();
      if (parts.length === 0) return undefined;
      const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes.length, 0));
      let end = 0;
      for (const part of parts) {
        bytes.set(part.bytes, end);
        end += part.bytes.length;
      }
      return bytes;
    });
  }

  /**
   * @throws DpError `store_in_use` where another connection has loaded since this one did, `disposed`
   *   after `close`, and `store_failed` where the server refuses or is gone; after a lost connection
   *   the store has to be opened again.
   */
  async save(bytes: Uint8Array): Promise<void> {
    return this.queue.add(() => this.write(SAVE, bytes));
  }

  /** Throws as `save`. */
  async append(bytes: Uint8Array): Promise<void> {
    return this.queue.add(() => this.write(APPEND, bytes));
  }

  /** Gives the lock back, once a pending save has finished. The connection stays open. */
  async close(): Promise<void> {
    return this.queue.close(async () => {
      // A connection that is gone has no lock.
      await this.client.query(UNLOCK, [this.name]).catch(() => undefined);
    });
  }

  private async prepare(): Promise<void> {
    const opening = 'could not be opened';
    const [server] = await this.ask<{ isDurable: boolean }>(opening, DURABLE, []);
    if (!server?.isDurable) {
      const value = server ? 'one that runs without fsync' : 'a standby';
      throw this.refusal('store_failed', { constraint: 'must be on a server that keeps what it is told', value });
    }
    const [lock] = await this.ask<{ isMine: boolean }>(opening, LOCK);
    if (!lock!.isMine) {
      const value = 'one that another connection has open';
      throw this.refusal('store_in_use', { constraint: 'must not be in use', value });
    }
    try {
      const [schema] = await this.ask<{ hasTables: boolean }>(opening, HAS_TABLES, []);
      if (!schema!.hasTables) await this.run(opening, TABLES, []);
      await this.requireSettled();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Writes the next part. Whether a statement of a lost connection was run nobody can tell. */
  private async write(statement: string, bytes: Uint8Array): Promise<void> {
    this.requireUsable();
    const values = [this.name, this.generation ?? '0', bytes];
    const { rowCount } = await this.run('could not be saved', statement, values);
    if (rowCount !== 1) {
      const value = 'one that another connection has loaded since; load it again';
      throw this.refusal('store_in_use', { constraint: 'must not be in use', value });
    }
    await this.requireSettled();
  }

  private requireUsable(): void {
    if (this.failed === undefined) return;
    const constraint = 'must be opened again after its connection has failed';
    throw this.refusal('store_failed', { constraint }, this.failed);
  }

  /** Requires that what was said is said for good: no transaction of the caller's can undo it. */
  private async requireSettled(): Promise<void> {
    const [state] = await this.ask<{ isSettled: boolean }>('could not be saved', SETTLED, []);
    if (state!.isSettled) return;
    const constraint = 'must have a connection of its own';
    const refusal = { constraint, value: 'one within a transaction, which may undo what is saved' };
    this.failed = this.refusal('store_failed', refusal);
    throw this.failed;
  }

  private async ask<Row>(constraint: string, text: string, values: unknown[] = [this.name]): Promise<Row[]> {
    const { rows } = await this.run(constraint, text, values);
    return rows as Row[];
  }

  private async run(constraint: string, text: string, values: unknown[]) {
    try {
      // Without parameters a text may have several statements.
      return await (values.length === 0 ? this.client.query(text) : this.client.query(text, values));
    } catch (cause) {
      // An answer of the server about this statement alone: it changed nothing.
      if ((cause as { severity?: unknown }).severity !== 'ERROR') this.failed = cause;
      const refusal = { constraint: `${constraint} (${reasonOf(cause)})` };
      throw this.refusal('store_failed', refusal, cause);
    }
  }

  private refusal(code: ErrorCode, refusal: Refusal, cause?: unknown): Error {
    return refusing(code, this.name, refusal, cause);
  }
}
