// SPDX-License-Identifier: Apache-2.0

// Records as the columns that are summed, and what such sums say.

import { float64s, wrongType, type Reader } from '../../core/check.js';
import type { Core, CoreColumns } from '../../core/core.js';
import { asErrorsOf, atRow, makeError, refusalOf, told, type Partway } from '../../core/errors.js';
import { CoreHandle, type Instance } from '../../core/handle.js';
import { DEFAULT_CONFIDENCE, LATTICE_NOISES } from '../../shared/defaults.js';
import type { Certificate, Estimate, Handle, Moments, Neighbours, Totals } from '../../types/all.js';
import { countRecords, ERROR_OPTIONS, readSumsMechanism } from '../options.js';
import { requireLength, requireWorkload } from '../options.js';
import type { CompleteOptions } from '../sums/totals.js';

const STATISTICS = ['moments'] as const;
/** Numbers of an estimate as it crosses: value, low, high, stddev. */
const ESTIMATE = 4;
/** The core has that much room for sums. */
const MOST_IN_GRIDS = 2 ** 62;

export const STATISTIC_OPTIONS = [
  'statistic',
  'ranges',
  'covariance',
  'confidence',
  ...ERROR_OPTIONS,
  ...['epsilon', 'delta', 'neighbours', 'insecureSeed'],
];

/** Arguments of the core. */
interface Shape {
  ranges: Float64Array;
  covariance: boolean;
  confidence: number;
  neighbours: string;
}

/** Two ends each, one after the other; the core looks at their values. */
function readRanges(reader: Reader): Float64Array {
  const { where } = reader;
  const given = reader.raw('ranges');
  if (!Array.isArray(given)) {
    throw wrongType(where, 'ranges', 'an array of pairs [low, high]', given);
  }
  const ranges = given.map((range, i) => float64s(where, `ranges[${i}]`, range));
  ranges.forEach((range, i) => requireLength(where, `ranges[${i}]`, range.length, 2));
  return Float64Array.from(ranges.flatMap((range) => [...range]));
}

/** An object of the core that turns records into columns, and their sums into moments. */
export class Columns {
  /** Numbers of a record. */
  readonly numColumns: number;

  constructor(
    private readonly core: Core,
    private readonly made: CoreColumns,
    private readonly shape: Shape,
  ) {
    this.numColumns = shape.ranges.length / 2;
  }

  get id(): number {
    return this.made.id;
  }

  /** Columns of a record. */
  get width(): number {
    return this.made.dimension;
  }

  /** Text that tells sums of these columns from others. */
  get about(): string {
    const { ranges, covariance, neighbours } = this.shape;
    return JSON.stringify({ statistic: STATISTICS[0], ranges: [...ranges], covariance, neighbours });
  }

  /** Frees what no handle came to own. */
  drop(): void {
    if (!this.core.aborted) this.core.call('dispose', this.id);
  }

  /** Columns of records, all of which are looked at. */
  write(where: string, records: Float64Array, isOne: boolean): Float64Array {
    countRecords(where, records, this.numColumns);
    try {
      return this.core.call('momentsColumns', this.id, records);
    } catch (thrown) {
      const error = thrown as Partway;
      if (isOne) throw told(error, { call: where });
      throw atRow(error, where, { kind: 'record', width: this.numColumns });
    }
  }

  /** The claim of sums of the columns, as one about records. */
  certified(certificate: Certificate): Certificate {
    const neighbours = this.shape.neighbours as Neighbours;
    const clipNorm = this.made.distance / (neighbours === 'replace-one' ? 2 : 1);
    return Object.freeze({ ...certificate, neighbours, clipNorm });
  }

  countStddev(stddev: number): number {
    return stddev / this.made.countWeight;
  }

  /** Moments of rows of sums, with the std of the noise in each row. */
  read(sums: Float64Array, stddevs: Float64Array): Moments[] {
    const numbers = this.core.call('momentsRead', this.id, sums, stddevs);
    const width = numbers.length / stddevs.length;
    return Array.from(stddevs, (_, i) => this.named(numbers.subarray(i * width, (i + 1) * width)));
  }

  private named(numbers: Float64Array): Moments {
    const all = Array.from({ length: numbers.length / ESTIMATE }, (_, i): Estimate => {
      const [value, low, high, stddev] = Array.from(numbers.subarray(i * ESTIMATE));
      return { value: value!, low: low!, high: high!, stddev: stddev! };
    });
    const num = this.numColumns;
    const [count, ...rest] = all as [Estimate, ...Estimate[]];
    const variance = rest.slice(num, 2 * num);
    const moments = { count, mean: rest.slice(0, num), variance };
    if (!this.shape.covariance) return moments;
    const pairs = rest.slice(2 * num);
    const covariance = variance.map((own): Estimate[] => new Array<Estimate>(num).fill(own));
    for (let i = 0; i < num; ++i) {
      for (let j = i + 1; j < num; ++j) {
        covariance[i]![j] = covariance[j]![i] = pairs.shift()!;
      }
    }
    return { ...moments, covariance };
  }
}

/** Sums of columns. */
type Sums = Handle & Pick<Totals, 'certificate' | 'insecure' | 'stddev' | 'step'>;

/** The common part of statistics: columns, and private sums of them. */
export abstract class StatisticHandle<S extends Sums> extends CoreHandle {
  readonly certificate: Certificate;
  readonly dimension: number;
  readonly insecure: boolean;

  constructor(
    instance: Instance,
    private readonly columns: Columns,
    private readonly ownSums: S,
  ) {
    super(instance, columns.id, 'statistic');
    this.certificate = columns.certified(ownSums.certificate);
    this.dimension = columns.numColumns;
    this.insecure = ownSums.insecure;
  }

  get numSteps(): number {
    return this.certificate.numSteps;
  }

  get step(): number {
    return this.sums.step;
  }

  stddev(step: number): number {
    return this.columns.countStddev(this.sums.stddev(step));
  }

  override dispose(): void {
    this.ownSums.dispose();
    super.dispose();
  }

  /** Throws where this was disposed of. */
  protected get sums(): S {
    void this.id;
    return this.ownSums;
  }

  /** Columns of records, all of which are looked at. */
  protected columnsOf(where: string, name: string, records: unknown): Float64Array {
    void this.id;
    return this.columns.write(where, float64s(where, name, records), false);
  }

  /** Columns of a single record. */
  protected columnsOfOne(where: string, record: unknown): Float64Array {
    const values = float64s(where, 'record', record);
    requireLength(where, 'record', values.length, this.dimension);
    void this.id;
    return this.columns.write(where, values, true);
  }

  protected momentsOf(sums: Float64Array, firstStep: number): Moments[] {
    const numSteps = sums.length / this.columns.width;
    const stddevs = Float64Array.from({ length: numSteps }, (_, i) =>
      this.sums.stddev(firstStep + i),
    );
    return this.columns.read(sums, stddevs);
  }
}

/** The same error; one about the grid, which nobody chose, is about what has no room on it. */
export function inGiven(error: unknown, complete: CompleteOptions): unknown {
  const refusal = refusalOf(error);
  if (refusal.parameter !== 'grid') return error;
  const { clipNorm, grid, numSteps } = complete;
  const isLong = (clipNorm / grid!) * numSteps > MOST_IN_GRIDS;
  const parameter = isLong ? 'numSteps' : 'epsilon';
  const constraint = `must be ${isLong ? 'smaller' : 'larger'}, for sums and noise to have room on their grid`;
  const value = String(complete[parameter]);
  return makeError('invalid_argument', {}, { ...refusal, parameter, constraint, value });
}

/** A statistic that is asked for: its columns, and what their sums take but a key. */
export function readStatistic(
  instance: Instance,
  reader: Reader,
): { columns: Columns; complete: CompleteOptions } {
  reader.oneOf('statistic', STATISTICS);
  const mechanism = readSumsMechanism(reader, instance.mechanisms, false);
  const constraint = "must be 'prefix' or a window, for moments";
  requireWorkload(reader, mechanism, ['prefix', 'window'], constraint);
  const shape = {
    ranges: readRanges(reader),
    covariance: reader.flagOr('covariance', false),
    confidence: reader.numberOr('confidence', DEFAULT_CONFIDENCE),
    neighbours: mechanism.neighbours,
  };
  const insecureSeed = reader.seedOr('insecureSeed', undefined);
  const made = asErrorsOf(reader.where, () => instance.core.call('momentsCreate', shape));
  const complete: CompleteOptions = {
    ...mechanism,
    // Neighbours differ by one distance, whichever they are: that of two records is no double norm.
    neighbours: 'zero-out',
    clipNorm: made.distance,
    pure: false,
    mode: 'grid',
    latticeNoise: LATTICE_NOISES[0],
    precisionBits: undefined,
    dimension: made.dimension,
    grid: made.grid,
    insecureSeed,
  };
  return { columns: new Columns(instance.core, made, shape), complete };
}
