// SPDX-License-Identifier: Apache-2.0

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

const BRAND: unique symbol = Symbol.for('dp-ftrl.DpError') as never;

/** A failure that is neither a value out of range nor a wrong type. */
export class DpError extends Error {
  /** Fixed here, because a minifier would change it. */
  static override readonly name = 'DpError';
  /** Kind of the failure, stable across versions. */
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DpError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** Entries of the package are separate files: an error of one is a `DpError` of every other. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/** The JavaScript error for a code: RangeError, TypeError or DpError, always with `.code`. */
export function makeError(code: ErrorCode, message: string, cause?: unknown): Error {
  const options = cause === undefined ? undefined : { cause };
  if (code === 'invalid_argument') {
    return Object.assign(new RangeError(message, options), { code });
  }
  if (code === 'wrong_type' || code === 'wrong_length') {
    return Object.assign(new TypeError(message, options), { code });
  }
  return new DpError(code, message, options);
}

/** An error of the core begins with the method that was called, not with what it belongs to. */
export function rename(error: Error, where: string): Error {
  error.message = error.message.replace(/^\w+(?=: )/, where);
  return error;
}
