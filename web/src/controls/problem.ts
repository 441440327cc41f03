// SPDX-License-Identifier: Apache-2.0

// The options of a simulation in the words of problems, for the functions that analyse it.

import type {
  MechanismName,
  MechanismParameters,
  Participation,
  Problem,
  SavedStrategy,
  Strategy,
} from 'dp-ftrl';
import { boundOf } from '../../../wasm/src/shared/problem.ts';
import { parameterNames } from './parameters.ts';

interface Simulated extends MechanismParameters {
  numSteps: number;
  mechanism?: MechanismName | SavedStrategy | undefined;
  participation?: Participation | undefined;
}

type Asked<Options> = Omit<Options, keyof Simulated> &
  Pick<Problem, 'steps' | 'participation'> & { strategy: Strategy };

export function asProblem<Options extends Simulated>(options: Options): Asked<Options> {
  const { numSteps: steps, mechanism = 'optimal', participation, ...others } = options;
  const isOwn = ([name]: [string, unknown]) => (parameterNames as readonly string[]).includes(name);
  const all = Object.entries(others).filter(([, value]) => value !== undefined);
  const own = Object.fromEntries(all.filter(isOwn));
  const rest = Object.fromEntries(all.filter((entry) => !isOwn(entry)));
  const strategy = typeof mechanism === 'object' ? mechanism : { ...own, name: mechanism };
  return { steps, strategy, participation: boundOf(participation), ...rest } as Asked<Options>;
}
