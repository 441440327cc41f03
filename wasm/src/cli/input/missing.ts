// SPDX-License-Identifier: Apache-2.0

// --missing and --na: which cells are missing, and what happens to their rows. What happens to a
// row depends on that row alone and moves no other row to another step: a skipped row is a record
// that adds nothing.

import {
  isMark,
  isMissing,
  listWith,
  markedIdsText,
  MARKS_WANTED,
  marksOf,
  POLICIES,
} from '../../shared/missing.js';
import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';

export const MISSING_OPTIONS = under('Rows', {
  missing: {
    value: 'M',
    values: POLICIES,
    meaning:
      'rows with a missing cell: refuse (default); skip: they are left out; or zero: a missing ' +
      'category is 0, if --domain lists that. With --other it is one of the rest by default. A ' +
      'skipped row is protected like any other one',
  },
  na: {
    value: 'A,B,...',
    meaning:
      'cells with one of these texts are missing, as empty ones always are: NA,NaN,null,-. A ' +
      'number is one in any spelling, such as -999.0 for -999',
  },
});

/** --missing for commands in which each row is a step. */
export const STEPS_MISSING = {
  ...MISSING_OPTIONS,
  missing: {
    ...MISSING_OPTIONS.missing,
    meaning:
      'rows with a missing cell: refuse (default); zero: a missing number or category is 0; or ' +
      'skip: the row adds nothing, and still takes its step if rows are steps. A skipped row is ' +
      'protected like any other one',
  },
};

/** Text as which `zero` reads a missing cell. */
export const ZERO = '0';

/**
 * `refuse`: the row is a fault. `zero`: a missing number or category is 0. `blank`: the row adds
 * nothing, but it still counts as a row. `drop`: the row is left out.
 */
type Policy = 'refuse' | 'zero' | 'blank' | 'drop';

/** Which cells are missing, and what happens to their rows. */
export class Missing {
  private constructor(
    readonly policy: Policy,
    private readonly texts: readonly string[],
  ) {}

  /**
   * @param areSteps  whether each row is a step, so that leaving a row out would shift later steps.
   */
  static read(args: Args, { areSteps }: { areSteps: boolean }): Missing {
    const policy = args.oneOf('missing', POLICIES);
    const list = args.text('na');
    const texts = list === undefined ? [] : marksOf(list);
    if (texts === undefined) {
      throw new Misuse(`--na must be ${MARKS_WANTED}, got ${JSON.stringify(list)}`);
    }
    if (args.has('na') && policy === 'refuse') {
      throw new Misuse(
        '--na says which cells are missing: it needs --missing skip or --missing zero',
      );
    }
    if (policy !== 'skip') return new Missing(policy, texts);
    return new Missing(areSteps ? 'blank' : 'drop', texts);
  }

  /** Policy that refuses every row with an empty cell. */
  static readonly refused = new Missing('refuse', []);

  has(cell: string): boolean {
    return isMissing(cell, this.texts);
  }

  /** Advice for an invalid cell that may stand for a missing value; otherwise ''. */
  hint(cell: string, mayBe = isMark(cell)): string {
    return mayBe ? `; if its value is missing, ${this.remedy([cell])}` : '';
  }

  /**
   * Warning about ids that look like missing values; all rows with such an id would be one person.
   */
  markedIdsNotice(column: string, marks: readonly string[]): string {
    return `${markedIdsText(column, marks)}; if they are missing, ${this.remedy(marks)}`;
  }

  /** Advice on the options that make cells with these texts count as missing. */
  private remedy(cells: readonly string[]): string {
    const list = `--na ${listWith(cells, this.texts).join(',')}`;
    if (this.policy === 'refuse') return `--missing skip ${list} leaves out such rows`;
    return this.policy === 'zero'
      ? `${list} reads such cells as 0`
      : `${list} leaves out such rows`;
  }

  /** Clause of the guarantee about rows with a missing cell; otherwise ''. */
  get claim(): string {
    if (this.policy === 'refuse') return '';
    const cells = ['empty', ...this.texts.map((text) => JSON.stringify(text))].join(' or ');
    if (this.policy === 'zero') return `, a missing cell (${cells}) is 0`;
    return `, a row of which a cell that is read is missing (${cells}) is protected, too, and adds nothing`;
  }
}

/** @param canBeZero  whether the cell is a number or a category, not a label, person or time. */
export function emptyText(cell: string, canBeZero: boolean): string {
  const zero = canBeZero ? ', --missing zero reads such cells as 0' : '';
  return `is ${cell.trim() === '' ? 'empty' : 'missing'}; --missing skip leaves out such rows${zero}`;
}
