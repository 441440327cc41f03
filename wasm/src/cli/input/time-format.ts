// SPDX-License-Identifier: Apache-2.0

// --time-format: format of the cells in a time column.

import type { Buckets } from '../../shared/calendar.js';
import {
  finerText,
  formatOf,
  formatsFor,
  TIME_FORMATS,
  type CellFormat,
} from '../../shared/time-format.js';
import { timeIn, type Written } from '../../shared/time-text.js';
import type { Args } from '../options/args.js';
import { Missing } from './missing.js';

/** Says how to read a number that would be a likely time in a finer unit; or ''. */
function finerHint(text: string): string {
  const finer = finerText(text);
  return finer === undefined ? '' : `; ${finer} and give --time-format milliseconds`;
}

/** Reads the cells of a time column. */
export class TimeFormat {
  private constructor(
    private readonly format: CellFormat,
    private readonly buckets: Buckets,
    /** Whether the cells are numbers, which may be no times at all. */
    readonly isNumeric: boolean,
    private readonly missing: Missing,
  ) {}

  static read(args: Args, buckets: Buckets): TimeFormat {
    const name = args.has('time-format') ? args.oneOf('time-format', TIME_FORMATS) : undefined;
    const isNumeric = name === 'seconds' || name === 'milliseconds';
    const missing = Missing.read(args, { areSteps: false });
    return new TimeFormat(formatOf(name), buckets, isNumeric, missing);
  }

  /** Returns milliseconds since 1970. */
  parse(text: string): number | undefined {
    const written = this.format.parse(text);
    const time = written && timeIn(written, this.buckets);
    return typeof time === 'number' ? time : undefined;
  }

  /**
   * Explains why a cell is no time of these buckets: a code, and a text to follow the place of the
   * cell. Other formats are named if they read it as a likely time, and all of `texts` if any does.
   */
  fault(text: string, texts: readonly string[]): { code: string; what: string } {
    const written = this.format.parse(text);
    const why = written && timeIn(written, this.buckets);
    if (typeof why === 'string')
      return { code: 'not_a_time', what: `${why}${this.advice(written!)}` };
    const others = formatsFor(text, texts, this.buckets);
    const hint = others.length > 0 ? `; --time-format ${others.join(' or ')} would read it` : '';
    const code = others.length > 1 ? 'ambiguous_time' : 'not_a_time';
    const cell = text.trim();
    const more = hint || finerHint(cell) || this.missing.hint(cell);
    return { code, what: `must be ${this.format.wanted}${more}` };
  }

  private advice({ unit, isLeap }: Written): string {
    if (isLeap) return '';
    if (unit === 'year') return ': give --bucket year';
    if (unit === 'month') return ': give --bucket month or year';
    return '; --time-zone says whose clocks show these times';
  }
}
