// SPDX-License-Identifier: Apache-2.0

// Data for completion in shells: commands, their options with descriptions, and named values.

import type { StrategyInfo } from '../../../types/all.js';
import { meaningOf } from '../../help/help.js';
import type { Command, Commands } from '../../options/command.js';
import type { Option } from '../../options/option.js';

export interface CompletedOption extends Pick<Option, 'repeats'> {
  name: string;
  isFlag: boolean;
  /** Whether the value of the option is a file. */
  isFile: boolean;
  description: string;
  /** Named values of the option. */
  values: readonly string[];
}

export interface CompletedCommand extends Pick<Command, 'summary'> {
  name: string;
  options: CompletedOption[];
  /** Words that may follow the command; if empty, files may. */
  words: readonly string[];
}

/** Maximum length of a description; a longer clause is a list. */
const MOST_LETTERS = 80;

/**
 * First clause of an option's meaning, or the name in words if the option has named values or the
 * clause is too long.
 */
function descriptionOf(name: string, option: Option, catalogue: readonly StrategyInfo[]): string {
  const text = option.brief ?? meaningOf(option, catalogue);
  const clause = /^.*?(?=[;:(]|\. |$)/.exec(text)![0].trim();
  return option.values || clause.length > MOST_LETTERS ? name.replaceAll('-', ' ') : clause;
}

export function completedCommands(
  commands: Commands,
  catalogue: readonly StrategyInfo[],
): CompletedCommand[] {
  return Object.entries(commands).map(([command, { summary, options, names = [] }]) => ({
    name: command,
    summary,
    options: Object.entries(options).map(([name, option]) => {
      const { value, file, repeats = false, values = [] } = option;
      return {
        name,
        isFlag: value === undefined,
        isFile: file !== undefined,
        repeats,
        description: descriptionOf(name, option, catalogue),
        values: typeof values === 'function' ? values(catalogue) : values,
      };
    }),
    words: names,
  }));
}
