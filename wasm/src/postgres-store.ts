// SPDX-License-Identifier: Apache-2.0

/**
 * A store for streams and budgets in PostgreSQL, for services with several processes, of which one
 * at a time runs a stream.
 */

import { isBytes, wrongType } from './core/check.js';
import { makeError } from './core/errors.js';
import { joined } from './shared/joined.js';
import { readStoreName } from './stores/store-name.js';
import { StoreQueue } from './stores/store-queue.js';
import type { ErrorCode, Refusal, Store, StoreLease } from './types/all.js';

const STORE = 'PostgresStore';

/** A message of the server that is not the answer to a statement, such as a warning. */
export interface PostgresNotice {
  code?: string | undefined;
  message?: string | undefined;
}

/** The part of a `Client` of the package pg that the store uses. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Without `on` and `off`, warnings of the server go unnoticed. */
  on?(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
  off?(event: 'notice', listener: (notice: PostgresNotice) => void): unknown;
}

export interface PostgresStoreOptions {
  /**
   * One connection: a `Client` of the package pg that is connected, is in no transaction, and is
   * used by this store alone until it is closed. Not a `Pool`, which spreads its queries over
   * several.
   */
  client: PostgresClient;
  /** Name of the stream, up to 200 characters. */
  name: string;
}

/** A stream's row as its writer last saw it: the writer's generation and the last part written. */
interface StreamRow {
  generation: string;
  part: string;
}

const FSYNC = `current_setting('fsync') = 'on'`;
/** Condition that makes the commit of its statement wait for the disk; false without fsync. */
const DURABLY = `${FSYNC} AND set_config('synchronous_commit',
    CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END,
    true) IS NOT NULL`;
/** Returns no row on a standby. All statements of one transaction have the same `began`. */
const SERVER = `SELECT ${FSYNC} AS "hasFsync", now()::text AS began WHERE NOT pg_is_in_recovery()`;
/** Parameters: name. The server releases the lock when the session ends, for whatever reason. */
const LOCK = `
  SELECT pg_try_advisory_lock(hashtextextended('dp_ftrl ' || $1::text, 0)) AS "isMine",
    now()::text AS began`;
const UNLOCK = `SELECT pg_advisory_unlock(hashtextextended('dp_ftrl ' || $1::text, 0))`;
const FIND_TABLES = `
  SELECT count(*)::int AS found, bool_and(relpersistence = 'p') AS "areLogged" FROM pg_class
  WHERE oid IN (to_regclass('dp_ftrl_ledgers'), to_regclass('dp_ftrl_parts'))`;
/** Creates a table of streams with their generations, and a table of the bytes saved for them. */
const MAKE_TABLES = `
  SELECT pg_advisory_xact_lock(hashtextextended('dp_ftrl_tables', 0));
  CREATE TABLE IF NOT EXISTS dp_ftrl_ledgers (
    name text PRIMARY KEY, generation bigint NOT NULL, last_part bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS dp_ftrl_parts (
    name text REFERENCES dp_ftrl_ledgers ON DELETE CASCADE, part bigint, bytes bytea NOT NULL,
    PRIMARY KEY (name, part))`;
/** Parameters: name. Afterwards, statements of earlier generations change nothing. */
const CLAIM = `
  INSERT INTO dp_ftrl_ledgers AS mine SELECT $1::text, 1, 0 WHERE ${DURABLY}
  ON CONFLICT (name) DO UPDATE SET generation = mine.generation + 1
  RETURNING generation::text, last_part::text AS part`;
const LOAD =
  'SELECT part::text, bytes FROM dp_ftrl_parts WHERE name = $1 ORDER BY dp_ftrl_parts.part';
/**
 * Parameters: name, generation, last part, bytes. Changes nothing unless the row has these values.
 */
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
/** Parameters: name. Returns the row, and whether the transaction has no changes to roll back. */
const FIND_ROW = `
  SELECT generation::text, last_part::text AS part, txid_current_if_assigned() IS NULL AS "isSettled"
  FROM dp_ftrl_ledgers WHERE name = $1`;

const AGAIN = 'open it again and make a new stream';
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
 * True if an error of pg is the server's answer to a statement, in a session that continues.
 * SQLSTATE, unlike the severity, is not translated.
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
  if (!isBytes(bytes)) throw wrongType(STORE, 'bytes', 'a Uint8Array', bytes);
  return new Uint8Array(bytes);
}

/**
 * One named stream in the tables dp_ftrl_ledgers and dp_ftrl_parts, which are created if missing.
 * Two safeguards keep writers apart. First, the connection holds an advisory lock of the server
 * while it lives, so a second store of this name is refused. Second, each load takes a new
 * generation of the row, and saving requires the current generation: a writer whose lock was lost
 * is refused permanently.
 *
 * A release is durable once the server has acknowledged it: each statement that writes waits for
 * the disk, regardless of the setting of `synchronous_commit`, and does nothing on a server without
 * fsync. A standby that is promoted must have everything that was acknowledged, so it has to be
 * synchronous (`synchronous_standby_names`).
 */
export class PostgresStore implements Store {
  private readonly queue = new StoreQueue(STORE, (value) =>
    this.refusal('store_in_use', inUse(value)),
  );
  /** The row after the last statement of this store; undefined until it is loaded. */
  private row: StreamRow | undefined;
  private failed: unknown;

  private constructor(
    private readonly client: PostgresClient,
    private readonly name: string,
  ) {}

  /**
   * Opens the stream of this name for this connection alone; it need not exist yet.
   *
   * @throws TypeError for a client without `query`, and for a Pool; for a name that is not a
   *   string.
   * @throws RangeError for a name that does not have 1 to 200 characters or has half a surrogate
   *   pair, and for a connection within a transaction.
   * @throws DpError `store_in_use` while another connection has it open, and `store_failed` if the
   *   server refuses, is a standby or runs without fsync, or if the tables are temporary or
   *   unlogged.
   */
  static async open(options: PostgresStoreOptions): Promise<PostgresStore> {
    const { client, name } = options ?? {};
    if (typeof client?.query !== 'function' || 'totalCount' in client) {
      throw wrongType(STORE, 'client', 'one connected Client of pg, not a Pool', client);
    }
    const store = new PostgresStore(client, readStoreName(STORE, name));
    await store.prepare();
    return store;
  }

  /**
   * Reads the bytes saved last, followed by all bytes appended since; undefined if there are none.
   * A store is loaded only once, because the writes of a second stream through it would be taken
   * for writes of the first.
   */
  async load(lease?: StoreLease): Promise<Uint8Array | undefined> {
    return this.queue.load(lease, async () => {
      this.requireUsable();
      if (this.row)
        throw this.refusal('store_in_use', inUse(`one that was loaded before; ${AGAIN}`));
      let claim: StreamRow | undefined;
      let parts: { part: string; bytes: Uint8Array }[];
      try {
        [claim] = await this.run<StreamRow>(CLAIM);
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
      return parts.length === 0 ? undefined : joined(parts.map(({ bytes }) => bytes));
    });
  }

  /**
   * @throws DpError `store_in_use` if another store or lease has loaded since, `disposed` after
   *   `close`, and `store_failed` before `load` and if the server refuses or is gone. After that
   *   the store has to be opened again, for a new stream, unless it is certain that nothing was
   *   changed.
   */
  async save(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    return this.write(SAVE, copied(bytes), lease);
  }

  /** Throws like `save`. */
  async append(bytes: Uint8Array, lease?: StoreLease): Promise<void> {
    return this.write(APPEND, copied(bytes), lease);
  }

  /** Closes the store, for `await using`. */
  async [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /**
   * Releases the lock once a pending save has finished. The connection stays open.
   *
   * @throws DpError `store_failed` if the server refuses, as in a transaction that has failed; the
   *   lock is then held until the connection ends.
   */
  async close(): Promise<void> {
    return this.queue.close(async () => {
      try {
        await this.run(UNLOCK);
      } catch (error) {
        // A lost connection holds no lock.
        if (isAnswer(error))
          throw this.refusal('store_failed', because('could not be closed', error), error);
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
    if (!lock!.isMine)
      throw this.refusal('store_in_use', inUse('one that another connection has open'));
    try {
      if (lock!.began === server.began) {
        const constraint = 'must be in no transaction';
        const about = { parameter: 'client', constraint, value: 'one within a transaction' };
        throw makeError('invalid_argument', STORE, about);
      }
      await this.prepareTables();
    } catch (error) {
      await this.close().catch(() => undefined); // Report the first error.
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

  /** Writes the next part after all earlier operations. */
  private async write(
    statement: string,
    bytes: Uint8Array,
    lease: StoreLease | undefined,
  ): Promise<void> {
    return this.queue.write(lease, async () => {
      this.requireUsable();
      const before = this.row;
      if (!before)
        throw this.refusal('store_failed', { constraint: 'must be loaded before it is saved' });
      const { generation, part } = before;
      let answer: { part: string } | undefined;
      let cause: unknown;
      try {
        [answer] = await this.run<{ part: string }>(statement, [
          this.name,
          generation,
          part,
          bytes,
        ]);
      } catch (error) {
        if (!isAnswer(error)) throw this.fail('store_failed', because(UNSAVED, error), error);
        cause = error;
      }
      // An error may also follow a commit, so the row itself decides.
      await this.requireFound({ generation, part: answer?.part ?? part }, UNSAVED, cause);
      if (answer) return;
      throw this.refusal('store_failed', cause ? because(UNSAVED, cause) : WITHOUT_FSYNC, cause);
    });
  }

  /**
   * Throws unless the row has the wanted values for good. A separate statement reads it, so no
   * transaction has undone the values or still can.
   */
  private async requireFound(
    wanted: StreamRow,
    constraint: string,
    cause?: unknown,
  ): Promise<void> {
    let found: (StreamRow & { isSettled: boolean }) | undefined;
    try {
      [found] = await this.run<StreamRow & { isSettled: boolean }>(FIND_ROW);
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
    const constraint = 'must be opened again, for a new stream, after it has failed';
    throw this.refusal('store_failed', { constraint }, this.failed);
  }

  /** Runs a statement while the store is being opened. */
  private async ask<Row>(text: string, values?: unknown[]): Promise<Row[]> {
    try {
      return await this.run<Row>(text, values);
    } catch (error) {
      throw this.refusal('store_failed', because('could not be opened', error), error);
    }
  }

  /**
   * Runs a statement. A warning counts as a failure, because the server warns if it did not wait
   * for a standby.
   */
  private async run<Row>(text: string, values: unknown[] = [this.name]): Promise<Row[]> {
    let warning: PostgresNotice | undefined;
    const listen = (notice: PostgresNotice) => {
      if (/^(01|57)/.test(notice.code ?? '')) warning ??= notice;
    };
    this.client.on?.('notice', listen);
    try {
      // Only a text without parameters can have several statements.
      const { rows } = await (values.length === 0
        ? this.client.query(text)
        : this.client.query(text, values));
      if (warning) throw new Error(`warning: ${warning.message}`, { cause: warning });
      return (rows ?? []) as Row[]; // The answer to several statements has no rows of its own.
    } finally {
      this.client.off?.('notice', listen);
    }
  }

  /**
   * Makes the store unusable, because it is unknown whether anything was changed, or because
   * another writer has taken over.
   */
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
