// SPDX-License-Identifier: Apache-2.0

// The participation of the command's options, in the words of streams.

import type { Participation } from '../../../types/all.js';
import type { Bound } from '../../../types/streams/options.js';

export function boundOf(participation: Participation): Bound | { epochs: number } {
  if (participation === 'single') return 'once';
  if ('epochs' in participation) return participation;
  const { participations, minSeparation } = participation;
  return { times: participations, apart: minSeparation };
}
