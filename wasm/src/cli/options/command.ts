// SPDX-License-Identifier: Apache-2.0

// A command as it is declared, beside the code that runs it.

import type { Args } from './args.js';
import type { Options } from './option.js';

export interface Command {
  /** Its purpose, in the list of all commands. */
  summary: string;
  /** Options and files that follow its name in a call. */
  usage: string;
  /** One paragraph. */
  about: string;
  /** More paragraphs, for those who read about all options. */
  details?: readonly string[];
  options: Options;
  /** Options that a first run needs; if there are none, all options are shown. */
  essentials?: readonly string[];
  /** Calls that run as they are; the first is shown with the essentials. */
  examples: readonly string[];
  /** Names that follow the command, if files do not. */
  names?: readonly string[];
  /** @param commands  all commands, by name. */
  run(args: Args, commands: Commands): Promise<void>;
}

export type Commands = Readonly<Record<string, Command>>;
