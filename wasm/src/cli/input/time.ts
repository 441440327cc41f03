// SPDX-License-Identifier: Apache-2.0

// Options for rows that are events in time; determines the step of each row.

import { Misuse } from '../base/failure.js';
import type { Args } from '../options/args.js';
import { under } from '../options/option.js';
import { faultAt, placeOf, type Places } from './place.js';
import { TimeParser } from './time-format.js';
import { bucketOf, BUCKETS, bucketText, type Buckets } from '../../shared/calendar.js';
import { listed } from '../../shared/listed.js';
import { earlierText } from '../../shared/span.js';
import { TIME_FORMATS } from '../../shared/time-format.js';
import { timeIn, unambiguous, WANTED } from '../../shared/time-text.js';
import { unknownZone, Zone } from '../../shared/zone.js';

export const TIME_OPTIONS = under('Time', {
  'time-column': {
    value: 'T',
    isName: true,
    meaning: 'rows are events in time order, and each bucket is one step, also if it is empty',
    brief: 'time of each row, such as 2026-03-01 09:30',
  },
  bucket: {
    value: 'B',
    values: BUCKETS,
    meaning: `span of time that is one step: ${listed(BUCKETS, 'or')}`,
    brief: listed(BUCKETS, 'or'),
  },
  'time-format': {
    value: 'F',
    values: TIME_FORMATS,
    meaning:
      'format of times. Default: iso (2026-12-31, 2026/12/31 18:30, 2026-12, 2026) or month-name ' +
      '(Dec 31 2026 6:30 PM, 31-Dec-2026), which are never confused. Others: seconds or ' +
      'milliseconds since 1970, day-month-year (31.12.2026, 31/12/2026 18:30), month-day-year ' +
      '(12/31/2026 6:30 PM), log (31/Dec/2026:18:30:00 +0000). A row in another format is ' +
      'refused, with the formats that would read it',
  },
  'time-zone': {
    value: 'Z',
    values: () => Intl.supportedValuesOf('timeZone'),
    meaning:
      'zone of times without an offset, of --from and --to, and of the clocks by which ' +
      'buckets begin: an IANA name such as Europe/Berlin, or an offset such as +01:00. ' +
      'Default: UTC. A day has 23 or 25 hours when clocks are moved; of a repeated hour the ' +
      'first is meant, a skipped one is refused',
    brief: 'whose clocks begin days, such as Europe/Berlin. Default: UTC',
  },
  from: {
    value: 'TIME',
    meaning:
      'first bucket; rows before it are left out. With --from and --to rows are released as they ' +
      'arrive. Default: that of the first row, which is then public',
    brief: 'first bucket. Default: that of the data, which it then shows',
  },
  to: {
    value: 'TIME',
    meaning:
      'last bucket, of a date its last hour or minute; rows after it are left out. Default: that ' +
      'of the last row, which is then public',
    brief: 'last bucket; likewise',
  },
  sort: {
    meaning: 'sorts rows by time: all are read before the first release, and kept in memory',
  },
});

export interface TimeColumn extends Buckets {
  column: string;
  /** Name of the time column in tables, with the time zone if one is given. */
  heading: string;
  /** Label of the time axis in figures. */
  axis: string;
  format: TimeParser;
  /** Whether rows are sorted by time before the release. */
  sorts: boolean;
  /** First bucket; undefined if it is the bucket of the first row. */
  first: number | undefined;
  /** Bucket of --from: rows before it are left out. A state may have begun earlier. */
  from: number | undefined;
  /** Last bucket, if the range is given. */
  last: number | undefined;
}

export function readTimes(args: Args): TimeColumn | undefined {
  const column = args.text('time-column');
  if (column === undefined) {
    const stray = Object.keys(TIME_OPTIONS).find((name) => args.has(name));
    if (stray !== undefined) throw new Misuse(`--${stray} needs --time-column`);
    return undefined;
  }
  const rows = ['epochs', 'participations'].find((name) => args.has(name));
  if (rows !== undefined) {
    throw new Misuse(`with --time-column one row is protected, not a user: no --${rows}`);
  }
  // Commands without --bucket use days.
  if ('bucket' in args.options && !args.has('bucket')) {
    throw new Misuse(`--time-column needs --bucket ${BUCKETS.join('|')}`);
  }
  const bucket = args.oneOf('bucket', BUCKETS, 'day');
  const zone = readZone(args);
  const buckets = { bucket, zone };
  const [first, last] = [readEdge(args, 'from', buckets), readEdge(args, 'to', buckets)];
  if (last !== undefined) {
    // In a release of several runs, --to ends one run; the state records where the release began.
    const isPart = args.has('state');
    if (first === undefined && !isPart) throw new Misuse('--to needs --from');
    if (args.has('steps') && !isPart) throw new Misuse('give --steps or --to, not both');
    if (first !== undefined && last < first) throw new Misuse('--to must not be before --from');
  }
  const axis = `${column} (${zone.name})`;
  const heading = args.has('time-zone') ? axis : column;
  const format = TimeParser.read(args, buckets);
  const named = { column, heading, axis, format, sorts: args.has('sort') };
  return { ...buckets, ...named, first, from: first, last };
}

function readZone(args: Args): Zone {
  const name = args.text('time-zone');
  if (name === undefined) return Zone.UTC;
  const zone = Zone.of(name);
  if (zone !== undefined) return zone;
  throw new Misuse(
    `--time-zone ${JSON.stringify(name)} is not the name of a zone: ${unknownZone(name)}`,
  );
}

const DAY = 86_400_000;

/** Bucket of the time given in an option. */
function readEdge(args: Args, name: 'from' | 'to', buckets: Buckets): number | undefined {
  const text = args.text(name);
  if (text === undefined) return undefined;
  const written = unambiguous(text.trim());
  if (written === undefined) {
    throw new Misuse(`--${name} must be ${WANTED}, got ${JSON.stringify(text)}`);
  }
  // --to with a day includes its last hour or minute.
  const isWhole = name === 'to' && written.unit === 'day';
  const time = timeIn({ ...written, wall: written.wall + (isWhole ? DAY - 1 : 0) }, buckets);
  if (typeof time === 'number') return bucketOf(time, buckets);
  throw new Misuse(`--${name} must be one ${buckets.bucket}: ${text} ${time}`);
}

/** Time of the i-th text, in milliseconds since 1970. */
export function timeOf(
  texts: readonly string[],
  i: number,
  { times, batch }: { times: Pick<TimeColumn, 'column' | 'format'>; batch: Places },
): number {
  const { column, format } = times;
  const text = texts[i]!.trim();
  const time = format.parse(text);
  if (time !== undefined) return time;
  throw faultAt(placeOf(batch, i), { ...format.fault(text, texts), column }, texts[i]!);
}

/** Key by which rows are sorted. */
export function keyOf(time: number, { bucket, zone }: Buckets): number {
  // A later time can fall on an earlier day, if clocks are moved back over midnight.
  return bucket === 'minute' || bucket === 'hour' ? time : zone.wall(time);
}

/**
 * Warns that the guarantee does not hide the first or the last bucket.
 *
 * @param isContinued  whether an earlier run has fixed the first bucket.
 */
export function edgeNotice({ bucket, first, last }: TimeColumn, isContinued: boolean) {
  if (last !== undefined) return undefined;
  const [edges, verb] =
    first === undefined && !isContinued
      ? [`the first and the last ${bucket}`, 'depend']
      : [`the last ${bucket}`, 'depends'];
  const hint = `give ${isContinued ? '--to' : '--from and --to'} to hide that`;
  return `${edges} printed ${verb} on the data (${hint}), and may be incomplete`;
}

/** True if all buckets lie in 1969 or 1970, as they usually do if the numbers are not times. */
export function areEarly(labels: readonly string[] = []): boolean {
  return labels.length > 0 && labels.every((label) => /^(1969|1970)/.test(label));
}

/** Warns that numbers are unlikely to be times. */
export function earlyNotice({ column }: TimeColumn): string {
  const what = `all rows lie in 1969 or 1970: column ${JSON.stringify(column)} may hold other numbers`;
  return `${what} than --time-format says`;
}

/** End of the message for a row that is out of order. */
const IN_ORDER = 'rows must be in time order; --sort sorts them';

/** Turns the times of the rows into 0-based steps, which must not decrease. */
export class Clock {
  private first: number | undefined;
  /** Bucket of the latest row, including rows left out. */
  private latest = -Infinity;
  /** Step of the latest row that was not left out. */
  step = -1;

  constructor(private readonly times: TimeColumn) {
    this.first = times.first;
  }

  /** Bucket of step 0, or undefined until it is known. */
  get origin(): number | undefined {
    return this.first;
  }

  /** True once a row is past --to. */
  get isPast(): boolean {
    return this.latest > (this.times.last ?? Infinity);
  }

  /**
   * Step of the next row, whose time is the i-th of `texts`; undefined if --from or --to leaves the
   * row out.
   */
  advance(texts: readonly string[], i: number, batch: Places): number | undefined {
    const { times, latest } = this;
    const { column, bucket } = times;
    const index = bucketOf(timeOf(texts, i, { times, batch }), times);
    if (index < latest) {
      const what = `${earlierText(latest - index, bucket)}: ${IN_ORDER}`;
      throw faultAt(placeOf(batch, i), { code: 'out_of_order', what, column });
    }
    this.latest = index;
    if (this.isPast || index < (times.from ?? -Infinity)) return undefined;
    this.first ??= index;
    this.step = index - this.first;
    return this.step;
  }

  /** The bucket of a step, in words. */
  label(step: number): string {
    return bucketText((this.first ?? 0) + step, this.times);
  }
}
