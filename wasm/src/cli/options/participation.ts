// SPDX-License-Identifier: Apache-2.0

// Promises about how often a user contributes.

import { counted } from '../../shared/counted.js';
import type { Participation } from '../../types/all.js';
import { Misuse } from '../base/failure.js';
import type { Args } from './args.js';
import { COUNT } from './numbers.js';
import { under } from './option.js';

export const PARTICIPATION_OPTIONS = under('Promises about users', {
  epochs: {
    value: 'K',
    number: COUNT,
    meaning:
      'each user once in each of K epochs of N/K steps, always in the same place. Default: each ' +
      'user once',
    brief: 'each user once in each of K epochs; default: each user once',
  },
  participations: {
    value: 'K',
    number: COUNT,
    meaning: 'each user at most K times, at steps i < j with j - i >= S of --min-separation',
  },
  'min-separation': {
    value: 'S',
    number: COUNT,
    meaning: 'with --participations: the least distance of two steps of a user',
  },
});

export function readParticipation(args: Args): Participation {
  const epochs = args.number('epochs');
  const times = args.number('participations');
  const apart = args.number('min-separation');
  if (epochs !== undefined) {
    const other = ['participations', 'min-separation'].find((name) => args.has(name));
    if (other !== undefined) throw new Misuse(`give --epochs or --${other}, not both`);
    return { epochs };
  }
  if (times === undefined && apart === undefined) return 'once';
  if (times === undefined) throw new Misuse('--min-separation needs --participations');
  if (apart === undefined) throw new Misuse('--participations needs --min-separation');
  return { times, apart };
}

/** A participation pattern in words. */
export function participationText(participation: Participation): string {
  if (participation === 'once') return 'single participation';
  if ('epochs' in participation) return counted(participation.epochs, 'epoch');
  const { times, apart } = participation;
  return `at most ${counted(times, 'participation')} at least ${counted(apart, 'step')} apart`;
}
