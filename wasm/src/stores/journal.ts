// SPDX-License-Identifier: Apache-2.0

// Stores the decisions of a ledger: appended if the store can append, else all of them at once.

import type { Core } from '../core/core.js';
import type { ReleaseStore } from '../types/all.js';
import { pack, packBase, packLog, type Stored } from './stored.js';

/** A log shorter than this, about 1024 steps of one number, is not turned into a new base. */
const LEAST_LOG_BYTES = 80 * 1024;
/** A longer log is, once it has this many times the bytes of its base. */
const LOG_BYTES_PER_BASE = 4;

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
  /** Returns the ledger's handle; throws if it was disposed of. */
  ledger: () => number;
}

export class Journal {
  /** The memo that was stored last. */
  private kept: Uint8Array | undefined;
  /** Undefined if the next decisions are stored together with all earlier ones. */
  private log: Log | undefined;
  private readonly core: Core;
  private readonly store: ReleaseStore;

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

  /** True if the log should be turned into a new base. */
  get isLong(): boolean {
    return this.log !== undefined && this.log.numBytes >= this.log.most;
  }

  /** Stores unacknowledged decisions, and a memo if there is one, and acknowledges them. */
  async write(memo: Uint8Array | undefined): Promise<void> {
    const { core, store, options } = this;
    const id = options.ledger();
    const { decided } = core.call('ledgerSteps', id);
    const next = memo ?? this.kept;
    if (this.log && store.append) {
      const { bytes, tag } = core.call('ledgerLogFrame', id, this.log.tag, memo);
      await store.append(bytes);
      this.log.tag = tag;
      this.log.numBytes += bytes.length;
    } else {
      await this.replace(next);
    }
    this.kept = next;
    core.call('ledgerAcknowledge', options.ledger(), decided);
  }

  /**
   * Turns the log into a new base. If that fails, it is unknown what is stored, and the next
   * release stores everything again.
   */
  async shorten(): Promise<void> {
    this.log = undefined;
    await this.replace(this.kept).catch(() => undefined);
  }

  private async replace(memo: Uint8Array | undefined): Promise<void> {
    const { core, store, options } = this;
    const id = options.ledger();
    const base = packBase(memo, core.call('ledgerState', id));
    if (!store.append) return store.save(pack(options.key, base));
    const tag = core.call('ledgerLogTag', id, base);
    await store.save(packLog(options.key, base));
    this.log = logAfter(tag, base);
  }
}
