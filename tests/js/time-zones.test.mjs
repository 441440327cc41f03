// SPDX-License-Identifier: Apache-2.0

// Buckets by the clocks of a zone, which command and page share. The oracle asks Intl what clocks
// show at each single moment, finds moves of clocks by bisection, and shares no code with the rest.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { some } from './support/extent.mjs';
import { generator, importSource } from './support/sources.mjs';

const { Zone, unknownZone } = await importSource('shared/zone.ts');
const { bucketOf, bucketText, BUCKETS } = await importSource('shared/calendar.ts');
const { timeIn, unambiguous, yearFirst, bucketOfText } = await importSource('shared/time-text.ts');

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** Moves of an hour, of half an hour, at one minute past midnight, over midnight, of two hours. */
const moving = [
  'Europe/Berlin',
  'Europe/London',
  'Europe/Dublin',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/Caracas',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Asia/Beirut',
  'Asia/Tehran',
  'Asia/Pyongyang',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Antarctica/Troll',
];
const still = [
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Tokyo',
  'Pacific/Kiritimati',
  'UTC',
  '+05:45',
  '-03:30',
];

const clocks = new Map();
/** Clock reading by Intl, in milliseconds since clocks showed 1970. */
function shown(name, time) {
  if (/^[+-]/.test(name)) {
    const [hours, minutes] = name.slice(1).split(':').map(Number);
    return time + (name[0] === '-' ? -1 : 1) * (hours * HOUR + minutes * 60_000);
  }
  if (!clocks.has(name)) {
    const fields = { year: 'numeric', month: 'numeric', day: 'numeric' };
    const more = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' };
    clocks.set(name, new Intl.DateTimeFormat('en-US', { timeZone: name, ...fields, ...more }));
  }
  const parts = Object.fromEntries(
    clocks
      .get(name)
      .formatToParts(time)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year, month, day, hour, minute, second } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((time % 1000) + 1000) % 1000);
}

/** Moments at which clocks are moved, to the second. */
function movesOf(name, from, to) {
  const moves = [];
  const offset = (time) => shown(name, time) - time;
  for (let time = from; time < to; time += 48 * HOUR) {
    if (offset(time) === offset(time + 48 * HOUR)) continue;
    let [low, high] = [time, time + 48 * HOUR];
    while (high - low > 1000) {
      const middle = Math.floor((low + high) / 2000) * 1000;
      if (offset(middle) === offset(low)) low = middle;
      else high = middle;
    }
    moves.push(high);
  }
  return moves;
}

const moves = new Map(moving.map((name) => [name, movesOf(name, Date.UTC(2000), Date.UTC(2031))]));
const iso = (wall) => new Date(wall).toISOString();
const local = (wall) => iso(wall).slice(0, 19);
const pad = (number) => String(number).padStart(2, '0');
function offsetText(offset) {
  const [size, sign] = [Math.abs(offset) / 1000, offset < 0 ? '-' : '+'];
  const seconds = size % 60 === 0 ? '' : `:${pad(size % 60)}`;
  return `${sign}${pad(Math.floor(size / 3600))}:${pad(Math.floor(size / 60) % 60)}${seconds}`;
}

/** Times on both sides of a moment. */
function* around(moment) {
  yield* [moment - 1000, moment, moment - 1, moment + 60_000];
  for (let minutes = -200; minutes <= 200; minutes += 10) yield moment + minutes * 60_000;
  yield* [moment - DAY, moment + DAY, moment + 7 * DAY + 1];
}

/** The bucket of a time as the oracle sees it. */
const expected = {
  day: (wall) => iso(wall).slice(0, 10),
  week: (wall) => iso(wall - ((new Date(wall).getUTCDay() + 6) % 7) * DAY).slice(0, 10),
  month: (wall) => iso(wall).slice(0, 7),
  year: (wall) => iso(wall).slice(0, 4),
};

test('zones: around every move of clocks from 2000 to 2030 each time is in the bucket that they show', () => {
  let numMoves = 0;
  for (const name of moving) {
    const zone = Zone.of(name);
    assert.ok(moves.get(name).length > 0, name);
    for (const move of some(moves.get(name), 3)) {
      numMoves += 1;
      for (const time of around(move)) {
        const wall = shown(name, time);
        const what = `${name} ${iso(time)}`;
        assert.equal(zone.wall(time), wall, what);
        for (const [bucket, textOf] of Object.entries(expected)) {
          assert.equal(
            bucketText(bucketOf(time, { bucket, zone }), { bucket, zone }),
            textOf(wall),
            what,
          );
        }
        checkShort(name, zone, time, wall);
      }
    }
  }
  assert.ok(numMoves > 150, `${numMoves}`);
});

test('zones: no move of clocks of any zone is overlooked, from 1900 to 2037', () => {
  let numMoves = 0;
  for (const name of some(Intl.supportedValuesOf('timeZone'), 30)) {
    const zone = Zone.of(name);
    for (const move of movesOf(name, Date.UTC(1900), Date.UTC(2038))) {
      numMoves += 1;
      for (const time of [move - 1, move])
        assert.equal(zone.wall(time), shown(name, time), `${name} ${iso(time)}`);
    }
  }
  assert.ok(numMoves > 300, `${numMoves}`);
});

/** Checks the minute and the hour of a time. */
function checkShort(name, zone, time, wall) {
  for (const [bucket, length] of [
    ['minute', 60_000],
    ['hour', HOUR],
  ]) {
    const number = bucketOf(time, { bucket, zone });
    const text = bucketText(number, { bucket, zone });
    const start = timeIn(unambiguous(text), { bucket, zone });
    const what = `${name} ${iso(time)}: ${bucket} ${number}, ${text}`;
    assert.ok(start <= time && time < start + length, what);
    // The whole bucket shows the same minute or hour, on clocks that are not moved within it.
    assert.equal(shown(name, start) - start, wall - time, what);
    assert.equal(Math.floor(shown(name, start) / length), Math.floor(wall / length), what);
    assert.equal(bucketOf(start, { bucket, zone }), number, what);
    assert.equal(bucketOf(start - 1, { bucket, zone }), number - 1, what);
    const before = bucketText(number - 1, { bucket, zone });
    assert.equal(bucketOfText(before, { bucket, zone }), number - 1, what);
  }
}

test('zones: what clocks show is read back, the first time if they show it twice, never if they skip it', () => {
  for (const name of moving) {
    const zone = Zone.of(name);
    const buckets = { bucket: 'minute', zone };
    for (const move of some(moves.get(name), 2)) {
      const [before, after] = [shown(name, move - 1000) + 1000, shown(name, move)];
      for (const time of around(move)) {
        const wall = shown(name, time);
        const rounded = time - (((time % 1000) + 1000) % 1000);
        const offset = offsetText(wall - time);
        assert.equal(
          timeIn(yearFirst(`${local(wall)}${offset}`), buckets),
          rounded,
          `${name} ${iso(time)}`,
        );
        const isRepeated = time >= move && wall < before;
        const first = isRepeated ? rounded - (before - after) : rounded;
        assert.equal(timeIn(yearFirst(local(wall)), buckets), first, `${name} ${local(wall)}`);
      }
      for (let wall = before; wall < after; wall += 600_000) {
        const why = timeIn(yearFirst(local(wall)), buckets);
        assert.equal(why, `is skipped by the clocks of ${name}`, local(wall));
      }
    }
  }
});

test('zones: days have as many hours and minutes as clocks show, and days that clocks skip are no days', () => {
  const lengthOf = (name, day, unit) => {
    const zone = Zone.of(name);
    const edge = (text) => timeIn(yearFirst(text), { bucket: 'day', zone });
    const next = iso(Date.parse(day) + DAY).slice(0, 10);
    return (
      bucketOf(edge(next), { bucket: unit, zone }) - bucketOf(edge(day), { bucket: unit, zone })
    );
  };
  for (const [name, day, hours, minutes] of [
    ['Europe/Berlin', '2026-03-28', 24, 1440],
    ['Europe/Berlin', '2026-03-29', 23, 1380],
    ['Europe/Berlin', '2026-10-25', 25, 1500],
    ['America/New_York', '2026-03-08', 23, 1380],
    ['Asia/Kathmandu', '2026-03-29', 24, 1440],
    // Half an hour is skipped or repeated: one hour is shorter, or there is an additional half
    // hour.
    ['Australia/Lord_Howe', '2026-10-04', 24, 1410],
    ['Australia/Lord_Howe', '2026-04-05', 25, 1470],
    // Clocks move at midnight, so that the day begins at one o'clock.
    ['America/Sao_Paulo', '2018-11-04', 23, 1380],
    ['Antarctica/Troll', '2026-03-29', 22, 1320],
    ['Africa/Monrovia', '1972-01-07', 24, 1396],
  ]) {
    assert.equal(lengthOf(name, day, 'hour'), hours, `${name} ${day}`);
    assert.equal(lengthOf(name, day, 'minute'), minutes, `${name} ${day}`);
  }
  for (const [name, before, skipped, after] of [
    ['Pacific/Apia', '2011-12-29', '2011-12-30', '2011-12-31'],
    ['Pacific/Fakaofo', '2011-12-29', '2011-12-30', '2011-12-31'],
    ['Pacific/Kwajalein', '1993-08-20', '1993-08-21', '1993-08-22'],
  ]) {
    const buckets = { bucket: 'day', zone: Zone.of(name) };
    const number = bucketOfText(before, buckets);
    assert.equal(bucketText(number + 1, buckets), after);
    assert.equal(bucketOfText(after, buckets), number + 1);
    assert.match(timeIn(yearFirst(skipped), buckets), /is skipped by the clocks of Pacific/);
    assert.match(timeIn(yearFirst(`${skipped} 12:00`), buckets), /is skipped/);
    for (let k = -500; k < 500; ++k)
      assert.equal(bucketOfText(bucketText(number + k, buckets), buckets), number + k);
  }
});

test('zones: numbers of buckets and their texts convert to each other, from year 1 to 9999', () => {
  const random = generator(7);
  const names = [
    ...moving,
    ...still,
    'Europe/Amsterdam',
    'Africa/Monrovia',
    'Asia/Manila',
    'America/Juneau',
  ];
  for (const name of names) {
    const zone = Zone.of(name);
    const times = Array.from({ length: 40 }, (_, k) =>
      k < 30
        ? Date.UTC(1850) + random() * (Date.UTC(2100) - Date.UTC(1850))
        : Date.UTC(2100) + random() * 3e12,
    );
    for (const time of some(
      [...times.map(Math.floor), Date.parse('0001-03-01T00:00Z'), Date.parse('9999-06-01T00:00Z')],
      2,
    )) {
      const isFar = time < Date.UTC(1800) || time > Date.UTC(2200);
      for (const bucket of BUCKETS) {
        if (isFar && (bucket === 'minute' || bucket === 'hour') && zone.fixedOffset === undefined)
          continue;
        const buckets = { bucket, zone };
        const number = bucketOf(time, buckets);
        const text = bucketText(number, buckets);
        assert.equal(bucketOfText(text, buckets), number, `${name} ${bucket} ${text}`);
        assert.ok(bucketOf(time + (bucket === 'minute' ? 60_000 : HOUR), buckets) >= number);
      }
    }
  }
});

test('zones: historical offsets of seconds are kept', () => {
  for (const [name, time, offset] of [
    ['Africa/Monrovia', '1960-06-01T00:00Z', '-00:44:30'],
    ['Europe/Dublin', '1900-06-01T00:00Z', '-00:25:21'],
    ['America/Juneau', '1860-01-01T00:00Z', '+15:02:19'],
  ]) {
    const zone = Zone.of(name);
    const at = Date.parse(time);
    const text = bucketText(bucketOf(at, { bucket: 'hour', zone }), { bucket: 'hour', zone });
    assert.ok(text.endsWith(offset), `${name}: ${text}`);
    assert.equal(zone.wall(at), shown(name, at));
  }
});

/** All unambiguous ways to write a moment; `z` is an offset such as +01:00. */
const written = (wall, z) => {
  const date = new Date(wall);
  const [y, m, d, h, min, s] = iso(wall).slice(0, 19).split(/[-T:]/);
  const long = new Intl.DateTimeFormat('en-US', { month: 'long', timeZone: 'UTC' }).format(date);
  const short = long.slice(0, 3);
  const weekday = new Intl.DateTimeFormat('en-US', { weekday: 'short', timeZone: 'UTC' }).format(
    date,
  );
  const half = Number(h) < 12 ? 'AM' : 'PM';
  const h12 = Number(h) % 12 === 0 ? 12 : Number(h) % 12;
  const offset = z.replace(':', '');
  return [
    `${y}-${m}-${d}T${h}:${min}:${s}${z}`,
    `${y}-${m}-${d}t${h}:${min}:${s}.123456${z}`,
    `${y}-${m}-${d} ${h}:${min}:${s},5 ${z}`,
    `${y}-${m}-${d}  ${h}:${min}:${s} ${offset}`,
    `${y}/${m}/${d} ${h}:${min}:${s}${z}`,
    `${y}.${m}.${d} ${h}:${min}:${s}${z}`,
    `${y}/${Number(m)}/${Number(d)} ${Number(h)}:${min}:${s} ${z}`,
    `${y}/${m}/${d} ${h12}:${min}:${s} ${half} ${z}`,
    `${y}-${m}-${d} ${h}:${min}:${s} ${offset} CEST`,
    `${y}-${m}-${d}T${h}:${min}:${s}${z}[Europe/Berlin]`,
    `${y}${m}${d}T${h}${min}${s}${offset}`,
    `${short} ${Number(d)} ${y} ${h}:${min}:${s}${z}`,
    `${short} ${d}, ${y}, ${h12}:${min}:${s}\u202f${half} ${z}`,
    `${long} ${Number(d)}, ${y} ${h}:${min}:${s} GMT${offset}`,
    `${short}. ${Number(d)}th ${y} ${h12}:${min}:${s} ${half.toLowerCase()} UTC${z}`,
    `${Number(d)} ${long} ${y} ${h}:${min}:${s} ${z}`,
    `${d}-${short.toUpperCase()}-${y} ${h}:${min}:${s} ${z}`,
    `${weekday}, ${d} ${short} ${y} ${h}:${min}:${s} ${offset}`,
    `${weekday} ${short} ${d} ${y} ${h}:${min}:${s} GMT${offset} (Central European Time)`,
    `${weekday} ${short} ${String(Number(d)).padStart(2, ' ')} ${h}:${min}:${s} ${offset} ${y}`,
    `${y}-${short}-${d} ${h}:${min}:${s}${z}`,
  ];
};

test('zones: every way to write a time gives the same bucket in every zone, with an offset or without', () => {
  const random = generator(3);
  const texts = new Set();
  for (const name of some([...moving, ...still], 2)) {
    const zone = Zone.of(name);
    for (let k = 0; k < 6; ++k) {
      const time =
        Math.floor((Date.UTC(1995) + random() * (Date.UTC(2035) - Date.UTC(1995))) / 1000) * 1000;
      const offset = offsetText([0, 60, -210, 345, 840][k % 5] * 60_000);
      const ways = [
        ...written(time + [0, 60, -210, 345, 840][k % 5] * 60_000, offset),
        ...written(shown(name, time), '')
          .map((text) => text.trimEnd())
          .filter((text) => /\d(:\d\d)?( ?[AP]M)?$/.test(text)),
        ...['UTC', 'GMT', 'Z', 'utc'].map(
          (utc) => `${local(time).replaceAll('-', '/').replace('T', ' ')} ${utc}`,
        ),
      ];
      for (const text of ways) {
        texts.add(text.replace(/[\d]/g, '0').replace(/[a-z]{3,}/gi, 'a'));
        for (const bucket of some(BUCKETS, 2)) {
          const buckets = { bucket, zone };
          const read = unambiguous(text);
          assert.ok(read, text);
          const found = timeIn(read, buckets);
          // A repeated hour without an offset is the first one.
          const isSame =
            found === time || (found < time && shown(name, found) === shown(name, time));
          assert.ok(
            isSame && typeof found === 'number',
            `${name}: ${text} is ${found}, not ${time}`,
          );
          if (found === time) assert.equal(bucketOf(found, buckets), bucketOf(time, buckets));
        }
      }
    }
  }
  assert.ok(texts.size > 40, `${texts.size}`);
});

test('zones: years and months suit their buckets only, and dates are days', () => {
  const zone = Zone.of('America/Sao_Paulo');
  const fits = (text, bucket) => {
    const time = timeIn(unambiguous(text), { bucket, zone });
    return typeof time === 'number'
      ? bucketText(bucketOf(time, { bucket, zone }), { bucket, zone })
      : time;
  };
  for (const text of ['2019', '2019.0', '2019.00']) {
    for (const bucket of BUCKETS)
      assert.equal(fits(text, bucket), bucket === 'year' ? '2019' : 'is a year without a month');
  }
  for (const text of [
    '2019-03',
    '2019/3',
    '03/2019',
    '3-2019',
    'Mar 2019',
    'March, 2019',
    'mar-2019',
  ]) {
    for (const bucket of ['minute', 'hour', 'day', 'week'])
      assert.equal(fits(text, bucket), 'is a month without a day');
    assert.equal(fits(text, 'month'), '2019-03');
    assert.equal(fits(text, 'year'), '2019');
  }
  for (const text of [
    '2018-11-04',
    '20181104',
    '2018/11/4',
    'Nov 4 2018',
    '4 November 2018',
    'Sunday, November 4th, 2018',
    'Nov-04-2018',
  ]) {
    assert.equal(fits(text, 'day'), '2018-11-04', text);
    // The day begins at one o'clock, as clocks skip its first hour.
    assert.equal(fits(text, 'hour'), '2018-11-04T01:00-02:00', text);
    assert.equal(fits(text, 'week'), '2018-10-29', text);
  }
  for (const text of [
    '19',
    '201903',
    '2019-13',
    '2019-00',
    '2019-Q1',
    '2019-02-30',
    '2019-1-1-1',
    '99/2019',
    'Foo 2019',
    '2019-03/01',
    '2019-03-01T24:01',
    '2019-03-01T24:00:01',
    '2019-03-01T24:00:00.5',
    '20190301T240000.001',
    '2019-03-01T25:00',
    '2019-03-01T12:00:61Z',
    '2019-03-01 24:00 AM',
    '2019-03-01 13:00 PM',
    '2019-03-01 0:30 AM',
    '2019-03-01 10:00 PST',
    '2019-03-01T10:00+25:00',
    'Jan 1 19',
    '2019-03-01T',
    'Mon 2019',
    '2019.03',
    '1e3',
    '-2019',
    '2019-03-01 10',
    'May',
    '',
  ]) {
    assert.equal(unambiguous(text), undefined, text);
  }
});

test('zones: unknown names are refused, with the nearest one, and names are written as usual', () => {
  for (const [name, usual] of [
    ['europe/berlin', 'Europe/Berlin'],
    ['Asia/Kolkata', 'Asia/Kolkata'],
    ['asia/kathmandu', 'Asia/Kathmandu'],
    ['Etc/UTC', 'UTC'],
    ['gmt', 'UTC'],
    ['UTC', 'UTC'],
    ['+05:45', '+05:45'],
  ]) {
    assert.equal(Zone.of(name)?.name, usual);
  }
  for (const [name, hint] of [
    ['Berlin', /did you mean Europe\/Berlin\?/],
    ['Europe/Berln', /did you mean Europe\/Berlin\?/],
    ['Europe/Bonn', /did you mean Europe\/|IANA/],
    ['New York', /did you mean America\/New_York\?/],
    ['America/NewYork', /did you mean America\/New_York\?/],
    ['PST', /several zones share an abbreviation/],
    ['BST', /several zones share an abbreviation/],
    ['+25:00', /an IANA name such as Europe\/Berlin, or an offset such as \+01:00/],
    ['1', /an IANA name/],
    ['', /an IANA name/],
    ['America/Argentina/Buenos_Aries', /did you mean America\/(Argentina\/)?Buenos_Aires\?/],
    ['Eruope/Berlni', /did you mean Europe\/Berlin\?/],
    ['x'.repeat(500), /an IANA name/],
  ]) {
    assert.equal(Zone.of(name), undefined, name);
    assert.match(unknownZone(name), hint, name);
  }
});

test('zones: a zone that is not really near is not suggested, but how to list them', () => {
  const far = ['Nowhere/City', 'Mars/Base', 'Local', 'Atlantis/Deep', 'Europe/Bonn', 'US/Test'];
  for (const name of [...far, 'London/Europe', 'America/Springfield', 'here', 'UTC+1']) {
    const text = unknownZone(name);
    assert.match(text, /^give an IANA name such as Europe\/Berlin, or an offset such as \+01:00; /);
    assert.match(text, /timedatectl list-timezones, or .* lists the names$/, name);
  }
  // With one wrong letter in the city, over nine zones of ten are suggested; with half of them
  // wrong, none is.
  let numMended = 0;
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => /\/\w{5,}$/.test(zone));
  const tried = [...some(zones, 10)];
  for (const zone of tried) {
    const at = zone.lastIndexOf('/') + 1;
    const city = zone.slice(at);
    numMended += unknownZone(`${zone.slice(0, at + 2)}x${zone.slice(at + 3)}`).endsWith(`${zone}?`);
    const half = Array.from(city, (letter, i) => (i % 2 === 0 ? 'x' : letter)).join('');
    assert.match(unknownZone(`${zone.slice(0, at)}${half}`), /^give/, zone);
  }
  assert.ok(numMended > 0.9 * tried.length && tried.length > 30, `${numMended}`);
});

test('zones: 24:00 is the beginning of the next day, and a leap second is refused by its name', () => {
  const buckets = { bucket: 'day', zone: Zone.UTC };
  const dayOf = (text) => {
    const time = timeIn(unambiguous(text), buckets);
    return typeof time === 'number' ? bucketText(bucketOf(time, buckets), buckets) : time;
  };
  for (const [day, next] of [
    ['2026-01-01', '2026-01-02'],
    ['2026-12-31', '2027-01-01'],
    ['2024-02-28', '2024-02-29'],
  ]) {
    for (const clock of ['T24:00', 'T24:00Z', ' 24:00:00', 'T24:00:00.000Z', 'T24:00:00,0+00:00']) {
      assert.equal(dayOf(`${day}${clock}`), next, `${day}${clock}`);
      assert.equal(dayOf(`${day}${clock.replace('24', '23')}`), day);
    }
    assert.equal(dayOf(`${day.replaceAll('-', '')}T240000Z`), next);
    for (const clock of ['T12:00:60Z', 'T23:59:60Z', ' 23:59:60.5', 'T00:00:60+01:00'])
      assert.equal(dayOf(`${day}${clock}`), 'has second 60, a leap second: write second 59');
  }
  assert.match(dayOf('9999-12-31T24:00'), /not between the years/);
});

test('zones: fractions of a second of any length are read', () => {
  const buckets = { bucket: 'minute', zone: Zone.UTC };
  for (const fraction of ['', '.1', '.123', ',123', '.123456', '.123456789', '.000000000001']) {
    for (const text of [
      `2026-01-01T09:30:59${fraction}Z`,
      `2026-01-01 09:30:59${fraction}`,
      `2026-01-01 09:30:59${fraction}+00:00`,
      `2026-01-01 09:30:59${fraction} UTC`,
      `20260101T093059${fraction}Z`,
      `Jan 1 2026 09:30:59${fraction}`,
    ]) {
      const time = timeIn(unambiguous(text), buckets);
      assert.equal(bucketText(bucketOf(time, buckets), buckets), '2026-01-01T09:30Z', text);
    }
  }
});
