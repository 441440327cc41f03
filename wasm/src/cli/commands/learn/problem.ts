// SPDX-License-Identifier: Apache-2.0

// The table that dp-ftrl learn reads: its columns, ranges and horizon.

import type { ModelInput } from '../../../types/all.js';
import { Misuse } from '../../failure.js';
import { Examples, survey } from '../../input/examples.js';
import { readInputs } from '../../input/ranges.js';
import { RowStream } from '../../input/stream.js';
import type { Args } from '../../options/args.js';
import type { Settings } from './settings.js';

export interface Problem {
  rows: RowStream;
  examples: Examples;
  inputs: ModelInput[];
  numSteps: number;
  /** Digest of the rows as they were before, where they are read more than once. */
  digest: string | undefined;
}

/** Opens the table. Reads it once where ranges or the horizon, `given`, have to come from it. */
export async function readProblem(
  args: Args,
  { label, target, passes, fromData }: Settings,
  given: number | undefined,
): Promise<Problem> {
  const wanted = args.texts('column');
  if (wanted.includes(label)) throw new Misuse('the label cannot be a feature as well');
  const columns = wanted.length === 0 ? [] : [...wanted, label];
  const rows = await RowStream.open(args.files, { columns, texts: [] });
  if (!rows.columns.includes(label)) {
    throw new Misuse(`there is no column ${JSON.stringify(label)}`);
  }
  const examples = new Examples(rows.columns, label);
  const inputs = readInputs(args, examples.features);
  const known = given !== undefined && passes === 1;
  if (known && !fromData) return { rows, examples, inputs, numSteps: given, digest: undefined };
  const { numRows, ...seen } = await survey(rows, examples, { inputs, fromData, target });
  const { batchSize } = target;
  const numSteps = passes * Math.ceil(numRows / batchSize);
  if (!known && given !== undefined && given !== numSteps) {
    const each = batchSize === 1 ? '' : ` in batches of ${batchSize}`;
    const what = `${passes} passes over ${numRows} rows${each} have ${numSteps} steps`;
    throw new Misuse(`${what}, not ${given}`);
  }
  return { ...seen, rows, examples, numSteps: known ? given : numSteps };
}

/** Counts features that are not scaled: large ones crowd out the others when gradients are clipped. */
export function unscaledText(inputs: readonly ModelInput[]): string {
  const { length } = inputs.filter(({ low }) => low === undefined);
  return length === 0 ? '' : `; ${length} of ${inputs.length} features used as they are (see --range)`;
}
