// SPDX-License-Identifier: Apache-2.0

// --by COLUMN --domain A,B,C [--other]: counts rows by the categories in a column.

import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';
import { Domain } from './domain.js';

export const CATEGORY_OPTIONS = under('Categories', {
  by: {
    value: 'COLUMN',
    isName: true,
    meaning: 'column of categories; a row changes one count by 1, however many there are',
    brief: 'column of categories',
  },
  domain: {
    value: 'A,B,C',
    isName: true,
    meaning:
      'the categories (or LOW:HIGH for integers). One with a comma needs quotes: ' +
      '\'"a,b",c\'. "$(paste -sd, FILE)" takes them from a FILE, ' +
      'one in each line. Categories read off the data would show who is in it. A row of another ' +
      'one is refused',
    brief: 'the categories, chosen without the data',
  },
  other: { meaning: 'adds a category for all that --domain does not list' },
});

/** Reads the categories, which must not come from the data; undefined without --by. */
export function readCategories(args: Args): Domain | undefined {
  const [by, domain] = [args.text('by'), args.text('domain')];
  if (by === undefined) {
    const stray = ['domain', 'other'].find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --by`);
    return undefined;
  }
  if (domain === undefined) {
    const why = 'a name that only one row has would show that the row is there';
    const hint = '--domain a,b,c lists them, and --other counts what it leaves out';
    throw new Misuse(`--by needs categories that do not come from the data: ${why}; ${hint}`);
  }
  const other = ['time-column', 'user-column'].find((name) => args.text(name) === by);
  const categories = Domain.read(by, domain, args.has('other'));
  if (other !== undefined) throw new Misuse(`--by and --${other} must be two columns`);
  return categories;
}
