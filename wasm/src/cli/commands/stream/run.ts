// SPDX-License-Identifier: Apache-2.0

// Releases the rows of a table as the steps of a stream: input rows -> acts (input/steps.ts) ->
// readings (releases.ts) -> text (step-writer.ts).

import { counted } from '../../../shared/counted.js';
import type { DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { addNote } from '../../base/failure.js';
import { Interrupted, Interruption } from '../../base/signals.js';
import { warnOfMarks } from '../../input/people.js';
import { guarantee, protection } from '../../input/protection.js';
import { stepsOf, type Act } from '../../input/steps.js';
import { areEarly, earlyNotice } from '../../input/time.js';
import { NOT_PRIVATE, say, warn } from '../../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../../output/output.js';
import type { ReleasedSteps } from '../../output/released.js';
import { StepProgress } from '../../output/step-progress.js';
import { spendingOf, type SharedBudget } from '../../state/budget.js';
import { ended, unfinished } from '../../state/state-file.js';
import { openState, openStream } from './open.js';
import { choiceText, shownOf } from './choice.js';
import { forecast } from './forecast.js';
import { openTable, prepare, rehearse } from './prepare.js';
import type { Question, Run } from './question.js';
import type { StepWriter } from './step-writer.js';
import { warnBefore } from './warnings.js';

/** A release that is ready for its rows. */
interface OpenRelease<R extends Reading> {
  writer: StepWriter<R>;
  /** Guarantee of the release, in one sentence. */
  claim: string;
  /** Warnings about the released numbers. */
  notices: readonly string[];
}

/** Charges the budget, states the guarantee, and writes what precedes the first row. */
async function begin<R extends Reading>(run: Run<R>): Promise<OpenRelease<R>> {
  const { dp, question, settings, prepared, opened } = run;
  const { command, people, times, mode, seed, showTrue, quiet, budget, missing } = settings;
  const { participation, isEndless } = settings;
  const { chosen, rows, problem } = prepared;
  const choice = question.choice ?? prepared.choice;
  const { certificate } = opened.stream;
  const { columns } = rows;
  const name = question.isOfPeople ? certificate.mechanism : chosen.name;
  const writer = question.writer(run);
  const protects = { participation, people, times, numSteps: problem.steps, isEndless };
  const whom = protection({ ...protects, instead: '--user-column' });
  if (prepared.isRehearsed) await rehearse(rows, opened.stepping);
  // Later runs must recognise this charge, even if this run releases nothing.
  const about = { mechanism: name, columns, unit: whom.unit };
  await budget?.spend(dp, spendingOf(certificate, about), opened.state);
  const notices = warnBefore(run);
  const isPrivate = seed === undefined && !showTrue;
  const { clippedTo } = question;
  const spoken = { name, mode, whom, clippedTo, missing: missing.claim };
  const how = choice ? `; ${choiceText(choice)}` : '';
  const claim = isPrivate ? guarantee(certificate, spoken) + how : NOT_PRIVATE;
  if (!quiet && isPrivate) say(command, claim);
  await writer.begin(certificate, {
    private: isPrivate,
    mode,
    ...(choice && { choice: shownOf(choice) }),
    protects: whom.unit,
    ...(times && { timeZone: times.zone.name }),
  });
  return { writer, claim, notices };
}

/** Yields the acts that the rows make on the stream, in order. */
async function* actsOf<R extends Reading>({
  prepared,
  opened,
  interruption,
}: Run<R>): AsyncGenerator<Act> {
  const steps = stepsOf(opened.stepping);
  const batches = prepared.rows.rows();
  for await (const batch of interruption?.of(batches) ?? batches) {
    for (const act of steps.take(batch)) {
      yield act;
      interruption?.check();
    }
    yield { kind: 'pause' };
  }
  yield* steps.end();
  yield { kind: 'pause' };
}

/** Releases every step of the input up to the first fault, which it returns. */
async function releaseAll<R extends Reading>(
  run: Run<R>,
  write: (released: ReleasedSteps<R>) => Promise<void>,
): Promise<Error | undefined> {
  try {
    for await (const act of actsOf(run)) {
      const released = await run.opened.releases.perform(act);
      if (released.steps.length > 0) await write(released);
      if (released.fault) return released.fault;
    }
    return undefined;
  } catch (error) {
    if (error instanceof Interrupted) return error;
    throw error;
  }
}

/**
 * Says that no total is distinguishable from 0, and what the likely cause is.
 *
 * @param bound  name of the option that bounds the size of rows.
 */
function hiddenNotice(bound: string | undefined): string {
  const what = 'no total of this run can be told from 0, as all are within four times their noise';
  const isLoose = bound === undefined ? '' : `, or --${bound} allows far larger ones`;
  return `${what}: there are too few rows for this --epsilon${isLoose}`;
}

/** Warns about rows that did not count, if the output is not private. */
function warnOfRows<R extends Reading>(
  { settings, prepared }: Run<R>,
  dropped: number | undefined,
) {
  const { command, people, missing, showTrue } = settings;
  const { marks, numSkipped } = prepared.rows;
  if (dropped !== undefined) {
    warn(command, `${counted(dropped, 'row')} did not count: NOT private`);
  }
  warnOfMarks(command, people, { marks, missing });
  if (!showTrue || numSkipped === 0) return;
  warn(command, `${counted(numSkipped, 'row')} with a missing cell added nothing: NOT private`);
}

/** Writes the whole release. */
async function write<R extends Reading>(run: Run<R>, progress: StepProgress): Promise<void> {
  const { question, settings, opened, sink } = run;
  const { command, budget, plot, times } = settings;
  const { stream, releases, state } = opened;
  const { numSteps } = opened.stepping;
  const { writer, claim, notices } = await begin(run);
  const chart = plot && question.chart(run);
  const before = releases.step;
  let isTold = question.isTold === undefined;
  let isEarly = times?.format.isNumeric ?? false;
  const readingOf = question.readings?.();
  for (let step = 0; readingOf && step < before; ++step) {
    readingOf({ reading: await opened.past(step), time: undefined });
  }
  let fault = await releaseAll(run, async (released) => {
    const steps = readingOf ? released.steps.map(readingOf) : released.steps;
    // After a crash the budget may be ahead of what was shown, but never behind.
    if (state) await budget?.reached(state.numReleased);
    await writer.steps(steps);
    chart?.take(steps);
    isTold ||= steps.some(({ reading }) => question.isTold!(reading));
    isEarly &&= areEarly(steps.map(({ time }) => time!));
    progress.report(releases.step);
  });
  if (!fault && run.table.surveyed && releases.step < numSteps) {
    fault = new Error(
      `the input changed while it was read: ${releases.step} of ${counted(numSteps, 'step')}`,
    );
  }
  progress.end();
  const dropped = settings.showTrue && settings.people ? stream.dropped : undefined;
  await writer.end(fault, dropped === undefined ? {} : { numDropped: dropped });
  warnOfRows(run, dropped);
  if (fault) throw fault;
  await sink.commit();
  const isEmpty = releases.step === before;
  if (!isTold && !isEmpty && !settings.quiet) warn(command, hiddenNotice(question.bound));
  if (isEarly && !isEmpty) warn(command, earlyNotice(times!));
  if (chart) await plot.write(chart.figure(), { claim, notices, isGuarded: state !== undefined });
}

/**
 * Commits the output of released steps, which must neither be lost nor have their rows read again.
 * Returns the error to throw, which says so.
 */
async function keep(sink: Sink, error: unknown, released: string): Promise<unknown> {
  const last = await sink.commit().then(
    () => error,
    (other: unknown) => other,
  );
  return unfinished(last, `steps ${released} are released: leave their rows`);
}

/** Adds to an error a note on how much of the release was seen and what it cost. */
function noteSeen(error: unknown, budget: SharedBudget | undefined, { seen }: Pick<Sink, 'seen'>) {
  if (seen === 'nothing') budget?.noteCharge(error);
  if (seen === 'nothing' || !(error instanceof Error)) return;
  const again = budget
    ? '; rows of a FILE or for --output are checked before they are charged'
    : '';
  const note =
    seen === 'whole'
      ? 'the table is complete and released'
      : `the table is incomplete, and what it shows has been released${again}`;
  addNote(error, note);
}

/** Opens the table, the state and the stream of a question, in its form with the least noise. */
async function openAll<R extends Reading>(dp: DpFtrl, asked: Question<R>) {
  const { settings } = asked;
  const table = await openTable(settings, asked);
  const question = asked.atHorizon?.(dp, table.numSteps) ?? asked;
  const state = await openState(settings, question, table);
  try {
    const prepared = await prepare(dp, settings, { question, table, state });
    const opened = await openStream<R>(dp, question, { settings, prepared, state });
    return { dp, question, settings, table, prepared, opened };
  } catch (error) {
    await state?.close();
    throw error;
  }
}

/** Releases the rows of the input. */
export async function answer<R extends Reading>(dp: DpFtrl, asked: Question<R>): Promise<void> {
  const { settings } = asked;
  const { output, plot, quiet, budget } = settings;
  if (settings.isDry) return forecast(dp, asked);
  await requireWritable(output);
  await plot?.check();
  const all = await openAll(dp, asked);
  const { releases, state, close } = all.opened;
  const isGuarded = state !== undefined;
  const sink =
    output === undefined ? new StandardOutput() : await AtomicFile.create(output, { isGuarded });
  const interruption = isGuarded ? new Interruption() : undefined;
  const progress = new StepProgress(all.table.numSteps, { quiet });
  const before = releases.step;
  let failure: unknown;
  try {
    await write({ ...all, sink, interruption }, progress);
  } catch (error) {
    progress.end();
    failure = state ? state.toldOfStep(error) : error;
    if (state && releases.step > before) {
      failure = await keep(sink, failure, `${before + 1} to ${releases.step}`);
    } else {
      await sink.abandon();
      // Output that is only a header reveals nothing about the rows.
      const isEmpty = releases.step === before;
      if (!isGuarded) noteSeen(failure, budget, isEmpty ? { seen: 'nothing' } : sink);
    }
  }
  interruption?.end();
  const finish = () => (state ? budget?.finish(state.numReleased) : undefined);
  failure = await ended(failure, [finish, close]);
  if (failure !== undefined) throw failure;
}
