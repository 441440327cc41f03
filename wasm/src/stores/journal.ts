// SPDX-License-Identifier: Apache-2.0

// Stores the decisions of a ledger: appended if the store can append, else all of them at once.

import { Turns } from '../shared/turns.js';
import type { Core } from '../core/core.js';
import type { LeasedStore } from './leased-store.js';
import { pack, packBase, packLog, type Stored } from './stored.js';

/** A log shorter than this, about 1024 steps of one number, is not turned into a new base. */
const LEAST_LOG_BYTES = 80 * 1024;
/** A longer log is, once it has this many times the bytes of its base. */
const LOG_BYTES_PER_BASE = 4;
/** Number of entries in the steps of a frame, at most 92 KiB. A memo keeps its steps together. */
const FRAME_ENTRIES = 2048;
/** Bytes of a step in a frame of a ledger with this many entries. */
const stepBytes = (dimension: number): number => (8 / 7) * (24 + 16 * dimension);

/** A log that the next frame continues. */
interface Log {
  tag: Uint8Array;
  numBytes: number;
  /** Length from which on it is turned into a new base. */
  most: number;
}

function logAfter(tag: Uint8Array, base: Uint8Array): Log {
  const most = Math.max(LEAST_LOG_BYTES, LOG_BYTES_PER_BASE * base.length);
  return { tag, numBytes: 0, most };
}

export interface JournalOptions extends Pick<Stored, 'store' | 'key' | 'memo' | 'log'> {
  core: Core;
  dimension: number;
  /** Returns the ledger's handle; throws if it was disposed of. */
  ledger: () => number;
}

export class Journal {
  /** The memo that was stored last. */
  private kept: Uint8Array | undefined;
  /** Undefined if the next decisions are stored together with all earlier ones. */
  private log: Log | undefined;
  /** Set while a write is under way, and after one that failed: the memo to be stored. */
  private behind: { memo: Uint8Array | undefined } | undefined;
  private readonly core: Core;
  private readonly store: LeasedStore;
  private readonly turns = new Turns();

  /** Replays the part of the stored log that follows its base. */
  constructor(private readonly options: JournalOptions) {
    const { core, store, ledger, memo, log } = options;
    this.core = core;
    this.store = store;
    this.kept = memo;
    if (log === undefined) return;
    const id = ledger();
    const begun = logAfter(core.call('ledgerLogTag', id, log.base), log.base);
    const end = core.call('ledgerReplay', id, log.frames, begun.tag, log.position);
    this.kept = end.memo ?? this.kept;
    // Nothing is appended after a partial frame.
    const isWhole = end.size === log.frames.length;
    if (isWhole) this.log = { ...begun, tag: end.tag, numBytes: end.size };
  }

  get memo(): Uint8Array | undefined {
    return this.kept?.slice();
  }

  /** Stores what an earlier write failed to store. */
  async catchUp(): Promise<void> {
    if (this.behind) await this.write(this.behind.memo);
  }

  /**
   * Stores unacknowledged decisions, and a memo if there is one, and acknowledges them. A log that
   * would become too long is turned into a new base instead. If this fails, `catchUp` stores the
   * same.
   */
  async write(memo: Uint8Array | undefined): Promise<void> {
    this.behind = { memo };
    if (this.log && this.store.appends && !this.isTooLong(this.log))
      await this.append(this.log, memo);
    else await this.replace(memo ?? this.kept);
    this.kept = memo ?? this.kept;
    this.behind = undefined;
  }

  private get numPending(): number {
    const { decided, acknowledged } = this.core.call('ledgerSteps', this.options.ledger());
    return decided - acknowledged;
  }

  private isTooLong({ numBytes, most }: Log): boolean {
    return numBytes + this.numPending * stepBytes(this.options.dimension) >= most;
  }

  /** If this fails, it is unknown whether the frame is stored, so the next write stores everything. */
  private async append(log: Log, memo: Uint8Array | undefined): Promise<void> {
    this.log = undefined;
    const { core, options } = this;
    const few = Math.max(1, Math.floor(FRAME_ENTRIES / options.dimension));
    const maxSteps = memo ? Number.MAX_SAFE_INTEGER : few;
    do {
      const { bytes, tag, numSteps } = core.call(
        'ledgerLogFrame',
        options.ledger(),
        log.tag,
        memo,
        maxSteps,
      );
      const { acknowledged } = core.call('ledgerSteps', options.ledger());
      await this.store.append(bytes);
      log.tag = tag;
      log.numBytes += bytes.length;
      core.call('ledgerAcknowledge', options.ledger(), acknowledged + numSteps);
      await this.turns.pass();
    } while (this.numPending > 0);
    this.log = log;
  }

  /** Stores everything. If that fails, it is unknown what is stored, so the next write does, too. */
  private async replace(memo: Uint8Array | undefined): Promise<void> {
    const { core, store, options } = this;
    const id = options.ledger();
    this.log = undefined;
    const { decided } = core.call('ledgerSteps', id);
    const base = packBase(memo, core.call('ledgerState', id));
    // Made at once, because the key is wiped when the ledger is disposed of.
    const bytes = store.appends ? packLog(options.key, base) : pack(options.key, base);
    await this.turns.pass();
    const tag = store.appends ? core.call('ledgerLogTag', options.ledger(), base) : undefined;
    await this.turns.pass();
    await store.save(bytes);
    if (tag) this.log = logAfter(tag, base);
    core.call('ledgerAcknowledge', options.ledger(), decided);
  }
}
