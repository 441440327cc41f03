// SPDX-License-Identifier: Apache-2.0

// Cache of optimised mechanisms: each mechanism is searched for once, and all figures use the same
// numbers.

import type { CallProgress, Problem, SavedStrategy, StrategyInfo } from 'dp-ftrl';
import type { Engine } from '../base/engine.ts';
import type { ParameterName } from './parameters.ts';
import type { MechanismChoice } from './settings.ts';

export interface SearchOptions {
  signal: AbortSignal;
  onProgress: (progress: CallProgress) => void;
}

/** Parameters that make a search unnecessary, or that modify its result. */
const notSearched: readonly ParameterName[] = [
  'decays',
  'weights',
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/** Enough for two mechanisms side by side and the previous two. */
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

  /** The optimised mechanism; null if the mechanism needs no search. */
  async find(
    { mechanism, parameters }: MechanismChoice,
    problem: Problem,
    options: SearchOptions,
  ): Promise<SavedStrategy | null> {
    if (!this.searched.has(mechanism)) return null;
    if (notSearched.some((name) => parameters[name] !== undefined)) return null;
    const key = JSON.stringify([mechanism, problem, parameters]);
    let strategy = this.found.get(key);
    this.found.delete(key);
    const own = { name: mechanism, ...parameters };
    strategy ??= await this.engine.optimize({ ...problem, strategy: own }, options);
    this.found.set(key, strategy);
    for (const old of [...this.found.keys()].slice(0, -maxRemembered)) this.found.delete(old);
    return strategy;
  }
}
