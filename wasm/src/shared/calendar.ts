// SPDX-License-Identifier: Apache-2.0

// Finds the minute, hour, day, week, month or year that a time lies in, by the clocks of a zone.
// Also used by the page.

import { BLOCK, DAY, HOUR, MINUTE, offsetText, type Stretch, type Zone } from './zone.js';

export const BUCKETS = ['minute', 'hour', 'day', 'week', 'month', 'year'] as const;
export type Bucket = (typeof BUCKETS)[number];

/** The length of the buckets, and the zone whose clocks begin and end them. */
export interface Buckets {
  bucket: Bucket;
  zone: Zone;
}

const LENGTH = { minute: MINUTE, hour: HOUR, day: DAY, week: 7 * DAY };
/** 1970 began on a Thursday; weeks begin on Mondays. */
const WEEK_SHIFT = 3 * DAY;

/**
 * Numbers the minutes or hours of a zone whose offset changes. Each begins when clocks show its
 * start, or when clocks are moved: a repeated hour counts twice, a skipped hour not at all, and an
 * hour of which half is skipped or repeated is shorter.
 */
class Beginnings {
  /**
   * Number of beginnings from 1970 to the start of each block and, negative, from the start of each
   * earlier block to 1970.
   */
  private readonly up = [0];
  private readonly down = [0];

  constructor(
    private readonly zone: Zone,
    private readonly unit: number,
  ) {}

  /** Index of the latest beginning up to a time. */
  numberOf(time: number): number {
    const block = Math.floor(time / BLOCK);
    let number = this.before(block) - 1;
    for (const stretch of this.zone.stretches(block)) {
      if (stretch.from > time) break;
      const next =
        stretch.to > time ? Math.floor((time + stretch.offset) / this.unit) + 1 : undefined;
      number += this.begun(stretch, next);
    }
    return number;
  }

  timeOf(number: number): number {
    let block = Math.floor((number * this.unit) / BLOCK);
    while (this.before(block) > number) --block;
    while (this.before(block + 1) <= number) ++block;
    let left = number - this.before(block);
    for (const stretch of this.zone.stretches(block)) {
      const begun = this.begun(stretch);
      if (left >= begun) left -= begun;
      else if (this.isCut(stretch) && left === 0) return stretch.from;
      else
        return (
          (this.first(stretch) + left - Number(this.isCut(stretch))) * this.unit - stretch.offset
        );
    }
    throw new RangeError(`no beginning ${number}`);
  }

  private before(block: number): number {
    const { up, down } = this;
    while (up.length <= block) up.push(up.at(-1)! + this.inBlock(up.length - 1));
    while (down.length <= -block) down.push(down.at(-1)! - this.inBlock(-down.length));
    return block < 0 ? down[-block]! : up[block]!;
  }

  private inBlock(block: number): number {
    return this.zone.stretches(block).reduce((sum, stretch) => sum + this.begun(stretch), 0);
  }

  /** True if clocks are moved at the start of a stretch, to a time within a minute or hour. */
  private isCut({ from, offset, isMoved }: Stretch): boolean {
    return isMoved && (from + offset) % this.unit !== 0;
  }

  /** First multiple of the unit that clocks show in a stretch. */
  private first({ from, offset }: Stretch): number {
    return Math.ceil((from + offset) / this.unit);
  }

  /** Counts the beginnings in a stretch, or those before multiple `next` of the unit. */
  private begun(
    stretch: Stretch,
    next = Math.ceil((stretch.to + stretch.offset) / this.unit),
  ): number {
    return next - this.first(stretch) + Number(this.isCut(stretch));
  }
}

const known = new WeakMap<Zone, Map<number, Beginnings>>();

/** Undefined for longer buckets, and for a zone whose offset never changes. */
function beginningsOf({ zone, bucket }: Buckets): Beginnings | undefined {
  if (zone.fixedOffset !== undefined || (bucket !== 'minute' && bucket !== 'hour'))
    return undefined;
  if (!known.has(zone)) known.set(zone, new Map());
  const units = known.get(zone)!;
  const unit = LENGTH[bucket];
  if (!units.has(unit)) units.set(unit, new Beginnings(zone, unit));
  return units.get(unit)!;
}

/** Number of the bucket that a time lies in; consecutive buckets have consecutive numbers. */
export function bucketOf(time: number, { bucket, zone }: Buckets): number {
  const beginnings = beginningsOf({ bucket, zone });
  if (beginnings) return beginnings.numberOf(time);
  const wall = zone.wall(time);
  if (bucket === 'year') return new Date(wall).getUTCFullYear();
  if (bucket === 'month') {
    const date = new Date(wall);
    return date.getUTCFullYear() * 12 + date.getUTCMonth();
  }
  const number = Math.floor((wall + (bucket === 'week' ? WEEK_SHIFT : 0)) / LENGTH[bucket]);
  if (bucket !== 'day' || zone.skippedDays.length === 0) return number;
  return number - zone.skippedDays.filter((day) => day < number).length;
}

function dateText(wall: number, length: number): string {
  return new Date(wall).toISOString().slice(0, length);
}

/**
 * Formats a bucket as the time at which it begins: `2026`, `2026-03`, `2026-03-02`,
 * `2026-03-02T09:00Z` or, by the clocks of a zone, `2026-03-02T09:00+01:00`.
 */
export function bucketText(index: number, { bucket, zone }: Buckets): string {
  const pad = (value: number, width: number) => String(value).padStart(width, '0');
  if (bucket === 'year') return pad(index, 4);
  if (bucket === 'month') return `${pad(Math.floor(index / 12), 4)}-${pad((index % 12) + 1, 2)}`;
  if (bucket === 'week') return dateText(index * LENGTH.week - WEEK_SHIFT, 10);
  if (bucket === 'day') {
    let day = index;
    for (const skipped of zone.skippedDays) if (skipped <= day) ++day;
    return dateText(day * DAY, 10);
  }
  const fixed = zone.fixedOffset ?? 0;
  const start = beginningsOf({ bucket, zone })?.timeOf(index) ?? index * LENGTH[bucket] - fixed;
  const wall = zone.wall(start);
  if (zone.name === 'UTC') return `${dateText(wall, 16)}Z`;
  const length = wall % MINUTE === 0 ? 16 : 19;
  return `${dateText(wall, length)}${offsetText(wall - start)}`;
}
