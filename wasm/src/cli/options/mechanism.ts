// SPDX-License-Identifier: Apache-2.0

// Options for mechanism, privacy target and participation, shared by the commands.

import { given } from '../../core/given.js';
import { counted } from '../../shared/counted.js';
import { DEFAULT_MECHANISM, NEIGHBOURS, OBJECTIVES } from '../../shared/defaults.js';
import { PURE_MECHANISM } from '../../shared/defaults.js';
import { canonicalNumber } from '../../shared/number.js';
import { optionOf, PARAMETER_NAMES, PARAMETERS } from '../../shared/parameters.js';
import type { ParameterName } from '../../shared/parameters.js';
import type { StrategyInfo, MechanismName, MechanismParameters } from '../../types/all.js';
import type { Neighbours, Participation } from '../../types/all.js';
import { Misuse, unknownName } from '../base/failure.js';
import { required, type Args, type Known } from './args.js';

export const MECHANISM_OPTIONS: Known = {
  mechanism: 'value',
  ...Object.fromEntries(
    PARAMETER_NAMES.map((name) => [
      optionOf(name),
      PARAMETERS[name] === 'flag' ? ('flag' as const) : ('value' as const),
    ]),
  ),
};

/** Options of commands whose mechanism can also come from a file. */
export const STRATEGY_OPTIONS: Known = { ...MECHANISM_OPTIONS, strategy: 'value' };

/** Names of the mechanism options that are given, including `mechanism`. */
export function givenParameters(args: Args): string[] {
  return Object.keys(MECHANISM_OPTIONS).filter((name) => args.has(name));
}

export const PARTICIPATION_OPTIONS: Known = {
  participations: 'value',
  'min-separation': 'value',
  epochs: 'value',
};

/**
 * Reads `exact`, which the core encodes as 0. Only `optimal` can use as many buffers as full
 * accuracy requires.
 */
function exactBuffers(args: Args): 0 {
  const mechanism = args.text('mechanism') ?? DEFAULT_MECHANISM;
  if (mechanism !== 'optimal') {
    throw new Misuse(
      `--buffers must be a number for ${mechanism}, got exact, which is for optimal`,
    );
  }
  return 0;
}

function readParameter(args: Args, name: ParameterName): unknown {
  const option = optionOf(name);
  switch (PARAMETERS[name]) {
    case 'flag':
      return args.has(option) ? true : undefined;
    case 'count':
      return name === 'buffers' && args.text(option) === 'exact'
        ? exactBuffers(args)
        : args.count(option);
    case 'number':
      return args.number(option, 'a number', () => true);
    case 'numbers':
      return args.numbers(option);
    case 'objective':
      return args.has(option) ? args.oneOf(option, OBJECTIVES) : undefined;
  }
}

/** A mechanism as written in options, such as `tree-k --arity 4`, without flags that are off. */
export function nameText(mechanism: string, parameters: MechanismParameters): string {
  const words: string[] = [mechanism];
  for (const [name, value] of Object.entries(parameters)) {
    const option = `--${optionOf(name as ParameterName)}`;
    if (value === true) words.push(option);
    else if (name === 'buffers' && value === 0) words.push(option, 'exact');
    else if (value !== false) words.push(option, Array.from([value].flat()).join(','));
  }
  return words.join(' ');
}

/** Reads the mechanism and those of its parameters that are given. */
export function readMechanism(
  args: Args,
  catalogue: readonly StrategyInfo[],
): MechanismParameters & { mechanism: MechanismName } {
  const fallback = args.has('pure') ? PURE_MECHANISM : DEFAULT_MECHANISM;
  const mechanism = (args.text('mechanism') ?? fallback) as MechanismName;
  const known = catalogue.map((entry) => entry.name);
  if (!known.includes(mechanism)) throw unknownName('mechanism', mechanism, known);
  const parameters = PARAMETER_NAMES.map((name) => [name, readParameter(args, name)] as const);
  return {
    mechanism,
    ...(given(Object.fromEntries(parameters)) as MechanismParameters),
  };
}

/** Names used by other libraries. Removal is zero-out: an absent record adds zero to a sum. */
const NEIGHBOURS_ELSEWHERE: Record<string, Neighbours> = {
  'add-remove': 'zero-out',
  'add-or-remove': 'zero-out',
  'add-or-remove-one': 'zero-out',
  replace: 'replace-one',
  'change-one': 'replace-one',
  substitution: 'replace-one',
};

export function readNeighbours(args: Args): Neighbours {
  const text = args.text('neighbours');
  const known = text !== undefined && Object.hasOwn(NEIGHBOURS_ELSEWHERE, text);
  if (known) return NEIGHBOURS_ELSEWHERE[text]!;
  return args.oneOf('neighbours', NEIGHBOURS);
}

/** Reads delta for noise whose guarantee requires one. */
export function readDelta(args: Args): number {
  const delta = required('delta', args.text('delta'));
  if (canonicalNumber(delta) === '0') {
    const pure =
      'dp-ftrl release --pure and count --pure, dp-ftrl queries --delta 0 (Laplace noise) and ' +
      'dp-ftrl choose are pure';
    throw new Misuse(`--delta must be above 0, as Gaussian noise is never pure: ${pure}`);
  }
  return args.probability('delta')!;
}

/** Reads the privacy target of a release. */
export function readPrivacy(args: Args) {
  return {
    epsilon: required('epsilon', args.epsilon('epsilon')),
    delta: readDelta(args),
  };
}

/** Reads the privacy target of a stream; a pure one has no delta. */
export function readTarget(args: Args): { epsilon: number; delta: number } {
  if (!args.has('pure')) return readPrivacy(args);
  const stray = ['delta', 'strategy'].find((name) => args.has(name));
  if (stray !== undefined) throw new Misuse(`give --pure or --${stray}, not both`);
  return { epsilon: required('epsilon', args.epsilon('epsilon')), delta: 0 };
}

export function readParticipation(args: Args): Participation {
  const epochs = args.count('epochs');
  const participations = args.count('participations');
  const minSeparation = args.count('min-separation');
  if (epochs !== undefined) {
    const other = ['participations', 'min-separation'].find((name) => args.has(name));
    if (other !== undefined) throw new Misuse(`give --epochs or --${other}, not both`);
    return { epochs };
  }
  if (participations === undefined && minSeparation === undefined) return 'single';
  if (participations === undefined) throw new Misuse('--min-separation needs --participations');
  if (minSeparation === undefined) throw new Misuse('--participations needs --min-separation');
  return { participations, minSeparation };
}

/** A participation pattern in words. */
export function participationText(participation: Participation): string {
  if (participation === 'single') return 'single participation';
  if ('epochs' in participation) return counted(participation.epochs, 'epoch');
  const { participations, minSeparation } = participation;
  return `at most ${counted(participations, 'participation')} at least ${counted(minSeparation, 'step')} apart`;
}
