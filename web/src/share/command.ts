// SPDX-License-Identifier: Apache-2.0

// Writes the run on the page as a command.

import type { Participation, StrategyParameters, Workload } from 'dp-ftrl';
import { PARAMETER_NAMES } from '../../../wasm/src/shared/parameters.ts';
import type { Roles } from '../data/contributions.ts';
import type { ActiveProgramOptions, RunOptions, SnippetSource, Source } from '../data/source.ts';

/** Quotes a word for a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w.\-/]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Quotes the name of a column for use in a list of names. */
const nameInList = (name: string): string =>
  /[,="]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;

/** Flags of the command whose names differ from those of the options. */
const flags: Readonly<Record<string, string>> = {
  name: 'strategy',
  times: 'participations',
  apart: 'min-separation',
  noiseSeed: 'seed',
  normalizeColumns: 'normalize',
};

const flagOf = (name: string): string =>
  flags[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Flag for an option; none if the option is off. */
function flagText([name, value]: [name: string, value: unknown]): string[] {
  if (value === false) return [];
  return [value === true ? `--${flagOf(name)}` : `--${flagOf(name)} ${quoted(String(value))}`];
}

const flagsOf = (options: object): string[] => Object.entries(options).flatMap(flagText);

/** Flags such as `--epochs 4`, or `--participations 3 --min-separation 7`. */
const participationFlags = (participation: Participation = 'once'): string[] =>
  participation === 'once' ? [] : flagsOf(participation);

/** The workload as text; the page has only windows, decaying sums and momentum. */
const workloadText = (workload: Workload): string => {
  const [name, value] = Object.entries(workload)[0]!;
  return name === 'decay' ? `momentum=0,decay=${value}` : `${name}=${value}`;
};

/** Options that do not apply to a release. */
const unused = ['loss', 'lambda', 'descent', 'table', 'batchSize'];

/** Parameters of strategies that the command takes only from a file saved by `dp-ftrl optimize`. */
const saved = PARAMETER_NAMES.filter((name) => !['bands', 'buffers'].includes(name));

/**
 * Flags for a strategy, and the command that saves the strategy if its parameters require a file.
 */
function strategyFlags(
  { steps, workload, participation }: RunOptions,
  strategy: StrategyParameters,
): { save: string; use: string[] } {
  if (!saved.some((name) => (strategy[name] ?? false) !== false)) {
    return { save: '', use: flagsOf(strategy) };
  }
  const parts = [
    `dp-ftrl optimize --steps ${steps}`,
    ...flagsOf(strategy),
    ...(workload === undefined ? [] : [`--workload ${workloadText(workload)}`]),
    ...participationFlags(participation),
  ];
  return { save: `${parts.join(' ')} --output strategy.json\n`, use: ['--strategy strategy.json'] };
}

/** Flags for the time zone, and for the first and the last time. */
function timeFlags({ timeZone, from, to }: Roles): string[] {
  const flags = timeZone === 'UTC' ? [] : [`--time-zone ${quoted(timeZone)}`];
  if (from !== '') flags.push(`--from ${quoted(from)}`);
  if (to !== '') flags.push(`--to ${quoted(to)}`);
  return flags;
}

/** Flags for the user column and its limits, and for the time column that defines steps. */
function roleFlags(roles: Roles, participation: Participation = 'once'): string[] {
  const { person, ids, time, bucket } = roles;
  const flags =
    time === '' ? [] : [`--time-column ${quoted(time)} --bucket ${bucket}`, ...timeFlags(roles)];
  if (person === '') return flags;
  const { times = 1, apart = 1 } = participation as { times?: number; apart?: number };
  flags.push(`--user-column ${quoted(person)} --max-contributions ${times}`);
  if (ids === 'numbers') flags.push('--user-numbers');
  if (apart > 1) flags.push(`--min-separation ${apart}`);
  return flags;
}

/** Command that writes all releases; null if the command does not support the run. */
export function commandOf({ options, file }: SnippetSource): string | null {
  const { strategy, participation, workload, ...others } = options;
  if (file === null || file.label !== '') return null;
  if (typeof strategy !== 'object' || !('name' in strategy) || 'format' in strategy) return null;
  const { save, use } = strategyFlags(options, strategy);
  const parts = ['dp-ftrl release', ...use];
  for (const option of Object.entries(others)) {
    // The command derives the number of buckets from --to.
    const isCounted = option[0] === 'steps' && file.time !== '' && file.to !== '';
    if (!unused.includes(option[0]) && !isCounted) parts.push(...flagText(option));
  }
  if (file.person === '') parts.push(...participationFlags(participation));
  if (workload !== undefined) parts.push(`--workload ${workloadText(workload)}`);
  parts.push(...roleFlags(file, participation));
  if (file.hasGaps) parts.push('--missing skip');
  for (const column of file.columns) parts.push(`--columns ${quoted(nameInList(column))}`);
  return `${save}${parts.join(' ')} ${quoted(file.name)}\n`;
}

/** Command that writes all counts of active people. */
export function activeCommandOf(
  { windows, insecureSeed, steps: _, ...target }: ActiveProgramOptions,
  file: Source,
): string {
  const { name, person, ids, time } = file;
  const parts = [
    'dp-ftrl active',
    ...flagsOf({ ...target, seed: insecureSeed }),
    `--window ${Object.keys(windows).join()}`,
    `--time-column ${quoted(time)}`,
    ...timeFlags(file),
    `--user-column ${quoted(person)}`,
    ...(ids === 'numbers' ? ['--user-numbers'] : []),
  ];
  return `${parts.join(' ')} ${quoted(name)}\n`;
}
