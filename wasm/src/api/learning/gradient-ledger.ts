// SPDX-License-Identifier: Apache-2.0

// Learners of any model that outlive the process. The ledger keeps the private sums of gradients,
// from which alone the weights follow.

import { given } from '../../core/given.js';
import { DpError, makeError } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import type { GradientLearnerLedger } from '../../types/all.js';
import { readOptions } from '../options.js';
import { openLedger, type CoreReleaseLedger } from '../sums/ledger.js';
import { CLIPPING_LEARNER_OPTIONS, makeCourse, readGradients, readPlan } from './gradient-learner.js';
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
    return facts['learner'] === 1 && values.every(Number.isFinite) ? { facts, start: values } : undefined;
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

  constructor(
    private readonly ledger: CoreReleaseLedger,
    private readonly course: Course,
    { batchSize, rule }: GradientPlan,
  ) {
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
    return this.course.weights();
  }

  async update(gradients: ArrayLike<number>): Promise<Float64Array> {
    const values = readGradients('update', gradients, this.dimension);
    const result = this.last.then(() => this.take(values.slice()));
    this.last = result.catch(() => undefined);
    return result;
  }

  dispose(): void {
    this.ledger.dispose();
  }

  private async take(gradients: Float64Array): Promise<Float64Array> {
    const { step, numSteps } = this;
    // Checked first: otherwise a further step would be spent for nothing.
    this.course.requireFinite('update');
    if (step >= numSteps) {
      const constraint = `must be below the horizon ${numSteps}`;
      throw makeError('past_horizon', 'update', { parameter: 'step', constraint, value: String(step) });
    }
    return this.course.reach('update', await this.ledger.releaseSteps(step, [gradients]));
  }
}

/** Stores the plan before the first step, and replays the steps that the store holds. */
async function resumed(instance: Instance, ledger: CoreReleaseLedger, plan: GradientPlan) {
  const { memo, step } = ledger;
  if (memo === undefined && step === 0) await ledger.releaseSteps(0, [], packPlan(plan));
  const start = storedStart(ledger.memo ?? new Uint8Array(), plan);
  const course = makeCourse(instance.core, { ...plan, start }, ledger);
  for (let t = 0; t < step; ++t) course.reach(WHERE, ledger.released(t, 1));
  return new CoreGradientLearnerLedger(ledger, course, plan);
}

export async function makeGradientLearnerLedger(
  instance: Instance,
  options: unknown,
): Promise<GradientLearnerLedger> {
  const reader = readOptions(WHERE, options, [...CLIPPING_LEARNER_OPTIONS, 'store']);
  const plan = readPlan(reader, instance);
  const ledger = await openLedger(instance, reader, KIND);
  try {
    return await resumed(instance, ledger, plan);
  } catch (error) {
    ledger.dispose();
    throw error;
  }
}
