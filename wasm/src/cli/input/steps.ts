// SPDX-License-Identifier: Apache-2.0

// Turns rows into steps of the stream and their totals. A step is a row, or all rows of an hour, a
// day, ...

import type { PeopleSum, PrefixSum, Totals } from '../../types/all.js';
import { bucketText } from '../../shared/calendar.js';
import { Misuse } from '../base/failure.js';
import { personOf, type People } from './people.js';
import { faultAt, placeOf, type Place } from './place.js';
import type { Batch } from './rows.js';
import { Clock, OUTSIDE, type Times } from './time.js';
import type { Truth } from './truth.js';

/** Released steps, and the fault that follows them, if any. */
export interface Released {
  /** 0-based number of the first step. */
  first: number;
  /** numSteps * dimension totals. */
  noisy: Float64Array;
  /** numSteps totals without noise, with --show-nonprivate. */
  truths?: number[][];
  /** Time of each step, if steps are times. */
  labels?: string[];
  fault?: Error;
}

/** One released step. */
export interface Step {
  /** Counted from 0. */
  index: number;
  /** Time of the step, if steps are times. */
  time: string | undefined;
  noisy: Float64Array;
  truth: readonly number[] | undefined;
  /** Standard deviation of the totals. */
  std: number;
}

export function eachStep(
  { first, noisy, truths, labels }: Released,
  totals: Pick<Totals, 'dimension' | 'stddev'>,
): Step[] {
  const { dimension } = totals;
  return Array.from({ length: noisy.length / dimension }, (_, k) => ({
    index: first + k,
    time: labels?.[k],
    noisy: noisy.subarray(k * dimension, (k + 1) * dimension),
    truth: truths?.[k],
    std: totals.stddev(first + k),
  }));
}

/** SteppedTotals about the noise, which statistics lack. */
export type NoiseFacts = Partial<Pick<Totals, 'halfWidth'>>;
type Position = Pick<Totals, 'dimension' | 'numSteps' | 'step'>;
type SteppedTotals = Position & Pick<Totals, 'certificate' | 'stddev' | 'dispose'> & NoiseFacts;
/** Receives rows. */
type RowReceiver = Position & Pick<PrefixSum, 'releaseMany' | 'contribute' | 'endSteps'>;
/** Receives rows of persons. */
type PeopleReceiver = Position &
  Pick<PeopleSum, 'releaseEach' | 'contribute' | 'endSteps' | 'numDropped'>;
/** Totals over rows, with the members that are used here. */
export type RowTotals = SteppedTotals & RowReceiver;
/** Totals over rows of persons, with the members that are used here. */
export type PeopleTotals = SteppedTotals & PeopleReceiver;

/** Totals that receive the rows, with the person of each row if persons are protected. */
export type Sums =
  | { people: People; totals: PeopleTotals }
  | { people: undefined; totals: RowTotals };

/** Totals that are stored before they are returned. */
interface StoredTotals extends Omit<SteppedTotals, 'dispose'> {
  releaseMany(rows: Float64Array): Promise<Float64Array>;
  endSteps(numSteps: number): Promise<Float64Array>;
}

/** Sums, or stored ones; for streams where every row is a step. */
export type RowSums = Sums | { people: undefined; totals: StoredTotals };

/** Sums, or a rehearsal of them. */
type Receivers =
  | { people: People; totals: PeopleReceiver }
  | { people: undefined; totals: RowReceiver };

/**
 * Totals that add up nothing and release zeros: with them a stepper finds every fault of the rows
 * before the first noise is used.
 */
export class Rehearsal implements RowReceiver, PeopleReceiver {
  step = 0;
  readonly numDropped = 0;

  constructor(
    readonly dimension: number,
    readonly numSteps: number,
  ) {}

  contribute(): void {}

  endSteps(count = 1): Float64Array {
    this.step += count;
    return new Float64Array(count * this.dimension);
  }

  releaseMany(rows: ArrayLike<number>): Float64Array {
    return this.endSteps(rows.length / this.dimension);
  }

  releaseEach(persons: ArrayLike<unknown>): Float64Array {
    return this.endSteps(persons.length);
  }
}

export interface StepOptions<S = Receivers> {
  sums: S;
  columns: TextColumns;
  /** Whether a category counts once for a person in a step, however many rows they have in it. */
  countsOnce: boolean;
  /** Adds up the true totals, if they are shown as well. */
  truth: Truth | undefined;
}

/** Text columns of the rows, and the index of those of persons and times (-1 if absent). */
export interface TextColumns {
  names: string[];
  person: number;
  time: number;
}

export function textColumns(people: People | undefined, times: Times | undefined): TextColumns {
  const names = [people?.column, times?.column].filter((name) => name !== undefined);
  if (names.length === 2 && names[0] === names[1]) {
    throw new Misuse('--user-column and --time-column must be two columns');
  }
  return { names, person: people ? 0 : -1, time: times ? names.length - 1 : -1 };
}

export interface Stepper {
  take(batch: Batch): Iterable<Released> | AsyncIterable<Released>;
  /** Releases the steps that only the end of the input completes. */
  end(): Iterable<Released> | AsyncIterable<Released>;
}

/** Person of a row that adds nothing. */
const NOBODY = '';

/** Returns the persons of these rows, up to the first row whose id is no number and must be one. */
function personsOf(
  batch: Batch,
  [from, to]: readonly [number, number],
  { people, columns }: { people: People; columns: TextColumns },
): { names: string[]; fault?: Misuse } {
  const names: string[] = [];
  try {
    for (let i = from; i < to; ++i) {
      names.push(
        batch.blank?.has(i) ? NOBODY : personOf(batch, i, people, batch.texts[columns.person]!),
      );
    }
    return { names };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return { names, fault: error };
  }
}

/** Returns the totals released before an error, with the error; rethrows it if there are none. */
function stopped(first: number, error: unknown): Released {
  const { released: noisy } = error as { released?: Float64Array };
  if (!(error instanceof Error) || !noisy) throw error;
  return { first, noisy, fault: error };
}

/**
 * Makes every row a step. A row beyond a person's bound becomes a row of zeros, because steps are
 * public.
 */
export class RowStepper implements Stepper {
  private readonly truth: Truth | undefined;

  constructor(private readonly options: StepOptions<Receivers | RowSums>) {
    this.truth = options.truth;
  }

  async *take(batch: Batch): AsyncGenerator<Released> {
    const { sums, columns } = this.options;
    const { people, totals } = sums;
    const room = totals.numSteps - totals.step;
    const persons = people && personsOf(batch, [0, batch.numRows], { people, columns });
    const numRows = persons?.names.length ?? batch.numRows;
    const accepted = Math.min(numRows, room);
    for (let from = 0, to; from < accepted; from = to) {
      to = this.endOfPiece(batch, from, accepted);
      const steps = await this.release(batch, persons?.names, from, to);
      yield steps;
      if (steps.fault) return;
    }
    const end = persons?.fault ?? batch.fault;
    const stop = accepted < numRows ? pastHorizon(totals, batch, accepted) : end;
    if (stop) yield { first: totals.step, noisy: new Float64Array(), fault: stop };
  }

  *end(): Generator<Released> {}

  /** Rows of a piece all have a record, or none; there is one if it must be known which counted. */
  private endOfPiece({ blank }: Batch, from: number, end: number): number {
    if (this.truth) return from + 1;
    if (!blank) return end;
    let to = from + 1;
    while (to < end && blank.has(to) === blank.has(from)) ++to;
    return to;
  }

  private async release(
    batch: Batch,
    names: string[] | undefined,
    from: number,
    to: number,
  ): Promise<Released> {
    const { sums } = this.options;
    const { dimension, step: first } = sums.totals;
    const rows = batch.values.subarray(from * dimension, to * dimension);
    const dropped = sums.people && sums.totals.numDropped;
    const isBlank = batch.blank?.has(from) === true;
    try {
      const noisy = isBlank
        ? await sums.totals.endSteps(to - from)
        : sums.people
          ? sums.totals.releaseEach(names!.slice(from, to), rows)
          : await sums.totals.releaseMany(rows);
      if (!this.truth) return { first, noisy };
      const counts = !sums.people || sums.totals.numDropped === dropped;
      if (counts && !isBlank) this.truth.add(rows);
      return { first, noisy, truths: [this.truth.endStep()] };
    } catch (error) {
      return stopped(first, error);
    }
  }
}

export function pastHorizon(
  { numSteps }: Pick<Totals, 'numSteps'>,
  batch: Batch,
  i: number,
): Misuse {
  return beyond(`--steps ${numSteps}`, placeOf(batch, i));
}

function beyond(option: string, where: Place): Misuse {
  return faultAt(where, { code: 'past_horizon', what: `is past the horizon of ${option}` });
}

/** Categories of the persons in the open step, to find rows that repeat one. */
class SeenCategories {
  private readonly seen = new Set<string>();

  /** Whether this is the first row of the person in its category; `row` has a 1 at the category. */
  isFirst(person: string, row: Float64Array): boolean {
    const before = this.seen.size;
    this.seen.add(`${row.indexOf(1)} ${person}`);
    return this.seen.size > before;
  }

  /** Begins the next step. */
  clear(): void {
    this.seen.clear();
  }
}

/** Most steps released at once, which bounds memory in a long gap between two events. */
const CHUNK = 4096;

/** Makes every bucket a step; a bucket without rows is a step without contributions. */
export class BucketStepper implements Stepper {
  private readonly clock: Clock;
  private readonly truth: Truth | undefined;
  private readonly categories = new SeenCategories();

  constructor(private readonly options: StepOptions & { times: Times }) {
    this.clock = new Clock(options.times);
    this.truth = options.truth;
  }

  *take(batch: Batch): Generator<Released> {
    const { totals } = this.options.sums;
    /** First row not contributed yet; rows from here to before i belong to the open step. */
    let from = 0;
    for (let i = 0; i < batch.numRows; ++i) {
      const where = placeOf(batch, i);
      let fault: Misuse | undefined;
      let step = totals.step;
      try {
        step = this.clock.advance(batch.texts[this.options.columns.time]!, i, where);
        fault = this.pastHorizon(step, where);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
      // A row past the horizon still ends the steps before it, which are released.
      const until = fault?.fault.code === 'past_horizon' ? totals.numSteps : step;
      if (fault || until > totals.step) {
        const earlier = this.contribute(batch, from, i);
        if (earlier) return yield { ...this.nothing(), fault: earlier };
        from = i;
        yield* this.close(until);
      }
      if (fault) return yield { ...this.nothing(), fault };
    }
    const fault = this.contribute(batch, from, batch.numRows) ?? batch.fault;
    if (fault) yield { ...this.nothing(), fault };
  }

  *end(): Generator<Released> {
    const { first, last } = this.options.times;
    yield* this.close(last === undefined ? this.clock.step + 1 : last - first! + 1);
  }

  private nothing(): Released {
    return { first: this.options.sums.totals.step, noisy: new Float64Array() };
  }

  private pastHorizon(step: number, where: Place): Misuse | undefined {
    const { sums, times } = this.options;
    const { numSteps } = sums.totals;
    if (step < numSteps) return undefined;
    if (times.last === undefined) return beyond(`--steps ${numSteps}`, where);
    return beyond(`--to, ${bucketText(times.last, times)}: ${OUTSIDE}`, where);
  }

  /** Contributes rows to the open step; returns a fault if one of them names no person. */
  private contribute(batch: Batch, from: number, to: number): Misuse | undefined {
    const { sums, columns, countsOnce } = this.options;
    const { dimension } = sums.totals;
    if (from === to) return undefined;
    const given = batch.values.subarray(from * dimension, to * dimension);
    const rows = countsOnce ? given.slice() : given;
    const row = (k: number) => rows.subarray(k * dimension, (k + 1) * dimension);
    if (!sums.people) {
      sums.totals.contribute(rows);
      for (let k = 0; this.truth && k < to - from; ++k) this.truth.add(row(k));
      return undefined;
    }
    const { people } = sums;
    const { names, fault } = personsOf(batch, [from, to], { people, columns });
    if (fault) return fault;
    names.forEach((name, k) => {
      // The person already counts in this step or not at all, so zeros change nothing.
      if (countsOnce && !this.categories.isFirst(name, row(k))) row(k).fill(0);
    });
    if (!this.truth) sums.totals.contribute(names, rows);
    else names.forEach((name, k) => this.contributeSeen(sums.totals, name, row(k)));
    return undefined;
  }

  /** Contributes one row, and adds it to the truth if it counts. */
  private contributeSeen(totals: PeopleReceiver, person: string, row: Float64Array): void {
    const dropped = totals.numDropped;
    totals.contribute(person, row);
    if (totals.numDropped === dropped) this.truth!.addOf(person, row);
  }

  /** Ends the open step and all later ones before `step`. */
  private *close(step: number): Generator<Released> {
    const { totals } = this.options.sums;
    while (totals.step < step) {
      const first = totals.step;
      const numSteps = Math.min(step - first, CHUNK);
      const labels = Array.from({ length: numSteps }, (_, k) => this.clock.label(first + k));
      const steps = this.endSteps(numSteps);
      this.categories.clear();
      const truths = this.truth && labels.map(() => this.truth!.endStep());
      yield { ...steps, labels, ...(truths && { truths }) };
      if (steps.fault) return;
    }
  }

  private endSteps(numSteps: number): Released {
    const { totals } = this.options.sums;
    const first = totals.step;
    try {
      return { first, noisy: totals.endSteps(numSteps) };
    } catch (error) {
      return stopped(first, error);
    }
  }
}
