// SPDX-License-Identifier: Apache-2.0

// dp-ftrl learn: a CSV in, a private linear model out.

import { DOMAINS, LOSSES } from '../../api/learning/loss.js';
import { scaled } from '../../api/learning/model.js';
import { foundFirst } from '../../api/searches.js';
import type {
  DpFtrl,
  LearnedModel,
  Learner,
  LearnerLedger,
  LearnerOptions,
} from '../../types/all.js';
import type { ModelInput, Participation } from '../../types/all.js';
import { load } from '../../index.js';
import { refusalOf } from '../../core/errors.js';
import { addNote, inOptions, Misuse } from '../failure.js';
import { Examples, RowsHash, survey } from '../input/examples.js';
import type { Labelled } from '../input/labels.js';
import { readInputs } from '../input/ranges.js';
import type { Batch } from '../input/rows.js';
import { RowStream } from '../input/stream.js';
import { Args, required, type Known } from '../options/args.js';
import { PARTICIPATION_OPTIONS, readNeighbours } from '../options/mechanism.js';
import { STRATEGY_OPTIONS } from '../options/mechanism.js';
import { MODE_OPTIONS, readMode } from '../options/mode.js';
import { guarantee, protection } from '../options/protection.js';
import { chosenParticipation, readChosen, stepsOf, whatIsProtected } from '../options/strategy.js';
import type { Chosen } from '../options/strategy.js';
import { requireWritable, StandardOutput, writeFile } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { report } from '../output/report.js';
import { StepProgress } from '../output/step-progress.js';
import { Interruption } from '../signals.js';
import { Budget, BUDGET_OPTIONS } from '../state/budget.js';
import { LearnerState, optionsOf } from '../state/learn-state.js';
import { ended, readState, unfinished } from '../state/state-file.js';
import { heldOut, Hindsight, MAX_KEPT } from './hindsight.js';
import { regretBoundText } from './regret-bound.js';

export const options: Known = {
  ...STRATEGY_OPTIONS,
  loss: 'value',
  label: 'value',
  column: 'values',
  range: 'values',
  'ranges-from-data': 'flag',
  'no-intercept': 'flag',
  epsilon: 'value',
  delta: 'value',
  clip: 'value',
  steps: 'value',
  quantile: 'value',
  'huber-threshold': 'value',
  classes: 'value',
  descent: 'flag',
  momentum: 'value',
  'momentum-through': 'value',
  rates: 'value',
  test: 'value',
  domain: 'value',
  radius: 'value',
  regularisation: 'value',
  doubling: 'flag',
  batch: 'value',
  passes: 'value',
  ...PARTICIPATION_OPTIONS,
  ...BUDGET_OPTIONS,
  state: 'value',
  neighbours: 'value',
  ...MODE_OPTIONS,
  seed: 'value',
  model: 'value',
  'show-nonprivate': 'flag',
  json: 'flag',
  quiet: 'flag',
};

/** The options of one loss each. */
function readParameters(args: Args, loss: string) {
  const only = { quantile: 'quantile', 'huber-threshold': 'huber', classes: 'softmax' };
  for (const [name, wanted] of Object.entries(only)) {
    if (wanted !== loss && args.has(name)) throw new Misuse(`--${name} needs --loss ${wanted}`);
  }
  return {
    quantile: args.probability('quantile'),
    huberThreshold: args.positive('huber-threshold'),
    numClasses: loss === 'softmax' ? required('classes', args.count('classes')) : undefined,
  };
}

/** Gradient descent instead of FTRL, where it is asked for. */
function readDescent(args: Args) {
  const stray = ['momentum', 'momentum-through', 'rates'].find((name) => args.has(name));
  if (!args.has('descent')) {
    if (stray !== undefined) throw new Misuse(`--${stray} needs --descent`);
    return undefined;
  }
  const wanted = 'a number from 0 to below 1';
  return {
    momentum: args.number('momentum', wanted, (beta) => beta >= 0 && beta < 1) ?? 0,
    ...(args.has('rates') && { rates: args.numbers('rates')! }),
    ...(args.has('momentum-through') && {
      through: args.oneOf('momentum-through', ['post-processing', 'workload'], 'post-processing'),
    }),
  };
}

function readPattern(
  args: Args,
  chosen: Chosen,
  { batchSize, passes }: { batchSize: number; passes: number },
): Participation {
  const other = Object.keys(PARTICIPATION_OPTIONS).find((name) => args.has(name));
  if (passes > 1 && other !== undefined) {
    throw new Misuse(`--passes says when a row comes again: not with --${other}`);
  }
  const participation = passes > 1 ? { epochs: passes } : chosenParticipation(args, chosen);
  if (passes === 1 && batchSize > 1 && participation !== 'single') {
    throw new Misuse('--batch protects one row: not with --epochs or --participations');
  }
  const warning = whatIsProtected(participation, chosen);
  if (warning !== undefined) warn(warning);
  return participation;
}

function readSettings(args: Args) {
  const showTrue = args.has('show-nonprivate');
  if (args.has('ranges-from-data') && !showTrue) {
    throw new Misuse('--ranges-from-data gives data away: it needs --show-nonprivate');
  }
  const batchSize = args.count('batch') ?? 1;
  if (args.has('test') && !showTrue) {
    throw new Misuse('--test measures a loss on data: it needs --show-nonprivate');
  }
  const passes = args.count('passes') ?? 1;
  const state = readState(args);
  if (state && passes > 1) {
    throw new Misuse('--state does not go with --passes; for rows that come again in a later run there is --epochs');
  }
  const loss = args.oneOf('loss', [...LOSSES, 'softmax'], 'logistic');
  const { mode, how } = readMode(args);
  const optional = {
    ...readParameters(args, loss),
    descent: readDescent(args),
    radius: args.positive('radius'),
    lambda: args.positive('regularisation'),
  };
  return {
    target: {
      epsilon: required('epsilon', args.positive('epsilon')),
      delta: required('delta', args.probability('delta')),
      clipNorm: required('clip', args.positive('clip')),
      neighbours: readNeighbours(args),
      loss,
      domain: args.oneOf('domain', DOMAINS, 'ball'),
      doubling: args.has('doubling'),
      batchSize,
      ...how,
      ...(Object.fromEntries(
        Object.entries(optional).filter(([, value]) => value !== undefined),
      ) as Partial<Omit<LearnerOptions, 'loss'>>),
    },
    mode,
    label: required('label', args.text('label')),
    passes,
    state,
    intercept: !args.has('no-intercept'),
    budget: Budget.read(args),
    seed: args.seed(),
    showTrue,
    test: args.text('test'),
    quiet: args.has('quiet'),
  };
}

type Settings = ReturnType<typeof readSettings>;

/** The learner of this run, and how far it is. */
interface Learning {
  learner: Learner | LearnerLedger;
  examples: Examples;
  inputs: readonly ModelInput[];
  /** Number of rows learned from so far: with --state those whose learning is stored. */
  numLearned: number;
  /**
   * Number of rows after these of which a save that failed may or may not have kept the learning.
   */
  numInDoubt: number;
  /** Number of steps that are known to be stored. */
  step: number;
  hindsight?: Hindsight;
}

/** Learns from a batch; a row that is refused is named. */
async function learnFrom(learning: Learning, batch: Batch, areNew: boolean): Promise<void> {
  const { learner, examples, inputs, hindsight } = learning;
  const { numRows } = batch;
  const { dimension, numSteps } = learner;
  const features = new Float64Array(numRows * dimension).fill(1);
  const labels = new Float64Array(numRows);
  for (let i = 0; i < numRows; ++i) {
    const row = examples.row(batch, i).map((value, j) => scaled(value, inputs[j]!));
    features.set(row, i * dimension);
    labels[i] = examples.label(batch, i);
  }
  const predictions = hindsight && new Float64Array(numRows * learner.numScores);
  try {
    await learner.learn(features, labels, predictions);
  } catch (error) {
    const { learned, code } = error as { learned?: number; code?: string };
    if (code === 'store_failed') learning.numInDoubt = numRows;
    if (learned === undefined) throw error;
    learning.numLearned += learned;
    learning.step = learner.step;
    const [row, line] = [batch.firstRow + learned, batch.lines[learned]!];
    const where = `row ${row} (line ${line})`;
    if (code === 'past_horizon') {
      const what = `${where} is past the horizon of --steps ${numSteps}`;
      throw new Misuse(what, { code, row, line });
    }
    // The value may be of a private row.
    const { value, row: example, ...refusal } = refusalOf(error);
    const what = refusal.constraint === undefined ? (error as Error).message : inOptions(refusal);
    throw new Misuse(`${where}: ${what}`, { code: code ?? 'internal', row, line }, value);
  }
  learning.numLearned += numRows;
  learning.step = learner.step;
  hindsight?.learn(features, labels, { predictions: predictions!, areNew });
}

/** Adds to the error that ends a run of a state which rows must not come again. */
function withRows(failure: unknown, { numLearned, numInDoubt }: Learning): unknown {
  const done = `rows 1 to ${numLearned} of this input are learned from: leave them`;
  const error = numLearned === 0 ? failure : unfinished(failure, done);
  if (numInDoubt > 0 && error instanceof Error) {
    const rows = `rows ${numLearned + 1} to ${numLearned + numInDoubt}`;
    const tells = 'a run on the header alone says how many examples are';
    addNote(error, `whether ${rows} are learned from is not known: ${tells}`);
  }
  return error;
}

/** The regret with its gap: how much more it may be. */
function regretFacts(
  regret: NonNullable<LearnedModel['nonprivate']>['regret'] | null,
  { domain, radius = 1 }: LearnerOptions,
) {
  if (!regret) {
    const why = `not measured: needs more than ${MAX_KEPT} numbers of memory`;
    return { 'regret (NOT private)': why };
  }
  const { bestLoss, gap } = regret;
  const within = domain === 'whole-space' ? ` of norm at most ${radius}` : '';
  const most = gap.toPrecision(1);
  const text = (value: number) => `${Number(value.toPrecision(6))}, at most ${most} more`;
  return {
    [`loss of the best fixed weights${within} (NOT private)`]: bestLoss,
    'regret against them (NOT private)': text(regret.private),
    'regret of the twin (NOT private)': text(regret.twin),
  };
}

function describe(
  model: LearnedModel,
  { learner, how, regretBound }: {
    learner: Learner | LearnerLedger;
    how: LearnerOptions;
    regretBound: string;
  },
): string {
  const { lambda, batchSize, numWaiting } = learner;
  const { certificate, inputs, intercept, weights, loss, numExamples, nonprivate } = model;
  const names = [...inputs.map(({ name }) => name), ...(intercept ? ['(intercept)'] : [])];
  const rows = Object.fromEntries(
    weights.map((weight, j) => {
      const ofClass = model.numClasses ? ` of class ${Math.floor(j / names.length)}` : '';
      return [`weight ${names[j % names.length]}${ofClass}`, weight];
    }),
  );
  const facts = {
    loss,
    examples: `${numExamples} of a horizon of ${certificate.numSteps * batchSize}`,
    ...(numWaiting > 0 && { 'in a batch that is not full, and not in the weights': numWaiting }),
    private: model.private ? 'yes' : 'NO',
    epsilon: certificate.epsilon,
    delta: certificate.delta,
    neighbours: certificate.neighbours,
    protects: model.protects,
    'gradients clipped to': certificate.clipNorm,
    regularisation: lambda,
    'bound on the expected regret': regretBound,
    ...(nonprivate && {
      'progressive loss (NOT private)': nonprivate.progressiveLoss,
      'loss of predicting 0 (NOT private)': nonprivate.zeroLoss,
      ...(nonprivate.progressiveAccuracy !== null && {
        'progressive accuracy (NOT private)': nonprivate.progressiveAccuracy,
      }),
      ...(nonprivate.twin && {
        'loss of the twin without noise (NOT private)': nonprivate.twin.progressiveLoss,
      }),
      ...(nonprivate.regret !== undefined && regretFacts(nonprivate.regret, how)),
      ...(nonprivate.heldOutLoss && {
        'held-out loss of the average (NOT private)': nonprivate.heldOutLoss.average,
        'held-out loss of the last (NOT private)': nonprivate.heldOutLoss.last,
      }),
    }),
    ...rows,
  };
  return report(facts, false, Object.fromEntries(Object.keys(facts).map((key) => [key, key])));
}

function warn(text: string): void {
  process.stderr.write(`dp-ftrl learn: warning: ${text}\n`);
}

/** Reads the columns of the table, what is known of the features, and the horizon. */
async function readProblem(
  args: Args,
  { label, target, passes, given }: {
    label: string;
    target: Labelled & { batchSize: number };
    passes: number;
    given: number | undefined;
  },
) {
  const wanted = args.texts('column');
  if (wanted.includes(label)) throw new Misuse('the label cannot be a feature as well');
  const columns = wanted.length === 0 ? [] : [...wanted, label];
  const rows = await RowStream.open(args.files, { columns, texts: [] });
  if (!rows.columns.includes(label)) {
    throw new Misuse(`there is no column ${JSON.stringify(label)}`);
  }
  const examples = new Examples(rows.columns, label);
  const inputs = readInputs(args, examples.features);
  const fromData = args.has('ranges-from-data');
  const known = given !== undefined && passes === 1;
  const digest = undefined;
  if (known && !fromData) return { rows, examples, inputs, numSteps: given, digest };
  const seen = await survey(rows, examples, { inputs, fromData, target });
  const { batchSize } = target;
  const numSteps = passes * Math.ceil(seen.numRows / batchSize);
  if (!known && given !== undefined && given !== numSteps) {
    const each = batchSize === 1 ? '' : ` in batches of ${batchSize}`;
    const what = `${passes} passes over ${seen.numRows} rows${each} have ${numSteps} steps`;
    throw new Misuse(`${what}, not ${given}`);
  }
  return { ...seen, rows, examples, numSteps: known ? given : numSteps };
}

/** Makes one pass after the other, each over the same rows. */
async function learnAll(
  learning: Learning,
  { rows, passes, digest, report, interruption }: {
    rows: RowStream;
    passes: number;
    /** Digest of the rows as they were before, where there is more than one pass. */
    digest: string | undefined;
    report: () => void;
    /** With --state, where a batch that is not full goes on in the next run. */
    interruption: Interruption | undefined;
  },
): Promise<void> {
  const { learner, hindsight } = learning;
  for (let pass = 1; pass <= passes; ++pass) {
    if (pass > 1) await rows.rewind();
    const hash = new RowsHash();
    const batches = rows.rows();
    for await (const batch of interruption?.of(batches) ?? batches) {
      if (passes > 1) hash.see(batch);
      if (batch.numRows > 0) await learnFrom(learning, batch, pass === 1);
      if (batch.fault) throw batch.fault;
      report();
      interruption?.check();
    }
    if (!interruption && learner.numWaiting > 0) {
      await learner.endBatch();
      hindsight?.endBatch();
    }
    // Another row in the place of one is another person's.
    if (passes > 1 && hash.digest() !== digest) {
      throw new Misuse(`the rows of pass ${pass} are not those that were read before`);
    }
  }
}

/**
 * Tells how many features are not scaled: large ones leave little of the others when gradients are
 * clipped.
 */
function unscaledText(inputs: readonly ModelInput[]): string {
  const { length } = inputs.filter(({ low }) => low === undefined);
  return length === 0 ? '' : `; ${length} of ${inputs.length} features used as they are (see --range)`;
}

/** Writes everything that has to be said before the first row is read. */
function announce(
  { seed, showTrue, quiet }: Settings,
  { fromData, sentence }: { fromData: boolean; sentence: string },
): void {
  if (seed !== undefined) warn('--seed makes the noise known to anyone: NOT private');
  if (fromData) warn('--ranges-from-data reads the ranges off the data: NOT private');
  if (showTrue) warn('--show-nonprivate adds losses on the data: NOT private');
  if (!quiet && seed === undefined && !showTrue) {
    process.stderr.write(`dp-ftrl learn: ${sentence}\n`);
  }
}

interface Made {
  learner: Learner | LearnerLedger;
  examples: Examples;
  inputs: readonly ModelInput[];
  /** Present for a learner of several runs. */
  state?: LearnerState;
  close(): Promise<void>;
}

/**
 * Makes a learner of this run alone, or one that goes on, with columns in the order of its first
 * run.
 */
async function makeLearner(
  dp: DpFtrl,
  settings: Settings,
  { how, chosen, problem }: {
    how: LearnerOptions;
    chosen: Chosen;
    problem: { rows: RowStream; examples: Examples; inputs: readonly ModelInput[] };
  },
): Promise<Made> {
  const { rows, examples, inputs } = problem;
  const { state: file, label } = settings;
  if (!file) {
    const learner = dp.learner(how);
    return { learner, examples, inputs, close: () => Promise.resolve(learner.dispose()) };
  }
  const options = optionsOf(how, { ...settings, chosen });
  const wanted = { options, columns: rows.columns, inputs };
  const state = await LearnerState.open(dp, file, { how, wanted });
  rows.arrange(state.columns);
  return {
    learner: state.learner,
    examples: new Examples(state.columns, label),
    inputs: state.inputs,
    state,
    close: () => state.close(),
  };
}

/** Returns the model as it is now, with what is told of it. */
async function modelOf(
  dp: DpFtrl,
  settings: Settings,
  { learner, inputs, hindsight, protects }: Pick<Learning, 'learner' | 'inputs' | 'hindsight'> & {
    protects: string;
  },
): Promise<LearnedModel> {
  const { intercept, seed, showTrue, label, test: file } = settings;
  const model: LearnedModel = {
    ...(await learner.model()),
    inputs: [...inputs],
    intercept,
    private: seed === undefined && !showTrue,
    protects,
  };
  if (!hindsight) return model;
  const heldOutLoss =
    file === undefined ? undefined : await heldOut(dp, { learner, model, label, file });
  const nonprivate = { ...hindsight.result(), ...(heldOutLoss && { heldOutLoss }) };
  return { ...model, nonprivate };
}

export async function run(args: Args): Promise<void> {
  const settings = readSettings(args);
  const { target, label, intercept, passes, seed, showTrue, quiet } = settings;
  const path = args.text('model');
  const dp = await load();
  const chosen = await readChosen(args, dp.mechanisms());
  const participation = readPattern(args, chosen, { batchSize: target.batchSize, passes });
  await requireWritable(path, 'model');
  const given = stepsOf(args, chosen);
  const problem = await readProblem(args, { label, target, passes, given });
  const { rows, numSteps, digest } = problem;
  const { lambda: mechanismLambda, ...parameters } = chosen.parameters;
  const how = {
    ...parameters,
    ...(mechanismLambda !== undefined && { mechanismLambda }),
    ...target,
    participation,
    mechanism: chosen.mechanism,
    numSteps,
    dimension: problem.inputs.length + Number(intercept),
    ...(seed !== undefined && { insecureSeed: seed }),
  };
  const { name } = chosen;
  // With --state the mechanism keeps the name with which the state was begun.
  const isSearched = settings.state === undefined && !quiet;
  const progressLine = new ProgressLine(`learn: ${name}`);
  const found = isSearched ? await watch(foundFirst(dp, how), progressLine) : how;
  const made = await makeLearner(dp, settings, { how: found, chosen, problem });
  const { learner, state } = made;
  const learning: Learning = { ...made, numLearned: 0, numInDoubt: 0, step: learner.step };
  const interruption = state && new Interruption();
  const progress = new StepProgress(numSteps, { quiet });
  let failure: unknown;
  try {
    const numRows = (numSteps / passes) * target.batchSize;
    if (showTrue) learning.hindsight = new Hindsight(dp, learner, { how: found, numRows });
    const { mu, rho, epsilon, delta, neighbours } = learner.certificate;
    const whom = protection({
      participation: passes > 1 ? 'single' : participation,
      people: undefined,
      times: undefined,
      numSteps,
      instead: '--participations, a promise that is not checked',
      passes,
      batchSize: target.batchSize,
    });
    const costs = { mu, rho };
    const spending = { costs, epsilon, delta, neighbours, mechanism: name, numSteps };
    const all = { ...spending, columns: rows.columns, unit: whom.unit };
    // Later runs must recognise what was paid for once, even if this run learns from nothing.
    await settings.budget?.spend(dp, all, state);
    const spoken = { name, mode: settings.mode, whom, what: 'its gradient ' };
    const sentence = `${guarantee(learner.certificate, spoken)}${unscaledText(made.inputs)}`;
    announce(settings, { fromData: args.has('ranges-from-data'), sentence });
    const report = () => progress.report(learner.step);
    await learnAll(learning, { rows, passes, digest, report, interruption });
    progress.end();
    // A crash may leave the budget ahead of what was shown, never behind.
    await settings.budget?.reached(learning.step);
    const model = await modelOf(dp, settings, { ...learning, protects: whom.unit });
    const json = `${JSON.stringify(model)}\n`;
    const isGuarded = state !== undefined;
    if (path !== undefined) await writeFile(path, json, { option: 'model', isGuarded });
    const readable = () => {
      const regretBound = regretBoundText(dp, model, { how: found, learner });
      return describe(model, { learner, how: found, regretBound });
    };
    await new StandardOutput().write(args.has('json') ? json : readable());
  } catch (error) {
    progress.end();
    failure = error;
  }
  interruption?.end();
  learning.hindsight?.dispose();
  const finish = () => settings.budget?.finish(learning.step);
  failure = await ended(failure, [finish, made.close]);
  if (failure !== undefined) throw state ? withRows(failure, learning) : failure;
}
