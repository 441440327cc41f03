// SPDX-License-Identifier: Apache-2.0

// A stream in memory, and the handle of the core that it shares with one in a store.

import { newFloat64s, requireCount } from '../../core/check.js';
import type { Core, CoreStream, StreamFunctions } from '../../core/core.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import type { Certificate } from '../../types/all.js';
import type { Stream } from '../../types/streams/stream.js';
import { readOptions } from '../options.js';
import type { CoreRecords, Records } from './records.js';
import { inWords } from './words.js';

/** Number of values in the readings of a piece of a batch. */
const PIECE_NUMBERS = 2048;

/** A stream as the core has made it. */
export interface StreamCore<R> {
  stream: CoreStream;
  given: Records<R>;
  insecure: boolean;
}

type Name = keyof StreamFunctions;
type Rest<K extends Name> = StreamFunctions[K][0] extends [number, ...infer All] ? All : never;

/** Step and numbers of records of a stream. */
export type Place = StreamFunctions['streamPlace'][1];

/** A stream of the core, and what can be asked of it at any time; its users add the verbs. */
export class StreamHandle<R> extends CoreHandle {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly insecure: boolean;
  /** Reads the arguments of the verbs. */
  readonly given: Records<R>;
  /** Number of numbers in a reading. */
  readonly size: number;

  constructor(instance: Instance, { stream, given, insecure }: StreamCore<R>) {
    super(instance, stream.id, 'stream');
    this.certificate = Object.freeze(stream.certificate);
    this.grid = stream.grid;
    this.size = stream.readingSize;
    this.insecure = insecure;
    this.given = given;
  }

  override get core(): Core {
    return super.core;
  }

  /** Throws if this was disposed of. */
  override get id(): number {
    return super.id;
  }

  get steps(): number {
    return this.certificate.numSteps;
  }

  stddev(step: number): number {
    requireCount('stddev', 'step', step, this.steps - 1);
    return this.ask('stddev', 'streamStddev', step);
  }

  halfWidth(of: { probability: number; step?: number | undefined }): number {
    const where = 'halfWidth';
    const reader = readOptions(where, of, ['step', 'probability']);
    const probability = reader.number('probability');
    const step = reader.raw('step');
    if (step !== undefined) requireCount(where, 'step', step, this.steps - 1);
    return this.ask(where, 'streamHalfWidth', step as number | undefined, probability);
  }

  /** Calls a function of the core for a method, which errors name. */
  ask<K extends Name>(where: string, name: K, ...rest: Rest<K>): StreamFunctions[K][1] {
    return inWords(where, () =>
      this.core.call(name, ...([this.id, ...rest] as unknown as StreamFunctions[K][0])),
    );
  }

  place(): Place {
    return this.core.call('streamPlace', this.id);
  }

  /** Appends the readings of consecutive steps, which lie one after the other in `numbers`. */
  readInto(readings: R[], numbers: Float64Array, firstStep: number): R[] {
    const { size } = this;
    const { shape } = this.given;
    for (let at = 0; at < numbers.length; at += size) {
      const end = at + size;
      const own = shape.isCopied ? numbers.subarray(at, end) : numbers.slice(at, end);
      readings.push(shape.read(own, firstStep + at / size));
    }
    return readings;
  }

  requireSteps(where: string, steps: unknown): number {
    return requireCount(where, 'steps', steps, Number.MAX_SAFE_INTEGER);
  }
}

/** Steps of a batch that have been read. */
export interface Piece<R> {
  readings: R[];
  fraction: number;
}

export class MemoryStream<A extends readonly unknown[], R>
  extends StreamHandle<R>
  implements Stream<A, R>
{
  private numRead = 0;
  /** Kept for the numbers of the next reading. */
  private kept: Float64Array | undefined;

  get step(): number {
    return this.place().step;
  }

  get records(): number {
    return this.place().records;
  }

  get waiting(): number {
    return this.place().waiting;
  }

  get dropped(): number {
    return this.place().dropped;
  }

  add(...record: A): void {
    const { people, rows } = this.given.one('add', record);
    this.ask('add', 'streamAdd', people, rows);
  }

  addMany(...columns: readonly unknown[]): void {
    const { people, rows } = this.given.many('addMany', columns);
    this.ask('addMany', 'streamAdd', people, rows);
  }

  end(): R {
    return this.read((out) => this.ask('end', 'streamEnd', 1, out));
  }

  endMany(steps: number): R[] {
    return lastOf(this.pieces('endMany', [steps], Infinity));
  }

  release(...record: A): R {
    const { people, rows } = this.given.one('release', record);
    return this.read((out) => this.ask('release', 'streamRelease', people, rows, out));
  }

  releaseBatch(...columns: readonly unknown[]): R {
    const { people, rows } = this.given.many('releaseBatch', columns);
    return this.read((out) => this.ask('releaseBatch', 'streamReleaseBatch', people, rows, out));
  }

  releaseMany(...columns: readonly unknown[]): R[] {
    return lastOf(this.pieces('releaseMany', columns, Infinity));
  }

  /** Ends steps in pieces, between which a worker handles messages. */
  *pieces(
    verb: 'endMany' | 'releaseMany',
    args: readonly unknown[],
    size = Math.max(1, Math.floor(PIECE_NUMBERS / this.size)),
  ): Generator<Piece<R>, R[]> {
    const records = verb === 'releaseMany' ? this.given.many(verb, args) : undefined;
    const steps = records?.numRecords ?? this.requireSteps(verb, args[0]);
    const readings: R[] = [];
    for (let from = 0; from < steps; from += size) {
      const to = Math.min(steps, from + size);
      this.readMany({ verb, records, from, to }, readings);
      yield { readings, fraction: to / steps };
    }
    return readings;
  }

  /** Reads the step that `act` ends. */
  private read(act: (out: Float64Array) => void): R {
    const { shape } = this.given;
    const out = this.kept ?? new Float64Array(this.size);
    if (shape.isCopied) this.kept = out;
    act(out);
    return shape.read(out, this.numRead++);
  }

  /** Ends steps `from` to `to` of a batch. An error has all readings of the batch so far. */
  private readMany({ verb, records, from, to }: Batch, readings: R[]): void {
    const out = newFloat64s(verb, 'steps', (to - from) * this.size);
    const { numRead } = this;
    try {
      if (records) {
        const { people, rows } = partOf(records, from, to);
        this.ask(verb, 'streamRelease', people, rows, out);
      } else {
        this.ask(verb, 'streamEnd', to - from, out);
      }
      this.numRead += to - from;
    } catch (error) {
      if (!this.disposed && !this.core.aborted) this.numRead = this.step;
      throw Object.assign(error as Error, { released: readings });
    } finally {
      const done = out.subarray(0, (this.numRead - numRead) * this.size);
      this.readInto(readings, done, numRead);
    }
  }
}

interface Batch {
  verb: 'endMany' | 'releaseMany';
  records: CoreRecords | undefined;
  from: number;
  to: number;
}

/** Returns a part of the records. */
export function partOf({ people, rows, numRecords }: CoreRecords, from: number, to: number) {
  if (from === 0 && to === numRecords) return { people, rows };
  const width = rows.length / numRecords;
  const start = from === 0 ? 0 : (people?.ends[from - 1] ?? 0);
  return {
    rows: rows.slice(from * width, to * width),
    people: people && {
      bytes: people.bytes.slice(start, people.ends[to - 1]),
      ends: people.ends.slice(from, to).map((end) => end - start),
    },
  };
}

function lastOf<R>(pieces: Generator<Piece<R>, R[]>): R[] {
  for (;;) {
    const piece = pieces.next();
    if (piece.done) return piece.value;
  }
}
