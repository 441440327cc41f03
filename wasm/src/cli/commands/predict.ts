// SPDX-License-Identifier: Apache-2.0

// dp-ftrl predict: predicts each row of a CSV with a model.

import { load } from '../../index.js';
import type { DpFtrl, LearnedModel } from '../../types/all.js';
import { nameOf } from '../../shared/name.js';
import { endOfRows, type Misuse } from '../base/failure.js';
import { DECIMAL_OPTIONS, FORMAT_OPTIONS, inputFormat } from '../input/format.js';
import { outputFormat } from '../input/format.js';
import { FEATURE_WORDS } from '../input/labels.js';
import { Missing, MISSING_OPTIONS } from '../input/missing.js';
import { requireAll } from '../input/needed.js';
import type { RowBatch } from '../input/rows.js';
import { RowStream } from '../input/stream.js';
import type { Args } from '../options/args.js';
import { readJsonFile } from '../options/json-file.js';
import { say, warnNotPrivate } from '../output/notices.js';
import { AtomicFile, requireWritable, StandardOutput, type Sink } from '../output/output.js';
import { RowText, type Format } from '../output/row-text.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption, OUTPUT_OPTION, QUIET_OPTION } from '../options/output.js';

export const command: Command = {
  summary: 'predictions of a model for each row of a CSV file',
  usage: '--model MODEL.json [FILE.csv]',
  about:
    'Reads a model that dp-ftrl learn wrote and the rows of a CSV file (or standard input), and ' +
    'writes a prediction for each row. The model protects the rows it was learned from. A ' +
    'prediction reveals something about its own row, which nothing protects.',
  details: [
    'The output is row,class,probability (of class 1) for logistic, row,class,score for hinge, ' +
      'row,class,probability_0,... for softmax, and row,prediction for the other losses. The ' +
      'columns of the model are matched by name; others are ignored. Class 0 stands for the ' +
      'labels 0 or -1.',
  ],
  options: {
    ...under('Model', {
      model: {
        value: 'FILE',
        file: 'read',
        meaning: 'model, as --model or --json of dp-ftrl learn wrote it',
      },
    }),
    ...FORMAT_OPTIONS,
    ...DECIMAL_OPTIONS,
    ...MISSING_OPTIONS,
    missing: {
      ...MISSING_OPTIONS.missing,
      meaning:
        'rows with a missing cell: refuse (default); zero: a missing feature is 0, moved ' +
        'to its range; or skip: the row has no prediction',
      brief: 'rows with a missing cell: refuse (default), zero or skip',
    },
    ...OUTPUT_OPTION,
    ...jsonOption('one object: loss, modelIsPrivate, protects, rows, complete'),
    ...QUIET_OPTION,
  },
  essentials: ['model', 'missing', 'output', 'json', 'quiet'],
  examples: [
    "dp-ftrl learn --label label --epsilon 4 --delta 1e-6 --columns '*=-1:1' --model model.json " +
      'examples/pendulum.csv && dp-ftrl predict --model model.json examples/pendulum.csv',
  ],
  run,
};

/** Turns the scores of a row into a prediction. */
interface Predictor {
  /** Columns of the output. */
  names: string[];
  values(scores: readonly number[]): number[];
}

const chance = (score: number) => 1 / (1 + Math.exp(-score));

/** Softmax: probabilities of classes from their scores. */
function chances(scores: readonly number[]): number[] {
  const greatest = Math.max(...scores);
  const shares = scores.map((score) => Math.exp(score - greatest));
  const sum = shares.reduce((total, share) => total + share, 0);
  return shares.map((share) => share / sum);
}

function predictorOf({ loss, numClasses = 0 }: LearnedModel): Predictor {
  // A single score predicts class 1 or 0, even if the training labels were 1 and -1.
  const sign = (score: number) => Number(score >= 0);
  switch (loss) {
    case 'logistic':
      return {
        names: ['class', 'probability'],
        values: ([score]) => [sign(score!), chance(score!)],
      };
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

/** Output of predictions: as rows, or as JSON if `rows` is undefined. */
type PredictionOutput = Predictor & { rows: RowText | undefined };

/** Formats one line per row of a batch; `isFirst` is true if no row was written before. */
function linesOf(
  scores: Float64Array,
  batch: RowBatch,
  { names, values, rows, isFirst }: PredictionOutput & { isFirst: boolean },
): string {
  const width = scores.length / batch.numRows;
  return Array.from({ length: batch.numRows }, (_, i) => {
    const row = batch.firstRow + i;
    const found = values([...scores.subarray(i * width, (i + 1) * width)]);
    if (rows) return rows.line([row, ...found]);
    const named = Object.fromEntries(names.map((name, j) => [name, found[j]]));
    return `${isFirst && i === 0 ? '' : ','}\n${JSON.stringify({ row, ...named })}`;
  }).join('');
}

async function write(
  dp: DpFtrl,
  sink: Sink,
  { model, rows, format }: { model: LearnedModel; rows: RowStream; format: Format | 'json' },
): Promise<void> {
  const predictor = predictorOf(model);
  const text = format === 'json' ? undefined : new RowText(['row', ...predictor.names], format);
  const { loss, protects } = model;
  const head = JSON.stringify({ loss, modelIsPrivate: model.private, protects });
  await sink.write(text ? text.head() : `${head.slice(0, -1)},"rows":[`);
  let fault: Misuse | undefined;
  let isFirst = true;
  for await (const batch of rows.rows()) {
    const scores = dp.predict(model, batch.values);
    const lines = linesOf(scores, batch, { ...predictor, rows: text, isFirst });
    if (lines !== '') await sink.write(lines);
    isFirst &&= lines === '';
    fault = batch.fault;
  }
  if (!text) await sink.write(endOfRows(fault, {}));
  if (fault) throw fault;
  await sink.commit();
}

async function run(args: Args): Promise<void> {
  requireAll(args, { model: 'FILE' }, { model: 'dp-ftrl learn --model FILE writes one' });
  const path = args.text('model')!;
  const output = args.text('output');
  const format = inputFormat('predict', args);
  await requireWritable(output);
  const dp = await load();
  const model = await readModel(dp, path);
  const columns = model.inputs.map(({ name }) => nameOf(name));
  const missing = Missing.read(args, { areSteps: false });
  const rows = await RowStream.open(args.files, {
    ...{ columns, texts: [], format, missing },
    ofWords: FEATURE_WORDS,
  });
  warnNotPrivate('predict', { [`--model ${path} says "private": false`]: !model.private });
  if (!args.has('quiet')) {
    say('predict', 'predictions reveal something about their rows: nothing protects those');
  }
  const sink = output === undefined ? new StandardOutput() : await AtomicFile.create(output);
  try {
    await write(dp, sink, { model, rows, format: args.has('json') ? 'json' : outputFormat(args) });
  } catch (error) {
    await sink.abandon();
    throw error;
  }
}
