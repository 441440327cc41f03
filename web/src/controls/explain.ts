// SPDX-License-Identifier: Apache-2.0

// Explanations shown beside the controls.

import type { StreamName } from 'dp-ftrl';
import { MAX_QUICK_DENSE_STEPS } from '../../../wasm/src/shared/defaults.ts';
import { quantity } from '../base/format.ts';
import { parameterKeys, parameterSpecs, partsOf } from './parameters.ts';
import type { SettingKey, Settings } from './settings.ts';
import { countsPeople, learnsFrom, workloadOf } from './workload.ts';

export const streamText: Record<StreamName, string> = {
  stationary: 'Labels follow a hidden direction that never moves: the easy case for a learner.',
  drifting:
    'Labels follow a hidden direction that goes once around: no fixed model is right for long.',
  switching:
    'The hidden direction changes sign again and again, the worst case for what was learned.',
  'heavy-tailed': 'Occasionally a record is very long and is clipped.',
  sparse: 'Most entries of a record are zero.',
  adversarial:
    'Every example is the one that costs the private learner most, and its noise is paid in full.',
};

const neighboursText = {
  'zero-out': 'Hides whether a record is there or is all zeros. The usual convention.',
  'replace-one':
    'Hides which of any two records it is. They may be two clip norms apart, so there is twice ' +
    'the noise.',
};

const neighboursOfPeople = {
  'zero-out': 'Hides whether a person was ever there, with all of their events.',
  'replace-one': 'Also hides what a person would have done instead, at about twice the noise.',
};

export const hints: Partial<Record<SettingKey, string>> = {
  compare: 'Compares a second mechanism on the same records, with the same privacy and seeds.',
  epsilon:
    'Seeing all releases changes the odds of any guess about one record by a factor of at most ' +
    'e to the ε, with a slack of δ. Smaller is more private and noisier.',
  delta: 'The slack in that guarantee. Keep it far below 1 / the number of records.',
  participations:
    'The most records of one user, or the number of epochs. More of them need more noise.',
  minSeparation:
    'Fewest steps between two records of one user, j − i. The further apart, the less noise.',
  window:
    'Number of latest steps that a release sums. A window as long as the horizon is the running total. Older ' +
    'records stay protected, though no release counts them any more.',
  decay: 'The same as a factor: with every step, the weight of a record is multiplied by it.',
  sumMomentum:
    'Share of each step’s increment that the next step adds again, above 0 and below 1: a record ' +
    'counts once, later up to 1 / (1 − momentum) times.',
  budget: 'The most that all releases of these records may spend together, at the same δ.',
  releases: 'How many such releases are planned, each with its own noise.',
  clipNorm:
    'Longer records or gradients are scaled down to this length, and the noise is proportional ' +
    'to it. Choose it without looking at the data.',
  numSteps: 'How many totals are published. The noise is made for exactly this many.',
  dimension: 'Entries of a record. Each gets noise of the same size.',
  streamSeed: 'Another seed gives another stream of the same kind.',
  loss: 'Logistic learns to tell two classes apart, squared to predict a number.',
  rule:
    'FTRL recomputes the weights from each total; gradient descent updates them by the difference of two ' +
    'totals. Both see only the totals, and are as private.',
  momentum:
    'Share of its last update that descent repeats, from 0 to below 1. At 0 it agrees with FTRL ' +
    'until the weights are projected.',
  noiseSeed:
    'Fixed, so that a link shows the same picture; for your own data random and in no link. A real ' +
    'release takes its key from the system.',
  measured: 'The column to measure, with one number per record.',
  range:
    'Lowest and highest value, as in 0:90; others are clipped to it. It is public: take it from what you know, ' +
    'never from the records. A narrow range needs less noise.',
  category: 'The column that names the category.',
  domain:
    'Separated by commas; anything else counts as “other”. They are public: categories taken from the ' +
    'records would reveal who is in them.',
  together:
    'Separated by commas: total, window=30 (steps), decay=0.98 (factor per step), momentum=0.9. All of them ' +
    'come from one noisy measurement and share one budget.',
  ...Object.fromEntries(parameterKeys.map((key) => [key, parameterSpecs[partsOf(key).name].hint])),
};

/** Explains a setting of the guarantee, which protects people if active people are counted. */
export function privacyText(key: 'epsilon' | 'delta' | 'neighbours', settings: Settings): string {
  const isOfPeople = countsPeople(settings);
  if (key === 'neighbours') {
    return (isOfPeople ? neighboursOfPeople : neighboursText)[settings.neighbours];
  }
  const text = hints[key]!;
  if (!isOfPeople) return text;
  return text
    .replace('all releases', 'all counts')
    .replace('one record', 'one person')
    .replace('records', 'people');
}

const workloadTexts: Record<Settings['workload'], string> = {
  total: 'A release adds up all records so far.',
  window:
    'A release adds up the records of the latest steps only. The noise is made for that; ' +
    `beyond ${MAX_QUICK_DENSE_STEPS} steps the search for the optimal one is slow.`,
  decay: 'A record counts less with every step. The noise is made for exactly these weights.',
  momentum:
    'Every step adds its records and a share of the previous increment, like gradient descent ' +
    'with momentum. The noise is made for exactly these weights.',
  active:
    'A release counts the people of the last day, 7 days and 30 days. Everything that one person ' +
    'does is protected, however often.',
};

/** Explains what a release sums, or why the choice of sums has no effect. */
export function workloadText(settings: Settings): string {
  if (!learnsFrom(settings)) return workloadTexts[settings.workload];
  const how =
    settings.source === 'synthetic'
      ? 'For windows and decaying sums choose an example or your own CSV, without a label'
      : 'Windows and decaying sums need data without a label';
  const ignored = settings.workload === 'total' ? 'Learners' : 'Ignored here: learners';
  return `${ignored} need running totals. ${how}.`;
}

/** Names the records that a statistic is computed from. */
export const statisticText = ({ source }: Settings): string =>
  (source === 'synthetic' ? 'Of synthetic visitors, one per step' : 'Of the records of Figure 1') +
  ', with the mechanism, ε, δ and noise seed of the settings above.';

/** Qualifies the texts about mechanisms, which are written for running totals. */
export const aboutMechanism = (settings: Settings): string =>
  workloadOf(settings).workload === undefined
    ? ''
    : ' This describes running totals; Figure 4 shows the errors for this sum.';

type Lambda = Readonly<{ private: number; twin: number }>;

/**
 * `given` is the requested value, or null for the value of the regret theorem; the second argument
 * holds the values in effect, one per rule.
 */
export function lambdaText(given: number | null, [first, second]: readonly Lambda[]): string {
  const meaning = 'Strength of the regularisation towards the starting point';
  if (given !== null) {
    return `${meaning}, for the twin too. “auto” minimises the theorem’s bound for each.`;
  }
  const values = (used: Lambda, where: string): string =>
    `${quantity(used.private)} ${where}, ${quantity(used.twin)} for ${where === 'here' ? 'the' : 'its'} twin`;
  const found =
    second === undefined
      ? values(first!, 'here')
      : `${values(first!, 'for FTRL')}; ${values(second, 'for descent')}`;
  return `${meaning}. “auto” minimises the theorem’s bound: ${found}.`;
}
