// SPDX-License-Identifier: Apache-2.0

// Learners of any model: gradients into private running sums, and their releases into weights.

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

/** Options of rules, and the rules that have them. */
const OPTIONS_OF_RULES: Readonly<Record<string, readonly RuleName[]>> = {
  momentum: ['descent'],
  radius: ['ftrl', 'descent'],
  beta1: ['adam'],
  beta2: ['adam'],
  floor: ['adam'],
};
const OPTIONS = [
  ...MECHANISM_OPTIONS,
  ...Object.keys(OPTIONS_OF_RULES),
  ...['dimension', 'clipping', 'batchSize', 'start', 'rule', 'rate', 'grid', 'insecureSeed'],
];

type Facts = Pick<
  GradientLearner,
  'dimension' | 'clipping' | 'batchSize' | 'rule' | 'insecure'
>;

interface Made {
  id: number;
  certificate: Certificate;
  grid: number;
}

/** The class has the facts, which its constructor takes over as they are. */
interface CoreGradientLearner extends Facts {}

class CoreGradientLearner extends CoreHandle implements GradientLearner {
  readonly certificate: Certificate;
  readonly grid: number;
  private numUpdates = 0;
  /** Sum of all private gradients. */
  private total: Float64Array;

  constructor(
    instance: Instance,
    made: Made,
    facts: Facts,
    private readonly next: UpdateRule,
    private readonly current: Float64Array,
  ) {
    super(instance, made.id, 'gradient learner');
    const isPromised = facts.clipping === 'by the caller';
    const promise = isPromised && { clipping: 'by the caller' as const };
    this.certificate = Object.freeze({ ...made.certificate, ...promise });
    this.grid = made.grid;
    Object.assign(this, facts);
    this.total = new Float64Array(facts.dimension);
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.numUpdates;
  }

  weights(): Float64Array {
    return this.current.slice();
  }

  contribute(gradients: ArrayLike<number>): void {
    this.add('contribute', gradients);
  }

  update(gradients?: ArrayLike<number>): Float64Array {
    const where = 'update';
    const before = this.total;
    const increment = new Float64Array(this.dimension);
    if (this.clipping === 'here') {
      if (gradients !== undefined) this.add(where, gradients);
      const total = new Float64Array(this.dimension);
      asErrorsOf(where, () => this.core.call('prefixSumEndSteps', this.id, total));
      total.forEach((sum, i) => (increment[i] = sum - before[i]!));
      this.total = total;
    } else {
      const sum = float64s(where, 'gradients', gradients);
      requireLength(where, 'gradients', sum.length, this.dimension);
      asErrorsOf(where, () => this.core.call('noiseAddTo', this.id, sum, this.numUpdates));
      increment.set(sum);
      this.total = before.map((all, i) => all + sum[i]!);
    }
    this.numUpdates += 1;
    const mean = (x: number) => x / this.batchSize;
    this.next(this.current, { increment: increment.map(mean), total: this.total.map(mean) });
    if (!this.current.every(Number.isFinite)) {
      const constraint = 'the weights left the doubles: the rate is too large';
      throw makeError('bad_state', where, { constraint });
    }
    return this.weights();
  }

  /** Looks at all gradients first: a call made again would add those before a bad one twice. */
  private requireFinite(where: string, values: Float64Array): void {
    const bad = values.findIndex((x) => !Number.isFinite(x));
    if (bad < 0) return;
    const row = { kind: 'record', index: Math.floor(bad / this.dimension) } as const;
    const parameter = `record[${bad % this.dimension}]`;
    const about = { row, parameter, constraint: 'must be finite', value: String(values[bad]) };
    throw Object.assign(makeError('invalid_argument', where, about), { contributed: 0 });
  }

  /** Adds gradients, each clipped, to the open batch. */
  private add(where: string, gradients: ArrayLike<number>): void {
    if (this.clipping !== 'here') {
      const constraint = 'must be given to update as a sum, where {clipping} is by the caller';
      throw makeError('unsupported', where, { parameter: 'gradients', constraint });
    }
    const values = float64s(where, 'gradients', gradients);
    countRecords(where, values, this.dimension);
    this.requireFinite(where, values);
    try {
      this.core.call('prefixSumContribute', this.id, values);
    } catch (error) {
      const records = { kind: 'record', width: this.dimension } as const;
      const refused = atRow(error as Partway, where, records);
      throw refused.row ? Object.assign(refused, { contributed: refused.row.index }) : refused;
    }
  }
}

/** A number below `most`, and above `least` or, where that is allowed, equal to it. */
function within(reader: Reader, name: string, fallback: number, closed: boolean): number {
  const value = reader.numberOr(name, fallback);
  const isIn = closed ? value >= 0 && value < 1 : value > 0 && Number.isFinite(value);
  if (isIn) return value;
  throw outOfRange(WHERE, name, closed ? 'at least 0 and below 1' : 'positive and finite', value);
}

function optionalPositive(reader: Reader, name: string): number | undefined {
  return reader.has(name) ? within(reader, name, NaN, false) : undefined;
}

function readStart(reader: Reader, dimension: number): Float64Array {
  if (!reader.has('start')) return new Float64Array(dimension);
  const start = float64s(WHERE, 'start', reader.raw('start')).slice();
  requireLength(WHERE, 'start', start.length, dimension);
  requireFinite(WHERE, 'start', start);
  return start;
}

/** Reads the rule; `variances` are those of the increments of each step, for Z of variance 1. */
function readRule(reader: Reader, rule: RuleName, start: Float64Array) {
  for (const [name, rules] of Object.entries(OPTIONS_OF_RULES)) {
    if (reader.has(name) && !rules.includes(rule)) {
      const wanted = `left out with the rule '${rule}'`;
      throw outOfRange(WHERE, name, wanted, reader.raw(name));
    }
  }
  const rate = within(reader, 'rate', NaN, false);
  if (rule === 'adam') {
    const [beta1, beta2] = [within(reader, 'beta1', 0.9, true), within(reader, 'beta2', 0.999, true)];
    const options = { rate, beta1, beta2, floor: optionalPositive(reader, 'floor') };
    return (variances: Float64Array) => adam({ ...options, variances }, start.length);
  }
  const ball = { start, radius: optionalPositive(reader, 'radius') };
  if (rule === 'ftrl') return () => ftrl(rate, ball);
  const momentum = within(reader, 'momentum', 0, true);
  return () => descent(rate, momentum, ball);
}

/** Variance of the noise of one coordinate of each step's gradient. */
function variancesOf(core: Core, mechanism: CoreMechanism, made: Made, batchSize: number) {
  const unit = core.call('gradientVariances', mechanism);
  const scale = (made.certificate.noiseStddev / batchSize) ** 2;
  // Two successive totals are rounded to the grid, each by itself.
  const rounding = (made.grid / batchSize) ** 2 / 6;
  return unit.map((variance) => scale * variance + rounding);
}

export function makeGradientLearner(instance: Instance, options: unknown): GradientLearner {
  const { core, mechanisms } = instance;
  const reader = readOptions(WHERE, options, OPTIONS);
  const mechanism = readPrefixMechanism(reader, mechanisms);
  const dimension = reader.countOr('dimension', 1);
  if (dimension < 1) throw outOfRange(WHERE, 'dimension', 'at least 1', dimension);
  const batchSize = reader.countOr('batchSize', 1);
  if (batchSize < 1) throw outOfRange(WHERE, 'batchSize', 'at least 1', batchSize);
  const clipping = reader.oneOfOr('clipping', CLIPPING, 'here');
  const rule = reader.oneOfOr('rule', RULES, 'descent');
  const start = readStart(reader, dimension);
  const ruleWith = readRule(reader, rule, start);
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
  const facts = { dimension, clipping, batchSize, rule, insecure: complete.insecureSeed !== undefined };
  return asErrorsOf(WHERE, () =>
    withKey(WHERE, complete, (given) => {
      const kind = clipping === 'here' ? 'prefixSumCreate' : 'noiseCreate';
      const made = core.call(kind, given) as Made;
      try {
        const isAdam = rule === 'adam';
        const variances = isAdam ? variancesOf(core, mechanism, made, batchSize) : new Float64Array();
        const current = start.slice();
        return new CoreGradientLearner(instance, made, facts, ruleWith(variances), current);
      } catch (error) {
        core.call('dispose', made.id);
        throw error;
      }
    }),
  );
}
