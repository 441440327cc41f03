// SPDX-License-Identifier: Apache-2.0

import { PARAMETER_NAMES } from '../core/parameters.js';

/** A fault of the input and its place, without any of the input's cells: safe to publish. */
export interface Fault {
  code: string;
  /** 1-based, without the header. */
  row?: number;
  /** 1-based. */
  line?: number;
  /** Name of the column. */
  column?: string;
}

/** A request that cannot be right: exit code 2. Every other error is a failure: exit code 1. */
export class Misuse extends Error {
  constructor(
    message: string,
    readonly fault: Fault = { code: 'misuse' },
    /** Cell of the input in that place: shown only where nothing is private. */
    readonly cell?: string,
  ) {
    super(message);
  }
}

/** Returns the fault of an error whose message may quote the input. */
export function faultOf(error: Error): Fault {
  if (error instanceof Misuse) return error.fault;
  const { code } = error as { code?: unknown };
  return { code: typeof code === 'string' ? code : 'internal' };
}

const MISUSE_CODES = [
  'invalid_argument',
  'wrong_type',
  'wrong_length',
  'past_horizon',
  'unsupported',
  'bad_state',
  'already_released',
  'store_in_use',
];

export function exitCodeOf(error: unknown): 1 | 2 {
  if (error instanceof Misuse) return 2;
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && MISUSE_CODES.includes(code) ? 2 : 1;
}

/** Beginning of the library's messages: a function that no user of a command called. */
const FUNCTION = /^[a-z][A-Za-z]*: /;

/** Further numbers that have an option. */
const MORE_NAMES: readonly string[] = [
  ...['numSteps', 'clipNorm', 'maxIterations', 'gap', 'epsilon', 'delta', 'maxContributions'],
  ...['mechanism', 'workload', 'window', 'momentum', 'decay', 'rates', 'matrix', 'epochs'],
  ...['participations', 'minSeparation', 'queryWeights'],
];

/** Names of the options that are not called as their number is. */
const OPTION_NAMES: Readonly<Record<string, string>> = {
  numSteps: 'steps',
  clipNorm: 'clip',
  normalizeColumns: 'normalize',
  window: 'workload window',
  momentum: 'workload momentum',
  decay: 'workload decay',
  rates: 'workload rates',
  matrix: 'workload matrix',
};

/** Messages about numbers that no option gives, reworded for the command. */
const REWORDED: readonly (readonly [RegExp, string])[] = [
  [/^numValues must be (.*), got /, '--domain must have $1 values in all, got '],
  [/^grid must (be at most .*), got /, '--clip is too large: the grid made for it must $1, got '],
  [/^noiseStddev must (be at least .*), got /, '--clip is too small: noise must $1, got '],
  [/^(noise must stay within .* takes a larger) epsilon or delta/, '$1 --epsilon or --delta'],
];

/** A message of the library in the words of the command: `numSteps` -> `--steps`. */
function inOptions(message: string): string {
  const plain = REWORDED.reduce(
    (text, [wrong, right]) => text.replace(wrong, right),
    message.replace(FUNCTION, ''),
  );
  const isOption = (name: string) => [...PARAMETER_NAMES, ...MORE_NAMES].includes(name);
  const optionOf = (name: string) =>
    `--${OPTION_NAMES[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  // Words that are also English only where they are what is wrong.
  return plain
    .replace(/\b[a-z]+[A-Z][A-Za-z]*\b/g, (name) => (isOption(name) ? optionOf(name) : name))
    .replace(/^([a-z-]+: )?([a-z]+)(?=(?:\[\d+\]|\([^)]*\))? (?:must be|cannot be|is not) )/,
      (all, where, name) => (isOption(name) ? `${where ?? ''}${optionOf(name)}` : all),
    );
}

/** One line, whatever the error says; with the cell it is about, if that may be shown. */
export function lineOf(error: unknown, showsCells: boolean): string {
  const message = error instanceof Error ? error.message : String(error);
  const { cell } = error instanceof Misuse ? error : { cell: undefined };
  const shown = showsCells && cell ? ` (the cell is ${JSON.stringify(cell.slice(0, 40))})` : '';
  const words = error instanceof Misuse ? `${message}${shown}` : inOptions(message);
  return words.replace(/\s+/g, ' ').trim();
}

/** The known name closest to a misspelt one, if it is close. */
export function closest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; ++i) {
    const next = [i];
    for (let j = 1; j <= b.length; ++j) {
      const substitution = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(substitution, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}

/** `otherwise`: what to say where none is close, instead of naming all. */
export function unknownName(
  what: string,
  name: string,
  known: readonly string[],
  otherwise = `known are ${known.join(', ')}`,
): Misuse {
  const near = closest(name, known);
  const hint = near === undefined ? otherwise : `did you mean ${near}?`;
  return new Misuse(`unknown ${what} ${JSON.stringify(name)}; ${hint}`);
}
