// SPDX-License-Identifier: Apache-2.0

// Searches for an optimised mechanism.

import { float64s, type Reader, readOptions, wrongType } from '../core/check.js';
import type { Instance } from '../core/handle.js';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import { givenStrategy, readFactorization, requireLength } from './options.js';
import { givenParticipation, PROBLEM_WORDS } from './problem.js';
import { saveStrategy, type SearchProblem } from './strategy.js';
import { PiecewiseSearch, SearchHandle } from './search.js';
import type { SavedStrategy, Workload } from '../types/all.js';
import { asErrorsOf } from '../core/errors.js';

/** Converts typed arrays to plain arrays for JSON. */
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
    private readonly asked: SearchProblem,
  ) {
    super('optimize', {
      step: () => asErrorsOf('optimize', () => core.call('plannerAdvance', handle.id)),
      finish: () => saveStrategy(this.asked, core.call('plannerResult', handle.id), this.keep),
      dispose: () => handle.dispose(),
    });
  }

  /**
   * The result for use rather than for saving: its lists are typed arrays, which take less memory.
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
  const given = givenStrategy(reader);
  if (!('name' in given)) {
    throw wrongType(reader.where, 'strategy', 'a string', reader.raw('strategy'));
  }
  const named = readFactorization(reader, mechanisms, () => DEFAULT_MECHANISM);
  const { steps, strategy, participation, parameters } = named;
  const queryWeights = reader.has('queryWeights')
    ? float64s(reader.where, 'queryWeights', reader.raw('queryWeights'))
    : undefined;
  if (queryWeights) requireLength(reader.where, 'queryWeights', queryWeights.length, steps);
  const id = core.call('plannerCreate', {
    ...named,
    queryWeights,
    useSolver: reader.oneOfOr('solver', ['exact', 'none']) === 'exact',
    maxIterations: reader.countOr('maxIterations', undefined),
    gap: reader.numberOr('gap', undefined),
  });
  return new Optimization(instance, new SearchHandle(instance, id), {
    name: strategy,
    steps,
    workload: plainWorkload((reader.raw('workload') as Workload | undefined) ?? 'prefix'),
    participation: givenParticipation(participation),
    objective: parameters.objective ?? 'max',
    ...(queryWeights && { queryWeights: Array.from(queryWeights) }),
  });
}

export function optimize(instance: Instance, options: unknown): Optimization {
  const reader = readOptions('optimize', options, OPTIONS);
  return asErrorsOf('optimize', () => begin(instance, reader));
}
