// SPDX-License-Identifier: Apache-2.0

// Linear queries on a histogram, winners and quantiles.

import {
  float64s,
  optionsObject,
  outOfRange,
  Reader,
  readOptions,
  requireCount,
} from '../core/check.js';
import { type Fields, wrongType } from '../core/check.js';
import type { Core, CoreMatrix, CoreQueries, CoreQueryWorkload } from '../core/core.js';
import { makeError, type ErrorPlace, within } from '../core/errors.js';
import { CoreHandle, type Instance } from '../core/handle.js';
import { withKey } from '../core/key.js';
import { counted } from '../shared/counted.js';
import { MEASUREMENTS, NEIGHBOURS, OBJECTIVES } from '../shared/defaults.js';
import type { LinearQueries, Neighbours, QueryAnswers, QueryMatrices } from '../types/all.js';
import type { ChooseOptions, EstimateCountOptions, EstimatedCount } from '../types/all.js';
import type { QuantileOptions, RandomizedResponseOptions, Search } from '../types/all.js';
import type { Queries, QueryBounds, WinnerOptions } from '../types/all.js';
import { PiecewiseSearch, SearchHandle } from './search.js';

const PRIVACY = ['epsilon', 'neighbours', 'maxContributions'];
const OPTIONS = [...PRIVACY, 'workload', 'delta', 'measurements', 'objective'];
const KINDS = {
  identity: ['identity'],
  prefix: ['prefix'],
  ranges: ['ranges'],
  marginals: ['marginals', 'order'],
  parities: ['parities', 'order', 'withLowerOrders'],
  matrix: ['matrix'],
  product: ['product'],
  union: ['union'],
} as const;
const MAX_DEPTH = 8;

function readCounts(where: ErrorPlace, name: string, value: unknown): Float64Array {
  const counts = float64s(where, name, value);
  counts.forEach((count, i) =>
    requireCount(where, `${name}[${i}]`, count, Number.MAX_SAFE_INTEGER),
  );
  return counts;
}

function list(where: ErrorPlace, name: string, value: unknown): unknown[] {
  if (Array.isArray(value)) return value as unknown[];
  throw wrongType(where, name, 'an array', value);
}

/** Reads the rows of a matrix into one array, one after the other. */
function readMatrix(where: ErrorPlace, value: unknown, name = 'matrix'): CoreMatrix {
  const rows = list(where, name, value).map((row, i) => float64s(where, `${name}[${i}]`, row));
  const width = rows[0]?.length ?? 0;
  const values = new Float64Array(rows.length * width);
  rows.forEach((row, i) => {
    if (row.length !== width) {
      const value = String(row.length);
      const constraint = `must have ${counted(width, 'entry', 'entries')}`;
      throw makeError('wrong_length', where, { parameter: `${name}[${i}]`, constraint, value });
    }
    values.set(row, i * width);
  });
  return { size: rows.length, values };
}

/** Reads a workload into an object with every field, used or not. */
function readWorkload(where: ErrorPlace, value: unknown, depth = 0): CoreQueryWorkload {
  const known = [...new Set(Object.values(KINDS).flat())];
  const fields: Fields = optionsObject(within(where, 'workload'), value, known);
  const kinds = Object.keys(KINDS) as (keyof typeof KINDS)[];
  const [kind, ...more] = kinds.filter((each) => fields[each] !== undefined);
  if (kind === undefined || more.length > 0) {
    const constraint = `must have one of ${kinds.join(', ')}`;
    throw makeError('wrong_type', where, { parameter: 'workload', constraint });
  }
  optionsObject(within(where, 'workload'), value, KINDS[kind]);
  const reader = new Reader(where, fields);
  const plain = { kind, size: 0, order: 0, withLowerOrders: false, values: undefined, parts: [] };
  if (kind === 'product' || kind === 'union') {
    if (depth === MAX_DEPTH) {
      throw outOfRange(where, 'workload', `at most ${MAX_DEPTH} deep`, depth + 1);
    }
    const parts = list(where, kind, fields[kind]);
    return { ...plain, parts: parts.map((part) => readWorkload(where, part, depth + 1)) };
  }
  if (kind === 'matrix') return { ...plain, ...readMatrix(where, fields['matrix']) };
  if (kind === 'marginals') {
    const values = readCounts(where, 'marginals', fields['marginals']);
    return { ...plain, values, order: reader.count('order') };
  }
  const size = reader.count(kind);
  if (size === 0) throw outOfRange(where, `workload.${kind}`, 'at least 1', size);
  if (kind !== 'parities') return { ...plain, size };
  const withLowerOrders = reader.flagOr('withLowerOrders', false);
  return { ...plain, size, order: reader.count('order'), withLowerOrders };
}

/** Declares the properties that the constructor copies from the core. */
interface CoreQueriesHandle extends Omit<CoreQueries, 'id'> {}

class CoreQueriesHandle extends CoreHandle implements LinearQueries {
  constructor(
    instance: Instance,
    { id, ...facts }: CoreQueries,
    readonly neighbours: Neighbours,
  ) {
    super(instance, id, 'mechanism of queries');
    Object.assign(this, facts);
  }

  label(query: number): string {
    const checked = requireCount('label', 'query', query, this.numQueries - 1);
    return this.core.call('queriesLabel', this.id, checked);
  }

  labels(): string[] {
    return Array.from({ length: this.numQueries }, (_, query) => this.label(query));
  }

  bounds(): QueryBounds {
    return this.core.call('queriesBounds', this.id);
  }

  matrices(): QueryMatrices {
    const { numQueries, numValues, numMeasurements } = this;
    const found = this.core.call('queriesMatrices', this.id);
    return { numQueries, numValues, numMeasurements, ...found };
  }

  release(histogram: ArrayLike<number>, options: unknown = {}): QueryAnswers {
    const where = 'release';
    const known = ['consistent', 'integer', 'total', 'insecureSeed'];
    const reader = readOptions(where, options, known);
    const complete = {
      histogram: readCounts(where, 'histogram', histogram),
      integer: reader.flagOr('integer', false),
      total: reader.countOr('total', undefined),
      consistent: reader.flagOr('consistent', false),
      insecureSeed: reader.seedOr('insecureSeed', undefined),
    };
    if (!complete.consistent && (complete.integer || complete.total !== undefined)) {
      const parameter = complete.integer ? 'integer' : 'total';
      throw makeError('wrong_type', where, {
        parameter,
        constraint: 'goes with {consistent}: true',
      });
    }
    const { insecureSeed } = complete;
    const made = withKey(where, complete, (given) =>
      this.core.call('queriesRelease', this.id, given),
    );
    return { ...made, insecure: insecureSeed !== undefined };
  }
}

/** Reads which measurements to make: by name, or as a matrix. */
function readMeasurements(reader: Reader) {
  const { where } = reader;
  const given = reader.raw('measurements');
  if (typeof given !== 'object' || given === null) {
    const strategy = reader.oneOfOr('measurements', MEASUREMENTS);
    return { strategy, measure: undefined, reconstruct: undefined };
  }
  const known = ['measure', 'reconstruct'];
  const own = optionsObject(within(where, 'measurements'), given, known);
  const read = (name: string) => readMatrix(where, own[name], name);
  return {
    strategy: MEASUREMENTS[0],
    measure: read('measure'),
    reconstruct: own['reconstruct'] === undefined ? undefined : read('reconstruct'),
  };
}

/** Searches for the best measurements. */
function linearQueries(instance: Instance, options: unknown): Search<LinearQueries> {
  const where = 'linear';
  const { core } = instance;
  const reader = readOptions(where, options, OPTIONS);
  const neighbours = reader.oneOfOr('neighbours', NEIGHBOURS);
  const given = {
    workload: readWorkload(where, reader.raw('workload')),
    epsilon: reader.number('epsilon'),
    delta: reader.number('delta'),
    neighbours,
    maxContributions: reader.countOr('maxContributions', 1),
    ...readMeasurements(reader),
    objective: reader.oneOfOr('objective', OBJECTIVES, 'mean'),
  };
  const handle = new SearchHandle(instance, core.call('queriesSearch', given));
  return new PiecewiseSearch(where, {
    step: () => core.call('queriesAdvance', handle.id),
    finish: () =>
      new CoreQueriesHandle(instance, core.call('queriesResult', handle.id), neighbours),
    dispose: () => handle.dispose(),
  });
}

/** Runs the exponential mechanism with the caller's utilities. */
function choose(core: Core, options: ChooseOptions): number {
  const where = 'choose';
  const known = ['utilities', 'sensitivity', 'monotone', 'epsilon', 'insecureSeed'];
  const reader = readOptions(where, options, known);
  const utilities = float64s(where, 'utilities', reader.raw('utilities'));
  utilities.forEach((utility, i) => {
    if (Number.isSafeInteger(utility)) return;
    throw outOfRange(where, `utilities[${i}]`, 'an integer below 2^53 in magnitude', utility);
  });
  const complete = {
    utilities,
    epsilon: reader.number('epsilon'),
    sensitivity: reader.count('sensitivity'),
    monotone: reader.flagOr('monotone', false),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  return withKey(where, complete, (given) => core.call('queriesChoose', given));
}

/** Randomised response: reports a bit that is sometimes flipped. */
function randomizedResponse(core: Core, options: RandomizedResponseOptions): boolean {
  const where = 'randomizedResponse';
  const known = ['bit', 'epsilon', 'insecureSeed'];
  const reader = readOptions(where, options, known);
  const complete = {
    bit: reader.flag('bit'),
    epsilon: reader.number('epsilon'),
    insecureSeed: reader.seedOr('insecureSeed', undefined),
  };
  return withKey(where, complete, (given) => core.call('queriesRespond', given));
}

function estimateCount(core: Core, options: EstimateCountOptions): EstimatedCount {
  const where = 'estimateCount';
  const known = ['ones', 'reports', 'epsilon'];
  const reader = readOptions(where, options, known);
  const [ones, reports] = [reader.count('ones'), reader.count('reports')];
  return core.call('queriesEstimate', ones, reports, reader.number('epsilon'));
}

/** Reads the options that winners and quantiles share. */
function readChoice(where: ErrorPlace, options: unknown, more: readonly string[]) {
  const known = [...PRIVACY, 'histogram', 'insecureSeed', ...more];
  const reader = readOptions(where, options, known);
  return {
    reader,
    common: {
      histogram: readCounts(where, 'histogram', reader.raw('histogram')),
      epsilon: reader.number('epsilon'),
      neighbours: reader.oneOfOr('neighbours', NEIGHBOURS),
      maxContributions: reader.countOr('maxContributions', 1),
      insecureSeed: reader.seedOr('insecureSeed', undefined),
    },
  };
}

function winner(core: Core, options: WinnerOptions): number {
  const { common } = readChoice('winner', options, []);
  return withKey('winner', common, (given) => core.call('queriesWinner', given));
}

function quantile(core: Core, options: QuantileOptions): number {
  const { reader, common } = readChoice('quantile', options, ['quantile']);
  const [numerator, denominator] = list('quantile', 'quantile', reader.raw('quantile'));
  const complete = {
    ...common,
    numerator: requireCount('quantile', 'quantile[0]', numerator, 2 ** 20),
    denominator: requireCount('quantile', 'quantile[1]', denominator, 2 ** 20),
  };
  return withKey('quantile', complete, (given) => core.call('queriesQuantile', given));
}

export function queriesOf(instance: Instance): Queries {
  const { core } = instance;
  return Object.freeze<Queries>({
    linear: (options) => linearQueries(instance, options),
    choose: (options) => choose(core, options),
    winner: (options) => winner(core, options),
    quantile: (options) => quantile(core, options),
    randomizedResponse: (options) => randomizedResponse(core, options),
    estimateCount: (options) => estimateCount(core, options),
  });
}
