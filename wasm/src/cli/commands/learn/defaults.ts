// SPDX-License-Identifier: Apache-2.0

// Defaults of dp-ftrl learn, and the messages about them.

import { classifies } from '../../../api/learning/loss.js';
import { slopeSquared, type Rates } from '../../../api/learning/setup.js';
import type { DpFtrl, LearnPlanOptions, LossName } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { counted } from '../../../shared/counted.js';
import { lossOf, type LearnerSettings, type LossSettings } from '../../options/learner.js';

/** Explains how labels that are numbers of any size are bounded. */
export const BOUNDS_LABEL =
  '--clip C bounds what a label does, as the gradient is the error of its prediction times the row ' +
  '(of norm at most the root of 1 + features, with ranges); divide large labels by a known bound first';

/** Setup of a run without a clip norm. */
export type Setup = NonNullable<LearnPlanOptions['setup']>;

type Target = LossSettings & Pick<LearnPlanOptions, 'epsilon' | 'delta' | 'neighbours'>;
type PlanOptions = Pick<LearnPlanOptions, 'setup' | 'rates' | 'rows' | 'batchSize' | 'dimension'>;

/** Options of the learner; if one is given, only the clip norm is chosen by default. */
const OF_LEARNER = [
  ...['domain', 'radius', 'regularisation', 'doubling', 'descent', 'mode'],
  ...['l1', 'group-norm'],
];
const OF_PASSES = ['steps', 'batch', 'state'];

/** Returns the setup of a run, or undefined if a clip norm is given. */
export function setupOf(
  has: (option: string) => boolean,
  {
    loss,
    isFile,
    mechanismOptions,
  }: {
    loss: LossName | 'softmax';
    isFile: boolean;
    /** Names of options for the mechanism and the participation. */
    mechanismOptions: readonly string[];
  },
): Setup | undefined {
  if (has('clip')) return undefined;
  const others = [...OF_LEARNER, ...mechanismOptions, 'passes'];
  if (!classifies(loss) || others.some(has)) return 'unclipped';
  return isFile && !OF_PASSES.some(has) ? 'table' : 'stream';
}

/** Returns what the library plans. */
function planned(dp: DpFtrl, target: Target, facts: PlanOptions): LearnerSettings {
  const { epsilon, delta, neighbours } = target;
  const same = { loss: lossOf(target), epsilon, delta, ...(neighbours && { neighbours }) };
  return dp.learnPlan({ ...same, ...facts }).options;
}

/** Returns the default number of passes over the rows. */
export function passesOf(dp: DpFtrl, setup: Setup | undefined, target: Target): number {
  if (setup !== 'table') return 1;
  return planned(dp, target, { setup, rows: 1, dimension: 1 }).steps;
}

/** Returns the options chosen for a setup. */
export function optionsFor(
  dp: DpFtrl,
  setup: Setup,
  {
    target,
    rates,
    ...facts
  }: {
    target: Target;
    /** Rate schedule for a table. */
    rates?: Rates | undefined;
    rows: number;
    batchSize: number;
    dimension: number;
  },
): LearnerSettings {
  if (slopeSquared(lossOf(target)) === Infinity) {
    throw new Misuse(`--loss ${target.loss} has unbounded slopes: give --clip; ${BOUNDS_LABEL}`);
  }
  return planned(dp, target, { setup, ...(rates && { rates }), ...facts });
}

/** Describes the passes over a table. */
export function passesText({ steps, descent }: LearnerSettings): string {
  const why = 'steps of all rows, for whose sum independent noise is the smallest';
  const fall = descent?.rates ? ' and rates that fall linearly to 0' : '';
  return `set up for a whole table: ${steps} ${why}, with momentum${fall}`;
}

/** Describes the chosen settings and what they depend on. */
export function reasonFor(
  dp: DpFtrl,
  setup: Setup,
  {
    target,
    how,
    numRows,
  }: {
    target: Target;
    how: LearnerSettings;
    numRows: number;
  },
): string {
  if (setup === 'unclipped') {
    return 'clip norm: the longest possible gradient, so none is clipped';
  }
  const { dimension } = how;
  const facts = { setup: 'unclipped', rows: numRows, dimension } as const;
  const share = how.clip! / planned(dp, target, facts).clip!;
  const common =
    `clipped to ${Number(share.toPrecision(2))} of the longest possible gradient, unbounded weights, ` +
    `rate set by ${counted(numRows, 'row')}, ${counted(how.dimension, 'weight')} per score, epsilon and delta`;
  if (setup === 'stream') return `set up for one pass: ${common}`;
  return `${passesText(how)}; ${common}`;
}
