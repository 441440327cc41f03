// SPDX-License-Identifier: Apache-2.0

// Opens the stream of a command, in memory or in the file of --state.

import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import type { DpFtrl, Workload } from '../../../types/all.js';
import type { PrivacyTarget } from '../../../types/streams/options.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Streams } from '../../../types/streams/stream.js';
import { Misuse } from '../../base/failure.js';
import type { RowStream } from '../../input/stream.js';
import { textColumns, type StepOptions } from '../../input/steps.js';
import { Clock, type TimeColumn } from '../../input/time.js';
import { State, type StoreOptions } from '../../state/state.js';
import {
  noiseOptions,
  sortByTime,
  type OpenTable,
  type ReleasePlan,
  type TableColumns,
  type TableQuestion,
} from './prepare.js';
import { Releases, type OpenStream, type StoredStream } from './releases.js';
import type { ReleaseSettings } from './settings.js';

/** A kind of stream of the package, and how rows become its records. */
export interface StreamKind {
  name: Exclude<keyof Streams, 'counter'>;
  /** Options specific to this kind of stream. */
  options(
    columns: readonly string[],
    workloads: readonly Workload[],
    target: PrivacyTarget,
  ): object;
  /** Records in the format of the stream; undefined if a record consists of a person only. */
  records(values: Float64Array, columns: readonly string[]): unknown;
  /** Whether each person counts at most once per category and step. */
  countsOnce?: boolean;
  /**
   * Options by name that later runs of a --state must repeat although they are not options of the
   * stream.
   */
  repeated?: Readonly<Record<string, string>>;
  /** Whether records are events of people, and the stream chooses its strategy. */
  isOfPeople?: boolean;
  wanted: TableColumns;
}

/** An open stream, and the means to release its steps and to close it. */
export interface ReleaseRun<R extends Reading> {
  stream: OpenStream<R>;
  releases: Releases<R>;
  /** How rows become steps. */
  stepping: StepOptions;
  /** Present for a release over several runs. */
  state: State | undefined;
  /** Reads a step that an earlier run released. */
  past(step: number): Promise<R>;
  close(): Promise<void>;
}

/** Options that all kinds of streams have. */
export function optionsOf(
  settings: ReleaseSettings,
  { problem, target }: Pick<ReleasePlan, 'problem' | 'target'>,
  isOfPeople = false,
): object {
  const { people, neighbours, seed, showTrue, confidence = DEFAULT_CONFIDENCE } = settings;
  const { strategy, steps, participation } = problem;
  const shared = {
    steps,
    ...target,
    neighbours,
    confidence,
    ...(people && { numericNames: people.areNumbers }),
    ...(seed !== undefined && { insecureSeed: seed }),
    ...(showTrue && { showNonprivate: true }),
  };
  if (isOfPeople) return shared;
  return { ...shared, strategy, ...(people ? { people: participation } : { participation }) };
}

/** Bucket of the first row, which becomes the first step; undefined if there are no rows. */
async function bucketOfFirst(rows: RowStream, times: TimeColumn): Promise<number | undefined> {
  const batch = await rows.first();
  if (batch && batch.numRows > 0) {
    const clock = new Clock(times);
    clock.advance(batch.texts.at(-1)!, 0, batch);
    return clock.origin;
  }
  if (batch?.fault) throw batch.fault;
  return undefined;
}

/** Times for a run of a state, whose first step the first run fixes. */
async function timesOf(state: State, rows: RowStream, settings: ReleaseSettings) {
  const { times, steps } = settings;
  if (!times) return undefined;
  if (times.sorts) await sortByTime(rows, times);
  const first = state.firstBucket ?? times.first ?? (await bucketOfFirst(rows, times));
  if (first === undefined) {
    const what = `the first ${times.bucket} of a new state is not known`;
    throw state.told(new Misuse(`${what}: give --from, or a row`));
  }
  if (times.last !== undefined && times.last - first >= steps!) {
    throw new Misuse(`--to is past the horizon of --steps ${steps}`);
  }
  return { ...times, first };
}

/** Opens the file of --state, and requires the options of its first run; undefined without one. */
export async function openState(
  settings: ReleaseSettings,
  kind: StreamKind & TableQuestion,
  table: OpenTable,
): Promise<State | undefined> {
  const { people, times, command, state: where } = settings;
  if (where === undefined) return undefined;
  const { column: by, labels } = kind.wanted.categories ?? {};
  return State.open(where, {
    command: kind.name === 'sums' && command === 'release' ? 'sums' : command,
    columns: by === undefined ? table.rows.columns : [],
    by,
    domain: kind.name === 'histogram' ? undefined : labels,
    people,
    times,
    others: { ...kind.repeated, ...(kind.compared && noiseOptions(settings, table)) },
  });
}

/** Opens the stream of a state, and finds the step at which this run begins to release. */
async function openStored<R extends Reading>(
  make: (options: StoreOptions) => Promise<StoredStream<R>>,
  { settings, prepared, kind, state }: OpenOptions & { kind: StreamKind; state: State },
) {
  const { rows, choice } = prepared;
  if (kind.wanted.categories === undefined) rows.arrange(state.columns);
  const all = await timesOf(state, rows, settings);
  const stream = await state.open({ times: all, noise: choice }, make);
  const from = settings.state!.firstStep ?? stream.step;
  if (from > stream.step) {
    const what = `at most ${stream.step + 1}, the first step without a release`;
    throw new Misuse(`--first-step must be ${what}, got ${from + 1}`);
  }
  return { stream, from, times: all };
}

interface OpenOptions {
  settings: ReleaseSettings;
  prepared: ReleasePlan;
  /** Present with --state. */
  state?: State | undefined;
}

/** Creates a stream for this run only, or continues the stream of --state. */
export async function openStream<R extends Reading>(
  dp: DpFtrl,
  kind: StreamKind,
  { settings, prepared, state }: OpenOptions,
): Promise<ReleaseRun<R>> {
  const { rows, workloads, problem, target } = prepared;
  const { people, times } = settings;
  const make = dp[kind.name] as (options: object) => unknown;
  const all = () => ({
    ...optionsOf(settings, prepared, kind.isOfPeople),
    ...kind.options(rows.columns, workloads, target),
  });
  const stored =
    state &&
    (await openStored(
      (store) => make({ ...all(), ...store, durable: 'step' }) as Promise<StoredStream<R>>,
      { settings, prepared, kind, state },
    ));
  const stream = stored?.stream ?? (make(all()) as OpenStream<R>);
  const dimension = rows.columns.length;
  const stepping = {
    people,
    times: stored ? stored.times : times,
    columns: textColumns(people, times),
    dimension,
    numSteps: problem.steps,
    numBefore: stored?.from ?? 0,
    isLasting: stored !== undefined,
    countsOnce: kind.countsOnce ?? false,
  };
  const records = (values: Float64Array) => kind.records(values, rows.columns);
  const hasPeople = people !== undefined;
  const kept = stored && { stream: stored.stream, from: stored.from };
  const releases = new Releases<R>({ stream, stored: kept, hasPeople, records, dimension });
  const close = async (): Promise<void> => {
    if (state) await state.close();
    else await stream.dispose();
  };
  const past = (step: number) => stored!.stream.at(step);
  return { stream, releases, stepping, state, past, close };
}
