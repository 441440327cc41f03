// SPDX-License-Identifier: Apache-2.0

// The sentences beside the controls.

import type { MechanismName, StreamName } from 'dp-ftrl';
import { quantity } from '../page/format.ts';
import { parameterKeys, parameterSpecs, partsOf } from './parameters.ts';
import type { Key } from './settings.ts';

export const mechanismText: Record<MechanismName, string> = {
  independent:
    'Fresh noise on every record. The totals add all of it up: small at first, then growing like ' +
    'the square root of the step.',
  output:
    'Fresh noise on every total. A record is in all later totals, so the noise must grow with ' +
    'the square root of the horizon, from the first step on.',
  tree:
    'Noise on the nodes of a binary tree over the steps; a total adds up at most one node of ' +
    'each height, so the error grows like log₂ n.',
  honaker:
    'The tree, using every finished node below a node as a second opinion about it. Nothing but ' +
    'what is already there, so it streams.',
  'honaker-full':
    'The tree, with the best estimate of every total that all its nodes together allow, also ' +
    'those that are finished later.',
  'tree-k':
    'A tree whose nodes have several children. With an odd number of them a total may also ' +
    'subtract nodes, and then needs fewer.',
  haar:
    'Noise on differences between the halves of longer and longer intervals, the Haar wavelets, ' +
    'each length weighted for the least mean error.',
  'smooth-tree':
    'Uses only those leaves of a binary tree that have equally many ones in their number, which ' +
    'is also how many nodes a total adds up: all carry the same noise.',
  'square-root':
    'Splits the summing matrix into two equal halves, its square root twice. The error grows ' +
    'only like ln n / π: in the worst step, the least of all that treat every step alike.',
  nu:
    'The square root with a past that fades, by a factor 1 − ν a step. A little of it lowers the ' +
    'mean error.',
  'normalized-square-root':
    'The square root with every column scaled to the same length, so that no record counts more ' +
    'than another. No total is noisier for it, and most are less noisy.',
  'group-algebra':
    'The square root on a circle of twice as many steps, cut open: every total carries noise of ' +
    'exactly the same size.',
  blt:
    'A few buffers that fade at different speeds stand in for the whole past: constant work and ' +
    'memory, and nearly the error of the square root. Chosen for the horizon unless given.',
  'blt-rational':
    'Buffers by a formula, from approximating the square root by a fraction of polynomials: only ' +
    'their number is to be chosen.',
  'banded-square-root':
    'Keeps the first few diagonals of the square root. It remembers no more than that, and pays ' +
    'once the totals are much longer than the bands.',
  'banded-inverse-square-root':
    'Keeps the first few diagonals of the inverse of the square root: the noise of a step is a ' +
    'short mixture of the latest draws.',
  'lambda-cgd':
    'Takes back a share λ of the last step’s noise. One earlier draw is all it remembers; the ' +
    'error grows like the fourth root of the horizon.',
  hybrid:
    'For a stream whose end is not known: time runs in blocks of doubling length, a finished ' +
    'block becomes one noisy number, and the running one has a mechanism of its own.',
  optimal:
    'The least error that any factorization can have, found with a proof, and streamed with a few ' +
    'buffers whose weights change from step to step.',
  'blt-scaled':
    'Buffers with decays that stay the same, every row of the matrix scaled before its columns get ' +
    'the same length: within a percent of the least error there is.',
  'blt-normalized':
    'Buffers with decays that stay the same, chosen for the horizon, and every column scaled to ' +
    'the same length.',
  'banded-toeplitz':
    'A few diagonals, chosen for the horizon so that the error is as small as so few allow.',
  banded:
    'A few diagonals whose entries change from step to step, every column of the same length, ' +
    'chosen for the horizon.',
  'log-perturbed':
    'The square root bent by logarithms, so that a record weighs little however long the stream ' +
    'goes on. Its noise is made for a cap far beyond the horizon.',
};

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
  ...Object.fromEntries(parameterKeys.map((key) => [key, parameterSpecs[partsOf(key).name].hint])),
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
