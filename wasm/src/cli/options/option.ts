// SPDX-License-Identifier: Apache-2.0

// Options as they are declared. From the one declaration come the check of what is known, the help,
// the man page and the completion in shells.

import type { StrategyInfo } from '../../types/all.js';
import type { NumberCheck } from './numbers.js';

/** A value that may depend on the mechanisms of this version. */
type OfCatalogue<T> = T | ((catalogue: readonly StrategyInfo[]) => T);

/**
 * Use of a file by a command. A kept one has FILE.new and FILE.lock beside it for a while; a workload
 * may have a name or name files.
 */
type FileUse = 'read' | 'written' | 'kept' | 'workload';

export interface Option {
  /** Options with the same heading stand together in the help. */
  heading: string;
  /** Placeholder of the value; a flag has none. */
  value?: string;
  /** Letter that stands for the option. */
  letter?: string;
  /** Whether it may be given several times. */
  repeats?: boolean;
  /** Check of its value, if that is one number. */
  number?: NumberCheck;
  /** A word that stands for a number. */
  word?: { text: string; number: number };
  /** Values that a shell completes. */
  values?: OfCatalogue<readonly string[]>;
  /** Use of the file that its value names. */
  file?: FileUse;
  /** Whether its values are, or begin with, names of columns or categories. */
  isName?: boolean;
  meaning: OfCatalogue<string>;
  /** A shorter meaning for the essentials, and for completion. */
  brief?: string;
}

export type Options = Readonly<Record<string, Option>>;

/** Puts options under a heading. */
export function under<Name extends string>(
  heading: string,
  options: Record<Name, Omit<Option, 'heading'>>,
): Record<Name, Option> {
  const all = Object.entries<Omit<Option, 'heading'>>(options);
  return Object.fromEntries(all.map(([name, option]) => [name, { heading, ...option }])) as Record<
    Name,
    Option
  >;
}

/** Options of every command. */
export const ANYWHERE = under('Help', {
  help: {
    letter: 'h',
    meaning: 'shows what a first run needs; --help all shows all options',
  },
  version: { letter: 'V', meaning: 'shows the version' },
});
