// SPDX-License-Identifier: Apache-2.0

// Warnings about the guarantee and the numbers of a release, printed before its first row and in a
// dry run.

import type { Step as Reading } from '../../../types/streams/readings.js';
import { boundNotice, publicCount } from '../../input/protection.js';
import { edgeNotice } from '../../input/time.js';
import { whatIsProtected } from '../../options/strategy.js';
import { SEEDED, warn, warnNotPrivate } from '../../output/notices.js';
import { warnWeak } from '../../output/weak.js';
import type { PlannedRun } from './question.js';

/** Warns about a run; returns the warnings about its numbers, which its figure repeats. */
export function warnBefore<R extends Reading>(run: PlannedRun<R>): readonly string[] {
  const { question, settings, prepared, opened } = run;
  const { command, participation, people, times, seed, showTrue, quiet, isEndless } = settings;
  const { chosen, problem } = prepared;
  const { certificate } = opened.stream;
  const protects = { participation, people, times, numSteps: problem.steps, isEndless };
  warnWeak(command, certificate, publicCount(protects));
  warnNotPrivate(command, {
    [SEEDED]: seed !== undefined,
    '--show-nonprivate adds sums without noise': showTrue,
  });
  const other = whatIsProtected(participation, chosen, certificate.optimisedFor);
  if (other !== undefined) warn(command, other);
  const notices = [
    times && edgeNotice(times, opened.stepping.numBefore > 0),
    ...(question.notices?.(run) ?? []),
    boundNotice(protects),
  ].filter((it) => it !== undefined);
  if (!quiet) notices.forEach((notice) => warn(command, notice));
  return notices;
}
