// SPDX-License-Identifier: Apache-2.0

// The options of dp-ftrl learn.

import { DOMAINS, LOSSES } from '../../../api/learning/loss.js';
import { RATES } from '../../../api/learning/setup.js';
import { PLOT_OPTIONS } from '../../charts/file.js';
import { COLUMNS_OPTION } from '../../input/columns.js';
import { DECIMAL_OPTIONS, FORMAT_OPTIONS } from '../../input/format.js';
import { MISSING_OPTIONS } from '../../input/missing.js';
import { STRATEGY_OPTIONS } from '../../options/mechanism.js';
import { MODE_OPTIONS } from '../../options/mode.js';
import { COUNT, FRACTION, POSITIVE, PROBABILITY, STEPS } from '../../options/numbers.js';
import { under } from '../../options/option.js';
import { jsonOption, QUIET_OPTION, SEED_OPTION, SHOW_OPTION } from '../../options/output.js';
import { PARTICIPATION_OPTIONS } from '../../options/participation.js';
import { NEIGHBOURS_OPTION, PRIVACY_OPTIONS } from '../../options/privacy.js';
import { BUDGET_OPTIONS } from '../../state/budget.js';
import { CONTINUE_OPTIONS } from '../../state/state.js';
import { PENALTY_OPTIONS } from './penalty.js';
import { WHOLE_OPTIONS } from './whole-options.js';

export const AVERAGES = ['all', 'tail', 'last'] as const;
export const THROUGH = ['post-processing', 'workload'] as const;
export const ALL_LOSSES = [...LOSSES, 'softmax'] as const;

const MODEL_OPTIONS = under('Model', {
  label: {
    value: 'NAME',
    isName: true,
    meaning:
      'column to predict; with --loss logistic and hinge 0 and 1, or -1 and 1 (no and yes, false ' +
      'and true are read as 0 and 1). A label is not scaled; --clip bounds what it does',
    brief: 'column to predict: 0 and 1, or -1 and 1',
  },
  loss: {
    value: 'L',
    values: ALL_LOSSES,
    meaning: 'logistic (default), hinge, squared, huber, absolute, quantile or softmax',
  },
  classes: {
    value: 'K',
    number: COUNT,
    meaning: 'with --loss softmax: labels are 0 to K - 1',
  },
  quantile: {
    value: 'T',
    number: PROBABILITY,
    meaning: 'quantile of the label that --loss quantile predicts, between 0 and 1 (default 0.5)',
  },
  'huber-threshold': {
    value: 'H',
    number: POSITIVE,
    meaning: 'errors beyond which --loss huber is linear (default 1)',
  },
  columns: {
    ...COLUMNS_OPTION.columns,
    meaning:
      'features, and the range of each, known without the data: LOW becomes -1, HIGH 1, and what ' +
      "lies outside is moved to the edge. A * stands for any letters: 'p*=0:16', or '*=LOW:HIGH' " +
      'for all others; the pattern with most letters wins. Features without a range are clipped to ' +
      '[-1, 1], of which a warning names them, but used as they are with --clip. Weights are for ' +
      'features scaled to [-1, 1]. A name with a comma or = needs quotes. May be repeated. ' +
      'Default: all columns but the label',
    brief:
      "features, and the range of each, known without the data; '*=LOW:HIGH' for all others. " +
      'Without it a feature is clipped to [-1, 1]: good models need it',
  },
  'no-intercept': { meaning: 'adds no feature that is always 1' },
});

const LEARNER_OPTIONS = under('Learner', {
  clip: {
    value: 'C',
    number: POSITIVE,
    meaning:
      'gradients whose l2-norm exceeds C are scaled down to it; required for --loss squared, ' +
      'else chosen. A larger one adds noise',
    brief: 'largest gradient norm; --loss squared needs it, else chosen',
  },
  domain: {
    value: 'K',
    values: DOMAINS,
    meaning:
      'set of allowed weights: ball of l2-norm R (default), box of entries from -R to R, simplex ' +
      'of weights >= 0 and sum R, simplex-entropic (the same, with multiplicative steps), or ' +
      'whole-space',
  },
  radius: {
    value: 'R',
    number: POSITIVE,
    meaning: 'default 1; in the whole space that of the best fixed weights in hindsight',
  },
  regularisation: {
    value: 'L',
    number: POSITIVE,
    meaning:
      'of the mean gradient of a step, whatever --batch is: the weights follow sums of gradients ' +
      'divided by L * batch. Default: chosen with the clip norm; with --clip the value of the ' +
      'regret theorem',
  },
  doubling: {
    meaning: 'L is that of the first step, and grows with the square root of the steps',
  },
  ...PENALTY_OPTIONS,
  descent: {
    meaning:
      'gradient descent of rate 1 / L instead of FTRL; with --mechanism independent it is DP-SGD',
  },
  momentum: { value: 'B', number: FRACTION, meaning: 'with --descent' },
  rates: {
    value: 'A,B,...|linear|constant',
    values: RATES,
    meaning:
      'with --descent: rates in units of 1 / L, the last one for the rest. Without: the rate ' +
      'chosen for a FILE falls to 0 linearly, and the model has the latest weights (linear, the ' +
      'default); or it is constant, and the model has the mean of the later weights',
  },
  'momentum-through': {
    value: 'T',
    values: THROUGH,
    meaning:
      'post-processing: the encoder for prefix sums (default), or workload: one made for the ' +
      'momentum or, with --mechanism optimal, for the rates (momentum for optimal: minutes at ' +
      '1024 steps)',
  },
  batch: {
    value: 'B',
    number: COUNT,
    meaning:
      'rows per step, each with its own clipped gradient (default 1). Steps are counted in ' +
      'batches; the last may have fewer rows',
  },
  passes: {
    value: 'K',
    number: COUNT,
    meaning:
      'reads the rows K times, in the same order: the noise protects one row in all passes, and ' +
      '--steps, if given, is K times that of one pass. The input is read once before. Default: ' +
      '1, but chosen for a FILE without --clip and other options of the learner',
  },
  average: {
    value: 'A',
    values: AVERAGES,
    meaning:
      'all, tail or last: the weights are the mean of all iterates, the mean of those after half ' +
      'the horizon, or the latest (default tail, but last if the rate falls to 0, and all with ' +
      '--clip or --state)',
  },
  ...WHOLE_OPTIONS,
});

export const LEARN_OPTIONS = {
  ...PRIVACY_OPTIONS,
  ...NEIGHBOURS_OPTION,
  ...MODEL_OPTIONS,
  ...LEARNER_OPTIONS,
  ...PARTICIPATION_OPTIONS,
  ...FORMAT_OPTIONS,
  ...DECIMAL_OPTIONS,
  ...MISSING_OPTIONS,
  missing: {
    ...MISSING_OPTIONS.missing,
    meaning:
      'rows with a missing cell: refuse (default); zero: a missing feature is 0, a missing label ' +
      'is refused; or skip: the row adds no gradient, and still takes its place in a step. A ' +
      'skipped row is protected like any other one: no other row moves to another step. Rows of ' +
      '--test that are skipped are left out',
  },
  ...STRATEGY_OPTIONS,
  ...MODE_OPTIONS,
  ...BUDGET_OPTIONS,
  ...under('State', {
    steps: {
      value: 'N',
      number: STEPS,
      meaning:
        'horizon: steps the noise is calibrated for. Without it the input is read twice, and the ' +
        'number of its rows is public. With it a bad row, or one too many, is found while ' +
        'learning, and there is no model then',
    },
  }),
  ...CONTINUE_OPTIONS,
  state: {
    ...CONTINUE_OPTIONS.state,
    meaning:
      'continues after the last row that earlier runs with this file learned from; all runs ' +
      'together are one learning with horizon --steps, and each ends with its model. FILE holds ' +
      'the key and the true sums of gradients: it is as secret as the rows. Options and columns, ' +
      'matched by name, are those of the first run. A --batch that a run leaves unfilled ' +
      'continues in the next. A header without rows gives the model again, and reports how many ' +
      'rows were learned from, also after a crash. Not with --passes, --show-nonprivate',
  },
  ...under('Output', {
    model: {
      value: 'FILE',
      file: 'written',
      meaning: 'writes the model as JSON, whole or not at all; predict() of the library reads it',
      brief: 'writes the model, for dp-ftrl predict',
    },
  }),
  ...PLOT_OPTIONS,
  plot: {
    ...PLOT_OPTIONS.plot,
    meaning:
      'plots the weights after each step, and those of the model: FILE.svg, or FILE.html with the ' +
      'numbers as a table. They are functions of private sums; no band is drawn, as the effect ' +
      'of noise on them depends on the rows',
  },
  ...jsonOption(
    'the model on standard output: format, version, loss, inputs, intercept, weights (of each ' +
      'feature, then of the intercept; as --average says, and as printed without --json), ' +
      'lastWeights (the latest), numExamples, private, certificate, protects; with second moments ' +
      'also preconditioning: momentsEpsilon, learnerEpsilon; epsilon, mu and rho of the ' +
      'certificate are then of both, its noise of the learner',
    'prints the model as JSON',
  ),
  ...QUIET_OPTION,
  ...SEED_OPTION,
  ...SHOW_OPTION,
  'show-nonprivate': {
    ...SHOW_OPTION['show-nonprivate'],
    meaning:
      'adds loss and accuracy of the predictions made before each label was known, the loss of ' +
      'predicting 0, that of the same learner without noise, and how much both lose beyond the ' +
      'best fixed weights in hindsight (the regret, with its possible error; for rows * ' +
      '(features + 1) up to 16,777,216 numbers): NOT private. Losses exclude --l1 and ' +
      '--group-norm. For true sums of gradients use simulation of the library',
  },
  ...under('NOT private', {
    test: {
      value: 'FILE.csv',
      file: 'read',
      meaning:
        'adds loss and accuracy of the model on other rows, as test in the JSON but not in the ' +
        '--model file: NOT private unless FILE.csv is public. With --show-nonprivate also the ' +
        'loss of the latest weights',
    },
    'ranges-from-data': {
      meaning:
        'takes the range of all other features from the data: NOT private, and needs ' +
        '--show-nonprivate',
    },
  }),
};
