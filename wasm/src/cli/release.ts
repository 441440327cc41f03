// SPDX-License-Identifier: Apache-2.0

// dp-ftrl release: a CSV in, its private running totals out.

import { load } from '../index.js';
import type { Certificate, Participation, PrefixSum } from '../types.js';
import { Args, required, type Known } from './args.js';
import { csvCell } from './csv.js';
import { faultOf, Misuse } from './failure.js';
import { openInput } from './input.js';
import { MECHANISM_OPTIONS, nameText, PARTICIPATION_OPTIONS } from './mechanism.js';
import { readMechanism, readNeighbours, readParticipation } from './mechanism.js';
import { AtomicFile, StandardOutput, type Sink } from './output.js';
import { readAll, readTable, type Batch } from './rows.js';

export const options: Known = {
  ...MECHANISM_OPTIONS,
  epsilon: 'value',
  delta: 'value',
  clip: 'value',
  steps: 'value',
  ...PARTICIPATION_OPTIONS,
  column: 'values',
  neighbours: 'value',
  mode: 'value',
  seed: 'value',
  output: 'value',
  'show-nonprivate': 'flag',
  json: 'flag',
  quiet: 'flag',
};

/** Whose rows are protected. */
function protectedText(participation: Participation, numSteps: number): string {
  if (participation === 'single') return 'one row is protected';
  if ('epochs' in participation) {
    const { epochs } = participation;
    const which = `one row in each of ${epochs} epochs of ${numSteps / epochs} rows`;
    return `one user is protected, with ${which}, always in the same place`;
  }
  const { participations, minSeparation } = participation;
  const which = `at most ${participations} rows, at least ${minSeparation} rows apart`;
  return `one user is protected, with ${which}`;
}

function guarantee(
  { epsilon, delta, neighbours, clipNorm, numSteps }: Certificate,
  { name, mode, participation }: { name: string; mode: string; participation: Participation },
): string {
  return (
    `(${epsilon}, ${delta})-differentially private, ${neighbours} neighbours: ` +
    `${protectedText(participation, numSteps)}, clipped to l2-norm ${clipNorm}; mechanism ` +
    `${name}, mode ${mode}, horizon ${numSteps} rows (the number of rows is public)`
  );
}

/** Sums of the clipped rows without noise, for --show-nonprivate only. */
class TrueSums {
  readonly sums: number[];

  constructor(
    dimension: number,
    private readonly clipNorm: number,
  ) {
    this.sums = new Array<number>(dimension).fill(0);
  }

  add(row: Float64Array): void {
    const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (largest === 0) return;
    // Norm / largest, as in the core: the norm itself may overflow.
    const ratio = Math.sqrt(row.reduce((sum, value) => sum + (value / largest) ** 2, 0));
    const clipped = largest * ratio > this.clipNorm;
    row.forEach((value, j) => {
      this.sums[j]! += clipped ? (value / largest / ratio) * this.clipNorm : value;
    });
  }
}

/** Writes one release after the other, as CSV or as one JSON object with a row a line. */
class Writer {
  private rows = 0;

  constructor(
    private readonly sink: Sink,
    private readonly columns: string[],
    private readonly json: boolean,
    private readonly showTrue: boolean,
  ) {}

  async begin(certificate: Certificate, mode: string, isPrivate: boolean): Promise<void> {
    const trueNames = this.showTrue ? this.columns.map((name) => `${name}_true`) : [];
    const header = ['step', ...this.columns, ...trueNames, 'std'];
    const twice = header.find((name, i) => header.indexOf(name) < i);
    if (twice !== undefined) {
      const name = JSON.stringify(twice);
      throw new Misuse(`the output would have two columns ${name}; rename the one in the input`);
    }
    if (this.json) {
      const head = { private: isPrivate, mode, certificate, columns: this.columns };
      await this.sink.write(`${JSON.stringify(head).slice(0, -1)},"rows":[`);
    } else {
      await this.sink.write(`${header.map(csvCell).join(',')}\n`);
    }
  }

  line(
    step: number,
    noisy: Float64Array,
    truth: readonly number[] | undefined,
    std: number,
  ): string {
    if (!this.json) return `${[step, ...noisy, ...(truth ?? []), std].join(',')}\n`;
    const named = (values: ArrayLike<number>) =>
      Object.fromEntries(this.columns.map((name, j) => [name, values[j]]));
    const row = { step, sums: named(noisy), ...(truth && { trueSums: named(truth) }), std };
    return `${this.rows++ === 0 ? '' : ','}\n${JSON.stringify(row)}`;
  }

  /**
   * Closes the JSON object, so that rows already written can be read after a fault too. Of the
   * fault it says where, never what: the cell belongs to the input, which is not private.
   */
  async end(fault: Error | undefined): Promise<void> {
    if (!this.json) return;
    const tail = fault ? { complete: false, error: faultOf(fault) } : { complete: true };
    await this.sink.write(`\n],${JSON.stringify(tail).slice(1)}\n`);
  }
}

/** Totals of as many rows as could be released, and the error that stopped the rest. */
function releaseRows(
  sums: PrefixSum,
  values: Float64Array,
): { noisy: Float64Array; fault?: Error } {
  try {
    return { noisy: sums.releaseMany(values) };
  } catch (error) {
    const { released } = error as { released?: Float64Array };
    if (!(error instanceof Error) || !released) throw error;
    return { noisy: released, fault: error };
  }
}

/** Releases the rows of a batch; returns the fault that ends the run, if there is one. */
async function releaseBatch(
  sums: PrefixSum,
  batch: Batch,
  truth: TrueSums | undefined,
  writer: Writer,
  sink: Sink,
): Promise<Error | undefined> {
  const { dimension } = sums;
  const first = sums.step;
  const accepted = Math.min(batch.numRows, sums.numSteps - first);
  const values = batch.values.subarray(0, accepted * dimension);
  const { noisy, fault } = releaseRows(sums, values);
  let text = '';
  for (let from = 0; from < noisy.length; from += dimension) {
    const step = first + from / dimension;
    truth?.add(values.subarray(from, from + dimension));
    const row = noisy.subarray(from, from + dimension);
    text += writer.line(step + 1, row, truth?.sums, sums.stddev(step));
  }
  if (text !== '') await sink.write(text);
  if (fault) return fault;
  if (accepted < batch.numRows) {
    const row = sums.numSteps + 1;
    const line = batch.lines[accepted]!;
    const what = `row ${row} (line ${line}) is past the horizon of --steps ${sums.numSteps}`;
    return new Misuse(what, { code: 'past_horizon', row, line });
  }
  return batch.fault;
}

function warn(text: string): void {
  process.stderr.write(`dp-ftrl release: warning: ${text}\n`);
}

function readSettings(args: Args) {
  const unit = 'a positive number';
  return {
    epsilon: required('epsilon', args.positive('epsilon')),
    delta: required('delta', args.probability('delta')),
    clipNorm: required(
      'clip',
      args.number('clip', unit, (value) => value > 0),
    ),
    neighbours: readNeighbours(args),
    participation: readParticipation(args),
    mode: args.oneOf('mode', ['grid'], 'grid'),
    steps: args.steps(),
    seed: args.seed(),
  };
}

export async function run(args: Args): Promise<void> {
  const { mode, steps, seed, ...settings } = readSettings(args);
  const { clipNorm, participation } = settings;
  const showTrue = args.has('show-nonprivate');
  const output = args.text('output');
  const dp = await load();
  const { mechanism, ...parameters } = readMechanism(args, dp.mechanisms());

  const table = await readTable(await openInput(args.files), args.texts('column'));
  const all = steps === undefined ? await readAll(table) : undefined;
  const sums = dp.prefixSum({
    ...settings,
    mechanism,
    ...parameters,
    numSteps: steps ?? all!.numRows,
    dimension: table.columns.length,
    ...(seed !== undefined && { insecureSeed: seed }),
  });

  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  try {
    if (seed !== undefined) warn('--seed makes the noise known to anyone: NOT private');
    if (showTrue) warn('--show-nonprivate adds sums without noise: NOT private');
    if (!args.has('quiet') && seed === undefined && !showTrue) {
      const how = { name: nameText(mechanism, parameters), mode, participation };
      process.stderr.write(`dp-ftrl release: ${guarantee(sums.certificate, how)}\n`);
    }
    const writer = new Writer(sink, table.columns, args.has('json'), showTrue);
    await writer.begin(sums.certificate, mode, seed === undefined && !showTrue);
    const truth = showTrue ? new TrueSums(table.columns.length, clipNorm) : undefined;
    let fault: Error | undefined;
    for await (const batch of all ? [all] : table.batches) {
      fault = await releaseBatch(sums, batch, truth, writer, sink);
      if (fault) break;
    }
    await writer.end(fault);
    if (fault) throw fault;
    await sink.commit();
  } catch (error) {
    await sink.abandon();
    throw error;
  } finally {
    sums.dispose();
  }
}
