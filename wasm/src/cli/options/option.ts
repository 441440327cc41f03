// SPDX-License-Identifier: Apache-2.0

// Declarations of options, from which parsing, help, man page and completion are derived.

import type { StrategyInfo } from '../../types/all.js';
import type { NumberCheck } from './numbers.js';

/** A value that may depend on the mechanisms of this version. */
type OfCatalogue<T> = T | ((catalogue: readonly StrategyInfo[]) => T);

/**
 * How a command uses a file. FILE.new and FILE.lock appear beside a kept file for a while; a
 * workload may be a name or a file.
 */
type FileUse = 'read' | 'written' | 'kept' | 'workload';

export interface Option {
  /** Options with the same heading stand together in the help. */
  heading: string;
  /** Placeholder for the value; a flag has none. */
  value?: string;
  /** Letter that stands for the option. */
  letter?: string;
  /** Whether the option may be given several times. */
  repeats?: boolean;
  /** Check for a value that is a single number. */
  number?: NumberCheck;
  /** A word that stands for a number. */
  word?: { text: string; number: number };
  /** Values that a shell completes. */
  values?: OfCatalogue<readonly string[]>;
  /** How the command uses the file that the value names. */
  file?: FileUse;
  /** Whether values are names of columns or categories, or begin with such names. */
  isName?: boolean;
  meaning: OfCatalogue<string>;
  /** A shorter meaning for the list of essentials and for completion. */
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
