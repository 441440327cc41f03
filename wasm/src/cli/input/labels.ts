// SPDX-License-Identifier: Apache-2.0

// Checks labels like the core, but before a budget is spent on learning.

import { classifies } from '../../api/learning/loss.js';
import type { LossName } from '../../types/all.js';
import { Misuse } from '../failure.js';
import { placeOf, placeText } from './place.js';
import type { Batch } from './rows.js';

export interface Labelled {
  loss: LossName | 'softmax';
  numClasses?: number | undefined;
}

/** @throws Misuse for a label that the loss does not accept, with its row, in the core's words. */
export function requireLabel(
  { loss, numClasses = 0 }: Labelled,
  label: number,
  { batch, i }: { batch: Batch; i: number },
): void {
  if (!classifies(loss)) return;
  const isClass = Number.isInteger(label) && label >= 0 && label < numClasses;
  if (loss === 'softmax' ? isClass : [-1, 0, 1].includes(label)) return;
  const wanted = loss === 'softmax' ? `an integer from 0 to ${numClasses - 1}` : '-1, 0 or 1';
  const place = placeOf(batch, i);
  const what = `${placeText(place)}: label must be ${wanted}`;
  throw new Misuse(what, { code: 'invalid_argument', ...place }, String(label));
}
