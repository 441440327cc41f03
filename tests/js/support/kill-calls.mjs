// SPDX-License-Identifier: Apache-2.0

// Calls of streams whose processes are killed, for those processes and for the comparing one.

import { CASES } from './streams.mjs';

/** More steps than the lives reach. */
const STEPS = 4000;

/** Returns a case of the name, with a long horizon. */
export function killCase(name) {
  const it = CASES.find((each) => each.name === name);
  return { ...it, options: { strategy: 'honaker', ...it.options, steps: STEPS } };
}

/** Makes a call: a verb, and the number of its record unless it has none. */
export const applied = (stream, { one }, [verb, i]) =>
  i === undefined ? stream[verb]() : stream[verb](...one(i));
