// SPDX-License-Identifier: Apache-2.0

/**
 * Private training of TensorFlow.js models. The caller passes TensorFlow.js; it is not imported
 * here.
 */

import { optionsObject, wrongType, type Fields } from './core/check.js';
import { asErrorsOf, makeError } from './core/errors.js';
import type { Certificate, DpFtrl, Handle } from './types/all.js';
import type { GradientLearner, GradientLearnerOptions } from './types/streams/gradient-learner.js';
import type { PrivacyTarget, Row } from './types/streams/options.js';
import type { Weights as Reading } from './types/streams/readings.js';
import type { Stream } from './types/streams/stream.js';

/** The part of a TensorFlow.js tensor that is used. */
export interface TfTensor {
  readonly shape: number[];
  readonly size: number;
  readonly dtype: string;
  /** Changes whenever a variable is assigned to. */
  readonly dataId: object;
  dataSync(): unknown;
}

/** The part of a TensorFlow.js variable that is used. */
export interface TfVariable extends TfTensor {
  readonly name: string;
  readonly trainable: boolean;
  assign(value: never): void;
  dispose(): void;
}

/** The part of a TensorFlow.js layer that is used; models and wrappers contain other layers. */
export interface TfLayer {
  readonly stateful?: boolean;
  readonly layer?: TfLayer;
  readonly layers?: readonly TfLayer[];
}

/** The part of a TensorFlow.js layered model that is used. */
export interface TfModel extends TfLayer {
  readonly trainableWeights: readonly { read(): TfTensor }[];
  /** All weights: trainable weights and others, such as moving averages. */
  readonly weights: readonly { read(): TfTensor }[];
}

/** The part of TensorFlow.js that is used: the namespace of `@tensorflow/tfjs` or its `-core`. */
export interface TensorFlow<Tensor extends TfTensor> {
  tidy(act: () => void): unknown;
  engine(): { readonly registeredVariables: Readonly<Record<string, TfVariable>> };
  memory(): { numTensors: number };
  clone(tensor: never): Tensor;
  slice(tensor: never, begin: number[], size: number[]): unknown;
  tensor(values: Float32Array, shape: number[]): Tensor;
  variableGrads(loss: () => never, variables: never): { grads: Record<string, TfTensor> };
}

/**
 * The parameters to train: the trainable weights of a layered model, or variables. Their initial
 * values must not depend on the data.
 */
export type TfTrained =
  | { model: TfModel; variables?: undefined }
  | { variables: readonly TfVariable[]; model?: undefined };

/**
 * Options of `privateOptimizer`: the options of a `gradientLearner` that is in memory and protects
 * records, and the parameters to train.
 */
export type TfOptimizerOptions = TfTrained &
  PrivacyTarget &
  Omit<
    GradientLearnerOptions,
    'dimension' | 'start' | 'clippedTo' | 'numericNames' | 'durable' | 'about' | 'mustExist'
  >;

/** Loss of one example, a scalar, from tensors that have one row each. */
export type TfLoss<Tensor> = (...example: Tensor[]) => Tensor;

/**
 * An optimizer with a privacy target. The variables are computed from private sums of clipped
 * gradients, so they, and everything computed from them, have the guarantee that `certificate`
 * states. The loss of a batch is not private and therefore not returned.
 *
 * This holds if the loss of an example depends on that example and the variables alone, and each
 * person has at most as many examples as `participation` allows, at most one per batch. The
 * optimizer refuses a loss that assigns to variables (batch normalisation in training mode),
 * creates variables or leaks tensors; a `model` with stateful layers; and a `model` if other code
 * assigned to any of its weights between two steps. It does not detect a loss that remembers
 * examples elsewhere, a loss that writes into the memory of a tensor or, if `variables` are given,
 * a loss that uses other variables that depend on data.
 */
export interface TfOptimizer<Tensor extends TfTensor> extends Handle {
  readonly certificate: Certificate;
  /** The horizon. */
  readonly steps: number;
  /** Steps made so far. */
  readonly step: number;
  /**
   * True if a fixed seed was given: the variables are NOT private, whatever the certificate says.
   */
  readonly insecure: boolean;
  /**
   * Computes the gradient of each example separately, clips it to `clip` in the l2-norm over all
   * variables, and updates the variables by the noisy sum. A refused call changes nothing, unless
   * the rate is too large: the batch is then spent. If memory for the noise ran out, the batch has
   * been added, and the next call ends its step, ignoring the batch it is given.
   * @param batch tensors with one row for each example, all with the same number of rows; any
   * number is accepted, as the sum is always divided by `batchSize`
   */
  minimize(lossOf: TfLoss<Tensor>, ...batch: Tensor[]): void;
  /**
   * Adds examples to the batch that `minimize` ends, for batches that do not fit in memory at once:
   * each example needs 4 bytes per weight. Does not update the variables.
   */
  add(lossOf: TfLoss<Tensor>, ...batch: Tensor[]): void;
}

type TensorLearner = Stream<[gradient: Row], Reading> & GradientLearner;
type OptimizerMethod = 'minimize' | 'add';

const WHERE = 'privateOptimizer';
/** Options of `gradientLearner` that the optimizer sets itself. */
const OWN = ['dimension', 'start', 'clippedTo'];
/**
 * Options of streams that the optimizer cannot use: its records name no persons, and its calls
 * return no promises.
 */
const UNUSED = ['people', 'store'];

const isLength = (length: unknown) => Number.isSafeInteger(length) && (length as number) >= 0;

/** @throws TypeError unless all tensors have a row for each example. */
function numRowsOf(where: OptimizerMethod, batch: readonly TfTensor[]): number {
  const wanted = 'tensors with a row for each example';
  if (batch.length === 0) throw wrongType(where, 'batch', wanted, undefined);
  batch.forEach((tensor, i) => {
    const shape: unknown = tensor?.shape;
    if (!Array.isArray(shape) || shape.length === 0 || !shape.every(isLength)) {
      throw wrongType(where, `batch[${i}]`, 'a tensor with a row for each example', tensor);
    }
  });
  const [numRows, ...others] = batch.map(({ shape }) => shape[0]!);
  const odd = others.findIndex((other) => other !== numRows);
  if (odd < 0) return numRows!;
  const constraint = `must have as many rows as the first, ${numRows}`;
  const about = { parameter: `batch[${odd + 1}]`, constraint, value: String(others[odd]) };
  throw makeError('wrong_length', where, about);
}

/** @throws TypeError unless a loss is a scalar. */
function scalarOf<Tensor extends TfTensor>(where: OptimizerMethod, loss: Tensor): Tensor {
  const isScalar = Array.isArray(loss?.shape) && loss.shape.length === 0;
  if (!isScalar) throw wrongType(where, 'lossOf', 'a function that returns a scalar tensor', loss);
  return loss;
}

/**
 * A snapshot of all variables before a loss is computed. A value that the loss leaves in a
 * variable, such as the moving average of a normalising layer, would get no noise.
 */
class Watch {
  private readonly seen: { variable: TfVariable; dataId: object; copy: unknown }[];

  constructor(private readonly tf: TensorFlow<TfTensor>) {
    const variables = Object.values(tf.engine().registeredVariables);
    this.seen = variables.map((variable) => {
      return { variable, dataId: variable.dataId, copy: tf.clone(variable as never) };
    });
  }

  /**
   * Runs `act`. @throws if it changed a variable, whose value is then restored, or kept a tensor.
   */
  during(where: OptimizerMethod, act: () => void): void {
    const { numTensors } = this.tf.memory();
    try {
      this.tf.tidy(act);
    } finally {
      this.restore(where);
    }
    if (this.tf.memory().numTensors === numTensors) return;
    const constraint = 'must depend on its example alone, but keeps tensors';
    throw makeError('unsupported', where, { parameter: 'lossOf', constraint });
  }

  private restore(where: OptimizerMethod): void {
    const changed = this.seen.filter(({ variable, dataId }) => variable.dataId !== dataId);
    for (const it of changed) {
      it.variable.assign(it.copy as never);
      it.dataId = it.variable.dataId;
    }
    const known = new Set(this.seen.map(({ variable }) => variable));
    const all = Object.values(this.tf.engine().registeredVariables);
    const made = all.filter((variable) => !known.has(variable));
    for (const variable of made) variable.dispose();
    if (changed.length + made.length === 0) return;
    const namesOf = (variables: TfVariable[]) => variables.map(({ name }) => name).join(', ');
    const constraint =
      made.length > 0
        ? `must make no variable, but made ${namesOf(made)}`
        : `must change no variable, but changed ${namesOf(changed.map(({ variable }) => variable))}`;
    throw makeError('unsupported', where, { parameter: 'lossOf', constraint });
  }
}

/** The variables as one array of weights, concatenated in the order of the learner. */
class VariableWeights {
  readonly size: number;
  /** The `dataId` of each watched variable after the last assignment made here. */
  private dataIds: object[];
  private readonly watched: readonly TfVariable[];

  constructor(
    private readonly tf: TensorFlow<TfTensor>,
    private readonly variables: readonly TfVariable[],
    others: readonly TfVariable[],
  ) {
    this.size = variables.reduce((sum, { size }) => sum + size, 0);
    this.watched = [...new Set([...variables, ...others])];
    this.dataIds = this.watched.map(({ dataId }) => dataId);
  }

  read(): Float64Array {
    const values = new Float64Array(this.size);
    this.forEach((variable, place) => values.set(variable.dataSync() as Float32Array, place));
    return values;
  }

  /**
   * @throws if other code has assigned to a variable since the last assignment made here: gradients
   *   at values that depend on the data without noise are not private, however they are clipped.
   */
  requireUnchanged(where: OptimizerMethod): void {
    const other = this.watched.find(({ dataId }, i) => dataId !== this.dataIds[i]);
    if (other === undefined) return;
    const constraint = `variable ${other.name} was changed by others: make a new optimizer`;
    throw makeError('bad_state', where, { constraint });
  }

  /** Writes the gradient of a loss; zeros for variables that it does not depend on. */
  writeGradient(where: OptimizerMethod, out: Float32Array, row: number, loss: () => unknown): void {
    const { grads } = this.tf.variableGrads(loss as never, this.variables as never);
    this.forEach(({ name }, place) => {
      const gradient = grads[name]?.dataSync() as Float32Array | undefined;
      const bad = gradient?.find((x) => !Number.isFinite(x));
      if (bad !== undefined) {
        const constraint = `must have a finite gradient by variable ${name}`;
        const about = { parameter: 'lossOf', constraint, value: String(bad) };
        const example = { kind: 'example', index: row } as const;
        throw makeError('invalid_argument', where, { row: example, ...about });
      }
      if (gradient) out.set(gradient, place);
    });
  }

  assign(where: OptimizerMethod, weights: Float64Array): void {
    const values = Float32Array.from(weights);
    if (!values.every(Number.isFinite)) {
      const constraint = 'the weights left single precision: the rate is too large';
      throw makeError('bad_state', where, { constraint });
    }
    this.tf.tidy(() => {
      this.forEach((variable, place) => {
        const own = values.slice(place, place + variable.size);
        variable.assign(this.tf.tensor(own, variable.shape) as never);
      });
    });
    this.dataIds = this.watched.map(({ dataId }) => dataId);
  }

  private forEach(use: (variable: TfVariable, place: number) => void): void {
    let place = 0;
    for (const variable of this.variables) {
      use(variable, place);
      place += variable.size;
    }
  }
}

class PrivateOptimizer<Tensor extends TfTensor> implements TfOptimizer<Tensor> {
  // Defined by the constructor where the symbol exists; not every browser has it yet.
  declare readonly [Symbol.dispose]: () => void;
  /** True if the batch of a call was added, but the call could not end the step. */
  private isBatchIn = false;

  constructor(
    private readonly tf: TensorFlow<Tensor>,
    private readonly learner: TensorLearner,
    private readonly weights: VariableWeights,
  ) {
    if (typeof Symbol.dispose === 'symbol') {
      Object.defineProperty(this, Symbol.dispose, { value: () => this.dispose() });
    }
  }

  get certificate() {
    return this.learner.certificate;
  }

  get steps(): number {
    return this.learner.steps;
  }

  get step(): number {
    return this.learner.step;
  }

  get insecure(): boolean {
    return this.learner.insecure;
  }

  get disposed(): boolean {
    return this.learner.disposed;
  }

  dispose(): void {
    this.learner.dispose();
  }

  add(lossOf: TfLoss<Tensor>, ...batch: Tensor[]): void {
    this.take('add', lossOf, batch);
  }

  minimize(lossOf: TfLoss<Tensor>, ...batch: Tensor[]): void {
    const where = 'minimize';
    if (!this.isBatchIn) this.take(where, lossOf, batch);
    const { step } = this;
    try {
      this.weights.assign(where, asErrorsOf(where, () => this.learner.end()).weights);
    } finally {
      this.isBatchIn = this.step === step;
    }
  }

  private take(where: OptimizerMethod, lossOf: TfLoss<Tensor>, batch: readonly Tensor[]): void {
    this.requireOpen(where);
    if (typeof lossOf !== 'function') throw wrongType(where, 'lossOf', 'a function', lossOf);
    const { size } = this.weights;
    // Compute all gradients first: a gradient cannot be removed once it is in the batch.
    const gradients = this.gradientsOf(where, lossOf, batch, numRowsOf(where, batch));
    for (let place = 0; place < gradients.length; place += size) {
      const gradient = gradients.subarray(place, place + size);
      asErrorsOf(where, () => this.learner.add(gradient));
    }
  }

  private requireOpen(where: OptimizerMethod): void {
    asErrorsOf(where, () => this.learner.addMany([])); // Throws if the learner was disposed of.
    const { step, steps } = this;
    if (step >= steps) {
      const constraint = `must be below the horizon ${steps}`;
      throw makeError('past_horizon', where, {
        parameter: 'step',
        constraint,
        value: String(step),
      });
    }
    this.weights.requireUnchanged(where);
  }

  private gradientsOf(
    where: OptimizerMethod,
    lossOf: TfLoss<Tensor>,
    batch: readonly Tensor[],
    numRows: number,
  ): Float32Array {
    const { size } = this.weights;
    const gradients = new Float32Array(numRows * size);
    this.tf.tidy(() => {
      const watch = new Watch(this.tf);
      for (let row = 0; row < numRows; ++row) {
        const out = gradients.subarray(row * size, (row + 1) * size);
        watch.during(where, () => {
          const example = batch.map((tensor) => this.rowOf(tensor, row));
          this.weights.writeGradient(where, out, row, () => scalarOf(where, lossOf(...example)));
        });
      }
    });
    return gradients;
  }

  /** Row `row` of a tensor, as a batch of one row. */
  private rowOf(tensor: Tensor, row: number): Tensor {
    const rest = tensor.shape.slice(1);
    const begin = [row, ...rest.map(() => 0)];
    return this.tf.slice(tensor as never, begin, [1, ...rest]) as Tensor;
  }
}

function keepsState({ stateful, layer, layers = [] }: TfLayer): boolean {
  return stateful === true || [...layers, ...(layer ? [layer] : [])].some(keepsState);
}

function variablesOf(model: TfModel): { variables: unknown; others: TfVariable[] } {
  const isWeight = (weight: { read?: unknown } | null) => typeof weight?.read === 'function';
  const areWeights = (weights: unknown) => Array.isArray(weights) && weights.every(isWeight);
  const areThere = areWeights(model?.trainableWeights) && areWeights(model.weights);
  if (!areThere || model.trainableWeights.length === 0) {
    throw wrongType(WHERE, 'model', 'a built model of TensorFlow.js with weights to train', model);
  }
  if (keepsState(model)) {
    const constraint = 'must have no stateful layer, which goes from one example to the next';
    throw makeError('unsupported', WHERE, { parameter: 'model', constraint });
  }
  const valuesOf = (weights: TfModel['weights']) => weights.map((weight) => weight.read());
  return {
    variables: valuesOf(model.trainableWeights),
    others: valuesOf(model.weights) as TfVariable[],
  };
}

/** @throws TypeError unless these are trainable variables without repetition. */
function checkedVariables(variables: unknown): TfVariable[] {
  if (!Array.isArray(variables) || variables.length === 0) {
    throw wrongType(WHERE, 'variables', 'an array of variables of TensorFlow.js', variables);
  }
  variables.forEach((variable, i) => {
    const fits = typeof variable?.assign === 'function' && variable.dtype === 'float32';
    if (!fits || variable.trainable !== true) {
      const wanted = 'a trainable variable of TensorFlow.js with numbers of type float32';
      throw wrongType(WHERE, `variables[${i}]`, wanted, variable);
    }
    if (variables.indexOf(variable) !== i) {
      const parameter = `variables[${i}]`;
      throw makeError('wrong_type', WHERE, { parameter, constraint: 'must not be there twice' });
    }
  });
  return [...variables] as TfVariable[];
}

interface OptimizerOptions {
  variables: TfVariable[];
  /** Variables that are not trained and must not change. */
  fixed: TfVariable[];
  others: Fields;
}

function readOptions(options: unknown): OptimizerOptions {
  const known = typeof options === 'object' && options !== null ? Object.keys(options) : [];
  const { model, variables, ...others } = optionsObject(WHERE, options, known);
  const own = OWN.find((name) => name in others);
  if (own !== undefined) {
    const constraint =
      'must be left out: it follows from what learns, and gradients are clipped here';
    throw makeError('wrong_type', WHERE, { parameter: own, constraint });
  }
  const unused = UNUSED.find((name) => name in others);
  if (unused !== undefined) {
    const constraint =
      'must be left out: with it, compute gradients yourself for a gradientLearner';
    throw makeError('unsupported', WHERE, { parameter: unused, constraint });
  }
  if (model === undefined) return { variables: checkedVariables(variables), fixed: [], others };
  if (variables !== undefined) {
    const constraint = 'must be left out where {model} is given';
    throw makeError('wrong_type', WHERE, { parameter: 'variables', constraint });
  }
  const found = variablesOf(model as TfModel);
  return { variables: checkedVariables(found.variables), fixed: found.others, others };
}

/**
 * Makes a private optimizer for variables of TensorFlow.js. It updates them by a rule of
 * `gradientLearner`, with the options of `gradientLearner`; dimension and start follow from the
 * variables.
 *
 * It does not work with `model.fit`, or with anything else that gives an optimizer only the mean
 * gradient of a batch: each gradient has to be clipped before the gradients are added.
 *
 * @param tf TensorFlow.js as the program imports it; a second copy would not know its tensors
 * @param dp the library, loaded from `dp-ftrl` or `dp-ftrl/external`
 * @throws as `gradientLearner` does, for values that are not trainable variables, and with code
 * 'unsupported' for a model with stateful layers.
 *
 * @example
 * ```js
 * import { load } from 'dp-ftrl';
 * import { privateOptimizer } from 'dp-ftrl/tfjs';
 *
 * const dp = await load();
 * console.log(typeof privateOptimizer, typeof dp.gradientLearner);
 * ```
 */
export function privateOptimizer<Tensor extends TfTensor>(
  tf: TensorFlow<Tensor>,
  dp: Pick<DpFtrl, 'gradientLearner'>,
  options: TfOptimizerOptions,
): TfOptimizer<Tensor> {
  const { variables, fixed, others } = readOptions(options);
  const weights = new VariableWeights(tf, variables, fixed);
  const all: Fields = { ...others, dimension: weights.size, start: weights.read() };
  const learner = asErrorsOf(WHERE, () => dp.gradientLearner(all as never)) as TensorLearner;
  return new PrivateOptimizer(tf, learner, weights);
}
