// SPDX-License-Identifier: Apache-2.0

// Marks of runs, which distinguish a state charged to a --budget from its copies. Each run draws a
// mark and writes it first into the state, then into the budget, before it releases anything. A
// state whose last two marks both differ from the budget's is a copy made before another run began.
//
// The state keeps the previous run's mark too, because a run may be killed between the two writes:
// the budget then still has the previous mark, and the state can be continued.

import { randomBytes } from 'node:crypto';
import type { FileStore } from '../../file-store.js';
import type { Store } from '../../types/all.js';

/** Marks of the last two runs, in hexadecimal digits. */
export interface RunMarks {
  last: string;
  /** Mark of the previous run; undefined for a first run. */
  before: string | undefined;
}

/** State of a release over several runs, as seen by a budget. */
export interface PaidState {
  /** Identifies this state, independent of the path of its file. */
  readonly identity: string;
  /** Number of released steps. */
  readonly numReleased: number;
  /** Marks of the last two runs; undefined for a state not yet charged to a budget. */
  readonly runs: RunMarks | undefined;
  /** Stores these marks, and the state if it is new. */
  begin(runs: RunMarks): Promise<void>;
}

const MARK_BYTES = 16;
/**
 * First bytes of the file of a state with marks; the marks follow, then the bytes of the stream.
 */
const MAGIC = Buffer.from('dpf-runs', 'ascii');
const HEAD_BYTES = MAGIC.length + 2 * MARK_BYTES;

export function drawMark(): string {
  return randomBytes(MARK_BYTES).toString('hex');
}

function split(stored: Uint8Array): { bytes: Uint8Array; runs: RunMarks | undefined } {
  const head = Buffer.from(stored.subarray(0, HEAD_BYTES));
  if (head.length < HEAD_BYTES || !head.subarray(0, MAGIC.length).equals(MAGIC)) {
    return { bytes: stored, runs: undefined };
  }
  const [last, before] = [0, 1].map((i) => {
    const at = MAGIC.length + i * MARK_BYTES;
    return head.toString('hex', at, at + MARK_BYTES);
  });
  const isFirst = /^0*$/.test(before!);
  const runs = { last: last!, before: isFirst ? undefined : before };
  return { bytes: stored.subarray(HEAD_BYTES), runs };
}

function join(bytes: Uint8Array, runs: RunMarks | undefined): Uint8Array {
  if (runs === undefined) return bytes;
  const marks = [runs.last, runs.before ?? ''].map((mark) => {
    return Buffer.from(mark.padEnd(2 * MARK_BYTES, '0'), 'hex');
  });
  return new Uint8Array(Buffer.concat([MAGIC, ...marks, bytes]));
}

/** A file in which marks may precede the bytes of the stream. The file is read once. */
export class MarkedStore implements Store {
  private loaded: Promise<void> | undefined;
  /** The loaded bytes; undefined after a write. */
  private bytes: Uint8Array | undefined;
  private known: RunMarks | undefined;

  constructor(private readonly file: FileStore) {}

  /** The marks that were loaded, or last written by `mark`. */
  get runs(): RunMarks | undefined {
    return this.known;
  }

  async load(): Promise<Uint8Array | undefined> {
    await (this.loaded ??= this.read());
    return this.bytes;
  }

  async save(bytes: Uint8Array): Promise<void> {
    this.bytes = undefined;
    await this.file.save(join(bytes, this.known));
  }

  async append(bytes: Uint8Array): Promise<void> {
    this.bytes = undefined;
    await this.file.append(bytes);
  }

  /**
   * Stores new marks, before anything else is written; if nothing is stored yet, the first save
   * includes them.
   */
  async mark(runs: RunMarks): Promise<void> {
    const bytes = await this.load();
    this.known = runs;
    if (bytes !== undefined) await this.file.save(join(bytes, runs));
  }

  async close(): Promise<void> {
    await this.file.close();
  }

  private async read(): Promise<void> {
    const stored = await this.file.load();
    if (stored !== undefined) ({ bytes: this.bytes, runs: this.known } = split(stored));
  }
}
