// SPDX-License-Identifier: Apache-2.0

// Plants the faults of tests/mutation/faults, each of which breaks a guarantee, one at a time in a
// copy of this tree, and fails unless the tests notice all of them. The copy and the results are in
// build/mutation; a run goes on with the faults that have no valid result there.
//
//     node tests/mutation/run.mjs [--area AREA] [--name REGEX] [--check]
//
// AREA is the name of a list. --check only checks that every fault still has its place and its
// tests; it is quick.
//
// A list has objects { name, file, find, replace, tests }. `find` occurs exactly once in `file`,
// however that is formatted. `tests` is a filter of GoogleTest, or "FILE..." or
// "FILE... --test-name-pattern=REGEX", or for the verifier the number of certificates.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { judge, readFaults, Results, tryFaults } from './harness.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

const first = (output, pattern) => pattern.exec(output)?.[1] ?? output.slice(-400);

/**
 * Tests run by GoogleTest. Warnings are not errors here, since they would detect faults in place of
 * the tests.
 */
const core = {
  build: ['scripts/build', 'mutation:dpftrl_tests'],
  test: (filter) => [
    'build/mutation/tests/cpp/dpftrl_tests',
    `--gtest_filter=${filter}`,
    '--gtest_fail_fast',
  ],
  passed: (output) => Number(/\[ {2}PASSED {2}\] (\d+)/.exec(output)?.[1]),
  failed: (output) => first(output, /\[ {2}FAILED {2}\] (\S+)/),
};

const filesOf = (tests) => tests.split(' --')[0].split(' ');

const ofNode = (build) => ({
  build: ['scripts/build', build],
  test: (tests) => {
    const options = tests
      .split(' --')
      .slice(1)
      .map((it) => `--${it}`);
    const fixed = ['--test', '--test-reporter=tap', '--test-timeout=600000'];
    return [process.execPath, ...fixed, ...options, ...filesOf(tests)];
  },
  // Node writes TAP or, from version 23 on, a list.
  passed: (output) => Number(/^[#ℹ] pass (\d+)/m.exec(output)?.[1]),
  failed: (output) => first(output, /^\s*(?:not ok \d+ -|✖) (.*)/m),
});

/** Tests of the program that verifies certificates; `count` is the number of certificates. */
const verifier = {
  build: ['scripts/build', 'code'],
  test: (count) => {
    const certificates = `node tests/certificates/generate.mjs ${count}`;
    return ['bash', '-o', 'pipefail', '-c', `${certificates} | tests/certificates/check.py`];
  },
  passed: (output) => Number(/^(\d+) certificates/m.exec(output)?.[1]),
  failed: (output) => first(output, /^((?:false|not rejected|accepted): .*)/m),
};

const areas = {
  core,
  package: ofNode('code'),
  command: ofNode('code'),
  page: ofNode('page'),
  verifier,
};

/** Files of the tests that a GoogleTest filter names. */
function filesOfFilter(filter) {
  const files = readdirSync(join(root, 'tests/cpp'), { recursive: true })
    .map((name) => `tests/cpp/${name}`)
    .filter((name) => name.endsWith('.cpp'));
  const found = filter.split(':').flatMap((pattern) => {
    const suite = pattern.split('.')[0].replaceAll('*', '\\w*');
    const test = new RegExp(`^(?:TYPED_)?TEST(?:_[FP])?\\(${suite},`, 'm');
    const some = files.filter((name) => test.test(readFileSync(join(root, name), 'utf8')));
    if (some.length === 0) throw new Error(`there is no test of ${pattern}`);
    return some;
  });
  return [...new Set(found)].sort();
}

/** Adds the transcripts to files of tests that include the one that runs them. */
function withTranscripts(files) {
  const folder = 'tests/transcripts';
  const runs = files.includes('tests/js/transcripts.test.mjs');
  const own = runs ? readdirSync(join(root, folder)).map((name) => `${folder}/${name}`) : [];
  return [...files, ...own];
}

function testFiles(area, tests) {
  if (area === 'core') return filesOfFilter(tests);
  if (area === 'verifier')
    return ['tests/certificates/check.py', 'tests/certificates/mutations.py'];
  const files = withTranscripts(filesOf(tests));
  const missing = files.find((file) => !existsSync(join(root, file)));
  if (missing) throw new Error(`there is no ${missing}`);
  const name = /--test-name-pattern=\^?(.*)/.exec(tests)?.[1] ?? '';
  const isNamed = (file) => new RegExp(name).test(readFileSync(join(root, file), 'utf8'));
  if (!files.some(isNamed)) throw new Error(`no test is called ${name}`);
  return files;
}

const { values: flags } = parseArgs({
  options: {
    area: { type: 'string' },
    name: { type: 'string', default: '' },
    check: { type: 'boolean', default: false },
  },
});
const all = readFaults(join(root, 'tests/mutation/faults'), root, testFiles);
const faults = all.filter(
  ({ area, name }) => area === (flags.area ?? area) && new RegExp(flags.name).test(name),
);
if (flags.check) {
  console.log(`${faults.length} faults, each with its place and its tests`);
  process.exit();
}
const work = join(root, 'build/mutation');
const results = new Results(join(work, 'results.json'));
await tryFaults({ source: root, work, faults, results, areas, log: console.log });
const { text, isEnough } = judge(faults, results, root);
console.log(text);
process.exitCode = isEnough ? 0 : 1;
