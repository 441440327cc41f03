// SPDX-License-Identifier: Apache-2.0

// The parameters of mechanisms, in one place: the facade checks them, the command has an option for
// each.

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
const RENAMED: Readonly<Record<string, string>> = {
  num_bands: 'bands',
  num_buffers: 'buffers',
  num_epochs: 'epochs',
  max_participations: 'participations',
};
/** Names that are also English words: replaced only where they name what is wrong. */
const RENAMED_WORDS: Readonly<Record<string, string>> = {
  width: 'window',
  strategy: 'mechanism',
  level: 'quantile',
  threshold: 'huberThreshold',
};

function camelCaseName(name: string): string {
  return RENAMED[name] ?? name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** `clip_norm` -> `clipNorm`: the core's texts in the words of this language. */
export function camelCase(text: string): string {
  return text.replace(/\b[a-z]+(?:_[a-z]+)+\b/g, camelCaseName);
}

/** Beginnings of the core's messages that mean something here, besides names of mechanisms. */
const TOPICS: Readonly<Record<string, string>> = { lattice: 'lattice', plan: 'saved strategy' };

/**
 * An error of the core in the words of this language. What it begins with, a function of the core,
 * becomes the one that was called here; a mechanism's name stays.
 */
export function inCall(where: string, message: string, mechanisms: readonly string[]): string {
  const [, head, text] = /^([\w-]+): (.*)$/s.exec(message) ?? [];
  if (head === undefined || text === undefined) return `${where}: ${camelCase(message)}`;
  const words = camelCase(text).replace(
    /^[a-z]+(?= (?:must be|cannot be) )/,
    (name) => RENAMED_WORDS[name] ?? name,
  );
  const topic = mechanisms.includes(head) ? head : TOPICS[head];
  return [where, topic, words].filter((part) => part !== undefined).join(': ');
}
