// SPDX-License-Identifier: Apache-2.0

// Calls of streams, for the processes that are killed and for the test that checks what they left.

import { EACH_KIND } from './streams.mjs';

export const isLong = process.env.DPFTRL_LONG === '1';
/** More steps than all lives together reach, in the short test and in the long one. */
const steps = isLong ? 6000 : 1000;

/** Case of the name with a long horizon, and with a strategy that is opened quickly. */
export function killCase(name) {
  const it = EACH_KIND.find((each) => each.name === name);
  const options = { ...it.options, steps };
  return { ...it, options: 'strategy' in options ? { ...options, strategy: 'honaker' } : options };
}

/** Makes a call: a verb, and the number of its record unless it has none. */
export const applied = (stream, { one }, [verb, i]) =>
  i === undefined ? stream[verb]() : stream[verb](...one(i));
