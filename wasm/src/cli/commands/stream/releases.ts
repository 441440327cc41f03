// SPDX-License-Identifier: Apache-2.0

// Performs acts on a stream, and returns the steps that the stream releases.

import type { Certificate } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Act, StepRows } from '../../input/steps.js';
import type { ReleasedSteps } from '../../output/released.js';

type MaybePromise<T> = T | Promise<T>;

/**
 * A stream in memory or in a file. If persons are protected, the first list that a method takes is
 * the list of persons.
 */
export interface OpenStream<R> {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly step: number;
  readonly steps: number;
  readonly dropped: number;
  addMany(...lists: readonly unknown[]): MaybePromise<void>;
  endMany(steps: number): MaybePromise<R[]>;
  releaseMany(...lists: readonly unknown[]): MaybePromise<R[]>;
  dispose(): MaybePromise<void>;
}

/** A stream in a file, which can release a step again from the same records. */
export interface StoredStream<R> extends OpenStream<R> {
  readonly identity: string;
  at(step: number): Promise<R>;
  releaseAt(step: number, ...lists: readonly unknown[]): Promise<R>;
  releaseBatches(batches: readonly (readonly unknown[])[]): Promise<R[]>;
  begin(): Promise<void>;
}

interface ReleaseSource<R> {
  stream: OpenStream<R>;
  /**
   * The stream in a file, and the first step to release, which may have been released before;
   * undefined for a stream in memory.
   */
  stored: { stream: StoredStream<R>; from: number } | undefined;
  hasPeople: boolean;
  /** Records in the format of the stream; undefined if a record consists of a person only. */
  records(values: Float64Array): unknown;
  dimension: number;
}

/** Maximum number of ended steps that wait to be stored together. */
const MOST_WAITING = 4096;

function joinedRows(all: readonly StepRows[]): StepRows {
  const values = new Float64Array(all.reduce((sum, rows) => sum + rows.values.length, 0));
  let end = 0;
  for (const rows of all) values.set(rows.values, (end += rows.values.length) - rows.values.length);
  return {
    people: all.flatMap(({ people }) => people ?? []),
    values,
    numRows: all.reduce((sum, { numRows }) => sum + numRows, 0),
  };
}

export class Releases<R extends Reading> {
  /** Index of the next step to release, which may have been released before. */
  private next: number;
  /** Steps that wait to be stored together. */
  private ended: { rows: readonly StepRows[]; label: string }[] = [];
  /** Rows of the open step that the stream in the file does not have yet. */
  private open: StepRows[] = [];

  constructor(private readonly how: ReleaseSource<R>) {
    this.next = how.stored?.from ?? how.stream.step;
  }

  /** Steps released so far, by this run and the runs before it. */
  get step(): number {
    return this.next;
  }

  async perform(act: Act): Promise<ReleasedSteps<R>> {
    switch (act.kind) {
      case 'fault': {
        const released = await this.store();
        return { ...released, fault: released.fault ?? act.fault };
      }
      case 'pause':
        return this.pause();
      case 'add':
        return this.add(act.rows);
      case 'end':
        return this.how.stored && act.labels
          ? this.endStored(act.labels)
          : this.released(() => this.end(act.numSteps), act.labels);
      case 'release':
        return this.released(() => this.releaseAll(act.rows));
    }
  }

  /** Ends steps without storing them yet: they are stored later, together with others. */
  private async endStored(labels: readonly string[]): Promise<ReleasedSteps<R>> {
    const [label, ...others] = labels;
    this.ended.push({ rows: this.open, label: label! });
    this.ended.push(...others.map((other) => ({ rows: [], label: other })));
    this.open = [];
    return this.ended.length < MOST_WAITING ? { steps: [] } : this.store();
  }

  /** Stores the steps that have ended, in one write. */
  private async store(): Promise<ReleasedSteps<R>> {
    const { stored } = this.how;
    const ended = this.ended.splice(0);
    if (ended.length === 0) return { steps: [] };
    const batches = ended.map(({ rows }) => this.lists(joinedRows(rows)));
    const labels = ended.map(({ label }) => label);
    return this.released(() => stored!.stream.releaseBatches(batches), labels);
  }

  /** Stores everything that waits, so that no rows are left for later acts. */
  private async pause(): Promise<ReleasedSteps<R>> {
    const released = await this.store();
    if (released.fault || this.open.length === 0) return released;
    await this.how.stream.addMany(...this.lists(joinedRows(this.open)));
    this.open = [];
    return released;
  }

  private lists({ people, values }: StepRows): unknown[] {
    const records = this.how.records(values);
    const own = records === undefined ? [] : [records];
    return this.how.hasPeople ? [people ?? [], ...own] : own;
  }

  private *eachOf({ people, values, numRows }: StepRows): Generator<StepRows> {
    const { dimension } = this.how;
    for (let k = 0; k < numRows; ++k) {
      const row = values.subarray(k * dimension, (k + 1) * dimension);
      yield { people: people?.slice(k, k + 1), values: row, numRows: 1 };
    }
  }

  private async add(rows: StepRows): Promise<ReleasedSteps<R>> {
    const { stored, stream } = this.how;
    if (stored) this.open.push(rows);
    else await stream.addMany(...this.lists(rows));
    return { steps: [] };
  }

  private async end(numSteps: number): Promise<R[]> {
    const nothing = this.lists(joinedRows([]));
    const readings = await this.again(numSteps, () => nothing);
    const rest = numSteps - readings.length;
    return rest === 0 ? readings : [...readings, ...(await this.how.stream.endMany(rest))];
  }

  private async releaseAll(rows: StepRows): Promise<R[]> {
    const all = [...this.eachOf({ ...rows, numRows: this.numAgain(rows.numRows) })];
    const readings = await this.again(all.length, (k) => this.lists(all[k]!));
    if (readings.length === rows.numRows) return readings;
    const from = readings.length;
    const rest = {
      people: rows.people?.slice(from),
      values: rows.values.subarray(from * this.how.dimension),
      numRows: rows.numRows - from,
    };
    return [...readings, ...(await this.how.stream.releaseMany(...this.lists(rest)))];
  }

  /** How many of the next `numSteps` steps were released before. */
  private numAgain(numSteps: number): number {
    return Math.min(numSteps, this.how.stream.step - this.next);
  }

  /** Releases again those of the next `numSteps` steps that were released before. */
  private async again(numSteps: number, listsOf: (k: number) => unknown[]): Promise<R[]> {
    const readings: R[] = [];
    const numAgain = this.numAgain(numSteps);
    for (let k = 0; k < numAgain; ++k) {
      readings.push(await this.how.stored!.stream.releaseAt(this.next + k, ...listsOf(k)));
    }
    return readings;
  }

  /** Performs `act`; an error after some steps were released is returned along with these steps. */
  private async released(
    act: () => Promise<R[]>,
    labels?: readonly string[],
  ): Promise<ReleasedSteps<R>> {
    let readings: R[];
    let fault: Error | undefined;
    try {
      readings = await act();
    } catch (error) {
      const { released } = error as { released?: R[] };
      if (!(error instanceof Error) || !released) throw error;
      readings = released;
      fault = error;
    }
    this.next += readings.length;
    const steps = readings.map((reading, k) => ({ reading, time: labels?.[k] }));
    return { steps, ...(fault && { fault }) };
  }
}
