// SPDX-License-Identifier: Apache-2.0

// The mechanisms offered on the page, in groups, each with the text shown beside the control.

import type { MechanismName } from 'dp-ftrl';

/** Fresh noise on every record, with which a single mechanism is compared. */
export const baseline = 'independent';

interface Entry {
  /** Title of the group. */
  group: string;
  /** Name on the page. Default: the name in the catalogue. */
  shown?: string;
  text: string;
}

/** Mechanisms in the order of the control. */
const entries: Readonly<Record<MechanismName, Entry>> = {
  optimal: {
    group: 'The best there is',
    text:
      'Nearly the least error that any factorization can have, with a proven gap, streamed with a ' +
      'few buffers whose weights change from step to step.',
  },
  independent: {
    group: 'Baselines',
    shown: 'fresh noise',
    text:
      'Fresh noise on every record. The totals add all of it up: small at first, then growing like ' +
      'the square root of the step.',
  },
  output: {
    group: 'Baselines',
    text:
      'Fresh noise on every total. A record is in all later totals, so the noise must grow with ' +
      'the square root of the horizon, from the first step on.',
  },
  tree: {
    group: 'Trees',
    text:
      'Noise on the nodes of a binary tree over the steps; a total adds up at most one node of ' +
      'each height, so the error grows like log₂ n.',
  },
  honaker: {
    group: 'Trees',
    text:
      'The tree, refining each node with the finished nodes below it. It uses only past nodes, ' +
      'so it can be streamed.',
  },
  'honaker-full': {
    group: 'Trees',
    text:
      'The tree, with the best estimate of every total from all its nodes, including those ' +
      'finished later.',
  },
  'tree-k': {
    group: 'Trees',
    text:
      'A tree whose nodes have several children. With an odd number of them a total may also ' +
      'subtract nodes, and then needs fewer.',
  },
  haar: {
    group: 'Trees',
    text:
      'Noise on differences between the halves of longer and longer intervals, the Haar wavelets, ' +
      'each length weighted for the least RMS error.',
  },
  'square-root': {
    group: 'Toeplitz',
    shown: 'square root',
    text:
      'Splits the summing matrix into two equal factors, its square roots. The error grows only ' +
      'like ln n / π: in the worst step, the least of all that treat every step alike.',
  },
  nu: {
    group: 'Toeplitz',
    shown: 'fading square root',
    text:
      'The square root with a past that fades by a factor 1 − ν per step. A little fading lowers ' +
      'the RMS error.',
  },
  'normalized-square-root': {
    group: 'Toeplitz',
    shown: 'normalized square root',
    text:
      'The square root with every column scaled to the same length, so that no record counts more ' +
      'than another. No total gets noisier, and most get less noisy.',
  },
  'blt-scaled': {
    group: 'Short memory',
    text:
      'Buffers with constant decays, every row of the matrix scaled before its columns get the ' +
      'same length: within a percent of the least possible error.',
  },
  'blt-normalized': {
    group: 'Short memory',
    text:
      'Buffers with constant decays, chosen for the horizon, and every column scaled to the same ' +
      'length.',
  },
  blt: {
    group: 'Short memory',
    text:
      'A few buffers that fade at different speeds replace the whole past: constant work and ' +
      'memory, and nearly the error of the square root. Chosen for the horizon unless given.',
  },
  'blt-rational': {
    group: 'Short memory',
    text:
      'Buffers from a formula, a rational approximation of the square root: only their number is ' +
      'chosen.',
  },
  'banded-toeplitz': {
    group: 'Short memory',
    text: 'A few diagonals, chosen for the horizon so that the error is the least for that number.',
  },
  banded: {
    group: 'Short memory',
    text:
      'A few diagonals whose entries change from step to step, every column of the same length, ' +
      'chosen for the horizon.',
  },
  'banded-square-root': {
    group: 'Short memory',
    shown: 'banded square root',
    text:
      'Keeps the first few diagonals of the square root. It remembers no more, so the error ' +
      'grows once the totals are much longer than the bands.',
  },
  'banded-inverse-square-root': {
    group: 'Short memory',
    shown: 'banded inverse square root',
    text:
      'Keeps the first few diagonals of the inverse of the square root: the noise of a step is a ' +
      'short mixture of the latest draws.',
  },
  'lambda-cgd': {
    group: 'Short memory',
    text:
      'Takes back a share λ of the last step’s noise. It remembers only one earlier draw; the ' +
      'error grows like the fourth root of the horizon.',
  },
  'log-perturbed': {
    group: 'Unknown horizon',
    text:
      'The square root modified by logarithms, so that a record weighs little however long the ' +
      'stream is. Its noise is made for a cap far beyond the horizon.',
  },
};

export const mechanismNames = Object.keys(entries) as MechanismName[];

export const mechanismGroups: readonly { title: string; names: readonly MechanismName[] }[] = [
  ...new Set(Object.values(entries).map(({ group }) => group)),
].map((title) => ({
  title,
  names: mechanismNames.filter((name) => entries[name].group === title),
}));

export const nameOf = (mechanism: MechanismName): string => entries[mechanism].shown ?? mechanism;

/** The name on the page and, if it differs in more than hyphens, the one in the catalogue. */
export function listedName(mechanism: MechanismName): string {
  const name = nameOf(mechanism);
  return name === mechanism.replaceAll('-', ' ') || name === mechanism
    ? name
    : `${name} (${mechanism})`;
}

export const textOf = (mechanism: MechanismName): string => entries[mechanism].text;
