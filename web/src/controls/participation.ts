// SPDX-License-Identifier: Apache-2.0

// The number of records that one user may contribute, as the library's option and in words.

import type { Certificate, Participation } from 'dp-ftrl';
import { counted, quantity } from '../base/format.ts';
import type { Settings } from './settings.ts';

type ParticipationSettings = Pick<Settings, 'participation' | 'participations' | 'minSeparation'>;

/** The library's option; empty if each user has one record, which is the default. */
export function participationOf(wanted: ParticipationSettings): { participation?: Participation } {
  const { participation, participations, minSeparation } = wanted;
  if (participation === 'single' || (participation === 'separated' && participations === 1))
    return {};
  return participation === 'epochs'
    ? { participation: { epochs: participations } }
    : { participation: { times: participations, apart: minSeparation } };
}

/**
 * Describes the participation bound. `enforced` is true if a column identifies the person of each
 * row.
 */
export function participationText(
  wanted: ParticipationSettings,
  numSteps: number,
  enforced: boolean,
): string {
  const { participation, participations, minSeparation } = wanted;
  const times = counted(participations, 'record');
  if (participation === 'epochs') {
    const length = numSteps / participations;
    const each = Number.isInteger(length) ? `, each of ${counted(length, 'step')}` : '';
    return (
      `You promise that a user has a record in each of ${counted(participations, 'epoch')}${each}, ` +
      'always at the same place; the noise hides all of them.'
    );
  }
  const one = participation === 'single' ? 'one record' : `at most ${times}`;
  const first = participation === 'single' ? 'One record' : `At most ${times}`;
  const apart =
    participation === 'single' || participations === 1 || minSeparation === 1
      ? ''
      : `, at least ${counted(minSeparation, 'step')} apart`;
  if (enforced) {
    const counts = participation === 'single' || participations === 1 ? 'counts' : 'count';
    return `${first} of each person ${counts}${apart}.`;
  }
  const all = participation === 'single' || participations === 1 ? 'it' : 'all of them';
  return `You promise that a user has ${one}${apart}; the noise hides ${all}.`;
}

/** States what the bound costs with each mechanism. */
export function sensitivityText(certificates: readonly Certificate[]): string {
  const texts = certificates.map(({ sensitivity, sensitivityExactness, noiseStddev }) => {
    const exact = sensitivityExactness === 'exact' ? 'exact' : 'an upper bound';
    return `sensitivity ${quantity(sensitivity, 4)} (${exact}), σ ${quantity(noiseStddev, 4)}`;
  });
  if (texts.length === 1) return ` Now: ${texts[0]}.`;
  return ` Now: A ${texts[0]}; B ${texts[1]}.`;
}
