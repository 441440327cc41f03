// SPDX-License-Identifier: Apache-2.0

// Turns the rows of a table into acts on a stream: records to add to the open step, and steps to
// end. A step is a row, or all rows of an hour, a day, ...

import { withArticle } from '../../shared/counted.js';
import { Misuse } from '../base/failure.js';
import { personOf, type PersonColumn } from './people.js';
import { faultAt, placeOf } from './place.js';
import type { RowBatch } from './rows.js';
import { Clock, type TimeColumn } from './time.js';

/** Rows of the table and, if persons are protected, the person of each row. */
export interface StepRows {
  people: string[] | undefined;
  values: Float64Array;
  numRows: number;
}

/** An act on a stream that results from rows. */
export type Act =
  | { kind: 'add'; rows: StepRows }
  /** Ends the open step and perhaps later ones, with the time of each step if steps are times. */
  | { kind: 'end'; numSteps: number; labels?: string[] }
  /** Makes each row a step. */
  | { kind: 'release'; rows: StepRows }
  /** Announces that the next rows may take long to arrive. */
  | { kind: 'pause' }
  /** No further act follows. */
  | { kind: 'fault'; fault: Error };

/** Text columns of the rows, and which of them hold the persons and the times (-1 if absent). */
export interface TextColumns {
  names: string[];
  person: number;
  time: number;
}

export function textColumns(
  people: PersonColumn | undefined,
  times: TimeColumn | undefined,
): TextColumns {
  const names = [people?.column, times?.column].filter((name) => name !== undefined);
  if (names.length === 2 && names[0] === names[1]) {
    throw new Misuse('--user-column and --time-column must be two columns');
  }
  return { names, person: people ? 0 : -1, time: times ? names.length - 1 : -1 };
}

/** How the rows of a run become steps. */
export interface StepOptions {
  people: PersonColumn | undefined;
  times: TimeColumn | undefined;
  columns: TextColumns;
  /** Entries in a row. */
  dimension: number;
  /** The horizon of the stream. */
  numSteps: number;
  /** Steps ended by earlier runs of the stream. */
  numBefore: number;
  /** Whether later runs can continue the stream. */
  isLasting: boolean;
  /**
   * Whether each person counts at most once per category and step, however many rows they have
   * there.
   */
  countsOnce: boolean;
}

/** Turns batches of rows into acts, in order. */
export interface Steps {
  take(batch: RowBatch): Generator<Act>;
  /** Ends the steps that only the end of the input completes. */
  end(): Generator<Act>;
}

export function stepsOf(options: StepOptions): Steps {
  const { times } = options;
  return times ? new BucketSteps({ ...options, times }) : new RowSteps(options);
}

/** Stands for the person in a row that adds nothing. */
const NOBODY = '';

/** Rows of a batch up to the first row with an invalid id. */
function rowsOf(
  batch: RowBatch,
  [from, to]: readonly [number, number],
  { people, columns, dimension }: StepOptions,
): { rows: StepRows; fault?: Misuse } {
  const upTo = (end: number, names?: string[]): StepRows => {
    const values = batch.values.subarray(from * dimension, end * dimension);
    return { people: names, values, numRows: end - from };
  };
  if (!people) return { rows: upTo(to) };
  const names: string[] = [];
  try {
    for (let i = from; i < to; ++i) {
      const isBlank = batch.blank?.has(i) === true;
      names.push(isBlank ? NOBODY : personOf(batch, i, people, batch.texts[columns.person]!));
    }
    return { rows: upTo(to, names) };
  } catch (error) {
    if (!(error instanceof Misuse)) throw error;
    return { rows: upTo(from + names.length, names), fault: error };
  }
}

function partOf(
  { people, values }: StepRows,
  from: number,
  to: number,
  dimension: number,
): StepRows {
  return {
    people: people?.slice(from, to),
    values: values.subarray(from * dimension, to * dimension),
    numRows: to - from,
  };
}

export function pastHorizon(
  { numSteps }: { numSteps: number },
  batch: RowBatch,
  i: number,
): Misuse {
  const what = `is past the horizon of --steps ${numSteps}`;
  return faultAt(placeOf(batch, i), { code: 'past_horizon', what });
}

/**
 * Maximum number of rows released at once; the readings of more rows would survive minor garbage
 * collections.
 */
const MOST_RELEASED = 1024;

/** Makes every row a step, including rows that do not count, because steps are public. */
class RowSteps implements Steps {
  private next: number;

  constructor(private readonly options: StepOptions) {
    this.next = options.numBefore;
  }

  *take(batch: RowBatch): Generator<Act> {
    const { dimension, numSteps } = this.options;
    const { rows, fault } = rowsOf(batch, [0, batch.numRows], this.options);
    const accepted = Math.min(rows.numRows, numSteps - this.next);
    const { blank } = batch;
    for (let from = 0, to; from < accepted; from = to) {
      const most = Math.min(from + MOST_RELEASED, accepted);
      to = blank ? from + 1 : most;
      while (to < most && blank!.has(to) === blank!.has(from)) ++to;
      this.next += to - from;
      yield blank?.has(from)
        ? { kind: 'end', numSteps: to - from }
        : { kind: 'release', rows: partOf(rows, from, to, dimension) };
    }
    const stop =
      accepted < rows.numRows ? pastHorizon(this.options, batch, accepted) : (fault ?? batch.fault);
    if (stop) yield { kind: 'fault', fault: stop };
  }

  *end(): Generator<Act> {}
}

/**
 * Categories in which each person has rows in the open step, to find rows that repeat a category.
 */
class SeenCategories {
  private readonly seen = new Map<number, Set<string>>();

  /** Whether this is the first row of the person in a category. */
  isFirst(person: string, category: number): boolean {
    let persons = this.seen.get(category);
    if (!persons) this.seen.set(category, (persons = new Set()));
    const before = persons.size;
    return persons.add(person).size > before;
  }

  /** Begins the next step. */
  clear(): void {
    this.seen.clear();
  }
}

/** Maximum number of steps ended at once, which bounds memory in a long gap between two events. */
const CHUNK = 4096;

/** Makes every bucket a step; a bucket without rows is a step without records. */
class BucketSteps implements Steps {
  private readonly clock: Clock;
  private readonly categories = new SeenCategories();
  /** The open step. */
  private next: number;

  constructor(private readonly options: StepOptions & { times: TimeColumn }) {
    this.clock = new Clock(options.times);
    this.next = options.numBefore;
  }

  *take(batch: RowBatch): Generator<Act> {
    const { isLasting, columns } = this.options;
    /** First row not added yet; rows from here to before i belong to the open step. */
    let from = 0;
    for (let i = 0; i < batch.numRows; ++i) {
      let fault: Misuse | undefined;
      let step: number | undefined = this.next;
      try {
        step = this.clock.advance(batch.texts[columns.time]!, i, batch);
        fault = step === undefined ? undefined : this.outside(step, batch, i);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
      if (step === undefined) {
        // Whether a row is left out depends only on its own time.
        if (yield* this.add(batch, from, i)) return;
        from = i + 1;
        if (this.clock.isPast && !isLasting) yield* this.close(this.numSteps);
        continue;
      }
      // A row past the horizon completes the earlier steps, unless a later run may supply rows for
      // them.
      const completes = fault?.fault.code === 'past_horizon' && !isLasting;
      const until = completes ? this.numSteps : fault ? this.next : step;
      if (fault || until > this.next) {
        if (yield* this.add(batch, from, i)) return;
        from = i;
        yield* this.close(until);
      }
      if (fault) return yield { kind: 'fault', fault };
    }
    if (yield* this.add(batch, from, batch.numRows)) return;
    if (batch.fault) yield { kind: 'fault', fault: batch.fault };
  }

  *end(): Generator<Act> {
    const { last } = this.options.times;
    yield* this.close(last === undefined ? this.clock.step + 1 : this.numSteps);
  }

  /** Number of steps up to --to or the horizon. */
  private get numSteps(): number {
    const { numSteps, times } = this.options;
    const { first, last } = times;
    return last === undefined ? numSteps : Math.min(numSteps, last - first! + 1);
  }

  /** Fault of a row outside the steps of this run. */
  private outside(step: number, batch: RowBatch, i: number): Misuse | undefined {
    const { numBefore, times } = this.options;
    if (step < 0) {
      const what = `is before the first ${times.bucket} of this --state`;
      return faultAt(placeOf(batch, i), { code: 'already_released', what });
    }
    if (step < numBefore) {
      const what = `is in ${withArticle(times.bucket)} that an earlier run with this --state released`;
      return faultAt(placeOf(batch, i), { code: 'already_released', what });
    }
    return step < this.numSteps ? undefined : pastHorizon(this.options, batch, i);
  }

  /** Adds rows to the open step; returns whether one of them names no person. */
  private *add(batch: RowBatch, from: number, to: number): Generator<Act, boolean> {
    if (from === to) return false;
    const { countsOnce, dimension } = this.options;
    const { rows, fault } = rowsOf(batch, [from, to], this.options);
    if (fault) {
      yield { kind: 'fault', fault };
      return true;
    }
    yield { kind: 'add', rows: countsOnce ? this.firstOf(rows, dimension) : rows };
    return false;
  }

  /** Zeroes rows that repeat a category of their person in this step. */
  private firstOf(rows: StepRows, dimension: number): StepRows {
    if (!rows.people) return rows;
    const values = rows.values.slice();
    rows.people.forEach((person, k) => {
      const begin = k * dimension;
      const category = values.indexOf(1, begin) - begin;
      if (!this.categories.isFirst(person, category)) values[begin + category] = 0;
    });
    return { ...rows, values };
  }

  /** Ends the open step and all later steps before `step`. */
  private *close(step: number): Generator<Act> {
    while (this.next < step) {
      const first = this.next;
      const numSteps = Math.min(step - first, CHUNK);
      const labels = Array.from({ length: numSteps }, (_, k) => this.clock.label(first + k));
      this.next += numSteps;
      this.categories.clear();
      yield { kind: 'end', numSteps, labels };
    }
  }
}
