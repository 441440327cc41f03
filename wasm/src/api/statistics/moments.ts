// SPDX-License-Identifier: Apache-2.0

// Moments: records of numbers, each with a range.

import { float64s, wrongType, type Reader } from '../../core/check.js';
import type { Core, CoreColumns } from '../../core/core.js';
import { asErrorsOf, atRow, told, type Partway } from '../../core/errors.js';
import type { Estimate, Moments } from '../../types/all.js';
import { countRecords, requireLength } from '../options.js';
import { aboutOf } from './about.js';
import { Columns, type Asked } from './columns.js';

export const MOMENTS_OPTIONS = ['ranges', 'covariance', 'fixedTimes'];

/** Arguments for the core. */
interface Shape extends Asked {
  ranges: Float64Array;
  covariance: boolean;
}

/** Reads the two ends of each range, one after the other; the core checks their values. */
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

export class MomentColumns extends Columns<Moments> {
  readonly dimension: number;

  private constructor(
    core: Core,
    made: CoreColumns,
    private readonly shape: Shape,
  ) {
    super(core, made, shape);
    this.dimension = shape.ranges.length / 2;
  }

  static read(core: Core, reader: Reader, asked: Asked): MomentColumns {
    const shape = {
      ranges: readRanges(reader),
      covariance: reader.flagOr('covariance', false),
      ...asked,
    };
    return new MomentColumns(
      core,
      asErrorsOf(reader.where, () => core.call('statisticMomentsCreate', shape)),
      shape,
    );
  }

  get about(): string {
    const { ranges, covariance, neighbours, fixedTimes } = this.shape;
    return aboutOf('moments', { ranges: [...ranges], covariance, neighbours, fixedTimes });
  }

  one(where: string, record: unknown): Float64Array {
    const values = float64s(where, 'record', record);
    requireLength(where, 'record', values.length, this.dimension);
    try {
      return this.columnsOf(values);
    } catch (error) {
      throw told(error as Partway, { call: where });
    }
  }

  many(where: string, name: string, given: unknown): Float64Array {
    const records = float64s(where, name, given);
    countRecords(where, records, this.dimension);
    try {
      return this.columnsOf(records);
    } catch (error) {
      throw atRow(error as Partway, where, { kind: 'record', width: this.dimension });
    }
  }

  private columnsOf(records: Float64Array): Float64Array {
    return this.core.call('statisticMomentsColumns', this.id, records);
  }

  protected numbersOf(sums: Float64Array, stddevs: Float64Array): Float64Array {
    return this.core.call('statisticMomentsRead', this.id, sums, stddevs);
  }

  protected named(all: Estimate[]): Moments {
    const num = this.dimension;
    const [count, ...rest] = all as [Estimate, ...Estimate[]];
    const [mean, variance, standardDeviation] = [0, num, 2 * num].map((from) =>
      rest.slice(from, from + num),
    ) as [Estimate[], Estimate[], Estimate[]];
    const moments = { count, mean, variance, standardDeviation };
    if (!this.shape.covariance) return moments;
    const pairs = rest.slice(3 * num);
    const covariance = variance.map((own): Estimate[] => new Array<Estimate>(num).fill(own));
    for (let i = 0; i < num; ++i) {
      for (let j = i + 1; j < num; ++j) {
        covariance[i]![j] = covariance[j]![i] = pairs.shift()!;
      }
    }
    return { ...moments, covariance };
  }
}
