// SPDX-License-Identifier: Apache-2.0

// dp-ftrl compare: all mechanisms side by side.

import { load } from '../../index.js';
import { compareInPieces } from '../../api/searches.js';
import { OBJECTIVES } from '../../shared/defaults.js';
import type { Comparison } from '../../types/all.js';
import { Args, required, type Known } from '../options/args.js';
import { inOptions } from '../failure.js';
import { nameText, participationText, PARTICIPATION_OPTIONS } from '../options/mechanism.js';
import { readParticipation } from '../options/mechanism.js';
import { StandardOutput } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { paragraph, table, type Column } from '../output/table.js';
import { readStrategyFile } from '../options/strategy.js';
import { readWorkload } from '../options/workload.js';

export const options: Known = {
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  objective: 'value',
  strategy: 'values',
  json: 'flag',
};

function short(value: number): string {
  return value < 1e5 ? value.toPrecision(5) : value.toExponential(3);
}

/** The bound in words and how it was found, or that there is none. */
function boundText(comparison: Comparison): string {
  const { lowerBound, boundMethod, objective, workload } = comparison;
  const { lowerBoundMinDimension: dimension, lowerBoundEveryDimension: everywhere } = comparison;
  if (lowerBound === null) return 'Lower bound: none at hand for this workload and horizon.';
  const numerically = 'computed numerically, with its rounding allowed for';
  const closed = workload === 'prefix' ? 'in closed form' : numerically;
  const how =
    boundMethod === 'schatten'
      ? `Schatten-1 norm of the workload, ${closed}`
      : 'dual variables of the optimum, with their rounding allowed for';
  const isForAll = (dimension ?? 1) === 1;
  const whose = isForAll ? '' : ` for records of at least ${dimension} numbers`;
  return (
    `Lower bound on the ${objective} error of every factorization${whose}: ${short(lowerBound)}\n` +
    `(${how}); ratio: error / bound.` +
    (isForAll ? '' : `\nFor all records: ${everywhere ? short(everywhere) : 'not computed'}.`)
  );
}

function tableText({ mechanisms, lowerBound }: Comparison): string {
  const columns: Column[] = [
    { header: '', align: 'right' },
    { header: 'mechanism', align: 'left', wraps: true },
    { header: 'max error', align: 'right' },
    { header: 'mean error', align: 'right' },
    ...(lowerBound === null ? [] : [{ header: 'ratio', align: 'right' } as const]),
    { header: 'sensitivity', align: 'right' },
    { header: 'time a step', align: 'left', wraps: true },
    { header: 'vectors', align: 'left', wraps: true },
  ];
  const rows = mechanisms.map((row, i) => [
    String(i + 1),
    nameText(row.mechanism, row.parameters) + (row.saved ? ' (saved)' : ''),
    short(row.maxError),
    short(row.meanError),
    ...(row.ratio === null ? [] : [row.ratio.toPrecision(4)]),
    `${row.sensitivityExactness === 'exact' ? '' : '<= '}${short(row.sensitivity)}`,
    row.stepCost.split(', ')[0]!,
    row.memoryCost.replace(/ vectors?\b/, ''),
  ]);
  return table(columns, rows);
}

function describe(comparison: Comparison, schema: string): string {
  const { objective, leftOut, numSteps, workload } = comparison;
  const out = leftOut.map(({ mechanism, parameters, refusal }) =>
    paragraph(`${nameText(mechanism, parameters)}: ${inOptions(refusal)}`, '  '),
  );
  const raised = comparison.raisedByNormalizing.join(', ');
  const warning = paragraph(`Normalised columns raise the error of: ${raised}.`);
  return [
    paragraph(`Workload ${workload}, ${numSteps} steps, ${schema}; best ${objective} error first.`),
    'Noise multiplier 1, clip norm 1, zero-out neighbours. Sensitivity: <= marks an upper bound.\n',
    `${boundText(comparison)}\n\n`,
    tableText(comparison),
    ...(raised === '' ? [] : ['\n', warning]),
    ...(out.length > 0 ? ['\nLeft out:\n', ...out] : []),
  ].join('');
}

export async function run(args: Args): Promise<void> {
  args.requireNoFile('compare');
  const steps = required('steps', args.steps());
  const objective = args.oneOf('objective', OBJECTIVES);
  const participation = readParticipation(args);
  const workload = await readWorkload(args, steps);
  const strategies = await Promise.all(args.texts('strategy').map(readStrategyFile));
  const dp = await load();
  const problem = { numSteps: steps, workload, participation, objective };
  const options = strategies.length > 0 ? { ...problem, strategies } : problem;
  const line = new ProgressLine('compare:', 'rows');
  const comparison = await watch(compareInPieces(dp, options), line);
  const text = args.has('json')
    ? `${JSON.stringify(comparison)}\n`
    : describe(comparison, participationText(participation));
  await new StandardOutput().write(text);
}
