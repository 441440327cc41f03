// SPDX-License-Identifier: Apache-2.0

// Marks of runs, which tell a state that a --budget pays for from copies of it. Each run draws a mark
// and writes it first into the state, after that into the budget, before it releases anything. A
// state whose last two marks are not that of the budget is a copy made before another run began.
//
// The mark of the run before stays in the state because a run may be killed between the two writes:
// the budget then has that one, and the state goes on.

import { randomBytes } from 'node:crypto';
import type { FileStore } from '../../file-store.js';
import type { ReleaseStore } from '../../types/all.js';

/** In hexadecimal digits. */
export interface Runs {
  last: string;
  /** Mark of the run before; undefined for a first run. */
  before: string | undefined;
}

/** The state of a release of several runs, as far as a budget has to know it. */
export interface PaidState {
  /** Tells this state from others, wherever its file is. */
  readonly identity: string;
  /** Steps that are released. */
  readonly numReleased: number;
  /** Marks of the runs; undefined for a state that no budget pays for yet. */
  readonly runs: Runs | undefined;
  /** Stores these marks, and a new state with them. */
  begin(runs: Runs): Promise<void>;
}

const MARK_BYTES = 16;
/** Ends the marks, which follow what a ledger stored. */
const MAGIC = Buffer.from('dpf-runs', 'ascii');
const TAIL_BYTES = 2 * MARK_BYTES + MAGIC.length;

export function drawMark(): string {
  return randomBytes(MARK_BYTES).toString('hex');
}

function split(stored: Uint8Array): { bytes: Uint8Array; runs: Runs | undefined } {
  const tail = Buffer.from(stored.slice(Math.max(0, stored.length - TAIL_BYTES)));
  if (!tail.subarray(2 * MARK_BYTES).equals(MAGIC)) return { bytes: stored, runs: undefined };
  const [last, before] = [0, MARK_BYTES].map((at) => tail.toString('hex', at, at + MARK_BYTES));
  const isFirst = /^0*$/.test(before!);
  const runs = { last: last!, before: isFirst ? undefined : before };
  return { bytes: stored.subarray(0, stored.length - TAIL_BYTES), runs };
}

function join(bytes: Uint8Array, runs: Runs | undefined): Uint8Array {
  if (runs === undefined) return bytes;
  const marks = [runs.last, runs.before ?? ''].map((mark) => {
    return Buffer.from(mark.padEnd(2 * MARK_BYTES, '0'), 'hex');
  });
  return new Uint8Array(Buffer.concat([bytes, ...marks, MAGIC]));
}

/** A file that keeps marks behind what a ledger stores in it. */
export class MarkedStore implements ReleaseStore {
  private known: Runs | undefined;

  constructor(private readonly file: FileStore) {}

  /** The marks of what was loaded last, or written by `mark`. */
  get runs(): Runs | undefined {
    return this.known;
  }

  async load(): Promise<Uint8Array | undefined> {
    const stored = await this.file.load();
    if (stored === undefined) return undefined;
    const { bytes, runs } = split(stored);
    this.known = runs;
    return bytes;
  }

  async save(bytes: Uint8Array): Promise<void> {
    await this.file.save(join(bytes, this.known));
  }

  /** Stores other marks; where nothing is stored yet, they come with the first save. */
  async mark(runs: Runs): Promise<void> {
    const bytes = await this.load();
    this.known = runs;
    if (bytes !== undefined) await this.save(bytes);
  }

  async close(): Promise<void> {
    await this.file.close();
  }
}
