// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that release statistics.

import { DECIMAL, FIRST_OF_PEOPLE, FORMAT, MECHANISMS, PARAMETERS } from './common.js';
import { PARTICIPATION, STATE, STRATEGY, TIME_FORMAT } from './common.js';

const PLOT = `\
  --plot FILE      draws all of it with its intervals: FILE.svg, or FILE.html with the numbers as a
                   table. No true value is in it`;

const TIMES = `\
  --time-column T --bucket minute|hour|day|week|month|year
                   rows are events, in time order, and all of a bucket are one step, empty buckets
                   included
${TIME_FORMAT}
  --from TIME, --to TIME
                   first and last bucket; rows outside are refused. Default: those of the first and
                   the last row, which are then known to everybody
  --steps N        horizon: rows (or buckets) the noise is calibrated for. With it, or with
                   --strategy or --from and --to, which have one, rows are released as they arrive.
                   Else the whole input is read first`;

const REST = `\
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
${FIRST_OF_PEOPLE}
${PARTICIPATION}
${FORMAT}
  --missing M      rows with an empty cell: refuse (default); with --time-column also skip, which
                   leaves them out. The guarantee stays: whether a row counts follows from that row
  --budget FILE    ledger of all releases of a data set, with --budget-epsilon E, --budget-delta D
                   and --budget-account A, as for dp-ftrl release
${STATE}`;

export const MOMENTS = `dp-ftrl moments --epsilon E --delta D --range NAME=LOW:HIGH [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes after
each row how many rows there are so far (with --workload window=W among the last W) and the mean and
the variance of each column, with noise, each with the ends of an interval: step,count,count_low,
count_high,NAME_mean,NAME_mean_low,... All of it together is (E, D)-differentially private for one
row; or for one person, with --user-column; or for one user who has several rows as --epochs or
--participations promise.

An interval contains the number without noise with probability C, whatever the rows are; it is about
these rows, not about those that they are a sample of. A variance is divided by the count, not by
one less.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users where that is public
  --range NAME=LOW:HIGH
                   what is known of a column without the data: numbers beyond are clipped to it, and
                   the noise is in proportion to it. A mean is that of the clipped numbers, and so
                   is its interval: neither shows that a range is too narrow. '*=LOW:HIGH' for all
                   others. Each column needs one
  --column NAME    column of numbers; repeat for more. Default: all that have no other role
${DECIMAL}
  --covariance     covariances, too, of every two columns: A_B_covariance
  --standard-deviation
                   the root of each variance in columns at the end: NAME_standard_deviation, with an
                   interval that is right when that of the variance is
  --confidence C   of each interval by itself, between 0 and 1. Default: 0.95
  --neighbours R   zero-out (default): a row may be there or not; replace-one: be another one or not
                   there, for which variances, covariances and count cost nothing beside the means
${TIMES}
  --workload A     prefix (default), or window=W: moments of the last W rows (or buckets), a whole
                   number; window=1 with --bucket day has those of each day
${REST}
  --output FILE    written whole or not at all, instead of standard output
${PLOT}
  --json           one object: private, mode, protects, certificate, columns, confidence, rows (with
                   count, mean, variance, covariance, standardDeviation, of which each has value,
                   low, high, stddev), complete; and error, when a row ended it early
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
each row how many rows of each category there are so far (with --workload window=W among the last
W), its share of all, and how many there are of all, with noise, each with the ends of an interval:
step,COLUMN,count,count_low,count_high,share,...,total,..., a line for each category. All of it
together is (E, D)-differentially private for one row; or for one person, with --user-column; or for
one user who has several rows as --epochs or --participations promise.

Counts are unbiased: they may be negative, and fall. An interval contains the number without noise
with probability C. dp-ftrl count --by has counts of each single day beside those so far; here are
shares, intervals, windows, replace-one and rows without a time.

  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users where that is public
  --by COLUMN --domain A,B,C [--other]
                   the categories. Those of the data would show who is in it: --domain names them
                   (or LOW:HIGH for integers), --other adds one for all the rest, which is refused
                   else. A row changes one count by 1, however many there are
  --total          measures the number of all rows, too: the total is then sharper by about the
                   fourth root of the number of categories, and counts are noisier by up to 7.1 %
  --confidence C   of each interval by itself, between 0 and 1. Default: 0.95
  --neighbours R   zero-out (default): a row may be there or not; replace-one: be of another
                   category or not there, for which the total is as precise as a count
  --post-process M in another column, by post-processing: non-negative (count_non_negative), counts
                   with 0 instead of what is below; or monotone (count_monotone), the closest to the
                   counts that are not negative and never fall, written when all is read. Neither
                   costs privacy, and errors are no larger (of monotone: in squares over all steps);
                   but both are biased, sums over categories most: take the total for these. Not
                   monotone with --state. Default: none
${TIMES}
  --workload A     prefix (default), or window=W: counts of the last W rows (or buckets)
${REST}
  --output FILE    written whole or not at all, instead of standard output
${PLOT}
  --json           one object: private, mode, protects, certificate, by, categories, confidence,
                   postProcessing where there is one, rows (with total, and for each category count,
                   share and consistent), complete; and error, when a row ended it early
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop,blog --other \\
      --time-column time --bucket day examples/site_visits.csv
  dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop --other \\
      --neighbours replace-one --workload window=1000 --json \\
      examples/site_visits.csv
`;
