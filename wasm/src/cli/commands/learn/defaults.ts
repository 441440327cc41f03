// SPDX-License-Identifier: Apache-2.0

// Defaults of dp-ftrl learn, and the messages about them.

import { classifies } from '../../../api/learning/loss.js';
import { slopeSquared, type Rates } from '../../../api/learning/setup.js';
import type { Algorithm, DpFtrl, LearnPlanOptions, LossName } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { counted } from '../../../shared/counted.js';
import { lossOf, type LearnerSettings, type LossSettings } from '../../options/learner.js';

/** Explains how the influence of labels without a bound is limited. */
export const BOUNDS_LABEL =
  '--clip C bounds what a label does, as the gradient is the error of its prediction times the row ' +
  '(of norm at most the root of 1 + features, with ranges); divide large labels by a known bound first';

/** Setup of a run without a clip norm. */
export type Setup = NonNullable<LearnPlanOptions['setup']>;

type LearnTarget = LossSettings & Pick<LearnPlanOptions, 'epsilon' | 'delta' | 'neighbours'>;
type PlanOptions = Pick<LearnPlanOptions, 'setup' | 'rates' | 'rows' | 'batchSize' | 'dimension'>;

/** Options of the learner; with any of them, only the clip norm is chosen by default. */
const OF_LEARNER = [
  ...['domain', 'radius', 'regularisation', 'doubling', 'momentum', 'momentum-through'],
  ...['rates', 'mode', 'l1', 'group-norm'],
];
const OF_PASSES = ['steps', 'batch', 'state'];

/** Undefined if a clip norm is given. */
export function setupOf(
  has: (option: string) => boolean,
  {
    algorithm,
    loss,
    isFile,
    mechanismOptions,
  }: {
    algorithm: Algorithm;
    loss: LossName | 'softmax';
    isFile: boolean;
    /** Names of the options for the mechanism and for the participation pattern. */
    mechanismOptions: readonly string[];
  },
): Setup | undefined {
  if (has('clip')) return undefined;
  const others = [...OF_LEARNER, ...mechanismOptions, 'passes'];
  if (!classifies(loss) || others.some(has)) return 'unclipped';
  const isTable = isFile && !OF_PASSES.some(has);
  if (algorithm !== 'dp-gd') return isTable && algorithm === 'auto' ? 'table' : 'stream';
  return isTable ? 'table' : 'unclipped';
}

/** Asks the library for its plan. */
function planned(dp: DpFtrl, target: LearnTarget, facts: PlanOptions): LearnerSettings {
  const { epsilon, delta, neighbours } = target;
  const same = { loss: lossOf(target), epsilon, delta, ...(neighbours && { neighbours }) };
  return dp.learnPlan({ ...same, ...facts }).options;
}

/** Default number of passes over the rows. */
export function passesOf(dp: DpFtrl, setup: Setup | undefined, target: LearnTarget): number {
  if (setup !== 'table') return 1;
  return planned(dp, target, { setup, rows: 1, dimension: 1 }).steps;
}

export function optionsFor(
  dp: DpFtrl,
  setup: Setup,
  {
    target,
    rates,
    ...facts
  }: {
    target: LearnTarget;
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

/** Explains why each step takes all rows, and names its momentum and rates. */
export function passesText({ descent }: LearnerSettings): string {
  const why = 'each step takes all rows, for whose sum independent noise is the smallest';
  return `${why}, with momentum${descent?.rates ? ' and rates that fall linearly to 0' : ''}`;
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
    target: LearnTarget;
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
  if (setup === 'stream') return common;
  return `${passesText(how)}; ${common}`;
}
