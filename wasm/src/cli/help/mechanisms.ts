// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that examine mechanisms and read no data.

import { MECHANISMS, PARAMETERS, PARTICIPATION, STRATEGY, WORKLOAD } from './common.js';

export const ERROR = `dp-ftrl error --steps N [--mechanism M] [options]

Error of a mechanism over N steps at noise multiplier 1 and clip norm 1. Multiply by noise
multiplier and clip norm to get the units of the input.

${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon
${WORKLOAD}
                   Repeated: errors of all of these sums of the same records, with one noise and
                   one budget, as in dp-ftrl release. Not with --strategy, --paths
  --importance 1,4,...
                   with several --workload: weights of their squared errors in the mean that is
                   minimised, one for each. Default: equal
  --pure --epsilon E [--clip C]
                   errors of dp-ftrl release --pure (no delta) at E and clip norm C (default 1), in
                   its units. Not with --workload, --strategy, --paths
${PARTICIPATION}
  --neighbours R   zero-out (default) or replace-one, which doubles sensitivity, errors and bound
  --beta B         also bounds on the errors of all steps at once, exceeded with probability B at
                   most: upper bounds on the noise, without the rounding of a release to its grid.
                   With several --workload each has its own bound, and all hold together; with
                   --pure it is the union bound over the exact tails, rounding included
  --dimension D    with --beta: entries of a record, all of which must keep to it (default 1)
  --paths N        with --beta: also a level from N simulated streams of noise, mostly lower; over
                   the seeds it is too low with probability at most 1e-6. 20000 is usual, and fewer
                   than 14 D / B find no level
  --seed S         with --paths: seed of the simulated noise (default 0)
  --json           mechanism, parameters (as given), steps, workload, participation,
                   maxParticipations, separation (of a user's steps), neighbours, sensitivity,
                   sensitivityExactness, sensitivityMethod, maxError, meanError, objective,
                   lowerBound (on the error of the objective, of every factorization with Gaussian
                   noise), boundMethod, lowerBoundMinDimension (the least dimension of records for
                   which it holds), lowerBoundEveryDimension (one for all records),
                   ratio and gap (of that error to the bound), decoderResidual, residualSteps,
                   effectiveParameters (chosen ones included), optimisedFor (if the mechanism was
                   optimised for another participation, its name); with --normalize also
                   raisedByNormalizing: the error of the objective is larger than without; with
                   --beta also beta, dimension, simultaneousError (of every entry at every step),
                   simultaneousMethod (neighbours or product), simultaneousUnion (by the union
                   bound), simultaneousNorm (l2-norm of a step), frobeniusError (norm of all
                   errors), frobeniusRms (root of the expectation of its square); with --paths
                   also simultaneousSampled (or null), simultaneousPaths, simultaneousRisk. With
                   several --workload no bounds but lowerBound, and workloads: of each workload,
                   maxError, meanError, with --beta simultaneousError, simultaneousMethod,
                   simultaneousNorm. With --pure also epsilon, clipNorm, and simultaneousMethod is
                   union; no bounds, no norms

Progress of long searches goes to standard error if that is a terminal.

Examples:
  dp-ftrl error --steps 1024
  dp-ftrl error --steps 1024 --beta 0.05 --dimension 3 --paths 20000
  dp-ftrl error --steps 1024 --mechanism tree-k --arity 4 --epochs 4 --json
  dp-ftrl error --steps 365 --workload prefix --workload window=7 --beta 0.05
  dp-ftrl error --steps 365 --pure --epsilon 1 --beta 0.05
`;

export const COMPARE = `dp-ftrl compare --steps N [options]

All mechanisms with their defaults, and some variants, at noise multiplier 1, clip norm 1 and
zero-out neighbours, best first: their errors beside a lower bound of every factorization with
Gaussian noise, and their costs. Mechanisms that have no formula at this size, or take long to find,
are listed with the reason.

  --steps N        horizon
${WORKLOAD}
${PARTICIPATION}
  --objective O    max (default) or mean: the error to sort by
  --epsilon E      adds the errors at E of the best mechanism for each delta, beside those of
                   release --pure, which needs none, and the delta below which the latter is better
  --strategy FILE  a saved strategy to compare, too; repeat for more
  --json           numSteps, workload, participation, objective, lowerBound, boundMethod,
                   lowerBoundMinDimension, lowerBoundEveryDimension (as in error), mechanisms,
                   leftOut, raisedByNormalizing; pure with --epsilon. optimisedFor of a mechanism:
                   as in error; pureDp: Laplace noise in its measurements would be purely private
                   (delta 0), which all of them allow; release --pure draws it on trees, all others
                   draw Gaussian noise

Progress goes to standard error if that is a terminal and it takes more than a second.

Examples:
  dp-ftrl compare --steps 256
  dp-ftrl compare --steps 64 --workload momentum=0.9 --participations 4 --min-separation 8
`;

export const OPTIMIZE = `dp-ftrl optimize --steps N [--mechanism M] [options]

Finds the parameters of an optimised mechanism and writes them as JSON, with its error, a certified
lower bound on the error of every factorization (with three epochs and more: for records of several
numbers), their ratio, and how the search ended. With the saved numbers, noise is the same bit for
bit on every machine.

  --mechanism M    optimal (default), blt, blt-normalized, blt-scaled, banded-toeplitz or banded
  --buffers K|exact, --bands B, --objective max|mean
                   if the mechanism has them; optimal: 8 buffers, objective max
  --solver S       optimal: exact (default), or none: weights in closed form for prefix sums, at
                   once, about 2 % above the least max error, 0.02 % above the least mean error;
                   the status is stopped
  --max-iterations I
                   stops after I iterations in total, over all starts; the status then says so
  --gap G          optimal: how close the bounds on the optimum must come, relative, between 0 and 1
                   (default 1e-7; with dense matrices 5e-7 for the mean, and smaller ones only, 1e-4
                   for max). Few buffers cost more than that: use --buffers exact
  --query-weights FILE
                   optimal with --objective mean: a CSV column of positive weights W, one per step;
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

The search fits the workload and the participation where it can: optimal up to 2048 steps for any
workload (beyond: prefix and decay only), with --epochs up to 1024 (the mean of prefix and decay:
2048); blt, banded-toeplitz and banded for any participation. Otherwise it is for prefix sums or for
one participation, and the status is infeasible; error and certificates then have optimisedFor. With
--epochs and more steps than that, use banded-toeplitz with --bands of two epochs or more, up to
4096. Dense optima take seconds at 256 steps, minutes at 1024; optimal for prefix sums ten seconds
at 10^6 steps. For learning rates and more than 2048 steps use --objective mean, or blt. Saved
strategies work with release, error, compare and the noise of the package. Learners take strategies
for prefix sums.

Progress goes to standard error if that is a terminal and the search takes more than a second. If it
is interrupted (Ctrl-C), nothing is written, and the exit code is 130.

Examples, with files of the package:
  dp-ftrl optimize --steps 840 --json > strategy.json && dp-ftrl release --epsilon 1 --delta 1e-6 \\
      --clip 1 --strategy strategy.json --column count examples/shop_day.csv
  dp-ftrl optimize --steps 256 --mechanism blt --buffers 2
`;

export const BOUNDS = `dp-ftrl bounds --steps N [--epsilon E [--delta D] | --rho R]
                [--epochs K [--gap G]] [--json]

Bounds on the errors of factorizations of the prefix sums over N steps, at noise multiplier 1 and
clip norm 1, each user once: the best certified lower bounds for every factorization, upper bounds
for the square root, and those printed by Henzinger, Upadhyay and Upadhyay (2023), with whether they
hold at this horizon. With --epsilon or --rho also lower bounds for mechanisms that need not be
factorizations, in clip norms: records in [-1, 1], each user once, zero-out neighbours.

  --steps N        horizon
  --epsilon E      of pure differential privacy
  --delta D        with --epsilon: of (E, D), only for noise that does not depend on the stream
  --rho R          of zero-concentrated differential privacy
  --epochs K       also the least root mean squared error over K epochs, each user once an epoch:
                   K divides N, N K^2 is at most 2^23; a few minutes at 16 epochs of 1000 steps
  --gap G          with --epochs: its bounds are this close, relative (default 1e-6)
  --json           numSteps, max, mean, schatten, squareRoot {max, mean}, published {max, mean,
                   lower}, each with value, holds, holdsFrom and checkedTo; with --epsilon or --rho,
                   without --delta, also mechanisms {unbiased {max, mean}, every (mechanism, biased
                   or not; at the worst stream), blockLength}; with --epsilon also addedNoise {max,
                   mean, variance (of one number)}: noise that does not depend on the stream; with
                   --epochs also epochs {lower, upper, minDimension: of records}

Examples:
  dp-ftrl bounds --steps 1024
  dp-ftrl bounds --steps 256 --epochs 4
  dp-ftrl bounds --steps 1024 --rho 0.1
  dp-ftrl bounds --steps 1024 --epsilon 1 --delta 1e-6
  dp-ftrl bounds --steps 1000000000 --json
`;

export const CALIBRATE = `dp-ftrl calibrate (--epsilon E | --rho R | --mu M) --delta D [--json]

Smallest noise multiplier (noise standard deviation / distance of neighbours) of the Gaussian
mechanism for a privacy target, and the same guarantee in the other definitions.

  --epsilon E      (E, D)-differential privacy
  --rho R          R-zCDP of any mechanism, lattice noise included: epsilon is an upper bound for
                   all of them, and there is no mu. For a Gaussian mechanism give --mu instead
  --mu M           M-Gaussian differential privacy
  --delta D        between 0 and 1
  --json           noiseMultiplier, epsilon, delta, rho, mu (null with --rho), method, classical

Examples:
  dp-ftrl calibrate --epsilon 1 --delta 1e-6
  dp-ftrl calibrate --rho 0.1 --delta 1e-6 --json
`;
