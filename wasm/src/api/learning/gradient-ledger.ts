// SPDX-License-Identifier: Apache-2.0

// Learners of any model that outlive the process. The ledger keeps the private sums of gradients,
// from which alone the weights follow.

import { requireCount } from '../../core/check.js';
import { given } from '../../core/given.js';
import { DpError, makeError, ofStep } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { GradientLearnerLedger } from '../../types/all.js';
import { readOptions } from '../options.js';
import { indexed, openLedger, type CoreReleaseLedger } from '../sums/ledger.js';
import { STORE_OPTIONS } from '../../stores/stored.js';
import {
  CLIPPING_LEARNER_OPTIONS,
  makeCourse,
  readGradients,
  readPlan,
} from './gradient-learner.js';
import type { Course, GradientPlan } from './gradient-learner.js';

const WHERE = 'gradientLearnerLedger';
const KIND = 'gradient learner';

/** Numbers and names from which the weights follow, besides the private sums and the start. */
type Facts = Readonly<Record<string, unknown>>;

function factsOf({ rule, batchSize, numbers }: GradientPlan): Facts {
  return given({ learner: 1, rule, batchSize, ...numbers });
}

/** Packs the facts as a line of JSON, then the weights at the start, 8 bytes each. */
function packPlan(plan: GradientPlan): Uint8Array {
  const text = new TextEncoder().encode(`${JSON.stringify(factsOf(plan))}\n`);
  const { buffer, byteOffset, byteLength } = plan.start;
  const bytes = new Uint8Array(text.length + byteLength);
  bytes.set(text);
  bytes.set(new Uint8Array(buffer, byteOffset, byteLength), text.length);
  return bytes;
}

/** Reads the memo of a store; undefined if it does not belong to a learner of this kind. */
function unpackPlan(memo: Uint8Array, dimension: number) {
  const end = memo.indexOf(0x0a);
  const start = memo.slice(end + 1);
  if (end < 0 || start.length !== 8 * dimension) return undefined;
  try {
    const facts = JSON.parse(new TextDecoder().decode(memo.subarray(0, end))) as Facts;
    const values = new Float64Array(start.buffer);
    return facts['learner'] === 1 && values.every(Number.isFinite)
      ? { facts, start: values }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the stored start. @throws if the store has a learner with other facts, or none. */
function storedStart(memo: Uint8Array, plan: GradientPlan): Float64Array {
  const stored = unpackPlan(memo, plan.dimension);
  if (stored === undefined) {
    const constraint = 'must hold a learner of any model';
    throw makeError('bad_state', WHERE, { parameter: 'store', constraint });
  }
  const own = factsOf(plan);
  const names = Object.keys({ ...stored.facts, ...own });
  const other = names.find((name) => stored.facts[name] !== own[name]);
  if (other !== undefined) {
    const constraint = `must be that of the store, ${JSON.stringify(stored.facts[other] ?? 'left out')}`;
    const value = String(own[other] ?? 'nothing');
    throw makeError('bad_state', WHERE, { parameter: other, constraint, value });
  }
  return stored.start;
}

/** A course, and the number of steps that it has taken. */
interface Weighed {
  readonly course: Course;
  step: number;
}

/** Takes a course up to a step of the ledger. */
function reached(weighed: Weighed, ledger: CoreReleaseLedger, end: number, where: string): Weighed {
  while (weighed.step < end) weighed.course.reach(where, ledger.released(weighed.step++, 1));
  return weighed;
}

/** Declares the facts, which the constructor copies unchanged. */
interface CoreGradientLearnerLedger
  extends Pick<
    GradientLearnerLedger,
    'certificate' | 'dimension' | 'numSteps' | 'batchSize' | 'rule' | 'grid' | 'insecure'
  > {}

class CoreGradientLearnerLedger implements GradientLearnerLedger {
  // Defined by the constructor where the symbol exists; not every browser has it yet.
  declare readonly [Symbol.dispose]: () => void;
  /** Chain of the updates, which run one after the other in the order of the calls. */
  private last: Promise<unknown> = Promise.resolve();
  private readonly weighed: Weighed;

  /** @param begin  returns the course before the first step. */
  constructor(
    private readonly ledger: CoreReleaseLedger,
    private readonly begin: () => Course,
    { batchSize, rule }: GradientPlan,
  ) {
    this.weighed = reached({ course: begin(), step: 0 }, ledger, ledger.step, WHERE);
    const { certificate, dimension, numSteps, grid, insecure } = ledger;
    Object.assign(this, { certificate, dimension, numSteps, batchSize, rule, grid, insecure });
    if (typeof Symbol.dispose === 'symbol') {
      Object.defineProperty(this, Symbol.dispose, { value: () => this.dispose() });
    }
  }

  get step(): number {
    return this.ledger.step;
  }

  get disposed(): boolean {
    return this.ledger.disposed;
  }

  weights(): Float64Array {
    if (this.disposed) throw new DpError('disposed', `this ${KIND} was disposed of`);
    return this.weighed.course.weights();
  }

  async update(
    ...args: [ArrayLike<number>] | [number | undefined, ArrayLike<number>]
  ): Promise<Float64Array> {
    const [step, gradients] = indexed<[unknown]>(args, args.length > 1);
    const values = readGradients('update', gradients, this.dimension);
    const result = this.last.then(() => this.take(step, values));
    this.last = result.catch(() => undefined);
    return result;
  }

  dispose(): void {
    this.ledger.dispose();
  }

  private async take(given: number | undefined, gradients: Float64Array): Promise<Float64Array> {
    const where = 'update';
    const { ledger, weighed, numSteps } = this;
    if (given !== undefined) requireCount(where, 'step', given, numSteps - 1);
    // Stores what an earlier update failed to store, and takes it into the weights.
    await ledger.releaseSteps([]).catch((error: unknown) => {
      throw ofStep(error, given);
    });
    reached(weighed, ledger, this.step, where);
    // Checked first: otherwise a further step would be spent for nothing.
    weighed.course.requireFinite(where);
    if (given !== undefined) requireCount(where, 'step', given, this.step);
    else if (this.step >= numSteps) {
      const constraint = `must be below the horizon ${numSteps}`;
      throw makeError('past_horizon', where, {
        parameter: 'step',
        constraint,
        value: String(this.step),
      });
    }
    const { firstStep } = await ledger.releaseSteps(given, [gradients]);
    reached(weighed, ledger, this.step, where);
    if (firstStep === this.step - 1) return this.weights();
    return reached(
      { course: this.begin(), step: 0 },
      ledger,
      firstStep + 1,
      where,
    ).course.weights();
  }
}

/** Stores the plan before the first step, and replays the steps that the store holds. */
async function resumed(instance: Instance, ledger: CoreReleaseLedger, plan: GradientPlan) {
  const { memo, step } = ledger;
  if (memo === undefined && step === 0) await ledger.releaseSteps(0, [], packPlan(plan));
  const start = storedStart(ledger.memo ?? new Uint8Array(), plan);
  const begin = () => makeCourse(instance.core, { ...plan, start }, ledger);
  return new CoreGradientLearnerLedger(ledger, begin, plan);
}

export async function makeGradientLearnerLedger(
  instance: Instance,
  options: unknown,
): Promise<GradientLearnerLedger> {
  const reader = readOptions(WHERE, options, [...CLIPPING_LEARNER_OPTIONS, ...STORE_OPTIONS]);
  const plan = readPlan(reader, instance);
  const ledger = await openLedger(instance, reader, KIND);
  try {
    return await resumed(instance, ledger, plan);
  } catch (error) {
    ledger.dispose();
    throw error;
  }
}
