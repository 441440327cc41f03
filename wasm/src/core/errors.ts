// SPDX-License-Identifier: Apache-2.0

// Errors as data, and their messages with JavaScript names.

import type { ErrorCode, Refusal } from '../types/all.js';

/** The call, and the part of its input that is being read. */
export type ErrorPlace = string | Pick<Refusal, 'call' | 'part'>;

function placeOf(where: ErrorPlace): Pick<Refusal, 'call' | 'part'> {
  return typeof where === 'string' ? { call: where } : where;
}

/** Narrows a place to a part of its input, such as `'saved strategy'`. */
export function within(where: ErrorPlace, part: string): ErrorPlace {
  const place = placeOf(where);
  return { ...place, part: place.part === undefined ? part : `${place.part}: ${part}` };
}

/** The name that an interface (JavaScript, the command, the page) has for a parameter. */
export type NameOf = (parameter: string) => string;

/** Replaces the names in braces by the names that an interface uses. */
export function withNames(text: string, nameOf: NameOf): string {
  const [start, ...rest] = text.split('{');
  const named = rest.map((piece) => {
    const end = piece.indexOf('}');
    return nameOf(piece.slice(0, end)) + piece.slice(end + 1);
  });
  return [start, ...named].join('');
}

function isGiven(value: unknown): boolean {
  return value !== undefined;
}

/** Formats a refusal without the call: `'clip must be positive and finite, got -1'`. */
export function inWords(
  { row, part, parameter, constraint = '', value }: Refusal,
  nameOf: NameOf = (name) => name,
): string {
  const subject = parameter === undefined ? '' : `${nameOf(parameter)} `;
  const got = value === undefined ? '' : `, got ${value}`;
  const text = `${subject}${withNames(constraint, nameOf)}${got}`;
  return [part, row && `${row.kind} ${row.index}`, text].filter(isGiven).join(': ');
}

const BRAND: unique symbol = Symbol.for('dp-ftrl.DpError') as never;

/** A failure that is neither a value out of range nor a wrong type. */
export class DpError extends Error implements Refusal {
  /** Fixed here, because a minifier would change it. */
  static override readonly name = 'DpError';
  /** Kind of the failure, stable across versions. */
  readonly code: ErrorCode;
  declare readonly call?: string;
  declare readonly row?: NonNullable<Refusal['row']>;
  declare readonly part?: string;
  declare readonly parameter?: string;
  declare readonly constraint?: string;
  declare readonly value?: string;
  /**
   * With `store_failed`, `store_in_use` or `disposed`, index of the step that a call of a stream
   * has decided, by which its reading can be requested again. Left out if the call did nothing.
   */
  declare readonly step?: number;
  /**
   * With `other_options`: the option's value in the stored stream, and the value given now;
   * undefined if left out.
   */
  declare readonly differs?: { readonly stored: unknown; readonly given: unknown };

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'DpError';
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /**
   * True for the errors of every entry of the package, each of which has its own copy of this
   * class.
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return typeof value === 'object' && value !== null && BRAND in value;
  }
}

/** An error with its code, and its refusal as data. */
export type RefusalError = Error & Refusal & { readonly code: ErrorCode };

function plainError(code: ErrorCode, message: string, options?: ErrorOptions): Error {
  if (code === 'invalid_argument') {
    return Object.assign(new RangeError(message, options), { code });
  }
  if (code === 'wrong_type' || code === 'wrong_length') {
    return Object.assign(new TypeError(message, options), { code });
  }
  return new DpError(code, message, options);
}

/**
 * Makes the JavaScript error for a code: RangeError, TypeError or DpError, with the refusal's
 * fields.
 */
export function makeError(
  code: ErrorCode,
  where: ErrorPlace,
  about: Refusal,
  cause?: unknown,
): RefusalError {
  const refusal = { ...placeOf(where), ...about };
  const { call } = refusal;
  const message = `${call === undefined ? '' : `${call}: `}${inWords(refusal)}`;
  const error = plainError(code, message, cause === undefined ? undefined : { cause });
  return Object.assign(error, { code, ...refusal });
}

export function refusalOf(error: unknown): Refusal {
  const { call, row, part, parameter, constraint, value } = (error ?? {}) as Refusal;
  const fields = Object.entries({ call, row, part, parameter, constraint, value });
  return Object.fromEntries(fields.filter(([, field]) => isGiven(field)));
}

/** Recreates an error from its code, message and refusal, as received from a worker. */
export function recalled(code: ErrorCode, message: string, refusal: Refusal): Error {
  const { constraint } = refusal;
  return constraint === undefined ? plainError(code, message) : makeError(code, {}, refusal);
}

/**
 * Turns an error of the core into an error of the method that was called and, if given, of a row.
 */
export function told(
  error: RefusalError,
  as: Pick<Refusal, 'call' | 'part' | 'row'>,
): RefusalError {
  if (error.call === undefined) return error; // The instance stopped; the call is not at fault.
  return makeError(error.code, {}, { ...refusalOf(error), ...as }, error.cause);
}

const OF_STORES: readonly unknown[] = [
  'store_failed',
  'store_in_use',
  'disposed',
] satisfies ErrorCode[];

/** Adds to an error of the store the step that the call has decided. */
export function ofStep(error: unknown, step: number | undefined): unknown {
  const isOfStore = OF_STORES.includes((error as Partial<RefusalError> | undefined)?.code);
  return isOfStore && step !== undefined ? Object.assign(error as object, { step }) : error;
}

/** Calls `act`; its errors name `where` as the place. */
export function asErrorsOf<T>(where: ErrorPlace, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw told(error as RefusalError, placeOf(where));
  }
}

/** Rows of `width` entries each. */
interface RowShape {
  kind: 'record' | 'example';
  width: number;
}

/** An error of the core within an array of rows, with the number of entries processed before it. */
export type PartialError = RefusalError & { released?: number };

/** Turns the error into one of the method that was called, with the index of the row at fault. */
export function atRow(error: PartialError, call: string, { kind, width }: RowShape): RefusalError {
  const { released } = error;
  const row = released === undefined ? {} : { row: { kind, index: released / width } };
  return told(error, { call, ...row });
}
