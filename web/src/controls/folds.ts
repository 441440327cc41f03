// SPDX-License-Identifier: Apache-2.0

// The folds of the settings, and the summaries shown while they are closed.

import { examples } from '../data/examples.ts';
import { quantity, scientific } from '../base/format.ts';
import { parametersText } from './parameters.ts';
import { choicesOf, type Settings } from './settings.ts';
import { countsPeople, learnsFrom } from './workload.ts';

export type FoldName = 'data' | 'sum' | 'mechanism' | 'privacy' | 'budget' | 'learner' | 'noise';

const rules = { ftrl: 'FTRL', descent: 'descent', both: 'FTRL and descent' } as const;

const said: Readonly<Record<FoldName, (settings: Settings) => string>> = {
  data: ({ source, stream }) =>
    source === 'synthetic'
      ? `made up, ${stream}`
      : (examples.find(({ name }) => name === source)?.title ?? 'your own CSV'),
  sum(settings) {
    const { workload, window, decay, sumMomentum } = settings;
    if (learnsFrom(settings)) return 'running total';
    const texts = {
      total: 'running total',
      window: `of the last ${window}`,
      decay: `decay ${quantity(decay)}`,
      momentum: `momentum ${quantity(sumMomentum)}`,
      active: 'active people',
    };
    return texts[workload];
  },
  mechanism: (settings) =>
    choicesOf(settings)
      .map(({ parameters }) => parametersText(parameters, (value) => quantity(value)))
      .filter((text) => text !== '')
      .join('; ') || 'parameters: auto',
  privacy(settings) {
    const { delta, neighbours, clipNorm } = settings;
    const clip = countsPeople(settings) ? '' : `, clip ${quantity(clipNorm)}`;
    return `δ ${delta < 1e-3 ? scientific(delta) : quantity(delta)}, ${neighbours}${clip}`;
  },
  budget: ({ budget }) => (budget === null ? 'none' : `ε ${quantity(budget)} in all`),
  learner: ({ rule, loss }) => `${rules[rule]}, ${loss} loss`,
  noise: ({ source, noiseSeed }) => (source === 'own' ? 'fresh seed' : `seed ${noiseSeed}`),
};

/** The values of a fold's settings, in a few words. */
export const foldText = (name: FoldName, settings: Settings): string => said[name](settings);
