// SPDX-License-Identifier: Apache-2.0

// Full help of the commands that learn models and use them.

import {
  DECIMAL,
  FORMAT,
  MECHANISMS,
  MODE,
  NA,
  PARAMETERS,
  PARTICIPATION,
  STRATEGY,
} from './common.js';

export const LEARN = `dp-ftrl learn --label NAME --epsilon E --delta D [options] [FILE.csv]

Reads a CSV file or standard input as dp-ftrl release does, one example per row, and learns a linear
model of the label from the other columns in one pass or more (DP-FTRL): gradients are clipped,
their running totals get noise, and the weights are computed from those alone. So the model is
(E, D)-differentially private for one row, or for one user as --epochs or --participations promise.
No rows are left out: if a user has more of them than promised, remove the surplus first.

Without --clip and other options of the learner, all of it is set from the numbers of rows and
features, epsilon and delta: a FILE is learned in 120 steps of all its rows, rows that come once
(standard input, --steps, --batch, --state) in one pass. That is for losses whose labels are
classes; the others, and runs with another option of the learner, mechanism or participation, get a
clip norm that clips no gradient, and defaults as below; squared needs --clip. With --clip the
default is one pass.

To learn well give every feature a --range: a gradient is the row of features times the slope of the
loss, and when a long one is clipped, large features leave little of the others. With ranges a row
of m features and the intercept has norm at most sqrt(m + 1). A larger --clip adds noise. If it
rules out that gradients are clipped, a bound on the expected regret is printed. Try options on data
that is not secret, with --show-nonprivate: every try on the rows themselves costs privacy.

  --label NAME     column to predict; with --loss logistic and hinge 0 and 1, or -1 and 1 (no and
                   yes, false and true are read as 0 and 1). A label is not scaled; --clip bounds
                   what it does
  --loss L         logistic (default), hinge, squared, huber, absolute, quantile or softmax
  --classes K      with --loss softmax: labels are 0 to K - 1
  --quantile T     quantile of the label that --loss quantile predicts, between 0 and 1 (default
                   0.5)
  --huber-threshold H
                   errors beyond which --loss huber is linear (default 1)
  --column NAME    feature; repeat for more. Default: all columns but the label
${FORMAT}
${DECIMAL}
  --missing M      rows with a missing cell: refuse (default); zero: a missing feature is 0, a
                   missing label is refused; skip: the row adds no gradient, and still takes its
                   place in a step. A skipped row is protected like any other one: no other row
                   moves to another step. Rows of --test that are skipped are left out
${NA}
  --range NAME=LOW:HIGH
                   range of a feature, known without the data: LOW becomes -1, HIGH 1, and what lies
                   outside is moved to the edge. A * stands for any letters: 'p*=0:16', or
                   '*=LOW:HIGH' for all features without their own range; the matching pattern with
                   most letters wins. Features without a range are clipped to [-1, 1], of which a
                   warning names them, but used as they are with --clip. Weights are for features
                   scaled to [-1, 1]
  --ranges-from-data
                   takes the range of all other features from the data: NOT private, and needs
                   --show-nonprivate
  --no-intercept   adds no feature that is always 1
  --epsilon E      privacy target, > 0. Above 20 there is a warning
  --delta D        privacy target, between 0 and 1. There is a warning above 1e-3, and above one
                   over the number of rows or users if that is public
  --clip C         gradients whose l2-norm exceeds C are scaled down to it (default: see above)
  --domain K       set of allowed weights: ball of l2-norm R (default), box of entries from -R to R,
                   simplex of weights >= 0 and sum R, simplex-entropic (the same, with
                   multiplicative steps), or whole-space
  --radius R       default 1; in the whole space that of the best fixed weights in hindsight
  --regularisation L
                   of the mean gradient of a step, whatever --batch is: the weights follow sums of
                   gradients divided by L * batch (default: see above; the value of the regret
                   theorem)
  --doubling       L is that of the first step, and grows with the square root of the steps
  --l1 A           adds A times the sum of the weights' absolute values to the mean loss of a step:
                   a weight is 0 while the mean of its gradients, with their noise, is below A. For
                   --domain ball, whole-space and box, not with --descent; the intercept is not
                   penalised. The zeros are in the latest weights (--average last). The guarantee is
                   the same; a bound on the regret covers losses and penalty together
  --group-norm A   the same with norms of groups of weights, which become 0 together; for --domain
                   ball and whole-space. With softmax all classes of a feature are one group
  --group NAMES    adjacent columns that form a group of --group-norm, such as one-hot columns of a
                   category: 'colour_*', where * stands for any letters; repeat for more. Each other
                   feature is its own group
  --descent        gradient descent of rate 1 / L instead of FTRL; with --mechanism independent
                   it is DP-SGD
  --momentum B, --rates A,B,...
                   with --descent: momentum, and rates in units of 1 / L, the last one for the rest
  --rates linear|constant
                   without --descent: the rate chosen for a FILE falls to 0 linearly, and the model
                   has the latest weights (default); or it is constant, and the model has the mean
                   of the later weights
  --momentum-through post-processing|workload
                   the encoder for prefix sums (default), or one made for the momentum or, with
                   --mechanism optimal, for the rates (momentum for optimal: minutes at 1024 steps)
  --batch B        rows per step, each with its own clipped gradient (default 1). Steps are counted
                   in batches; the last may have fewer rows
  --average A      all, tail or last: the weights are the mean of all iterates, the mean of those
                   after half the horizon, or the latest (default tail, but last if the rate falls
                   to 0, and all with --clip or --state)
  --passes K       reads the rows K times, in the same order (default: see above): the noise
                   protects one row in all passes, and --steps, if given, is K times that of one
                   pass. The input is read once before
  --precondition, --no-precondition
                   whether second moments of the features are released first, with a tenth of the
                   squared mu, to learn in coordinates in which they are equal. That is better if
                   features are correlated, worse if there are too few rows for the number of
                   features. Default: yes if there are enough rows, which only public numbers
                   decide, in a table of up to 16,777,216 cells, without --average, --plot,
                   --show-nonprivate and --missing skip. For a FILE without --clip and other options
                   of the learner, up to 512 features
${MECHANISMS}
${PARAMETERS}
${STRATEGY}
  --steps N        horizon: steps the noise is calibrated for. Without it the input is read twice,
                   and the number of its rows is public. With it a bad row, or one too many, is
                   found while learning, and there is no model then
  --budget FILE, --budget-epsilon E, --budget-delta D, --budget-account A,
  --budget-pure P  as in dp-ftrl release. All rows are read before the charge, so that a bad one
                   costs nothing, unless there is a --state
  --state FILE     continues after the last row that earlier runs with this file learned from; all
                   runs together are one learning with horizon --steps, and each ends with its
                   model. FILE holds the key and the true sums of gradients: it is as secret as the
                   rows. Options and columns, matched by name, are those of the first run. A --batch
                   that a run leaves unfilled continues in the next. A header without rows gives the
                   model again, and reports how many rows were learned from, also after a crash. Not
                   with --passes, --show-nonprivate
  --continue       with --state: refuses to begin, so that a FILE that was lost is noticed
${PARTICIPATION}
  --neighbours R   zero-out (default; also add-remove) or replace-one (also replace)
${MODE}
  --model FILE     writes the model as JSON, whole or not at all; predict() of the library reads it
  --plot FILE      plots the weights after each step, and those of the model: FILE.svg, or FILE.html
                   with the numbers as a table. They are functions of private sums; no band is
                   drawn, as the effect of noise on them depends on the rows
  --json           the model on standard output: format, version, loss, inputs, intercept, weights
                   (of each feature, then of the intercept; as --average says, and as printed
                   without --json), lastWeights (the latest), numExamples, private,
                   certificate, protects; with second moments also
                   preconditioning: momentsEpsilon, learnerEpsilon; epsilon, mu and rho of the
                   certificate are then of both, its noise of the learner
  --quiet          no guarantee on standard error
  --seed S         fixed noise, for tests and demonstrations: NOT private
  --show-nonprivate  adds loss and accuracy of the predictions made before each label was known, the
                   loss of predicting 0, that of the same learner without noise, and how much both
                   lose beyond the best fixed weights in hindsight (the regret, with its possible
                   error; for rows * (features + 1) up to 16,777,216 numbers): NOT private. Losses
                   exclude --l1 and --group-norm. For true sums of gradients use simulation of the
                   library
  --test FILE.csv  adds loss and accuracy of the model on other rows, as test in the JSON but not in
                   the --model file: NOT private unless FILE.csv is public. With --show-nonprivate
                   also the loss of the latest weights

Examples, with files of the package:
  dp-ftrl learn --label label --epsilon 4 --delta 1e-6 --clip 1 --no-intercept --json \\
      examples/pendulum.csv > model.json && head -c 300 model.json
  dp-ftrl learn --loss squared --label height --range hour=0:1007 --epsilon 4 --delta 1e-6 \\
      --clip 2 --mechanism honaker --radius 5 examples/tide.csv
  head -n 1001 examples/pendulum.csv | dp-ftrl learn --label label \\
      --epsilon 4 --delta 1e-6 --clip 1 --no-intercept --steps 2000 --state pendulum.state
  sed 2,1001d examples/pendulum.csv | dp-ftrl learn --label label \\
      --epsilon 4 --delta 1e-6 --clip 1 --no-intercept --steps 2000 --state pendulum.state
`;

export const PREDICT = `dp-ftrl predict --model MODEL.json [options] [FILE.csv]

Reads a model that dp-ftrl learn wrote and the rows of a CSV file or of standard input, and writes a
prediction for each row: row,class,probability (of class 1) for logistic, row,class,score for hinge,
row,class,probability_0,... for softmax, and row,prediction for the other losses. The columns of the
model are matched by name; others are ignored. Class 0 stands for the labels 0 or -1.

The model protects the rows it was learned from. A prediction reveals something about its own row,
which nothing protects.

  --model FILE     model, as --model or --json of dp-ftrl learn wrote it
${FORMAT}
${DECIMAL}
  --missing M, --na A,B,...
                   as in dp-ftrl learn; skip: the row has no prediction
  --output FILE    written whole or not at all, instead of standard output
  --json           one object: loss, modelIsPrivate, protects, rows, complete
  --quiet          no notice on standard error

Example, with a file of the package:
  dp-ftrl learn --label label --epsilon 4 --delta 1e-6 --range '*=-1:1' --model model.json \\
      examples/pendulum.csv && dp-ftrl predict --model model.json \\
      examples/pendulum.csv
`;
