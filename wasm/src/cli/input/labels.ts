// SPDX-License-Identifier: Apache-2.0

// Labels written as words: which words denote a class, and how to write a label.

import { classifies } from '../../api/learning/loss.js';
import type { LossName } from '../../types/all.js';

export interface LabelKind {
  loss: LossName | 'softmax';
  numClasses?: number | undefined;
}

/** Texts of two classes, in lower case. */
const CLASSES: Readonly<Record<string, number>> = { no: 0, yes: 1, false: 0, true: 1 };

/** Label that a text denotes, if the labels of the loss are classes. */
export function labelOfText(text: string, { loss }: LabelKind): number | undefined {
  const lower = text.toLowerCase();
  return classifies(loss) && Object.hasOwn(CLASSES, lower) ? CLASSES[lower] : undefined;
}

/** Advice for a feature that is a word. */
export const FEATURE_WORDS =
  'a feature of categories needs a column for each of them, with 1 in its rows and 0 in others';

/** Explains how to write a label that was given as a word. */
export function labelText({ loss, numClasses = 0 }: LabelKind): string {
  if (!classifies(loss))
    return 'is not a number: classes as labels need --loss logistic, hinge or softmax';
  if (loss === 'softmax') return `is not a class: write the classes as 0 to ${numClasses - 1}`;
  const more = 'for more than two write 0 to K - 1 and give --loss softmax --classes K';
  return `is not a class: write the two classes as 0 and 1 (no and yes, or false and true, are read as these); ${more}`;
}
