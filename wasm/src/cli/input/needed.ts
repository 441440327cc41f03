// SPDX-License-Identifier: Apache-2.0

// Everything that a command cannot do without, asked for at once.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { CsvParser, seenSeparators } from '../../shared/csv.js';
import { listed, Misuse } from '../failure.js';
import type { Args } from '../options/args.js';
import { formatOfName } from './format.js';
import { namesText } from './header.js';

/** A text for each of some options: a value such as they have, or a clause. */
type Needed = Readonly<Record<string, string>>;

/** Bytes in which the header of a file is looked for. */
const PIECE = 4096;

function beginningOf(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const bytes = new Uint8Array(PIECE);
    return bytes.subarray(0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** The first row of a CSV file, where it is soon found. */
function headerOf(path: string): readonly string[] | undefined {
  try {
    if (!statSync(path).isFile()) return undefined;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(beginningOf(path), { stream: true });
    const { most, rival } = seenSeparators(text);
    return rival === undefined ? new CsvParser({ separator: most }).push(text)[0]?.cells : undefined;
  } catch {
    return undefined; // It says itself what is wrong as soon as it is read.
  }
}

/** A clause that names the columns of the only file. */
function columnsText([path, ...others]: readonly string[]): string {
  if (path === undefined || others.length > 0 || formatOfName(path) === 'jsonl') return '';
  const names = namesText(headerOf(path)?.map((cell) => cell.trim()) ?? []);
  return names === undefined ? '' : `; columns of ${path} are ${names}`;
}

/**
 * @param about  a clause on some of the options, for those who do not give them.
 * @throws Misuse that names all options that are missing, with something to add.
 */
export function requireAll(args: Args, needed: Needed, about: Needed = {}): void {
  const missing = Object.keys(needed).filter((name) => !args.has(name));
  const [first, ...rest] = missing;
  if (first === undefined) return;
  const options = rest.map((name) => `--${name}`);
  const also = options.length === 0 ? '' : `, and so ${options.length === 1 ? 'is' : 'are'} ${listed(options, 'and')}`;
  const line = missing.map((name) => `--${name} ${needed[name]}`).join(' ');
  const columns = line.includes('NAME') ? columnsText(args.files) : '';
  const clauses = missing.flatMap((name) => (about[name] === undefined ? [] : [`; ${about[name]}`]));
  throw new Misuse(`--${first} is required${also}: add ${line}${columns}${clauses.join('')}`);
}
