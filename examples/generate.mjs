// SPDX-License-Identifier: Apache-2.0
// Generates the CSV files of this folder, byte for byte: `node examples/generate.mjs`. README.md in
// this folder explains their contents and units. `node examples/generate.mjs --check` writes
// nothing and fails if a file differs.

import { readFileSync, writeFileSync } from 'node:fs';
import { appEvents, uniforms } from './app-events.mjs';

/** SYNTHETIC. A kiosk from 7:00 to 21:00: at most one customer a minute, three busy times. */
function shopDay() {
  const uniform = uniforms(20240229);
  const busy = (minute, centre, width) => Math.max(0, 1 - ((minute - centre) / width) ** 2);
  const rows = [];
  for (let minute = 7 * 60; minute < 21 * 60; ++minute) {
    const rate =
      0.3 +
      0.45 * busy(minute, 8 * 60, 60) +
      0.35 * busy(minute, 12.5 * 60, 75) +
      0.4 * busy(minute, 17.5 * 60, 90);
    if (uniform() >= rate) {
      rows.push([minute, 0, 0, '0.00']);
      continue;
    }
    let items = 1;
    while (items < 5 && uniform() < 0.4) ++items;
    let cents = 0; // 0.50 to 3.95 per item, in steps of 5 cents
    for (let i = 0; i < items; ++i) cents += 50 + 5 * Math.floor(70 * uniform());
    rows.push([minute, 1, items, (cents / 100).toFixed(2)]);
  }
  return [['minute', 'count', 'items', 'revenue'], ...rows];
}

/** Hourly height of a tide made of five constituents, above a datum 2 m below mean level. */
function tide() {
  // Periods are astronomical; amplitudes (which add up to 2 m) and phases are chosen here.
  const constituents = [
    { period: 12.4206012, amplitude: 1.2, phase: 0.0 }, //  M2, principal lunar semi-diurnal
    { period: 12.0, amplitude: 0.4, phase: 0.7 }, //        S2, principal solar semi-diurnal
    { period: 12.65834751, amplitude: 0.22, phase: 2.1 }, // N2, larger lunar elliptic
    { period: 23.93447213, amplitude: 0.11, phase: 1.3 }, // K1, lunisolar diurnal
    { period: 25.81933871, amplitude: 0.07, phase: 4.0 }, // O1, lunar diurnal
  ];
  const rows = [];
  for (let hour = 0; hour < 6 * 7 * 24; ++hour) {
    let height = 2;
    for (const { period, amplitude, phase } of constituents)
      height += amplitude * Math.cos((2 * Math.PI * hour) / period - phase);
    rows.push([hour, height.toFixed(3)]);
  }
  return [['hour', 'height'], ...rows];
}

/** Every month of the Gregorian calendar from January 1900 to December 2099. */
function calendar() {
  const isLeap = (year) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  const lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
  const rows = [];
  let first = 1; // weekday of the first of the month, 0 = Sunday; 1 January 1900 was a Monday
  for (let year = 1900; year < 2100; ++year) {
    for (let month = 1; month <= 12; ++month) {
      const days = lengths[month - 1] + (month === 2 && isLeap(year) ? 1 : 0);
      let sundays = 0;
      for (let day = 1; day <= days; ++day) if ((first + day - 1) % 7 === 0) ++sundays;
      const fridayThe13th = (first + 12) % 7 === 5 ? 1 : 0;
      rows.push([year, month, days, sundays, fridayThe13th]);
      first = (first + days) % 7;
    }
  }
  return [['year', 'month', 'days', 'sundays', 'friday_13th'], ...rows];
}

/**
 * A damped pendulum released from seeded random states: does it swing over the top within one
 * period of small oscillations? Angle from hanging straight down, unit of time sqrt(length / g):
 *     angle'' = -sin(angle) - 0.1 angle'
 */
function pendulum() {
  const damping = 0.1;
  const uniform = uniforms(1656); // year of the first pendulum clock
  const slope = ([angle, rate]) => [rate, -Math.sin(angle) - damping * rate];
  const shifted = ([angle, rate], [a, r], h) => [angle + h * a, rate + h * r];
  const steps = 200;
  const h = (2 * Math.PI) / steps;
  const goesOver = (start) => {
    let state = start;
    for (let i = 0; i < steps; ++i) {
      // Classical fourth-order Runge-Kutta step.
      const k1 = slope(state);
      const k2 = slope(shifted(state, k1, h / 2));
      const k3 = slope(shifted(state, k2, h / 2));
      const k4 = slope(shifted(state, k3, h));
      const mean = [0, 1].map((j) => (k1[j] + 2 * k2[j] + 2 * k3[j] + k4[j]) / 6);
      state = shifted(state, mean, h);
      if (Math.abs(state[0]) > Math.PI) return true;
    }
    return false;
  };
  const rows = [];
  for (let i = 0; i < 2000; ++i) {
    const angle = Math.PI * (2 * uniform() - 1);
    const rate = 3 * (2 * uniform() - 1);
    // Four features, each at most 1/2 in absolute value: the norm is at most 1.
    const features = [
      0.5,
      0.5 * Math.cos(angle),
      0.5 * ((2 * rate * rate) / 9 - 1), // centred: -1/2 at rest, 1/2 at the largest rate
      (0.5 * rate * Math.sin(angle)) / 3,
    ];
    // Truncates towards zero, so that rounding does not increase the norm.
    const text = features.map((x) => (Math.trunc(x * 1e4) / 1e4 + 0).toFixed(4));
    rows.push([...text, goesOver([angle, rate]) ? 1 : 0]);
  }
  return [['constant', 'cos_angle', 'rate_squared', 'rate_sin_angle', 'label'], ...rows];
}

/** SYNTHETIC. Visits to a site over four weeks, with time, section and person. */
function siteVisits() {
  const uniform = uniforms(1991); // year of the first site
  const first = Date.UTC(2026, 3, 6); // a Monday
  const sections = ['docs', 'docs', 'docs', 'shop', 'shop', 'blog', 'help'];
  const habits = Array.from({ length: 150 }, () => 0.05 + 0.7 * uniform() ** 3);
  const rows = [];
  for (let day = 0; day < 28; ++day) {
    const busy = day % 7 < 5 ? 1 : 0.6;
    const visits = [];
    habits.forEach((habit, visitor) => {
      while (uniform() < busy * habit) {
        const section = sections[Math.floor(sections.length * uniform())];
        visits.push([Math.floor(1440 * uniform()), visitor + 1, section]);
      }
    });
    visits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [minute, visitor, section] of visits) {
      const time = new Date(first + (day * 1440 + minute) * 60_000).toISOString().slice(0, 16);
      rows.push([`${time}Z`, section, `v${String(visitor).padStart(3, '0')}`]);
    }
  }
  return [['time', 'section', 'visitor'], ...rows];
}

/** SYNTHETIC. Visits to a gym over twelve weeks (not Sundays), with time, person and minutes. */
function gymVisits() {
  const uniform = uniforms(1896); // year of the first modern Olympic Games
  const first = Date.UTC(2026, 2, 2); // a Monday
  // Most people come once or twice a week, some every day.
  const habits = Array.from({ length: 120 }, () => 0.1 + 0.8 * uniform() ** 4);
  const rows = [];
  for (let day = 0; day < 12 * 7; ++day) {
    if (day % 7 === 6) continue;
    const visits = [];
    habits.forEach((habit, member) => {
      if (uniform() >= habit) return;
      const minute = 6 * 60 + Math.floor(15 * 60 * uniform());
      visits.push([minute, member + 1, 20 + 5 * Math.floor(15 * uniform())]);
    });
    visits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [minute, member, minutes] of visits) {
      const time = new Date(first + (day * 1440 + minute) * 60_000).toISOString().slice(0, 16);
      rows.push([`${time}Z`, `m${String(member).padStart(3, '0')}`, minutes]);
    }
  }
  return [['time', 'member', 'minutes'], ...rows];
}

const files = {
  'app_events.csv': appEvents(),
  'gym_visits.csv': gymVisits(),
  'shop_day.csv': shopDay(),
  'site_visits.csv': siteVisits(),
  'tide.csv': tide(),
  'calendar.csv': calendar(),
  'pendulum.csv': pendulum(),
};
const onlyCheck = process.argv.includes('--check');
for (const [name, rows] of Object.entries(files)) {
  const path = new URL(name, import.meta.url);
  const text = rows.map((row) => `${row.join(',')}\n`).join('');
  if (!onlyCheck) {
    writeFileSync(path, text);
  } else if (readFileSync(path, 'utf8') !== text) {
    console.error(`examples/${name} is not what examples/generate.mjs makes`);
    process.exitCode = 1;
  }
}
