// SPDX-License-Identifier: Apache-2.0

// Help, generated from the declaration of a command: what a first run needs, or all options.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StrategyInfo } from '../../types/all.js';
import type { Command, Commands } from '../options/command.js';
import type { Option, Options } from '../options/option.js';
import { paragraph, wrapWords } from '../output/table.js';

/** Column at which meanings begin. */
const COLUMN = 20;
/** Width if the output is not a terminal. */
const USUAL_WIDTH = 80;
const [LEAST_WIDTH, MOST_WIDTH] = [60, 100];

/** Width to which text is wrapped for an output stream. */
export function widthFor({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  if (!isTTY || !columns) return USUAL_WIDTH;
  return Math.min(Math.max(columns, LEAST_WIDTH), MOST_WIDTH);
}

/** A term and its meaning; the meaning begins on the same line if the term is short. */
function entry(term: string, meaning: string, { width, column }: Record<string, number>): string {
  const text = paragraph(meaning, ' '.repeat(column!), width!);
  const head = `  ${term}`;
  return head.length + 2 <= column! ? head.padEnd(column!) + text.trimStart() : `${head}\n${text}`;
}

/** An option, followed by the placeholder for its value. */
export function termOf(name: string, { value }: Option): string {
  return `--${name}${value === undefined ? '' : ` ${value}`}`;
}

export function meaningOf({ meaning }: Option, catalogue: readonly StrategyInfo[]): string {
  return typeof meaning === 'string' ? meaning : meaning(catalogue);
}

/** Options by heading, in order of first occurrence. */
export function groupsOf(options: Options): [heading: string, options: [string, Option][]][] {
  const headings = new Set(Object.values(options).map(({ heading }) => heading));
  const all = Object.entries(options);
  return [...headings].map((each) => [each, all.filter(([, { heading }]) => heading === each)]);
}

/**
 * Path of an example table of the package, relative to the current folder if it lies within, and
 * quoted for a shell.
 */
function exampleFile(name: string): string {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const near = relative('', path);
  const shown = near.startsWith('..') ? path : near;
  return /^[\w./@+-]+$/.test(shown) ? shown : `"${shown}"`;
}

/** Breaks a call into lines joined by backslashes. */
export function callLines(call: string, width: number): string[] {
  // Keeps an option on one line with its value.
  const words = call.match(/--?\S+ [^-|&>"\s]\S*|\S+/g)!;
  const lines = [' '];
  for (const word of words) {
    const last = lines.at(-1)!;
    if (last.length + ` ${word} \\`.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`      ${word}`);
  }
  return lines.map((line, i) => (i < lines.length - 1 ? `${line} \\` : line));
}

/** Example calls, with the paths of the example files on this machine. */
function examplesText(examples: readonly string[], width: number): string {
  const calls = examples.map((call) => call.replace(/\bexamples\/\w+\.csv/g, exampleFile));
  const lines = calls.flatMap((call) => callLines(call, width));
  return `Example${examples.length > 1 ? 's' : ''}:\n${lines.join('\n')}\n`;
}

function usageText(name: string, usage: string, width: number): string {
  const [first, ...rest] = wrapWords(`dp-ftrl ${name} ${usage}`, width);
  const more = rest.length === 0 ? '' : paragraph(rest.join(' '), ' '.repeat(8), width);
  return `${first}\n${more}`;
}

/** Help for a command: what a first run needs, or everything. */
export function helpOf(
  name: string,
  command: Command,
  { width, catalogue }: { width: number; catalogue?: readonly StrategyInfo[] },
): string {
  const { usage, about, details = [], options, essentials, examples } = command;
  const layout = { width, column: COLUMN };
  const head = [usageText(name, usage, width), paragraph(about, '', width)];
  if (catalogue || !essentials) {
    const texts = groupsOf(options).map(([heading, own]) => {
      const entries = own.map(([option, declared]) =>
        entry(termOf(option, declared), meaningOf(declared, catalogue ?? []), layout),
      );
      return `${heading}:\n${entries.join('')}`;
    });
    const paragraphs = details.map((text) => paragraph(text, '', width));
    return [...head, ...paragraphs, ...texts, examplesText(examples, width)].join('\n');
  }
  const entries = essentials.map((option) => {
    const declared = options[option]!;
    return entry(
      termOf(option, declared),
      declared.brief ?? meaningOf(declared, catalogue ?? []),
      layout,
    );
  });
  const number = Object.keys(options).length;
  const more = `dp-ftrl ${name} --help all   all ${number} options\n`;
  return [...head, entries.join(''), examplesText(examples.slice(0, 1), width), more].join('\n');
}

export const TITLE = 'dp-ftrl: private counts, sums and models of a CSV file';

/** The list of commands, and where to find more help. */
export function mainHelp(commands: Commands, width: number): string {
  const list = Object.entries(commands).map(([name, { summary }]) =>
    entry(`dp-ftrl ${name}`, summary, { width, column: 22 }),
  );
  const more = [
    ['dp-ftrl COMMAND --help', 'what a first run needs; also dp-ftrl help COMMAND'],
    ['dp-ftrl COMMAND --help all', 'all options'],
    ['dp-ftrl --version', 'also -V, and after COMMAND'],
    ['man dp-ftrl', 'the manual, after npm install --global'],
  ].map(([term, meaning]) => entry(term!, meaning!, { width, column: 30 }));
  return [
    `${TITLE}\n`,
    list.join(''),
    more.join(''),
    paragraph(
      'Start with dp-ftrl count --help. -e, -d, -o are --epsilon, --delta, --output. Exit codes: 0 ' +
        'success, 1 failure, 2 misuse. Messages go to standard error.',
      '',
      width,
    ),
  ].join('\n');
}
