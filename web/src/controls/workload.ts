// SPDX-License-Identifier: Apache-2.0

// The choice of sums: of all records so far, of the latest records, or of records whose weights
// fade or build up.

import type { Participation, Workload } from 'dp-ftrl';
import type { SumKind } from '../data/statistic-choice.ts';
import type { SumWeights } from '../data/weighted-sums.ts';
import { counted, quantity } from '../base/format.ts';
import { participationOf } from './participation.ts';
import type { Settings } from './settings.ts';

/** Value of the label setting that selects no column. */
export const noLabel = '-';

/** True if a learner runs: on synthetic records, and on a table with a label column. */
export function learnsFrom({ source, label }: Settings): boolean {
  return source === 'synthetic' || (label !== '' && label !== noLabel);
}

/** The sums in effect: learners need running totals, so a learner overrides the setting. */
const summedOf = (settings: Settings): Settings['workload'] =>
  learnsFrom(settings) ? 'total' : settings.workload;

/** True if active people are counted, and nothing is summed. */
export const countsPeople = (settings: Settings): boolean => summedOf(settings) === 'active';

/** The library's option; empty for running totals, which are the default. */
export function workloadOf(settings: Settings): { workload?: Workload } {
  const { window, decay, sumMomentum: momentum } = settings;
  const workloads = {
    total: {},
    window: { workload: { window } },
    decay: { workload: { decay } },
    momentum: { workload: { momentum } },
    active: {},
  };
  return workloads[summedOf(settings)];
}

/** Horizon, sums and participation as the library's options. */
export const problemOf = (
  settings: Settings,
): { steps: number; workload?: Workload; participation?: Participation } => ({
  steps: settings.numSteps,
  ...workloadOf(settings),
  ...participationOf(settings),
});

export function weightsOf(settings: Settings): SumWeights {
  const { window, decay, sumMomentum: momentum } = settings;
  const summed = summedOf(settings);
  return {
    window: summed === 'window' ? window : Infinity,
    decay: summed === 'decay' ? decay : 1,
    momentum: summed === 'momentum' ? momentum : 0,
  };
}

/** Settings with which Figure 1 would show one of several sums, without a learner. */
export const settingsOfSum = (settings: Settings, { workload, value }: SumKind): Settings => ({
  ...settings,
  source: 'own',
  label: noLabel,
  workload,
  ...(workload === 'momentum' ? { sumMomentum: value } : { [workload]: value }),
});

interface SumWords {
  /** Beginning of a title. */
  title: string;
  /** Plural form. */
  plural: string;
  /** Singular form, after an adjective. */
  noun: string;
  /** Names the records that enter one sum. */
  counted: string;
}

export function wordsOf(settings: Settings): SumWords {
  const { window, decay, sumMomentum: momentum } = settings;
  const steps = window === 1 ? 'the last step' : `the last ${counted(window, 'step')}`;
  const words: Record<Settings['workload'], SumWords> = {
    total: {
      title: 'Running total',
      plural: 'Running totals',
      noun: 'total',
      counted: 'all records so far',
    },
    window: {
      title: `Sum of ${steps}`,
      plural: 'Windows',
      noun: 'sum',
      counted: `the records of ${steps}`,
    },
    decay: {
      title: `Decaying sum, half-life ${halfLifeText(decay)}`,
      plural: 'Decaying sums',
      noun: 'sum',
      counted: `all records so far, times ${quantity(decay)} for every step since`,
    },
    momentum: {
      title: `Sum with momentum ${quantity(momentum)}`,
      plural: 'Sums with momentum',
      noun: 'sum',
      counted: `all records so far, older ones more, up to ${quantity(1 / (1 - momentum))} times`,
    },
    active: {
      title: 'Active people',
      plural: 'Active people',
      noun: 'count',
      counted: 'the people of the last days',
    },
  };
  return words[summedOf(settings)];
}

/** Steps after which a record counts half as much. */
export const halfLifeOf = (decay: number): number => Math.LN2 / -Math.log(decay);

function halfLifeText(decay: number): string {
  const halfLife = quantity(halfLifeOf(decay));
  return `${halfLife} step${halfLife === '1' ? '' : 's'}`;
}

/** The decay with a half-life, to more digits than users enter. */
export const decayOf = (halfLife: number): number => Number((2 ** (-1 / halfLife)).toPrecision(12));
