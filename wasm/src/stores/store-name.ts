// SPDX-License-Identifier: Apache-2.0

// Names of streams and budgets in a database. Only texts are names: a number, an array or a date
// would not be the same name as its text.

import { wrongType } from '../core/check.js';
import { makeError, type ErrorPlace } from '../core/errors.js';

const MOST = 200;

/** Formats an array or a date for a message; undefined for anything else. */
function textOf(value: unknown): string | undefined {
  const isShown = Array.isArray(value) || value instanceof Date;
  try {
    return isShown ? JSON.stringify(value).slice(0, MOST) : undefined;
  } catch {
    return undefined;
  }
}

/** Requires the name of a stored stream. */
export function readStoreName(where: ErrorPlace, name: unknown): string {
  if (typeof name !== 'string') {
    const value = textOf(name);
    if (value === undefined) throw wrongType(where, 'name', 'a string', name);
    throw makeError('wrong_type', where, {
      parameter: 'name',
      constraint: 'must be a string',
      value,
    });
  }
  if (name.length >= 1 && name.length <= MOST && !/[\0\p{Surrogate}]/u.test(name)) return name;
  const constraint = `must have 1 to ${MOST} characters, none of them 0 or half a surrogate pair`;
  const value = name.length > MOST ? `${name.length} characters` : JSON.stringify(name);
  throw makeError('invalid_argument', where, { parameter: 'name', constraint, value });
}
