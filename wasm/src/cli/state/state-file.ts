// SPDX-License-Identifier: Apache-2.0

// --state: the file from which the next run continues, and messages about its errors.

import { parsedFacts } from '../../api/streams/facts.js';
import type { RefusalError } from '../../core/errors.js';
import { KEY_BYTES } from '../../core/key.js';
import { FileStore } from '../../file-store.js';
import { IN_A_FOLDER } from '../../stores/files.js';
import { unpack } from '../../stores/stored.js';
import { addNote, inOptions, Misuse, wordsOf } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { strategyFile } from '../options/mechanism.js';
import type { StrategyInfo } from '../../types/all.js';
import { ClosedPipe } from '../output/output.js';
import { Interrupted } from '../base/signals.js';
import { otherOptionText } from './differs.js';
import { MarkedStore } from './state-runs.js';

export interface StateSettings {
  path: string;
  /** 0-based step of the first row; by default, the first step that was not released. */
  firstStep: number | undefined;
  /** True if the file must already exist. */
  mustExist: boolean;
  hasBudget: boolean;
}

export function readState(
  args: Args,
  catalogue: readonly StrategyInfo[],
): StateSettings | undefined {
  const path = args.text('state');
  const step = args.number('first-step');
  if (path === undefined) {
    if (step !== undefined) throw new Misuse('--first-step goes with --state');
    if (args.has('continue')) throw new Misuse('--continue goes with --state');
    return undefined;
  }
  if (args.has('show-nonprivate')) throw new Misuse('--state does not go with --show-nonprivate');
  if (args.has('time-column') && step !== undefined) {
    throw new Misuse('--first-step is for rows that are steps: it does not go with --time-column');
  }
  if (args.has('passes')) {
    const other = 'for rows that recur in a later run give --epochs';
    throw new Misuse(`--state does not go with --passes; ${other}`);
  }
  const isEndless = args.has('endless');
  if (!isEndless && !args.has('steps') && strategyFile(args, catalogue) === undefined) {
    throw new Misuse('--state needs --steps, the horizon of all runs together');
  }
  const firstStep = step === undefined ? undefined : step - 1;
  return { path, firstStep, mustExist: args.has('continue'), hasBudget: args.has('budget') };
}

export const DAMAGED = 'it is damaged or cut short';

/** The command that begins states of a kind, in words. */
export function beginnerOf(kind: string): string {
  return `dp-ftrl ${kind === 'sums' ? 'release with --workloads' : kind}`;
}

/**
 * The command named in the text that a stream stores with its options; undefined for other texts.
 */
function commandIn(about: unknown): string | undefined {
  try {
    const { command } = JSON.parse(about as string) as { command?: unknown };
    return typeof command === 'string' ? command : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Memo of a state, and the command that began the state; undefined if a program began it.
 *
 * @throws Misuse for bytes that are not a state of this version.
 */
export function contentsOf(stored: Uint8Array): {
  beginner: string | undefined;
  memo: Uint8Array | undefined;
} {
  if (stored.length === 0) throw new Misuse('it is empty');
  if (stored.length < KEY_BYTES) throw new Misuse(DAMAGED);
  const { memo } = unpack(stored.subarray(KEY_BYTES));
  const facts = parsedFacts(memo);
  if (facts) return { beginner: commandIn(facts['about']), memo };
  throw new Misuse('it is damaged, or not a state of this version');
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

/** Explains why the package refuses a state; undefined for an error about something else. */
function reasonOf(error: RefusalError): string | undefined {
  if (error.code === 'other_options') return otherOptionText(error);
  return error.code === 'bad_state' ? DAMAGED : undefined;
}

/** Rewrites an error about a refused state, with the name of its file. */
export function inWords(error: unknown, path: string): unknown {
  const { code, message } = error as RefusalError;
  if (error instanceof Misuse) return new Misuse(`--state ${path}: ${message}`, error.fault);
  const words = reasonOf(error as RefusalError);
  return words === undefined ? error : new Misuse(`--state ${path}: ${words}`, { code });
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

/** Adds to an error that ends a run early a note on the rows that the next run must leave out. */
export function unfinished(error: unknown, done: string): unknown {
  if (error instanceof Error) addNote(error, `${done} out of the next run`);
  if (error instanceof ClosedPipe || error instanceof Interrupted) error.mustBeSaid = true;
  return error;
}
