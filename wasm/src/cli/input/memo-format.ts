// SPDX-License-Identifier: Apache-2.0

// Reads the times of a table. Most rows lie in the same hour as the row above, so an hour is parsed
// once, and minutes and seconds are added.

import type { CellFormat } from '../../shared/time-format.js';
import type { ClockTime } from '../../shared/time-text.js';
import { MINUTE, SECOND } from '../../shared/zone.js';

const COLON = 58;

/**
 * Matches a text up to the colon after the hour of a clock time. Excludes the colon of an offset,
 * and hour 24, which has no minutes. In the log of a web server, a colon also follows the year.
 */
const HOUR = /^[^(]*(?:[T \u00a0\u202f]|\/\d{4}:)(?:[01]?\d|2[0-3])$/i;

const isDigit = (code: number): boolean => code >= 48 && code <= 57;

/** Two-digit number below 60 at a position of a text; NaN if there is none. */
function sixtieths(text: string, at: number): number {
  const [tens, ones] = [text.charCodeAt(at), text.charCodeAt(at + 1)];
  return isDigit(tens) && tens < 54 && isDigit(ones) ? 10 * (tens - 48) + ones - 48 : NaN;
}

/** Finds the end of the minutes, seconds and fraction of a second that begin at a position. */
function endOfClock(text: string, at: number): number {
  let end = at + 2;
  if (text.charCodeAt(end) !== COLON) return end;
  end += 3;
  const point = text[end];
  if ((point === '.' || point === ',') && isDigit(text.charCodeAt(end + 1))) {
    end += 2;
    while (isDigit(text.charCodeAt(end))) ++end;
  }
  return end;
}

/** A format that reads the same times as the wrapped one, but faster if they are in order. */
export class MemoFormat implements CellFormat {
  /** The latest text, and its time. */
  private text: string | undefined;
  private time: ClockTime | undefined;
  /** Text before and after the minutes and seconds, and the time on the hour. */
  private before = '';
  private after = '';
  private hour: ClockTime | undefined;

  constructor(private readonly format: CellFormat) {}

  get wanted(): string {
    return this.format.wanted;
  }

  parse(text: string): ClockTime | undefined {
    const first = text.indexOf(':') + 1;
    if (first === 0) return this.parseWhole(text);
    const isLog = text.charCodeAt(first + 2) === COLON && text.charCodeAt(first + 5) === COLON;
    const at = isLog ? first + 3 : first;
    const end = endOfClock(text, at);
    const minutes = sixtieths(text, at);
    const seconds = text.charCodeAt(at + 2) === COLON ? sixtieths(text, at + 3) : 0;
    const isClock = minutes + seconds >= 0 && text.charCodeAt(end) !== COLON;
    if (!isClock || !this.isHour(text, at, end)) return this.parseWhole(text);
    const { wall, offset, unit } = this.hour!;
    return { wall: wall + minutes * MINUTE + seconds * SECOND, offset, unit };
  }

  private parseWhole(text: string): ClockTime | undefined {
    if (text !== this.text) {
      this.time = this.format.parse(text);
      this.text = text;
    }
    return this.time;
  }

  /** Whether a text is a time in `hour`; the text from `at` to `end` is ignored. */
  private isHour(text: string, at: number, end: number): boolean {
    const { before, after } = this;
    const isSame =
      before.length === at - 1 &&
      after.length === text.length - end &&
      text.startsWith(before) &&
      text.endsWith(after);
    if (isSame) return this.hour !== undefined;
    this.before = text.slice(0, at - 1);
    this.after = text.slice(end);
    this.hour = HOUR.test(this.before)
      ? this.format.parse(`${this.before}:00${this.after}`)
      : undefined;
    return this.hour !== undefined;
  }
}
