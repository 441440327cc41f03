// SPDX-License-Identifier: Apache-2.0

import { DEFAULT_MECHANISM } from '../defaults.js';
import type { CatalogueEntry } from '../types.js';
import { paragraph } from './table.js';

/** Where the mechanisms of the catalogue go. */
const MECHANISMS = '@@mechanisms@@';
const INDENT = ' '.repeat(19);

/** The help of a command, with the mechanisms of this version. */
export function helpOf(name: keyof typeof HELP, catalogue: readonly CatalogueEntry[]): string {
  const names = catalogue.map(({ name: each }) =>
    each === DEFAULT_MECHANISM ? `${each} (default)` : each,
  );
  const list = paragraph(names.join(', '), INDENT).trim();
  return HELP[name].replace(MECHANISMS, `  --mechanism M    ${list}`);
}

export const MAIN_HELP = `dp-ftrl: private running totals of a stream

  dp-ftrl release    noisy running totals of a CSV file, differentially private as a whole
  dp-ftrl error      error of a mechanism at unit noise
  dp-ftrl compare    all mechanisms side by side, best first
  dp-ftrl calibrate  noise multiplier for a privacy target

  dp-ftrl COMMAND --help    its options
  dp-ftrl --version

Exit code: 0 done, 1 failed, 2 misuse. Messages go to standard error.
`;

const PARAMETERS = `\
  --bands B, --buffers K, --objective max|mean, --decays A,B,..., --weights A,B,...,
  --arity A, --subtractive, --height H, --weight W, --nu V, --lambda L, --alpha A,
  --loglog-power D, --horizon-cap N
                   parameters of the mechanism, where it has them
  --normalize      columns of C scaled to norm 1
  --epoch-length E, --complete-epochs
                   start afresh every E steps; complete a finished epoch to a power of two`;

const PARTICIPATION = `\
  --epochs K       each user once in each of K epochs of N/K steps, always at the same place
  --participations K --min-separation S
                   each user at most K times, at steps i < j with j - i >= S.
                   Default: each user once`;

const WORKLOAD = `\
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file of numbers
                   without header: a column of learning rates, or a square lower-triangular matrix`;

const HELP = {
  release: `dp-ftrl release --epsilon E --delta D --clip C [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes
step,COLUMN...,std: after each row the running total plus noise, and the standard deviation of that
noise. step counts the rows summed so far. All releases together are (E, D)-differentially private
for one row, or for one user who has several rows as --epochs or --participations say.

  --epsilon E      privacy target, > 0
  --delta D        privacy target, between 0 and 1
  --clip C         rows whose l2-norm over the columns exceeds C are scaled down to it
${MECHANISMS}
${PARAMETERS}
  --steps N        horizon: rows the noise is calibrated for. With it rows are released as they
                   arrive, and rows already written stay valid when a later one is bad. Without it
                   the whole input is read first, and a bad row means that nothing is written
  --column NAME    column to sum; repeat for more. Default: all columns
${PARTICIPATION}
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
  error: `dp-ftrl error --steps N [--mechanism M] [options]

Error of a mechanism over N steps at noise multiplier 1 and clip norm 1. Multiply by noise
multiplier and clip norm for the units of the input.

${MECHANISMS}
${PARAMETERS}
  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --neighbours R   zero-out (default) or replace-one, which doubles everything
  --json           mechanism, parameters, steps, workload, participation, neighbours, sensitivity,
                   sensitivityExactness, sensitivityMethod, maxError, meanError, lowerBound,
                   decoderResidual, residualSteps
`,
  compare: `dp-ftrl compare --steps N [options]

All mechanisms with their defaults, and some variants, at noise multiplier 1, clip norm 1 and
zero-out neighbours, best first: errors, their ratio to a lower bound of every factorization,
sensitivity, time of a step and vectors kept. What has no formula at this size is listed with the
reason.

  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --objective O    max (default) or mean: what the table is sorted by
  --json           numSteps, workload, participation, objective, lowerBound, mechanisms, leftOut
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
