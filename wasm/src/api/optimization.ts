// SPDX-License-Identifier: Apache-2.0

// Searches for an optimised mechanism, piece by piece or at once.

import { float64s } from '../core/check.js';
import type { CorePlannerProgress } from '../core/core.js';
import type { Instance } from '../core/handle.js';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import { OPTIMIZE_OPTIONS, readNamed, readOptions, requireLength } from './options.js';
import { saveStrategy, type Asked } from './strategy.js';
import { CoreSearch } from './search.js';
import type { Optimization } from '../types/all.js';
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

export class CoreOptimization extends CoreSearch<SavedStrategy> implements Optimization {
  constructor(
    instance: Instance,
    id: number,
    private readonly asked: Asked,
  ) {
    super(instance, id, 'optimization');
  }

  protected step(): CorePlannerProgress {
    return this.core.call('plannerAdvance', this.id);
  }

  result(): SavedStrategy {
    return saveStrategy(this.asked, this.core.call('plannerResult', this.id));
  }

  /**
   * The same for use rather than for saving: its lists are typed arrays, which take less memory.
   */
  found(): SavedStrategy {
    return saveStrategy(this.asked, this.core.call('plannerResult', this.id), (values) => values);
  }
}

export function makeOptimization(instance: Instance, options: unknown): Optimization {
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
  return new CoreOptimization(instance, id, {
    mechanism,
    numSteps: named.numSteps,
    workload: plainWorkload((reader.raw('workload') as Workload | undefined) ?? 'prefix'),
    participation: (reader.raw('participation') as Participation | undefined) ?? 'single',
    objective: named.parameters.objective ?? 'max',
    ...(queryWeights && { queryWeights: Array.from(queryWeights) }),
  });
}

export function optimize(instance: Instance, options: unknown): SavedStrategy {
  const search = makeOptimization(instance, options);
  try {
    while (search.advance());
    return search.result();
  } finally {
    search.dispose();
  }
}
