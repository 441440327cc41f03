// SPDX-License-Identifier: Apache-2.0

// Stores the decisions of a stream: appended if the store can append, else all of them at once.

import type { Core, StreamFunctions } from '../core/core.js';
import { TimeSlices } from '../shared/turns.js';
import type { LeasedStore } from './leased-store.js';
import { pack, packBase, packLog, type StoreContents } from './stored.js';

/**
 * A log shorter than this, about 890 frames of one step of one sum, is not replaced by a new base.
 */
const LEAST_LOG_BYTES = 80 * 1024;
/** Compact the log beyond this multiple of its base. */
const LOG_BYTES_PER_BASE = 4;
/** Maximum number of sums, over all steps, in a frame of several steps; at most about 92 KiB. */
const FRAME_ENTRIES = 2048;
/** Number of bytes of a step in a frame, for a stream with this many sums. */
const stepBytes = (numSums: number): number => (8 / 7) * (24 + 16 * numSums);

/** A log that the next frame continues. */
interface Frames {
  tag: Uint8Array;
  numBytes: number;
  /** Length at which the log is replaced by a new base. */
  most: number;
}

function framesAfter(tag: Uint8Array, base: Uint8Array): Frames {
  const most = Math.max(LEAST_LOG_BYTES, LOG_BYTES_PER_BASE * base.length);
  return { tag, numBytes: 0, most };
}

/** A stream whose decisions are stored. */
export interface Decider {
  core: Core;
  /** Throws if the stream was disposed of. */
  id(): number;
  readonly numSums: number;
}

export class StreamLog {
  /** Undefined if the next write stores all decisions, not only new ones. */
  private frames: Frames | undefined;
  /** Set while a write is under way, and after one that failed. */
  private isBehind = false;
  private readonly store: LeasedStore;
  private readonly turns = new TimeSlices();

  /**
   * Replays the part of the stored log that follows its base.
   *
   * @param facts  describes the options of the stream; a part of every base.
   */
  constructor(
    private readonly stream: Decider,
    private readonly stored: Pick<StoreContents, 'store' | 'key' | 'log'>,
    private readonly facts: Uint8Array,
  ) {
    const { store, log } = stored;
    this.store = store;
    if (log === undefined) return;
    const begun = framesAfter(this.ask('streamLogTag', log.base), log.base);
    const end = this.ask('streamReplay', log.frames, begun.tag, log.position);
    // Nothing is appended after a partial frame.
    const isWhole = end.size === log.frames.length;
    if (isWhole) this.frames = { ...begun, tag: end.tag, numBytes: end.size };
  }

  /** Stores what an earlier write failed to store. */
  async catchUp(): Promise<void> {
    if (this.isBehind) await this.write();
  }

  /**
   * Stores all decisions and the open step, and acknowledges them. A log that would become too long
   * is replaced by a new base instead. If this fails, `catchUp` stores them.
   */
  async write(): Promise<void> {
    this.isBehind = true;
    const { frames } = this;
    if (frames && this.store.appends && !this.isTooLong(frames)) await this.append(frames);
    else await this.replace();
    this.isBehind = false;
  }

  private ask<K extends keyof StreamFunctions>(
    name: K,
    ...args: StreamFunctions[K][0] extends [number, ...infer Rest] ? Rest : never
  ): StreamFunctions[K][1] {
    const { stream } = this;
    return stream.core.call(name, ...([stream.id(), ...args] as unknown as StreamFunctions[K][0]));
  }

  private get numPending(): number {
    const { step, acknowledged } = this.ask('streamPlace');
    return step - acknowledged;
  }

  private isTooLong({ numBytes, most }: Frames): boolean {
    return numBytes + this.numPending * stepBytes(this.stream.numSums) >= most;
  }

  /**
   * Appends frames. If this fails, it is unknown whether a frame is stored, so the next write
   * stores everything.
   */
  private async append(frames: Frames): Promise<void> {
    this.frames = undefined;
    const maxSteps = Math.max(1, Math.floor(FRAME_ENTRIES / this.stream.numSums));
    do {
      const { bytes, tag, steps } = this.ask('streamLogFrame', frames.tag, maxSteps);
      const { acknowledged } = this.ask('streamPlace');
      await this.store.append(bytes);
      frames.tag = tag;
      frames.numBytes += bytes.length;
      this.ask('streamAcknowledge', acknowledged + steps);
      await this.turns.pass();
    } while (this.numPending > 0);
    this.frames = frames;
  }

  /**
   * Stores everything. If that fails, it is unknown what is stored, so the next write stores
   * everything again.
   */
  private async replace(): Promise<void> {
    const { store, stored, turns } = this;
    this.frames = undefined;
    const { step } = this.ask('streamPlace');
    const base = packBase(this.facts, this.ask('streamState'));
    await turns.pass();
    if (store.appends) {
      const tag = this.ask('streamLogTag', base);
      await turns.pass();
      await store.save(packLog(stored.key, base));
      this.frames = framesAfter(tag, base);
    } else {
      await store.save(pack(stored.key, base));
    }
    this.ask('streamAcknowledge', step);
  }
}
