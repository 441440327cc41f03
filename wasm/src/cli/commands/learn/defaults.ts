// SPDX-License-Identifier: Apache-2.0

// Defaults of dp-ftrl learn, and the messages about them.

import { classifies } from '../../../api/learning/loss.js';
import { slopeSquared, type Rates } from '../../../api/learning/setup.js';
import type { DpFtrl, LearnerDefaultsOptions, LearnerOptions } from '../../../types/all.js';
import { Misuse } from '../../base/failure.js';
import { counted } from '../../../shared/counted.js';

/** Explains how labels that are numbers of any size are bounded. */
export const BOUNDS_LABEL =
  '--clip C bounds what a label does, as the gradient is the error of its prediction times the row ' +
  '(of norm at most the root of 1 + features, with ranges); divide large labels by a known bound first';

/** Setup of a run without a clip norm. */
export type Setup = NonNullable<LearnerDefaultsOptions['setup']>;

type Target = Omit<LearnerDefaultsOptions, 'setup' | 'numRows' | 'dimension'>;

/** Options of the learner; if one is given, only the clip norm is chosen by default. */
const OF_LEARNER = [
  ...['domain', 'radius', 'regularisation', 'doubling', 'descent', 'mode'],
  ...['l1', 'group-norm'],
];
const OF_PASSES = ['steps', 'batch', 'state'];
const FACTS = ['loss', 'numClasses', 'quantile', 'huberThreshold', 'neighbours'] as const;

/** Returns the setup of a run, or undefined if a clip norm is given. */
export function setupOf(
  has: (option: string) => boolean,
  {
    loss,
    isFile,
    mechanismOptions,
  }: {
    loss: LearnerOptions['loss'];
    isFile: boolean;
    /** Names of options for the mechanism and the participation. */
    mechanismOptions: readonly string[];
  },
): Setup | undefined {
  if (has('clip')) return undefined;
  const others = [...OF_LEARNER, ...mechanismOptions, 'passes'];
  if (!classifies(loss as 'logistic') || others.some(has)) return 'unclipped';
  return isFile && !OF_PASSES.some(has) ? 'table' : 'stream';
}

/** Returns the defaults of the library. */
function chosen(
  dp: DpFtrl,
  target: Target,
  facts: Pick<LearnerDefaultsOptions, 'setup' | 'rates' | 'numRows' | 'batchSize' | 'dimension'>,
): LearnerOptions {
  const { epsilon, delta } = target;
  const given = FACTS.filter((name) => target[name] !== undefined);
  const same = Object.fromEntries(given.map((name) => [name, target[name]]));
  return dp.learnerDefaults({ ...same, epsilon, delta, ...facts });
}

/** Returns the default number of passes over the rows. */
export function passesOf(dp: DpFtrl, setup: Setup | undefined, target: Target): number {
  if (setup !== 'table') return 1;
  return chosen(dp, target, { setup, numRows: 1, dimension: 1 }).numSteps;
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
    numRows: number;
    batchSize: number;
    dimension: number;
  },
): LearnerOptions {
  if (slopeSquared(target) === Infinity) {
    throw new Misuse(
      `--loss ${String(target.loss)} has unbounded slopes: give --clip; ${BOUNDS_LABEL}`,
    );
  }
  return chosen(dp, target, { setup, ...(rates && { rates }), ...facts });
}

/** Describes the passes over a table. */
export function passesText({ numSteps, descent }: LearnerOptions): string {
  const why = 'steps of all rows, for whose sum independent noise is the smallest';
  const fall = descent?.rates ? ' and rates that fall linearly to 0' : '';
  return `set up for a whole table: ${numSteps} ${why}, with momentum${fall}`;
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
    how: LearnerOptions & { dimension: number };
    numRows: number;
  },
): string {
  if (setup === 'unclipped') {
    return 'clip norm: the longest possible gradient, so none is clipped';
  }
  const { dimension } = how;
  const { clipNorm: longest } = chosen(dp, target, { setup: 'unclipped', numRows, dimension });
  const share = how.clipNorm! / longest!;
  const common =
    `clipped to ${Number(share.toPrecision(2))} of the longest possible gradient, unbounded weights, ` +
    `rate set by ${counted(numRows, 'row')}, ${counted(how.dimension, 'weight')} per score, epsilon and delta`;
  if (setup === 'stream') return `set up for one pass: ${common}`;
  return `${passesText(how)}; ${common}`;
}
