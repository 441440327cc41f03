// SPDX-License-Identifier: Apache-2.0
// Makes app_events.csv, for generate.mjs and for the page, which is smaller without the file.

/** Seeded uniform numbers in [0, 1): Marsaglia's xorshift32 (2003), top 24 bits. Never for noise. */
export function uniforms(seed) {
  let state = seed >>> 0 || 1;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return (state >>> 8) / 2 ** 24;
  };
  for (let i = 0; i < 16; ++i) next(); // Small seeds need a few rounds to mix.
  return next;
}

/**
 * SYNTHETIC. Events of an app over 120 days: people join, more every week, come less at weekends,
 * each with a habit of their own, and one day stop coming.
 */
export function appEvents() {
  const uniform = uniforms(20260101);
  const first = Date.UTC(2026, 0, 1); // a Thursday
  const rows = [];
  let people = [];
  let joined = 0;
  const join = (day) => {
    const habit = 0.04 + 0.5 * uniform() ** 3;
    // Half of those who join leave after 12 days on average, the others after about a year.
    const mean = uniform() < 0.5 ? 12 : 350;
    const leaves = day + Math.ceil(-mean * Math.log(1 - uniform()));
    people.push({ name: `u${String(++joined).padStart(4, '0')}`, habit, leaves });
  };
  for (let i = 0; i < 240; ++i) join(0);
  for (let day = 0; day < 120; ++day) {
    for (let i = 0; i < 2 + day / 20 + 3 * uniform(); ++i) join(day);
    people = people.filter(({ leaves }) => leaves > day);
    const isWeekend = [2, 3].includes(day % 7);
    const events = [];
    for (const { name, habit } of people) {
      if (uniform() >= (isWeekend ? 0.6 : 1) * habit) continue;
      do events.push([7 * 60 + Math.floor(16 * 60 * uniform()), name]);
      while (uniform() < 0.2);
    }
    events.sort((a, b) => a[0] - b[0] || (a[1] < b[1] ? -1 : 1));
    for (const [minute, name] of events) {
      const time = new Date(first + (day * 1440 + minute) * 60_000).toISOString().slice(0, 16);
      rows.push([`${time}Z`, name]);
    }
  }
  return [['time', 'user'], ...rows];
}
