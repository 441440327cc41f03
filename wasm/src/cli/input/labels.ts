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
  const more = Number.isInteger(label) && label > 1 ? '; for more classes give --loss softmax --classes K' : '';
  const wanted = loss === 'softmax' ? `an integer from 0 to ${numClasses - 1}` : `-1, 0 or 1${more}`;
  const place = placeOf(batch, i);
  const what = `${placeText(place)}: label must be ${wanted}`;
  throw new Misuse(what, { code: 'invalid_argument', ...place }, String(label));
}

/** Texts of two classes, in lower case. */
const CLASSES: Readonly<Record<string, number>> = { no: 0, yes: 1, false: 0, true: 1 };

/** Returns the label that a text denotes for a loss whose labels are classes. */
export function labelOfText(text: string, { loss }: Labelled): number | undefined {
  const lower = text.toLowerCase();
  return classifies(loss) && Object.hasOwn(CLASSES, lower) ? CLASSES[lower] : undefined;
}

/** Says, of a label that is a text, how to write it. */
export function labelText({ loss, numClasses = 0 }: Labelled): string {
  if (!classifies(loss)) return 'is not a number: classes as labels need --loss logistic, hinge or softmax';
  if (loss === 'softmax') return `is not a class: write the classes as 0 to ${numClasses - 1}`;
  const more = 'for more than two write 0 to K - 1 and give --loss softmax --classes K';
  return `is not a class: write the two classes as 0 and 1 (no and yes, or false and true, are read as these); ${more}`;
}
