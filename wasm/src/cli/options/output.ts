// SPDX-License-Identifier: Apache-2.0

// Options for the output, and for what must not be published.

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

/** @param meaning  what the JSON object contains. */
export function jsonOption(meaning: string, brief = 'writes JSON') {
  return under('Output', { json: { meaning, brief } });
}

export const QUIET_OPTION = under('Output', {
  quiet: { meaning: 'no guarantee or notice on standard error' },
});

export const DRY_OPTION = under('Output', {
  'dry-run': {
    meaning:
      'shows the guarantee, the noise and what a --budget would say, and releases nothing. It ' +
      'reads at most the times of the table, or counts its rows, for the horizon',
    brief: 'shows guarantee, noise and cost, and releases nothing',
  },
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
