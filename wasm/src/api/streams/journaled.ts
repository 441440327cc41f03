// SPDX-License-Identifier: Apache-2.0

// A stream in a store. The core decides a step and the store saves it; only then is the step read.

import { outOfRange, requireCount } from '../../core/check.js';
import { makeError, ofStep } from '../../core/errors.js';
import { counted } from '../../shared/counted.js';
import { TimeSlices as Slices } from '../../shared/turns.js';
import type { StreamLog } from '../../stores/log.js';
import type { StoreHold } from '../../stores/store-hold.js';
import type { Certificate } from '../../types/all.js';
import type { Async, Call } from '../../types/async.js';
import type { Journal, Stream } from '../../types/streams/stream.js';
import type { CommonOptions } from './kind.js';
import type { Member, StreamPosition, StreamHandle } from './stream.js';
import { abortedError, readCall, Turns } from './turns.js';

/** Number of sums (steps times sums per step) decided between two pauses, in a few milliseconds. */
const SLICE_ENTRIES = 2048;

/** The parts of a stream in a store. */
export interface JournalParts<R> {
  handle: StreamHandle<R>;
  log: StreamLog;
  hold: StoreHold;
  key: Uint8Array<ArrayBuffer>;
  durable: CommonOptions['durable'];
  identity: string;
}

/** The steps of one call; `decide` ends those from one index up to another. */
interface JournalBatch {
  steps: number;
  isRead: boolean;
  /** Whether each step is stored before the next one. */
  isStepwise: boolean;
  decide(from: number, to: number): void;
}

export class JournaledStream<R>
  implements Async<Stream<[never], unknown> & Journal<[never], unknown>>
{
  readonly certificate: Certificate;
  readonly grid: number;
  readonly insecure: boolean;
  readonly steps: number;
  readonly identity: string;
  // Defined by the constructor where the symbol exists; not every host has it yet.
  declare readonly [Symbol.asyncDispose]: () => Promise<void>;
  private readonly turns = new Turns();
  /** Position of the stream when the last call settled. */
  private place: StreamPosition;

  constructor(private readonly parts: JournalParts<R>) {
    const { handle } = parts;
    this.certificate = handle.certificate;
    this.grid = handle.grid;
    this.insecure = handle.insecure;
    this.steps = handle.steps;
    this.identity = parts.identity;
    this.place = handle.place();
    for (const [name, member] of Object.entries(handle.members)) {
      const value = (...args: readonly unknown[]) => this.member(name, member, args);
      Object.defineProperty(this, name, { value, enumerable: true });
    }
    if (typeof Symbol.asyncDispose === 'symbol') {
      Object.defineProperty(this, Symbol.asyncDispose, { value: () => this.dispose() });
    }
  }

  get disposed(): boolean {
    return this.parts.handle.disposed;
  }

  get step(): number {
    return this.place.acknowledged;
  }

  get records(): number {
    return this.place.records;
  }

  get waiting(): number {
    return this.place.waiting;
  }

  get dropped(): number {
    return this.place.dropped;
  }

  async add(...args: readonly unknown[]): Promise<void> {
    return this.adding('add', args);
  }

  async addMany(...args: readonly unknown[]): Promise<void> {
    return this.adding('addMany', args);
  }

  async end(...args: readonly unknown[]): Promise<R> {
    const { call } = this.split('end', args, 0);
    return this.ended('end', call, (handle) => handle.ask('end', 'streamEnd', 1, undefined));
  }

  async endMany(...args: readonly unknown[]): Promise<R[]> {
    const where = 'endMany';
    const { given, call } = this.split(where, args, 1);
    const { handle } = this.parts;
    const steps = handle.requireSteps(where, given[0]);
    const decide = (from: number, to: number): void => {
      handle.ask(where, 'streamEnd', to - from, undefined);
    };
    return this.batch(where, call, () => ({ steps, decide, isRead: true, isStepwise: false }));
  }

  async release(...args: readonly unknown[]): Promise<R> {
    const where = 'release';
    const { given, call } = this.split(where, args);
    const { people, rows } = this.parts.handle.given.one(where, given);
    return this.ended(where, call, (handle) => {
      handle.fill(rows);
      handle.ask(where, 'streamRelease', people, rows, undefined);
    });
  }

  async releaseBatch(...args: readonly unknown[]): Promise<R> {
    const where = 'releaseBatch';
    const { given, call } = this.split(where, args);
    const { people, rows } = this.parts.handle.given.many(where, given);
    return this.ended(where, call, (handle) => {
      handle.fill(rows);
      handle.ask(where, 'streamReleaseBatch', people, rows, undefined);
    });
  }

  /** Ends one step per batch, in one write. Only the command calls it. */
  async releaseBatches(batches: readonly (readonly unknown[])[]): Promise<R[]> {
    const where = 'releaseBatch';
    const { handle } = this.parts;
    const all = batches.map((lists) => handle.given.many(where, lists));
    const decide = (from: number, to: number): void => {
      for (const { people, rows } of all.slice(from, to)) {
        handle.ask(where, 'streamReleaseBatch', people, rows, undefined);
      }
    };
    const { isStepwise } = handle;
    return this.batch(where, {}, () => ({ steps: all.length, decide, isRead: true, isStepwise }));
  }

  async releaseMany(...args: readonly unknown[]): Promise<R[]> {
    return this.releaseRecords('releaseMany', args);
  }

  /** Ends steps of records; only `releaseMany` needs readings. */
  private async releaseRecords(where: string, args: readonly unknown[]): Promise<R[]> {
    const { given, call } = this.split(where, args);
    const { handle } = this.parts;
    const records = handle.given.many(where, given);
    return this.batch(where, call, () => {
      const cut = handle.cut(where, records);
      const decide = (from: number, to: number): void =>
        handle.releaseSteps(where, cut, { from, to, out: undefined });
      const isRead = where === 'releaseMany';
      return { steps: cut.steps, decide, isRead, isStepwise: handle.isStepwise };
    });
  }

  async at(...args: readonly unknown[]): Promise<R> {
    const where = 'at';
    const { given, call } = this.split(where, args, 1);
    const [step] = given;
    return this.act(where, call, async () => {
      const { acknowledged } = this.parts.handle.place();
      const isFromEnd = typeof step === 'number' && step < 0;
      const index = isFromEnd ? acknowledged + step : step;
      if (acknowledged === 0 || (isFromEnd && (index as number) < 0)) {
        throw outOfRange(where, 'step', `one of the ${counted(acknowledged, 'step')} read`, step);
      }
      return this.read(where, requireCount(where, 'step', index, acknowledged - 1));
    });
  }

  async releaseAt(...args: readonly unknown[]): Promise<R> {
    const where = 'releaseAt';
    const { handle } = this.parts;
    const { given, call } = this.split(where, args, 1 + handle.given.arity);
    const step = requireCount(where, 'step', given[0], this.steps - 1);
    const { people, rows } = handle.given.many(where, given.slice(1));
    return this.act(where, call, async (decided) => {
      const { step: open } = handle.place();
      if (step > open) {
        const wanted = open === 0 ? '0, the open step' : `at most ${open}, the open step`;
        throw outOfRange(where, 'step', wanted, step);
      }
      const isRepeat = handle.ask(where, 'streamIsRepeat', step, people, rows);
      if (isRepeat) return this.read(where, step);
      handle.requireOpen(where, step);
      handle.fill(rows);
      handle.ask(where, 'streamReleaseBatch', people, rows, undefined);
      decided(step);
      await this.parts.log.write();
      return this.read(where, step);
    });
  }

  /**
   * Stores a stream without steps, so that a run that ends before its first step leaves its key to
   * the next run. The command calls this before it charges a budget.
   */
  async begin(): Promise<void> {
    return this.act('begin', {}, () => this.parts.log.write());
  }

  async stddev(...args: readonly unknown[]): Promise<number> {
    const { given, call } = this.split('stddev', args, 1);
    return this.turns.take('stddev', call, () => this.parts.handle.stddev(given[0] as number));
  }

  async halfWidth(...args: readonly unknown[]): Promise<number> {
    const { given, call } = this.split('halfWidth', args, 1);
    const [of] = given as [{ probability: number }];
    return this.turns.take('halfWidth', call, () => this.parts.handle.halfWidth(of));
  }

  async dispose(...args: readonly unknown[]): Promise<void> {
    const { call } = this.split('dispose', args, 0);
    const { handle, hold, key } = this.parts;
    await this.turns.take('dispose', call, () => {
      if (handle.disposed) return;
      key.fill(0);
      hold.release();
      handle.dispose();
    });
  }

  /** Splits the options of the call from its other arguments. */
  private split(where: string, args: readonly unknown[], arity = this.parts.handle.given.arity) {
    if (args.length <= arity + 1) {
      return { given: args.slice(0, arity), call: readCall(where, args[arity]) };
    }
    const constraint = `takes ${counted(arity, 'argument')} and the options of the call`;
    throw makeError('wrong_type', where, { constraint, value: counted(args.length, 'argument') });
  }

  /** @param row  replaces the row that the record gives. */
  private async adding(where: string, args: readonly unknown[], row?: number): Promise<void> {
    const { given, call } = this.split(where, args);
    const { handle, durable, log } = this.parts;
    const records =
      where === 'addMany' ? handle.given.many(where, given) : handle.given.one(where, given);
    if (row !== undefined) records.rows.fill(row);
    return this.act(where, call, async (decided) => {
      handle.requireOpen(where, handle.place().step);
      handle.fill(records.rows);
      handle.ask(where, 'streamAdd', records.people, records.rows);
      if (records.numRecords === 0) return;
      decided(handle.place().step);
      if (durable === 'record' && !handle.place().stored) await log.write();
    });
  }

  /** Decides, stores and reads the open step. */
  private async ended(
    where: string,
    call: Call,
    decide: (handle: StreamHandle<R>) => void,
  ): Promise<R> {
    const { handle, log } = this.parts;
    return this.act(where, call, async (decided) => {
      const { step } = handle.place();
      handle.requireOpen(where, step);
      decide(handle);
      decided(step);
      await log.write();
      return this.read(where, step);
    });
  }

  /**
   * Decides, stores and reads many steps. If a step is refused or cannot be stored, the error has
   * the readings of the stored steps before it.
   */
  private async batch(where: string, call: Call, begin: () => JournalBatch): Promise<R[]> {
    const { handle, log, durable } = this.parts;
    return this.act(where, call, async (decided) => {
      const { step: first, records } = handle.place();
      const readings: R[] = [];
      const errors: unknown[] = [];
      let isRead = true;
      const trying = async (act: () => void | Promise<void>): Promise<void> => {
        try {
          await act();
        } catch (error) {
          errors.push(error);
        }
      };
      await trying(() => {
        handle.requireOpen(where, first);
        const batch = begin();
        ({ isRead } = batch);
        return this.decide(where, { call, batch, decided: () => decided(first) });
      });
      await trying(() => {
        const { step, records: all } = handle.place();
        return step > first || (durable === 'record' && all > records) ? log.write() : undefined;
      });
      await trying(() => {
        const steps = handle.place().acknowledged - first;
        if (steps === 0 || !isRead) return;
        handle.readInto(where, readings, handle.ask(where, 'streamAt', first, steps), first);
      });
      if (errors.length > 0) throw Object.assign(errors[0] as Error, { released: readings });
      return readings;
    });
  }

  private async decide(
    where: string,
    { call, batch, decided }: { call: Call; batch: JournalBatch; decided: () => void },
  ): Promise<void> {
    const { steps, decide, isStepwise } = batch;
    const slices = new Slices();
    const { handle, log } = this.parts;
    const most = Math.floor(SLICE_ENTRIES / handle.given.shape.numSums);
    const size = isStepwise ? 1 : Math.max(1, most);
    let from = 0;
    do {
      // The caller's loss sees predictions, so the steps they follow from are stored first.
      if (isStepwise && from > 0) await log.write();
      if (call.signal?.aborted) throw abortedError(where, call.signal);
      const to = Math.min(steps, from + size);
      decide(from, to);
      decided();
      if (to > 0) call.onProgress?.({ fraction: to / steps });
      await slices.pass();
      from = to;
    } while (from < steps);
  }

  /** Calls a member that only some kinds of streams have. */
  private async member(
    where: string,
    { arity, act, row }: Member<R>,
    args: readonly unknown[],
  ): Promise<unknown> {
    if (row !== undefined) return this.adding(where, args, row);
    if (!act) {
      await this.releaseRecords(where, args);
      return undefined;
    }
    const { given, call } = this.split(where, args, arity);
    return this.act(where, call, async () => act(this.parts.handle, given));
  }

  private read(where: string, step: number): R {
    const { handle } = this.parts;
    return handle.read(where, handle.ask(where, 'streamAt', step, 1), step);
  }

  /**
   * Acts after all earlier calls, once everything that they failed to store is stored. An error of
   * the store carries the step of this call, unless the call did nothing.
   *
   * @param act  is passed a function to be called with the step, once it is decided.
   */
  private act<T>(
    where: string,
    call: Call,
    act: (decided: (step: number) => void) => Promise<T>,
  ): Promise<T> {
    let step: number | undefined;
    const { handle, log } = this.parts;
    return this.turns.take(where, call, async () => {
      try {
        await log.catchUp();
        return await act((decided) => (step = decided));
      } catch (error) {
        throw ofStep(error, step);
      } finally {
        if (!handle.disposed && !handle.core.aborted) this.place = handle.place();
      }
    });
  }
}
