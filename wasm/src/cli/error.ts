// SPDX-License-Identifier: Apache-2.0

// dp-ftrl error: the error of a mechanism at unit noise.

import { load } from '../index.js';
import type { UnitError } from '../types.js';
import { Args, required, type Known } from './args.js';
import { Misuse } from './failure.js';
import { MECHANISM_OPTIONS, nameText, PARTICIPATION_OPTIONS } from './mechanism.js';
import { participationText, readMechanism, readNeighbours } from './mechanism.js';
import { readParticipation } from './mechanism.js';
import { StandardOutput } from './output.js';
import { report } from './report.js';
import { readWorkload } from './workload.js';

export const options: Known = {
  ...MECHANISM_OPTIONS,
  steps: 'value',
  workload: 'value',
  ...PARTICIPATION_OPTIONS,
  neighbours: 'value',
  json: 'flag',
};

/** Neighbours that are `distance` times as far apart; the noise multiplier stays 1. */
function scaled(error: UnitError, distance: number) {
  const { sensitivity, maxError, meanError, lowerBound } = error;
  return {
    ...error,
    sensitivity: sensitivity * distance,
    maxError: maxError * distance,
    meanError: meanError * distance,
    lowerBound: lowerBound === null ? null : lowerBound * distance,
  };
}

export async function run(args: Args): Promise<void> {
  if (args.files.length > 0) throw new Misuse(`error reads no file, got ${args.files[0]}`);
  const steps = required('steps', args.steps());
  const neighbours = readNeighbours(args);
  const participation = readParticipation(args);
  const workload = await readWorkload(args, steps);
  const dp = await load();
  const { mechanism, ...parameters } = readMechanism(args, dp.mechanisms());
  const unit = dp.error({ mechanism, ...parameters, numSteps: steps, workload, participation });
  const error = scaled(unit, neighbours === 'replace-one' ? 2 : 1);
  const { mechanism: name, numSteps, ...rest } = error;
  const result = { mechanism: name, parameters, steps: numSteps, ...rest, neighbours };
  const words = {
    mechanism: nameText(mechanism, parameters),
    participation: participationText(participation),
  };
  const json = args.has('json');
  await new StandardOutput().write(
    report(json ? result : { ...result, ...words }, json, {
      mechanism: 'mechanism',
      steps: 'steps',
      workload: 'workload',
      participation: 'participation',
      neighbours: 'neighbours',
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      sensitivityMethod: 'sensitivity from',
      maxError: 'max error',
      meanError: 'mean error (root mean square)',
      lowerBound: 'lower bound, any mechanism',
      decoderResidual: `max |A - B C|, first ${error.residualSteps} steps`,
    }),
  );
}
