// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that release counts and sums.

import { DECIMAL, FORMAT, MECHANISMS, MODE, PARAMETERS, PARTICIPATION, PLOT } from './common.js';
import { SKIPPED, STATE, STRATEGY, TIME_FORMAT } from './common.js';

export const COUNT = `dp-ftrl count --epsilon E --delta D --time-column T --bucket day [options] [FILE.csv]

Counts the rows of a CSV file (RFC 4180, UTF-8, first row names the columns) or of standard input by
time, and with --by by category. Writes T,[CATEGORY,]count,count_std,total,total_std: of each bucket
how many rows it has, and how many there are so far, both with noise, and the standard deviations of
that noise. All of it together is (E, D)-differentially private for one row; or for one person, with
--user-column. A row changes one count by 1: there is nothing to clip.

The noise serves totals. A count is the difference of two of them, and a single bucket is noisier
than if only buckets were released: read a span of buckets as the difference of two totals, whose
std is at most twice total_std, however long the span is. Where only buckets are wanted, "dp-ftrl
release --count --workload window=1" with the same time column has less noise in them. Counts may be
negative, and are not rounded, so that sums and means of them stay unbiased.

  --epsilon E      privacy target, > 0: the smaller, the more noise. 1 is common; above 20 there is
                   a warning
  --delta D        privacy target, between 0 and 1: at most one over the number of rows, say 1e-6.
                   Above 1e-3 there is a warning
  --pure           instead of --delta: no delta at all, by discrete Laplace noise on a tree
  --time-column T --bucket minute|hour|day|week|month|year
                   when each row was, in time order, and what is counted together; buckets without
                   rows are counted, too
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket, and rows are released as they arrive; rows outside are
                   refused. Default: those of the first and the last row, which the guarantee then
                   does not hide
  --by COLUMN --domain A,B,C [--other]
                   counts by category. Those of the data would show who is in it: --domain names
                   them (or LOW:HIGH for integers), --other adds one for all the rest
  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. All rows of a person in a
                   bucket count as 1 together (two categories as 0.71 each, with --pure as 0.5), in
                   the first K buckets that are at least S (default 1) apart, and the others not at
                   all: a small K leaves out later rows, a large K adds noise, about in proportion.
                   A file with a header alone shows the std of a K, with --from and --to
${FORMAT}
${SKIPPED}
  --sort           rows may come in any order of time; all are read before the first count, and kept
                   in memory. The guarantee stays: the bucket of a row follows from its own time
${MECHANISMS}
${PARAMETERS}
  --budget FILE    ledger of all releases of a data set, with --budget-epsilon E, --budget-delta D
                   and --budget-account A, as for dp-ftrl release
  --output FILE    written whole or not at all, instead of standard output
${PLOT}
  --json           one object: private, mode, protects, certificate, by, categories, rows, complete;
                   and error, with code, row, line and column but no cell, when a row ended it early
  --quiet          no guarantee and no notice on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds the counts without noise, count_true and total_true: NOT private

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
step,COLUMN...,std: after each row the running total (with --workload the sum that it says, such
as that of the last W rows) plus noise, and the standard deviation of that noise. step counts the
rows so far. All releases together are (E, D)-differentially private for one row; or for one person,
with --user-column; or for one user who has several rows as --epochs or --participations promise.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users where that is public
  --pure           instead of --delta: no delta at all, by discrete Laplace noise on a tree (tree-k;
                   --arity and --subtractive choose another than the one with the least error)
  --clip C         rows whose l2-norm over the columns exceeds C are scaled down to it; with --pure
                   it is their l1-norm, the sum of all magnitudes
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon: rows the noise is calibrated for. With it, or with --strategy or --from
                   and --to, which have one, rows are released as they arrive, and rows already
                   written stay valid when a later one is bad. Else the whole input is read first (a
                   file twice, from a pipe it is kept in memory), and a bad row means that nothing
                   is written
  --workload A     prefix (default); window=W: sums of the last W rows (or buckets);
                   momentum=0,decay=A: decaying sums, where a row of k steps ago counts A^k;
                   momentum=B[,decay=A]; a CSV file of numbers without a header: a column of
                   learning rates, FILE or FILE,momentum=B, or a square lower-triangular matrix.
                   The noise is made for it, in mode grid and not with --pure. Without a mechanism
                   it is optimal for prefix, decaying sums, and up to 128 rows; then
                   normalized-square-root, and square-root beyond 65536. Given several times: all of
                   these sums of the same rows, with one noise and one budget, as COLUMN_prefix,
                   prefix_std, COLUMN_window_7, ...; a file gives its name. Not with --strategy
  --importance 1,4,...
                   with several --workload: weights of their squared errors in the mean that is made
                   least, one each. Default: equal
  --column NAME    column to sum; repeat for more. Default: all that have no other role; where there
                   is none, each row counts as 1
  --range NAME=LOW:HIGH
                   what is known of a column without the data: numbers outside count as the nearest
                   one inside. '*=LOW:HIGH' is for all columns without a range of their own. With
                   it every column needs one, and --clip follows: the length of the longest row.
                   A run says when --clip cuts such rows, and when a column of small numbers gets
                   the noise of a column of large ones
  --count          sums no column: each row counts as 1, and --clip is 1 unless it is given
${FORMAT}
${DECIMAL}
  --missing M      rows with an empty cell: refuse (default); zero: a missing number is 0; skip: the
                   row is released as zeros, a step all the same, or with --time-column left out.
                   The guarantee stays: what becomes of a row follows from that row alone, and no
                   other row moves to another step

  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. Of each person the first row
                   counts, and then each at least S steps (default 1) after the last that counted,
                   until K have; the others are released as rows of zeros. Memory grows with the
                   number of persons, not of rows
  --time-column T --bucket minute|hour|day|week|month|year
                   rows are events, in time order, and all of a bucket are one step, empty buckets
                   included. Clipped is each row, or with --user-column all rows of a person in the
                   bucket together
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket; rows outside are refused. Default: those of the first and
                   the last row, which are then known to everybody
  --budget FILE    ledger of all releases of a data set, which together stay within its limit,
                   whatever made you choose the next one; one that would exceed it is refused.
                   Begun with --budget-epsilon E and --budget-delta D. It remembers how far a
                   --state has come, and refuses older copies of it
  --budget-account A
                   what a new FILE adds up, never changed: mu (default; Gaussian DP, best for
                   Gaussian noise) or rho (zero-concentrated DP; takes discrete Gaussian noise,
                   too, and has room for more pure releases)
${STATE}
${PARTICIPATION}
  --neighbours R   zero-out (default; also add-remove) or replace-one (also replace)
${MODE}
  --output FILE    written whole or not at all, instead of standard output
${PLOT}
  --json           one object: private, mode, protects, certificate, columns, rows, complete; and
                   error, with code, row, line and column but no cell, when a row ended it early.
                   With --pure also halfWidthProbability (0.05) and in rows halfWidth, which the
                   noise exceeds with that probability at most. With several --workload also
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
