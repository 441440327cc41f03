// SPDX-License-Identifier: Apache-2.0

// Makes the running totals of dp-ftrl release, their horizon, and the stepper from rows to steps.

import type { DpFtrl, PrefixSumOptions, PureSumOptions } from '../../../types/all.js';
import type { Store, Workload } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { faultAt, placeOf, placeText, type Place } from '../../input/place.js';
import { personOf, type People } from '../../input/people.js';
import { BucketStepper, Rehearsal, RowStepper, textColumns } from '../../input/steps.js';
import type { Batch } from '../../input/rows.js';
import type { RowSums, Stepper, Sums } from '../../input/steps.js';
import type { RowStream } from '../../input/stream.js';
import { trueSumsOf } from '../../input/truth.js';
import { Clock, keyOf, timeOf, type Times } from '../../input/time.js';
import { LedgerStepper } from '../../state/ledger-steps.js';
import { LedgerTotals, type Lasting, type StepLedger } from '../../state/state.js';
import type { Settings } from './settings.js';
import { counted } from '../../../shared/counted.js';
import { Span } from '../../../shared/span.js';

/** Sorts the rows, whose columns must be in their final order. */
export function sortByTime(rows: RowStream, times: Times): Promise<void> {
  return rows.sort((batch, i) => {
    const texts = batch.texts.at(-1)!;
    return keyOf(timeOf(texts, i, { times, where: placeOf(batch, i) }), times);
  });
}

/** Returns the given horizon, or the number of steps of the input, which is then read twice. */
export async function horizonOf(steps: number | undefined, settings: Settings, rows: RowStream) {
  const { people, times } = settings;
  // With --state, --to only limits this run, not the horizon of all runs.
  const isRange = times?.last !== undefined && !settings.state;
  const range = isRange ? times.last! - times.first! + 1 : undefined;
  if (steps !== undefined) {
    // A saved strategy has its own horizon.
    if (range !== undefined && range !== steps) {
      throw new Misuse(
        `--from and --to span ${counted(range, 'step')}, the strategy is for ${steps}`,
      );
    }
    return { numSteps: steps, surveyed: false };
  }
  if (range !== undefined) return { numSteps: range, surveyed: false };
  let numSteps = 0;
  const timed = times && {
    clock: new Clock(times),
    span: new Span<Place>(times.bucket, times.first !== undefined),
  };
  await rows.survey((batch) => {
    const { numRows, texts } = batch;
    for (let i = 0; i < numRows; ++i) {
      if (people && !batch.blank?.has(i)) personOf(batch, i, people, texts[0]!);
      numSteps += 1;
      if (!timed) continue;
      const place = placeOf(batch, i);
      const step = timed.clock.advance(texts.at(-1)!, i, place);
      timed.span.add(step, place);
      numSteps = step + 1;
    }
  });
  const excess = timed?.span.excess((place) => (place ? placeText(place) : '--from'));
  if (excess) {
    const what = `${excess.what}, or give --from and --to`;
    throw faultAt(excess.to, { code: 'past_horizon', what, column: times!.column });
  }
  return { numSteps, surveyed: true };
}

/**
 * Reads all rows once, as the release will, so that their faults end a run before it is charged.
 *
 * @throws Misuse for the first fault.
 */
export async function rehearse(
  rows: RowStream,
  { people, times }: Settings,
  numSteps: number,
): Promise<void> {
  const totals = new Rehearsal(rows.columns.length, numSteps);
  const sums = people ? { people, totals } : { people, totals };
  const options = {
    sums,
    columns: textColumns(people, times),
    countsOnce: false,
    truth: undefined,
  };
  const stepper = times ? new BucketStepper({ ...options, times }) : new RowStepper(options);
  const check = async (batch: Batch) => {
    for await (const { fault } of stepper.take(batch)) if (fault) throw fault;
  };
  await rows.survey(check, { mayBeEmpty: true });
}

export type SumOptions = PureSumOptions | PrefixSumOptions;

/** Request for totals that are not sums of the rows. */
interface Asked {
  how: SumOptions;
  /** Workloads, more than one if several are released together. */
  workloads: readonly Workload[];
  columns: readonly string[];
}

/** Totals of a command other than sums of the rows, over one run or several. */
export interface OtherTotals extends Pick<Lasting, 'kind' | 'fixed'> {
  /** Whether only the first of a person's rows in a step counts, instead of their sum. */
  takesFirst: boolean;
  sums(dp: DpFtrl, asked: Asked & { people: People | undefined }): Sums;
  open(dp: DpFtrl, asked: Asked & { store: Store }): Promise<StepLedger>;
}

/** Describes a release over several runs. */
function lastingOf(
  dp: DpFtrl,
  { how, workloads }: Omit<Asked, 'columns'>,
  others: OtherTotals | undefined,
): Omit<Lasting, 'wanted'> {
  const isSeeded = how.insecureSeed !== undefined;
  if (others) {
    const { kind, fixed } = others;
    const open: Lasting['open'] = (store, columns) =>
      others.open(dp, { how, workloads, columns, store });
    return { kind, fixed, isSeeded, open };
  }
  const fixed = '--pure, --clip, --mode, number of columns';
  return { kind: 'release', fixed, isSeeded, open: (store) => dp.ledger({ ...how, store }) };
}

export interface Made {
  sums: RowSums;
  stepper: Stepper;
  /** Present for a release over several runs. */
  state?: LedgerTotals;
  close(): Promise<void>;
}

/**
 * Makes running totals, of this run only or continued over several, and the stepper for their rows.
 */
export async function makeSums(
  dp: DpFtrl,
  settings: Settings,
  {
    how,
    rows,
    workloads,
    others,
    countsOnce,
  }: {
    how: SumOptions;
    rows: RowStream;
    workloads: readonly Workload[];
    others: OtherTotals | undefined;
    countsOnce: boolean;
  },
): Promise<Made> {
  const { people, state, times, showTrue } = settings;
  const clip = { clipNorm: how.clipNorm!, inL1: 'pure' in how };
  const truth = showTrue ? trueSumsOf(rows.columns.length, clip, workloads) : undefined;
  const options = { columns: textColumns(people, times), truth, countsOnce };
  if (state) {
    const wanted = { columns: rows.columns, people, times };
    const totals = await LedgerTotals.open(state, {
      ...lastingOf(dp, { how, workloads }, others),
      wanted,
    });
    rows.arrange(totals.columns);
    if (times?.sorts) await sortByTime(rows, times);
    const sums = { people: undefined, totals };
    const takesFirst = others?.takesFirst ?? false;
    try {
      const stepper =
        people || times
          ? new LedgerStepper({ ...wanted, totals, columns: options.columns, takesFirst })
          : new RowStepper({ ...options, sums });
      return { sums, stepper, state: totals, close: () => totals.close() };
    } catch (error) {
      await totals.close();
      throw error;
    }
  }
  const sums: Sums =
    others?.sums(dp, { how, workloads, columns: rows.columns, people }) ??
    (people ? { people, totals: dp.peopleSum(how) } : { people, totals: dp.prefixSum(how) });
  const stepper = times
    ? new BucketStepper({ ...options, sums, times })
    : new RowStepper({ ...options, sums });
  return { sums, stepper, close: () => Promise.resolve(sums.totals.dispose()) };
}
