// SPDX-License-Identifier: Apache-2.0

// Time zones: converts between times and what clocks show. Intl gives the offset of a zone at one
// time, and slowly; here the times at which clocks are moved are found by bisection, once, and each
// conversion then costs a comparison. Also used by the page.

import { isNear } from './closest.js';

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** Changes of offset are searched for in blocks of this length, counted from 1970. */
export const BLOCK = 64 * DAY;
/**
 * Time between two probes of the offset, in which no zone moves its clocks forth and back: the
 * shortest interval so far is 7 days, and rules for the far future move clocks twice a year.
 */
const probeAfter = (time: number): number => (time < Date.UTC(2100) ? 4 * DAY : 32 * DAY);
/**
 * Years in which a zone may have skipped a day, and the smallest change of offset that skips one.
 */
const DATE_LINE = { from: Date.UTC(1840), to: Date.UTC(2040), every: 365 * DAY, least: 20 * HOUR };

/** Times from `from` to before `to`, at which clocks differ from UTC by `offset`. */
export interface Stretch {
  from: number;
  to: number;
  offset: number;
  /** Whether clocks are moved at `from`; otherwise a block begins there. */
  isMoved: boolean;
}

/** The clocks of one zone. All times are in milliseconds since 1970. */
export class Zone {
  static readonly UTC = new Zone('UTC', { fixed: 0 });

  private readonly blocks = new Map<number, readonly Stretch[]>();
  private latest: Stretch | undefined;
  private days: readonly number[] | undefined;

  private constructor(
    readonly name: string,
    private readonly source: { fixed: number } | { asked: Intl.DateTimeFormat },
  ) {}

  /** Undefined if there is no zone of this name. */
  static of(name: string): Zone | undefined {
    const fixed = /^[+-]\d\d:\d\d$/.test(name) ? offsetOf(name) : undefined;
    if (fixed !== undefined) return new Zone(name, { fixed });
    if (isAbbreviation(name)) return undefined;
    try {
      const asked = new Intl.DateTimeFormat('en-US', {
        timeZone: name,
        timeZoneName: 'longOffset',
      });
      const own = asked.resolvedOptions().timeZone;
      return own === 'UTC' ? Zone.UTC : new Zone(asWritten(name, own), { asked });
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** The offset from UTC if it never changes. */
  get fixedOffset(): number | undefined {
    return 'fixed' in this.source ? this.source.fixed : undefined;
  }

  /** Clock reading at a time, in milliseconds since clocks showed 1970. */
  wall(time: number): number {
    return time + (this.fixedOffset ?? this.stretchOf(time).offset);
  }

  /**
   * First time at which clocks show `wall`; in a repeated hour there are two such times. Undefined
   * if clocks skip it.
   */
  timeOf(wall: number): number | undefined {
    if (this.fixedOffset !== undefined) return wall - this.fixedOffset;
    const { latest } = this;
    if (latest && wall - DAY >= latest.from && wall + DAY < latest.to) return wall - latest.offset;
    const [before, after] = this.around(wall);
    return [before, after].find((time) => this.wall(time) === wall);
  }

  /** Time at which clocks are moved past the beginning of this day, if they are. */
  movedStart(midnight: number): number | undefined {
    const [time] = this.around(midnight);
    return Math.floor(this.wall(time) / DAY) * DAY === midnight ? time : undefined;
  }

  /** Days that clocks skipped because the date line was moved, counted from 1970. */
  get skippedDays(): readonly number[] {
    return (this.days ??= this.findSkippedDays());
  }

  /** The stretches of a block, in order. */
  stretches(block: number): readonly Stretch[] {
    let found = this.blocks.get(block);
    if (found === undefined) this.blocks.set(block, (found = this.search(block * BLOCK)));
    return found;
  }

  private stretchOf(time: number): Stretch {
    const { latest } = this;
    if (latest && time >= latest.from && time < latest.to) return latest;
    const found = this.stretches(Math.floor(time / BLOCK)).find(({ to }) => time < to)!;
    this.latest = found;
    return found;
  }

  /** Times at which clocks show `wall` by the offsets in force a day before and a day after it. */
  private around(wall: number): [number, number] {
    const [before, after] = [this.stretchOf(wall - DAY).offset, this.stretchOf(wall + DAY).offset];
    return [wall - before, wall - after];
  }

  private search(from: number): Stretch[] {
    let offset = this.ask(from);
    const found: Stretch[] = [
      { from, to: from + BLOCK, offset, isMoved: this.ask(from - 1) !== offset },
    ];
    const probe = probeAfter(from);
    for (let start = from; start < from + BLOCK; start += probe) {
      const next = this.ask(start + probe - 1);
      if (next === offset) continue;
      // Clocks are moved after `low`, and at the latest at `high`; always at a full second.
      let [low, high] = [start - SECOND, start + probe - SECOND];
      while (high - low > SECOND) {
        const middle = low + Math.floor((high - low) / (2 * SECOND)) * SECOND;
        if (this.ask(middle) === offset) low = middle;
        else high = middle;
      }
      found.at(-1)!.to = high;
      found.push({ from: high, to: from + BLOCK, offset: next, isMoved: true });
      offset = next;
    }
    return found;
  }

  /** The offset at a time, by Intl. */
  private ask(time: number): number {
    const text = (this.source as { asked: Intl.DateTimeFormat }).asked.format(time);
    return offsetOf(text.slice(text.indexOf('GMT') + 3).replace('\u2212', '-') || 'Z')!;
  }

  private findSkippedDays(): number[] {
    if (this.fixedOffset !== undefined) return [];
    const { from, to, every, least } = DATE_LINE;
    const days: number[] = [];
    for (let year = from; year < to; year += every) {
      if (this.ask(year + every) - this.ask(year) < least) continue;
      for (let block = Math.floor(year / BLOCK); block * BLOCK < year + every; ++block) {
        for (const stretch of this.stretches(block)) {
          const before = stretch.isMoved ? this.wall(stretch.from - 1) : Infinity;
          const first = Math.floor((stretch.from + stretch.offset) / DAY);
          for (let day = Math.floor(before / DAY) + 1; day < first; ++day) days.push(day);
        }
      }
    }
    return days;
  }
}

/**
 * Parses `Z`, `+01:00`, `+0100`, `+01` or, in old times, `+00:19:32` to milliseconds; undefined if
 * the text is invalid.
 */
export function offsetOf(text: string): number | undefined {
  if (text === 'Z') return 0;
  const match = /^([+-])(\d\d)(?::?(\d\d)(?::(\d\d))?)?$/.exec(text);
  if (match === null) return undefined;
  const [hours, minutes, seconds] = match.slice(2).map((part) => Number(part ?? 0)) as [
    number,
    number,
    number,
  ];
  if (hours > 23 || minutes > 59 || seconds > 59) return undefined;
  return (match[1] === '-' ? -1 : 1) * (hours * HOUR + minutes * MINUTE + seconds * SECOND);
}

/** Formats an offset like `+01:00`. */
export function offsetText(offset: number): string {
  const pad = (value: number) => String(value).padStart(2, '0');
  const size = Math.abs(offset);
  const parts = [Math.floor(size / HOUR), Math.floor(size / MINUTE) % 60, (size / SECOND) % 60];
  const shown = parts[2] === 0 ? parts.slice(0, 2) : parts;
  return `${offset < 0 ? '-' : '+'}${shown.map(pad).join(':')}`;
}

/** Abbreviations that name one zone only; others, such as CST and BST, name several. */
const ABBREVIATIONS: readonly string[] = ['UTC', 'GMT', 'CET', 'MET', 'EET', 'WET'];

function isAbbreviation(name: string): boolean {
  return /^[a-z]{1,3}$/i.test(name) && !ABBREVIATIONS.includes(name.toUpperCase());
}

const knownNames = (): string[] => Intl.supportedValuesOf('timeZone');

/** The name in its usual capitalisation; for some zones Intl has older names. */
function asWritten(name: string, own: string): string {
  const same = (other: string) => other.toLowerCase() === name.toLowerCase();
  const usual = same(own) ? own : knownNames().find(same);
  if (usual !== undefined) return usual;
  return name.replace(/[a-z]+/gi, (word) =>
    name === name.toLowerCase() ? word[0]!.toUpperCase() + word.slice(1) : word,
  );
}

/** Explains an unknown name of a zone, with a suggestion if one is close. */
export function unknownZone(name: string): string {
  if (isAbbreviation(name))
    return 'several zones share an abbreviation; give a name such as Europe/Berlin';
  const found = likelyZone(name.trim().replace(/\s+/g, '_').toLowerCase());
  if (found !== undefined) return `did you mean ${found}?`;
  const lists = 'timedatectl list-timezones, or Intl.supportedValuesOf("timeZone") in JavaScript';
  return `give an IANA name such as Europe/Berlin, or an offset such as +01:00; ${lists}, lists the names`;
}

/** Zone of the city that is named, or a zone whose city and region match except for a typo. */
function likelyZone(wanted: string): string | undefined {
  const partsOf = (zone: string): [region: string, city: string] => {
    const at = zone.lastIndexOf('/');
    return [zone.slice(0, Math.max(0, at)).toLowerCase(), zone.slice(at + 1).toLowerCase()];
  };
  const [region, city] = partsOf(wanted);
  if (city.length > 40) return undefined; // No zone has a name this long.
  const zones = knownNames().map((zone) => ({ zone, parts: partsOf(zone) }));
  const area = (name: string) => name.split('/')[0]!;
  const isThere = (other: string) => region === '' || isNear(area(region), area(other), 4);
  const found =
    zones.find(({ parts }) => parts[1] === city) ??
    zones.find(({ parts }) => isThere(parts[0]) && isNear(city, parts[1], 4));
  return found?.zone;
}
