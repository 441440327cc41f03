// SPDX-License-Identifier: Apache-2.0

// Helps taken apart, for the man page and for completion in shells.

/** One entry of a help: options or names, and what they mean. */
export interface Explained {
  names: string;
  meaning: string;
}

/** Something between two blank lines: text, entries, or lines that stay as they are. */
export type Block =
  | { kind: 'text'; text: string }
  | { kind: 'entries'; entries: Explained[] }
  | { kind: 'lines'; lines: string[] };

export interface ParsedHelp {
  usage: string[];
  blocks: Block[];
}

const joined = (lines: readonly string[]) => lines.map((line) => line.trim()).join(' ');

/** Entries begin at an indent of two; what goes on stands further right. */
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
  const [usage, ...blocks] = help.trimEnd().split(/\n\n+/).map((block) => block.split('\n'));
  return { usage: usage!, blocks: blocks.map(blockOf) };
}

/** Longer ones are lists. */
const MOST_LETTERS = 80;

/** Returns what a help says of an option, up to the end of a clause, if it says something short. */
export function meaningOf(help: ParsedHelp, option: string): string | undefined {
  const all = help.blocks.flatMap((block) => (block.kind === 'entries' ? block.entries : []));
  const found = all.find(({ names }) => names.split(/[ ,|[\]]+/).includes(`--${option}`));
  const clause = found && /^.*?(?=[;:(]|\. |\.$|$)/.exec(found.meaning)![0].trim();
  return clause !== undefined && clause.length <= MOST_LETTERS ? clause : undefined;
}
