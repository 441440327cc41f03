// SPDX-License-Identifier: Apache-2.0

// From rows to steps of the stream: a row is a step, or all rows of an hour, a day, ... are.

import { ContributionGrid } from './contribution.js';
import { Misuse } from './failure.js';
import { ContributionBound, type People } from './people.js';
import type { Batch } from './rows.js';
import { Clock, type Times } from './time.js';

/** Some steps, and the fault that follows them, if there is one. */
export interface StepBatch {
  /** numSteps * dimension numbers: the rows themselves, or sums over a bucket in grids. */
  values: Float64Array;
  numSteps: number;
  /** 1-based line of the row that makes each step, or that ended its bucket. */
  lines: number[];
  /** When each step is, where steps are times. */
  labels?: string[];
  fault?: Misuse;
}

/** Text columns of the rows, in the order in which they are asked for. */
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
  readonly numDropped: number;
  take(batch: Batch): Iterable<StepBatch>;
  /** What only the end of the input completes. */
  end(): Iterable<StepBatch>;
}

/** Whose row it is; the cell must not be empty. */
export function personOf(batch: Batch, i: number, column: string, texts: string[]): string {
  const person = texts[i]!.trim();
  if (person !== '') return person;
  const [row, line] = [batch.firstRow + i, batch.lines[i]!];
  const what = `row ${row} (line ${line}), column ${JSON.stringify(column)} is missing`;
  throw new Misuse(what, { code: 'missing', row, line, column });
}

/** A row is a step. What does not count of a person becomes a row of zeros: steps are public. */
export class RowStepper implements Stepper {
  private readonly bound: ContributionBound | undefined;

  constructor(
    private readonly people: People | undefined,
    private readonly dimension: number,
  ) {
    this.bound = people && new ContributionBound(people);
  }

  get numDropped(): number {
    return this.bound?.numDropped ?? 0;
  }

  *take(batch: Batch): Generator<StepBatch> {
    const { values, numRows, lines, texts, firstRow, fault } = batch;
    const steps: StepBatch = { values, numSteps: numRows, lines, ...(fault && { fault }) };
    if (this.bound) {
      const kept = values.slice(); // The batch may be read again.
      for (let i = 0; i < numRows; ++i) {
        let person: string;
        try {
          person = personOf(batch, i, this.people!.column, texts[0]!);
        } catch (error) {
          if (!(error instanceof Misuse)) throw error;
          const before = kept.subarray(0, i * this.dimension);
          return yield { ...steps, values: before, numSteps: i, fault: error };
        }
        if (this.bound.admits(person, firstRow - 1 + i)) continue;
        kept.fill(0, i * this.dimension, (i + 1) * this.dimension);
      }
      steps.values = kept;
    }
    yield steps;
  }

  *end(): Generator<StepBatch> {}
}

/** Steps to hand over at once, so that a long gap between two events takes no memory. */
const CHUNK = 4096;

/** All rows of a bucket are one step, and buckets without rows are steps of zeros. */
export class BucketStepper implements Stepper {
  private readonly clock: Clock;
  private readonly bound: ContributionBound | undefined;
  private readonly dimension: number;
  /** Step that is being added up, and its sum in grids. */
  private open = 0;
  private readonly sum: Float64Array;
  /** Whose contribution to the open step is how much. */
  private readonly parts = new Map<string, Float64Array>();

  constructor(
    private readonly options: {
      people: People | undefined;
      times: Times;
      columns: TextColumns;
      dimension: number;
      grid: ContributionGrid;
      horizon: number;
    },
  ) {
    this.clock = new Clock(options.times);
    this.bound = options.people && new ContributionBound(options.people);
    this.dimension = options.dimension;
    this.sum = new Float64Array(options.dimension);
  }

  get numDropped(): number {
    return this.bound?.numDropped ?? 0;
  }

  *take(batch: Batch): Generator<StepBatch> {
    for (let i = 0; i < batch.numRows; ++i) {
      const where = { row: batch.firstRow + i, line: batch.lines[i]! };
      let fault: Misuse | undefined;
      let step = this.open;
      try {
        step = this.clock.advance(batch.texts[this.options.columns.time]![i]!, where);
        fault = this.pastHorizon(step, where);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
      // Steps that a row past the horizon ends are released all the same.
      const until = fault?.fault.code === 'past_horizon' ? this.options.horizon : step;
      yield* this.close(until, where.line);
      try {
        if (!fault) this.add(batch, i, step);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
      if (fault) return yield { ...none(), fault };
    }
    if (batch.fault) yield { ...none(), fault: batch.fault };
  }

  *end(): Generator<StepBatch> {
    const { first, last } = this.options.times;
    const all = last === undefined ? this.clock.step + 1 : last - first! + 1;
    yield* this.close(all, 0);
  }

  private pastHorizon(step: number, where: { row: number; line: number }): Misuse | undefined {
    const { horizon, times } = this.options;
    if (step < horizon) return undefined;
    const option = times.last === undefined ? `--steps ${horizon}` : '--to';
    const what = `row ${where.row} (line ${where.line}) is past the horizon of ${option}`;
    return new Misuse(what, { code: 'past_horizon', ...where });
  }

  private add(batch: Batch, i: number, step: number): void {
    const { people, columns, grid } = this.options;
    const row = batch.values.subarray(i * this.dimension, (i + 1) * this.dimension);
    if (!this.bound) return grid.addTo(this.sum, row);
    const person = personOf(batch, i, people!.column, batch.texts[columns.person]!);
    if (!this.bound.admits(person, step)) return;
    const part = this.parts.get(person);
    if (part === undefined) {
      this.parts.set(person, row.slice());
      return;
    }
    // Not an infinity, which clipping could make no sense of.
    row.forEach((value, j) => {
      const total = part[j]! + value;
      part[j] = Number.isFinite(total) ? total : Math.sign(total) * Number.MAX_VALUE;
    });
  }

  /** Ends the open step and those after it before `step`. */
  private *close(step: number, line: number): Generator<StepBatch> {
    while (this.open < step) {
      const numSteps = Math.min(step - this.open, CHUNK);
      const values = new Float64Array(numSteps * this.dimension);
      for (const part of this.parts.values()) this.options.grid.addTo(this.sum, part);
      values.set(this.sum);
      this.parts.clear();
      this.sum.fill(0);
      const labels = Array.from({ length: numSteps }, (_, k) => this.clock.label(this.open + k));
      this.open += numSteps;
      yield { values, numSteps, lines: new Array<number>(numSteps).fill(line), labels };
    }
  }
}

function none(): StepBatch {
  return { values: new Float64Array(), numSteps: 0, lines: [], labels: [] };
}
