// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that release counts and sums.

import {
  DECIMAL,
  FORMAT,
  MECHANISMS,
  MODE,
  NA,
  PARAMETERS,
  PARTICIPATION,
  PLOT,
} from './common.js';
import { SKIPPED, STATE, STRATEGY, TIME_FORMAT, USER_NUMBERS } from './common.js';

export const COUNT = `dp-ftrl count --epsilon E --delta D --time-column T --bucket day [options] [FILE.csv]

Counts the rows of a CSV file (RFC 4180, UTF-8, first row names the columns) or of standard input by
time and, with --by, by category. Writes T,[CATEGORY,]count,count_std: for each bucket its number of
rows, with noise, and the standard deviation of that noise. The whole output is
(E, D)-differentially private for one row or, with --user-column, for one person. A row changes one
count by 1, so there is nothing to clip. Counts may be negative and are not rounded, so that their
sums and means stay unbiased.

  --for days|totals|both
                   what the noise is made for: each bucket (say hours for --bucket hour; the
                   default), the number of rows so far (total,total_std), or both. Unless you name a
                   mechanism, days and totals get Laplace or Gaussian noise, whichever is less; with
                   Laplace noise the guarantee has no delta. Under a --budget it is Gaussian noise

  --epsilon E      privacy target, > 0: the smaller, the more noise. 1 is common; above 20 there is
                   a warning
  --delta D        privacy target, between 0 and 1: at most one over the number of rows, say 1e-6.
                   Above 1e-3 there is a warning
  --pure           instead of --delta: no delta, by discrete Laplace noise; not for both
  --time-column T --bucket minute|hour|day|week|month|year
                   time of each row, in time order, and the span that is counted together; empty
                   buckets are counted, too
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket; with them rows are released as they arrive, and rows
                   outside are refused. Default: those of the first and the last row, which the
                   guarantee then does not hide
  --by COLUMN --domain A,B,C [--other]
                   counts by category. Categories read off the data would show who is in it:
                   --domain lists them (or LOW:HIGH for integers), --other adds one for all the rest
  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. All rows of a person in a
                   bucket count as 1 together, in the first K buckets that are at least S (default
                   1) apart; the rest do not count. Each category counts once, however many rows
                   there are in it; two categories then count as 0.71 each, with Laplace noise
                   as 0.5.
                   A small K leaves out later rows, a large K adds noise, about in proportion. To
                   see the std for a K, run on a file with only a header, with --from and --to
${USER_NUMBERS}
${FORMAT}
${SKIPPED}
${MECHANISMS}
${PARAMETERS}
  --budget FILE    ledger of all releases of a data set, with --budget-epsilon E, --budget-delta D,
                   --budget-account A and --budget-pure P, as for dp-ftrl release
  --steps N        horizon: number of buckets the noise is calibrated for. Default: that of --from
                   and --to, or else of the file
  --state FILE     continues where the last run with this file stopped, as for dp-ftrl release: all
                   runs together are one release with horizon --steps. A run ends its last bucket
  --continue       with --state: refuses to begin, so that a FILE that was lost is noticed
  --output FILE    written whole or not at all, instead of standard output; with --state, a run that
                   stops early writes the buckets that it released
${PLOT}
  --json           one object: private, mode, protects, timeZone, certificate, by, categories, rows,
                   complete, choice (of the noise); and error, with code, row, line and column but
                   no cell, if a row ended it early
  --quiet          no guarantee or notice on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds the numbers without noise, count_true and total_true: NOT private

Examples, with files of the package:
  dp-ftrl count --epsilon 1 --delta 1e-6 --time-column time --bucket day \\
      --by section --domain docs,shop,blog --other \\
      examples/site_visits.csv
  dp-ftrl count --epsilon 2 --delta 1e-6 --time-column time --bucket week \\
      --from 2026-04-06 --to 2026-05-03 --user-column visitor --max-contributions 4 \\
      examples/site_visits.csv
`;

export const RELEASE = `dp-ftrl release --epsilon E --delta D --clip C [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes
step,COLUMN...,std: after each row the running total (or the sum that --workload names, such as that
of the last W rows) plus noise, and the standard deviation of that noise. step counts the rows so
far. All releases together are (E, D)-differentially private for one row; for one person, with
--user-column; or for one user with several rows, as --epochs or --participations promise.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users if that is public
  --pure           instead of --delta: no delta, by discrete Laplace noise on a tree (tree-k; with
                   the least error unless --arity and --subtractive choose another)
  --clip C         rows whose l2-norm over the columns exceeds C are scaled down to it; with --pure
                   it is their l1-norm, the sum of all magnitudes
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon: number of rows the noise is calibrated for. With it, or with --strategy
                   or --from and --to, which imply one, rows are released as they arrive, and rows
                   already written stay valid if a later one is bad. Otherwise the whole input is
                   read first (a file twice; a pipe is kept in memory), and a bad row means that
                   nothing is written
  --workload A     prefix (default); window=W: sums of the last W rows (or buckets);
                   momentum=0,decay=A: decaying sums, where a row k steps ago counts A^k;
                   momentum=B[,decay=A]; a CSV file of numbers without a header: a column of
                   learning rates, FILE or FILE,momentum=B, or a square lower-triangular matrix. The
                   noise is made for it, in mode grid and not with --pure. The default mechanism is
                   optimal for prefix, decaying sums, and up to 128 rows; then
                   normalized-square-root, and square-root beyond 65536. Repeated: all of these sums
                   of the same rows, with one noise and one budget, as COLUMN_prefix, prefix_std,
                   COLUMN_window_7, ...; a file gives its name. Not with --strategy
  --importance 1,4,...
                   with several --workload: weights of their squared errors in the mean that is
                   minimised, one for each. Default: equal
  --column NAME    column to sum; repeat for more. Default: all without another role; if there is
                   none, each row counts as 1
  --range NAME=LOW:HIGH
                   range of a column, known without the data: numbers outside count as the nearest
                   one inside. '*=LOW:HIGH' is for all columns without their own range. With it
                   every column needs one, and the default of --clip is the length of the longest
                   row. A notice says when --clip cuts such rows, and when a column of small numbers
                   gets the noise of a column of large ones
  --count          sums no column: each row counts as 1, and the default of --clip is 1
${FORMAT}
${DECIMAL}
  --missing M      rows with a missing cell: refuse (default); zero: a missing number is 0; skip: a
                   row adds nothing and still takes a step, or with --time-column is left out. A
                   skipped row is protected like any other one: what happens to a row depends on
                   that row alone, and no other row moves to another step
${NA}

  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. The first row of each person
                   counts, then each row at least S steps (default 1) after the last that counted,
                   up to K rows; the others are released as rows of zeros. Memory grows with the
                   number of persons, not of rows
${USER_NUMBERS}
  --time-column T --bucket minute|hour|day|week|month|year
                   rows are events in time order; each bucket is one step, also if empty. Each row
                   is clipped, or with --user-column all rows of a person in a bucket together
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket; rows outside are refused. Default: those of the first and
                   the last row, which are then public
  --budget FILE    ledger of all releases of a data set, which together stay within its limit,
                   however you choose the next one; one that would exceed it is refused. Created
                   with --budget-epsilon E and --budget-delta D. It records how far a --state has
                   come, and refuses older copies of it
  --budget-account A
                   what a new FILE adds up, fixed from then on: mu (default; Gaussian DP, best for
                   Gaussian noise) or rho (zero-concentrated DP; accepts discrete Gaussian noise,
                   too, and has room for more pure releases)
  --budget-pure P  the part of epsilon that a new FILE keeps for pure releases, whose epsilons add
                   up in it; the others share the rest. Default: all of it if the first release is
                   pure, else 0, and pure releases count in the account
${STATE}
${PARTICIPATION}
  --neighbours R   zero-out (default; also add-remove) or replace-one (also replace)
${MODE}
  --output FILE    written whole or not at all, instead of standard output; with --state, a run that
                   stops early writes the steps that it released
${PLOT}
  --json           one object: private, mode, protects, certificate, columns, rows, complete; and
                   error, with code, row, line and column but no cell, if a row ended it early.
                   With --pure also halfWidthProbability (0.05) and in rows halfWidth, which the
                   noise exceeds with at most that probability. With several --workload also
                   workloads, with the errors of each, and rows have sums and std by workload
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds the sums of the clipped rows, without noise, as COLUMN_true, and says how
                   many rows did not count: NOT private

Examples, with files of the package:
  dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --column count \\
      examples/shop_day.csv
  head -n 100 examples/shop_day.csv | dp-ftrl release --epsilon 1 \\
      --delta 1e-6 --clip 1 --column count --steps 1000 --mechanism honaker --json
  dp-ftrl release --epsilon 2 --delta 1e-6 --clip 90 --column minutes --user-column member \\
      --max-contributions 12 --min-separation 7 --time-column time --bucket day \\
      --from 2026-03-02 --to 2026-05-24 examples/gym_visits.csv
  dp-ftrl release --epsilon 0.5 --delta 1e-7 --clip 1 --column count --output counts.csv \\
      --budget shop.json --budget-epsilon 1 --budget-delta 1e-6 \\
      examples/shop_day.csv
  dp-ftrl release --pure --epsilon 1 --clip 1 --column count \\
      examples/shop_day.csv
  dp-ftrl release --workload momentum=0,decay=0.98 --epsilon 1 --delta 1e-6 --clip 1 \\
      --column count examples/shop_day.csv
  dp-ftrl release --workload window=60 --epsilon 1 --delta 1e-6 --clip 1 --column count \\
      examples/shop_day.csv
  dp-ftrl release --workload prefix --workload window=60 --importance 1,4 --epsilon 1 \\
      --delta 1e-6 --clip 1 --column count examples/shop_day.csv
`;
