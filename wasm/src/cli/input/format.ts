// SPDX-License-Identifier: Apache-2.0

// --format: CSV or JSON lines. The extension of a file name decides; --format applies to names with
// another extension or none.

import { beyondText } from '../../shared/number.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';
import { say } from '../output/notices.js';
import { FORMATS, type Format } from '../output/row-text.js';
import { Delimiter, DELIMITER_OPTIONS } from './delimiter.js';

/** Decimal separators of numbers in CSV. */
export const DECIMALS = ['point', 'comma'] as const;
export type DecimalMark = (typeof DECIMALS)[number];

export const FORMAT_OPTIONS = {
  ...under('Rows', {
    format: {
      value: 'F',
      values: FORMATS,
      meaning:
        'csv (default) or jsonl: format of input and output, unless a file name ends in .csv, ' +
        '.tsv, .jsonl or .ndjson. JSON lines have an object per line; the keys of the first ' +
        'name the columns, and a missing key or null is an empty cell',
    },
  }),
  ...DELIMITER_OPTIONS,
};

/** Options of commands that read numbers. */
export const DECIMAL_OPTIONS = under('Rows', {
  decimal: {
    value: 'D',
    values: DECIMALS,
    meaning:
      'decimal separator in CSV: point (default) or comma (13,8). With comma, cells with a point ' +
      'are refused, as it may separate thousands. Units such as € and separators of thousands ' +
      'must be taken out first',
  },
});

/**
 * Rewrites a number with a decimal point; undefined for a number with a point if commas are
 * decimal.
 */
export function withPoint(text: string, decimal: DecimalMark): string | undefined {
  if (decimal === 'point') return text;
  return text.includes('.') ? undefined : text.replace(',', '.');
}

/** Explains why a text is not a number, if only its notation is at fault. */
export function notationFault(text: string, decimal: DecimalMark): string | undefined {
  const beyond = beyondText(withPoint(text, decimal) ?? text);
  if (beyond !== undefined) return beyond;
  const isPointed = decimal === 'comma' && text.includes('.');
  return isPointed ? 'is not a number: it has a point, despite --decimal comma' : undefined;
}

/** Format of a table, with the settings for reading it. */
export type TableFormat = (
  | { kind: 'csv'; delimiter: Delimiter; decimal: DecimalMark; ifJson: string }
  | { kind: 'jsonl'; decimal?: never }
) & {
  /** Prints, once, what was detected in the table. */
  announce(text: string): void;
};

const ENDINGS: readonly [RegExp, Format][] = [
  [/\.(jsonl|ndjson)$/i, 'jsonl'],
  [/\.(csv|tsv)$/i, 'csv'],
];

/** File extensions of unsupported formats. */
const OTHERS = /\.(html?|svg|png|jpe?g|gif|pdf|xlsx?|ods|parquet|zip|gz)$/i;

/** The format implied by the extension of a file name. */
export function formatOfName(path: string | undefined): Format | undefined {
  return ENDINGS.find(([ending]) => path !== undefined && ending.test(path))?.[1];
}

function givenFormat(args: Args, path: string | undefined): Format {
  const given = args.oneOf('format', FORMATS);
  return formatOfName(path) ?? given;
}

/**
 * Advice for a table that was read as CSV but is JSON; its extension may have decided the format.
 */
function ifJson(path: string | undefined): string {
  return formatOfName(path) === undefined
    ? 'give --format jsonl'
    : 'rename it to .jsonl, as the ending of its name decides';
}

/** Creates a function that prints notices about a table, each notice only once. */
function announcer(command: string, args: Args, table: string): (text: string) => void {
  const before = new Set<string>();
  return (text) => {
    if (!args.has('quiet') && !before.has(text)) say(command, `${table} ${text}`);
    before.add(text);
  };
}

export function inputFormat(command: string, args: Args): TableFormat {
  const kind = givenFormat(args, args.files[0]);
  const decimal = args.oneOf('decimal', DECIMALS);
  const announce = announcer(command, args, 'the input');
  if (kind === 'csv') {
    const delimiter = Delimiter.read(args, announce);
    return { kind, delimiter, decimal, ifJson: ifJson(args.files[0]), announce };
  }
  const stray = ['delimiter', 'decimal'].find((name) => args.has(name));
  if (stray !== undefined) throw new Misuse(`--${stray} is for CSV, and the input is JSON lines`);
  return { kind, announce };
}

/** Format of a table that an option names besides the input. */
export function formatOf(command: string, args: Args, option: string): TableFormat {
  const path = args.text(option)!;
  const kind = givenFormat(args, path);
  const announce = announcer(command, args, `--${option} ${path}`);
  if (kind === 'jsonl') return { kind, announce };
  const delimiter = Delimiter.read(args, announce);
  const decimal = args.oneOf('decimal', DECIMALS);
  return { kind, delimiter, decimal, ifJson: ifJson(path), announce };
}

export function outputFormat(args: Args): Format {
  const path = args.text('output');
  const ending = OTHERS.exec(path ?? '')?.[0];
  if (ending !== undefined) {
    const hint = 'commands that draw have --plot FILE.svg or FILE.html';
    throw new Misuse(
      `--output ${path}: rows are written as CSV or JSON, not as ${ending}; ${hint}`,
    );
  }
  return givenFormat(args, path);
}
