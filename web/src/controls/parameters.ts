// SPDX-License-Identifier: Apache-2.0

// Parameters of mechanisms as settings of the page. The table of parameters is shared with the
// package; the catalogue of the library states which mechanism takes which parameters.

import type { MechanismParameters } from 'dp-ftrl';
import {
  EXPLAINED,
  optionOf,
  PARAMETER_NAMES,
  PARAMETERS,
  type ParameterKind,
  type ParameterName,
} from '../../../wasm/src/shared/parameters.ts';

export { GENERAL as variants } from '../../../wasm/src/shared/parameters.ts';
export { PARAMETER_NAMES as parameterNames, type ParameterName };

/** The first mechanism, or the mechanism with which it is compared. */
export type Side = 'a' | 'b';
export const sides: readonly Side[] = ['a', 'b'];

export type ParameterKey = `${Side}_${ParameterName}`;

/**
 * Lists are kept as text with single spaces between numbers; null leaves the choice to the library.
 */
export type ParameterValue = number | boolean | string | null;

export interface ParameterSpec {
  /** Name in the address. */
  name: string;
  label: string;
  kind: ParameterKind;
  hint: string;
}

/** Labels that differ from the names of the options. */
const labels: Partial<Record<ParameterName, string>> = {
  subtractive: 'Subtract',
  nu: 'ν',
  lambda: 'λ of the noise',
  alpha: 'α',
  loglogPower: 'log log power',
  epochLength: 'Restart every',
  completeEpochs: 'Completed',
  normalizeColumns: 'Normalise',
};

function specOf(name: ParameterName): ParameterSpec {
  const option = optionOf(name);
  const words = option.replaceAll('-', ' ');
  return {
    // The learner also has a lambda.
    name: name === 'lambda' ? 'cgd-lambda' : option,
    label: labels[name] ?? words.charAt(0).toUpperCase() + words.slice(1),
    kind: PARAMETERS[name],
    hint: EXPLAINED[name].meaning,
  };
}

export const parameterSpecs = Object.fromEntries(
  PARAMETER_NAMES.map((name) => [name, specOf(name)]),
) as Readonly<Record<ParameterName, ParameterSpec>>;

/** Parameters that are valid only together. */
export const pairs: readonly (readonly [ParameterName, ParameterName])[] = [['decays', 'weights']];

export const parameterKey = (side: Side, name: ParameterName): ParameterKey => `${side}_${name}`;

export const parameterKeys: readonly ParameterKey[] = sides.flatMap((side) =>
  PARAMETER_NAMES.map((name) => parameterKey(side, name)),
);

export function partsOf(key: ParameterKey): { side: Side; name: ParameterName } {
  return { side: key[0] as Side, name: key.slice(2) as ParameterName };
}

const numbersOf = (text: string): number[] => text.split(' ').map(Number);

/** Leaves out parameters that are null. */
export function libraryParameters(
  values: (name: ParameterName) => ParameterValue,
): MechanismParameters {
  const chosen: [ParameterName, unknown][] = [];
  for (const name of PARAMETER_NAMES) {
    const value = values(name);
    if (value === null) continue;
    const isList = parameterSpecs[name].kind === 'numbers';
    chosen.push([name, isList ? numbersOf(String(value)) : value]);
  }
  return Object.fromEntries(chosen) as MechanismParameters;
}

export function settingsOf(
  side: Side,
  parameters: MechanismParameters,
): Record<ParameterKey, ParameterValue> {
  return Object.fromEntries(
    PARAMETER_NAMES.map((name) => {
      const value = parameters[name];
      const text = typeof value === 'object' ? Array.from(value).join(' ') : (value ?? null);
      return [parameterKey(side, name), text];
    }),
  ) as Record<ParameterKey, ParameterValue>;
}

/** Describes the parameters briefly; empty if all are left to the library. */
export function parametersText(
  parameters: MechanismParameters,
  print: (value: number) => string,
): string {
  const parts: string[] = [];
  for (const name of PARAMETER_NAMES) {
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
