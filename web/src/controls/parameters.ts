// SPDX-License-Identifier: Apache-2.0

// Parameters of mechanisms: how each is named, entered and explained. Which mechanism takes which
// is for the library's catalogue to say.

import type { MechanismParameters } from 'dp-ftrl';

export type ParameterName = keyof MechanismParameters;

/** The first mechanism, or the one it is compared with. */
export type Side = 'a' | 'b';
export const sides: readonly Side[] = ['a', 'b'];

export type ParameterKey = `${Side}_${ParameterName}`;

/** Lists stay text, one space between two numbers; null: the library's choice. */
export type ParameterValue = number | boolean | string | null;

export interface ParameterSpec {
  /** Name in the address. */
  name: string;
  label: string;
  kind: 'count' | 'number' | 'flag' | 'list' | 'choice';
  hint: string;
}

export const parameterSpecs: Readonly<Record<ParameterName, ParameterSpec>> = {
  bands: {
    name: 'bands',
    label: 'Bands',
    kind: 'count',
    hint: 'Diagonals that are kept, the main one included.',
  },
  buffers: {
    name: 'buffers',
    label: 'Buffers',
    kind: 'count',
    hint: 'Fading sums that stand in for the past.',
  },
  objective: {
    name: 'objective',
    label: 'Objective',
    kind: 'choice',
    hint: 'Which error is made small: that of the worst step (auto), or the mean over all steps.',
  },
  decays: {
    name: 'decays',
    label: 'Decays',
    kind: 'list',
    hint: 'How much of each buffer lasts a step, from 0 to below 1. Empty: chosen for the horizon.',
  },
  weights: {
    name: 'weights',
    label: 'Weights',
    kind: 'list',
    hint: 'What each buffer adds, one number for every decay.',
  },
  arity: { name: 'arity', label: 'Arity', kind: 'count', hint: 'Children of a node.' },
  subtractive: {
    name: 'subtractive',
    label: 'Subtract',
    kind: 'flag',
    hint: 'Totals may also subtract nodes, if the arity is odd: fewer of them are needed.',
  },
  height: {
    name: 'height',
    label: 'Height',
    kind: 'count',
    hint: 'Bits in the number of a leaf.',
  },
  weight: {
    name: 'weight',
    label: 'Ones',
    kind: 'count',
    hint: 'Ones in the number of a leaf: the most nodes in a total.',
  },
  nu: { name: 'nu', label: 'ν', kind: 'number', hint: 'Share that fades in a step; 0: none.' },
  lambda: {
    name: 'cgd-lambda',
    label: 'λ of the noise',
    kind: 'number',
    hint: 'Share of the last step’s noise that is taken back.',
  },
  alpha: {
    name: 'alpha',
    label: 'α',
    kind: 'number',
    hint: 'The error grows like the logarithm to the power 1 + α.',
  },
  loglogPower: {
    name: 'loglog-power',
    label: 'log log power',
    kind: 'number',
    hint: 'Power of the iterated logarithm in the coefficients.',
  },
  horizonCap: {
    name: 'horizon-cap',
    label: 'Horizon cap',
    kind: 'count',
    hint: 'Steps that the noise is made for, should the stream go on.',
  },
  epochLength: {
    name: 'epoch-length',
    label: 'Restart every',
    kind: 'count',
    hint: 'Steps after which the mechanism starts afresh. Empty: never.',
  },
  completeEpochs: {
    name: 'complete-epochs',
    label: 'Completed',
    kind: 'flag',
    hint: 'Trees: a finished epoch is filled up to a power of two, and so leaves one node behind.',
  },
  normalizeColumns: {
    name: 'normalize',
    label: 'Normalise',
    kind: 'flag',
    hint: 'Scales the columns of C to length 1, so that all records count alike.',
  },
};

export const parameterNames = Object.keys(parameterSpecs) as ParameterName[];

/** Parameters that vary any mechanism; the others belong to the mechanisms that take them. */
export const variants: readonly ParameterName[] = [
  'normalizeColumns',
  'epochLength',
  'completeEpochs',
];

/** Parameters that mean nothing without each other. */
export const pairs: readonly (readonly [ParameterName, ParameterName])[] = [
  ['decays', 'weights'],
  ['height', 'weight'],
];

export const parameterKey = (side: Side, name: ParameterName): ParameterKey => `${side}_${name}`;

export const parameterKeys: readonly ParameterKey[] = sides.flatMap((side) =>
  parameterNames.map((name) => parameterKey(side, name)),
);

export function partsOf(key: ParameterKey): { side: Side; name: ParameterName } {
  return { side: key[0] as Side, name: key.slice(2) as ParameterName };
}

export const objectives: readonly string[] = ['max', 'mean'];

const numbersOf = (text: string): number[] => text.split(' ').map(Number);

/** As the library takes them: what is left to it is left out. */
export function libraryParameters(
  values: (name: ParameterName) => ParameterValue,
): MechanismParameters {
  const chosen: [ParameterName, unknown][] = [];
  for (const name of parameterNames) {
    const value = values(name);
    if (value === null) continue;
    const isList = parameterSpecs[name].kind === 'list';
    chosen.push([name, isList ? numbersOf(String(value)) : value]);
  }
  return Object.fromEntries(chosen) as MechanismParameters;
}

/** The other way: settings that stand for given parameters. */
export function settingsOf(
  side: Side,
  parameters: MechanismParameters,
): Record<ParameterKey, ParameterValue> {
  return Object.fromEntries(
    parameterNames.map((name) => {
      const value = parameters[name];
      const text = typeof value === 'object' ? Array.from(value).join(' ') : (value ?? null);
      return [parameterKey(side, name), text];
    }),
  ) as Record<ParameterKey, ParameterValue>;
}

/** In a few words; empty when all is left to the library. */
export function parametersText(
  parameters: MechanismParameters,
  print: (value: number) => string,
): string {
  const parts: string[] = [];
  for (const name of parameterNames) {
    const value = parameters[name];
    const label = parameterSpecs[name].name.replaceAll('-', ' ');
    if (value === undefined || value === false) continue;
    if (value === true) parts.push(label);
    else if (typeof value === 'string') parts.push(`${label} ${value}`);
    else if (typeof value === 'number') parts.push(`${label} ${print(value)}`);
    else parts.push(`${label} ${Array.from(value, print).join(' ')}`);
  }
  return parts.join(', ');
}
