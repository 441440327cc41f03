// SPDX-License-Identifier: Apache-2.0

// A stream in memory, and the handle of the core, which streams in stores share.

import { newFloat64s, readOptions, requireCount } from '../../core/check.js';
import type { Core, CoreStream, StreamFunctions } from '../../core/core.js';
import { makeError, refusalOf, type RefusalError, told } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { counted } from '../../shared/counted.js';
import type { Certificate } from '../../types/all.js';
import type { Stream } from '../../types/streams/stream.js';
import type { CoreRecords, Records } from './records.js';
import type { Course, StoredOptions } from './shape.js';

/** Methods for many records; their errors name the refused record. */
const OF_MANY = ['addMany', 'releaseBatch', 'releaseMany', 'releaseAt', 'learn'];

const CALLED_BY_LOSS = { constraint: 'called by the loss of this learner' };

/** Number of values in the readings of one piece of a batch. */
const PIECE_NUMBERS = 2048;

/**
 * A method of some kinds of streams only, which takes its turn like any other. With `row` it acts
 * like `add` of that row. Without `arity` and `act` it is `releaseMany` without its readings.
 */
export interface Member<R> {
  arity: number | undefined;
  row?: number;
  act?(stream: StreamHandle<R>, args: readonly unknown[]): unknown;
}

/** A stream made by the core. */
export interface StreamCore<R> {
  stream: CoreStream;
  given: Records<R>;
  members: Readonly<Record<string, Member<R>>>;
  initial: StoredOptions;
  insecure: boolean;
  /** Whether readings include the values without noise. */
  nonprivate: boolean;
}

type StreamFunctionName = keyof StreamFunctions;
type StreamArguments<K extends StreamFunctionName> = StreamFunctions[K][0] extends [
  number,
  ...infer All,
]
  ? All
  : never;

/** Step of a stream, and its numbers of records. */
export type StreamPosition = StreamFunctions['streamPlace'][1];

/** A stream of the core, with the parts that MemoryStream and JournaledStream share. */
export class StreamHandle<R> extends CoreHandle {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly insecure: boolean;
  /** Reads the arguments of the methods. */
  readonly given: Records<R>;
  /** How many numbers a reading has, including the values without noise. */
  readonly size: number;
  /** Members specific to this kind of stream. */
  readonly members: Readonly<Record<string, Member<R>>>;
  readonly initial: StoredOptions;
  private readonly nonprivate: boolean;
  private course: Course<R> | undefined;
  private isFilling = false;

  constructor(instance: Instance, made: StreamCore<R>) {
    const { stream, given, members, initial, insecure, nonprivate } = made;
    super(instance, stream.id, 'stream');
    this.nonprivate = nonprivate;
    this.certificate = Object.freeze(stream.certificate);
    this.grid = stream.grid;
    this.size = stream.readingSize;
    this.insecure = insecure;
    this.given = given;
    this.members = members;
    this.initial = initial;
    try {
      this.course = given.shape.begin?.(this);
    } catch (error) {
      this.dispose();
      throw error;
    }
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

  /** Calls a function of the core for a method; errors name the method. */
  ask<K extends StreamFunctionName>(
    where: string,
    name: K,
    ...rest: StreamArguments<K>
  ): StreamFunctions[K][1] {
    try {
      return this.core.call(name, ...([this.id, ...rest] as unknown as StreamFunctions[K][0]));
    } catch (given) {
      const error = given as RefusalError & { record?: number };
      const { record: index } = error;
      const isRow = index !== undefined && OF_MANY.includes(where);
      const row = isRow && { row: { kind: 'record', index } as const };
      throw this.atHorizon(told(error, { call: where, ...row }));
    }
  }

  /** Adds the text of the shape to an error about the horizon. */
  private atHorizon(error: RefusalError): RefusalError {
    const { atHorizon } = this.given.shape;
    if (atHorizon === undefined || error.code !== 'past_horizon') return error;
    const refusal = refusalOf(error);
    const constraint = `${refusal.constraint}; ${atHorizon}`;
    return makeError('past_horizon', {}, { ...refusal, constraint });
  }

  place(): StreamPosition {
    return this.core.call('streamPlace', this.id);
  }

  /** Reads a step from its numbers. */
  read(where: string, numbers: Float64Array, step: number): R {
    const { read } = this.given.shape;
    if (!read) return this.courseAfter(step).next(where, numbers);
    if (!this.nonprivate) return read(numbers, step);
    const half = numbers.length / 2;
    const nonprivate = read(numbers.subarray(half), step);
    return { ...read(numbers.subarray(0, half), step), nonprivate };
  }

  /** Appends the readings of consecutive steps, which lie one after the other in `numbers`. */
  readInto(where: string, readings: R[], numbers: Float64Array, firstStep: number): R[] {
    const { size } = this;
    const { isCopied } = this.given.shape;
    for (let at = 0; at < numbers.length; at += size) {
      const end = at + size;
      const own = isCopied ? numbers.subarray(at, end) : numbers.slice(at, end);
      readings.push(this.read(where, own, firstStep + at / size));
    }
    return readings;
  }

  /** Course after the first `steps` steps; numbers that it has not read come from the journal. */
  courseAfter(steps: number): Course<R> {
    if (this.course!.step > steps) this.course = this.given.shape.begin!(this);
    const { size } = this;
    const course = this.course!;
    while (course.step < steps) {
      const first = course.step;
      const most = Math.min(steps - first, Math.max(1, Math.floor(PIECE_NUMBERS / size)));
      this.readInto('at', [], this.ask('at', 'streamAt', first, most), first);
    }
    return course;
  }

  /** Refuses to add to a step or end it if its reading would be meaningless. */
  requireOpen(where: string, steps: number): void {
    if (this.isFilling) throw makeError('bad_state', where, CALLED_BY_LOSS);
    if (this.given.shape.begin) this.courseAfter(steps).requireOpen(where);
  }

  /** Fills in entries that depend on the weights, in rows about to be added to the open step. */
  fill(rows: Float64Array): void {
    const { fill } = this.given.shape;
    if (!fill) return;
    this.isFilling = true;
    try {
      fill(this, rows);
    } finally {
      this.isFilling = false;
    }
  }

  /** Whether each step must be read, and so stored, before the next one. */
  get isStepwise(): boolean {
    return this.given.shape.fill !== undefined;
  }

  /**
   * Ends steps `from` to `to` of a batch. Trailing records that do not fill a step stay in the open
   * step.
   */
  releaseSteps(
    where: string,
    { records, steps, beginOf }: Cut,
    { from, to, out }: StepRange,
  ): void {
    if (this.perStep === 1 && !this.isStepwise) {
      const { people, rows } = partOf(records, from, to);
      this.ask(where, 'streamRelease', people, rows, out);
      return;
    }
    for (let i = from; i < to; ++i) {
      const { people, rows } = partOf(records, beginOf(i), beginOf(i + 1));
      const own = out?.subarray((i - from) * this.size);
      this.fill(rows);
      this.ask(where, 'streamReleaseBatch', people, rows, own);
    }
    if (to < steps || beginOf(to) === records.numRecords) return;
    const { people, rows } = partOf(records, beginOf(to), records.numRecords);
    this.fill(rows);
    this.ask(where, 'streamAdd', people, rows);
  }

  /** Splits records into whole steps and a rest; throws unless all of them are accepted. */
  cut(where: string, records: CoreRecords): Cut {
    const { perStep } = this;
    const { people, rows, numRecords } = records;
    // Records of a single step are checked when they are added.
    if (this.given.shape.isCheckedByCore && (perStep === 1 || numRecords > perStep)) {
      this.ask(where, 'streamCheck', people, rows);
    }
    const first = Math.max(1, perStep - (perStep === 1 ? 0 : this.place().waiting));
    const steps = Math.max(0, Math.floor((records.numRecords - first) / perStep) + 1);
    return { records, steps, beginOf: (i) => (i === 0 ? 0 : first + (i - 1) * perStep) };
  }

  private get perStep(): number {
    return this.given.shape.perStep ?? 1;
  }

  requireSteps(where: string, steps: unknown): number {
    return requireCount(where, 'steps', steps, Number.MAX_SAFE_INTEGER);
  }
}

/** Records of a batch, and its steps. */
export interface Cut {
  records: CoreRecords;
  steps: number;
  /** Index of the first record of a step or, after the last step, of the rest. */
  beginOf(step: number): number;
}

/** Some steps of a batch, and an array for their readings, if these are wanted at once. */
export interface StepRange {
  from: number;
  to: number;
  out: Float64Array | undefined;
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
  /** Buffer kept for the numbers of the next reading. */
  private kept: Float64Array | undefined;

  constructor(instance: Instance, made: StreamCore<R>) {
    super(instance, made);
    for (const [name, { arity, act, row }] of Object.entries(made.members)) {
      const value = (...args: readonly unknown[]): unknown => {
        if (row !== undefined) return this.addAs(name, args as A, row);
        if (arity === undefined || !act) {
          lastOf(this.pieces(name, args, Infinity));
          return undefined;
        }
        requireArity(name, args, arity);
        return act(this, args);
      };
      Object.defineProperty(this, name, { value, enumerable: true });
    }
  }

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
    this.addAs('add', record);
  }

  /** @param row  replaces the row that the record gives. */
  private addAs(where: string, record: A, row?: number): void {
    const { people, rows } = this.given.one(where, record);
    if (row !== undefined) rows.fill(row);
    this.requireGoing(where);
    this.fill(rows);
    this.ask(where, 'streamAdd', people, rows);
  }

  addMany(...columns: readonly unknown[]): void {
    const { people, rows } = this.given.many('addMany', columns);
    this.requireGoing('addMany');
    this.fill(rows);
    this.ask('addMany', 'streamAdd', people, rows);
  }

  end(): R {
    return this.ending('end', (out) => this.ask('end', 'streamEnd', 1, out));
  }

  endMany(steps: number): R[] {
    return lastOf(this.pieces('endMany', [steps], Infinity));
  }

  release(...record: A): R {
    const where = 'release';
    const { people, rows } = this.given.one(where, record);
    return this.ending(where, (out) => {
      this.fill(rows);
      this.ask(where, 'streamRelease', people, rows, out);
    });
  }

  releaseBatch(...columns: readonly unknown[]): R {
    const where = 'releaseBatch';
    const { people, rows } = this.given.many(where, columns);
    return this.ending(where, (out) => {
      this.fill(rows);
      this.ask(where, 'streamReleaseBatch', people, rows, out);
    });
  }

  releaseMany(...columns: readonly unknown[]): R[] {
    return lastOf(this.pieces('releaseMany', columns, Infinity));
  }

  /** Ends steps in pieces, between which a worker handles messages. */
  *pieces(
    verb: string,
    args: readonly unknown[],
    size = Math.max(1, Math.floor(PIECE_NUMBERS / this.size)),
  ): Generator<Piece<R>, R[]> {
    const cut = verb === 'endMany' ? undefined : this.cut(verb, this.given.many(verb, args));
    const steps = cut?.steps ?? this.requireSteps(verb, args[0]);
    const readings: R[] = [];
    let from = 0;
    do {
      const to = Math.min(steps, from + size);
      this.readMany({ verb, cut, from, to }, readings);
      from = to;
      if (to > 0) yield { readings, fraction: to / steps };
    } while (from < steps);
    return readings;
  }

  private requireGoing(where: string): void {
    this.requireOpen(where, this.numRead);
  }

  /** Reads the step that `act` ends. */
  private ending(where: string, act: (out: Float64Array) => void): R {
    this.requireGoing(where);
    const out = this.kept ?? new Float64Array(this.size);
    if (this.given.shape.isCopied) this.kept = out;
    act(out);
    return this.read(where, out, this.numRead++);
  }

  /** Ends steps `from` to `to` of a batch. An error carries all readings of the batch so far. */
  private readMany({ verb, cut, from, to }: BatchProgress, readings: R[]): void {
    const { numRead } = this;
    const isRead = verb === 'endMany' || verb === 'releaseMany';
    const out = isRead ? newFloat64s(verb, 'steps', (to - from) * this.size) : undefined;
    try {
      this.requireGoing(verb);
      try {
        if (cut) this.releaseSteps(verb, cut, { from, to, out });
        else this.ask(verb, 'streamEnd', to - from, out);
      } finally {
        if (!this.disposed && !this.core.aborted) this.numRead = this.step;
        const done = out?.subarray(0, (this.numRead - numRead) * this.size);
        if (done) this.readInto(verb, readings, done, numRead);
      }
    } catch (error) {
      throw Object.assign(error as Error, { released: readings });
    }
  }
}

interface BatchProgress {
  verb: string;
  cut: Cut | undefined;
  from: number;
  to: number;
}

/** Refuses arguments that would be ignored. */
function requireArity(where: string, args: readonly unknown[], arity: number): void {
  if (args.length <= arity) return;
  const constraint = `takes ${counted(arity, 'argument')}`;
  throw makeError('wrong_type', where, { constraint, value: counted(args.length, 'argument') });
}

function partOf({ people, rows, numRecords }: CoreRecords, from: number, to: number) {
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
