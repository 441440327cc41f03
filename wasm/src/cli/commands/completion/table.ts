// SPDX-License-Identifier: Apache-2.0

// Data for completion in shells: commands, their options with descriptions, and named values.

import { LOSSES } from '../../../api/learning/loss.js';
import { BUCKETS } from '../../../shared/calendar.js';
import {
  LATTICE_NOISES,
  MEASUREMENTS,
  MODES,
  NEIGHBOURS,
  OBJECTIVES,
} from '../../../shared/defaults.js';
import { TIME_FORMATS } from '../../../shared/time-format.js';
import type { StrategyInfo } from '../../../types/all.js';
import { fullHelp, SUMMARIES, type CommandName } from '../../help/help.js';
import { meaningOf, parseHelp } from '../../help/parsed.js';
import { DELIMITERS } from '../../input/delimiter.js';
import { DECIMALS } from '../../input/format.js';
import { FORMATS } from '../../output/row-text.js';
import { ANYWHERE, type Kind, type Known } from '../../options/args.js';
import { FILE_OPTIONS } from '../../options/roles.js';

export interface CompletedOption {
  name: string;
  kind: Kind;
  meaning: string;
  /** Named values of the option. */
  values: readonly string[];
  /** Whether the value of the option is a file. */
  isFile: boolean;
}

export interface CompletedCommand {
  name: CommandName;
  summary: string;
  options: CompletedOption[];
  /** Words that may follow the command; if empty, files may. */
  words: readonly string[];
}

export const SHELLS = ['bash', 'zsh', 'fish'] as const;

function valuesOf(option: string, catalogue: readonly StrategyInfo[]): readonly string[] {
  const known: Readonly<Record<string, readonly string[]>> = {
    mechanism: catalogue.map(({ name }) => name),
    bucket: BUCKETS,
    'time-format': TIME_FORMATS,
    'time-zone': Intl.supportedValuesOf('timeZone'),
    decimal: DECIMALS,
    delimiter: DELIMITERS,
    format: FORMATS,
    loss: [...LOSSES, 'softmax'],
    measure: MEASUREMENTS,
    mode: MODES,
    'lattice-noise': LATTICE_NOISES,
    neighbours: NEIGHBOURS,
    objective: OBJECTIVES,
  };
  return known[option] ?? [];
}

export function completedCommands(
  commands: Readonly<Record<string, { options: Known }>>,
  catalogue: readonly StrategyInfo[],
): CompletedCommand[] {
  return SUMMARIES.map(({ name, summary }) => {
    const help = parseHelp(fullHelp(name, catalogue));
    const own = Object.entries(commands[name]!.options).map(([option, kind]) => ({
      name: option,
      kind,
      meaning: meaningOf(help, option) ?? option.replaceAll('-', ' '),
      values: valuesOf(option, catalogue),
      isFile: FILE_OPTIONS.includes(option),
    }));
    const general = ANYWHERE.map((option) => ({
      name: option,
      kind: 'flag' as const,
      meaning: `shows the ${option}`,
      values: [],
      isFile: false,
    }));
    const words = name === 'completion' ? SHELLS : [];
    return { name, summary, options: [...own, ...general], words };
  });
}
