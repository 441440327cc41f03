// SPDX-License-Identifier: Apache-2.0

import { getSystemErrorMap } from 'node:util';
import { inWords, refusalOf, type NameOf } from '../../core/errors.js';
import { rootOf } from '../../core/names.js';
import { closest } from '../../shared/closest.js';
import { listed } from '../../shared/listed.js';
import { optionOf, PARAMETER_NAMES } from '../../shared/parameters.js';
import { commonReason } from '../../stores/files.js';
import type { Refusal } from '../../types/all.js';

/**
 * A fault that is found from the input alone, and its place, without the contents of any cell. An
 * error that depends on noise has no place, because that would tell more than the release does.
 */
export interface Fault {
  code: string;
  /** 1-based; the header is not counted. */
  row?: number;
  /** 1-based. */
  line?: number;
  /** Name of the column. */
  column?: string;
}

/** An invalid request, which ends the command with exit code 2. */
export class Misuse extends Error {
  constructor(
    message: string,
    readonly fault: Fault = { code: 'misuse' },
    /** Input cell at that place, shown only where nothing is private. */
    readonly cell?: string,
  ) {
    super(message);
  }
}

/** Returns the system's reason alone; an error's message also names the call and the file. */
export function systemReason(error: unknown): string {
  const { errno, message } = error as NodeJS.ErrnoException;
  return commonReason(error) ?? getSystemErrorMap().get(errno ?? 0)?.[1] ?? message;
}

/** Returns the fault of an error whose message may quote the input. */
function faultOf(error: Error): Fault {
  if (error instanceof Misuse) return error.fault;
  const { code } = error as { code?: unknown };
  return { code: typeof code === 'string' ? code : 'internal' };
}

/**
 * Closes a JSON object that ends with an array of rows, so that rows already written can be parsed
 * after a fault. Reports where the fault is but never the cell, which is unprotected input.
 */
export function endOfRows(fault: Error | undefined, about: Record<string, unknown>): string {
  const tail = fault
    ? { ...about, complete: false, error: faultOf(fault) }
    : { ...about, complete: true };
  return `\n],${JSON.stringify(tail).slice(1)}\n`;
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

/** Splits the camelCase name of a package option: `numValues` -> `num values`. */
function spelt(name: string, between: string): string {
  const letters = [...name].map((letter) => {
    const small = letter.toLowerCase();
    return small === letter ? letter : `${between}${small}`;
  });
  return letters.join('');
}

/** Package options that the command offers under the same name. */
const SAME_NAMES: readonly string[] = [
  ...['epsilon', 'delta', 'rho', 'mu', 'neighbours', 'mode', 'latticeNoise', 'maxContributions'],
  ...[
    'mechanism',
    'workload',
    'importance',
    'epochs',
    'participations',
    'minSeparation',
    'solver',
    'gap',
  ],
  ...['maxIterations', 'queryWeights', 'loss', 'domain', 'radius', 'quantile', 'huberThreshold'],
  ...['doubling', 'descent', 'consistent', 'integer', 'pure', 'steps', 'clip'],
];

/** The command's names for package options that it calls something else. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PARAMETER_NAMES.map((name) => [name, `--${optionOf(name)}`])),
  numSteps: '--steps',
  numPaths: '--paths',
  clipNorm: '--clip',
  strategy: '--mechanism',
  times: '--participations',
  apart: '--min-separation',
  people: '--max-contributions',
  lattice: '--mode',
  columns: '--columns',
  categories: '--domain',
  insecureSeed: '--seed',
  numClasses: '--classes',
  batchSize: '--batch',
  store: '--state',
  participation: '--participations',
  workloads: '--workloads',
  window: '--workload window',
  momentum: '--workload momentum',
  decay: '--workload decay',
  rates: '--workload rates',
  matrix: '--workload matrix',
  path: '--state',
  ranges: '--columns',
  mechanismLambda: '--lambda',
};

/** Package options that the command or the package makes from others, if they are not typed. */
const MADE_FROM: Readonly<Record<string, { what: string; options: readonly string[] }>> = {
  mu: { what: 'the mu', options: ['--epsilon'] },
  grid: { what: 'the grid', options: ['--epsilon', '--clip'] },
  noiseStddev: { what: 'the noise', options: ['--epsilon', '--clip'] },
  steps: { what: 'the number of steps', options: ['--passes', '--from', '--to'] },
  times: { what: 'the number of contributions', options: ['--max-contributions'] },
  lambda: { what: 'the regularisation', options: ['--radius', '--clip', '--l1', '--group-norm'] },
  numCandidates: { what: 'the number of candidates', options: ['--tune', '--tune-clip'] },
};

/** Whether an option, with its dashes, is among those that were typed. */
export type IsTyped = (option: string) => boolean;

/** Names that depend on the call, or on a part of it. */
const NAMES_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  descent: { momentum: '--momentum', rates: '--rates' },
  learner: { lambda: '--regularisation', penalty: '--l1 or --group-norm' },
  learnPlan: { rows: 'the number of rows' },
  linear: { workload: '--domain or --workload' },
};

/** Parts of a call that come from files, whose fields are not options. */
const FILES: readonly string[] = ['saved strategy', 'model'];

/** Returns a function that renames package options as in the command: `numSteps` -> `--steps`. */
function nameFor({ call = '', part }: Refusal): NameOf {
  const special = NAMES_IN[part ?? call] ?? {};
  return (path) => {
    const [root, below] = rootOf(path);
    const [name, rest] = root === 'strategy' && below !== '' ? [below.slice(1), ''] : [root, below];
    const isParameter = name !== root;
    const words = (isParameter ? undefined : special[name]) ?? OTHER_NAMES[name];
    if (FILES.some((file) => part === file || part?.startsWith(`${file}: `)))
      return `${spelt(name, ' ')}${rest}`;
    if (words !== undefined) return `${words}${rest}`;
    if (SAME_NAMES.includes(name)) return `--${spelt(name, '-')}${rest}`;
    return `${spelt(name, ' ')}${rest}`;
  };
}

/**
 * Words a refusal by the package with the option names of the command. What was made from other
 * options than its own is called by what it is, as its option would be new to the reader.
 */
export function inOptions(refusal: Refusal, isTyped: IsTyped = () => true): string {
  const nameOf = nameFor(refusal);
  const words = inWords(refusal, (path) => {
    const option = nameOf(path);
    const [typed] = option.split(/[ [(.]/) as [string];
    const made = MADE_FROM[path];
    if (!made || (typed.startsWith('--') && isTyped(typed))) return option;
    const from = made.options.filter(isTyped);
    return from.length === 0 ? made.what : `${made.what} made from ${listed(from, 'and')}`;
  });
  return isTyped('--delta') ? words : words.replace('--delta = 0', '--pure');
}

/** Returns an error's message, with the option names of the command, and its notes. */
export function wordsOf(error: unknown, isTyped?: IsTyped): string {
  if (!(error instanceof Error)) return String(error);
  const refusal = refusalOf(error);
  const words = refusal.constraint === undefined ? error.message : inOptions(refusal, isTyped);
  return [words, ...(notes.get(error) ?? [])].join('; ');
}

const notes = new WeakMap<Error, readonly string[]>();

/** Adds a note to the message that is printed if this error ends the command. */
export function addNote(error: Error, note: string): void {
  notes.set(error, [...(notes.get(error) ?? []), note]);
}

/** Returns the error's message on one line, for a command line with these options. */
export function lineOf(error: unknown, isTyped: IsTyped): string {
  const showsCells = isTyped('--show-nonprivate');
  const { cell } = error instanceof Misuse ? error : { cell: undefined };
  const shown = showsCells && cell ? ` (the cell is ${JSON.stringify(cell.slice(0, 40))})` : '';
  return `${wordsOf(error, isTyped)}${shown}`.split(/\s+/).join(' ').trim();
}

/** Most names with a common beginning that are suggested. */
const MOST_BEGUN = 3;
/** Words shorter than this match a name only if they differ from it by one letter. */
const SHORT = 5;

/** The word, and the word with each one of its letters removed. */
function pieces(word: string): string[] {
  return [word, ...[...word].map((_, i) => word.slice(0, i) + word.slice(i + 1))];
}

/** Whether two short words are equal except for one letter that is wrong, missing or misplaced. */
function isAlike(word: string, other: string): boolean {
  const [mine, theirs] = [pieces(word), pieces(other)];
  return mine.some((piece) => piece.length > 1 && theirs.includes(piece));
}

/** Suggests the names that begin with `name` (none if they are many), or else the closest one. */
function meant(name: string, known: readonly string[]): string[] {
  const bare = (text: string) => text.replace(/^-+/, '').toLowerCase();
  const begun = bare(name) === '' ? [] : known.filter((each) => bare(each).startsWith(bare(name)));
  if (begun.length > 0) return begun.length <= MOST_BEGUN ? begun : [];
  const word = bare(name);
  const names = known.map(bare);
  const near =
    word.length < SHORT ? names.find((each) => isAlike(word, each)) : closest(word, names);
  return near === undefined ? [] : [known[names.indexOf(near)]!];
}

/** `a`, `a or b`, `a, b or c` */
/** @param otherwise  hint if no known name is close; default: a list of all. */
export function unknownName(
  what: string,
  name: string,
  known: readonly string[],
  otherwise = `known are ${known.join(', ')}`,
): Misuse {
  const near = meant(name, known);
  const hint = near.length === 0 ? otherwise : `did you mean ${listed(near, 'or')}?`;
  return new Misuse(`unknown ${what} ${JSON.stringify(name)}; ${hint}`);
}
