// SPDX-License-Identifier: Apache-2.0

// Short help for a first run, in at most thirty lines including the line that names the full help.
// Commands that are missing here have a full help of at most thirty lines.

const PRIVACY = `\
  --epsilon E      how much one row may reveal: 1 is common, above 10 promises little. Half of it
                   means about twice the noise. Every further run on the same data adds to it;
                   --budget FILE keeps the total
  --delta D        how far that may fail: at most one over the number of rows; 1e-6 is common`;

const ONE_FILE = '[options] [FILE.csv]';

export const SHORT: Readonly<Record<string, string>> = {
  count: `dp-ftrl count --epsilon E --delta D --time-column T --bucket day ${ONE_FILE}

Private counts of the rows of a CSV file (or standard input) per day and in total so far, as CSV
with standard deviations. The whole output is (E, D)-differentially private for one row.

${PRIVACY}
  --time-column T  time of each row, such as 2026-03-01 09:30, or as --time-format says (seconds,
                   milliseconds, day-month-year, month-day-year, log). --sort puts them in order
  --bucket B       minute, hour, day, week, month or year
  --time-zone Z    whose clocks begin days: an IANA name such as Europe/Berlin. Default: UTC
  --from TIME, --to TIME
                   first and last bucket; rows outside are refused. Default: those of the data,
                   which are then not hidden
  --by COLUMN --domain A,B,C [--other]
                   counts per category of --domain; --other adds one for the rest
  --user-column ID --max-contributions K
                   protects a person instead of a row; each counts in their first K buckets. A small
                   K leaves out later ones, a large K adds noise, about in proportion
  --output FILE    instead of standard output; --json writes JSON; --plot FILE.svg or .html draws

Example:
  dp-ftrl count --epsilon 1 --delta 1e-6 --time-column time --bucket day \\
      --by section --domain docs,shop,blog --other \\
      examples/site_visits.csv
`,
  release: `dp-ftrl release --epsilon E --delta D --clip C ${ONE_FILE}

Private running totals of the columns of a CSV file (or standard input), one for each row, as CSV
with standard deviations. All of them together are (E, D)-differentially private for one row.

${PRIVACY}
  --clip C         largest length of a row: longer ones are scaled down to it, and the noise grows
                   with it. Choose it without the data, such as 1 for counts of one, or a legal
                   limit; never the maximum that you see. It follows from --range NAME=LOW:HIGH of
                   every column, if you give that
  --pure           instead of --delta: no delta, by Laplace noise; --clip is then an l1-norm
  --column NAME    column to sum; repeat for more. Default: all
  --steps N        largest possible number of rows; with it each row is released as it arrives
  --workload window=W, or momentum=0,decay=A
                   sums of the last W rows (or days and so on), or decaying sums, instead of totals;
                   several, such as --workload prefix --workload window=W, share one budget
  --time-column T --bucket minute|hour|day|week|month|year
                   one total per day and so on, in --time-zone Z (default UTC)
  --user-column ID --max-contributions K
                   protects a person instead of a row; only their first K rows or buckets count
  --output FILE    instead of standard output; --json writes JSON; --plot FILE.svg or .html draws

Example:
  dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --column count \\
      examples/shop_day.csv
`,
  moments: `dp-ftrl moments --epsilon E --delta D --range NAME=LOW:HIGH ${ONE_FILE}

Private count, means and variances of the columns of a CSV file (or standard input), after each
row, as CSV with intervals. The whole output is (E, D)-differentially private for one row.

${PRIVACY}
  --range NAME=LOW:HIGH
                   range of a column, known without the data: the noise is proportional to it, and
                   numbers outside are clipped, which biases means; intervals do not cover that.
                   '*=LOW:HIGH' for all others
  --column NAME    column of numbers; repeat for more. Default: all
  --covariance     also covariances
  --user-column ID --max-contributions K
                   protects a person instead of a row; only their first K rows (or days) count
  --time-column T --bucket minute|hour|day|week|month|year
                   one release per day and so on, in --time-zone Z (default UTC)
  --workload window=W
                   the last W rows (or days and so on) instead of all so far; window=1 with --bucket
                   day: each day
  --confidence C   confidence of each interval (default 0.95)
  --output FILE    instead of standard output; --json writes JSON; --plot FILE.svg or .html draws

Example:
  dp-ftrl moments --epsilon 1 --delta 1e-6 --column minutes --range minutes=0:120 \\
      --time-column time --bucket day examples/gym_visits.csv
`,
  histogram: `dp-ftrl histogram --epsilon E --delta D --by COLUMN --domain A,B,C ${ONE_FILE}

Private counts and shares of the categories of a column of a CSV file (or standard input), after
each row, as CSV with intervals. The whole output is (E, D)-differentially private for one row. For
counts per day use dp-ftrl count.

${PRIVACY}
  --by COLUMN --domain A,B,C [--other]
                   the categories, chosen without the data; --other adds one for the rest
  --total          more accurate total, slightly noisier counts
  --user-column ID --max-contributions K
                   protects a person instead of a row; only their first K rows (or days) count
  --time-column T --bucket minute|hour|day|week|month|year
                   one release per day and so on, in --time-zone Z (default UTC)
  --workload window=W
                   the last W rows (or days and so on) instead of all so far
  --post-process M  monotone: counts that never fall; non-negative: none below 0. Both are biased
  --confidence C   confidence of each interval (default 0.95)
  --output FILE    instead of standard output; --json writes JSON; --plot FILE.svg or .html draws

Example:
  dp-ftrl histogram --epsilon 1 --delta 1e-6 --by section --domain docs,shop,blog --other \\
      --time-column time --bucket day examples/site_visits.csv
`,
  learn: `dp-ftrl learn --label NAME --epsilon E --delta D ${ONE_FILE}

Learns a linear model of one column of a CSV file from the others: it is (E, D)-differentially
private for one row. Clip norm, steps and rate are set from public numbers.

${PRIVACY}
  --label NAME     column to predict: 0 and 1, or -1 and 1
  --loss L         logistic (default), hinge, squared, huber, absolute, quantile or softmax
  --range NAME=LOW:HIGH
                   range of a feature, known without the data; '*=LOW:HIGH' for all others. Without
                   it a feature is clipped to [-1, 1]: good models need it
  --column NAME    feature; repeat for more. Default: all columns but the label
  --clip C         largest gradient norm; required for squared, else chosen. A larger one adds noise
  --no-precondition  spends no budget on second moments of the features first
  --model FILE     writes the model; --json prints it; --plot FILE.svg or .html draws its weights

Example:
  dp-ftrl learn --label label --epsilon 1 --delta 1e-6 --range '*=-0.5:0.5' \\
      examples/pendulum.csv
`,
  queries: `dp-ftrl queries --workload W --column NAME --domain D --epsilon E --delta D [options]
        [FILE.csv]

Private answers to many counting queries on a CSV file, as CSV with standard deviations. All answers
together are (E, D)-differentially private for one row.

${PRIVACY}.
                   0: pure, by Laplace noise
  --workload W     ranges, prefix, identity (each value), marginals=K, parities=K, or a CSV file
  --column NAME --domain LOW:HIGH|A,B,C
                   column to count, and the values it may have, declared without the data; repeat
                   both for more columns. --other adds a value for all that are not listed
  --user-column ID --max-contributions K
                   protects a person instead of a row; only their first K rows count
  --consistent     answers without negative counts
  --output FILE    instead of standard output; --json writes JSON; --plot FILE.svg or .html draws

Example:
  dp-ftrl queries --workload identity+prefix --column minutes --domain 0:180 --epsilon 1 \\
      --delta 1e-6 \\
      examples/gym_visits.csv
`,
  choose: `dp-ftrl choose --winner|--quantile Q --column NAME --domain D --epsilon E [options]
        [FILE.csv]

Chooses one value of a column: about the most frequent, or one near a quantile. The choice is
E-differentially private for one row.

  --winner         the most frequent value
  --quantile Q     the value at this quantile of the rows, such as 1/2 or 0.5
  --column NAME --domain LOW:HIGH|A,B,C
                   column, and the values it may have, declared without the data: whole numbers from
                   LOW to HIGH, or a list. --other adds a value for all that are not listed
  --epsilon E      how much one row may reveal: 1 is common, above 10 promises little
  --user-column ID --max-contributions K
                   protects a person instead of a row; only their first K rows count
  --json           writes JSON

Example:
  dp-ftrl choose --quantile 1/2 --column minutes --domain 0:180 --epsilon 1 \\
      examples/gym_visits.csv
`,
  error: `dp-ftrl error --steps N [--mechanism M] [options]

Error of a mechanism over N steps at noise multiplier 1 and clip norm 1, with a lower bound for
every factorization. Multiply by noise multiplier and clip norm to get the units of the input.

  --steps N        horizon
  --mechanism M    optimal (default), blt, honaker, square-root, ...: dp-ftrl compare lists them
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file
  --epochs K       each user once in each of K epochs; default: each user once
  --json           writes JSON

Example:
  dp-ftrl error --steps 1024 --mechanism honaker
`,
  compare: `dp-ftrl compare --steps N [options]

All mechanisms side by side, best first: their errors at noise multiplier 1 and clip norm 1, beside
a lower bound, and their costs.

  --steps N        horizon
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file
  --epochs K       each user once in each of K epochs; default: each user once
  --objective O    max (default) or mean: the error to sort by
  --json           writes JSON

Example:
  dp-ftrl compare --steps 256
`,
  optimize: `dp-ftrl optimize --steps N [--mechanism M] [options]

Finds the best mechanism for a horizon, and shows how close its error is to the least possible.

  --steps N        horizon
  --mechanism M    optimal (default), blt, blt-normalized, blt-scaled, banded-toeplitz or banded
  --objective O    max (default): the worst step, or mean
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file
  --output FILE    saves the mechanism, for --strategy of release and learn

Example:
  dp-ftrl optimize --steps 256 --mechanism blt --buffers 2
`,
};
