// SPDX-License-Identifier: Apache-2.0

// --l1 and --group-norm of dp-ftrl learn: sparsity penalties.

import type { ModelInput, PenaltyOptions } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { shortName } from '../../base/short-name.js';
import { unknownColumn } from '../../input/header.js';
import { matches } from '../../input/columns.js';
import type { Args } from '../../options/args.js';
import { NOT_NEGATIVE } from '../../options/numbers.js';

export const PENALTY_OPTIONS = {
  l1: {
    value: 'A',
    number: NOT_NEGATIVE,
    meaning:
      "adds A times the sum of the weights' absolute values to the mean loss of a step: a weight is " +
      '0 while the mean of its gradients, with their noise, is below A. For --domain ball, ' +
      'whole-space and box, not with --algorithm dp-gd; the intercept is not penalised. The zeros are in ' +
      'the latest weights (--average last). The guarantee is the same; a bound on the regret ' +
      'covers losses and penalty together',
  },
  'group-norm': {
    value: 'A',
    number: NOT_NEGATIVE,
    meaning:
      'the same with norms of groups of weights, which become 0 together; for --domain ball and ' +
      'whole-space. With softmax all classes of a feature are one group',
  },
  group: {
    value: 'NAMES',
    isName: true,
    repeats: true,
    meaning:
      'adjacent columns that form a group of --group-norm, such as one-hot columns of a category: ' +
      "'colour_*', where * stands for any letters; repeat for more. Each other feature is its own " +
      'group',
  },
};

/** A penalty before the columns are known. */
export interface Penalty {
  strength: number;
  /** Pattern of feature names for each group, in which `*` is a wildcard; undefined for l1. */
  groups: readonly string[] | undefined;
}

/** @throws Misuse for options that cannot be combined. */
export function readPenalty(args: Args): Penalty | undefined {
  const [l1, norm] = ['l1', 'group-norm'].map((name) => args.number(name));
  const strength = l1 ?? norm;
  const groups = args.texts('group');
  if (l1 !== undefined && norm !== undefined) {
    throw new Misuse('--l1 and --group-norm are two penalties: give one');
  }
  if (groups.length > 0 && norm === undefined) throw new Misuse('--group needs --group-norm');
  if (strength === undefined) return undefined;
  const name = l1 === undefined ? 'group-norm' : 'l1';
  if (args.text('algorithm') === 'dp-gd') {
    throw new Misuse(`--${name} does not go with --algorithm dp-gd`);
  }
  return { strength, groups: norm === undefined ? undefined : groups };
}

/** Indices of the features in a group, which must be consecutive. */
function membersOf(pattern: string, inputs: readonly ModelInput[]): number[] {
  const names = inputs.map(({ name }) => name);
  const members = names.flatMap((name, i) => (matches(pattern, name) ? [i] : []));
  if (members.length === 0) throw unknownColumn('feature in --group', pattern, names);
  const between = members.findIndex((member, i) => member !== members[0]! + i);
  if (between < 0) return members;
  const stranger = JSON.stringify(shortName(names[members[between - 1]! + 1]!));
  const what = `columns of --group ${JSON.stringify(pattern)} must be next to each other`;
  throw new Misuse(`${what}, but ${stranger} is between them: name them in order with --columns`);
}

/** Sizes of all groups; a feature that matches no pattern forms a group of size 1. */
function sizesOf(patterns: readonly string[], inputs: readonly ModelInput[]): number[] {
  const owners = new Map<number, string>();
  for (const pattern of patterns) {
    for (const member of membersOf(pattern, inputs)) {
      const other = owners.get(member);
      if (other !== undefined) {
        const name = JSON.stringify(shortName(inputs[member]!.name));
        throw new Misuse(
          `--group: ${name} is in both ${JSON.stringify(other)} and ${JSON.stringify(pattern)}`,
        );
      }
      owners.set(member, pattern);
    }
  }
  const sizes: number[] = [];
  inputs.forEach((_, i) => {
    const owner = owners.get(i);
    if (owner !== undefined && owners.get(i - 1) === owner) ++sizes[sizes.length - 1]!;
    else sizes.push(1);
  });
  return sizes;
}

/** The penalty on the features; the intercept is not penalised. */
export function penaltyFor(
  { strength, groups }: Penalty,
  { inputs, intercept }: { inputs: readonly ModelInput[]; intercept: boolean },
): PenaltyOptions {
  return {
    strength,
    ...(groups && inputs.length > 0 && { groups: sizesOf(groups, inputs) }),
    numUnpenalised: Number(intercept),
  };
}
