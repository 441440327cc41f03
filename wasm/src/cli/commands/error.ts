// SPDX-License-Identifier: Apache-2.0

// dp-ftrl error: the error of a mechanism at unit noise.

import { errorInPieces } from '../../api/searches.js';
import { given } from '../../core/given.js';
import { load } from '../../index.js';
import type { UnitError } from '../../types/all.js';
import { Args, required, type Known } from '../options/args.js';
import { PARTICIPATION_OPTIONS, STRATEGY_OPTIONS } from '../options/mechanism.js';
import { participationText, readNeighbours } from '../options/mechanism.js';
import {
  chosenParticipation,
  otherParticipation,
  readChosen,
  stepsOf,
} from '../options/strategy.js';
import { readWorkload } from '../options/workload.js';
import { StandardOutput } from '../output/output.js';
import { ProgressLine, watch } from '../output/progress.js';
import { boundLabels, parametersText, report } from '../output/report.js';

export const options: Known = {
  ...STRATEGY_OPTIONS,
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  neighbours: 'value',
  beta: 'value',
  dimension: 'value',
  paths: 'value',
  seed: 'value',
  json: 'flag',
};

/** Rows of the report: what all steps keep to together. */
function simultaneousLabels(
  { simultaneousMethod, simultaneousSampled, simultaneousPaths, dimension }: UnitError,
  beta: number,
): Record<string, string> {
  const beyond = `but with probability ${beta}`;
  const from = simultaneousMethod === 'product' ? 'product bound' : 'neighbouring rows';
  return {
    simultaneousError: `no error above, ${beyond} (${from})`,
    simultaneousUnion: 'the same by the union bound',
    ...(simultaneousSampled !== undefined && {
      simultaneousSampled: `the same from ${simultaneousPaths} drawn streams`,
    }),
    ...(dimension !== 1 && { simultaneousNorm: `no norm of a step above, ${beyond}` }),
    frobeniusError: `Frobenius norm of all errors not above, ${beyond}`,
    frobeniusRms: 'Frobenius norm, root mean square',
  };
}

export async function run(args: Args): Promise<void> {
  args.requireNoFile('error');
  const neighbours = readNeighbours(args);
  const dp = await load();
  const chosen = await readChosen(args, dp.mechanisms());
  const { mechanism, parameters, saved } = chosen;
  const participation = chosenParticipation(args, chosen);
  const wanted = stepsOf(args, chosen);
  const steps = saved ? wanted! : required('steps', wanted);
  const beta = args.probability('beta');
  const dimension = args.count('dimension');
  const numPaths = args.count('paths');
  const seed = args.seed();
  if (dimension !== undefined || numPaths !== undefined) required('beta', beta);
  if (seed !== undefined) required('paths', numPaths);
  const options = {
    mechanism,
    ...parameters,
    numSteps: steps,
    ...((args.has('workload') || !saved) && { workload: await readWorkload(args, steps) }),
    participation,
    neighbours,
    ...given({ beta, dimension, numPaths, seed }),
  };
  const error = await watch(errorInPieces(dp, options), new ProgressLine(`error: ${chosen.name}`));
  const { mechanism: name, numSteps, ...rest } = error;
  const optimisedFor = otherParticipation(participation, chosen);
  const other = optimisedFor !== undefined && { optimisedFor };
  const result = { mechanism: name, parameters, steps: numSteps, ...rest, ...other };
  const words = {
    mechanism: chosen.name,
    participation: participationText(participation),
    made: parametersText(error.effectiveParameters),
    raisedByNormalizing: 'they raise this error: without --normalize it is smaller',
  };
  const json = args.has('json');
  await new StandardOutput().write(
    report(json ? result : { ...result, ...words }, json, {
      mechanism: 'mechanism',
      ...(words.made !== '' && { made: 'its parameters' }),
      steps: 'steps',
      workload: 'workload',
      participation: 'participation',
      ...(other && { optimisedFor: 'optimised for' }),
      neighbours: 'neighbours',
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      sensitivityMethod: 'sensitivity from',
      maxError: 'max error',
      meanError: 'mean error (root mean square)',
      ...(beta !== undefined && simultaneousLabels(error, beta)),
      ...boundLabels(error),
      ...(error.raisedByNormalizing && { raisedByNormalizing: 'normalised columns' }),
      ratio: `${error.objective} error / lower bound`,
      gap: 'gap',
      decoderResidual: `max |A - B C|, first ${error.residualSteps} steps`,
    }),
  );
}
