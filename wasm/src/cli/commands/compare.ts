// SPDX-License-Identifier: Apache-2.0

// dp-ftrl compare: compares the errors of all mechanisms.

import { load } from '../../index.js';
import { inPieces } from '../../api/searches.js';
import { counted } from '../../shared/counted.js';
import { OBJECTIVES, PURE_MECHANISM, TREE_LIMIT } from '../../shared/defaults.js';
import type { ComparedMechanism, Comparison, DpFtrl } from '../../types/all.js';
import { type Args, required } from '../options/args.js';
import { inOptions } from '../base/failure.js';
import { nameText } from '../options/mechanism.js';
import { StandardOutput } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { paragraph, table, type TableColumn } from '../output/table.js';
import { readStrategyFile } from '../options/strategy.js';
import { readWorkload, WORKLOAD_OPTION } from '../input/workload.js';
import { HORIZON_OPTION } from '../options/horizon.js';
import type { Command } from '../options/command.js';
import { under } from '../options/option.js';
import { jsonOption } from '../options/output.js';
import { PARTICIPATION_OPTIONS, participationText } from '../options/participation.js';
import { readParticipation } from '../options/participation.js';
import { PRIVACY_OPTIONS } from '../options/privacy.js';

export const command: Command = {
  summary: 'all mechanisms side by side, best first',
  usage: '--steps N',
  about:
    'All mechanisms with their defaults, and some variants, best first: their errors at noise ' +
    'multiplier 1, clip norm 1 and zero-out neighbours, beside a lower bound of every ' +
    'factorization with Gaussian noise, and their costs. Mechanisms that have no formula at this ' +
    'size, or take long to find, are listed with the reason.',
  options: {
    ...HORIZON_OPTION,
    ...WORKLOAD_OPTION,
    ...PARTICIPATION_OPTIONS,
    ...under('Comparison', {
      objective: {
        value: 'max|mean',
        values: OBJECTIVES,
        meaning: 'the error to sort by: max (default) or mean',
      },
      epsilon: {
        ...PRIVACY_OPTIONS.epsilon,
        meaning:
          'adds the errors at E of the best mechanism for each delta, beside those of release ' +
          '--pure, which needs none, and the delta below which the latter is better',
      },
      strategy: {
        value: 'FILE',
        file: 'read',
        repeats: true,
        meaning: 'a saved strategy, or a CSV file of your own C, to compare; repeat for more',
      },
    }),
    ...jsonOption(
      'numSteps, workload, participation, objective, lowerBound, boundMethod, ' +
        'lowerBoundMinDimension, lowerBoundEveryDimension (as in error), mechanisms, leftOut, ' +
        'raisedByNormalizing; pure with --epsilon. optimisedFor of a mechanism: as in error; index: ' +
        'which --strategy it is, from 0; ' +
        'pureDp: Laplace noise in its measurements would be purely private (delta 0), which all of ' +
        'them allow; release --pure draws it on trees, all others draw Gaussian noise',
    ),
  },
  essentials: ['steps', 'workload', 'epochs', 'objective', 'json'],
  examples: [
    'dp-ftrl compare --steps 256',
    'dp-ftrl compare --steps 64 --workload momentum=0.9 --participations 4 --min-separation 8',
  ],
  run,
};

function short(value: number): string {
  return value < 1e5 ? value.toPrecision(5) : value.toExponential(3);
}

/** Like `short`, with fewer digits, because squared errors are larger. */
function shorter(value: number): string {
  return value < 1e4 ? value.toPrecision(4) : value.toExponential(2);
}

/** Describes the lower bound and how it was computed, or says that there is none. */
function boundText(comparison: Comparison): string {
  const { lowerBound, boundMethod, objective, workload } = comparison;
  const { lowerBoundMinDimension: dimension, lowerBoundEveryDimension: everywhere } = comparison;
  if (lowerBound === null) return 'Lower bound: none available for this workload and horizon.';
  const numerically = 'computed numerically, with rounding accounted for';
  const closed = workload === 'prefix' ? 'in closed form' : numerically;
  const how =
    boundMethod === 'schatten'
      ? `Schatten-1 norm of the workload, ${closed}`
      : 'dual variables of the optimum, with rounding accounted for';
  const isForAll = (dimension ?? 1) === 1;
  const whose = isForAll ? '' : ` for records of at least ${dimension} numbers`;
  return (
    `Lower bound on the ${objective} error of every factorization${whose}: ${short(lowerBound)}\n` +
    `(${how}); ratio: error / bound.` +
    (isForAll ? '' : `\nFor all records: ${everywhere ? short(everywhere) : 'not computed'}.`)
  );
}

/** The mechanism with its parameters, or the file that it came from. */
function rowText(
  { mechanism, parameters, index }: ComparedMechanism,
  fileNames: readonly string[],
): string {
  return index === undefined ? nameText({ name: mechanism, ...parameters }) : fileNames[index]!;
}

function tableText({ mechanisms, lowerBound }: Comparison, fileNames: readonly string[]): string {
  const columns: TableColumn[] = [
    { header: '', align: 'right' },
    { header: 'mechanism', align: 'left', wraps: true },
    { header: 'max error', align: 'right' },
    { header: 'mean error', align: 'right' },
    { header: 'squared', align: 'right' },
    ...(lowerBound === null ? [] : [{ header: 'ratio', align: 'right' } as const]),
    { header: 'sens(C)', align: 'right' },
    { header: 'step time', align: 'left', wraps: true },
    { header: 'vectors', align: 'left', wraps: true },
  ];
  const rows = mechanisms.map((row, i) => [
    String(i + 1),
    rowText(row, fileNames),
    short(row.maxError),
    short(row.meanError),
    shorter(row.meanSquaredError),
    ...(row.ratio === null ? [] : [row.ratio.toPrecision(4)]),
    `${row.sensitivityExactness === 'exact' ? '' : '<= '}${short(row.sensitivity)}`,
    row.stepCost.split(', ')[0]!,
    row.memoryCost.replace(/ vectors?\b/, ''),
  ]);
  return table(columns, rows);
}

/**
 * Compares the mean squared error of the binary tree with that of the square root, if both are in
 * the table.
 */
function treeText({ mechanisms, workload, participation }: Comparison): string {
  const [tree, root] = ['tree', 'square-root'].map(
    (name) => mechanisms.find((row) => row.mechanism === name)?.meanSquaredError,
  );
  if (workload !== 'prefix' || participation !== 'single' || !tree || !root) return '';
  const grown = `${(tree / root).toPrecision(3)} times that of square-root`;
  return `\n${paragraph(`The mean squared error of tree is ${grown}; with the steps this grows to ${TREE_LIMIT.toPrecision(4)}.`)}`;
}

/** Deltas at which Laplace and Gaussian noise are compared. */
const DELTAS = [1e-3, 1e-6, 1e-9, 1e-12];

/**
 * Table of the errors of Laplace and Gaussian noise at one epsilon, in order of decreasing delta.
 */
function pureText(dp: DpFtrl, { mechanisms, objective, pure }: Comparison): string {
  if (!pure) return '';
  const { epsilon, parameters, crossoverDelta } = pure;
  const best = mechanisms[0]!;
  const aim = objective === 'max' ? 'maxError' : 'meanError';
  const gaussian = (delta: number) => best[aim] * dp.calibrate({ epsilon, delta }).noiseMultiplier;
  const deltas = [...DELTAS, crossoverDelta].filter((delta) => delta < 1).sort((a, b) => b - a);
  const columns: TableColumn[] = [
    { header: 'delta', align: 'right' },
    { header: best.mechanism, align: 'right' },
    { header: 'pure', align: 'right' },
  ];
  const rows = [...new Set(deltas)].map((delta) => [
    delta.toPrecision(delta === crossoverDelta ? 3 : 1),
    short(gaussian(delta)),
    short(pure[aim]),
  ]);
  const name = nameText({ name: PURE_MECHANISM, ...parameters });
  return [
    `\n${paragraph(`The ${objective} error with noise for epsilon ${epsilon}, clip norm 1:`)}`,
    table(columns, [...rows, ['0', '-', short(pure[aim])]]),
    paragraph(
      `pure: ${name}, Laplace noise, records clipped in l1-norm (dp-ftrl release --pure). ` +
        `Below delta ${crossoverDelta.toPrecision(3)} its error is smaller.`,
    ),
  ].join('');
}

/**
 * Lists the mechanisms that were optimised for another participation pattern, each with its
 * pattern.
 */
function othersText({ mechanisms }: Comparison, fileNames: readonly string[]): string {
  const others = mechanisms.flatMap((row) =>
    row.optimisedFor === undefined
      ? []
      : [paragraph(`${rowText(row, fileNames)} is optimised for ${row.optimisedFor}.`)],
  );
  return others.length > 0 ? `\n${others.join('')}` : '';
}

function describe(
  comparison: Comparison,
  { schema, fileNames }: { schema: string; fileNames: readonly string[] },
): string {
  const { objective, leftOut, numSteps, workload } = comparison;
  const out = leftOut.map(({ mechanism, parameters, refusal }) =>
    paragraph(`${nameText({ name: mechanism, ...parameters })}: ${inOptions(refusal)}`, '  '),
  );
  const raised = comparison.raisedByNormalizing.join(', ');
  const released = paragraph(
    `dp-ftrl release --workload ${workload} releases these sums with any of them as --strategy.`,
  );
  const warning = paragraph(`Normalised columns raise the error of: ${raised}.`);
  return [
    paragraph(
      `Workload ${workload}, ${counted(numSteps, 'step')}, ${schema}; best ${objective} error first.`,
    ),
    'Noise multiplier 1, clip norm 1, zero-out neighbours. sens(C): <= marks an upper bound.\n',
    `${boundText(comparison)}\n\n`,
    tableText(comparison, fileNames),
    treeText(comparison),
    othersText(comparison, fileNames),
    ...(raised === '' ? [] : ['\n', warning]),
    ...(out.length > 0 ? ['\nLeft out:\n', ...out] : []),
    ...(/^(window|momentum)=/.test(workload) ? ['\n', released] : []),
  ].join('');
}

async function run(args: Args): Promise<void> {
  args.requireNoFile('compare');
  const steps = required('steps', args.number('steps'));
  const objective = args.oneOf('objective', OBJECTIVES);
  const participation = readParticipation(args);
  const workload = await readWorkload(args, steps);
  const dp = await load();
  const { strategies: catalogue } = dp;
  const files = await Promise.all(
    args.texts('strategy').map((path) => readStrategyFile(path, { catalogue, steps })),
  );
  const epsilon = args.number('epsilon');
  const target = epsilon === undefined ? {} : { epsilon };
  const problem = { steps, workload, participation, objective, ...target };
  const strategies = files.map(({ strategy }) => strategy);
  const options = strategies.length > 0 ? { ...problem, strategies } : problem;
  const fileNames = files.map(({ name }) => name);
  const line = new ProgressLine('compare:', 'rows');
  const comparison = await watch(inPieces(dp.compare(options)), line);
  const text = args.has('json')
    ? `${JSON.stringify(comparison)}\n`
    : describe(comparison, { schema: participationText(participation), fileNames }) +
      pureText(dp, comparison);
  await new StandardOutput().write(text);
}
