// SPDX-License-Identifier: Apache-2.0

// Figure 6: mean and spread of a column, counts of categories, or several sums, after every step.

import type { Settings } from '../controls/settings.ts';
import { wordsOf } from '../controls/workload.ts';
import { limitOf } from '../controls/data-panel.ts';
import type { StatisticTable } from '../data/statistic-choice.ts';
import { count, counted, quantity, scientific, unbroken } from '../base/format.ts';
import type { Lane } from '../run/run.ts';
import type { StatisticRelease } from './statistic-release.ts';
import type { TracksKind } from './tracks-figure.ts';

/** Confidence of the intervals, the default of the library. */
const confidence = 0.95;
/**
 * Fraction of the steps, at the beginning, that the axes ignore, because their intervals may be as
 * wide as the range.
 */
const early: Record<Settings['statistic'], number> = { moments: 0.1, histogram: 0.1, sums: 0 };

/** A table, with the settings and the mechanism of the run. */
export interface StatisticView {
  settings: Settings;
  lane: Lane;
  table: StatisticTable;
}

/** Describes whose records are protected, and which of their properties. */
function hiddenText({ neighbours, person, participation, participations }: Settings): string {
  const isOne = participation === 'single' || participations === 1;
  const counts = person === '' ? '' : isOne ? ' that counts' : ' that count';
  const records = `${isOne ? 'one record' : `up to ${counted(participations, 'record')}`}${counts}`;
  const who = person === '' ? 'user' : 'person';
  const says = isOne ? 'it says' : 'they say';
  const whose =
    isOne && person === ''
      ? 'any one record was there'
      : `any one ${who} was there, with ${records}`;
  return neighbours === 'zero-out'
    ? `whether ${whose}, and what ${says}`
    : `whether ${whose}, what ${says}, and which of any two it was`;
}

/**
 * Explains what is protected, what the intervals mean, and what the release costs in addition to
 * Figure 1.
 */
function noteOf(settings: Settings, { tracks, about, secret }: StatisticRelease): string {
  const { epsilon, delta, deployed, source, statistic } = settings;
  const { counted: covered } = wordsOf(settings);
  const what = {
    moments: `Mean, standard deviation and number cover ${covered}`,
    histogram: `The counts of all categories cover ${covered}`,
    sums: `These ${tracks.length} sums come from one noisy measurement of the records`,
  }[statistic];
  const axes =
    statistic !== 'moments'
      ? ''
      : ' Early intervals may be as wide as the range; the axes fit the last nine tenths of the steps.';
  const twice =
    source === 'synthetic' ? '' : ' Publishing Figure 1 too would spend the same budget again.';
  const share = `1/${tracks.length}`;
  const comparison =
    statistic !== 'sums' ? '' : ` ${about} ${share} of the budget is ${share} of μ².`;
  const said = deployed || secret === '' ? '' : ` Secret: ${secret}`;
  return (
    `${what}, and are published after every step. All of them together hide ` +
    `${hiddenText(settings)}, at ${unbroken(`ε = ${quantity(epsilon)}`)} and ${unbroken(`δ = ${scientific(delta)}`)}. Each interval contains the value ` +
    `without noise with ${quantity(100 * confidence)} % confidence.${axes}${comparison}${twice}${said}`
  );
}

export const statistics: TracksKind<StatisticView, StatisticRelease> = {
  // Another lane means another run, with other records or other noise.
  keyOf: ({ settings, lane, table }) => [lane, JSON.stringify([settings.statistic, table.choice])],
  async release(engine, view) {
    const { releaseStatistic } = await import('./statistic-release.ts');
    return releaseStatistic(engine, { ...view, limit: limitOf(view.settings) });
  },
  note: ({ settings }, released) => noteOf(settings, released),
  look: ({ settings }) => ({
    from: early[settings.statistic],
    unit: 'step',
    at: (step) => `step ${count(step)}`,
  }),
  sharesAxis: ({ settings }) => settings.statistic === 'histogram',
};
