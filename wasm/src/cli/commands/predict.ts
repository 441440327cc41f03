// SPDX-License-Identifier: Apache-2.0

// dp-ftrl predict: a model and a CSV in, a prediction for each row out.

import { load } from '../../index.js';
import type { DpFtrl, LearnedModel } from '../../types/all.js';
import { endOfRows, Misuse } from '../failure.js';
import { Delimiter, DELIMITER_OPTIONS } from '../input/delimiter.js';
import type { Batch } from '../input/rows.js';
import { RowStream } from '../input/stream.js';
import { required, type Args, type Known } from '../options/args.js';
import { readJsonFile } from '../options/json-file.js';
import { say, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../output/output.js';

export const options: Known = {
  model: 'value',
  ...DELIMITER_OPTIONS,
  output: 'value',
  json: 'flag',
  quiet: 'flag',
};

/** How the scores of a row become a prediction. */
interface Predictor {
  /** Columns of the output. */
  names: string[];
  values(scores: readonly number[]): number[];
}

const chance = (score: number) => 1 / (1 + Math.exp(-score));

/** Probabilities of classes, by their scores. */
function chances(scores: readonly number[]): number[] {
  const greatest = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - greatest));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

function predictorOf({ loss, numClasses = 0 }: LearnedModel): Predictor {
  // The classes of one score are 1, and 0 or -1 as the labels had it.
  const sign = (score: number) => Number(score >= 0);
  switch (loss) {
    case 'logistic':
      return { names: ['class', 'probability'], values: ([score]) => [sign(score!), chance(score!)] };
    case 'hinge':
      return { names: ['class', 'score'], values: ([score]) => [sign(score!), score!] };
    case 'softmax':
      return {
        names: ['class', ...Array.from({ length: numClasses }, (_, k) => `probability_${k}`)],
        values: (scores) => [scores.indexOf(Math.max(...scores)), ...chances(scores)],
      };
    default:
      return { names: ['prediction'], values: ([score]) => [score!] };
  }
}

async function readModel(dp: DpFtrl, path: string): Promise<LearnedModel> {
  const model = (await readJsonFile('model', path, 'a model')) as LearnedModel;
  dp.predict(model, []); // Checks the model.
  return model;
}

/** Writes a line for each row of a batch. */
function linesOf(scores: Float64Array, batch: Batch, { names, values, json }: Predictor & { json: boolean }) {
  const width = scores.length / batch.numRows;
  return Array.from({ length: batch.numRows }, (_, i) => {
    const row = batch.firstRow + i;
    const found = values([...scores.subarray(i * width, (i + 1) * width)]);
    if (!json) return `${[row, ...found].join(',')}\n`;
    const named = Object.fromEntries(names.map((name, j) => [name, found[j]]));
    return `${row === 1 ? '' : ','}\n${JSON.stringify({ row, ...named })}`;
  }).join('');
}

async function write(
  dp: DpFtrl,
  sink: Sink,
  { model, rows, json }: { model: LearnedModel; rows: RowStream; json: boolean },
): Promise<void> {
  const predictor = { ...predictorOf(model), json };
  const { loss, protects } = model;
  const head = JSON.stringify({ loss, modelIsPrivate: model.private, protects });
  await sink.write(json ? `${head.slice(0, -1)},"rows":[` : `row,${predictor.names.join(',')}\n`);
  let fault: Misuse | undefined;
  for await (const batch of rows.rows()) {
    const text = linesOf(dp.predict(model, batch.values), batch, predictor);
    if (text !== '') await sink.write(text);
    fault = batch.fault;
  }
  if (json) await sink.write(endOfRows(fault, {}));
  if (fault) throw fault;
  await sink.commit();
}

export async function run(args: Args): Promise<void> {
  const path = required('model', args.text('model'));
  const output = args.text('output');
  const delimiter = Delimiter.read('predict', args);
  await requireWritable(output);
  const dp = await load();
  const model = await readModel(dp, path);
  const columns = model.inputs.map(({ name }) => name);
  const rows = await RowStream.open(args.files, { columns, texts: [], delimiter });
  warnNotPrivate('predict', { [`--model ${path} says so of itself`]: !model.private });
  if (!args.has('quiet')) {
    say('predict', 'predictions tell of the rows they are made for: nothing protects those');
  }
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  try {
    await write(dp, sink, { model, rows, json: args.has('json') });
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}
