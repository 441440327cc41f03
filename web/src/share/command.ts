// SPDX-License-Identifier: Apache-2.0

// Writes the run on the page as a command.

import type { Participation, Workload } from 'dp-ftrl';
import { PARAMETER_NAMES } from '../../../wasm/src/shared/parameters.ts';
import type { Roles } from '../data/contributions.ts';
import type { SnippetSource } from '../data/source.ts';

/** Returns a word quoted for a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w.\-/]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Returns the name of a column as a list of names has it. */
const nameInList = (name: string): string =>
  /[,="]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name;

/** Flags of the command whose names differ from the options. */
const flags: Readonly<Record<string, string>> = {
  numSteps: 'steps',
  clipNorm: 'clip',
  mechanismLambda: 'lambda',
  noiseSeed: 'seed',
  normalizeColumns: 'normalize',
};

const flagOf = (name: string): string =>
  flags[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns a participation pattern as flags of the command: `--epochs 4`, or its two counts. */
const participationFlags = (participation: Participation): string[] =>
  Object.entries(participation).map(([name, value]) => `--${flagOf(name)} ${value}`);

/**
 * Returns a workload as the command's flag has it; the page has only windows, decaying sums and
 * momentum.
 */
const workloadText = (workload: Workload): string => {
  const [name, value] = Object.entries(workload)[0]!;
  return name === 'decay' ? `momentum=0,decay=${value}` : `${name}=${value}`;
};

/** Options that do not apply to a release. */
const unused = ['loss', 'lambda', 'descent', 'table', 'batchSize'];

/** Parameters of mechanisms that the command takes from a file of `dp-ftrl optimize`. */
const saved: readonly string[] = [
  ...PARAMETER_NAMES.filter((name) => !['bands', 'buffers', 'lambda'].includes(name)),
  'mechanismLambda',
];
/** Options that such a file has. */
const inStrategy = [...saved, 'mechanism', 'bands', 'buffers'];

/** Returns an option as a flag of the command; undefined if it is off. */
function flagText(name: string, value: unknown): string | undefined {
  if (value === false) return undefined;
  return value === true ? `--${flagOf(name)}` : `--${flagOf(name)} ${quoted(String(value))}`;
}

/** Returns the command that saves a mechanism with its parameters, and what names its file. */
function saving(options: SnippetSource['options']) {
  const { numSteps, workload, participation } = options;
  const flagsOf = (names: readonly string[]) =>
    Object.entries(options).flatMap(([name, value]) =>
      names.includes(name) ? (flagText(name, value) ?? []) : [],
    );
  if (flagsOf(saved).length === 0) return undefined;
  const flags = flagsOf(inStrategy);
  const problem = [
    ...(workload === undefined ? [] : [`--workload ${workloadText(workload)}`]),
    ...(typeof participation === 'object' ? participationFlags(participation) : []),
  ];
  const parts = [`dp-ftrl optimize --steps ${numSteps}`, ...flags, ...problem];
  return { save: `${parts.join(' ')} --output strategy.json\n`, use: '--strategy strategy.json' };
}

/**
 * Returns the flags for the user column and its limits, and for the time column that defines steps.
 */
function roleFlags(
  { person, ids, time, bucket, timeZone, from, to }: Roles,
  participation?: Participation,
): string[] {
  const flags = time === '' ? [] : [`--time-column ${quoted(time)} --bucket ${bucket}`];
  if (time !== '' && timeZone !== 'UTC') flags.push(`--time-zone ${quoted(timeZone)}`);
  if (time !== '' && from !== '') flags.push(`--from ${quoted(from)}`);
  if (time !== '' && to !== '') flags.push(`--to ${quoted(to)}`);
  if (person === '') return flags;
  const { participations = 1, minSeparation = 1 } =
    typeof participation === 'object' && 'participations' in participation ? participation : {};
  flags.push(`--user-column ${quoted(person)} --max-contributions ${participations}`);
  if (ids === 'numbers') flags.push('--user-numbers');
  if (minSeparation > 1) flags.push(`--min-separation ${minSeparation}`);
  return flags;
}

/** Returns a command that writes all releases; null if the command does not support the run. */
export function commandOf({ options, file }: SnippetSource): string | null {
  if (file === null || file.label !== '' || typeof options.mechanism === 'object') return null;
  const strategy = saving(options);
  const parts = ['dp-ftrl release'];
  const others = strategy ? inStrategy : [];
  for (const [name, value] of Object.entries(options)) {
    // The command derives the number of buckets from --to.
    const isCounted = name === 'numSteps' && file.time !== '' && file.to !== '';
    if (unused.includes(name) || others.includes(name) || isCounted) continue;
    if (name === 'participation') {
      if (file.person === '') parts.push(...participationFlags(value as Participation));
      continue;
    }
    if (name === 'workload') {
      parts.push(`--workload ${workloadText(value as Workload)}`);
      continue;
    }
    const flag = flagText(name, value);
    if (flag !== undefined) parts.push(flag);
  }
  if (strategy) parts.push(strategy.use);
  parts.push(...roleFlags(file, options.participation));
  if (file.hasGaps) parts.push('--missing skip');
  for (const column of file.columns) parts.push(`--columns ${quoted(nameInList(column))}`);
  return `${strategy?.save ?? ''}${parts.join(' ')} ${quoted(file.name)}\n`;
}
