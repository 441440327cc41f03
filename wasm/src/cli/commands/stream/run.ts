// SPDX-License-Identifier: Apache-2.0

// Releases the rows of a table as the steps of a stream: input rows -> acts (input/steps.ts) ->
// readings (releases.ts) -> text (step-writer.ts).

import { counted } from '../../../shared/counted.js';
import type { DpFtrl } from '../../../types/all.js';
import type { Step as Reading } from '../../../types/streams/readings.js';
import { addNote } from '../../base/failure.js';
import { Interrupted, Interruption } from '../../base/signals.js';
import { warnOfMarks } from '../../input/people.js';
import { boundNotice, guarantee, protection, publicCount } from '../../input/protection.js';
import { stepsOf, type Act } from '../../input/steps.js';
import { areEarly, earlyNotice, edgeNotice } from '../../input/time.js';
import { whatIsProtected } from '../../options/strategy.js';
import { NOT_PRIVATE, say, SEEDED, warn, warnNotPrivate } from '../../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../../output/output.js';
import type { Released } from '../../output/released.js';
import { StepProgress } from '../../output/step-progress.js';
import { warnWeak } from '../../output/weak.js';
import { spendingOf, type Budget } from '../../state/budget.js';
import { ended, unfinished } from '../../state/state-file.js';
import { openStream } from './open.js';
import { choiceText, shownOf } from './choice.js';
import { forecast } from './forecast.js';
import { prepare, rehearse } from './prepare.js';
import type { Question, Run } from './question.js';
import type { StepWriter } from './step-writer.js';

/** A release that is ready for its rows. */
interface OpenRelease<R extends Reading> {
  writer: StepWriter<R>;
  /** Its guarantee, in one sentence. */
  claim: string;
  /** Warnings about its numbers. */
  notices: readonly string[];
}

/** Charges the budget, states the guarantee, and writes the output before the first row. */
async function begin<R extends Reading>(run: Run<R>): Promise<OpenRelease<R>> {
  const { dp, question, settings, prepared, opened } = run;
  const { command, people, times, mode, seed, showTrue, quiet, budget, missing } = settings;
  const { participation } = settings;
  const { chosen, choice, rows, problem } = prepared;
  const { certificate } = opened.stream;
  const { columns } = rows;
  const { name } = chosen;
  const writer = question.writer(run);
  const protects = { participation, people, times, numSteps: problem.numSteps };
  const whom = protection({ ...protects, instead: '--user-column' });
  if (prepared.isRehearsed) await rehearse(rows, opened.stepping);
  // Later runs must recognise this charge, even if this run releases nothing.
  const about = { mechanism: name, columns, unit: whom.unit };
  await budget?.spend(dp, spendingOf(certificate, about), opened.state);
  warnWeak(command, certificate, publicCount(protects));
  warnNotPrivate(command, {
    [SEEDED]: seed !== undefined,
    '--show-nonprivate adds sums without noise': showTrue,
  });
  const other = whatIsProtected(participation, chosen, certificate.optimisedFor);
  if (other !== undefined) warn(command, other);
  const notices = [
    times && edgeNotice(times),
    ...(question.notices?.(run) ?? []),
    boundNotice(protects),
  ].filter((it) => it !== undefined);
  if (!quiet) notices.forEach((notice) => warn(command, notice));
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

/** Yields what the rows do to the stream, in order. */
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
  write: (released: Released<R>) => Promise<void>,
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
 * Says that no total is distinguishable from 0, and the likely cause.
 *
 * @param bound  option that says how large rows may be.
 */
function hiddenNotice(bound: string | undefined): string {
  const what = 'no total of this run can be told from 0, as all are within four times their noise';
  const isLoose = bound === undefined ? '' : `, or --${bound} allows far larger ones`;
  return `${what}: there are too few rows for this --epsilon${isLoose}`;
}

/** Warns of what rows did not count, where nothing is private. */
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
  const { question, settings, prepared, opened, sink } = run;
  const { command, budget, plot, times } = settings;
  const { stream, releases, state } = opened;
  const { numSteps } = opened.stepping;
  const { writer, claim, notices } = await begin(run);
  const chart = plot && question.chart(run);
  const before = releases.step;
  let isTold = question.isTold === undefined;
  let isEarly = times?.format.isNumeric ?? false;
  let fault = await releaseAll(run, async ({ steps }) => {
    // After a crash the budget may be ahead of what was shown, but never behind.
    if (state) await budget?.reached(state.numReleased);
    await writer.steps(steps);
    chart?.take(steps);
    isTold ||= steps.some(({ reading }) => question.isTold!(reading));
    isEarly &&= areEarly(steps.map(({ time }) => time!));
    progress.report(releases.step);
  });
  if (!fault && prepared.surveyed && releases.step < numSteps) {
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
 * Commits the output of steps that were released, because releases must not be lost and their rows
 * must not be read again. Returns the error to throw, which says so.
 */
async function keep(sink: Sink, error: unknown, released: string): Promise<unknown> {
  const last = await sink.commit().then(
    () => error,
    (other: unknown) => other,
  );
  return unfinished(last, `steps ${released} are released: leave their rows`);
}

/** Adds to an error what of the release was seen, and what it costs. */
function noteSeen(error: unknown, budget: Budget | undefined, { seen }: Sink): void {
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

/** Releases the rows of the input. */
export async function answer<R extends Reading>(dp: DpFtrl, question: Question<R>): Promise<void> {
  const { settings } = question;
  const { output, plot, quiet, budget } = settings;
  if (settings.isDry) return forecast(dp, question);
  await requireWritable(output);
  await plot?.check();
  const prepared = await prepare(dp, settings, question);
  const opened = await openStream<R>(dp, question, { settings, prepared });
  const { releases, state } = opened;
  const isGuarded = state !== undefined;
  const sink =
    output === undefined ? new StandardOutput() : await AtomicFile.create(output, { isGuarded });
  const interruption = isGuarded ? new Interruption() : undefined;
  const progress = new StepProgress(prepared.problem.numSteps, { quiet });
  const before = releases.step;
  let failure: unknown;
  try {
    await write({ dp, question, settings, prepared, opened, sink, interruption }, progress);
  } catch (error) {
    progress.end();
    failure = state ? state.toldOfStep(error) : error;
    if (state && releases.step > before) {
      failure = await keep(sink, failure, `${before + 1} to ${releases.step}`);
    } else {
      await sink.abandon();
      if (!isGuarded) noteSeen(failure, budget, sink);
    }
  }
  interruption?.end();
  const finish = () => (state ? budget?.finish(state.numReleased) : undefined);
  failure = await ended(failure, [finish, opened.close]);
  if (failure !== undefined) throw failure;
}
