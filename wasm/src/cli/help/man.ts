// SPDX-License-Identifier: Apache-2.0

// Generates the man page from the help texts when the package is built.

import type { StrategyInfo } from '../../types/all.js';
import { fullHelp, MAIN_HELP, SUMMARIES } from './help.js';
import { parseHelp, type Block } from './parsed.js';

/** Escapes a text so that no formatter interprets it as a request. */
function plain(text: string): string {
  const escaped = text.replaceAll('\\', '\\e').replaceAll('-', '\\-');
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

const asIs = (lines: readonly string[]) => ['.nf', ...lines.map(plain), '.fi'];

function blockText(block: Block): string[] {
  if (block.kind === 'text') return ['.PP', plain(block.text)];
  if (block.kind === 'lines') return ['.PP', ...asIs(block.lines)];
  return block.entries.flatMap(({ names, meaning }) => [
    '.TP',
    `.B ${plain(names)}`,
    plain(meaning),
  ]);
}

function commandText(help: string): string[] {
  const { usage, blocks } = parseHelp(help);
  return [...asIs(usage), ...blocks.flatMap(blockText)];
}

export function manPage(version: string, catalogue: readonly StrategyInfo[]): string {
  const [name, ...main] = MAIN_HELP.trimEnd().split('\n');
  const commands = SUMMARIES.flatMap(({ name: command }) => [
    `.SS ${command}`,
    ...commandText(fullHelp(command, catalogue)),
  ]);
  const lines = [
    '.\\" SPDX-License-Identifier: Apache-2.0',
    `.TH DP\\-FTRL 1 "" "dp\\-ftrl ${version}"`,
    '.SH NAME',
    plain(name!.replace(': ', ' - ')),
    '.SH SYNOPSIS',
    '.B dp\\-ftrl',
    plain('COMMAND [options] [FILE.csv]'),
    '.SH DESCRIPTION',
    ...asIs(main.slice(1)),
    '.SH COMMANDS',
    ...commands,
  ];
  return `${lines.join('\n')}\n`;
}
