// SPDX-License-Identifier: Apache-2.0

// Searches for an optimised mechanism.

import { float64s, type Reader } from '../core/check.js';
import type { Instance } from '../core/handle.js';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import { readNamed, readOptions, requireLength } from './options.js';
import { inOtherWords, ONCE, PROBLEM_WORDS, readParticipation } from './problem.js';
import { readStrategyWords, savedParticipation } from './problem.js';
import { saveStrategy, type Asked } from './strategy.js';
import { PiecewiseSearch, SearchHandle } from './search.js';
import { inWords } from './streams/words.js';
import type { SavedStrategy, Workload } from '../types/all.js';

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
      step: () => inWords('optimize', () => core.call('plannerAdvance', handle.id)),
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

const OPTIONS = [...PROBLEM_WORDS, 'strategy', 'solver', 'maxIterations', 'gap', 'queryWeights'];

function begin(instance: Instance, reader: Reader): Optimization {
  const { core, mechanisms } = instance;
  const inner = inOtherWords(reader, readStrategyWords(reader));
  const mechanism = inner.oneOfOr('mechanism', mechanisms, DEFAULT_MECHANISM);
  const named = readNamed(inner, mechanism);
  const participation = readParticipation(reader, named.numSteps) ?? ONCE;
  const queryWeights = reader.has('queryWeights')
    ? float64s(reader.where, 'queryWeights', reader.raw('queryWeights'))
    : undefined;
  if (queryWeights)
    requireLength(reader.where, 'queryWeights', queryWeights.length, named.numSteps);
  const id = core.call('plannerCreate', {
    ...named,
    participation,
    queryWeights,
    useSolver: reader.oneOfOr('solver', ['exact', 'none']) === 'exact',
    maxIterations: reader.countOr('maxIterations', undefined),
    gap: reader.numberOr('gap', undefined),
  });
  return new Optimization(instance, new SearchHandle(instance, id), {
    mechanism,
    numSteps: named.numSteps,
    workload: plainWorkload((reader.raw('workload') as Workload | undefined) ?? 'prefix'),
    participation: savedParticipation(participation),
    objective: named.parameters.objective ?? 'max',
    ...(queryWeights && { queryWeights: Array.from(queryWeights) }),
  });
}

export function optimize(instance: Instance, options: unknown): Optimization {
  const reader = readOptions('optimize', options, OPTIONS);
  return inWords('optimize', () => begin(instance, reader));
}
