// SPDX-License-Identifier: Apache-2.0

/** A store for ledgers in PostgreSQL, for services of several processes: one of them goes on. */

import { wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import { StoreQueue } from './stores/store-queue.js';
import type { ErrorCode, Refusal, ReleaseStore } from './types/all.js';

const STORE = 'PostgresStore';

/** A message of the server that is no answer. */
export interface PostgresNotice {
  code?: string | undefined;
  message?: string | undefined;
}

/** The part of a `Client` of the package pg that the store uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Without these two, warnings of the server go unnoticed. */
  on?(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  off?(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
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

/** The row of a ledger, as its writer knows it: the last part that was written, and by whom. */
interface LedgerRow {
  generation: string;
  part: string;
}

const FSYNC = `current_setting('fsync') = 'on'`;
/** Makes the commit of the statement it stands in wait for the disk; false without fsync. */
const DURABLY = `${FSYNC} AND set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END,
    true) IS NOT NULL`;
/** Returns no row on a standby. `began` is the same for all statements of one transaction. */
const SERVER = `SELECT ${FSYNC} AS "hasFsync", now()::text AS began WHERE NOT pg_is_in_recovery()`;
/** Parameters: name. The server frees the lock when the session ends, however it ends. */
const LOCK = `
  SELECT pg_try_advisory_lock(hashtextextended('dp_ftrl ' || $1::text, 0)) AS "isMine",
    now()::text AS began`;
const UNLOCK = `SELECT pg_advisory_unlock(hashtextextended('dp_ftrl ' || $1::text, 0))`;
const FIND_TABLES = `
  SELECT count(*)::int AS found, bool_and(relpersistence = 'p') AS "areLogged" FROM pg_class
  WHERE oid IN (to_regclass('dp_ftrl_ledgers'), to_regclass('dp_ftrl_parts'))`;
/** Makes a table of ledgers, with the generation of each, and one of the bytes they were given. */
const MAKE_TABLES = `
  SELECT pg_advisory_xact_lock(hashtextextended('dp_ftrl_tables', 0));
  CREATE TABLE IF NOT EXISTS dp_ftrl_ledgers (
    name text PRIMARY KEY, generation bigint NOT NULL, last_part bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS dp_ftrl_parts (
    name text REFERENCES dp_ftrl_ledgers ON DELETE CASCADE, part bigint, bytes bytea NOT NULL,
    PRIMARY KEY (name, part))`;
/** Parameters: name. From then on statements of earlier generations change nothing. */
const CLAIM = `
  INSERT INTO dp_ftrl_ledgers AS mine SELECT $1::text, 1, 0 WHERE ${DURABLY}
  ON CONFLICT (name) DO UPDATE SET generation = mine.generation + 1
  RETURNING generation::text, last_part::text AS part`;
const LOAD = 'SELECT part::text, bytes FROM dp_ftrl_parts WHERE name = $1 ORDER BY dp_ftrl_parts.part';
/** Parameters: name, generation, last part, bytes. Changes nothing unless the row is like that. */
const NEXT = `
  WITH mine AS (
    UPDATE dp_ftrl_ledgers SET last_part = last_part + 1
    WHERE name = $1 AND generation = $2::bigint AND last_part = $3::bigint AND ${DURABLY}
    RETURNING name, last_part)`;
const INSERT = `
  INSERT INTO dp_ftrl_parts SELECT name, last_part, $4::bytea FROM mine RETURNING part::text`;
const APPEND = `${NEXT} ${INSERT}`;
const SAVE = `${NEXT}, gone AS (
    DELETE FROM dp_ftrl_parts AS old USING mine WHERE old.name = mine.name AND part < last_part)
  ${INSERT}`;
/** Parameters: name. The row, and whether nothing is open that could still be rolled back. */
const FIND_ROW = `
  SELECT generation::text, last_part::text AS part, txid_current_if_assigned() IS NULL AS "isSettled"
  FROM dp_ftrl_ledgers WHERE name = $1`;

const AGAIN = 'open it again and make a new ledger';
const UNSAVED = 'could not be saved';
const UNLOADED = 'could not be loaded';
const WITHOUT_FSYNC = {
  constraint: 'must be on a server that keeps what it is told',
  value: 'one that runs without fsync',
};
const WITHIN_A_TRANSACTION = {
  constraint: 'must have a connection of its own',
  value: 'one within a transaction, which may undo what is saved',
};

/**
 * Whether an error of pg is the server's answer to a statement, in a session that goes on. SQLSTATE
 * does not depend on the server's language, as the severity does.
 */
function isAnswer(error: unknown): boolean {
  const { code, length } = (error ?? {}) as { code?: unknown; length?: unknown };
  const isOfServer = typeof code === 'string' && typeof length === 'number';
  return isOfServer && /^(?!08|57P|XX|40003)[0-9A-Z]{5}$/.test(code);
}

function because(constraint: string, cause: unknown): Refusal {
  const reason = cause instanceof Error ? cause.message : 'no reason given';
  return { constraint: `${constraint} (${reason})` };
}

function inUse(value: string): Refusal {
  return { constraint: 'must not be in use', value };
}

function copied(bytes: unknown): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw wrongType(STORE, 'bytes', 'a Uint8Array', bytes);
  return new Uint8Array(bytes);
}

function joined(parts: readonly { bytes: Uint8Array }[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, { bytes }) => sum + bytes.length, 0));
  let end = 0;
  for (const { bytes } of parts) {
    whole.set(bytes, end);
    end += bytes.length;
  }
  return whole;
}

/**
 * One named ledger in the tables dp_ftrl_ledgers and dp_ftrl_parts, which are made where there are
 * none. Two things keep writers apart. While the connection lives it has an advisory lock of the
 * server, so that a second store of this name is refused. And each load takes a new generation of
 * the row, without which nothing can be saved: a writer whose lock was lost is refused from then on,
 * for good.
 *
 * A release is durable when the server says so: each statement that writes waits for the disk,
 * whatever `synchronous_commit` is set to, and does nothing on a server without fsync. A standby that
 * is promoted must have what was acknowledged, so it has to be a synchronous one
 * (`synchronous_standby_names`).
 */
export class PostgresStore implements ReleaseStore {
  private readonly queue = new StoreQueue(STORE);
  /** The row after the last statement of this store; undefined until it was loaded. */
  private row: LedgerRow | undefined;
  private failed: unknown;

  private constructor(
    private readonly client: PostgresClient,
    private readonly name: string,
  ) {}

  /**
   * Opens the ledger of this name, which need not exist yet, for this connection alone.
   *
   * @throws TypeError for a client without `query`, and for a Pool; for a name that is no string.
   * @throws RangeError for a name of another length or with half a surrogate pair, and for a
   *   connection within a transaction.
   * @throws DpError `store_in_use` while another connection has it open, and `store_failed` where
   *   the server refuses, is a standby or runs without fsync, and where the tables are temporary or
   *   unlogged.
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const { client, name } = options ?? {};
    if (typeof client?.query !== 'function' || 'totalCount' in client) {
      throw wrongType(STORE, 'client', 'one connected Client of pg, not a Pool', client);
    }
    if (typeof name !== 'string') throw wrongType(STORE, 'name', 'a string', name);
    if (name.length < 1 || name.length > 200 || /[\0\p{Surrogate}]/u.test(name)) {
      const constraint = 'must have 1 to 200 characters, none of them 0 or half a surrogate pair';
      const value = name.length > 200 ? `${name.length} characters` : JSON.stringify(name);
      throw makeError('invalid_argument', STORE, { parameter: 'name', constraint, value });
    }
    const store = new PostgresStore(client, name);
    await store.prepare();
    return store;
  }

  /**
   * The bytes that were saved, and behind them those appended since; undefined if there are none. A
   * store is loaded once: what a second ledger wrote through it would pass for the first one's.
   */
  async load(): Promise<Uint8Array | undefined> {
    return this.queue.add(async () => {
      this.requireUsable();
      if (this.row) throw this.refusal('store_in_use', inUse(`one that was loaded before; ${AGAIN}`));
      let claim: LedgerRow | undefined;
      let parts: { part: string; bytes: Uint8Array }[];
      try {
        [claim] = await this.run<LedgerRow>(CLAIM);
        parts = await this.run(LOAD);
      } catch (error) {
        throw this.fail('store_failed', because(UNLOADED, error), error);
      }
      if (!claim) throw this.fail('store_failed', WITHOUT_FSYNC);
      if ((parts.at(-1)?.part ?? '0') !== claim.part) {
        const value = 'one without the part that was written last';
        throw this.fail('store_failed', { constraint: 'must be whole', value });
      }
      await this.requireFound(claim, UNLOADED);
      return parts.length === 0 ? undefined : joined(parts);
    });
  }

  /**
   * @throws DpError `store_in_use` where another store has loaded since this one did, `disposed`
   *   after `close`, and `store_failed` where the server refuses or is gone, and before `load`. The
   *   store has to be opened again, for a new ledger, unless it is certain that nothing was changed.
   */
  async save(bytes: Uint8Array): Promise<void> {
    return this.write(SAVE, copied(bytes));
  }

  /** Throws as `save`. */
  async append(bytes: Uint8Array): Promise<void> {
    return this.write(APPEND, copied(bytes));
  }

  /**
   * Gives the lock back, once a pending save has finished. The connection stays open.
   *
   * @throws DpError `store_failed` where the server refuses, as in a transaction that has failed: the
   *   lock is then held until the connection ends.
   */
  async close(): Promise<void> {
    return this.queue.close(async () => {
      try {
        await this.run(UNLOCK);
      } catch (error) {
        // A connection that is gone has no lock.
        if (isAnswer(error)) throw this.refusal('store_failed', because('could not be closed', error), error);
      }
    });
  }

  private async prepare(): Promise<void> {
    const [server] = await this.ask<{ hasFsync: boolean; began: string }>(SERVER, []);
    if (!server?.hasFsync) {
      const refusal = server ? WITHOUT_FSYNC : { ...WITHOUT_FSYNC, value: 'a standby' };
      throw this.refusal('store_failed', refusal);
    }
    const [lock] = await this.ask<{ isMine: boolean; began: string }>(LOCK);
    if (!lock!.isMine) throw this.refusal('store_in_use', inUse('one that another connection has open'));
    try {
      if (lock!.began === server.began) {
        const constraint = 'must be in no transaction';
        const about = { parameter: 'client', constraint, value: 'one within a transaction' };
        throw makeError('invalid_argument', STORE, about);
      }
      await this.prepareTables();
    } catch (error) {
      await this.close().catch(() => undefined); // The first reason is the one to tell.
      throw error;
    }
  }

  private async prepareTables(): Promise<void> {
    const find = async () => {
      const [tables] = await this.ask<{ found: number; areLogged: boolean }>(FIND_TABLES, []);
      return tables!;
    };
    let tables = await find();
    if (tables.found < 2) {
      await this.ask(MAKE_TABLES, []);
      tables = await find();
    }
    if (tables.found === 2 && tables.areLogged) return;
    const constraint = 'must be in tables that outlive a crash';
    throw this.refusal('store_failed', { constraint, value: 'temporary or unlogged ones' });
  }

  /** Writes the next part after what was asked for before. */
  private async write(statement: string, bytes: Uint8Array): Promise<void> {
    return this.queue.add(async () => {
      this.requireUsable();
      const before = this.row;
      if (!before) throw this.refusal('store_failed', { constraint: 'must be loaded before it is saved' });
      const { generation, part } = before;
      let answer: { part: string } | undefined;
      let cause: unknown;
      try {
        [answer] = await this.run<{ part: string }>(statement, [this.name, generation, part, bytes]);
      } catch (error) {
        if (!isAnswer(error)) throw this.fail('store_failed', because(UNSAVED, error), error);
        cause = error;
      }
      // An error may follow a commit, too: what is there decides.
      await this.requireFound({ generation, part: answer?.part ?? part }, UNSAVED, cause);
      if (answer) return;
      throw this.refusal('store_failed', cause ? because(UNSAVED, cause) : WITHOUT_FSYNC, cause);
    });
  }

  /**
   * Requires that the row is like this for good, which a statement of its own tells: no transaction
   * can undo it any more, and none has.
   */
  private async requireFound(wanted: LedgerRow, constraint: string, cause?: unknown): Promise<void> {
    let found: (LedgerRow & { isSettled: boolean }) | undefined;
    try {
      [found] = await this.run<LedgerRow & { isSettled: boolean }>(FIND_ROW);
    } catch (error) {
      throw this.fail('store_failed', because(constraint, error), error);
    }
    if (found?.isSettled && found.generation === wanted.generation && found.part === wanted.part) {
      this.row = wanted;
      return;
    }
    if (cause !== undefined) throw this.fail('store_failed', because(constraint, cause), cause);
    if (found && BigInt(found.generation) > BigInt(wanted.generation)) {
      throw this.fail('store_in_use', inUse(`one that another store has loaded since; ${AGAIN}`));
    }
    throw this.fail('store_failed', WITHIN_A_TRANSACTION);
  }

  private requireUsable(): void {
    if (this.failed === undefined) return;
    const constraint = 'must be opened again, for a new ledger, after it has failed';
    throw this.refusal('store_failed', { constraint }, this.failed);
  }

  /** Runs a statement of the opening. */
  private async ask<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    try {
      return await this.run<Row>(text, values);
    } catch (error) {
      throw this.refusal('store_failed', because('could not be opened', error), error);
    }
  }

  /**
   * Runs a statement. One with a warning is no better than one without an answer: the server warns
   * that it did not wait for a standby.
   */
  private async run<Row>(text: string, values: unknown[] = [this.name]): Promise<Row[]> {
    let warning: PostgresNotice | undefined;
    const listen = (notice: PostgresNotice) => {
      if (/^(01|57)/.test(notice.code ?? '')) warning ??= notice;
    };
    this.client.on?.('notice', listen);
    try {
      // Without parameters a text may have several statements.
      const { rows } = await (values.length === 0 ? this.client.query(text) : this.client.query(text, values));
      if (warning) throw new Error(`warning: ${warning.message}`, { cause: warning });
      return (rows ?? []) as Row[]; // Several statements have theirs elsewhere.
    } finally {
      this.client.off?.('notice', listen);
    }
  }

  /** Ends the store: whether something was changed is unknown, or others go on. */
  private fail(code: ErrorCode, refusal: Refusal, cause?: unknown): Error {
    const error = this.refusal(code, refusal, cause);
    this.failed = error;
    return error;
  }

  private refusal(code: ErrorCode, refusal: Refusal, cause?: unknown): Error {
    const where = { call: STORE, part: JSON.stringify(this.name) };
    return makeError(code, where, { parameter: 'name', ...refusal }, cause);
  }
}
