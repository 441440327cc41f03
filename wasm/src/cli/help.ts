// SPDX-License-Identifier: Apache-2.0

import { DEFAULT_MECHANISM } from '../defaults.js';
import type { CatalogueEntry } from '../types.js';

/** Where the mechanisms of the catalogue go. */
const MECHANISMS = '@@mechanisms@@';

/** The help of a command, with the mechanisms of this version. */
export function helpOf(name: keyof typeof HELP, catalogue: readonly CatalogueEntry[]): string {
  const names = catalogue.map(({ name: each }) =>
    each === DEFAULT_MECHANISM ? `${each} (default)` : each,
  );
  return HELP[name].replace(MECHANISMS, `  --mechanism M    ${names.join(', ')}`);
}

export const MAIN_HELP = `dp-ftrl: private running totals of a stream

  dp-ftrl release    noisy running totals of a CSV file, differentially private as a whole
  dp-ftrl error      error of a mechanism at unit noise
  dp-ftrl calibrate  noise multiplier for a privacy target

  dp-ftrl COMMAND --help    its options
  dp-ftrl --version

Exit code: 0 done, 1 failed, 2 misuse. Messages go to standard error.
`;

const HELP = {
  release: `dp-ftrl release --epsilon E --delta D --clip C [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes
step,COLUMN...,std: after each row the running total plus noise, and the standard deviation of that
noise. step counts the rows summed so far. All releases together are (E, D)-differentially private
for one row.

  --epsilon E      privacy target, > 0
  --delta D        privacy target, between 0 and 1
  --clip C         rows whose l2-norm over the columns exceeds C are scaled down to it
${MECHANISMS}
  --steps N        horizon: rows the noise is calibrated for. With it rows are released as they
                   arrive, and rows already written stay valid when a later one is bad. Without it
                   the whole input is read first, and a bad row means that nothing is written
  --column NAME    column to sum; repeat for more. Default: all columns
  --neighbours R   zero-out (default) or replace-one
  --mode MODE      grid (default): sums and noise are integers on a grid, safe against the low bits
                   of floating-point numbers
  --output FILE    written whole or not at all, instead of standard output
  --json           one object: private, mode, certificate, columns, rows, complete; and error, with
                   code, row, line and column but no cell, when a row ended it early
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds the sums of the clipped rows, without noise, as COLUMN_true: NOT private
`,
  error: `dp-ftrl error --steps N [--mechanism M] [--json]

Error of the prefix sums of N steps at noise multiplier 1 and clip norm 1, single participation,
zero-out neighbours. Multiply by noise multiplier and clip norm (and by 2 for replace-one).

${MECHANISMS}
  --steps N        horizon
  --json           mechanism, steps, sensitivity, sensitivityExactness, maxError, meanError,
                   lowerBound, decoderResidual, ...
`,
  calibrate: `dp-ftrl calibrate (--epsilon E | --rho R | --mu M) --delta D [--json]

Smallest noise multiplier (noise standard deviation / distance of neighbours) of the Gaussian
mechanism for a privacy target, and the same guarantee in the other currencies.

  --epsilon E      (E, D)-differential privacy
  --rho R          R-zCDP
  --mu M           M-Gaussian differential privacy
  --delta D        between 0 and 1
  --json           noiseMultiplier, epsilon, delta, rho, mu, method, classical
`,
};
