// SPDX-License-Identifier: Apache-2.0

// --format: CSV or JSON lines. A name of a file says what is in it, and --format where none does.

import { Misuse } from '../failure.js';
import type { Args, Known } from '../options/args.js';
import { Delimiter, DELIMITER_OPTIONS } from './delimiter.js';

export const FORMATS = ['csv', 'jsonl'] as const;
/** Kind of a table. */
export type Format = (typeof FORMATS)[number];

export const FORMAT_OPTIONS: Known = { format: 'value', ...DELIMITER_OPTIONS };

/** How a table is read. */
export type TableFormat = { kind: 'csv'; delimiter: Delimiter } | { kind: 'jsonl' };

const ENDINGS: readonly [RegExp, Format][] = [
  [/\.(jsonl|ndjson)$/i, 'jsonl'],
  [/\.(csv|tsv)$/i, 'csv'],
];

/** Names of files that are neither. */
const OTHERS = /\.(html?|svg|png|jpe?g|gif|pdf|xlsx?|ods|parquet|zip|gz)$/i;

/** The format that the name of a file says. */
export function formatOfName(path: string | undefined): Format | undefined {
  return ENDINGS.find(([ending]) => path !== undefined && ending.test(path))?.[1];
}

function givenFormat(args: Args, path: string | undefined): Format {
  const given = args.oneOf('format', FORMATS);
  return formatOfName(path) ?? given;
}

export function inputFormat(command: string, args: Args): TableFormat {
  const kind = givenFormat(args, args.files[0]);
  if (kind === 'csv') return { kind, delimiter: Delimiter.read(command, args) };
  if (args.has('delimiter')) throw new Misuse('--delimiter is for CSV, and the input is JSON lines');
  return { kind };
}

/** Format of a table beside the input. */
export function formatOf(command: string, args: Args, option: string): TableFormat {
  const path = args.text(option)!;
  const kind = givenFormat(args, path);
  const named = `--${option} ${path}`;
  return kind === 'csv' ? { kind, delimiter: Delimiter.read(command, args, named) } : { kind };
}

/** Format of the rows that are written. */
export function outputFormat(args: Args): Format {
  const path = args.text('output');
  const ending = OTHERS.exec(path ?? '')?.[0];
  if (ending !== undefined) {
    const hint = 'commands that draw have --plot FILE.svg or FILE.html';
    throw new Misuse(`--output ${path}: rows are written as CSV or JSON, not as ${ending}; ${hint}`);
  }
  return givenFormat(args, path);
}
