// SPDX-License-Identifier: Apache-2.0

// Standard deviations that README and guides show are those of the releases beside them.
// readme.test.mjs compares the other numbers only where no noise is drawn.

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { importEntry, nodeThread, run } from './support/consumer.mjs';
import { guides, programFolder, programs, read } from './support/pages.mjs';

/** The package, with a last line of output that lists all deviations a program has asked for. */
const WATCHED = `
  import { load as loadPackage } from 'dp-ftrl';
  const asked = [];
  function watchRelease(value) {
    for (const { step, stddev } of [value].flat().filter((it) => it?.step !== undefined)) {
      if (stddev !== undefined) asked.push({ stddev, step, released: step + 1 });
    }
    return value;
  }
  function watch(handle) {
    return new Proxy({}, {
      get(_, name) {
        const of = handle;
        const member = of[name];
        if (typeof member !== 'function') return member;
        return (...args) => {
          const value = member.apply(of, args);
          if (name === 'stddev') asked.push({ stddev: value, step: args[0], released: of.step });
          return value instanceof Promise ? value.then(watchRelease) : watchRelease(value);
        };
      },
    });
  }
  const isStream = (value) => typeof value?.stddev === 'function';
  export async function load() {
    const dp = await loadPackage();
    return new Proxy({}, {
      get(_, name) {
        const member = dp[name];
        if (typeof member !== 'function') return member;
        const own = (value) => (isStream(value) ? watch(value) : value);
        return (...args) => {
          const made = member.apply(dp, args);
          return made instanceof Promise ? made.then(own) : own(made);
        };
      },
    });
  }
  process.on('exit', () => console.log('asked ' + JSON.stringify(asked)));
`;

let folder;
let env;
before(() => {
  ({ folder, env } = programFolder());
  writeFileSync(join(folder, 'watched.mjs'), WATCHED);
});
after(() => rmSync(folder, { recursive: true }));

const NUMBER = /-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/g;

/** True if a printed number is a value, rounded to as many digits as are printed. */
function isPrinted(text, value) {
  const decimals = /\.(\d+)/.exec(text)?.[1].length ?? 0;
  return text === String(value) || (decimals > 0 && text === value.toFixed(decimals));
}

/** Says what is wrong with a program's deviations, given what it printed and what is shown. */
function faultOf(asked, printed, shown) {
  const other = asked.find(({ step, released }) => released > 0 && step !== released - 1);
  if (other) return `step ${other.step} is asked about after ${other.released} releases`;
  const [is, was] = [printed, shown].map((text) => text.match(NUMBER) ?? []);
  const stale = is.findIndex(
    (text, i) => asked.some(({ stddev }) => isPrinted(text, stddev)) && was[i] !== text,
  );
  return stale < 0 ? undefined : `shows ${was[stale]}, the release has ${is[stale]}`;
}

test('deviations: those of the next release, and outdated ones, are found', () => {
  const of = (step, released) => [{ stddev: 14.012345, step, released }];
  assert.equal(faultOf(of(0, 1), '3.5 14.012345', '-7 14.012345'), undefined);
  assert.equal(faultOf(of(0, 1), '1 14.01', '1 14.01'), undefined);
  assert.equal(
    faultOf(of(9, 0), '14.0', '14.0'),
    undefined,
    'before the first release it is a plan',
  );
  assert.match(
    faultOf(of(1, 1), '3.5 14.01', '3.5 14.01'),
    /step 1 is asked about after 1 releases/,
  );
  assert.match(faultOf(of(0, 1), '3.5 14.01', '3.5 11.44'), /shows 11.44, the release has 14.01/);
});

for (const page of guides) {
  const found = programs(read(page));
  const inCode = found.filter(({ language, code }) => language === 'js' && /\bstddev\b/.test(code));
  if (inCode.length > 0) {
    test(`${page}: standard deviations that programs print are those of their releases`, async () => {
      for (const { code, output } of inCode) {
        const file = join(folder, 'program.mjs');
        writeFileSync(file, code.replace(/from 'dp-ftrl'/, "from './watched.mjs'"));
        const { code: status, stdout, stderr } = await nodeThread([file], { cwd: folder, env });
        assert.equal(status, 0, stderr);
        const [printed, list] = stdout.split('asked ');
        if (output)
          assert.equal(faultOf(JSON.parse(list), printed, output), undefined, `${page}:\n${code}`);
      }
    });
  }
  const inTables = found.filter(
    ({ language, output = '' }) => language === 'sh' && /^\S*,(\w+_)?std(,|$)/m.test(output),
  );
  if (inTables.length > 0) {
    test(`${page}: standard deviations in tables are those that the command prints`, async () => {
      for (const { code, output } of inTables) {
        const file = join(folder, 'program.sh');
        writeFileSync(file, code);
        const {
          code: status,
          stdout,
          stderr,
        } = await run('bash', ['-e', file], { cwd: folder, env });
        assert.equal(status, 0, stderr);
        const [is, was] = [stdout, output].map((text) =>
          text
            .trimEnd()
            .split('\n')
            .map((line) => line.split(',')),
        );
        const header = was.findIndex((cells) => cells.some((name) => /^(\w+_)?std$/.test(name)));
        for (let i = header + 1; i < was.length && was[i][0] !== '...'; ++i) {
          was[header].forEach((name, k) => {
            if (!/^(\w+_)?std$/.test(name) || was[i][k] === undefined) return;
            const ratio = Number(was[i][k]) / Number(is[i][k]);
            assert.ok(
              Math.abs(ratio - 1) < 1e-9,
              `${page}: ${name} is ${is[i][k]}, not ${was[i][k]}\n${code}`,
            );
          });
        }
      }
    });
  }
}

test('README: the deviation that it mentions is that of every step', async () => {
  const [, shown] = /standard deviation of the noise is about ([\d.]+) at every step/.exec(
    read('README.md'),
  );
  const [, horizon] = /steps: (\d+)/.exec(read('README.md'));
  const dp = await (await importEntry('dp-ftrl')).load();
  const sums = dp.counter({ steps: Number(horizon), epsilon: 1, delta: 1e-6 });
  for (let step = 0; step < Number(horizon); ++step) {
    assert.ok(Math.abs(sums.stddev(step) - Number(shown)) < 0.1, `${step}: ${sums.stddev(step)}`);
  }
  sums.dispose();
});
