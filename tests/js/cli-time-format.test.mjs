// SPDX-License-Identifier: Apache-2.0

// Times in other formats than ISO 8601: every format gives the same bucket as ISO 8601, and no
// format is guessed. The oracle formats times with Intl and shares no code with the command.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { dpFtrl, root } from './support/consumer.mjs';
import { some } from './support/extent.mjs';

const privacy = ['--epsilon', '1', '--delta', '1e-6', '--seed', '4', '--quiet'];
const seen = [...privacy, '--show-nonprivate'];
const timed = (bucket) => ['--time-column', 't', '--bucket', bucket];
const count = (bucket, ...more) => ['count', ...seen, ...timed(bucket), ...more];
const as = (format) => ['--time-format', format];

const times = readFileSync(join(root, 'examples/site_visits.csv'), 'utf8')
  .trimEnd()
  .split('\n')
  .slice(1, 400)
  .map((line) => new Date(line.split(',')[0]));
assert.ok(times.every((time) => !isNaN(time)));
const table = (write) => `t\n${times.map((time) => `"${write(time)}"\n`).join('')}`;

async function printed(args, input) {
  const { code, stdout, stderr } = await dpFtrl(args, { input });
  assert.equal(code, 0, stderr);
  return stdout;
}

const intl = (locale, options) => {
  const format = new Intl.DateTimeFormat(locale, { timeZone: 'UTC', ...options });
  return (time) => format.format(time).replaceAll('\u202f', ' ');
};
const clock = { hour: '2-digit', minute: '2-digit', second: '2-digit' };
const date = { day: '2-digit', month: '2-digit', year: 'numeric' };
const short = { day: 'numeric', month: 'numeric', year: 'numeric' };
const inLog = (time) => {
  const [, day, month, year, rest] = /^\w+, (\d\d) (\w+) (\d+) (\S+) GMT$/.exec(time.toUTCString());
  return `${day}/${month}/${year}:${rest} +0000`;
};

/** Shows a moment on a clock `hours` from Greenwich. */
const shifted = (write, hours, zone) => (time) =>
  `${write(new Date(+time + hours * 3.6e6))}${zone}`;

test('time formats: every format finds the buckets of ISO 8601', async () => {
  const german = intl('de-DE', { ...date, ...clock });
  const american = intl('en-US', {
    ...short,
    hour: 'numeric',
    minute: '2-digit',
    second: '2-digit',
  });
  const written = [
    ['iso', (time) => time.toISOString()],
    ['seconds', (time) => String(time / 1000)],
    ['seconds', (time) => `${Math.floor(time / 1000)}.250`],
    ['milliseconds', (time) => String(+time)],
    ['day-month-year', german],
    ['day-month-year', intl('en-GB', { ...date, ...clock })],
    ['day-month-year', shifted(intl('en-GB', { ...short, ...clock }), -5, ' -05:00')],
    ['month-day-year', american],
    ['month-day-year', intl('en-US', { ...date, ...clock, hourCycle: 'h23' })],
    ['log', inLog],
    ['log', (time) => `[${inLog(new Date(+time + 5.5 * 3.6e6)).replace('+0000', '+0530')}]`],
  ];
  assert.match(german(times[0]), /^\d\d\.\d\d\.\d{4}, \d\d:\d\d:\d\d$/);
  assert.match(american(times[0]), /^\d+\/\d+\/\d{4}, \d+:\d\d:\d\d [AP]M$/);
  for (const bucket of some(['day', 'hour'], 2)) {
    const wanted = await printed(
      count(bucket),
      table((time) => time.toISOString()),
    );
    assert.ok(wanted.split('\n').length > 5);
    for (const [format, write] of written) {
      const found = await printed(count(bucket, ...as(format)), table(write));
      assert.equal(found, wanted, `${format}: ${write(times[0])}`);
    }
  }
});

test('time formats: dates without a time, dates before 1970, and 12-hour noon and midnight are read', async () => {
  const days = async (format, ...cells) => {
    const input = `t\n${cells.map((cell) => `"${cell}"\n`).join('')}`;
    const lines = (await printed(count('hour', ...as(format)), input))
      .trimEnd()
      .split('\n')
      .slice(1);
    return [lines[0].split(',')[0], lines.at(-1).split(',')[0]];
  };
  assert.deepEqual(await days('day-month-year', '3.4.2026', '3-4-2026 05:00'), [
    '2026-04-03T00:00Z',
    '2026-04-03T05:00Z',
  ]);
  assert.deepEqual(await days('month-day-year', '3/4/2026'), [
    '2026-03-04T00:00Z',
    '2026-03-04T00:00Z',
  ]);
  assert.deepEqual(await days('seconds', '-3600', '0'), ['1969-12-31T23:00Z', '1970-01-01T00:00Z']);
  const noon = ['3/4/2026 12:00 AM', '3/4/2026 12:59 pm'];
  assert.deepEqual(await days('month-day-year', ...noon), [
    '2026-03-04T00:00Z',
    '2026-03-04T12:00Z',
  ]);
});

test('time formats: sorting, several runs, and a release read them, too', async () => {
  const write = (time) => String(time / 1000);
  const wanted = await printed(
    count('day'),
    table((time) => time.toISOString()),
  );
  const reversed = `t\n${times.map(write).reverse().join('\n')}\n`;
  assert.equal(await printed(count('day', ...as('seconds'), '--sort'), reversed), wanted);
  const state = join(mkdtempSync(join(tmpdir(), 'dp-ftrl-time-')), 'state');
  const release = (...more) => ['release', ...privacy, '--clip', '1', ...timed('day'), ...more];
  const steps = ['--steps', '30', '--state', state];
  const run = async (args, input) =>
    (await printed(release(...args), input)).trimEnd().split('\n').slice(1);
  const all = await run(
    ['--steps', '30'],
    table((time) => time.toISOString()),
  );
  const cut = times.findIndex((time) => time.toISOString() >= '2026-04-08');
  const part = (some) => `t\n${some.map((time) => `${write(time)}\n`).join('')}`;
  const first = await run([...steps, ...as('seconds')], part(times.slice(0, cut)));
  const second = await run(
    [...steps, ...as('milliseconds')],
    part(times.slice(cut).map((time) => time * 1000)),
  );
  assert.deepEqual(
    [...first, ...second].map((line) => line.split(',')[1]),
    all.map((line) => line.split(',')[1]),
  );
});
