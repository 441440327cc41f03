// SPDX-License-Identifier: Apache-2.0

// Makes the stream of a command: here, or in the file of --state.

import { given } from '../../../core/given.js';
import { DEFAULT_CONFIDENCE } from '../../../shared/defaults.js';
import { PARAMETER_NAMES } from '../../../shared/parameters.js';
import type { DpFtrl, Workload } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Streams } from '../../../types/streams/stream.js';
import { Misuse } from '../../base/failure.js';
import { placeOf } from '../../input/place.js';
import type { RowStream } from '../../input/stream.js';
import { textColumns, type StepOptions } from '../../input/steps.js';
import { Clock, type Times } from '../../input/time.js';
import { trueSumsOf } from '../../input/truth.js';
import { State, type StoreOptions } from '../../state/state.js';
import { boundOf } from '../../../shared/problem.js';
import { strategyOf } from '../../options/learner.js';
import { sortByTime, type ReleasePlan, type TableColumns } from './prepare.js';
import { Releases, type OpenStream, type StoredStream } from './releases.js';
import type { Settings } from './settings.js';

/** A stream of the package, and the records that rows are for it. */
export interface StreamKind {
  name: Exclude<keyof Streams, 'counter'>;
  /** Options beside those of all streams. */
  options(columns: readonly string[], workloads: readonly Workload[]): object;
  /** Returns the records of rows, as the stream takes them. */
  records(values: Float64Array, columns: readonly string[]): unknown;
  /** Whether a category counts once for a person in a step. */
  countsOnce?: boolean;
  wanted: TableColumns;
}

/** A stream, its steps, and what ends it. */
export interface Opened<R extends Reading> {
  stream: OpenStream<R>;
  releases: Releases<R>;
  /** How rows become steps. */
  stepping: StepOptions;
  /** Present for a release over several runs. */
  state: State | undefined;
  close(): Promise<void>;
}

/** Returns the options of the stream that all kinds have. */
function optionsOf(settings: Settings, { problem, target }: ReleasePlan): object {
  const { people, neighbours, seed, confidence = DEFAULT_CONFIDENCE } = settings;
  const { mechanism, numSteps, participation } = problem;
  const parameters = given(Object.fromEntries(PARAMETER_NAMES.map((it) => [it, problem[it]])));
  const bound = boundOf(participation);
  return {
    steps: numSteps,
    ...target,
    neighbours,
    confidence,
    strategy: strategyOf({ mechanism, parameters }),
    ...(people ? { people: bound, numericNames: people.areNumbers } : { participation: bound }),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
}

/** Returns the bucket of the first row, which is that of the first step; undefined without rows. */
async function bucketOfFirst(rows: RowStream, times: Times): Promise<number | undefined> {
  const batch = await rows.first();
  if (batch && batch.numRows > 0) {
    const clock = new Clock(times);
    clock.advance(batch.texts.at(-1)!, 0, placeOf(batch, 0));
    return clock.origin;
  }
  if (batch?.fault) throw batch.fault;
  return undefined;
}

/** Returns the times of all runs with a state; the first of them says when the first step is. */
async function timesOf(state: State, rows: RowStream, settings: Settings) {
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

/** Opens the stream of --state, and finds the step from which on this run releases. */
async function openStored<R extends Reading>(
  make: (options: StoreOptions) => Promise<StoredStream<R>>,
  { settings, prepared, kind }: { settings: Settings; prepared: ReleasePlan; kind: StreamKind },
) {
  const { rows } = prepared;
  const { people, times, command, state: where } = settings;
  const { column: by, labels } = kind.wanted.categories ?? {};
  const state = await State.open(where!, {
    command: kind.name === 'sums' && command === 'release' ? 'sums' : command,
    columns: by === undefined ? rows.columns : [],
    by,
    domain: kind.name === 'histogram' ? undefined : labels,
    people,
    times,
  });
  try {
    if (by === undefined) rows.arrange(state.columns);
    const all = await timesOf(state, rows, settings);
    const stream = await state.open(all, make);
    const from = where!.firstStep ?? stream.step;
    if (from > stream.step) {
      const what = `at most ${stream.step + 1}, the first step without a release`;
      throw new Misuse(`--first-step must be ${what}, got ${from + 1}`);
    }
    return { state, stream, from, times: all };
  } catch (error) {
    await state.close();
    throw error;
  }
}

/** Makes a stream of this run only, or continues that of --state. */
export async function openStream<R extends Reading>(
  dp: DpFtrl,
  kind: StreamKind,
  { settings, prepared }: { settings: Settings; prepared: ReleasePlan },
): Promise<Opened<R>> {
  const { rows, workloads, problem } = prepared;
  const { people, times, showTrue } = settings;
  const make = dp[kind.name] as (options: object) => unknown;
  const all = () => ({
    ...optionsOf(settings, prepared),
    ...kind.options(rows.columns, workloads),
  });
  const stored = settings.state
    ? await openStored(
        (store) => make({ ...all(), ...store, durable: 'step' }) as Promise<StoredStream<R>>,
        { settings, prepared, kind },
      )
    : undefined;
  const stream = stored?.stream ?? (make(all()) as OpenStream<R>);
  const dimension = rows.columns.length;
  const { clipNorm, delta } = stream.certificate;
  const truth = showTrue
    ? trueSumsOf(dimension, { clipNorm, inL1: delta === 0 }, workloads)
    : undefined;
  const stepping = {
    people,
    times: stored ? stored.times : times,
    columns: textColumns(people, times),
    dimension,
    numSteps: problem.numSteps,
    numBefore: stored?.from ?? 0,
    isLasting: stored !== undefined,
    countsOnce: kind.countsOnce ?? false,
  };
  const records = (values: Float64Array) => kind.records(values, rows.columns);
  const hasPeople = people !== undefined;
  const kept = stored && { stream: stored.stream, from: stored.from };
  const releases = new Releases<R>({ stream, stored: kept, hasPeople, records, dimension, truth });
  const close = async (): Promise<void> => {
    if (stored) await stored.state.close();
    else await stream.dispose();
  };
  return { stream, releases, stepping, state: stored?.state, close };
}
