// SPDX-License-Identifier: Apache-2.0

// The sentences beside the controls.

import type { StreamName } from 'dp-ftrl';
import { quantity } from '../page/format.ts';
import { parameterKeys, parameterSpecs, partsOf } from './parameters.ts';
import type { Key } from './settings.ts';

export const streamText: Record<StreamName, string> = {
  stationary: 'Labels follow a hidden direction that never moves: the easy case for a learner.',
  drifting:
    'Labels follow a hidden direction that goes once around: no fixed model is right for long.',
  switching:
    'The hidden direction changes sign again and again, the worst case for what was learned.',
  'heavy-tailed': 'Now and then a record is very long: clipping cuts it down.',
  sparse: 'Most entries of a record are zero.',
  adversarial:
    'Every example is the one that costs the private learner most, and its noise is paid in full.',
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
  delta: 'The slack in that promise. Keep it far below 1 / the number of records.',
  participations: 'The most records of one user, or the number of epochs. More of them need more noise.',
  minSeparation: 'Steps between two records of one user, j − i. The further apart, the less noise.',
  budget: 'The most that all releases of these records may spend together, at the same δ.',
  releases: 'How many such releases are planned, each with its own noise.',
  clipNorm:
    'Longer records or gradients are scaled down to this length, and the noise is proportional ' +
    'to it. Choose it without looking at the data.',
  numSteps: 'How many totals are published. The noise is made for exactly this many.',
  dimension: 'Entries of a record. Each gets noise of the same size.',
  streamSeed: 'Another seed, another stream of the same kind.',
  loss: 'Logistic learns to tell two classes apart, squared to predict a number.',
  noiseSeed:
    'Fixed, so that a link shows the same picture. A real release takes its key from the system.',
  ...Object.fromEntries(parameterKeys.map((key) => [key, parameterSpecs[partsOf(key).name].hint])),
};

/** `given`: what was asked for, null for the theorem's value; `used`: what is in force. */
export function lambdaText(given: number | null, used: { private: number; twin: number }): string {
  const meaning = 'How strongly the model is pulled towards its start, against the sums';
  if (given !== null) {
    return `${meaning}, for the twin too. “auto” makes the theorem’s bound smallest for each.`;
  }
  return (
    `${meaning}. “auto” makes the theorem’s bound smallest: ${quantity(used.private)} here, ` +
    `${quantity(used.twin)} for the twin.`
  );
}
