// SPDX-License-Identifier: Apache-2.0

// Learners of any model: they turn gradients into private running sums, and the releases into
// weights.

import { float64s, outOfRange, requireFinite, type Reader } from '../../core/check.js';
import type { Core, CoreMechanism } from '../../core/core.js';
import { asErrorsOf, atRow, makeError, type Partway } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { withKey } from '../../core/key.js';
import type { Certificate, GradientLearner } from '../../types/all.js';
import { countRecords, MECHANISM_OPTIONS, readOptions, readPrefixMechanism } from '../options.js';
import { requireLength } from '../options.js';
import { adam, descent, ftrl, type UpdateRule } from './update-rule.js';

const WHERE = 'gradientLearner';
const RULES = ['ftrl', 'descent', 'adam'] as const;
const CLIPPING = ['here', 'by the caller'] as const;

type RuleName = (typeof RULES)[number];

/** Options of update rules, and the rules that have them. */
const OPTIONS_OF_RULES: Readonly<Record<string, readonly RuleName[]>> = {
  momentum: ['descent'],
  radius: ['ftrl', 'descent'],
  beta1: ['adam'],
  beta2: ['adam'],
  floor: ['adam'],
};
/** Options of learners that clip gradients themselves. */
export const CLIPPING_LEARNER_OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...Object.keys(OPTIONS_OF_RULES),
  ...['dimension', 'batchSize', 'start', 'rule', 'rate', 'grid', 'insecureSeed'],
];
const OPTIONS = [...CLIPPING_LEARNER_OPTIONS, 'clipping'];

type Facts = Pick<GradientLearner, 'dimension' | 'clipping' | 'batchSize' | 'rule' | 'insecure'>;

/** Facts of the noise in the sums. */
type Noise = Pick<GradientLearner, 'certificate' | 'grid'>;

type Made = Noise & { id: number };

/** Weights that are updated from one private sum of gradients to the next. */
export class Course {
  /** Sum of all private gradients. */
  private total: Float64Array;

  constructor(
    private readonly next: UpdateRule,
    private readonly current: Float64Array,
    private readonly batchSize: number,
  ) {
    this.total = new Float64Array(current.length);
  }

  weights(): Float64Array {
    return this.current.slice();
  }

  /** Updates the weights, given the private sum of all gradients. */
  reach(where: string, total: Float64Array): Float64Array {
    const before = this.total;
    this.total = total;
    return this.move(
      where,
      total.map((sum, i) => sum - before[i]!),
    );
  }

  /** Updates the weights, given the private sum of the gradients of a step. */
  advance(where: string, increment: Float64Array): Float64Array {
    this.total = this.total.map((all, i) => all + increment[i]!);
    return this.move(where, increment);
  }

  private move(where: string, increment: Float64Array): Float64Array {
    const mean = (x: number) => x / this.batchSize;
    this.next(this.current, { increment: increment.map(mean), total: this.total.map(mean) });
    this.requireFinite(where);
    return this.weights();
  }

  /** @throws if the weights are not finite any more. */
  requireFinite(where: string): void {
    if (this.current.every(Number.isFinite)) return;
    const constraint = 'the weights left the doubles: the rate is too large';
    throw makeError('bad_state', where, { constraint });
  }
}

/**
 * Checks all gradients first, because repeating a failed call would add those before a bad one
 * twice.
 */
export function readGradients(where: string, gradients: unknown, dimension: number): Float64Array {
  const values = float64s(where, 'gradients', gradients);
  countRecords(where, values, dimension, 'gradients');
  try {
    requireFinite(where, 'gradients', values);
  } catch (error) {
    throw Object.assign(error as Error, { contributed: 0 });
  }
  return values;
}

/** Declares the facts, which the constructor copies unchanged. */
interface CoreGradientLearner extends Facts {}

class CoreGradientLearner extends CoreHandle implements GradientLearner {
  readonly certificate: Certificate;
  readonly grid: number;
  private numUpdates = 0;

  constructor(
    instance: Instance,
    made: Made,
    facts: Facts,
    private readonly course: Course,
  ) {
    super(instance, made.id, 'gradient learner');
    const isPromised = facts.clipping === 'by the caller';
    const promise = isPromised && { clipping: 'by the caller' as const };
    this.certificate = Object.freeze({ ...made.certificate, ...promise });
    this.grid = made.grid;
    Object.assign(this, facts);
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.numUpdates;
  }

  weights(): Float64Array {
    return this.course.weights();
  }

  contribute(gradients: ArrayLike<number>): void {
    this.add('contribute', gradients);
  }

  update(gradients?: ArrayLike<number>): Float64Array {
    const where = 'update';
    if (this.clipping === 'here') {
      if (gradients !== undefined) this.add(where, gradients);
      const total = new Float64Array(this.dimension);
      try {
        asErrorsOf(where, () => this.core.call('prefixSumEndSteps', this.id, total));
      } catch (error) {
        // The gradients have been added; only the end of the step is missing.
        const contributed = (gradients?.length ?? 0) / this.dimension;
        throw Object.assign(error as Error, { contributed });
      }
      this.numUpdates += 1;
      return this.course.reach(where, total);
    }
    const sum = float64s(where, 'gradients', gradients);
    requireLength(where, 'gradients', sum.length, this.dimension);
    asErrorsOf(where, () => this.core.call('noiseAddTo', this.id, sum, this.numUpdates));
    this.numUpdates += 1;
    return this.course.advance(where, sum);
  }

  /** Clips gradients and adds them to the open batch. */
  private add(where: string, gradients: ArrayLike<number>): void {
    if (this.clipping !== 'here') {
      const constraint = 'must be given to update as a sum, where {clipping} is by the caller';
      throw makeError('unsupported', where, { parameter: 'gradients', constraint });
    }
    const values = readGradients(where, gradients, this.dimension);
    try {
      this.core.call('prefixSumContribute', this.id, values);
    } catch (error) {
      const records = { kind: 'record', width: this.dimension } as const;
      const refused = atRow(error as Partway, where, records);
      throw refused.row ? Object.assign(refused, { contributed: refused.row.index }) : refused;
    }
  }
}

function readPositive(reader: Reader, name: string): number {
  const value = reader.number(name);
  if (value > 0 && Number.isFinite(value)) return value;
  throw outOfRange(reader.where, name, 'positive and finite', value);
}

function optionalPositive(reader: Reader, name: string): number | undefined {
  return reader.has(name) ? readPositive(reader, name) : undefined;
}

/** Reads a number from 0 to below 1. */
function readShare(reader: Reader, name: string, fallback: number): number {
  const value = reader.numberOr(name, fallback);
  if (value >= 0 && value < 1) return value;
  throw outOfRange(reader.where, name, 'at least 0 and below 1', value);
}

function readStart(reader: Reader, dimension: number): Float64Array {
  if (!reader.has('start')) return new Float64Array(dimension);
  const { where } = reader;
  const start = float64s(where, 'start', reader.raw('start')).slice();
  requireLength(where, 'start', start.length, dimension);
  requireFinite(where, 'start', start);
  return start;
}

/** Numbers of an update rule, including the rate. */
type RuleNumbers = Readonly<Record<string, number | undefined>>;

function readRuleNumbers(reader: Reader, rule: RuleName): RuleNumbers {
  for (const [name, rules] of Object.entries(OPTIONS_OF_RULES)) {
    if (reader.has(name) && !rules.includes(rule)) {
      const wanted = `left out with the rule '${rule}'`;
      throw outOfRange(reader.where, name, wanted, reader.raw(name));
    }
  }
  const rate = readPositive(reader, 'rate');
  if (rule === 'adam') {
    const [beta1, beta2] = [readShare(reader, 'beta1', 0.9), readShare(reader, 'beta2', 0.999)];
    return { rate, beta1, beta2, floor: optionalPositive(reader, 'floor') };
  }
  const radius = optionalPositive(reader, 'radius');
  return rule === 'ftrl'
    ? { rate, radius }
    : { rate, radius, momentum: readShare(reader, 'momentum', 0) };
}

/** A learner of any model, without its sums and their noise. */
export interface GradientPlan {
  mechanism: CoreMechanism;
  dimension: number;
  batchSize: number;
  rule: RuleName;
  numbers: RuleNumbers;
  start: Float64Array;
}

export function readPlan(reader: Reader, { mechanisms }: Instance): GradientPlan {
  const mechanism = readPrefixMechanism(reader, mechanisms);
  const dimension = reader.countOr('dimension', 1);
  if (dimension < 1) throw outOfRange(reader.where, 'dimension', 'at least 1', dimension);
  const batchSize = reader.countOr('batchSize', 1);
  if (batchSize < 1) throw outOfRange(reader.where, 'batchSize', 'at least 1', batchSize);
  const rule = reader.oneOfOr('rule', RULES, 'descent');
  const start = readStart(reader, dimension);
  return { mechanism, dimension, batchSize, rule, numbers: readRuleNumbers(reader, rule), start };
}

/** Returns the variance of the noise in one coordinate of each step's gradient. */
function variancesOf(core: Core, { mechanism, batchSize }: GradientPlan, noise: Noise) {
  const unit = core.call('gradientVariances', mechanism);
  const scale = (noise.certificate.noiseStddev / batchSize) ** 2;
  // Two successive totals are rounded to the grid, each separately.
  const rounding = (noise.grid / batchSize) ** 2 / 6;
  return unit.map((variance) => scale * variance + rounding);
}

/** Makes the course of the weights from their start. */
export function makeCourse(core: Core, plan: GradientPlan, noise: Noise): Course {
  const { rule, start, batchSize, numbers } = plan;
  const { rate = NaN, momentum = 0, beta1 = NaN, beta2 = NaN, floor, radius } = numbers;
  const ball = { start, radius };
  const next = {
    ftrl: () => ftrl(rate, ball),
    descent: () => descent(rate, momentum, ball),
    adam: () => {
      const variances = variancesOf(core, plan, noise);
      return adam({ rate, beta1, beta2, floor, variances }, start.length);
    },
  };
  return new Course(next[rule](), start.slice(), batchSize);
}

export function makeGradientLearner(instance: Instance, options: unknown): GradientLearner {
  const { core } = instance;
  const reader = readOptions(WHERE, options, OPTIONS);
  const clipping = reader.oneOfOr('clipping', CLIPPING, 'here');
  const plan = readPlan(reader, instance);
  const { mechanism, dimension, batchSize, rule } = plan;
  const complete = {
    ...mechanism,
    dimension,
    mode: 'grid' as const,
    latticeNoise: 'discrete-gaussian' as const,
    precisionBits: undefined,
    firstCoordinate: 0,
    increments: true,
    grid: reader.numberOr('grid', undefined),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  const facts = {
    dimension,
    clipping,
    batchSize,
    rule,
    insecure: complete.insecureSeed !== undefined,
  };
  return asErrorsOf(WHERE, () =>
    withKey(WHERE, complete, (given) => {
      const kind = clipping === 'here' ? 'prefixSumCreate' : 'noiseCreate';
      const made = core.call(kind, given) as Made;
      try {
        return new CoreGradientLearner(instance, made, facts, makeCourse(core, plan, made));
      } catch (error) {
        core.call('dispose', made.id);
        throw error;
      }
    }),
  );
}
