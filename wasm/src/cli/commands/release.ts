// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: releases private running totals of a CSV.

import { load } from '../../index.js';
import type { DpFtrl, MechanismName, Participation, Totals, Workload } from '../../types/all.js';
import { addNote, Misuse } from '../base/failure.js';
import type { Figure } from '../charts/figure.js';
import { TotalsChart } from '../charts/totals.js';
import { inputFormat } from '../input/format.js';
import { isRegularFile } from '../input/input.js';
import { Missing } from '../input/missing.js';
import { warnOfMarks } from '../input/people.js';
import { requireAll } from '../input/needed.js';
import { requireRanges } from '../input/ranges.js';
import { textColumns, type Released, type Stepper } from '../input/steps.js';
import { PICKS, type Wanted } from '../input/rows.js';
import { RowStream } from '../input/stream.js';
import { areEarly, earlyNotice, edgeNotice } from '../input/time.js';
import type { Args } from '../options/args.js';
import { boundNotice, guarantee, protection, publicCount } from '../input/protection.js';
import { chosenParticipation, readChosen, stepsOf, whatIsProtected } from '../options/strategy.js';
import { withDefault, type Chosen } from '../options/strategy.js';
import { readImportance, readWorkloads } from '../input/workload.js';
import { NOT_PRIVATE, say, SEEDED, warn, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../output/output.js';
import { findFirst } from '../output/progress.js';
import { StepProgress } from '../output/step-progress.js';
import { warnWeak } from '../output/weak.js';
import { Interrupted, Interruption } from '../base/signals.js';
import { spendingOf, type Budget } from '../state/budget.js';
import { ended, unfinished } from '../state/state-file.js';
import { clipNotices, longestRow } from './release/columns-clip.js';
import { readSettings, type Settings } from './release/settings.js';
import { horizonOf, makeSums, rehearse, sortByTime } from './release/sums.js';
import type { Made, OtherTotals, SumOptions } from './release/sums.js';
import type { StepWriter } from './release/step-writer.js';
import { areTotalsTold } from './release/told.js';
import { severalSums } from './release/stack.js';
import { Writer } from './release/writer.js';
import { counted } from '../../shared/counted.js';

export { options } from './release/settings.js';

/** Settings of a command that releases running totals. */
export interface Kind {
  command: 'release' | 'count' | 'moments' | 'histogram';
  settings: Settings;
  /** Columns to read, except those of texts, which are added. */
  wanted: Omit<Wanted, 'texts'>;
  /** Whether persons are counted: a category counts once for a person in a step. */
  countsOnce?: boolean;
  /** Clip norm if it depends on the columns; default: that of the settings. */
  clipNorm?(columns: readonly string[]): number;
  /** Mechanism to take by default for a horizon; if undefined, that of all releases. */
  preferred?(numSteps: number): MechanismName | undefined;
  /** Totals that replace sums of the rows. */
  others?: OtherTotals;
  /** Warnings about a run, printed when its release begins. */
  notices?(run: Run): readonly string[];
  /** Whether any total is distinguishable from 0; absent if intervals already show this. */
  isTold?(steps: Released, totals: Pick<Totals, 'dimension' | 'stddev'>): boolean;
  /** Option that says how large rows may be, if one does. */
  bound?: string | undefined;
  /** Description of the clipping of rows, if it is not to a norm. */
  clippedTo?: string;
  writer(run: Run): StepWriter;
  /** Makes the chart; absent if the command draws none. */
  chart?(run: Run): Chart;
}

/** Collects releases for a figure. */
interface Chart {
  take(steps: Released, totals: Pick<Totals, 'dimension' | 'stddev'>): void;
  figure(): Figure;
}

/** Settings of a run, complete before it releases. */
interface Prepared {
  chosen: Chosen;
  participation: Participation;
  rows: RowStream;
  /** Whether the horizon was counted in an earlier pass over the input. */
  surveyed: boolean;
  /** Whether all rows are checked before the budget is charged. */
  isRehearsed: boolean;
  /** Workloads that are released together. */
  workloads: readonly Workload[];
  how: SumOptions;
}

/** Reads the mechanism and the header, and searches for parameters first if that takes long. */
async function prepare(dp: DpFtrl, args: Args, kind: Kind): Promise<Prepared> {
  const { settings, command } = kind;
  const { people, times, target, seed, quiet, state, budget, output } = settings;
  const read = await readChosen(args, dp.strategies);
  const participation = people ? target.participation : chosenParticipation(args, read);
  const steps = stepsOf(args, read);
  const texts = textColumns(people, times).names;
  const ids = people?.column;
  const rows = await RowStream.open(args.files, { ...kind.wanted, texts, ids });
  if (times?.sorts && state === undefined) await sortByTime(rows, times);
  const { numSteps, surveyed } = await horizonOf(steps, settings, rows);
  const given = await readWorkloads(args, numSteps);
  const workloads = given.length > 0 ? given : [read.saved?.workload ?? 'prefix'];
  const isOne = workloads.length === 1;
  const chosen = withDefault(args, read, {
    numSteps,
    workloads,
    preferred: kind.preferred?.(numSteps),
  });
  // The library checks these again, and which of them a pure target allows.
  const how = {
    ...target,
    ...(kind.clipNorm && { clipNorm: kind.clipNorm(rows.columns) }),
    participation,
    ...settings.how,
    mechanism: chosen.mechanism,
    ...chosen.parameters,
    numSteps,
    ...(given.length === 1 && { workload: given[0] }),
    dimension: rows.columns.length,
    ...(seed !== undefined && { insecureSeed: seed }),
  } as SumOptions;
  // With --state, the mechanism keeps the name with which the state was begun.
  const isSearched = isOne && state === undefined && !quiet && !('pure' in target);
  const found = isSearched ? await findFirst(dp, how, `${command}: ${chosen.name}`) : how;
  // Rows of standard input are otherwise released as they arrive.
  const isWhole =
    output !== undefined || Boolean(times?.sorts) || (await isRegularFile(args.files));
  const isRehearsed = budget !== undefined && !state && !surveyed && isWhole;
  return { chosen, participation, rows, surveyed, isRehearsed, workloads, how: found };
}

interface Through {
  stepper: Stepper;
  /** Present for a release over several runs. */
  interruption: Interruption | undefined;
  write(steps: Released): Promise<Error | undefined>;
}

/** Releases every step of the input up to the first fault, which it returns. */
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

/** A release in progress. */
export interface Run {
  dp: DpFtrl;
  kind: Kind;
  settings: Settings;
  prepared: Prepared;
  made: Made;
  sink: Sink;
  interruption: Interruption | undefined;
}

/** A release that is ready for its rows. */
interface Begun {
  writer: StepWriter;
  /** Its guarantee, in one sentence. */
  claim: string;
  /** Warnings about its numbers. */
  notices: readonly string[];
}

/** Charges the budget, states the guarantee, and writes the output before the first row. */
async function begin(run: Run): Promise<Begun> {
  const { dp, kind, settings, prepared, made } = run;
  const { command } = kind;
  const { people, times, mode, seed, showTrue, quiet, budget } = settings;
  const { chosen, participation, rows, how } = prepared;
  const { certificate } = made.sums.totals;
  const { columns } = rows;
  const { name } = chosen;
  const { numSteps } = how;
  const writer = kind.writer(run);
  const protects = { participation, people, times, numSteps };
  const { clippedTo } = kind;
  const whom = protection({ ...protects, instead: '--user-column' });
  const about = { mechanism: name, columns, unit: whom.unit };
  if (prepared.isRehearsed) await rehearse(rows, settings, numSteps);
  // Later runs must recognise this charge, even if this run releases nothing.
  await budget?.spend(dp, spendingOf(certificate, about), made.state);
  warnWeak(command, certificate, publicCount(protects));
  warnNotPrivate(command, {
    [SEEDED]: seed !== undefined,
    '--show-nonprivate adds sums without noise': showTrue,
  });
  const other = whatIsProtected(participation, chosen, certificate.optimisedFor);
  if (other !== undefined) warn(command, other);
  const notices = [
    times && edgeNotice(times),
    ...(kind.notices?.(run) ?? []),
    boundNotice(protects),
  ].filter((it) => it !== undefined);
  if (!quiet) notices.forEach((notice) => warn(command, notice));
  const isPrivate = seed === undefined && !showTrue;
  const missing = kind.wanted.missing?.claim;
  const spoken = { name, mode, whom, clippedTo, missing };
  const claim = isPrivate ? guarantee(certificate, spoken) : NOT_PRIVATE;
  if (!quiet && isPrivate) say(command, claim);
  await writer.begin(certificate, {
    private: isPrivate,
    mode,
    protects: whom.unit,
    ...(times && { timeZone: times.zone.name }),
  });
  return { writer, claim, notices };
}

/**
 * Says that no total is distinguishable from 0, and the likely cause.
 *
 * @param bound  option that says how large rows may be.
 */
function hiddenNotice(bound: string | undefined): string {
  const what = 'no total of this run can be told from 0, as all are within four times their noise';
  const isLoose = bound === undefined ? '' : `, or ${bound} allows far larger ones`;
  return `${what}: there are too few rows for this --epsilon${isLoose}`;
}

/** Writes the whole release. */
async function write(run: Run, progress: StepProgress): Promise<void> {
  const { settings, prepared, made, sink, interruption } = run;
  const { sums, stepper, state } = made;
  const { totals } = sums;
  const { numSteps } = totals;
  const { writer, claim, notices } = await begin(run);
  const chart = settings.plot && run.kind.chart?.(run);
  const before = totals.step;
  let isTold = run.kind.isTold === undefined;
  let isEarly = settings.times?.format.isNumeric ?? false;
  const writeSteps = async (steps: Released) => {
    // After a crash the budget may be ahead of what was shown, but never behind.
    if (state) await settings.budget?.reached(state.numReleased);
    const stop = await writer.steps(steps, totals);
    chart?.take(steps, totals);
    isTold ||= run.kind.isTold!(steps, totals);
    isEarly &&= areEarly(steps.labels);
    progress.report(totals.step);
    return stop;
  };
  let fault = await releaseAll(prepared.rows, { stepper, interruption, write: writeSteps });
  if (!fault && prepared.surveyed && totals.step < numSteps) {
    fault = new Error(
      `the input changed while it was read: ${totals.step} of ${counted(numSteps, 'step')}`,
    );
  }
  progress.end();
  const dropped = settings.showTrue && sums.people ? sums.totals.numDropped : undefined;
  await writer.end(fault, dropped === undefined ? {} : { numDropped: dropped });
  if (dropped !== undefined)
    warn(run.kind.command, `${counted(dropped, 'row')} did not count: NOT private`);
  const { marks, numSkipped } = prepared.rows;
  const { missing = Missing.refused } = run.kind.wanted;
  warnOfMarks(run.kind.command, settings.people, { marks, missing });
  if (settings.showTrue && numSkipped > 0) {
    warn(
      run.kind.command,
      `${counted(numSkipped, 'row')} with a missing cell added nothing: NOT private`,
    );
  }
  if (fault) throw fault;
  await sink.commit();
  const isEmpty = totals.step === before;
  if (!isTold && !isEmpty && !settings.quiet) warn(run.kind.command, hiddenNotice(run.kind.bound));
  if (isEarly && !isEmpty) warn(run.kind.command, earlyNotice(settings.times!));
  const isGuarded = state !== undefined;
  if (chart) await settings.plot!.write(chart.figure(), { claim, notices, isGuarded });
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

/** Reads the settings; the clip norm is a placeholder if it follows from the columns. */
function settingsOf(args: Args): Settings {
  const counts = args.has('count');
  const hasRanges = args.has('range');
  const isPure = args.has('pure');
  const clip =
    '--clip is the largest length of a row, chosen without looking at the rows; it ' +
    'follows from --range NAME=LOW:HIGH of every column';
  const isKnown = counts || hasRanges;
  requireAll(
    args,
    { epsilon: '1', ...(!isPure && { delta: '1e-6' }), ...(!isKnown && { clip: 'C' }) },
    { clip },
  );
  for (const option of ['column', 'range']) {
    if (counts && args.has(option))
      throw new Misuse(`--count sums no column: give it or --${option}`);
  }
  return readSettings(isKnown && !args.has('clip') ? args.with('clip', '1') : args);
}

export async function run(args: Args): Promise<void> {
  const settings = settingsOf(args);
  const importance = readImportance(args);
  const { json, written, showTrue, times } = settings;
  const shown = { json, format: written, showTrue, timeColumn: times?.heading };
  const inL1 = args.has('pure');
  const rangesOf = (columns: readonly string[]) => {
    if (!args.has('range')) return undefined;
    if (columns.length > 0) return requireRanges(args, columns);
    throw new Misuse(
      '--range is for columns that are summed, but here each row counts as 1: leave it out',
    );
  };
  const clipNorm = (columns: readonly string[]) => {
    const ranges = rangesOf(columns);
    return ranges && !args.has('clip') ? longestRow(ranges, inL1) : settings.target.clipNorm;
  };
  return releaseTable(args, {
    command: 'release',
    settings,
    clipNorm,
    bound: ['clip', 'range'].filter((name) => args.has(name)).map((name) => `--${name}`)[0],
    wanted: {
      columns: args.texts('column'),
      ranges: rangesOf,
      instead: `${PICKS}, --count counts rows`,
      onlyTexts: args.has('count'),
      format: inputFormat('release', args),
      missing: Missing.read(args, { areSteps: times === undefined }),
    },
    notices: ({ prepared: { rows } }) =>
      clipNotices(rows.columns, {
        ranges: rangesOf(rows.columns),
        clipNorm: clipNorm(rows.columns),
        inL1,
      }),
    ...(args.texts('workload').length > 1
      ? severalSums(args, { importance, shown })
      : {
          isTold: areTotalsTold,
          writer: ({ sink, prepared, made }) =>
            new Writer(sink, prepared.rows.columns, shown, inL1 ? made.sums.totals : undefined),
          chart: ({ prepared }) =>
            new TotalsChart({
              columns: prepared.rows.columns,
              timeColumn: times?.axis,
              workload: prepared.workloads[0]!,
            }),
        }),
  });
}

/** Releases the rows of the input. */
export async function releaseTable(args: Args, kind: Kind): Promise<void> {
  const { settings } = kind;
  const { output, plot, quiet } = settings;
  await requireWritable(output);
  await plot?.check();
  const dp = await load();
  const prepared = await prepare(dp, args, kind);
  const { others, countsOnce = false } = kind;
  const made = await makeSums(dp, settings, { ...prepared, others, countsOnce });
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
    await write({ dp, kind, settings, prepared, made, sink, interruption }, progress);
  } catch (error) {
    progress.end();
    if (state && totals.step > before) {
      failure = await keep(sink, error, `${before + 1} to ${totals.step}`);
    } else {
      await sink.abandon();
      failure = error;
      if (!isGuarded) noteSeen(error, settings.budget, sink);
    }
  }
  interruption?.end();
  const finish = () => (state ? settings.budget?.finish(state.numReleased) : undefined);
  failure = await ended(failure, [finish, made.close]);
  if (failure !== undefined) throw failure;
}
