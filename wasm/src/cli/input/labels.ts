// SPDX-License-Identifier: Apache-2.0

// Labels as texts: which denote a class, and how to write one.

import { classifies } from '../../api/learning/loss.js';
import type { LossName } from '../../types/all.js';

export interface Labelled {
  loss: LossName | 'softmax';
  numClasses?: number | undefined;
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
  if (!classifies(loss))
    return 'is not a number: classes as labels need --loss logistic, hinge or softmax';
  if (loss === 'softmax') return `is not a class: write the classes as 0 to ${numClasses - 1}`;
  const more = 'for more than two write 0 to K - 1 and give --loss softmax --classes K';
  return `is not a class: write the two classes as 0 and 1 (no and yes, or false and true, are read as these); ${more}`;
}
