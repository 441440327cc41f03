// SPDX-License-Identifier: Apache-2.0

// Performs the acts of rows on a stream, and returns the steps that it releases.

import type { Certificate } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import type { Act, Rows } from '../../input/steps.js';
import type { Truth } from '../../input/truth.js';
import type { Released } from '../../output/released.js';

type Perhaps<T> = T | Promise<T>;

/** A stream here or in a file. The lists of its verbs begin with persons if these are protected. */
export interface OpenStream<R> {
  readonly certificate: Certificate;
  readonly grid: number;
  readonly step: number;
  readonly steps: number;
  readonly dropped: number;
  addMany(...lists: readonly unknown[]): Perhaps<void>;
  endMany(steps: number): Perhaps<R[]>;
  releaseMany(...lists: readonly unknown[]): Perhaps<R[]>;
  dispose(): Perhaps<void>;
}

/** A stream in a file, which releases a step again for the same records. */
export interface StoredStream<R> extends OpenStream<R> {
  readonly identity: string;
  releaseAt(step: number, ...lists: readonly unknown[]): Promise<R>;
  releaseBatches(batches: readonly (readonly unknown[])[]): Promise<R[]>;
  begin(): Promise<void>;
}

interface Performed<R> {
  stream: OpenStream<R>;
  /** The same stream, if it is in a file, and the first step to release, perhaps again. */
  stored: { stream: StoredStream<R>; from: number } | undefined;
  hasPeople: boolean;
  /** Returns the records of rows, as the stream takes them. */
  records(values: Float64Array): unknown;
  dimension: number;
  /** Adds up the true totals, if they are shown as well. */
  truth: Truth | undefined;
}

/** Most ended steps that wait to be stored together. */
const MOST_WAITING = 4096;

function joinedRows(all: readonly Rows[]): Rows {
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
  /** Index of the next step to be released, perhaps again. */
  private next: number;
  /** Steps that wait to be stored together. */
  private ended: { rows: readonly Rows[]; label: string }[] = [];
  /** Rows of the open step that the stream in a file does not have yet. */
  private open: Rows[] = [];

  constructor(private readonly how: Performed<R>) {
    this.next = how.stored?.from ?? how.stream.step;
  }

  /** Number of steps that were released so far, by this run and those before it. */
  get step(): number {
    return this.next;
  }

  async perform(act: Act): Promise<Released<R>> {
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
        return this.release(act.rows);
    }
  }

  /** Ends steps that are stored later, together with others. */
  private async endStored(labels: readonly string[]): Promise<Released<R>> {
    const [label, ...others] = labels;
    this.ended.push({ rows: this.open, label: label! });
    this.ended.push(...others.map((other) => ({ rows: [], label: other })));
    this.open = [];
    return this.ended.length < MOST_WAITING ? { steps: [] } : this.store();
  }

  /** Stores the steps that have ended, in one write. */
  private async store(): Promise<Released<R>> {
    const { stored } = this.how;
    const ended = this.ended.splice(0);
    if (ended.length === 0) return { steps: [] };
    const batches = ended.map(({ rows }) => this.lists(joinedRows(rows)));
    const labels = ended.map(({ label }) => label);
    return this.released(() => stored!.stream.releaseBatches(batches), labels);
  }

  /** Leaves no rows to later acts. */
  private async pause(): Promise<Released<R>> {
    const released = await this.store();
    if (released.fault || this.open.length === 0) return released;
    await this.how.stream.addMany(...this.lists(joinedRows(this.open)));
    this.open = [];
    return released;
  }

  private lists({ people, values }: Rows): unknown[] {
    const records = this.how.records(values);
    return this.how.hasPeople ? [people ?? [], records] : [records];
  }

  private *eachOf({ people, values, numRows }: Rows): Generator<Rows> {
    const { dimension } = this.how;
    for (let k = 0; k < numRows; ++k) {
      const row = values.subarray(k * dimension, (k + 1) * dimension);
      yield { people: people?.slice(k, k + 1), values: row, numRows: 1 };
    }
  }

  private async add(rows: Rows): Promise<Released<R>> {
    const { stored, stream, truth } = this.how;
    if (stored) this.open.push(rows);
    else if (truth) await this.addSeen(rows, truth);
    else await stream.addMany(...this.lists(rows));
    return { steps: [] };
  }

  /** Adds rows one by one, and to the truth those that count. */
  private async addSeen(rows: Rows, truth: Truth): Promise<void> {
    const { stream } = this.how;
    for (const row of this.eachOf(rows)) {
      const { dropped } = stream;
      await stream.addMany(...this.lists(row));
      if (stream.dropped > dropped) continue;
      if (row.people) truth.addOf(row.people[0]!, row.values);
      else truth.add(row.values);
    }
  }

  private async end(numSteps: number): Promise<R[]> {
    const nothing = this.lists(joinedRows([]));
    const readings = await this.again(numSteps, () => nothing);
    const rest = numSteps - readings.length;
    return rest === 0 ? readings : [...readings, ...(await this.how.stream.endMany(rest))];
  }

  private async release(rows: Rows): Promise<Released<R>> {
    const { stream, truth } = this.how;
    if (!truth) return this.released(() => this.releaseAll(rows));
    const all: Released<R> = { steps: [] };
    for (const row of this.eachOf(rows)) {
      const { dropped } = stream;
      const { steps, fault } = await this.released(async () => {
        const readings = await stream.releaseMany(...this.lists(row));
        if (stream.dropped === dropped) truth.add(row.values);
        return readings;
      });
      all.steps.push(...steps);
      if (fault) return { ...all, fault };
    }
    return all;
  }

  private async releaseAll(rows: Rows): Promise<R[]> {
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

  /** How many of the next steps were released before. */
  private numAgain(numSteps: number): number {
    return Math.min(numSteps, this.how.stream.step - this.next);
  }

  /** Releases steps again that were released before. */
  private async again(numSteps: number, listsOf: (k: number) => unknown[]): Promise<R[]> {
    const readings: R[] = [];
    const numAgain = this.numAgain(numSteps);
    for (let k = 0; k < numAgain; ++k) {
      readings.push(await this.how.stored!.stream.releaseAt(this.next + k, ...listsOf(k)));
    }
    return readings;
  }

  /** Returns the steps that were released, and the error that came after them. */
  private async released(
    act: () => Promise<R[]>,
    labels?: readonly string[],
  ): Promise<Released<R>> {
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
    const { truth } = this.how;
    const steps = readings.map((reading, k) => ({
      reading,
      time: labels?.[k],
      truth: truth?.endStep(),
    }));
    return { steps, ...(fault && { fault }) };
  }
}
