// SPDX-License-Identifier: Apache-2.0

// Opens the table of dp-ftrl learn and determines its columns, ranges and horizon.

import { DEFAULT_RANGE, withRanges } from '../../../api/learning/setup.js';
import type { ModelInput } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { ExampleRows, survey } from '../../input/examples.js';
import { columnList, unknownColumn } from '../../input/header.js';
import { FEATURE_WORDS } from '../../input/labels.js';
import { inputsOf, readColumns } from '../../input/columns.js';
import { isRegularFile } from '../../input/input.js';
import type { RowBatch } from '../../input/rows.js';
import { pastHorizon } from '../../input/steps.js';
import { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import { BOUNDS_LABEL, type Setup } from './defaults.js';
import type { LearnSettings } from './settings.js';
import { counted } from '../../../shared/counted.js';

export interface LearnProblem {
  rows: RowStream;
  examples: ExampleRows;
  inputs: ModelInput[];
  numSteps: number;
  /** Rows per step. */
  batchSize: number;
  /** Digest of the rows at the first reading, if they are read more than once. */
  digest: string | undefined;
  /** Names the part of the table that was read so far. */
  read: string;
}

/** Maximum number of cells of a table kept in memory for later passes (128 MiB). */
export const MAX_KEPT = 2 ** 24;

/** Counts the rows of a file without reading their cells as numbers. */
async function countRows(
  files: readonly string[],
  how: Pick<LearnSettings, 'format' | 'missing'>,
): Promise<number> {
  const rows = await RowStream.open(files, { columns: [], onlyTexts: true, texts: [], ...how });
  let numRows = 0;
  await rows.survey((batch) => void (numRows += batch.numRows));
  return numRows;
}

/**
 * Opens the table; reads it once if ranges or the horizon (unless `given`) depend on it, or if a
 * budget pays for the whole table, because a fault in a row must be found before any noise is used.
 */
export async function readProblem(
  args: Args,
  { label, target, passes, fromData, setup, format, missing, budget, state, isDry }: LearnSettings,
  given: number | undefined,
): Promise<LearnProblem> {
  const { columns: wanted, ranges } = readColumns(args);
  if (ranges.some(({ name }) => name === label)) {
    const what = `ranges in --columns are for features, and ${JSON.stringify(label)} is the label`;
    throw new Misuse(`${what}, which is not scaled: ${BOUNDS_LABEL}`);
  }
  if (wanted.includes(label)) throw new Misuse('the label cannot be a feature as well');
  const columns = wanted.length === 0 ? [] : [...wanted, label];
  const labelled = { column: label, ...target };
  const table = {
    columns,
    hasPatterns: true,
    texts: [],
    format,
    missing,
    label: labelled,
    ofWords: FEATURE_WORDS,
  };
  const rows = await RowStream.open(args.files, table);
  if (!rows.columns.includes(label)) throw unknownColumn('column', label, rows.columns);
  const examples = new ExampleRows(rows.columns, label);
  const stated = inputsOf(ranges, examples.features);
  const inputs = setup === undefined || fromData ? stated : withRanges(stated);
  const { batchSize: stepSize } = target;
  const known = given !== undefined && passes === 1;
  if (isDry && !known && (await isRegularFile(args.files))) {
    const numRows = await countRows(args.files, { format, missing });
    const batchSize = setup === 'table' ? numRows : stepSize;
    const numSteps = passes * Math.ceil(numRows / batchSize);
    const read = 'the number of its rows';
    return { rows, examples, inputs, numSteps, batchSize, digest: undefined, read };
  }
  if (known && !fromData && (!budget || state || isDry)) {
    const read = 'nothing but the names of its columns';
    const numSteps = given;
    return { rows, examples, inputs, numSteps, batchSize: stepSize, digest: undefined, read };
  }
  const isWhole = setup === 'table';
  let numChecked = 0;
  const check = (batch: RowBatch, i: number) => {
    if (known && ++numChecked > given * stepSize) throw pastHorizon({ numSteps: given }, batch, i);
  };
  const how = { inputs, fromData, target, numKept: isWhole ? MAX_KEPT : 0, check };
  const { numRows, inputs: seen, digest } = await survey(rows, examples, how);
  const batchSize = isWhole ? numRows : stepSize;
  const numSteps = passes * Math.ceil(numRows / batchSize);
  if (!known && given !== undefined && given !== numSteps) {
    const each = batchSize === 1 ? '' : ` in batches of ${batchSize}`;
    const what = `${counted(passes, 'pass', 'passes')} over ${counted(numRows, 'row')}${each}`;
    throw new Misuse(`${what}: ${counted(numSteps, 'step')}, not ${given}`);
  }
  const ranged = setup === undefined ? seen : withRanges(seen);
  return {
    rows,
    examples,
    inputs: ranged,
    numSteps: known ? given : numSteps,
    batchSize,
    digest,
    read: 'all of it',
  };
}

/** Maximum number of features named in a warning. */
const MOST_NAMES = 10;

/**
 * Reports features without a known range. If no clip norm is given, they are clipped to [-1, 1],
 * which destroys a column whose numbers are all larger, so a warning names the features. If a clip
 * norm is given, large features crowd out the others when gradients are clipped, so a clause counts
 * the features.
 */
export function unscaledText(
  args: Args,
  inputs: readonly ModelInput[],
  setup: Setup | undefined,
): { note: string; warning: string | undefined } {
  const stated = inputsOf(
    readColumns(args).ranges,
    inputs.map(({ name }) => name),
  );
  const names = (setup === undefined ? inputs : stated).flatMap((input) =>
    input.low === undefined ? [input.name] : [],
  );
  if (names.length === 0) return { note: '', warning: undefined };
  const { low, high } = DEFAULT_RANGE;
  const of = `${names.length} of ${counted(inputs.length, 'feature')}`;
  if (setup === undefined)
    return { note: `; ${of} used as they are (see --columns)`, warning: undefined };
  const more = names.length - MOST_NAMES;
  const list = `${columnList(names.slice(0, MOST_NAMES))}${more > 0 ? ` and ${more} more` : ''}`;
  const what = `without a range, numbers beyond [${low}, ${high}] count as ${low} or ${high} in ${list}`;
  const hint =
    "give each --columns NAME=LOW:HIGH, known without the data, or '*=-1:1' if that is so";
  const warning = `${what}: the model may be no better than a constant; ${hint}`;
  return { note: `; ${of} clipped to [${low}, ${high}] (see --columns)`, warning };
}
