// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that answer queries on histograms.

import { COUNTED, FORMAT, PLOT, SKIPPED } from './common.js';

export const QUERIES = `dp-ftrl queries --workload W --column NAME --domain D --epsilon E --delta D [options]
        [FILE.csv]

Counts how many rows have each value, adds noise to the measurements that are best for these
queries, and writes query,answer,std. All answers together are (E, D)-differentially private for one
row or, with --user-column, for one person. With Gaussian noise, a proved bound on the ratio of
their error to the least of any factorization is printed.

  --workload W     ranges: from every value to every later one; prefix: up to every value; identity:
                   every value; marginals=K: tables of K columns; parities=K: of K bits, signs; or a
                   CSV file of numbers without a header, one query per row. With several columns
                   ranges, prefix and identity ask for all combinations (of three at most). Join
                   several with +: ranges+marginals=1
  --column NAME    column to count; repeat for more, the first varies slowest
  --domain D       for each column, in their order: LOW:HIGH (integers) or A,B,C (texts). Declare it
                   without looking at the data. A row with another value is refused
  --other          adds a value, other, to every domain for all that it does not list
  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, below 1. 0: pure, by Laplace noise. Above 1e-3 there is a
                   warning, and with replace-one above one over the number of rows
${COUNTED}
${FORMAT}
${SKIPPED}
  --neighbours R   zero-out (default): one row more or less; or replace-one: one row with other
                   values; the number of rows is then public: answers reveal it exactly, and all of
                   them are better. Not with --missing skip
  --measure M      optimal (default), identity (the histogram) or queries (each separately)
  --objective O    mean (default) or max: the error that the measurements minimise. max takes ranges
                   of at most 361 values
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A,
  --budget-pure P  as in dp-ftrl release, and may be shared with it. A pure release of epsilon e
                   costs e of --budget-pure; without that mu = 2 Phi^-1(1 / (1 + exp(-e))), about
                   1.25 e, or rho = e tanh(e / 2)
  --consistent     answers from one histogram without negative counts; with replace-one, of the true
                   number of rows. std is that before
  --integer        with --consistent: a histogram of whole numbers
  --fractions      with replace-one: answers and std divided by the number of rows
  --output FILE    written whole or not at all, instead of standard output
${PLOT}
  --json           one object: private, protects, neighbours, epsilon, delta, noise, mu,
                   unitError, lowerBound, ratio, bounds {addedNoise, unbiased, every} (on errors in
                   counts of mechanisms that need not be factorizations: of noise that does not
                   depend on the rows; without a delta also of any around the true answers, and of
                   every mechanism), numMeasurements, rmsError, answers; with --fractions
                   fractionsOf, the number of rows
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl queries --workload ranges --column minutes --domain 0:40 --other --epsilon 1 \\
      --delta 1e-6 --consistent examples/gym_visits.csv
  dp-ftrl queries --workload identity+prefix --column minutes --domain 0:180 --epsilon 1 \\
      --delta 1e-6 --neighbours replace-one --fractions examples/gym_visits.csv
  dp-ftrl queries --workload prefix --column minutes --domain 0:180 --epsilon 1 --delta 0 --json \\
      --user-column member --max-contributions 12 examples/gym_visits.csv
`;

export const CHOOSE = `dp-ftrl choose --winner|--quantile Q --column NAME --domain D --epsilon E [options]
        [FILE.csv]

Counts how many rows have each value, and writes the column and one value: about the most frequent
one, or one near a quantile of all rows (exponential mechanism). The choice is E-differentially
private for one row or, with --user-column, for one person. The running time depends on the counts:
let nobody measure it.

  --winner         the most frequent value; of several columns the most frequent combination
  --quantile Q     the value at this quantile of the rows, such as 1/2 or 0.5; of one column
  --column NAME    column to count; repeat for more
  --domain D       for each column, in their order: LOW:HIGH (integers) or A,B,C (texts), for
                   --quantile sorted. A row with another value is refused
  --other          adds a value, other, to every domain for all that it does not list
  --epsilon E      privacy target, 2^-30 to 2^20. Above 20 there is a warning
${COUNTED}
${FORMAT}
${SKIPPED}
  --neighbours R   zero-out (default): one row more or less; or replace-one: one row with other
                   values, and the number of rows is public. Not with --missing skip
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A,
  --budget-pure P  as in dp-ftrl queries --delta 0, but in an account of rho a choice costs e^2 / 8
  --json           one object: private, protects, neighbours, epsilon, choice, values
  --quiet          no guarantee on standard error
  --seed S         fixed choice, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl choose --quantile 1/2 --column minutes --domain 0:180 --epsilon 1 \\
      examples/gym_visits.csv
  dp-ftrl choose --winner --column minutes --domain 0:180 --epsilon 2 --user-column member \\
      --max-contributions 12 --json examples/gym_visits.csv
`;
