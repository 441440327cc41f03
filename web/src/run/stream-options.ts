// SPDX-License-Identifier: Apache-2.0

// Options of streams, from the words that the other functions of the library have for them.

import type { MechanismOptions, Strategy } from 'dp-ftrl';
import { boundOf } from '../../../wasm/src/shared/problem.ts';

type Words = Partial<MechanismOptions> &
  Pick<MechanismOptions, 'numSteps' | 'epsilon' | 'delta'> & {
    insecureSeed?: number | bigint | undefined;
  };

/** Returns the options of a stream; those that are not given are not there. */
export function streamOptions({
  mechanism,
  numSteps: steps,
  epsilon,
  delta,
  clipNorm: clip,
  neighbours,
  participation,
  workload,
  insecureSeed,
  ...parameters
}: Words) {
  const isNamed = typeof mechanism === 'string';
  const strategy: Strategy | undefined = isNamed ? { name: mechanism, ...parameters } : mechanism;
  return {
    ...{ steps, epsilon, delta, neighbours, insecureSeed, strategy },
    participation: boundOf(participation),
    ...(clip !== undefined && { clip }),
    ...(workload !== undefined && { workload }),
  };
}
