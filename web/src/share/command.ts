// SPDX-License-Identifier: Apache-2.0

// The run on the page as a command.

import type { Participation, Workload } from 'dp-ftrl';
import type { Roles } from '../data/contributions.ts';
import type { SnippetSource } from './source.ts';

/** One word of a POSIX shell. */
const quoted = (text: string): string =>
  /^[\w.\-/]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** Flags of the command whose names are not those of the options. */
const flags: Readonly<Record<string, string>> = {
  numSteps: 'steps',
  clipNorm: 'clip',
  mechanismLambda: 'lambda',
  noiseSeed: 'seed',
};

const flagOf = (name: string): string =>
  flags[name] ?? name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** A pattern of participation as the command has it: `--epochs 4`, or its two counts. */
const participationFlags = (participation: Participation): string[] =>
  Object.entries(participation).map(([name, value]) => `--${flagOf(name)} ${value}`);

/** Windows, decaying sums and momentum as the command has them; the page has no others. */
const workloadText = (workload: Workload): string => {
  const [name, value] = Object.entries(workload)[0]!;
  return name === 'decay' ? `momentum=0,decay=${value}` : `${name}=${value}`;
};

/** Options that mean nothing to a release. */
const unused = ['loss', 'lambda', 'descent', 'table', 'batchSize'];

/** Whose rows they are, of which so many count, and the time that makes steps of them. */
function roleFlags(
  { person, time, bucket, from, to }: Roles,
  participation?: Participation,
): string[] {
  const flags = time === '' ? [] : [`--time-column ${quoted(time)} --bucket ${bucket}`];
  if (time !== '' && from !== '') flags.push(`--from ${quoted(from)}`);
  if (time !== '' && to !== '') flags.push(`--to ${quoted(to)}`);
  if (person === '') return flags;
  const { participations = 1, minSeparation = 1 } =
    typeof participation === 'object' && 'participations' in participation ? participation : {};
  flags.push(`--user-column ${quoted(person)} --max-contributions ${participations}`);
  if (minSeparation > 1) flags.push(`--min-separation ${minSeparation}`);
  return flags;
}

/** A command that writes all releases; null where the command cannot do it. */
export function commandOf({ options, file }: SnippetSource): string | null {
  if (file === null || file.label !== '' || typeof options.mechanism === 'object') return null;
  const parts = ['dp-ftrl release'];
  for (const [name, value] of Object.entries(options)) {
    // The command counts the buckets up to --to by itself.
    const isCounted = name === 'numSteps' && file.time !== '' && file.to !== '';
    if (unused.includes(name) || isCounted) continue;
    if (name === 'participation') {
      if (file.person === '') parts.push(...participationFlags(value as Participation));
      continue;
    }
    if (name === 'workload') {
      parts.push(`--workload ${workloadText(value as Workload)}`);
      continue;
    }
    const flag = `--${flagOf(name)}`;
    if (value === true) parts.push(flag);
    else if (value !== false) parts.push(`${flag} ${quoted(String(value))}`);
  }
  parts.push(...roleFlags(file, options.participation));
  for (const column of file.columns) parts.push(`--column ${quoted(column)}`);
  return `${parts.join(' ')} ${quoted(file.name)}\n`;
}
