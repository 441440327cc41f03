// SPDX-License-Identifier: Apache-2.0

// --strategy, by name or by file, and the parameters of a named strategy.

import { given } from '../../core/given.js';
import { DEFAULT_MECHANISM, OBJECTIVES, PURE_MECHANISM } from '../../shared/defaults.js';
import { EXPLAINED, optionOf, PARAMETER_NAMES, PARAMETERS } from '../../shared/parameters.js';
import type { ParameterName } from '../../shared/parameters.js';
import type { StrategyInfo, MechanismName, StrategyParameters } from '../../types/all.js';
import { Misuse, unknownName } from '../base/failure.js';
import type { Args } from './args.js';
import { ANY, COUNT, type NumberCheck } from './numbers.js';
import { under, type Option } from './option.js';

/** Stands for as many buffers as full accuracy requires, which the core encodes as 0. */
const EXACT = { text: 'exact', number: 0 };

const NUMBERS: Partial<Record<ParameterName, NumberCheck>> = Object.fromEntries(
  PARAMETER_NAMES.flatMap((name) => {
    const kind = PARAMETERS[name];
    return kind === 'count' || kind === 'number' ? [[name, kind === 'count' ? COUNT : ANY]] : [];
  }),
);

/** Declares the option for a parameter; its help names the mechanisms that take the parameter. */
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

/** Parameters that every command with --strategy NAME takes, except bounds. */
const USUAL: readonly ParameterName[] = ['bands', 'buffers'];

function parameterOptions(names: readonly ParameterName[]) {
  return Object.fromEntries(names.map((name) => [optionOf(name), parameterOption(name)]));
}

function namesText(catalogue: readonly StrategyInfo[]): string {
  return catalogue
    .map(({ name }) => (name === DEFAULT_MECHANISM ? `${name} (default)` : name))
    .join(', ');
}

export const NAMED_STRATEGY_OPTIONS = under('Strategy', {
  strategy: {
    value: 'S',
    values: (catalogue) => catalogue.map(({ name }) => name),
    file: 'read',
    meaning: (catalogue) =>
      `${namesText(catalogue)}; or a file saved by dp-ftrl optimize: one of them with other ` +
      'parameters, or the best for a horizon, which it brings along, as it does its workload and, ' +
      'unless another one is given, its participation; or a CSV file of numbers without a header: ' +
      'your own lower-triangular C, whose decoder is A C^-1 (--decoder checks yours)',
    brief: 'optimal (default), blt, honaker, ... or a saved file: dp-ftrl compare lists them',
  },
  ...parameterOptions(USUAL),
});

export const STRATEGY_OPTIONS = {
  ...NAMED_STRATEGY_OPTIONS,
  ...under('Strategy', {
    decoder: {
      value: 'FILE',
      file: 'read',
      meaning:
        'with --strategy C.csv: a CSV file of B, refused with the largest difference unless it ' +
        'is A C^-1 to 10^-6 of the largest entry of each row. A check alone: a square C has no ' +
        'other decoder, and A C^-1 is what is released',
      brief: 'with --strategy C.csv: checks that your B is A C^-1',
    },
  }),
};

/** The other parameters, which dp-ftrl optimize saves for commands without these options. */
export const PARAMETER_OPTIONS = under(
  'Parameters',
  parameterOptions(PARAMETER_NAMES.filter((name) => !USUAL.includes(name))),
);

/** Names of the parameters that are given. */
export function givenParameters(args: Args): string[] {
  return PARAMETER_NAMES.map(optionOf).filter((name) => args.has(name));
}

export function isNameOf(text: string, catalogue: readonly StrategyInfo[]): boolean {
  return catalogue.some(({ name }) => name === text);
}

/** The file that --strategy names; undefined if it names a strategy, or is not given. */
export function strategyFile(args: Args, catalogue: readonly StrategyInfo[]): string | undefined {
  const text = args.text('strategy');
  return text === undefined || isNameOf(text, catalogue) ? undefined : text;
}

/** Reads --buffers; only `optimal` takes `exact`. */
function readBuffers(args: Args): number | undefined {
  const buffers = args.number('buffers');
  const mechanism = args.text('strategy') ?? DEFAULT_MECHANISM;
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

/** A strategy as written in options, such as `tree-k --arity 4`, without flags that are off. */
export function nameText({ name: mechanism, ...parameters }: StrategyParameters): string {
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
  if (isNameOf(name, catalogue)) return;
  throw unknownName(
    'strategy',
    name,
    catalogue.map((entry) => entry.name),
  );
}

/** Reads --strategy and its parameters. */
export function readMechanism(args: Args, catalogue: readonly StrategyInfo[]): StrategyParameters {
  const fallback = args.has('pure') ? PURE_MECHANISM : DEFAULT_MECHANISM;
  const name = (args.text('strategy') ?? fallback) as MechanismName;
  requireMechanism(name, catalogue);
  const parameters = PARAMETER_NAMES.map((each) => [each, readParameter(args, each)] as const);
  return { name, ...given(Object.fromEntries(parameters)) };
}
