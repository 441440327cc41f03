// SPDX-License-Identifier: Apache-2.0

// Defaults of dp-ftrl learn, and how it says what it chose.

import { classifies } from '../../../api/learning/loss.js';
import {
  chosenOptions,
  CLIP_SHARE,
  longestGradient,
  NUM_PASSES,
  type PublicFacts,
  type Setup,
} from '../../../api/learning/setup.js';
import type { LearnerOptions } from '../../../types/all.js';
import { Misuse } from '../../failure.js';

/** Options that say how to learn: where one is given, nothing else is chosen but the clip norm. */
const OF_LEARNER = ['domain', 'radius', 'regularisation', 'doubling', 'descent', 'mode'];
const OF_PASSES = ['steps', 'batch', 'state'];

/** Returns how a run is set up, undefined where a clip norm is given. */
export function setupOf(
  has: (option: string) => boolean,
  { loss, isFile, mechanismOptions }: {
    loss: LearnerOptions['loss'];
    isFile: boolean;
    /** Names of options that choose a mechanism, or say who takes part how often. */
    mechanismOptions: readonly string[];
  },
): Setup | undefined {
  if (has('clip')) return undefined;
  const others = [...OF_LEARNER, ...mechanismOptions, 'passes'];
  if (!classifies(loss as 'logistic') || others.some(has)) return 'clip';
  return isFile && !OF_PASSES.some(has) ? 'passes' : 'one pass';
}

/** Returns the options that the setup chooses. */
export function optionsFor(setup: Setup, facts: PublicFacts) {
  if (longestGradient(facts.loss, facts.dimension) === Infinity) {
    throw new Misuse(`--loss ${String(facts.loss.loss)} has slopes of any size: give --clip`);
  }
  return chosenOptions(setup, facts);
}

/** Says what was chosen, and from what. */
export function reasonFor(
  setup: Setup,
  { numRows, dimension }: { numRows: number; dimension: number },
): string {
  if (setup === 'clip') return 'clip norm: the longest gradient there can be, so none is clipped';
  const common =
    `clipped to ${CLIP_SHARE[setup]} of the longest gradient there can be, the weights anywhere, the ` +
    `rate by ${numRows} rows, ${dimension} weights a score, epsilon and delta`;
  if (setup === 'one pass') return `set up for one pass: ${common}`;
  const why = 'steps of all rows, in whose sum no noise is smaller than independent noise';
  return `set up for a whole table: ${NUM_PASSES} ${why}, with momentum; ${common}`;
}
