// SPDX-License-Identifier: Apache-2.0

// The options of dp-ftrl learn.

import { ALGORITHMS } from '../../../api/learning/algorithm.js';
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
import {
  DRY_OPTION,
  jsonOption,
  QUIET_OPTION,
  SEED_OPTION,
  SHOW_OPTION,
} from '../../options/output.js';
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
      'column to predict; with --loss logistic and hinge 0 and 1, or -1 and 1 (no and yes, ' +
      'false and true are read as 0 and 1). It is not scaled; --clip bounds what it does',
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
      'features, and the range of each, known without the data: LOW becomes -1, HIGH 1, and ' +
      "what lies outside is moved to the edge. A * stands for any letters: 'p*=0:16', or " +
      "'*=LOW:HIGH' for all others; the pattern with most letters wins. Features without a " +
      'range are clipped to [-1, 1], but used as they are with --clip. A name with a comma or ' +
      '= needs quotes. May be repeated. Default: all columns but the label',
    brief:
      "features, and the range of each, known without the data; '*=LOW:HIGH' for all others. " +
      'Without it a feature is clipped to [-1, 1]: good models need it',
  },
  'no-intercept': { meaning: 'adds no feature that is always 1' },
});

const LEARNER_OPTIONS = under('Learner', {
  algorithm: {
    value: 'A',
    values: ALGORITHMS,
    meaning:
      'dp-ftrl (follow the regularized leader): one pass, correlated noise; dp-gd: gradient ' +
      'descent, 120 passes over a FILE with independent noise, or, with --clip or other ' +
      'options of the learner, at the rate 1 / L (with --strategy independent, DP-SGD without ' +
      'sampling); auto (default): dp-gd for a FILE of classes without such options, else ' +
      'dp-ftrl. The output says which one ran',
    brief:
      'dp-ftrl (follow the regularized leader), dp-gd, or auto (default): dp-gd for a whole ' +
      'FILE, else dp-ftrl',
  },
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
      'set of allowed weights: ball of l2-norm R (default), box of entries from -R to R, ' +
      'simplex of weights >= 0 and sum R, simplex-entropic (with multiplicative steps), or ' +
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
      'of the mean gradient of a step: weights follow sums of gradients divided by L * batch. ' +
      'Default: chosen with the clip norm; with --clip the value of the regret theorem',
  },
  doubling: {
    meaning: 'L is that of the first step, and grows with the square root of the steps',
  },
  ...PENALTY_OPTIONS,
  momentum: { value: 'B', number: FRACTION, meaning: 'with --algorithm dp-gd' },
  rates: {
    value: 'A,B,...|linear|constant',
    values: RATES,
    meaning:
      'with --algorithm dp-gd: rates in units of 1 / L, the last one for the rest. The rate ' +
      'chosen for a FILE falls to 0 linearly, and the model has the latest weights (linear, ' +
      'the default); or it is constant, and the model has the mean of the later ones',
  },
  'momentum-through': {
    value: 'T',
    values: THROUGH,
    meaning:
      'post-processing: the encoder for prefix sums (default), or workload: one made for the ' +
      'momentum or, with --strategy optimal, for the rates',
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
      'reads the rows K times, in the same order; the noise protects a row in all passes. ' +
      '--steps, if given, is K times that of one pass. Default: 1, or 120 by --algorithm ' +
      'dp-gd of a FILE',
  },
  average: {
    value: 'A',
    values: AVERAGES,
    meaning:
      'all, tail or last: the weights are the mean of all iterates, of those after half the ' +
      'horizon, or the latest (default tail, but last if the rate falls to 0, and all with ' +
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
      'rows with a missing cell: refuse (default); zero: a missing feature is 0, moved to ' +
      'its range, and a missing label is refused; or skip: the row adds no gradient, and still takes its place in a step. A ' +
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
        'horizon: steps the noise is calibrated for. Without it the input is read twice, and ' +
        'the number of its rows is public. With it a bad row is found while learning, and ' +
        'there is no model then',
    },
  }),
  ...CONTINUE_OPTIONS,
  state: {
    ...CONTINUE_OPTIONS.state,
    meaning:
      'continues after the last row that earlier runs with this file learned from; all runs ' +
      'together are one learning with horizon --steps, and each ends with its model. FILE ' +
      'holds the key and the true sums of gradients: it is as secret as the rows. A header ' +
      'without rows gives the model again, and reports how many rows were learned from. Not ' +
      'with --passes, --show-nonprivate',
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
      'plots the weights after each step, and those of the model: FILE.svg, or FILE.html with ' +
      'the numbers as a table',
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
  ...DRY_OPTION,
  'dry-run': {
    ...DRY_OPTION['dry-run'],
    meaning:
      'shows the guarantee, the algorithm, its noise and what a --budget would say, and learns ' +
      'nothing. It reads no values, and counts the rows of a FILE if the horizon follows from them',
  },
  ...SEED_OPTION,
  ...SHOW_OPTION,
  'show-nonprivate': {
    ...SHOW_OPTION['show-nonprivate'],
    meaning:
      'adds loss and accuracy of the predictions made before each label was known, the losses ' +
      'of predicting 0 and of the same learner without noise, and how much both lose beyond ' +
      'the best fixed weights in hindsight (the regret): NOT private. Losses exclude --l1 and ' +
      '--group-norm',
  },
  ...under('NOT private', {
    test: {
      value: 'FILE.csv',
      file: 'read',
      meaning:
        'adds loss and accuracy of the model on other rows, to the output but not to --model: ' +
        'NOT private unless FILE.csv is public',
    },
    'ranges-from-data': {
      meaning:
        'takes the range of all other features from the data: NOT private, and needs ' +
        '--show-nonprivate',
    },
  }),
};
