// SPDX-License-Identifier: Apache-2.0

// The sentences beside the controls.

import type { MechanismName, StreamName } from 'dp-ftrl';
import { quantity } from './format.ts';
import type { Key } from './settings.ts';

export const mechanismText: Record<MechanismName, string> = {
  'square-root':
    'Splits the summing matrix into two equal halves, its square root twice. The error grows ' +
    'only like ln n / π: of the five, the lowest in the worst step.',
  honaker:
    'The tree, using every finished node below a node as a second opinion about it. Nothing but ' +
    'what is already there, so it streams.',
  tree:
    'Noise on the nodes of a binary tree over the steps; a total adds up at most one node of ' +
    'each height, so the error grows like log₂ n.',
  output:
    'Fresh noise on every total. A record is in all later totals, so the noise must grow with ' +
    'the square root of the horizon, from the first step on.',
  independent:
    'Fresh noise on every record. The totals add all of it up: small at first, then growing like ' +
    'the square root of the step.',
};

export const streamText: Record<StreamName, string> = {
  stationary: 'Labels follow a hidden direction that never moves: the easy case for a learner.',
  drifting:
    'Labels follow a hidden direction that goes once around: no fixed model is right for long.',
  switching:
    'The hidden direction changes sign again and again, the worst case for what was learned.',
};

export const neighboursText = {
  'zero-out': 'Hides whether a record is there or is all zeros. The convention of the field.',
  'replace-one':
    'Hides which of any two records it is. They may be two clip norms apart, so there is twice ' +
    'the noise.',
};

export const hints: Partial<Record<Key, string>> = {
  compare: 'Lays a second mechanism beside the first: same records, same privacy, same seeds.',
  epsilon:
    'Seeing all releases changes the odds of any guess about one record by a factor of at most ' +
    'e to the ε, but for δ. Smaller is more private and noisier.',
  delta: 'The slack in that promise. Keep it far below one in the number of records.',
  clipNorm:
    'Longer records or gradients are scaled down to this length, and the noise is proportional ' +
    'to it. Choose it without looking at the data.',
  numSteps: 'How many totals are published. The noise is made for this many; then it ends.',
  dimension: 'Entries of a record. Each gets noise of the same size.',
  streamSeed: 'Another seed, another stream of the same kind.',
  loss: 'Logistic learns to tell two classes apart, squared to predict a number.',
  noiseSeed:
    'Fixed, so that a link shows the same picture. A real release takes its key from the system.',
};

/** `given`: what was asked for, null for the theorem's value; `used`: what is in force. */
export function lambdaText(given: number | null, used: { private: number; twin: number }): string {
  const meaning = 'How strongly the model is pulled to the start, against the sums';
  if (given !== null) {
    return `${meaning}, for the twin too. “auto” makes the theorem’s bound smallest for each.`;
  }
  return (
    `${meaning}. “auto” makes the theorem’s bound smallest: ${quantity(used.private)} here, ` +
    `${quantity(used.twin)} for the twin.`
  );
}
