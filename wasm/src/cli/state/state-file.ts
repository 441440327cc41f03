// SPDX-License-Identifier: Apache-2.0

// --state: the file with which the next run continues, and messages about its errors.

import { splitMemo } from '../../api/statistics/about.js';
import type { RefusalError } from '../../core/errors.js';
import { KEY_BYTES } from '../../core/key.js';
import { FileStore } from '../../file-store.js';
import { IN_A_FOLDER } from '../../stores/files.js';
import { unpack } from '../../stores/stored.js';
import { addNote, inOptions, Misuse, wordsOf } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { ClosedPipe } from '../output/output.js';
import { Interrupted } from '../base/signals.js';
import { MarkedStore } from './state-runs.js';

export interface StateSettings {
  path: string;
  /** 0-based step of the first row; default: the first that was not released. */
  firstStep: number | undefined;
  /** True if an earlier run must have made the file. */
  mustExist: boolean;
  hasBudget: boolean;
}

/**
 * Options that exclude repeated rows, which would have to count as before; that is not recorded.
 */
const NOT_REPEATED = ['user-column', 'time-column'];

export function readState(args: Args): StateSettings | undefined {
  const path = args.text('state');
  const step = args.count('first-step');
  if (path === undefined) {
    if (step !== undefined) throw new Misuse('--first-step goes with --state');
    if (args.has('continue')) throw new Misuse('--continue goes with --state');
    return undefined;
  }
  if (args.has('show-nonprivate')) throw new Misuse('--state does not go with --show-nonprivate');
  const other = NOT_REPEATED.find((name) => args.has(name));
  if (other !== undefined && step !== undefined) {
    throw new Misuse(`--first-step does not go with --${other}`);
  }
  if (!args.has('steps') && !args.has('strategy')) {
    throw new Misuse('--state needs --steps, the horizon of all runs together');
  }
  const firstStep = step === undefined ? undefined : step - 1;
  return { path, firstStep, mustExist: args.has('continue'), hasBudget: args.has('budget') };
}

/** Command of a state, by the first bytes and the kind of the core's checkpoint. */
const MAGIC = 'dpfc';
const KIND_AT = 6;
const KINDS: Readonly<Record<number, StateKind>> = { 3: 'release', 5: 'learn' };

/**
 * Owner of a state: a command, or the sums of several workloads. States of statistics are those of
 * a release except for the memo.
 */
export type StateKind = 'release' | 'moments' | 'histogram' | 'sums' | 'learn';

/** The command that begins states of a kind, in words. */
export function beginnerOf(kind: string): string {
  return `dp-ftrl ${kind === 'sums' ? 'release with several --workload' : kind}`;
}

/**
 * Returns the memo that a command stores with its sums, if any.
 *
 * @throws Misuse for a state of another kind.
 */
export function memoOf(stored: Uint8Array, wanted: StateKind): Uint8Array | undefined {
  if (stored.length === 0) throw new Misuse('it is empty');
  const { memo, state } = unpack(stored.subarray(KEY_BYTES));
  const begins = [...MAGIC].every((letter, i) => state[i] === letter.charCodeAt(0));
  const kind = begins ? KINDS[state[KIND_AT]!] : undefined;
  const { statistic, own } = kind === 'release' && memo ? splitMemo(memo) : { own: memo };
  const other = statistic ?? kind;
  if (other !== undefined && other !== wanted) throw new Misuse(`it is of ${beginnerOf(other)}`);
  return own?.length ? own : undefined;
}

/** @throws Misuse if there is no state, but the run must continue one. */
export function requireStored(stored: Uint8Array | undefined, mustExist: boolean): void {
  if (stored !== undefined || !mustExist) return;
  throw new Misuse('there is none to --continue, and a new one would release the rows again');
}

/** @throws Misuse for a run without the budget of its state, which could not detect old copies. */
export function requireBudget({ runs }: MarkedStore, hasBudget: boolean): void {
  if (runs === undefined || hasBudget) return;
  throw new Misuse('it is paid for by a --budget: name that in every run');
}

/** Says how the seeds of two runs differ; seeded states have a key of zeros. */
function otherKey(stored: Uint8Array, isSeeded: boolean): string {
  const wasSeeded = stored.subarray(0, KEY_BYTES).every((byte) => byte === 0);
  if (wasSeeded && isSeeded) return 'it was begun with another --seed';
  if (wasSeeded) return 'it was begun with --seed, this run has none';
  return isSeeded ? 'it was begun without --seed' : 'it is damaged';
}

export interface Refused {
  stored: Uint8Array | undefined;
  /** Whether this run is seeded. */
  isSeeded: boolean;
  /** Options that must be the same in all runs. */
  options: string;
}

/** Returns an error that says why the stored bytes are refused, with the name of the file. */
export function inWords(
  error: unknown,
  path: string,
  { stored, isSeeded, options }: Refused,
): unknown {
  const { code, message, parameter } = error as Partial<RefusalError> & { message: string };
  if (error instanceof Misuse) return new Misuse(`--state ${path}: ${message}`, error.fault);
  if (code !== 'bad_state' || !stored) return error;
  const why: Readonly<Record<string, string>> = {
    'store.mechanism': `it was begun with another ${options}`,
    'store.statistic': `it was begun with another ${options}`,
    'store.key': otherKey(stored, isSeeded),
    'store.format': 'it is damaged, or not a state of this version',
  };
  const words = why[parameter ?? ''] ?? 'it is damaged or cut short';
  return new Misuse(`--state ${path}: ${words}`, { code });
}

/** Opens the file for exclusive use by this process. */
export async function openStore(path: string): Promise<MarkedStore> {
  try {
    return new MarkedStore(await FileStore.open(path));
  } catch (error) {
    const { code, constraint, value, cause } = error as RefusalError;
    if (constraint === undefined) throw error;
    if (constraint === IN_A_FOLDER) throw new Misuse(`--state ${path}: the folder does not exist`);
    const words = `--state ${path} ${inOptions({ constraint, ...(value !== undefined && { value }) })}`;
    if (code === 'store_failed') throw new Error(words, { cause });
    throw new Misuse(words, { code });
  }
}

/**
 * Calls every function that ends a run of a state, even after errors. Returns the first error, with
 * notes about the others.
 */
export async function ended(
  failure: unknown,
  ends: readonly (() => Promise<void> | undefined)[],
): Promise<unknown> {
  let first = failure;
  for (const end of ends) {
    try {
      await end();
    } catch (error) {
      if (!(first instanceof Error)) first = error;
      else if (!wordsOf(first).includes(wordsOf(error))) addNote(first, wordsOf(error));
    }
  }
  return first;
}

/** Adds to an error that ends a run early what the next run must leave out. */
export function unfinished(error: unknown, done: string): unknown {
  if (error instanceof Error) addNote(error, `${done} out of the next run`);
  if (error instanceof ClosedPipe || error instanceof Interrupted) error.mustBeSaid = true;
  return error;
}
