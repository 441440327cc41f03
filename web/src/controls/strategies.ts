// SPDX-License-Identifier: Apache-2.0

// Cache of optimised mechanisms: each is searched for once, and every figure uses the same numbers.

import type { CallProgress, StrategyInfo, Participation, SavedStrategy, Workload } from 'dp-ftrl';
import { boundOf } from '../../../wasm/src/shared/problem.ts';
import type { Engine } from '../base/engine.ts';
import type { ParameterName } from './parameters.ts';
import type { Choice } from './settings.ts';

export interface SearchOptions {
  signal: AbortSignal;
  onProgress: (progress: CallProgress) => void;
}

/** Parameters that make a search unnecessary, or modify its result. */
const notSearched: readonly ParameterName[] = [
  'decays',
  'weights',
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/** Two mechanisms side by side, and the previous two. */
const maxRemembered = 4;

export class Strategies {
  private readonly searched: ReadonlySet<string>;
  private readonly found = new Map<string, SavedStrategy>();

  constructor(
    private readonly engine: Engine,
    catalogue: readonly StrategyInfo[],
  ) {
    const names = catalogue.filter(({ parameters }) => parameters.includes('objective'));
    this.searched = new Set(names.map(({ name }) => name));
  }

  /** Returns the strategy for a choice; null if it needs no search. */
  async find(
    { mechanism, parameters }: Choice,
    problem: { numSteps: number; workload?: Workload; participation?: Participation },
    options: SearchOptions,
  ): Promise<SavedStrategy | null> {
    if (!this.searched.has(mechanism)) return null;
    if (notSearched.some((name) => parameters[name] !== undefined)) return null;
    const key = JSON.stringify([mechanism, problem, parameters]);
    let strategy = this.found.get(key);
    this.found.delete(key);
    const { numSteps, participation, ...summed } = problem;
    const asked = { steps: numSteps, participation: boundOf(participation), ...summed };
    const own = { name: mechanism, ...parameters };
    strategy ??= await this.engine.optimize({ ...asked, strategy: own }, options);
    this.found.set(key, strategy);
    for (const old of [...this.found.keys()].slice(0, -maxRemembered)) this.found.delete(old);
    return strategy;
  }
}
