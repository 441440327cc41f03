// SPDX-License-Identifier: Apache-2.0

// The man page, generated from the declarations of the commands.

import type { StrategyInfo } from '../../types/all.js';
import type { Command, Commands } from '../options/command.js';
import { callLines, groupsOf, mainHelp, meaningOf, termOf, TITLE } from './help.js';

const WIDTH = 76;

/** Escapes a text for roff: ASCII only, and without requests. */
function plain(text: string): string {
  const code = (letter: string) =>
    letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0');
  const escaped = text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replaceAll(/[^\0-\x7f]/gu, (letter) => `\\[u${code(letter)}]`);
  return /^[.']/.test(escaped) ? `\\&${escaped}` : escaped;
}

const asIs = (lines: readonly string[]) => ['.nf', ...lines.map(plain), '.fi'];

function commandText(name: string, command: Command, catalogue: readonly StrategyInfo[]): string[] {
  const { usage, about, details = [], options, examples } = command;
  return [
    `.SS ${name}`,
    `.B ${plain(`dp-ftrl ${name}`)}`,
    plain(usage),
    ...[about, ...details].flatMap((text) => ['.PP', plain(text)]),
    ...groupsOf(options).flatMap(([heading, own]) => [
      '.PP',
      plain(`${heading}:`),
      ...own.flatMap(([option, declared]) => [
        '.TP',
        `.B ${plain(termOf(option, declared))}`,
        plain(meaningOf(declared, catalogue)),
      ]),
    ]),
    '.PP',
    ...asIs(['Examples:', ...examples.flatMap((call) => callLines(call, WIDTH))]),
  ];
}

export function manPage(
  version: string,
  { commands, catalogue }: { commands: Commands; catalogue: readonly StrategyInfo[] },
): string {
  const lines = [
    '.\\" SPDX-License-Identifier: Apache-2.0',
    `.TH DP\\-FTRL 1 "" "dp\\-ftrl ${version}"`,
    '.SH NAME',
    plain(TITLE.replace(': ', ' - ')),
    '.SH SYNOPSIS',
    '.B dp\\-ftrl',
    plain('COMMAND [options] [FILE.csv]'),
    '.SH DESCRIPTION',
    ...asIs(mainHelp(commands, WIDTH).trimEnd().split('\n').slice(2)),
    '.SH COMMANDS',
    ...Object.entries(commands).flatMap(([name, command]) => commandText(name, command, catalogue)),
  ];
  return `${lines.join('\n')}\n`;
}
