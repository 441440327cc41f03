// SPDX-License-Identifier: Apache-2.0

import type { Participation } from '../types/mechanism.js';
import type { Problem } from '../types/problem.js';

/** Returns the participation of a simulation or a learner in the words of problems. */
export function boundOf(given: Participation | undefined): NonNullable<Problem['participation']> {
  if (given === undefined || given === 'single') return 'once';
  return 'epochs' in given ? given : { times: given.participations, apart: given.minSeparation };
}
