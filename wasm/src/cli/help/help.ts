// SPDX-License-Identifier: Apache-2.0

// Help in two layers: a short one for a first run, and the full one.

import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DEFAULT_MECHANISM } from '../../shared/defaults.js';
import { EXPLAINED, optionOf, PARAMETER_NAMES } from '../../shared/parameters.js';
import type { ParameterName } from '../../shared/parameters.js';
import type { StrategyInfo } from '../../types/all.js';
import { paragraph } from '../output/table.js';
import { MECHANISMS, PARAMETERS } from './common.js';
import * as histograms from './histograms.js';
import * as learning from './learning.js';
import * as mechanisms from './mechanisms.js';
import * as others from './others.js';
import { SHORT } from './short.js';
import * as statistics from './statistics.js';
import * as sums from './sums.js';

const INDENT = ' '.repeat(19);

const FULL = { ...sums, ...statistics, ...learning, ...histograms, ...mechanisms, ...others };

export type CommandName = Lowercase<keyof typeof FULL>;

/** Returns the lines of one parameter: its option, its meaning, and the mechanisms that take it. */
function parameterText(name: ParameterName, catalogue: readonly StrategyInfo[]): string {
  const { value, meaning } = EXPLAINED[name];
  const option = `  --${optionOf(name)}${value === undefined ? '' : ` ${value}`}`;
  const takers = catalogue.filter(({ parameters }) => parameters.includes(name));
  const whose = takers.length === 0 ? '' : ` (${takers.map((entry) => entry.name).join(', ')})`;
  const clause = `${meaning.charAt(0).toLowerCase()}${meaning.slice(1, -1)}`;
  const text = paragraph(`${clause}${whose}`, INDENT);
  return option.length < INDENT.length - 1
    ? `${option.padEnd(INDENT.length)}${text.trimStart()}`
    : `${option}\n${text}`;
}

/** Full help of a command, with the mechanisms of this version. */
export function fullHelp(name: CommandName, catalogue: readonly StrategyInfo[]): string {
  const names = catalogue.map(({ name: each }) =>
    each === DEFAULT_MECHANISM ? `${each} (default)` : each,
  );
  const parameters = PARAMETER_NAMES.map((each) => parameterText(each, catalogue)).join('');
  const list = paragraph(names.join(', '), INDENT).trim();
  return FULL[name.toUpperCase() as Uppercase<CommandName>]
    .replace(MECHANISMS, `  --mechanism M    ${list}`)
    .replace(PARAMETERS, parameters.trimEnd());
}

/** Whether the words after --help request the full help. */
export function wantsAll(rest: readonly string[]): boolean {
  return rest.includes('all');
}

/** Help of a command, with example files that exist on the reader's machine. */
export function helpOf(
  name: CommandName,
  { isFull, catalogue }: { isFull: boolean; catalogue: readonly StrategyInfo[] },
): string {
  const short = isFull ? undefined : SHORT[name];
  const more = `\ndp-ftrl ${name} --help all   all options, and their effect on the guarantee\n`;
  const text = short === undefined ? fullHelp(name, catalogue) : `${short}${more}`;
  return text.replace(/\bexamples\/\w+\.csv/g, exampleFile);
}

/** Path of an example table of the package, quoted for a shell in the current folder. */
function exampleFile(name: string): string {
  const path = fileURLToPath(new URL(`../${name}`, import.meta.url));
  const near = relative('', path);
  const shown = near.startsWith('..') ? path : near;
  return /^[\w./@+-]+$/.test(shown) ? shown : `"${shown}"`;
}

export const MAIN_HELP = `dp-ftrl: private counts, sums and models of a CSV file. Start with dp-ftrl count --help

  dp-ftrl count      private counts of rows per day (or hour, ...), also by category
  dp-ftrl release    private running totals of columns, row by row or day by day
  dp-ftrl moments    private counts, means and variances of columns, with intervals
  dp-ftrl histogram  private counts and shares of the categories of a column, with intervals
  dp-ftrl learn      a linear model, learned privately
  dp-ftrl predict    predictions of a model for each row of a CSV file
  dp-ftrl queries    many private counts at once: ranges, tables, any linear queries
  dp-ftrl choose     the most frequent value of one or more columns, or a quantile of one
  dp-ftrl error      error of a mechanism at unit noise
  dp-ftrl compare    all mechanisms side by side, best first
  dp-ftrl optimize   the best mechanism for a horizon, saved for --strategy
  dp-ftrl bounds     bounds on the error, proved and published
  dp-ftrl calibrate  noise multiplier for a privacy target
  dp-ftrl page       the interactive page, served on this machine, with a CSV file
  dp-ftrl completion completion of commands, options and names in a shell
  dp-ftrl example    example tables to try the other commands on

  dp-ftrl COMMAND --help      the essentials, with an example; also dp-ftrl help COMMAND
  dp-ftrl COMMAND --help all  all options; -e, -d, -o are --epsilon, --delta, --output
  dp-ftrl --version           also -V, and after COMMAND
  man dp-ftrl                 all of this, if the package was installed with npm install --global

Exit codes: 0 success, 1 failure, 2 misuse. Messages go to standard error.
`;

/** Commands with their summaries, in the order of the main help. */
export const SUMMARIES = Array.from(
  MAIN_HELP.matchAll(/^ {2}dp-ftrl ([a-z]+) +(?![A-Z-])(.*)$/gm),
  ([, name, summary]) => ({ name: name as CommandName, summary: summary! }),
);
