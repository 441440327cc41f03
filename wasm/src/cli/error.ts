// SPDX-License-Identifier: Apache-2.0

// dp-ftrl error: the error of a mechanism at unit noise.

import { DEFAULT_MECHANISM } from '../defaults.js';
import { load } from '../index.js';
import type { MechanismName } from '../types.js';
import { Args, required, type Known } from './args.js';
import { Misuse, unknownName } from './failure.js';
import { StandardOutput } from './output.js';
import { report } from './report.js';

export const options: Known = { mechanism: 'value', steps: 'value', json: 'flag' };

export async function run(args: Args): Promise<void> {
  if (args.files.length > 0) throw new Misuse(`error reads no file, got ${args.files[0]}`);
  const steps = required('steps', args.steps());
  const dp = await load();
  const mechanism = args.text('mechanism') ?? DEFAULT_MECHANISM;
  const known = dp.mechanisms().map((entry) => entry.name);
  if (!known.includes(mechanism as MechanismName)) throw unknownName('mechanism', mechanism, known);
  const error = dp.error({ mechanism: mechanism as MechanismName, numSteps: steps });
  const { mechanism: name, numSteps, ...rest } = error;
  const result = { mechanism: name, steps: numSteps, ...rest };
  await new StandardOutput().write(
    report(result, args.has('json'), {
      mechanism: 'mechanism',
      steps: 'steps',
      sensitivity: `sensitivity (${error.sensitivityExactness})`,
      maxError: 'max error',
      meanError: 'mean error (root mean square)',
      lowerBound: 'lower bound, any mechanism',
      decoderResidual: `max |A - B C|, first ${error.residualSteps} steps`,
    }),
  );
}
