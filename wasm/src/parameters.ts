// SPDX-License-Identifier: Apache-2.0

// The parameters of mechanisms, once: the facade checks them, the command has an option for each.

import type { MechanismParameters } from './types.js';

export type ParameterKind = 'count' | 'number' | 'numbers' | 'flag' | 'objective';
export type ParameterName = keyof MechanismParameters;

export const PARAMETERS: Readonly<Record<ParameterName, ParameterKind>> = {
  bands: 'count',
  buffers: 'count',
  objective: 'objective',
  decays: 'numbers',
  weights: 'numbers',
  arity: 'count',
  subtractive: 'flag',
  height: 'count',
  weight: 'count',
  nu: 'number',
  lambda: 'number',
  alpha: 'number',
  loglogPower: 'number',
  horizonCap: 'count',
  epochLength: 'count',
  completeEpochs: 'flag',
  normalizeColumns: 'flag',
};

export const PARAMETER_NAMES = Object.keys(PARAMETERS) as ParameterName[];

/** Names that differ between the core and this language by more than their spelling. */
const RENAMED: Readonly<Record<string, ParameterName>> = {
  num_bands: 'bands',
  num_buffers: 'buffers',
};

function camelCaseName(name: string): string {
  return RENAMED[name] ?? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** `clip_norm` -> `clipNorm`: the core's texts in the words of this language. */
export function camelCase(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, camelCaseName);
}
