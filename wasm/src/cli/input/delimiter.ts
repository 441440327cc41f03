// SPDX-License-Identifier: Apache-2.0

// Says what separates the cells of a table: --delimiter, or else its header.

import { SEPARATORS, seenSeparators, type Separator } from '../../shared/csv.js';
import { Misuse } from '../failure.js';
import type { Args, Known } from '../options/args.js';
import { say } from '../output/notices.js';

export const DELIMITER_OPTIONS: Known = { delimiter: 'value' };

const NAMES: Readonly<Record<Separator, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab' };

/** Words for --delimiter. */
export const DELIMITERS = Object.values(NAMES);

/** Other ways to write the same. */
const SPELLINGS: Readonly<Record<string, Separator>> = {
  ...Object.fromEntries(SEPARATORS.map((separator) => [NAMES[separator], separator])),
  ...Object.fromEntries(SEPARATORS.map((separator) => [separator, separator])),
  '\\t': '\t',
};

/** The separator of one table, known from the beginning or from its header on. */
export class Delimiter {
  private constructor(
    private known: Separator | undefined,
    private readonly announce: (text: string) => void,
  ) {}

  /** @param table  how a notice names the table; default: as the input. */
  static read(command: string, args: Args, table = 'the input'): Delimiter {
    const given = args.text('delimiter');
    if (given !== undefined && !Object.hasOwn(SPELLINGS, given)) {
      const got = JSON.stringify(given);
      throw new Misuse(`--delimiter must be one of ${DELIMITERS.join(', ')}, got ${got}`);
    }
    const announce = (text: string) => {
      if (!args.has('quiet')) say(command, `${table} ${text}`);
    };
    return new Delimiter(given === undefined ? undefined : SPELLINGS[given], announce);
  }

  /**
   * Returns the separator, or undefined where the text ends before the header does.
   *
   * @throws Misuse for a header that has two separators equally often.
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
    if (most !== ',') this.announce(`has cells separated by ${NAMES[most]}s (--delimiter ${NAMES[most]})`);
    return most;
  }
}
