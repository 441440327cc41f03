// SPDX-License-Identifier: Apache-2.0

// Sentences about what a run has shown so far.

import { nameOf } from '../controls/mechanisms.ts';
import { wordsOf } from '../controls/workload.ts';
import { inUnit } from '../data/units.ts';
import { curvesOf } from '../figures/learner-curves.ts';
import { learningAt } from '../figures/learning-figure.ts';
import type { SumsFigure } from '../figures/sums-figure.ts';
import { count, counted, percent, quantity } from '../base/format.ts';
import type { Run } from '../run/run.ts';

/** Describes how the band and the learner have done; all of it is secret. */
export function factsOf(run: Run, sums: SumsFigure): string {
  const two = run.lanes.length > 1;
  const name = (lane: number): string => (two ? `${lane === 0 ? 'A' : 'B'} ` : '');
  const inside = sums.tracks.map(({ numInside }, i) => name(i) + percent(numInside / run.step));
  const beyond = sums.tracks.flatMap(({ view, numBeyond }, i) =>
    view.simultaneous === undefined
      ? []
      : [name(i) + (numBeyond === 0 ? 'none' : count(numBeyond))],
  );
  const text =
    `The band held the true ${wordsOf(run.settings).noun} in ${inside.join(' and ')} of the steps.` +
    (beyond.length > 0 ? ` Steps outside the wide band: ${beyond.join(', ')}.` : '');
  if (!run.first.info.classifies) return text;
  const right = curvesOf(run).map(
    (curve) => `${curve.short} ${percent(learningAt(curve, 'accuracy', run.step))}`,
  );
  return `${text} Predictions right so far: ${right.join(', ')}.`;
}

/** Summarises a run for users who cannot see the charts. */
export function summaryOf(run: Run, sums: SumsFigure, deployed: boolean): string {
  if (run.step === 0) return `${counted(run.numSteps, 'step')} ahead.`;
  const parts = sums.tracks.map(({ view }, i) => {
    const at = view.at(run.step - 1);
    const name = run.lanes.length > 1 ? `${nameOf(run.lanes[i]!.mechanism)}: ` : '';
    const truth = deployed ? '' : `, true ${wordsOf(run.settings).noun} ${quantity(at.truth, 3)}`;
    return `${name}release ${quantity(at.release, 3)} ± ${quantity(at.band, 3)}${truth}`;
  });
  return `After ${counted(run.step, 'step')}${inUnit(sums.unit)}: ${parts.join('; ')}.`;
}

/** Explains whose gradients are summed when learners compute them. */
export function recordsText(run: Run): string {
  if (!run.sharesStart) {
    return 'Sums of the learner’s own clipped gradients: what it releases, and all it learns from.';
  }
  return (
    'Sums of the gradients at weights 0, where all learners start, with the noise of each: ' +
    'later gradients differ.'
  );
}
