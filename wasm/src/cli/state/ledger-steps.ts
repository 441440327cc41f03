// SPDX-License-Identifier: Apache-2.0

// Steps of a release that is continued by the next run (--state), for persons or events: stores
// whose rows counted, and the first bucket, with the releases.

import { bucketText } from '../../shared/calendar.js';
import { bucketOfText } from '../../shared/time-text.js';
import { Misuse } from '../base/failure.js';
import { personOf, type People } from '../input/people.js';
import type { Batch } from '../input/rows.js';
import { faultAt, placeOf } from '../input/place.js';
import { addOf } from '../input/truth.js';
import type { LedgerTotals } from './state.js';
import { timeOfMemo, writeMemo } from './state-memo.js';
import { pastHorizon, type Released, type Stepper, type TextColumns } from '../input/steps.js';
import { Clock, type Times } from '../input/time.js';

/** Number of contributions of a person, and the step of the last one. */
interface Counted {
  times: number;
  last: number;
}

export interface LedgerStepOptions {
  totals: LedgerTotals;
  columns: TextColumns;
  people: People | undefined;
  times: Times | undefined;
  /** Whether only the first of a person's rows in a step counts, instead of their sum. */
  takesFirst: boolean;
}

/** Stepper whose steps are buckets, or rows of persons. */
export class LedgerStepper implements Stepper {
  private readonly clock: Clock | undefined;
  private readonly counted: Map<string, Counted>;
  /** Contributions to the open step; for persons, `parts` holds their sums instead. */
  private rows: Float64Array[] = [];
  private parts = new Map<string, Float64Array>();
  /** Complete steps, to be released together. */
  private closed: Float64Array[] = [];
  private next: number;

  constructor(private readonly options: LedgerStepOptions) {
    const { totals, times } = options;
    this.next = totals.step;
    const { memo } = totals;
    const counted = memo?.counted ?? [];
    this.counted = new Map(
      counted.map(([person, count, last]) => [person, { times: count, last }]),
    );
    if (!times) return;
    const text = memo?.time?.origin ?? undefined;
    const origin = text === undefined ? undefined : bucketOfText(text, times);
    if (origin !== undefined && times.first !== undefined && times.first !== origin) {
      throw new Misuse('--from differs from that of the first run with this --state');
    }
    this.clock = new Clock({ ...times, first: origin ?? times.first });
  }

  async *take(batch: Batch): AsyncGenerator<Released> {
    const { totals } = this.options;
    let fault: Error | undefined;
    for (let i = 0; i < batch.numRows && !fault; ++i) {
      try {
        this.add(batch, i);
      } catch (error) {
        if (!(error instanceof Misuse)) throw error;
        fault = error;
      }
    }
    yield* this.flush();
    const stop = fault ?? batch.fault;
    if (stop) yield { first: totals.step, noisy: new Float64Array(), fault: stop };
  }

  async *end(): AsyncGenerator<Released> {
    const { times, totals } = this.options;
    if (this.clock) {
      const { origin, step } = this.clock;
      if (origin === undefined && times!.last !== undefined) {
        throw new Misuse('--to needs --from while the first bucket is not known');
      }
      const last = times!.last === undefined ? step : times!.last - origin!;
      if (last >= totals.numSteps) {
        throw new Misuse(`--to is past the horizon of --steps ${totals.numSteps}`);
      }
      this.closeUntil(last + 1);
    }
    yield* this.flush();
  }

  private add(batch: Batch, i: number): void {
    const { totals, columns, people, times } = this.options;
    const { numSteps } = totals;
    const where = placeOf(batch, i);
    const step = this.clock?.advance(batch.texts[columns.time]!, i, where) ?? this.next;
    if (step < this.next) {
      const what = `is in a ${times!.bucket} that an earlier run with this --state released`;
      throw faultAt(where, { code: 'already_released', what });
    }
    if (times?.last !== undefined && step > times.last - this.clock!.origin!) {
      throw faultAt(where, { code: 'past_horizon', what: 'is after --to' });
    }
    if (step >= numSteps) throw pastHorizon(totals, batch, i);
    const isBlank = batch.blank?.has(i) === true;
    const person =
      isBlank || !people ? undefined : personOf(batch, i, people, batch.texts[columns.person]!);
    this.closeUntil(step);
    if (!isBlank) this.contribute(batch, i, { person, step });
    if (!this.clock) this.closeUntil(step + 1);
  }

  /** Adds a row to the open step, unless its person's rows do not count any more. */
  private contribute(
    batch: Batch,
    i: number,
    { person, step }: { person: string | undefined; step: number },
  ): void {
    const { dimension } = this.options.totals;
    const row = batch.values.slice(i * dimension, (i + 1) * dimension);
    if (person === undefined) this.rows.push(row);
    else if (this.admits(person, step)) addOf(this.parts, person, row);
  }

  /** Admits the earliest steps that satisfy the pattern, like ContributionBound in the core. */
  private admits(person: string, step: number): boolean {
    if (this.parts.has(person)) return !this.options.takesFirst;
    const { maxContributions, minSeparation } = this.options.people!;
    const before = this.counted.get(person);
    if (!before) return true;
    return before.times < maxContributions && step - before.last >= minSeparation;
  }

  private closeUntil(step: number): void {
    for (; this.next < step; ++this.next) {
      for (const person of this.parts.keys()) {
        const times = (this.counted.get(person)?.times ?? 0) + 1;
        this.counted.set(person, { times, last: this.next });
      }
      const all = [...this.rows, ...this.parts.values()];
      const { dimension } = this.options.totals;
      const contributions = new Float64Array(all.length * dimension);
      all.forEach((one, i) => contributions.set(one, i * dimension));
      this.closed.push(contributions);
      this.rows = [];
      this.parts = new Map();
    }
  }

  private async *flush(): AsyncGenerator<Released> {
    if (this.closed.length === 0) return;
    const { totals } = this.options;
    const first = totals.step;
    const { clock } = this;
    const labels = clock && this.closed.map((_, k) => clock.label(first + k));
    const steps = this.closed;
    this.closed = [];
    const noisy = await totals.releaseSteps(steps, this.memo());
    yield { first, noisy, ...(labels && { labels }) };
  }

  private memo(): Uint8Array {
    const { people, times, totals } = this.options;
    const origin = this.clock?.origin;
    return writeMemo({
      step: this.next,
      columns: [...totals.columns],
      people: people ?? null,
      time: times
        ? { ...timeOfMemo(times), origin: origin === undefined ? null : bucketText(origin, times) }
        : null,
      counted: Array.from(this.counted, ([person, it]) => [person, it.times, it.last]),
    });
  }
}
