// SPDX-License-Identifier: Apache-2.0

// Turns the rows of a table into acts on a stream: what is added to the open step, and which steps
// end. A step is a row, or all rows of an hour, a day, ...

import { Misuse } from '../base/failure.js';
import { personOf, type People } from './people.js';
import { faultAt, placeOf, type Place } from './place.js';
import type { Batch } from './rows.js';
import { Clock, type Times } from './time.js';

/** Rows of the table, and the person of each if persons are protected. */
export interface Rows {
  people: string[] | undefined;
  values: Float64Array;
  numRows: number;
}

/** A change of a stream that rows make. */
export type Act =
  | { kind: 'add'; rows: Rows }
  /** Ends the open step and those after it, with the time of each if steps are times. */
  | { kind: 'end'; numSteps: number; labels?: string[] }
  /** Makes each row a step. */
  | { kind: 'release'; rows: Rows }
  /** More rows may be long in coming. */
  | { kind: 'pause' }
  /** No further act follows. */
  | { kind: 'fault'; fault: Error };

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

/** Steps of a run. */
export interface StepOptions {
  people: People | undefined;
  times: Times | undefined;
  columns: TextColumns;
  /** Number of entries in a row. */
  dimension: number;
  /** The horizon of the stream. */
  numSteps: number;
  /** Steps that earlier runs of the stream have ended. */
  numBefore: number;
  /** Whether later runs continue the stream. */
  isLasting: boolean;
  /** Whether a category counts once for a person in a step, however many rows they have in it. */
  countsOnce: boolean;
}

/** Turns batches of rows into acts, in order. */
export interface Steps {
  take(batch: Batch): Generator<Act>;
  /** Ends the steps that only the end of the input completes. */
  end(): Generator<Act>;
}

export function stepsOf(options: StepOptions): Steps {
  const { times } = options;
  return times ? new BucketSteps({ ...options, times }) : new RowSteps(options);
}

/** Person of a row that adds nothing. */
const NOBODY = '';

/** Returns rows of a batch, up to the first whose id is no number and must be one. */
function rowsOf(
  batch: Batch,
  [from, to]: readonly [number, number],
  { people, columns, dimension }: StepOptions,
): { rows: Rows; fault?: Misuse } {
  const upTo = (end: number, names?: string[]): Rows => {
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

function partOf({ people, values }: Rows, from: number, to: number, dimension: number): Rows {
  return {
    people: people?.slice(from, to),
    values: values.subarray(from * dimension, to * dimension),
    numRows: to - from,
  };
}

function beyond(option: string, where: Place): Misuse {
  return faultAt(where, { code: 'past_horizon', what: `is past the horizon of ${option}` });
}

export function pastHorizon({ numSteps }: { numSteps: number }, batch: Batch, i: number): Misuse {
  return beyond(`--steps ${numSteps}`, placeOf(batch, i));
}

/** Makes every row a step, including those that do not count, because steps are public. */
class RowSteps implements Steps {
  private next: number;

  constructor(private readonly options: StepOptions) {
    this.next = options.numBefore;
  }

  *take(batch: Batch): Generator<Act> {
    const { dimension, numSteps } = this.options;
    const { rows, fault } = rowsOf(batch, [0, batch.numRows], this.options);
    const accepted = Math.min(rows.numRows, numSteps - this.next);
    const { blank } = batch;
    for (let from = 0, to; from < accepted; from = to) {
      to = blank ? from + 1 : accepted;
      while (to < accepted && blank!.has(to) === blank!.has(from)) ++to;
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

/** Most steps ended at once, which bounds memory in a long gap between two events. */
const CHUNK = 4096;

/** Makes every bucket a step; a bucket without rows is a step without records. */
class BucketSteps implements Steps {
  private readonly clock: Clock;
  private readonly categories = new SeenCategories();
  /** The open step. */
  private next: number;

  constructor(private readonly options: StepOptions & { times: Times }) {
    this.clock = new Clock(options.times);
    this.next = options.numBefore;
  }

  *take(batch: Batch): Generator<Act> {
    const { isLasting, columns } = this.options;
    /** First row not added yet; rows from here to before i belong to the open step. */
    let from = 0;
    for (let i = 0; i < batch.numRows; ++i) {
      const where = placeOf(batch, i);
      let fault: Misuse | undefined;
      let step: number | undefined = this.next;
      try {
        step = this.clock.advance(batch.texts[columns.time]!, i, where);
        fault = step === undefined ? undefined : this.outside(step, where);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
      if (step === undefined) {
        // Whether a row is left out depends on its own time alone.
        if (yield* this.add(batch, from, i)) return;
        from = i + 1;
        if (this.clock.isPast && !isLasting) yield* this.close(this.numSteps);
        continue;
      }
      // A row past the horizon completes the steps before it; a later run may give their rows.
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

  /** Number of steps until --to or the horizon. */
  private get numSteps(): number {
    const { numSteps, times } = this.options;
    const { first, last } = times;
    return last === undefined ? numSteps : Math.min(numSteps, last - first! + 1);
  }

  /** Returns the fault of a row outside the steps of this run. */
  private outside(step: number, where: Place): Misuse | undefined {
    const { numBefore, numSteps, times } = this.options;
    if (step < 0) {
      const what = `is before the first ${times.bucket} of this --state`;
      return faultAt(where, { code: 'already_released', what });
    }
    if (step < numBefore) {
      const what = `is in a ${times.bucket} that an earlier run with this --state released`;
      return faultAt(where, { code: 'already_released', what });
    }
    return step < this.numSteps ? undefined : beyond(`--steps ${numSteps}`, where);
  }

  /** Adds rows to the open step; returns whether one of them names no person. */
  private *add(batch: Batch, from: number, to: number): Generator<Act, boolean> {
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

  /** Makes zeros of rows that repeat a category of their person in this step. */
  private firstOf(rows: Rows, dimension: number): Rows {
    if (!rows.people) return rows;
    const values = rows.values.slice();
    rows.people.forEach((person, k) => {
      const row = values.subarray(k * dimension, (k + 1) * dimension);
      if (!this.categories.isFirst(person, row)) row.fill(0);
    });
    return { ...rows, values };
  }

  /** Ends the open step and all later ones before `step`. */
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
