// SPDX-License-Identifier: Apache-2.0

// Reports all missing required options of a command at once.

import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { CsvParser, seenSeparators } from '../../shared/csv.js';
import { listed } from '../../shared/listed.js';
import { nameOf } from '../../shared/name.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { formatOfName } from './format.js';
import { namesText } from './header.js';

/** Options by name, each with an example value or an explanatory clause. */
type NeededOptions = Readonly<Record<string, string>>;

/** Bytes searched for the header of a file. */
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

/** The first row of a CSV file, if it ends within the first bytes. */
function headerOf(path: string): readonly string[] | undefined {
  try {
    if (!statSync(path).isFile()) return undefined;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(beginningOf(path), {
      stream: true,
    });
    const { most, rival } = seenSeparators(text);
    return rival === undefined
      ? new CsvParser({ separator: most }).push(text)[0]?.cells
      : undefined;
  } catch {
    return undefined; // Reading the file later reports the error.
  }
}

/** Clause that lists the columns if there is exactly one file. */
function columnsText([path, ...others]: readonly string[]): string {
  if (path === undefined || others.length > 0 || formatOfName(path) === 'jsonl') return '';
  const names = namesText(headerOf(path)?.map(nameOf) ?? []);
  return names === undefined ? '' : `; columns of ${path} are ${names}`;
}

/**
 * @param about  clauses that explain some of the options if they are missing.
 * @throws Misuse that names all missing options and suggests what to add.
 */
export function requireAll(args: Args, needed: NeededOptions, about: NeededOptions = {}): void {
  const missing = Object.keys(needed).filter((name) => !args.has(name));
  const [first, ...rest] = missing;
  if (first === undefined) return;
  const options = rest.map((name) => `--${name}`);
  const also =
    options.length === 0
      ? ''
      : `, and so ${options.length === 1 ? 'is' : 'are'} ${listed(options, 'and')}`;
  const line = missing.map((name) => `--${name} ${needed[name]}`).join(' ');
  const columns = line.includes('NAME') ? columnsText(args.files) : '';
  const clauses = missing.flatMap((name) =>
    about[name] === undefined ? [] : [`; ${about[name]}`],
  );
  throw new Misuse(`--${first} is required${also}: add ${line}${columns}${clauses.join('')}`);
}
