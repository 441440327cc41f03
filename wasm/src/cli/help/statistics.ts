// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that release statistics.

import { DECIMAL, FIRST_OF_PEOPLE, FORMAT, MECHANISMS, NA, PARAMETERS } from './common.js';
import { PARTICIPATION, STATE, STRATEGY, TIME_FORMAT } from './common.js';

const PLOT = `\
  --plot FILE      plots all of it with its intervals: FILE.svg, or FILE.html with the numbers as a
                   table. It contains no true value`;

const FIXED_TIMES = `\
  --fixed-times    with replace-one: promises that times are public, so that a row is only replaced
                   by others of its step; a row that may be of another day is protected less`;

const TIMES = `\
  --time-column T --bucket minute|hour|day|week|month|year
                   rows are events in time order; each bucket is one step, also if empty
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket; rows outside are refused. Default: those of the first and
                   the last row, which are then public
  --steps N        horizon: number of rows (or buckets) the noise is calibrated for. With it, or
                   with --strategy or --from and --to, which imply one, rows are released as they
                   arrive. Otherwise the whole input is read first`;

const REST = `\
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
${FIRST_OF_PEOPLE}
${PARTICIPATION}
${FORMAT}
  --missing M      rows with a missing cell: refuse (default); zero: a missing number or category is
                   0; skip: the row adds nothing, and still takes its step if rows are steps (not
                   with replace-one, for which the number of rows is public). A skipped row is
                   protected like any other one: whether it counts depends on that row alone
${NA}
  --budget FILE    ledger of all releases of a data set, with --budget-epsilon E, --budget-delta D,
                   --budget-account A and --budget-pure P, as for dp-ftrl release
${STATE}`;

export const MOMENTS = `dp-ftrl moments --epsilon E --delta D --range NAME=LOW:HIGH [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes after
each row the number of rows so far (with --workload window=W among the last W) and the mean and the
variance of each column, with noise, each with the ends of an interval:
step,count,count_low,count_high,NAME_mean,NAME_mean_low,... The whole output is
(E, D)-differentially private for one row; for one person, with --user-column; or for one user with
several rows, as --epochs or --participations promise.

An interval contains the number without noise with probability C, whatever the rows are; it is about
these rows, not about a population they were sampled from. A variance divides by the count, not by
one less.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users if that is public
  --range NAME=LOW:HIGH
                   range of a column, known without the data: numbers outside are clipped to it, and
                   the noise is proportional to it. Means and their intervals are those of the
                   clipped numbers: neither shows that a range is too narrow. '*=LOW:HIGH' for all
                   others. Each column needs one
  --column NAME    column of numbers; repeat for more. Default: all without another role
${DECIMAL}
  --covariance     also covariances of every two columns: A_B_covariance
  --standard-deviation
                   root of each variance, in columns at the end: NAME_standard_deviation, with an
                   interval that is right when that of the variance is
  --confidence C   confidence of each single interval, between 0 and 1. Default: 0.95
  --neighbours R   zero-out (default): a row may be there or not; replace-one: it may also be
                   another one, of any step, and variances, covariances and count cost nothing
                   beside the means
${FIXED_TIMES}
${TIMES}
  --workload A     prefix (default), or window=W: moments of the last W rows (or buckets), W a whole
                   number; window=1 with --bucket day: those of each day
${REST}
  --output FILE    written whole or not at all, instead of standard output; with --state, a run that
                   stops early writes the steps that it released
${PLOT}
  --json           one object: private, mode, protects, certificate, columns, confidence, rows (with
                   count, mean, variance, covariance, standardDeviation, of which each has value,
                   low, high, stddev), complete; and error, if a row ended it early
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl moments --epsilon 1 --delta 1e-6 --column minutes --range minutes=0:120 \\
      --time-column time --bucket day examples/gym_visits.csv
  dp-ftrl moments --epsilon 1 --delta 1e-6 --column items --column revenue \\
      --range items=0:5 --range revenue=0:20 --covariance --json \\
      examples/shop_day.csv
  dp-ftrl moments --epsilon 2 --delta 1e-6 --column minutes --range minutes=0:120 \\
      --user-column member --max-contributions 12 --time-column time --bucket day \\
      --from 2026-03-02 --to 2026-05-24 examples/gym_visits.csv
`;

export const HISTOGRAM = `dp-ftrl histogram --epsilon E --delta D --by COLUMN --domain A,B,C [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes after
each row the number of rows of each category so far (with --workload window=W among the last W), its
share of all, and the number of all rows, with noise, each with the ends of an interval:
step,COLUMN,count,count_low,count_high,share,...,total,..., a line for each category. The whole
output is (E, D)-differentially private for one row; for one person, with --user-column; or for one
user with several rows, as --epochs or --participations promise.

Counts are unbiased: they may be negative, and may fall. An interval contains the number without
noise with probability C. dp-ftrl count --by gives counts of each single day beside those so far;
this command gives shares, intervals, windows, replace-one and rows without a time.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users if that is public
  --by COLUMN --domain A,B,C [--other]
                   the categories. Categories read off the data would show who is in it: --domain
                   lists them (or LOW:HIGH for integers), --other adds one for all the rest, which
                   is refused otherwise. A row changes one count by 1, however many there are
  --total          also measures the total: it is then more accurate by about the fourth root of the
                   number of categories, and counts are noisier by up to 7.1 %
  --confidence C   confidence of each single interval, between 0 and 1. Default: 0.95
  --neighbours R   zero-out (default): a row may be there or not; replace-one: it may also be of
                   another category and of any step, at sqrt(2) times the noise or a little more
${FIXED_TIMES}.
                   Counts are then more precise, and the total as precise as a count
  --post-process M  adds a column: non-negative (count_non_negative), counts with 0 in place of
                   negative ones; or monotone (count_monotone), the closest non-negative counts that
                   never fall, written when all is read. Post-processing costs no privacy, and
                   errors are no larger (of monotone: in squares over all steps), but both are
                   biased, sums over categories most: use the total for these. Not monotone with
                   --state. Default: none
${TIMES}
  --workload A     prefix (default), or window=W: counts of the last W rows (or buckets)
${REST}
  --output FILE    written whole or not at all, instead of standard output; with --state, a run that
                   stops early writes the steps that it released
${PLOT}
  --json           one object: private, mode, protects, certificate, by, categories, confidence,
                   postProcessing if given, rows (with total, and for each category count,
                   share and consistent), complete; and error, if a row ended it early
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop,blog --other \\
      --time-column time --bucket day examples/site_visits.csv
  dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop --other \\
      --neighbours replace-one --workload window=1000 --json \\
      examples/site_visits.csv
`;
