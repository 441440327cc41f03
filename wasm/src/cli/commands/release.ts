// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: a CSV in, its private running totals out.

import { load } from '../../index.js';
import type { DpFtrl, Participation, PrefixSumOptions } from '../../types/all.js';
import { textColumns, type Released, type Stepper } from '../input/steps.js';
import { RowStream } from '../input/stream.js';
import type { Args } from '../options/args.js';
import { guarantee, protection } from '../options/protection.js';
import { chosenParticipation, readChosen, stepsOf, whatIsProtected } from '../options/strategy.js';
import type { Chosen } from '../options/strategy.js';
import { say, SEEDED, warn, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../output/output.js';
import { findFirst } from '../output/progress.js';
import { StepProgress } from '../output/step-progress.js';
import { Interrupted, Interruption } from '../signals.js';
import { spendingOf } from '../state/budget.js';
import { ended, unfinished } from '../state/state-file.js';
import { readSettings, type Settings } from './release/settings.js';
import { horizonOf, makeSums, type Made } from './release/sums.js';
import { Writer } from './release/writer.js';

export { options } from './release/settings.js';

/** Everything a run knows before it releases. */
interface Prepared {
  chosen: Chosen;
  participation: Participation;
  rows: RowStream;
  /** Whether the horizon is the number of steps that the input had when it was read before. */
  surveyed: boolean;
  how: PrefixSumOptions;
}

/** Reads the mechanism and the header, and searches for parameters where that takes long. */
async function prepare(dp: DpFtrl, args: Args, settings: Settings): Promise<Prepared> {
  const { people, times, target, seed, quiet, state } = settings;
  const chosen = await readChosen(args, dp.mechanisms());
  const participation = people ? target.participation : chosenParticipation(args, chosen);
  const steps = stepsOf(args, chosen);
  const texts = textColumns(people, times).names;
  const rows = await RowStream.open(args.files, { columns: args.texts('column'), texts });
  const { numSteps, surveyed } = await horizonOf(steps, settings, rows);
  const how: PrefixSumOptions = {
    ...target,
    participation,
    ...settings.how,
    mechanism: chosen.mechanism,
    ...chosen.parameters,
    numSteps,
    dimension: rows.columns.length,
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  // With --state the mechanism keeps the name with which the state was begun.
  const isSearched = state === undefined && !quiet;
  const found = isSearched ? await findFirst(dp, how, `release: ${chosen.name}`) : how;
  return { chosen, participation, rows, surveyed, how: found };
}

interface Through {
  stepper: Stepper;
  /** Present for a release of several runs. */
  interruption: Interruption | undefined;
  write(steps: Released): Promise<Error | undefined>;
}

/** Releases every step of the input, until a fault that is returned. */
async function releaseAll(
  rows: RowStream,
  { stepper, interruption, write }: Through,
): Promise<Error | undefined> {
  const batches = rows.rows();
  try {
    for await (const batch of interruption?.of(batches) ?? batches) {
      for await (const steps of stepper.take(batch)) {
        const fault = await write(steps);
        if (fault) return fault;
        interruption?.check();
      }
    }
    for await (const steps of stepper.end()) {
      const fault = await write(steps);
      if (fault) return fault;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Interrupted) return error;
    throw error;
  }
}

/** A release that is under way. */
interface Run {
  dp: DpFtrl;
  settings: Settings;
  prepared: Prepared;
  made: Made;
  sink: Sink;
  interruption: Interruption | undefined;
}

/** Pays for the release, says what it promises, and writes what comes before the first row. */
async function begin({ dp, settings, prepared, made, sink }: Run): Promise<Writer> {
  const { people, times, mode, seed, showTrue, json, quiet, budget } = settings;
  const { chosen, participation, rows, how } = prepared;
  const { certificate } = made.sums.totals;
  const { columns } = rows;
  const { name } = chosen;
  const { numSteps } = how;
  const writer = new Writer(sink, columns, { json, showTrue, timeColumn: times?.column });
  const whom = protection({ participation, people, times, numSteps, instead: '--user-column' });
  const about = { mechanism: name, columns, unit: whom.unit };
  // Later runs must recognise what was paid for once, even if this run releases nothing.
  await budget?.spend(dp, spendingOf(certificate, about), made.state);
  warnNotPrivate('release', {
    [SEEDED]: seed !== undefined,
    '--show-nonprivate adds sums without noise': showTrue,
  });
  const other = whatIsProtected(participation, chosen);
  if (other !== undefined) warn('release', other);
  const isPrivate = seed === undefined && !showTrue;
  if (!quiet && isPrivate) say('release', guarantee(certificate, { name, mode, whom }));
  await writer.begin(certificate, { private: isPrivate, mode, protects: whom.unit });
  return writer;
}

/** Writes the whole release. */
async function write(run: Run, progress: StepProgress): Promise<void> {
  const { settings, prepared, made, sink, interruption } = run;
  const { sums, stepper, state } = made;
  const { totals } = sums;
  const { numSteps } = totals;
  const writer = await begin(run);
  const writeSteps = async (steps: Released) => {
    // A crash may leave the budget ahead of what was shown, never behind.
    if (state) await settings.budget?.reached(state.numReleased);
    const stop = await writer.steps(steps, totals);
    progress.report(totals.step);
    return stop;
  };
  let fault = await releaseAll(prepared.rows, { stepper, interruption, write: writeSteps });
  if (!fault && prepared.surveyed && totals.step < numSteps) {
    fault = new Error(`the input changed while it was read: ${totals.step} of ${numSteps} steps`);
  }
  progress.end();
  const dropped = settings.showTrue && sums.people ? sums.totals.numDropped : undefined;
  await writer.end(fault, dropped === undefined ? {} : { numDropped: dropped });
  if (dropped !== undefined) warn('release', `${dropped} rows did not count: NOT private`);
  if (fault) throw fault;
  await sink.commit();
}

/**
 * Keeps the releases of steps that are decided: they must not be lost, nor their rows come again.
 * Returns the error to throw, which says so.
 */
async function keep(sink: Sink, error: unknown, released: string): Promise<unknown> {
  const last = await sink.commit().then(
    () => error,
    (other: unknown) => other,
  );
  return unfinished(last, `steps ${released} are released: leave their rows`);
}

export async function run(args: Args): Promise<void> {
  const settings = readSettings(args);
  const { output, quiet } = settings;
  await requireWritable(output);
  const dp = await load();
  const prepared = await prepare(dp, args, settings);
  const made = await makeSums(dp, settings, prepared);
  const { totals } = made.sums;
  const { state } = made;
  const isGuarded = state !== undefined;
  const sink =
    output === undefined ? new StandardOutput() : await AtomicFile.create(output, { isGuarded });
  const interruption = isGuarded ? new Interruption() : undefined;
  const progress = new StepProgress(totals.numSteps, { quiet });
  const before = totals.step;
  let failure: unknown;
  try {
    await write({ dp, settings, prepared, made, sink, interruption }, progress);
  } catch (error) {
    progress.end();
    if (state && totals.step > before) {
      failure = await keep(sink, error, `${before + 1} to ${totals.step}`);
    } else {
      failure = error;
      await sink.abandon();
    }
  }
  interruption?.end();
  const finish = () => (state ? settings.budget?.finish(state.numReleased) : undefined);
  failure = await ended(failure, [finish, made.close]);
  if (failure !== undefined) throw failure;
}
