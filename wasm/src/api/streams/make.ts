// SPDX-License-Identifier: Apache-2.0

// Makes a stream of any kind, in memory or in a store.

import { outOfRange, type Reader, readOptions, wrongType } from '../../core/check.js';
import type { CoreStream, CoreStreamOptions } from '../../core/core.js';
import { asErrorsOf, makeError, type RefusalError, refusalOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import { StreamLog } from '../../stores/log.js';
import { identityOf, openStored } from '../../stores/stored.js';
import type { Certificate } from '../../types/all.js';
import { isStoredBudget, readPayments, type Payments } from '../payment.js';
import { factsOf, requireSameFacts } from './facts.js';
import { JournaledStream } from './journaled.js';
import type { CommonOptions, StreamDefinition } from './kind.js';
import { readCommon, streamOptions } from './options.js';
import { Records } from './records.js';
import { named, type StoredOptions } from './shape.js';
import { MemoryStream, StreamHandle, type StreamCore } from './stream.js';

/** Options of a stream that have been read. */
interface StreamPlan<R> extends CommonOptions, ReturnType<StreamDefinition<R>['read']> {
  kind: StreamDefinition<R>;
  reader: Reader;
}

function plan<R>(instance: Instance, kind: StreamDefinition<R>, options: unknown): StreamPlan<R> {
  const reader = readOptions(kind.name, options, streamOptions(kind));
  const common = readCommon(instance, reader, kind);
  const own = kind.read(reader, common.complete);
  return { ...common, ...own, kind, reader, complete: { ...common.complete, ...own.set } };
}

/** If a grid has no room and the clip norm is beyond this, the clip norm is at fault. */
const MOST_ORDINARY = 1e200;

/**
 * Attributes an error to an option that the caller gave: a parameter belongs to the strategy, and a
 * default grid follows from other options.
 */
function inGiven<R>(error: RefusalError, { reader, complete, kind }: StreamPlan<R>): RefusalError {
  const name = error.parameter as keyof typeof complete.parameters | undefined;
  if (name !== undefined && complete.parameters[name] !== undefined && !reader.has(name)) {
    const parameter = `strategy.${name}`;
    return makeError(error.code, {}, { ...refusalOf(error), parameter }, error.cause);
  }
  const own = kind.blames?.(error, reader);
  if (own) return makeError(error.code, {}, { ...refusalOf(error), ...own }, error.cause);
  const norm = ['clip', 'clippedTo'].find((it) => reader.has(it));
  if (error.parameter === 'noiseStddev' && norm !== undefined) {
    const constraint =
      Number(reader.raw(norm)) > 1
        ? 'must be small enough for noise that a number can hold'
        : 'must be large enough for noise of at least 2^-900';
    const about = { parameter: norm, constraint, value: String(reader.raw(norm)) };
    return makeError(error.code, {}, { ...refusalOf(error), ...about }, error.cause);
  }
  if (error.parameter !== 'grid' || reader.has('grid')) return error;
  const room = 'for sums and noise to have room on their grid';
  const isHuge = norm !== undefined && Number(reader.raw(norm)) > MOST_ORDINARY;
  const about = isHuge
    ? { parameter: norm, constraint: `must be smaller, ${room}`, value: String(reader.raw(norm)) }
    : {
        parameter: 'epsilon',
        constraint: `must be larger, or {steps} smaller, ${room}`,
        value: String(complete.epsilon),
      };
  return makeError('invalid_argument', {}, { ...refusalOf(error), ...about }, error.cause);
}

/**
 * Adds to the certificate the errors of several workloads or the claims of windows, under their
 * names, and other claims.
 */
function certified<R>(
  { certificate, workloads, windows }: CoreStream,
  { names = [], claims }: Pick<StreamPlan<R>, 'names' | 'claims'>,
): Certificate {
  const own = { ...certificate, ...claims };
  if (windows) return { ...own, active: Object.freeze(named(names, (i) => windows[i]!)) };
  if (!workloads) return own;
  const errorsOf = (i: number) => {
    const { maxError, meanError } = workloads[i]!;
    return Object.freeze({ maxError, meanError });
  };
  return { ...own, workloads: Object.freeze(named(names, errorsOf)) };
}

type StoreFields = Pick<CoreStreamOptions, 'key' | 'state' | 'about' | 'journal'>;

/** The `initial` options of a stored stream. @throws if its other options differ. */
function storedInitial<R>(
  { reader, initial = {} }: StreamPlan<R>,
  facts: StoredOptions,
  memo: Uint8Array | undefined,
): StoredOptions {
  const names = Object.keys(initial);
  const stored = requireSameFacts(reader.where, { facts, initial: names }, memo);
  return Object.fromEntries(names.map((name) => [name, stored[name]]));
}

/** Makes the stream in the core. */
function make<R>(
  instance: Instance,
  planned: StreamPlan<R>,
  { initial = {}, ...rest }: StoreFields & { initial?: StoredOptions | undefined },
): StreamCore<R> {
  const { complete, shape, people, kind } = planned;
  const all = { ...complete, ...rest };
  try {
    const stream = asErrorsOf(kind.name, () => instance.core.call('streamCreate', all));
    return {
      stream: { ...stream, certificate: certified(stream, planned) },
      given: new Records(shape, people),
      members: kind.members ?? {},
      initial,
      insecure: complete.insecureSeed !== undefined,
      nonprivate: complete.nonprivate,
    };
  } catch (error) {
    throw inGiven(error as RefusalError, planned);
  }
}

/** Reads the budget, which is refused with a fixed seed: such a stream is not private. */
function readBudget(reader: Reader): Payments | undefined {
  const payments = readPayments(reader);
  if (payments === undefined || !reader.has('insecureSeed')) return payments;
  throw outOfRange(
    reader.where,
    'insecureSeed',
    'left out with {budget}',
    reader.raw('insecureSeed'),
  );
}

type InMemory<R> = MemoryStream<never, R>;

/** Makes a stream in memory, or a promise of one if its budget is in a store. */
function makeInMemory<R>(
  instance: Instance,
  planned: StreamPlan<R>,
): InMemory<R> | Promise<InMemory<R>> {
  const { reader, complete, initial } = planned;
  const payments = readBudget(reader);
  const rest = { state: undefined, about: '', journal: false, initial };
  const stream = withKey(reader.where, complete, ({ key }) => {
    const made = make(instance, planned, { ...rest, key });
    return asErrorsOf(planned.kind.name, () => new MemoryStream<never, R>(instance, made));
  });
  const { certificate } = stream;
  const about = { where: planned.kind.name, certificate, stream: undefined, isReopened: false };
  const refused = (error: unknown): never => {
    stream.dispose();
    throw error;
  };
  try {
    return payments?.pay(about)?.then(() => stream, refused) ?? stream;
  } catch (error) {
    return refused(error);
  }
}

function openInStore<R>(instance: Instance, planned: StreamPlan<R>): Promise<JournaledStream<R>> {
  const { reader, complete, shape, durable, kind } = planned;
  const { core } = instance;
  const payments = readBudget(reader);
  const own = { ...planned.own, ...planned.kept };
  const facts = factsOf(kind.name, complete, own);
  return openStored(reader, complete, async ({ key: given, state }, stored) => {
    const initial = state ? storedInitial(planned, facts, stored.memo) : planned.initial;
    const about = JSON.stringify({ ...facts, ...initial });
    const made = make(instance, planned, { key: given, state, about, journal: true, initial });
    const handle = asErrorsOf(kind.name, () => new StreamHandle(instance, made));
    try {
      const decider = { core, id: () => handle.id, numSums: shape.numSums };
      const log = new StreamLog(decider, stored, new TextEncoder().encode(about));
      const identity = identityOf(core.call('streamCommitment', handle.id));
      const isReopened = state !== undefined;
      const { certificate } = handle;
      await payments?.pay({ where: kind.name, certificate, stream: identity, isReopened });
      // Otherwise the stream would be charged again if it is closed before its first record.
      if (payments && !isReopened) await log.write();
      const { hold, key } = stored;
      return new JournaledStream<R>({ handle, log, hold, key, durable, identity });
    } catch (error) {
      handle.dispose();
      throw error;
    }
  });
}

/**
 * Refuses a protecting option that is present but undefined: the missing protection would go
 * unnoticed.
 */
function requireMeant(where: string, options: unknown): void {
  if (typeof options !== 'object' || options === null) return;
  const given = options as Readonly<Record<string, unknown>>;
  const name = ['store', 'people', 'budget'].find((it) => it in given && given[it] === undefined);
  if (name !== undefined) throw wrongType(where, name, 'defined or left out', undefined);
}

/**
 * Makes a stream in memory; or, if the options name a store or a budget in a store, a promise of a
 * stream.
 */
export function makeStream<R>(
  instance: Instance,
  kind: StreamDefinition<R>,
  options: unknown,
): InMemory<R> | Promise<InMemory<R> | JournaledStream<R>> {
  const read = () => plan(instance, kind, options);
  requireMeant(kind.name, options);
  const { store, budget } = (options ?? {}) as { store?: unknown; budget?: unknown };
  if (store === undefined && !isStoredBudget(budget)) return makeInMemory(instance, read());
  // An error in the options rejects the promise; the budget is charged in the order of the calls.
  const make = store === undefined ? makeInMemory : openInStore;
  return (async () => make<R>(instance, read()))();
}
