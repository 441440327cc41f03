// SPDX-License-Identifier: Apache-2.0

// Options for the mechanism and its parameters.

import { given } from '../../core/given.js';
import { DEFAULT_MECHANISM, OBJECTIVES, PURE_MECHANISM } from '../../shared/defaults.js';
import { EXPLAINED, optionOf, PARAMETER_NAMES, PARAMETERS } from '../../shared/parameters.js';
import type { ParameterName } from '../../shared/parameters.js';
import type { StrategyInfo, MechanismName, MechanismParameters } from '../../types/all.js';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args } from './args.js';
import { ANY, COUNT, type NumberCheck } from './numbers.js';
import { under, type Option } from './option.js';

/** As many buffers as full accuracy requires, which the core encodes as 0. */
const EXACT = { text: 'exact', number: 0 };

const NUMBERS: Partial<Record<ParameterName, NumberCheck>> = Object.fromEntries(
  PARAMETER_NAMES.flatMap((name) => {
    const kind = PARAMETERS[name];
    return kind === 'count' || kind === 'number' ? [[name, kind === 'count' ? COUNT : ANY]] : [];
  }),
);

/** Declares the option of a parameter, which names the mechanisms that take it. */
function parameterOption(name: ParameterName): Omit<Option, 'heading'> {
  const { value, meaning } = EXPLAINED[name];
  const brief = `${meaning.charAt(0).toLowerCase()}${meaning.slice(1, -1)}`;
  return {
    ...given({ value, number: NUMBERS[name] }),
    ...(name === 'objective' && { values: OBJECTIVES }),
    ...(name === 'buffers' && { word: EXACT }),
    meaning: (catalogue) => {
      const takers = catalogue.filter(({ parameters }) => parameters.includes(name));
      const names = takers.map((entry) => entry.name).join(', ');
      return names === '' ? brief : `${brief} (${names})`;
    },
    brief,
  };
}

/** Parameters that every command takes. */
const USUAL: readonly ParameterName[] = ['bands', 'buffers'];

function parameterOptions(names: readonly ParameterName[]) {
  return Object.fromEntries(names.map((name) => [optionOf(name), parameterOption(name)]));
}

export const MECHANISM_OPTIONS = under('Mechanism', {
  mechanism: {
    value: 'M',
    values: (catalogue) => catalogue.map(({ name }) => name),
    meaning: (catalogue) =>
      catalogue
        .map(({ name }) => (name === DEFAULT_MECHANISM ? `${name} (default)` : name))
        .join(', '),
    brief: 'optimal (default), blt, honaker, square-root, ...: dp-ftrl compare lists them',
  },
  ...parameterOptions(USUAL),
});

/** Parameters that dp-ftrl optimize saves for the other commands. */
export const PARAMETER_OPTIONS = under(
  'Parameters',
  parameterOptions(PARAMETER_NAMES.filter((name) => !USUAL.includes(name))),
);

/** Options of commands whose mechanism can also come from a file. */
export const STRATEGY_OPTIONS = {
  ...MECHANISM_OPTIONS,
  ...under('Mechanism', {
    strategy: {
      value: 'FILE',
      file: 'read',
      meaning:
        'a mechanism saved by dp-ftrl optimize: with other parameters, or the best for a horizon, ' +
        'which it brings along, as it does its workload and, unless another one is given, its ' +
        'participation',
    },
  }),
};

/** Names of the mechanism options that are given, including `mechanism`. */
export function givenParameters(args: Args): string[] {
  const all = { ...MECHANISM_OPTIONS, ...PARAMETER_OPTIONS };
  return Object.keys(all).filter((name) => args.has(name));
}

/** Only `optimal` can use as many buffers as full accuracy requires. */
function readBuffers(args: Args): number | undefined {
  const buffers = args.number('buffers');
  const mechanism = args.text('mechanism') ?? DEFAULT_MECHANISM;
  if (buffers === EXACT.number && mechanism !== 'optimal') {
    throw new Misuse(
      `--buffers must be a number for ${mechanism}, got exact, which is for optimal`,
    );
  }
  return buffers;
}

function readParameter(args: Args, name: ParameterName): unknown {
  const option = optionOf(name);
  switch (PARAMETERS[name]) {
    case 'flag':
      return args.has(option) ? true : undefined;
    case 'count':
    case 'number':
      return name === 'buffers' ? readBuffers(args) : args.number(option);
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

export function requireMechanism(name: MechanismName, catalogue: readonly StrategyInfo[]): void {
  const known = catalogue.map((entry) => entry.name);
  if (!known.includes(name)) throw unknownName('mechanism', name, known);
}

/** Reads the mechanism and those of its parameters that are given. */
export function readMechanism(
  args: Args,
  catalogue: readonly StrategyInfo[],
): MechanismParameters & { mechanism: MechanismName } {
  const fallback = args.has('pure') ? PURE_MECHANISM : DEFAULT_MECHANISM;
  const mechanism = (args.text('mechanism') ?? fallback) as MechanismName;
  requireMechanism(mechanism, catalogue);
  const parameters = PARAMETER_NAMES.map((name) => [name, readParameter(args, name)] as const);
  return {
    mechanism,
    ...(given(Object.fromEntries(parameters)) as MechanismParameters),
  };
}
