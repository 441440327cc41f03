// SPDX-License-Identifier: Apache-2.0

// Searches for an optimised mechanism.

import { float64s } from '../core/check.js';
import type { Instance } from '../core/handle.js';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import { OPTIMIZE_OPTIONS, readNamed, readOptions, requireLength } from './options.js';
import { saveStrategy, type Asked } from './strategy.js';
import { PiecewiseSearch, SearchHandle } from './search.js';
import type { Participation, SavedStrategy, Workload } from '../types/all.js';

/** Converts arrays to plain ones for JSON. */
function plainWorkload(workload: Workload): Workload {
  if (typeof workload === 'string') return workload;
  const entries = Object.entries(workload).map(([name, value]) => [
    name,
    typeof value === 'object' ? Array.from(value as ArrayLike<number>) : value,
  ]);
  return Object.fromEntries(entries) as Workload;
}

/** A search whose result may be used instead of saved. */
export class Optimization extends PiecewiseSearch<SavedStrategy> {
  constructor(
    { core }: Instance,
    handle: SearchHandle,
    private readonly asked: Asked,
  ) {
    super('optimize', {
      step: () => core.call('plannerAdvance', handle.id),
      finish: () => saveStrategy(this.asked, core.call('plannerResult', handle.id), this.keep),
      dispose: () => handle.dispose(),
    });
  }

  /**
   * Returns the result for use rather than for saving: its lists are typed arrays, which take less
   * memory.
   */
  found(): SavedStrategy {
    this.keep = (values) => values;
    return this.result();
  }

  private keep: ((values: Float64Array) => ArrayLike<number>) | undefined;
}

export function optimize(instance: Instance, options: unknown): Optimization {
  const { core, mechanisms } = instance;
  const reader = readOptions('optimize', options, OPTIMIZE_OPTIONS);
  const mechanism = reader.oneOfOr('mechanism', mechanisms, DEFAULT_MECHANISM);
  const named = readNamed(reader, mechanism);
  const queryWeights = reader.has('queryWeights')
    ? float64s(reader.where, 'queryWeights', reader.raw('queryWeights'))
    : undefined;
  if (queryWeights)
    requireLength(reader.where, 'queryWeights', queryWeights.length, named.numSteps);
  const id = core.call('plannerCreate', {
    ...named,
    queryWeights,
    useSolver: reader.oneOfOr('solver', ['exact', 'none']) === 'exact',
    maxIterations: reader.countOr('maxIterations', undefined),
    gap: reader.numberOr('gap', undefined),
  });
  return new Optimization(instance, new SearchHandle(instance, id), {
    mechanism,
    numSteps: named.numSteps,
    workload: plainWorkload((reader.raw('workload') as Workload | undefined) ?? 'prefix'),
    participation: (reader.raw('participation') as Participation | undefined) ?? 'single',
    objective: named.parameters.objective ?? 'max',
    ...(queryWeights && { queryWeights: Array.from(queryWeights) }),
  });
}
