// SPDX-License-Identifier: Apache-2.0

// Rows of noise in floating point, for simulations.

import { outOfRange, type Reader, readOptions, requireCount, roomFor } from '../core/check.js';
import type { Fields, Floats, FloatsClass } from '../core/check.js';
import { CoreHandle, type Instance } from '../core/handle.js';
import { withKey } from '../core/key.js';
import type { SimulationNoise } from '../types/all.js';
import { readFactorization } from './options.js';
import { STRATEGY_WORDS } from './problem.js';
import { asErrorsOf } from '../core/errors.js';

const WHERE = 'noise';
const PRECISIONS = { float32: Float32Array, float64: Float64Array } as const;
/** Options of releases, for which these rows must never be used. */
const OF_RELEASES = ['epsilon', 'delta', 'clip', 'neighbours', 'key'];
const OPTIONS = [...STRATEGY_WORDS, 'dimension', 'firstCoordinate', 'precision', 'seed'];

class CoreSimulationNoise<Rows extends Floats> extends CoreHandle implements SimulationNoise<Rows> {
  constructor(
    instance: Instance,
    id: number,
    readonly dimension: number,
    readonly steps: number,
    private readonly arrays: FloatsClass<Rows>,
  ) {
    super(instance, id, 'simulation noise');
  }

  get step(): number {
    return this.core.call('simulationNoiseStep', this.id);
  }

  seek(step: number): void {
    const wanted = requireCount('seek', 'step', step, this.steps);
    this.core.call('simulationNoiseSeek', this.id, wanted);
  }

  next(numRows: number, out?: Rows): Rows {
    const where = 'next';
    requireCount(where, 'numRows', numRows, this.steps - this.step);
    const { rows, view } = roomFor(where, numRows * this.dimension, this.arrays, out);
    this.core.call('simulationNoiseNext', this.id, view, numRows);
    return rows;
  }
}

function begin(instance: Instance, reader: Reader): SimulationNoise<Floats> {
  const { core, mechanisms } = instance;
  const precision = reader.oneOfOr(
    'precision',
    Object.keys(PRECISIONS) as (keyof typeof PRECISIONS)[],
  );
  const complete = {
    ...readFactorization(reader, mechanisms),
    dimension: reader.countOr('dimension', 1),
    firstCoordinate: reader.countOr('firstCoordinate', 0),
    precision,
    insecureSeed: reader.seedOr('seed', undefined),
  };
  const { dimension, steps } = complete;
  return withKey(WHERE, complete, (given) => {
    const id = core.call('simulationNoiseCreate', given);
    const arrays = PRECISIONS[precision] as FloatsClass<Floats>;
    return new CoreSimulationNoise(instance, id, dimension, steps, arrays);
  });
}

export function makeSimulationNoise(instance: Instance, options: unknown): SimulationNoise<Floats> {
  const given = (options ?? {}) as Fields;
  const stray = OF_RELEASES.find((name) => given[name] !== undefined);
  if (stray !== undefined) {
    const wanted = 'left out: noise in floating point makes no release private';
    throw outOfRange(WHERE, stray, wanted, given[stray]);
  }
  const reader = readOptions(WHERE, options, OPTIONS);
  return asErrorsOf(WHERE, () => begin(instance, reader));
}
