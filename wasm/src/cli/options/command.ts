// SPDX-License-Identifier: Apache-2.0

// The declaration of a command, which stands beside the code that runs it.

import type { Args } from './args.js';
import type { Options } from './option.js';

export interface Command {
  /** Purpose of the command, in the list of all commands. */
  summary: string;
  /** Options and files after the command's name in a call. */
  usage: string;
  /** One paragraph. */
  about: string;
  /** More paragraphs, shown with all options. */
  details?: readonly string[];
  options: Options;
  /** Options that a first run needs; if absent, all options are shown. */
  essentials?: readonly string[];
  /** Calls that run as they stand; the first call is shown with the essentials. */
  examples: readonly string[];
  /** Names that may follow the command instead of files. */
  names?: readonly string[];
  /** @param commands  all commands, by name. */
  run(args: Args, commands: Commands): Promise<void>;
}

export type Commands = Readonly<Record<string, Command>>;
