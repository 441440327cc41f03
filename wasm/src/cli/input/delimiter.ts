// SPDX-License-Identifier: Apache-2.0

// Determines the separator of a table's cells from --delimiter, or else from its header.

import { SEPARATORS, seenSeparators, type Separator } from '../../shared/csv.js';
import { listed } from '../../shared/listed.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';

const NAMES: Readonly<Record<Separator, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

const DELIMITERS = Object.values(NAMES);

export const DELIMITER_OPTIONS = under('Rows', {
  delimiter: {
    value: 'D',
    values: DELIMITERS,
    meaning:
      `separator of CSV cells: ${listed(DELIMITERS, 'or')} (or the character itself). Default: ` +
      'the most frequent one in the header',
  },
});

/** Accepted spellings of each separator. */
const SPELLINGS: Readonly<Record<string, Separator>> = {
  ...Object.fromEntries(SEPARATORS.map((separator) => [NAMES[separator], separator])),
  ...Object.fromEntries(SEPARATORS.map((separator) => [separator, separator])),
  '\\t': '\t',
};

/** The separator of one table, either given in advance or detected in the header. */
export class Delimiter {
  private constructor(
    private known: Separator | undefined,
    private readonly announce: (text: string) => void,
  ) {}

  static read(args: Args, announce: (text: string) => void): Delimiter {
    const given = args.text('delimiter');
    if (given !== undefined && !Object.hasOwn(SPELLINGS, given)) {
      const got = JSON.stringify(given);
      throw new Misuse(`--delimiter must be one of ${DELIMITERS.join(', ')}, got ${got}`);
    }
    return new Delimiter(given === undefined ? undefined : SPELLINGS[given], announce);
  }

  /**
   * Separator of a text; undefined if the text ends before the header does.
   *
   * @throws Misuse for a header in which two separators occur equally often.
   */
  of(text: string, isWhole: boolean): Separator | undefined {
    if (this.known !== undefined) return this.known;
    const { most, rival, isComplete } = seenSeparators(text);
    if (!isComplete && !isWhole) return undefined;
    if (rival !== undefined) {
      const either = `a ${NAMES[most]} or a ${NAMES[rival]}`;
      const what = `the header does not tell whether ${either} separates its cells`;
      const hint = `give --delimiter ${NAMES[most]} or --delimiter ${NAMES[rival]}`;
      throw new Misuse(`${what}: ${hint}`, { code: 'ambiguous_delimiter', line: 1 });
    }
    this.known = most;
    if (most !== ',')
      this.announce(`has cells separated by ${NAMES[most]}s (--delimiter ${NAMES[most]})`);
    return most;
  }
}
