// SPDX-License-Identifier: Apache-2.0

// Sums of several workloads of one stream. Records are numbers, and each has one sum per workload.

import { float64s, outOfRange, requireCount, wrongType, type Reader } from '../../core/check.js';
import type { Core, CoreColumns, CoreFactorization, CoreMechanism } from '../../core/core.js';
import type { CoreProblem, CoreWorkload } from '../../core/core.js';
import { asErrorsOf, within } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { defaultMechanism } from '../../shared/defaults.js';
import type { Certificate, Estimate, MechanismName, StackedSums } from '../../types/all.js';
import type { WorkloadError } from '../../types/all.js';
import { countRecords, readFactorization, readMechanism, readWorkload } from '../options.js';
import { requireLength } from '../options.js';
import { Columns, type Asked } from './columns.js';

export const SUMS_OPTIONS = ['workloads', 'importance', 'dimension', 'clipNorm'];

/** Facts that must agree for a stored state to belong to a statistic. */
interface Shape {
  workloads: readonly CoreWorkload[];
  importance: Float64Array | undefined;
  dimension: number;
}

export function readWorkloads(reader: Reader, numSteps: number): CoreWorkload[] {
  const { where } = reader;
  const given = reader.raw('workloads');
  if (!Array.isArray(given)) throw wrongType(where, 'workloads', 'an array of workloads', given);
  return given.map((workload, i) => {
    const name = `workloads[${i}]`;
    if (workload === undefined) throw wrongType(where, name, "'prefix' or an object", workload);
    return readWorkload(within(where, name), workload, numSteps);
  });
}

export function readImportance(reader: Reader, numWorkloads: number): Float64Array | undefined {
  const { where } = reader;
  if (!reader.has('importance')) return undefined;
  const given = float64s(where, 'importance', reader.raw('importance'));
  requireLength(where, 'importance', given.length, numWorkloads);
  given.forEach((weight, i) => {
    if (weight > 0 && weight < Infinity) return;
    throw outOfRange(where, `importance[${i}]`, 'positive and finite', weight);
  });
  return given;
}

function requireNoWorkload(reader: Reader): void {
  if (!reader.has('workload')) return;
  throw outOfRange(reader.where, 'workload', 'left out with {workloads}', reader.raw('workload'));
}

const defaultOfStack = ({ numSteps }: CoreProblem) => defaultMechanism(numSteps, false);

/** Reads the mechanism of several workloads; if none is named, it is that of windows. */
export function readStackMechanism(reader: Reader, { mechanisms }: Instance): CoreMechanism {
  requireNoWorkload(reader);
  return readMechanism(reader, mechanisms, defaultOfStack);
}

/** The same without a privacy target. */
export function readStackFactorization(
  reader: Reader,
  mechanisms: readonly MechanismName[],
): CoreFactorization {
  requireNoWorkload(reader);
  return readFactorization(reader, mechanisms, defaultOfStack);
}

export class SumsColumns extends Columns<StackedSums> {
  readonly dimension: number;
  private readonly workloads: readonly WorkloadError[];

  private constructor(
    core: Core,
    made: CoreColumns & { workloads: WorkloadError[] },
    private readonly shape: Shape,
  ) {
    super(core, made);
    this.dimension = shape.dimension;
    this.prefixSum = (given) => core.call('statisticSumsPrefixSum', this.id, given);
    this.peopleSum = (given) => core.call('statisticSumsPeopleSum', this.id, given);
    this.ledger = (given) => core.call('ledgerOfSums', this.id, given);
    this.peopleLedger = (given) => core.call('peopleLedgerOfSums', this.id, given);
    this.workloads = Object.freeze(made.workloads.map((workload) => Object.freeze(workload)));
  }

  static read(core: Core, reader: Reader, asked: Asked, mechanism: CoreMechanism): SumsColumns {
    const { where } = reader;
    const workloads = readWorkloads(reader, mechanism.numSteps);
    const importance = readImportance(reader, workloads.length);
    const shape = { workloads, importance, dimension: reader.countOr('dimension', 1) };
    const { dimension, ...stack } = shape;
    const { confidence } = asked;
    const options = { ...mechanism, ...stack, recordSize: dimension, grid: undefined, confidence };
    const made = asErrorsOf(where, () => core.call('statisticSumsCreate', options));
    return new SumsColumns(core, made, shape);
  }

  get about(): string {
    const { workloads, importance, dimension } = this.shape;
    const kinds = workloads.map(({ values, ...rest }) => ({
      ...rest,
      values: values && [...values],
    }));
    const weights = importance && [...importance];
    return JSON.stringify({ statistic: 'sums', workloads: kinds, importance: weights, dimension });
  }

  override extras(use: () => void): object {
    const lowerBound = (): number => {
      use();
      return this.core.call('statisticSumsLowerBound', this.id);
    };
    return { workloads: this.workloads, lowerBound };
  }

  /** The certificate is about records already. */
  override certified(certificate: Certificate): Certificate {
    return certificate;
  }

  override stddev(_ofSums: number, step: number, which: unknown = 0): number {
    requireCount('stddev', 'workload', which, this.workloads.length - 1);
    return this.core.call('statisticSumsStddev', this.id, step, which as number);
  }

  one(where: string, record: unknown): Float64Array {
    const values = float64s(where, 'record', record);
    requireLength(where, 'record', values.length, this.dimension);
    return this.columnsOf(values);
  }

  many(where: string, name: string, given: unknown): Float64Array {
    const records = float64s(where, name, given);
    countRecords(where, records, this.dimension, name);
    return this.columnsOf(records);
  }

  protected numbersOf(sums: Float64Array, _stddevs: Float64Array, firstStep: number): Float64Array {
    return this.core.call('statisticSumsRead', this.id, sums, firstStep);
  }

  protected named(all: Estimate[]): StackedSums {
    const { dimension } = this;
    const sum = this.workloads.map((_, i) => all.slice(i * dimension, (i + 1) * dimension));
    return { sum };
  }

  private columnsOf(records: Float64Array): Float64Array {
    return this.core.call('statisticSumsColumns', this.id, records);
  }
}
