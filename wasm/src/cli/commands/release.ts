// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: a CSV in, its private running totals out.

import { load } from '../../index.js';
import { foundFirst } from '../../api/searches.js';
import type { Certificate, DpFtrl, PrefixSumOptions, Totals } from '../../types/all.js';
import { Args, required, type Known } from '../options/args.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { csvCell } from '../input/csv.js';
import { faultOf, Misuse } from '../failure.js';
import { PARTICIPATION_OPTIONS, readNeighbours, readParticipation } from '../options/mechanism.js';
import { STRATEGY_OPTIONS } from '../options/mechanism.js';
import { LedgerStepper } from '../state/ledger-steps.js';
import { MODE_OPTIONS, readMode } from '../options/mode.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../output/output.js';
import { participationOf, PEOPLE_OPTIONS, readPeople } from '../input/people.js';
import { ProgressLine, watch } from '../output/progress.js';
import { guarantee, protection } from '../options/protection.js';
import { Interrupted, Interruption } from '../signals.js';
import { LedgerTotals, STATE_OPTIONS } from '../state/state.js';
import { ended, readState, unfinished } from '../state/state-file.js';
import { StepProgress } from '../output/step-progress.js';
import { BucketStepper, personOf, RowStepper, textColumns } from '../input/steps.js';
import type { Released, RowSums, Stepper, Sums } from '../input/steps.js';
import { chosenParticipation, readChosen, stepsOf, whatIsProtected } from '../options/strategy.js';
import { RowStream } from '../input/stream.js';
import { Clock, readTimes, TIME_OPTIONS } from '../input/time.js';

export const options: Known = {
  ...STRATEGY_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  clip: 'value',
  steps: 'value',
  ...PARTICIPATION_OPTIONS,
  ...PEOPLE_OPTIONS,
  ...TIME_OPTIONS,
  ...BUDGET_OPTIONS,
  ...STATE_OPTIONS,
  column: 'values',
  neighbours: 'value',
  ...MODE_OPTIONS,
  seed: 'value',
  output: 'value',
  'show-nonprivate': 'flag',
  json: 'flag',
  quiet: 'flag',
};

interface Line {
  step: number;
  time: string | undefined;
  noisy: Float64Array;
  truth: readonly number[] | undefined;
  std: number;
}

/** Writes one release after the other, as CSV or as one JSON object with a row a line. */
class Writer {
  private rows = 0;
  private readonly header: string[];

  constructor(
    private readonly sink: Sink,
    private readonly columns: string[],
    private readonly options: { json: boolean; showTrue: boolean; timeColumn: string | undefined },
  ) {
    const { showTrue, timeColumn } = options;
    const trueNames = showTrue ? columns.map((name) => `${name}_true`) : [];
    const times = timeColumn === undefined ? [] : [timeColumn];
    const header = ['step', ...times, ...columns, ...trueNames, 'std'];
    const twice = header.find((name, i) => header.indexOf(name) < i);
    if (twice !== undefined) {
      const name = JSON.stringify(twice);
      throw new Misuse(`the output would have two columns ${name}; rename the one in the input`);
    }
    this.header = header;
  }

  async begin(certificate: Certificate, about: Record<string, unknown>): Promise<void> {
    if (this.options.json) {
      const head = { ...about, certificate, columns: this.columns };
      await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
    } else {
      await this.sink.write(`${this.header.map(csvCell).join(',')}\n`);
    }
  }

  line({ step, time, noisy, truth, std }: Line): string {
    const times = time === undefined ? [] : [time];
    if (!this.options.json) {
      return `${[step, ...times, ...noisy, ...(truth ?? []), std].join(',')}\n`;
    }
    const named = (values: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, values[j]]));
    const trueSums = truth && { trueSums: named(truth) };
    const row = { step, ...(time && { time }), sums: named(noisy), ...trueSums, std };
    return `${this.rows++ === 0 ? '' : ','}\n${JSON.stringify(row)}`;
  }

  /**
   * Closes the JSON object, so that rows already written can be read after a fault too. It says
   * where the fault is, never what: the cell belongs to the input, which is not private.
   */
  async end(fault: Error | undefined, about: Record<string, unknown>): Promise<void> {
    if (!this.options.json) return;
    const tail = fault
      ? { ...about, complete: false, error: faultOf(fault) }
      : { ...about, complete: true };
    await this.sink.write(`\n],${JSON.stringify(tail).slice(1)}\n`);
  }
}

/** Writes some steps; returns the fault that ends the run, if there is one. */
async function writeSteps(
  { first, noisy, truths, labels, fault }: Released,
  {
    writer,
    sink,
    totals,
  }: { writer: Writer; sink: Sink; totals: Pick<Totals, 'dimension' | 'stddev'> },
): Promise<Error | undefined> {
  const { dimension } = totals;
  let text = '';
  for (let k = 0; k < noisy.length / dimension; ++k) {
    text += writer.line({
      step: first + k + 1,
      time: labels?.[k],
      noisy: noisy.subarray(k * dimension, (k + 1) * dimension),
      truth: truths?.[k],
      std: totals.stddev(first + k),
    });
  }
  if (text !== '') await sink.write(text);
  return fault;
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

function warn(text: string): void {
  process.stderr.write(`dp-ftrl release: warning: ${text}\n`);
}

function readSettings(args: Args) {
  const people = readPeople(args);
  return {
    target: {
      epsilon: required('epsilon', args.positive('epsilon')),
      delta: required('delta', args.probability('delta')),
      clipNorm: required('clip', args.positive('clip')),
      neighbours: readNeighbours(args),
      participation: people ? participationOf(people) : readParticipation(args),
    },
    people,
    times: readTimes(args),
    budget: Budget.read(args),
    state: readState(args),
    ...readMode(args),
    seed: args.seed(),
    showTrue: args.has('show-nonprivate'),
    json: args.has('json'),
    quiet: args.has('quiet'),
  };
}

type Settings = ReturnType<typeof readSettings>;

/** The horizon: as given, or the number of steps of the input, which is then read twice. */
async function horizonOf(steps: number | undefined, settings: Settings, rows: RowStream) {
  const { people, times } = settings;
  // With --state the times say where this run ends, not how long all of them are.
  const isRange = times?.last !== undefined && !settings.state;
  const range = isRange ? times.last! - times.first! + 1 : undefined;
  if (steps !== undefined) {
    // A saved strategy has its own horizon.
    if (range !== undefined && range !== steps) {
      throw new Misuse(`--from and --to span ${range} steps, the strategy is for ${steps}`);
    }
    return { numSteps: steps, surveyed: false };
  }
  if (range !== undefined) return { numSteps: range, surveyed: false };
  let numSteps = 0;
  const clock = times && new Clock(times);
  await rows.survey((batch) => {
    const { numRows, firstRow, lines, texts } = batch;
    for (let i = 0; i < numRows; ++i) {
      if (people) personOf(batch, i, people.column, texts[0]!);
      const where = { row: firstRow + i, line: lines[i]! };
      numSteps = 1 + (clock ? clock.advance(texts.at(-1)![i]!, where) : numSteps);
    }
  });
  return { numSteps, surveyed: true };
}

interface Made {
  sums: RowSums;
  stepper: Stepper;
  /** Present for a release of several runs. */
  state?: LedgerTotals;
  close(): Promise<void>;
}

/**
 * Makes a running total of this run alone, or one that goes on, and what turns rows into its steps.
 */
async function makeSums(
  dp: DpFtrl,
  settings: Settings,
  { how, rows }: { how: PrefixSumOptions; rows: RowStream },
): Promise<Made> {
  const { people, state, times, target, showTrue } = settings;
  const options = { columns: textColumns(people, times), clipNorm: target.clipNorm, showTrue };
  if (state) {
    const wanted = { columns: rows.columns, people, times };
    const totals = await LedgerTotals.open(dp, state, { options: how, wanted });
    rows.arrange(totals.columns);
    const sums = { people: undefined, totals };
    try {
      const stepper =
        people || times
          ? new LedgerStepper({ totals, columns: options.columns, people, times })
          : new RowStepper({ ...options, sums });
      return { sums, stepper, state: totals, close: () => totals.close() };
    } catch (error) {
      await totals.close();
      throw error;
    }
  }
  const sums: Sums = people
    ? { people, totals: dp.peopleSum(how) }
    : { people, totals: dp.prefixSum(how) };
  const stepper = times
    ? new BucketStepper({ ...options, sums, times })
    : new RowStepper({ ...options, sums });
  return { sums, stepper, close: () => Promise.resolve(sums.totals.dispose()) };
}

export async function run(args: Args): Promise<void> {
  const settings = readSettings(args);
  const { people, times, mode, seed, showTrue, json, quiet, target } = settings;
  const output = args.text('output');
  await requireWritable(output);
  const dp = await load();
  const chosen = await readChosen(args, dp.mechanisms());
  const { mechanism, parameters, name } = chosen;
  const participation = people ? target.participation : chosenParticipation(args, chosen);
  const steps = stepsOf(args, chosen);
  const texts = textColumns(people, times);
  const wanted = { columns: args.texts('column'), texts: texts.names };
  const rows = await RowStream.open(args.files, wanted);
  const { numSteps, surveyed } = await horizonOf(steps, settings, rows);
  const how: PrefixSumOptions = {
    ...target,
    participation,
    ...settings.how,
    mechanism,
    ...parameters,
    numSteps,
    dimension: rows.columns.length,
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  // With --state the mechanism keeps the name with which the state was begun.
  const isSearched = settings.state === undefined && !quiet;
  const line = `release: ${name}`;
  const found = isSearched ? await watch(foundFirst(dp, how), new ProgressLine(line)) : how;
  const { sums, stepper, state, close } = await makeSums(dp, settings, { how: found, rows });
  const { columns } = rows;
  const { totals } = sums;
  const { certificate } = totals;
  const whom = protection({ participation, people, times, numSteps, instead: '--user-column' });

  const isGuarded = state !== undefined;
  const sink =
    output === undefined ? new StandardOutput() : await AtomicFile.create(output, { isGuarded });
  const interruption = isGuarded ? new Interruption() : undefined;
  const progress = new StepProgress(numSteps, { quiet });
  const before = totals.step;
  let failure: unknown;
  try {
    const writer = new Writer(sink, columns, { json, showTrue, timeColumn: times?.column });
    const { mu, rho, epsilon, delta, neighbours } = certificate;
    const about = { mechanism: name, numSteps, columns };
    const spending = { costs: { mu, rho }, epsilon, delta, neighbours, ...about };
    // Later runs must recognise what was paid for once, even if this run releases nothing.
    await settings.budget?.spend(dp, { ...spending, unit: whom.unit }, state);
    if (seed !== undefined) warn('--seed makes the noise known to anyone: NOT private');
    if (showTrue) warn('--show-nonprivate adds sums without noise: NOT private');
    const other = whatIsProtected(participation, chosen);
    if (other !== undefined) warn(other);
    const isPrivate = seed === undefined && !showTrue;
    if (!quiet && isPrivate) {
      process.stderr.write(`dp-ftrl release: ${guarantee(certificate, { name, mode, whom })}\n`);
    }
    await writer.begin(certificate, { private: isPrivate, mode, protects: whom.unit });
    const write = async (steps: Released) => {
      // A crash may leave the budget ahead of what was shown, never behind.
      if (state) await settings.budget?.reached(state.numReleased);
      const stop = await writeSteps(steps, { writer, sink, totals });
      progress.report(totals.step);
      return stop;
    };
    let fault = await releaseAll(rows, { stepper, interruption, write });
    if (!fault && surveyed && totals.step < numSteps) {
      fault = new Error(`the input changed while it was read: ${totals.step} of ${numSteps} steps`);
    }
    progress.end();
    const dropped = showTrue && sums.people ? sums.totals.numDropped : undefined;
    await writer.end(fault, dropped === undefined ? {} : { numDropped: dropped });
    if (dropped !== undefined) warn(`${dropped} rows did not count: NOT private`);
    if (fault) throw fault;
    await sink.commit();
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
  failure = await ended(failure, [finish, close]);
  if (failure !== undefined) throw failure;
}
