// SPDX-License-Identifier: Apache-2.0

import { inWords, type NameOf, refusalOf } from '../../core/errors.js';
import { rootOf } from '../../core/names.js';
import { closest } from '../../shared/closest.js';
import { listed } from '../../shared/listed.js';
import { optionOf, PARAMETER_NAMES } from '../../shared/parameters.js';
import type { Refusal } from '../../types/all.js';

/**
 * A fault found from the input alone, with its place but no cell contents. An error that depends on
 * noise carries no place, because the place would reveal more than the release does.
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
    /** The cell at fault, shown only where nothing is private. */
    readonly cell?: string,
  ) {
    super(message);
  }
}

/** The fault of an error, without its message, which may quote the input. */
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
  ...['epsilon', 'delta', 'rho', 'mu', 'neighbours', 'steps', 'clip', 'maxContributions'],
  ...[
    'strategy',
    'workload',
    'importance',
    'epochs',
    'solver',
    'gap',
    'maxIterations',
    'queryWeights',
  ],
  ...['loss', 'domain', 'radius', 'doubling', 'algorithm', 'consistent', 'integer'],
];

/** The command's names for package options that differ. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(PARAMETER_NAMES.map((name) => [name, `--${optionOf(name)}`])),
  numPaths: '--paths',
  times: '--participations',
  apart: '--min-separation',
  people: '--max-contributions',
  lattice: '--mode',
  columns: '--columns',
  categories: '--domain',
  insecureSeed: '--seed',
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
};

/** Package options that are derived from others unless they are given. */
const MADE_FROM: Readonly<Record<string, { what: string; options: readonly string[] }>> = {
  mu: { what: 'the mu', options: ['--epsilon'] },
  grid: { what: 'the grid', options: ['--epsilon', '--clip'] },
  noiseStddev: { what: 'the noise', options: ['--epsilon', '--clip'] },
  steps: { what: 'the number of steps', options: ['--passes', '--from', '--to'] },
  times: { what: 'the number of contributions', options: ['--max-contributions'] },
  lambda: { what: 'the regularisation', options: ['--radius', '--clip', '--l1', '--group-norm'] },
};

/** The options that were typed, with their dashes, each with its values. */
export type TypedOptions = ReadonlyMap<string, readonly string[]>;

/** Option names that depend on the call or on the part of it that was refused. */
const NAMES_IN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  descent: { momentum: '--momentum', rates: '--rates' },
  learner: { lambda: '--regularisation', penalty: '--l1 or --group-norm' },
  learnPlan: { rows: 'the number of rows' },
  linear: {
    workload: '--domain or --workload',
    measure: '--measure',
    reconstruct: '--reconstruct',
  },
};

/** Parts of a call that are read from files; their fields are not options of the command. */
const FILES: readonly string[] = ['saved strategy', 'model'];

/** Options that name a file; a message shows them with its path. */
const OF_FILES: readonly string[] = ['--measure', '--reconstruct'];

/** Names an encoder from a file as typed: `--strategy C.csv`; compare may have several. */
function encoderName(path: string, typed: TypedOptions | undefined): string | undefined {
  const found = /^strateg(?:y|ies\[(\d+)\])\.encoder$/.exec(path);
  if (!found) return undefined;
  const file = typed?.get('--strategy')?.[Number(found[1] ?? 0)];
  return file === undefined ? '--strategy' : `--strategy ${file}`;
}

/** Translates the names of package options to those of the command: `numSteps` -> `--steps`. */
function nameFor({ call = '', part }: Refusal, typed: TypedOptions | undefined): NameOf {
  const special = NAMES_IN[part ?? call] ?? {};
  return (path) => {
    const encoder = encoderName(path, typed);
    if (encoder !== undefined) return encoder;
    const [root, below] = rootOf(path);
    const [name, rest] = root === 'strategy' && below !== '' ? [below.slice(1), ''] : [root, below];
    const isParameter = name !== root;
    if (root === 'columns' && below.startsWith('.')) return `--columns ${below.slice(1)}`;
    const words = (isParameter ? undefined : special[name]) ?? OTHER_NAMES[name];
    if (FILES.some((file) => part === file || part?.startsWith(`${file}: `)))
      return `${spelt(name, ' ')}${rest}`;
    if (words !== undefined) {
      const [file] = (OF_FILES.includes(words) && typed?.get(words)) || [];
      return file === undefined ? `${words}${rest}` : `${words} ${file}${rest}`;
    }
    if (SAME_NAMES.includes(name)) return `--${spelt(name, '-')}${rest}`;
    return `${spelt(name, ' ')}${rest}`;
  };
}

/**
 * Phrases a refusal by the package with the option names of the command. Values derived from other
 * options are described, because the user never typed their option.
 *
 * @param typed  default: as if every option were typed, with unknown values.
 */
export function inOptions(refusal: Refusal, typed?: TypedOptions): string {
  const isTyped = (option: string) => typed?.has(option) ?? true;
  const nameOf = nameFor(refusal, typed);
  const words = inWords(refusal, (path) => {
    const option = nameOf(path);
    const [root] = option.split(/[ [(.]/) as [string];
    const made = MADE_FROM[path];
    if (!made || (root.startsWith('--') && isTyped(root))) return option;
    const from = made.options.filter(isTyped);
    return from.length === 0 ? made.what : `${made.what} made from ${listed(from, 'and')}`;
  });
  return isTyped('--delta') ? words : words.replace('--delta = 0', '--pure');
}

/**
 * Message of an error, with the option names of the command, followed by the notes on the error.
 */
export function wordsOf(error: unknown, typed?: TypedOptions): string {
  if (!(error instanceof Error)) return String(error);
  const refusal = refusalOf(error);
  const words = refusal.constraint === undefined ? error.message : inOptions(refusal, typed);
  return [words, ...(notes.get(error) ?? [])].join('; ');
}

const notes = new WeakMap<Error, readonly string[]>();

/** Adds a note to the message that is printed if this error ends the command. */
export function addNote(error: Error, note: string): void {
  notes.set(error, [...(notes.get(error) ?? []), note]);
}

/** Message of an error on one line, for a command line on which these options were given. */
export function lineOf(error: unknown, typed: TypedOptions): string {
  const showsCells = typed.has('--show-nonprivate');
  const { cell } = error instanceof Misuse ? error : { cell: undefined };
  const shown = showsCells && cell ? ` (the cell is ${JSON.stringify(cell.slice(0, 40))})` : '';
  return `${wordsOf(error, typed)}${shown}`.split(/\s+/).join(' ').trim();
}

/** Maximum number of names with a common prefix that are suggested. */
const MOST_BEGUN = 3;
/** Words shorter than this match a name only if they differ from it by one letter. */
const SHORT = 5;

/** The word itself, and every word that results from deleting one of its letters. */
function pieces(word: string): string[] {
  return [word, ...[...word].map((_, i) => word.slice(0, i) + word.slice(i + 1))];
}

/** Whether two short words are equal except for one letter that is wrong, missing or misplaced. */
function isAlike(word: string, other: string): boolean {
  const [mine, theirs] = [pieces(word), pieces(other)];
  return mine.some((piece) => piece.length > 1 && theirs.includes(piece));
}

/** Suggests the names that begin with `name` (unless there are many), or else the closest name. */
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
