// SPDX-License-Identifier: Apache-2.0

// Errors as data.

/**
 * Why a call failed. The first eight come from the C++ core; a value outside its range is a
 * `RangeError` with code `invalid_argument`, a wrong type or shape a `TypeError` with code
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
  | 'wrong_type'
  | 'load_failed'
  | 'compilation_blocked'
  | 'aborted'
  | 'disposed'
  | 'store_in_use'
  | 'store_failed'
  | 'cancelled'
  | 'internal';

/** A refusal as data: what the errors of this package consist of, besides their code. */
export interface Refusal {
  /** Function or method of this package that was called: `'prefixSum'`. */
  readonly call?: string;
  /** Record or example at fault, of several, counted from 0. */
  readonly row?: { readonly kind: 'record' | 'example'; readonly index: number };
  /** Part of the call at fault: `'saved strategy'`, a mechanism. */
  readonly part?: string;
  /** Option or argument at fault, and the place in it: `'clipNorm'`, `'rates[3]'`. */
  readonly parameter?: string;
  /**
   * Condition that the parameter breaks: `'must be positive and finite'`. Names of other
   * parameters are in braces: `'must be at most {numSteps} = 5'`. A sentence where no parameter is at
   * fault.
   */
  readonly constraint?: string;
  /** The refused value, as text. */
  readonly value?: string;
}
