// SPDX-License-Identifier: Apache-2.0

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_MECHANISM } from '../shared/defaults.js';
import { EXPLAINED, optionOf, PARAMETER_NAMES } from '../shared/parameters.js';
import type { ParameterName } from '../shared/parameters.js';
import type { CatalogueEntry } from '../types/all.js';
import { paragraph } from './output/table.js';

/** Placeholders for the mechanisms of the catalogue, and for their parameters. */
const MECHANISMS = '@@mechanisms@@';
const PARAMETERS = '@@parameters@@';
const INDENT = ' '.repeat(19);

/** Returns the lines of one parameter: its option, its meaning, and the mechanisms that take it. */
function parameterText(name: ParameterName, catalogue: readonly CatalogueEntry[]): string {
  const { value, meaning } = EXPLAINED[name];
  const option = `  --${optionOf(name)}${value === undefined ? '' : ` ${value}`}`;
  const takers = catalogue.filter(({ parameters }) => parameters.includes(name));
  const whose = takers.length === 0 ? '' : ` (${takers.map((entry) => entry.name).join(', ')})`;
  const clause = `${meaning.charAt(0).toLowerCase()}${meaning.slice(1, -1)}`;
  const text = paragraph(`${clause}${whose}`, INDENT);
  return option.length < INDENT.length - 1
    ? `${option.padEnd(INDENT.length)}${text.trimStart()}`
    : `${option}\n${text}`;
}

/** The help of a command, with the mechanisms of this version. */
export function helpOf(name: keyof typeof HELP, catalogue: readonly CatalogueEntry[]): string {
  const names = catalogue.map(({ name: each }) =>
    each === DEFAULT_MECHANISM ? `${each} (default)` : each,
  );
  const parameters = PARAMETER_NAMES.map((each) => parameterText(each, catalogue)).join('');
  const list = paragraph(names.join(', '), INDENT).trim();
  return HELP[name]
    .replace(MECHANISMS, `  --mechanism M    ${list}`)
    .replace(PARAMETERS, parameters.trimEnd())
    .replace(/\bexamples\/\w+\.csv/g, exampleFile);
}

/** Path of a table of the package, written for a shell in the current folder. */
function exampleFile(name: string): string {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const near = relative('', path);
  const shown = near.startsWith('..') ? path : near;
  return /^[\w./@+-]+$/.test(shown) ? shown : `"${shown}"`;
}

export const MAIN_HELP = `dp-ftrl: private running totals of a stream, and learning from them

  dp-ftrl count      private counts per day (or hour, ...) of a CSV file, by category
  dp-ftrl release    noisy running totals of a CSV file, differentially private as a whole
  dp-ftrl learn      a linear model of a CSV file, learned privately
  dp-ftrl queries    many counts of a CSV file at once: ranges, tables, any linear queries
  dp-ftrl choose     what a CSV file has most of, or in the middle
  dp-ftrl error      error of a mechanism at unit noise
  dp-ftrl compare    all mechanisms side by side, best first
  dp-ftrl optimize   the best mechanism for a horizon, saved for --strategy
  dp-ftrl bounds     the least error there can be, proved and published
  dp-ftrl calibrate  noise multiplier for a privacy target
  dp-ftrl experiment findings of the field, measured again and drawn
  dp-ftrl bench      how fast this machine is at it
  dp-ftrl example    the tables of the package, to try the others on

  dp-ftrl COMMAND --help    its options; also dp-ftrl help COMMAND
  dp-ftrl --version         also -V, and after COMMAND

Exit code: 0 done, 1 failed, 2 misuse. Messages go to standard error.
`;

const STRATEGY = `\
  --strategy FILE  a mechanism that dp-ftrl optimize saved, with its horizon, workload and, unless
                   another one is given, participation`;

const PARTICIPATION = `\
  --epochs K       each user once in each of K epochs of N/K steps, always at the same place
  --participations K --min-separation S
                   each user at most K times, at steps i < j with j - i >= S.
                   Default: each user once`;

const MODE = `\
  --mode MODE      grid (default): sums and noise are integers on a grid, safe against the low bits
                   of floating-point numbers. lattice: noisy integer measurements, decoded
                   afterwards; with tree, honaker, blt and others that have an integer encoder
  --lattice-noise L  discrete-gaussian (default; zero-concentrated DP: a --budget for it needs
                   --budget-account rho), or rounded-gaussian (Gaussian DP, less noise)`;

const WORKLOAD = `\
  --workload A     prefix (default), momentum=B[,decay=A], window=W, or a CSV file of numbers
                   without header: a column of learning rates (FILE,momentum=B for rates with
                   momentum), or a square lower-triangular matrix`;

const COUNTED = `\
  --user-column ID --max-contributions K
                   protects persons: column ID says whose row it is. Of each person the first K
                   rows count; memory grows with the number of persons. With zero-out neighbours`;

const HELP = {
  example: `dp-ftrl example [NAME]

Writes a table of the package to standard output as CSV, or without a NAME the names of all. What they
are, and where they come from, is written in examples/README.md of the package.

Examples:
  dp-ftrl example shop_day
  dp-ftrl example shop_day | dp-ftrl release --epsilon 1 --delta 1e-6 --clip 1 --column count
`,
  count: `dp-ftrl count --epsilon E --delta D --time-column T --bucket day [options] [FILE.csv]

Counts the rows of a CSV file (RFC 4180, UTF-8, first row names the columns) or of standard input by
time, and with --by by category. Writes T,[CATEGORY,]count,count_std,total,total_std: of each bucket
how many rows it has, and how many there are so far, both with noise, and the standard deviations of
that noise. All of it together is (E, D)-differentially private for one row; or for one person, with
--user-column. A row changes one count by 1: there is nothing to clip.

The noise serves totals. A count is the difference of two of them, and a single bucket is noisier
than if only buckets were released: read a span of buckets as the difference of two totals, whose
std is at most twice total_std, however long the span is. Counts may be negative, and are not rounded, so that sums and
means of them stay unbiased.

  --epsilon E      privacy target, > 0: the smaller, the more noise. 1 is common
  --delta D        privacy target, between 0 and 1: at most one over the number of rows, say 1e-6
  --time-column T --bucket minute|hour|day|week|month|year
                   when each row was, in time order (ISO 8601; UTC unless there is an offset), and
                   what is counted together; buckets without rows are counted, too
  --from TIME, --to TIME
                   first and last bucket, and rows are released as they arrive. Default: those of
                   the first and the last row, which the guarantee then does not hide
  --by COLUMN --domain A,B,C [--other]
                   counts by category. Those of the data would show who is in it: --domain names
                   them (or LOW:HIGH for integers), --other adds one for all the rest
  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. All rows of a person in a
                   bucket count as 1 together (two categories as 0.71 each), in the first K buckets
                   that are at least S (default 1) apart, and the others not at all
${MECHANISMS}
${PARAMETERS}
  --budget FILE    ledger of all releases of a data set, with --budget-epsilon E, --budget-delta D and
                   --budget-account A, as for dp-ftrl release
  --output FILE    written whole or not at all, instead of standard output
  --json           one object: private, mode, protects, certificate, by, categories, rows, complete;
                   and error, with code, row, line and column but no cell, when a row ended it early
  --quiet          no guarantee and no notice on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds the counts without noise, count_true and total_true: NOT private

Examples, with files of the package:
  dp-ftrl count --epsilon 1 --delta 1e-6 --time-column time --bucket day \\
      --by section --domain docs,shop,blog --other examples/site_visits.csv
  dp-ftrl count --epsilon 2 --delta 1e-6 --time-column time --bucket week \\
      --from 2026-04-06 --to 2026-05-03 --user-column visitor --max-contributions 4 \\
      examples/site_visits.csv
`,
  release: `dp-ftrl release --epsilon E --delta D --clip C [options] [FILE.csv]

Reads a CSV file (RFC 4180, UTF-8, first row names the columns) or standard input, and writes
step,COLUMN...,std: after each row the running total plus noise, and the standard deviation of that
noise. step counts the rows summed so far. All releases together are (E, D)-differentially private
for one row; or for one person, with --user-column; or for one user who has several rows as --epochs
or --participations promise.

  --epsilon E      privacy target, > 0
  --delta D        privacy target, between 0 and 1
  --clip C         rows whose l2-norm over the columns exceeds C are scaled down to it
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon: rows the noise is calibrated for. With it, or with --strategy or --from
                   and --to, which have one, rows are released as they arrive, and rows already
                   written stay valid when a later one is bad. Else the whole input is read first (a
                   file twice, from a pipe it is kept in memory), and a bad row means that nothing
                   is written
  --column NAME    column to sum; repeat for more. Default: all that have no other role; where there
                   is none, each row counts as 1

  --user-column ID --max-contributions K [--min-separation S]
                   protects persons: column ID says whose row it is. Of each person the first row
                   counts, and then each at least S steps (default 1) after the last that counted,
                   until K have; the others are released as rows of zeros. Memory grows with the
                   number of persons, not of rows
  --time-column T --bucket minute|hour|day|week|month|year
                   rows are events, in time order (ISO 8601; UTC unless they have an offset), and
                   all of a bucket are one step, empty buckets included. Clipped is each row, or
                   with --user-column all rows of a person in the bucket together
  --from TIME, --to TIME
                   first and last bucket. Default: those of the first and the last row, which are
                   then known to everybody
  --budget FILE    ledger of all releases of a data set, which together stay within its limit,
                   whatever made you choose the next one; one that would exceed it is refused.
                   Begun with --budget-epsilon E and --budget-delta D. It remembers how far a
                   --state has come, and refuses older copies of it
  --budget-account A
                   what a new FILE adds up, never changed: mu (default; Gaussian DP, best for
                   Gaussian noise) or rho (zero-concentrated DP; takes discrete Gaussian noise,
                   too, and has room for more pure releases)
  --state FILE     goes on where the last run with this file stopped: its rows follow those before,
                   and all runs together are one release with horizon --steps. FILE holds the key,
                   the true sums, and of --user-column whose rows counted: as secret as the rows.
                   Columns are those of the first run, found by their names in any order.
                   With --time-column a run ends its last bucket, which is that of its last row or
                   of --to; rows of a bucket that is released are refused
  --first-step N   with --state: the first row is that of step N, released before; the same rows
                   get the same releases again, and others are refused. Not with --user-column,
                   --time-column
${PARTICIPATION}
  --neighbours R   zero-out (default; also add-remove) or replace-one (also replace)
${MODE}
  --output FILE    written whole or not at all, instead of standard output
  --json           one object: private, mode, protects, certificate, columns, rows, complete; and
                   error, with code, row, line and column but no cell, when a row ended it early
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
`,
  learn: `dp-ftrl learn --label NAME --epsilon E --delta D [options] [FILE.csv]

Reads a CSV file or standard input as dp-ftrl release does, one example a row, and learns a linear
model of the label from the other columns in one pass or more (DP-FTRL): gradients are clipped,
their running totals get noise, and the weights follow from those alone. So the model is
(E, D)-differentially private for one row, or for one user as --epochs or --participations promise.
Nobody's rows are left out: where somebody has more of them than promised, take the surplus out
first.

Without --clip and other options of the learner all of it is set up from the numbers of rows and
features, epsilon and delta: a FILE is learned from in 120 steps of all its rows, rows that come
once (standard input, --steps, --batch, --state) in one pass. That is for losses whose labels are
classes; the others, and runs with another option of the learner, mechanism or participation, get a
clip norm that clips no gradient, and the rest as below. With --clip the default is one pass.

To learn well give every feature a --range: a gradient is the row of features times the slope of the
loss, and where a long one is clipped, large features leave little of the others. With ranges a row of
m features and the intercept has norm at most sqrt(m + 1). A larger --clip is more noise. Where that
rules out that gradients are clipped, a bound on the expected regret is printed. Try options on data
that is not secret, with --show-nonprivate: every try on the rows themselves costs privacy.

  --label NAME     column to predict; with --loss logistic and hinge 0 and 1, or -1 and 1
  --loss L         logistic (default), hinge, squared, huber, absolute, quantile or softmax
  --classes K      of --loss softmax: labels are 0 to K - 1
  --quantile T     which quantile of the label --loss quantile predicts, between 0 and 1 (default
                   0.5)
  --huber-threshold H
                   errors beyond which --loss huber is a line (default 1)
  --column NAME    feature; repeat for more. Default: all columns but the label
  --range NAME=LOW:HIGH
                   what is known of a feature without the data: LOW becomes -1, HIGH 1, and what
                   lies outside is moved to the edge; '*=LOW:HIGH' for all features without a range
                   of their own. Features without a range are clipped to [-1, 1], but used as they
                   are with --clip
  --ranges-from-data
                   the least and greatest value of the other features: NOT private, and needs
                   --show-nonprivate
  --no-intercept   no feature that is always 1
  --epsilon E      privacy target, > 0
  --delta D        privacy target, between 0 and 1
  --clip C         gradients whose l2-norm exceeds C are scaled down to it (default: see above)
  --domain K       where the weights stay: ball of l2-norm R (default), box of entries from -R to R,
                   simplex of weights >= 0 and sum R, simplex-entropic (the same, with steps that
                   multiply), or whole-space
  --radius R       default 1; in the whole space that of the best fixed weights in hindsight
  --regularisation L
                   of the mean gradient of a step, whatever --batch is: the weights follow sums of
                   gradients divided by L * batch (default: see above; the value of the regret
                   theorem)
  --doubling       L is that of the first step, and grows with the square root of the steps
  --descent        gradient descent of rate 1 / L instead of FTRL; with --mechanism independent
                   it is DP-SGD
  --momentum B, --rates A,B,...
                   of --descent: momentum, and rates in units of 1 / L, the last one for the rest
  --momentum-through post-processing|workload
                   the encoder is that for prefix sums (default), or made for the momentum or, with
                   --mechanism optimal, for the rates (momentum for optimal: minutes at 1024 steps)
  --batch B        rows of a step, each with its own clipped gradient (default 1). Steps are counted
                   in batches; the last may have fewer rows
  --average A      all, tail or last: the weights are the mean of all that were played, the mean of
                   those after half the horizon, or the latest (default tail, but all with --clip or
                   --state)
  --passes K       reads the rows K times, in the same order (default: see above): the noise is that
                   for one row in all of them, and --steps, if given, K times those of a pass. The
                   input is read once before
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon: steps the noise is calibrated for. Without it the input is read twice,
                   and the number of its rows is public. With it a bad row, or one too many, is
                   found while learning: there is no model then, and what --budget paid is gone
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A
                   as in dp-ftrl release
  --state FILE     goes on after the last row that earlier runs with this file learned from; all runs
                   together are one learning with horizon --steps, and each ends with its model. FILE
                   holds the key and the true sums of gradients: as secret as the rows. Options are
                   those of the first run, and columns, found by their names in any order. A --batch
                   that a run leaves open goes on in the next. A header without rows gives the model
                   again, and says how many rows are learned from, also after a crash. Not with
                   --passes, --show-nonprivate
${PARTICIPATION}
  --neighbours R   zero-out (default; also add-remove) or replace-one (also replace)
${MODE}
  --model FILE     writes the model as JSON, whole or not at all; predict() of the library reads it
  --json           the model on standard output: format, version, loss, inputs, intercept, weights
                   (of each feature, then of the intercept; as --average says, and as printed without
                   --json), lastWeights (the latest), numExamples, private,
                   certificate, protects
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds loss and accuracy of the predictions made before each label was known,
                   the loss of predicting 0, that of the same learner without noise, and what both
                   lose beyond the best fixed weights in hindsight (the regret, with the error it
                   may have; for rows * (features + 1) up to 16,777,216 numbers): NOT private. True
                   sums of gradients are shown by simulation of the library, not here
  --test FILE.csv  adds the loss of the model and of its latest weights on other rows: NOT private,
                   and needs --show-nonprivate

Examples, with files of the package:
  dp-ftrl learn --label label --epsilon 4 --delta 1e-6 --clip 1 --no-intercept --json \\
      examples/pendulum.csv > model.json && head -c 300 model.json
  dp-ftrl learn --loss squared --label height --range hour=0:1007 --epsilon 4 --delta 1e-6 \\
      --clip 2 --mechanism honaker --radius 5 examples/tide.csv
  head -n 1001 examples/pendulum.csv | dp-ftrl learn --label label --epsilon 4 --delta 1e-6 \\
      --clip 1 --no-intercept --steps 2000 --state pendulum.state
  sed 2,1001d examples/pendulum.csv | dp-ftrl learn --label label --epsilon 4 --delta 1e-6 \\
      --clip 1 --no-intercept --steps 2000 --state pendulum.state
`,
  queries: `dp-ftrl queries --workload W --column NAME --domain D --epsilon E --delta D [options]
        [FILE.csv]

Counts how many rows have each value, adds noise to what is best measured for these queries, and
writes query,answer,std. All answers together are (E, D)-differentially private for one row, or for
one person with --user-column. How far at most their error is from the least that any factorization
has is printed, and proved.

  --workload W     ranges: from every value to every later one; prefix: up to every value; identity:
                   every value; marginals=K: tables of K columns; parities=K: of K bits, signs; or a
                   CSV file of numbers without header, one query a row. Of several columns ranges,
                   prefix and identity ask for all combinations (of three at most). Several are
                   joined by +: ranges+marginals=1
  --column NAME    repeat for more; the first counts slowest
  --domain D       for each column, in their order: LOW:HIGH (integers) or A,B,C (texts). Declare
                   it, do not read it off the data. A row with another value is refused
  --other          every domain has one more value, other, for all that it does not list
  --epsilon E      privacy target, > 0
  --delta D        privacy target, below 1. 0: pure, by Laplace noise
${COUNTED}
  --neighbours R   zero-out (default): one row more or less; or replace-one: one row with other
                   values, and the number of rows is public: answers tell it exactly, and all of
                   them are better
  --measure M      optimal (default), identity (the histogram) or queries (each by itself)
  --objective O    mean (default) or max: which error the measurements make least. max takes ranges
                   of at most 361 values
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A
                   as in dp-ftrl release, with which it is shared. A pure release of epsilon e costs
                   mu = 2 Phi^-1(1 / (1 + exp(-e))), about 1.25 e, or rho = e tanh(e / 2)
  --consistent     answers of one histogram without negative counts; with replace-one, of as many
                   rows as there are. std then is that before
  --integer        with --consistent: of whole numbers
  --fractions      with replace-one: answers and std divided by the number of rows
  --output FILE    written whole or not at all, instead of standard output
  --json           one object: private, protects, neighbours, epsilon, delta, noise, mu,
                   unitError, lowerBound, ratio, numMeasurements, rmsError, answers; with
                   --fractions fractionsOf, the number of rows
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl queries --workload ranges --column minutes --domain 0:40 --other --epsilon 1 \\
      --delta 1e-6 --consistent examples/gym_visits.csv
  dp-ftrl queries --workload identity+prefix --column minutes --domain 0:180 --epsilon 1 \\
      --delta 1e-6 --neighbours replace-one --fractions examples/gym_visits.csv
  dp-ftrl queries --workload prefix --column minutes --domain 0:180 --epsilon 1 --delta 0 --json \\
      --user-column member --max-contributions 12 examples/gym_visits.csv
`,
  choose: `dp-ftrl choose --winner|--quantile Q --column NAME --domain D --epsilon E [options]
        [FILE.csv]

Counts how many rows have each value and writes the column and one value: one with about the most
rows, or one at about a quantile of all rows (exponential mechanism). The choice is
E-differentially private for one row, or for one person with --user-column. How long it takes
depends on the counts: let nobody measure it.

  --winner         the value that most rows have; of several columns the combination
  --quantile Q     the value at that part of the rows, 1/2 or 0.5; of one column
  --column NAME    repeat for more
  --domain D       for each column, in their order: LOW:HIGH (integers) or A,B,C (texts), for
                   --quantile in order. A row with another value is refused
  --other          every domain has one more value, other, for all that it does not list
  --epsilon E      privacy target, 2^-30 to 2^20
${COUNTED}
  --neighbours R   zero-out (default): one row more or less; or replace-one: one row with other
                   values, and the number of rows is public
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A
                   as in dp-ftrl queries --delta 0
  --json           one object: private, protects, neighbours, epsilon, choice, values
  --quiet          no guarantee on standard error
  --seed S         fixed choice, for tests and demonstrations: NOT private

Examples, with files of the package:
  dp-ftrl choose --quantile 1/2 --column minutes --domain 0:180 --epsilon 1 \\
      examples/gym_visits.csv
  dp-ftrl choose --winner --column minutes --domain 0:180 --epsilon 2 --user-column member \\
      --max-contributions 12 --json examples/gym_visits.csv
`,
  error: `dp-ftrl error --steps N [--mechanism M] [options]

Error of a mechanism over N steps at noise multiplier 1 and clip norm 1. Multiply by noise
multiplier and clip norm for the units of the input.

${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --neighbours R   zero-out (default) or replace-one, which doubles sensitivity, errors and bound
  --json           mechanism, parameters (as given), steps, workload, participation,
                   maxParticipations, separation (of a user's steps), neighbours, sensitivity,
                   sensitivityExactness, sensitivityMethod, maxError, meanError, objective,
                   lowerBound (on the error of the objective, of every factorization with Gaussian
                   noise), boundMethod, lowerBoundMinDimension (the least dimension of records for
                   which it is one), lowerBoundEveryDimension (one for all records),
                   ratio and gap (of that error to the bound), decoderResidual, residualSteps,
                   effectiveParameters (those that were chosen, too); with --normalize also
                   raisedByNormalizing: the error of the objective is larger than without

Progress of long searches goes to standard error, if that is a terminal.

Examples:
  dp-ftrl error --steps 1024
  dp-ftrl error --steps 1024 --mechanism tree-k --arity 4 --epochs 4 --json
`,
  compare: `dp-ftrl compare --steps N [options]

All mechanisms with their defaults, and some variants, at noise multiplier 1, clip norm 1 and
zero-out neighbours, best first: errors, their ratio to a lower bound of every factorization with
Gaussian noise, sensitivity, time of a step and vectors kept. What has no formula at this size, or
takes long to find, is listed with the reason.

  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --objective O    max (default) or mean: what the table is sorted by
  --strategy FILE  a saved strategy, compared too; repeat for more
  --json           numSteps, workload, participation, objective, lowerBound, boundMethod,
                   lowerBoundMinDimension, lowerBoundEveryDimension (as in error), mechanisms,
                   leftOut, raisedByNormalizing. pureDp of a mechanism: Laplace noise in its
                   measurements would be purely private (delta 0), which all of them allow;
                   release and learn draw Gaussian noise

Progress goes to standard error, if that is a terminal and it takes more than a second.

Examples:
  dp-ftrl compare --steps 256
  dp-ftrl compare --steps 64 --workload momentum=0.9 --participations 4 --min-separation 8
`,
  optimize: `dp-ftrl optimize --steps N [--mechanism M] [options]

Finds the parameters of an optimised mechanism and writes them as JSON, with its error, a certified
lower bound on that of every factorization (with three epochs and more: for records of several
numbers), their ratio, and how the search ended. From the saved numbers on, noise is the same bit
for bit on every machine.

  --mechanism M    optimal (default), blt, blt-normalized, blt-scaled, banded-toeplitz or banded
  --buffers K|exact, --bands B, --objective max|mean
                   where the mechanism has them; optimal: 8 buffers, objective max
  --solver S       optimal: exact (default), or none: weights in closed form for prefix sums, at
                   once, about 2 % above the least max error, 0.02 % above the least mean error;
                   the status is stopped
  --max-iterations I
                   gives up after so many in all, over all starts; the status then says so
  --gap G          optimal: how close the bounds on the optimum must come, relative, between 0 and 1
                   (default 1e-7; with dense matrices 1e-4). Few buffers cost more: --buffers exact
  --query-weights FILE
                   optimal with --objective mean: a CSV column of positive weights W, one a step;
                   error and bound are those of sqrt(sum W e^2 / N), e the error of a step
  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --output FILE    written whole or not at all; standard output then gets the report
  --json           the saved strategy on standard output: format, version, mechanism, numSteps,
                   workload, participation, objective, queryWeights (if given), error, lowerBound,
                   boundMethod, lowerBoundMinDimension and lowerBoundEveryDimension (where the
                   former is not 1; as in error), ratio, status, iterations, parameters. Without it
                   a report

What is searched for fits the workload and the participation where there is such a search: optimal
up to 2048 steps for any workload (beyond: prefix and decay alone), up to 1024 for --epochs; blt,
banded-toeplitz and banded any participation. Elsewhere it is that for prefix sums or for one
participation, and the status is infeasible. Dense optima take seconds at 256 steps, minutes at
1024; optimal for prefix sums ten seconds at 10^6 steps. For learning rates and more than 2048
steps: --objective mean, or blt. What is found for another workload than prefix sums serves error,
compare and the noise of the package; release and learn add up, and take strategies for prefix sums.

Progress goes to standard error if that is a terminal and the search takes more than a second. When
it is interrupted (Ctrl-C) nothing is written, and the exit code is 130.

Examples, with files of the package:
  dp-ftrl optimize --steps 840 --json > strategy.json && dp-ftrl release --epsilon 1 --delta 1e-6 \\
      --clip 1 --strategy strategy.json --column count examples/shop_day.csv
  dp-ftrl optimize --steps 256 --mechanism blt --buffers 2
`,
  bounds: `dp-ftrl bounds --steps N [--json]

Bounds on the errors of factorizations of the prefix sums over N steps, at noise multiplier 1 and
clip norm 1, each user once: the best certified lower bounds of every factorization, upper bounds on
the square root, and those that Henzinger, Upadhyay and Upadhyay (2023) printed, with whether they
hold at this horizon.

  --steps N        horizon
  --json           numSteps, max, mean, schatten, squareRoot {max, mean}, published {max, mean,
                   lower}, each with value, holds, holdsFrom and checkedTo

Examples:
  dp-ftrl bounds --steps 1024
  dp-ftrl bounds --steps 1000000000 --json
`,
  calibrate: `dp-ftrl calibrate (--epsilon E | --rho R | --mu M) --delta D [--json]

Smallest noise multiplier (noise standard deviation / distance of neighbours) of the Gaussian
mechanism for a privacy target, and the same guarantee in the other currencies.

  --epsilon E      (E, D)-differential privacy
  --rho R          R-zCDP of any mechanism, lattice noise included: epsilon is an upper bound for
                   all of them, and there is no mu. For a Gaussian mechanism give --mu instead
  --mu M           M-Gaussian differential privacy
  --delta D        between 0 and 1
  --json           noiseMultiplier, epsilon, delta, rho, mu (null with --rho), method, classical

Examples:
  dp-ftrl calibrate --epsilon 1 --delta 1e-6
  dp-ftrl calibrate --rho 0.1 --delta 1e-6 --json
`,
  experiment: `dp-ftrl experiment NAME [--result FILE.json] [--plot FILE.svg] [options]
dp-ftrl experiment --from FILE.json --plot FILE.svg

Measures something that is known of private sums and private learning, prints what was found, where
there is a formula beside what it expects, and saves it: numbers as JSON, and a picture drawn from
them. Seeds are fixed, so that the same run finds the same numbers. Synthetic data only.

  error-per-step   error of each prefix sum: tree, honaker, square-root, blt-normalized, optimal
  regret           regret against epsilon, every mechanism on three streams
  tree-ratio       mean squared error of the binary tree over that of the square root
  sgd              DP-FTRL against DP-SGD with independent noise, at the same budget
  epochs           several passes: one factorization for all of them, or restarts with completion
  momentum         momentum and rates through an encoder made for them, or through post-processing
  lower-bound      the certified lower bound closing in on the errors

  --steps N        horizon; the longest one, and of epochs the length of a pass
  --repeats R      runs with other seeds, or the amount of noise to measure
  --result FILE    the numbers
  --plot FILE      the picture
  --from FILE      draws what --result wrote
  --json           prints the numbers
  --quiet          no progress

Examples:
  dp-ftrl experiment error-per-step --steps 64 --plot error.svg
  dp-ftrl experiment epochs --steps 16 --repeats 1 --result epochs.json
`,

  bench: `dp-ftrl bench [--time MS] [--json]

Times of releases, errors, a search and a calibration on this machine, and in how many normals of
Math.random and Box-Muller each would have passed.

  --time MS        for each measurement, about (default 200)
  --json           version, node, platform, arch, measurements: name, unit, nanoseconds (of one
                   unit, the median of 5 rounds), perSecond, ratio (to the first measurement)

Examples:
  dp-ftrl bench --time 50
  dp-ftrl bench --time 10 --json
`,
};
