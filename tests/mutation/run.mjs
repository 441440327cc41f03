// SPDX-License-Identifier: Apache-2.0

// Measures how many of the faults in tests/mutation/faults the tests detect. Works on copies of
// this tree in build/mutation. Results are stored in tests/mutation/results.json, which is
// committed; only faults without a valid result are tried.
//
//     node tests/mutation/run.mjs [--area cpp|package|page] [--name REGEX] [--jobs N] [--check]
//
// --check only checks that every fault still has its place and its tests, and counts the valid
// results; it is quick.
//
// A list has objects { name, file, find, replace, tests, equivalent }. `find` is text that occurs
// exactly once in `file`. `tests` (one text or a list) is a filter of GoogleTest, or for the
// package and the page "FILE..." or "FILE... --test-name-pattern=REGEX". `equivalent` says why no
// test can detect the fault, if so. The named tests determine what is built.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { judge, readFaults, Results, tryFaults } from './harness.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const SHARE = 0.97;
const LEAST = 250;

const first = (output, pattern) => pattern.exec(output)?.[1] ?? output.slice(-400);

/**
 * Tests run by GoogleTest. Warnings are not errors here, since they would detect faults in place of
 * the tests.
 */
const cpp = {
  build: ['scripts/build', 'mutation:dpftrl_tests'],
  test: (tests = '*') =>
    [tests]
      .flat()
      .map((filter) => [
        'build/mutation/tests/cpp/dpftrl_tests',
        `--gtest_filter=${filter}`,
        '--gtest_fail_fast',
      ]),
  passed: (output) => Number(/\[ {2}PASSED {2}\] (\d+)/.exec(output)?.[1]),
  failed: (output) => first(output, /\[ {2}FAILED {2}\] (\S+)/),
};

/** Parses "FILE... --test-name-pattern=REGEX" into a command. */
function nodeTest(text) {
  const [, files, pattern] = /^(.*?\.mjs)(?: --test-name-pattern[= ](.*))?$/.exec(text) ?? [];
  if (files === undefined) throw new Error(`no test files: ${text}`);
  const named = pattern === undefined ? [] : [`--test-name-pattern=${pattern}`];
  const options = ['--test', '--test-reporter=tap', '--test-timeout=600000'];
  return [process.execPath, ...options, ...named, ...files.split(' ')];
}

const ofNode = (build, script) => ({
  build: ['scripts/build', build],
  test: (tests) => (tests ? [tests].flat().map(nodeTest) : [['npm', 'run', '--silent', script]]),
  // Node writes TAP or, from version 23 on, a list.
  passed: (output) => Number(/^[#ℹ] pass (\d+)/m.exec(output)?.[1]),
  failed: (output) => first(output, /^\s*(?:not ok \d+ -|✖) (.*)/m),
});

const areas = {
  cpp,
  package: ofNode('code', 'test:js'),
  page: ofNode('page', 'test:browser'),
};

function areaOf({ tests }) {
  const names = String(tests);
  if (names.includes('tests/browser/')) return 'page';
  return names.includes('.mjs') ? 'package' : 'cpp';
}

/** Tests of GoogleTest, Suite.name, each with the file that contains it. */
function suites() {
  const files = readdirSync(join(root, 'tests/cpp'), { recursive: true })
    .map((name) => `tests/cpp/${name}`)
    .filter((name) => name.endsWith('.cpp'))
    .sort();
  const known = new Map();
  for (const file of files) {
    const text = readFileSync(join(root, file), 'utf8');
    for (const [, suite, name] of text.matchAll(/^(?:TYPED_)?TEST(?:_[FP])?\((\w+),\s*(\w+)/gm)) {
      known.set(`${suite}.${name}`, file);
    }
  }
  return known;
}

/** Files of the tests that match a GoogleTest filter. */
function filesOfFilter(filter, known) {
  const files = new Set();
  for (const pattern of filter.split(':').filter((it) => !it.startsWith('-'))) {
    // Without the names of parameters: Instance/Suite.test/0.
    const [suite, name] = pattern.split('.').map((part) => part.replaceAll('*', '\\w*'));
    const test = name === undefined ? '\\w*' : name.split('/')[0];
    const matching = new RegExp(`^${suite.split('/').at(-1)}[.]${test}$`);
    const found = [...known].filter(([title]) => matching.test(title));
    if (found.length === 0) throw new Error(`there is no test of ${pattern}`);
    for (const [, file] of found) files.add(file);
  }
  return [...files].sort();
}

/** Test files named by a text in a fault's `tests`. */
function filesOfTests(text, known) {
  if (!text.includes('.mjs')) return filesOfFilter(text, known);
  const files = nodeTest(text).filter((it) => it.endsWith('.mjs'));
  const missing = files.find((file) => !existsSync(join(root, file)));
  if (missing) throw new Error(`there is no ${missing}`);
  return files;
}

function testFilesOf({ name, tests }, known) {
  try {
    return [tests].flat().flatMap((text) => filesOfTests(text, known));
  } catch (error) {
    throw new Error(`${name}: ${error.message}`);
  }
}

const { values: flags } = parseArgs({
  options: {
    area: { type: 'string' },
    name: { type: 'string', default: '' },
    jobs: { type: 'string', default: '1' },
    check: { type: 'boolean', default: false },
  },
});
const all = readFaults(join(root, 'tests/mutation/faults'), root);
const faults = all.filter(
  (fault) =>
    (flags.area ?? areaOf(fault)) === areaOf(fault) && new RegExp(flags.name).test(fault.name),
);
const known = suites();
const results = new Results(join(root, 'tests/mutation/results.json'), {
  source: root,
  testFilesOf: (fault) => testFilesOf(fault, known),
});
if (flags.check) {
  const held = faults.map((fault) => results.of(fault)).filter((it) => it !== undefined);
  const killed = held.filter(({ outcome }) => outcome === 'killed').length;
  console.log(`${faults.length} faults; ${held.length} results hold, ${killed} of them killed`);
  process.exit();
}
results.forgetOthers(all);
const tried = await tryFaults({
  source: root,
  work: join(root, 'build/mutation'),
  faults,
  results,
  areas,
  areaOf,
  jobs: Number(flags.jobs),
  log: (line) => console.log(line),
});
const isPart = flags.area !== undefined || flags.name !== '';
const { text, isEnough } = judge(tried, { share: SHARE, least: isPart ? 1 : LEAST });
console.log(text);
process.exitCode = isEnough ? 0 : 1;
