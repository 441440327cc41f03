// SPDX-License-Identifier: Apache-2.0

// Checks for the numbers in options.

/** Says what a number must be if it is not acceptable; NaN never is. */
export type NumberCheck = (value: number) => string | undefined;

function must(wanted: string, holds: (value: number) => boolean): NumberCheck {
  return (value) => (holds(value) ? undefined : wanted);
}

/** Largest epsilon: one row may then make an output e^1048576 times as likely. */
const MAX_EPSILON = 2 ** 20;

export const ANY = must('a number', (value) => !Number.isNaN(value));

export const POSITIVE = must('a positive number', (value) => value > 0);

export const NOT_NEGATIVE = must('a number of at least 0', (value) => value >= 0);

export const COUNT = must(
  'a whole number of at least 1',
  (value) => Number.isSafeInteger(value) && value >= 1,
);

export const PROBABILITY = must('a number between 0 and 1', (value) => value > 0 && value < 1);

/** Check for a probability or a momentum that may be 0. */
export const FRACTION = must('a number from 0 to below 1', (value) => value >= 0 && value < 1);

/** Check for an epsilon, or for a limit on epsilons. */
export const EPSILON: NumberCheck = (value) =>
  POSITIVE(value) ?? (value <= MAX_EPSILON ? undefined : 'at most 2^20');

/**
 * Check for a delta. Accepts 0, which the reader of the option refuses for noise that needs a
 * delta.
 */
export const DELTA: NumberCheck = (value) => (value === 0 ? undefined : PROBABILITY(value));

export const STEPS = must(
  'a whole number from 1 to 2^40',
  (value) => Number.isInteger(value) && value >= 1 && value <= 2 ** 40,
);

export const PORT = must(
  'a whole number from 0 (any that is free) to 65535',
  (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 16,
);
