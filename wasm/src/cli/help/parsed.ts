// SPDX-License-Identifier: Apache-2.0

// Parses help texts, for the man page and for shell completion.

/** Entry of a help text: options or names, and their meaning. */
export interface Explained {
  names: string;
  meaning: string;
}

/** Block between two blank lines: text, entries, or preformatted lines. */
export type Block =
  | { kind: 'text'; text: string }
  | { kind: 'entries'; entries: Explained[] }
  | { kind: 'lines'; lines: string[] };

export interface ParsedHelp {
  usage: string[];
  blocks: Block[];
}

const joined = (lines: readonly string[]) => lines.map((line) => line.trim()).join(' ');

/** Entries begin at an indent of two; continuation lines are indented further. */
function entriesOf(lines: readonly string[]): Explained[] {
  const entries: { names: string; meaning: string[] }[] = [];
  for (const line of lines) {
    if (!/^ {2}\S/.test(line)) {
      entries.at(-1)!.meaning.push(line);
      continue;
    }
    const [names, ...meaning] = line.trim().split(/ {2,}/);
    entries.push({ names: names!, meaning });
  }
  return entries.map(({ names, meaning }) => ({ names, meaning: joined(meaning) }));
}

function blockOf(lines: readonly string[]): Block {
  const [first, ...rest] = lines as [string, ...string[]];
  if (first.startsWith('Example')) return { kind: 'lines', lines: [...lines] };
  if (/^ {2}\S/.test(first)) return { kind: 'entries', entries: entriesOf(lines) };
  return { kind: 'text', text: joined([first, ...rest]) };
}

export function parseHelp(help: string): ParsedHelp {
  const [usage, ...blocks] = help
    .trimEnd()
    .split(/\n\n+/)
    .map((block) => block.split('\n'));
  return { usage: usage!, blocks: blocks.map(blockOf) };
}

/** Longest meaning that is used for completion; longer ones are lists. */
const MOST_LETTERS = 80;

/** Returns the first clause of an option's meaning in a help text, if it is short. */
export function meaningOf(help: ParsedHelp, option: string): string | undefined {
  const all = help.blocks.flatMap((block) => (block.kind === 'entries' ? block.entries : []));
  const found = all.find(({ names }) => names.split(/[ ,|[\]]+/).includes(`--${option}`));
  const clause = found && /^.*?(?=[;:(]|\. |\.$|$)/.exec(found.meaning)![0].trim();
  return clause !== undefined && clause.length <= MOST_LETTERS ? clause : undefined;
}
