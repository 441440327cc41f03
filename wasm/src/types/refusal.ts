// SPDX-License-Identifier: Apache-2.0

// Errors as data.

/**
 * Reason why a call failed. The first eight come from the C++ core. A value outside its range is a
 * `RangeError` with code `invalid_argument`, and a wrong type or shape a `TypeError` with code
 * `wrong_type` or `wrong_length`; everything else is a `DpError`.
 */
export type ErrorCode =
  | 'invalid_argument'
  | 'wrong_length'
  | 'past_horizon'
  | 'unsupported'
  | 'resource_exhausted'
  | 'entropy_unavailable'
  | 'bad_state'
  | 'already_released'
  | 'other_options'
  | 'budget_spent'
  | 'wrong_type'
  | 'load_failed'
  | 'compilation_blocked'
  | 'aborted'
  | 'disposed'
  | 'store_in_use'
  | 'store_failed'
  | 'cancelled'
  | 'internal';

/** Structured details of an error of this package, in addition to its code. */
export interface Refusal {
  /** Function or method of this package that was called, such as `'counter'`. */
  readonly call?: string;
  /** Record or example at fault, if several were given; `index` is 0-based. */
  readonly row?: { readonly kind: 'record' | 'example'; readonly index: number };
  /** Part of the call at fault, such as `'saved strategy'` or a mechanism. */
  readonly part?: string;
  /** Option or argument at fault, with the position in it, such as `'clip'` or `'rates[3]'`. */
  readonly parameter?: string;
  /**
   * Condition violated by the parameter, such as `'must be positive and finite'`. Names of other
   * parameters are in braces, as in `'must be at most {steps} = 5'`. If no parameter is at fault, a
   * full sentence.
   */
  readonly constraint?: string;
  /** The refused value, as text. */
  readonly value?: string;
}
