// SPDX-License-Identifier: Apache-2.0

// Options for what is written, and for what must not be published.

import { under } from './option.js';

export const OUTPUT_OPTION = under('Output', {
  output: {
    value: 'FILE',
    letter: 'o',
    file: 'written',
    meaning: 'written whole or not at all, instead of standard output',
    brief: 'instead of standard output',
  },
});

/** @param meaning  contents of the object. */
export function jsonOption(meaning: string, brief = 'writes JSON') {
  return under('Output', { json: { meaning, brief } });
}

export const QUIET_OPTION = under('Output', {
  quiet: { meaning: 'no guarantee or notice on standard error' },
});

export const SEED_OPTION = under('NOT private', {
  seed: { value: 'S', meaning: 'fixed noise, for tests and demonstrations: NOT private' },
});

export const SHOW_OPTION = under('NOT private', {
  'show-nonprivate': {
    meaning:
      'adds the sums of the clipped rows, without noise, as COLUMN_true, and says how many rows ' +
      'did not count: NOT private',
  },
});
