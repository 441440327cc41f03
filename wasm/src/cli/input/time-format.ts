// SPDX-License-Identifier: Apache-2.0

// --time-format: format of the cells in a time column.

import type { Buckets } from '../../shared/calendar.js';
import {
  finerText,
  formatOf,
  formatsFor,
  lookAlikeText,
  TIME_FORMATS,
  type CellFormat,
} from '../../shared/time-format.js';
import { timeIn, type ClockTime } from '../../shared/time-text.js';
import type { Args } from '../options/args.js';
import { MemoFormat } from './memo-format.js';
import { Missing } from './missing.js';

/**
 * Advice on how to read a number in a finer unit, or another text that resembles a time; otherwise
 * ''.
 */
function otherHint(text: string): string {
  const finer = finerText(text);
  if (finer !== undefined) return `; ${finer} and give --time-format milliseconds`;
  const other = lookAlikeText(text);
  return other === undefined ? '' : `; ${other}`;
}

/** Reads the cells of a time column. */
export class TimeParser {
  private constructor(
    private readonly format: CellFormat,
    private readonly buckets: Buckets,
    /** Whether the cells are numbers, which may not be times at all. */
    readonly isNumeric: boolean,
    private readonly missing: Missing,
  ) {}

  static read(args: Args, buckets: Buckets): TimeParser {
    const name = args.has('time-format') ? args.oneOf('time-format', TIME_FORMATS) : undefined;
    const isNumeric = name === 'seconds' || name === 'milliseconds';
    const missing = Missing.read(args, { areSteps: false });
    return new TimeParser(new MemoFormat(formatOf(name)), buckets, isNumeric, missing);
  }

  parse(text: string): number | undefined {
    const written = this.format.parse(text);
    const time = written && timeIn(written, this.buckets);
    return typeof time === 'number' ? time : undefined;
  }

  /**
   * Explains why a cell is not a time of these buckets: an error code, and a text that follows the
   * place of the cell. Suggests the other formats that read the cell and all of `texts` as
   * plausible times.
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
    const more = hint || otherHint(cell) || this.missing.hint(cell);
    return { code, what: `must be ${this.format.wanted}${more}` };
  }

  private advice({ unit, isLeap }: ClockTime): string {
    if (isLeap) return '';
    if (unit === 'year') return ': give --bucket year';
    if (unit === 'month') return ': give --bucket month or year';
    return '; --time-zone says whose clocks show these times';
  }
}
