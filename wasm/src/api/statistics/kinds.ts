// SPDX-License-Identifier: Apache-2.0

// Options of statistics: their kind, and the options of their sums.

import type { Reader } from '../../core/check.js';
import type { Core, CoreMechanism } from '../../core/core.js';
import { makeError, refusalOf } from '../../core/errors.js';
import type { Instance } from '../../core/handle.js';
import { DEFAULT_CONFIDENCE, LATTICE_NOISES } from '../../shared/defaults.js';
import type { Neighbours } from '../../types/all.js';
import { ERROR_OPTIONS, readSumsMechanism, requireWorkload } from '../options.js';
import type { CompleteOptions } from '../sums/totals.js';
import type { Asked, Columns } from './columns.js';
import { HISTOGRAM_OPTIONS, HistogramColumns } from './histogram.js';
import { MomentColumns, MOMENTS_OPTIONS } from './moments.js';
import { readStackMechanism, SumsColumns, SUMS_OPTIONS } from './stack.js';

const OWN_OPTIONS = { moments: MOMENTS_OPTIONS, histogram: HISTOGRAM_OPTIONS, sums: SUMS_OPTIONS };
const STATISTICS = ['moments', 'histogram', 'sums'] as const;

/**
 * Returns the options of every statistic. A function, so that programs without statistics drop the
 * list.
 */
export function statisticOptions(): string[] {
  return [
    'statistic',
    ...Object.values(OWN_OPTIONS).flat(),
    'confidence',
    ...ERROR_OPTIONS,
    ...['epsilon', 'delta', 'neighbours', 'insecureSeed'],
  ];
}

/** The core has room for sums up to this size. */
const MOST_IN_GRIDS = 2 ** 62;

/**
 * Returns the error unchanged, unless it is about the grid, which the caller did not choose: that
 * one becomes an error about the option that left no room on it.
 */
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

function makeColumns(
  core: Core,
  reader: Reader,
  asked: Asked,
  { statistic, mechanism }: { statistic: (typeof STATISTICS)[number]; mechanism: CoreMechanism },
): Columns {
  if (statistic === 'moments') return MomentColumns.read(core, reader, asked);
  if (statistic === 'sums') return SumsColumns.read(core, reader, asked, mechanism);
  return HistogramColumns.read(core, reader, asked, mechanism.workload.kind === 'window');
}

/** Reads a statistic: its columns, and everything that their sums take except a key. */
export function readStatistic(
  instance: Instance,
  reader: Reader,
): { columns: Columns; complete: CompleteOptions } {
  const statistic = reader.oneOf('statistic', STATISTICS);
  const own = OWN_OPTIONS[statistic];
  const others = Object.values(OWN_OPTIONS)
    .flat()
    .filter((name) => !own.includes(name));
  const foreign = others.find((name) => reader.has(name));
  if (foreign !== undefined) {
    const known = own.join(', ');
    const constraint = `is no option of ${statistic}, which has ${known}`;
    throw makeError('wrong_type', reader.where, { parameter: foreign, constraint });
  }
  const mechanism =
    statistic === 'sums'
      ? readStackMechanism(reader, instance)
      : readSumsMechanism(reader, instance.mechanisms, false);
  const wanted = `must be 'prefix' or a window, for ${statistic}`;
  requireWorkload(reader, mechanism, ['prefix', 'window'], wanted);
  const asked = {
    confidence: reader.numberOr('confidence', DEFAULT_CONFIDENCE),
    neighbours: mechanism.neighbours as Neighbours,
    fixedTimes: reader.flagOr('fixedTimes', false),
  };
  const insecureSeed = reader.seedOr('insecureSeed', undefined);
  const columns = makeColumns(instance.core, reader, asked, { statistic, mechanism });
  const { distance, dimension, grid, moves } = columns.made;
  const complete: CompleteOptions = {
    ...mechanism,
    // `distance` is that of neighbours of either kind: for two records it is not twice a norm. A
    // stack has its own neighbours in the mechanism that its columns have made.
    neighbours: 'zero-out',
    clipNorm: distance,
    moves,
    pure: false,
    mode: 'grid',
    latticeNoise: LATTICE_NOISES[0],
    precisionBits: undefined,
    dimension,
    grid,
    insecureSeed,
  };
  return { columns, complete };
}
