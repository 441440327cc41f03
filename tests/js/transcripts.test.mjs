// SPDX-License-Identifier: Apache-2.0

// The transcripts of the command in tests/transcripts: a section is a test.
//
//   usage: node --test tests/js/transcripts.test.mjs
//          node tests/js/transcripts.test.mjs --update [NAME ...]    writes what is printed now

import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { scratchFolder } from './support/scratch.mjs';
import { matches, parse, runSection, textOf } from './support/transcript.mjs';

const FOLDER = new URL('../transcripts/', import.meta.url);
const [flag, ...names] = process.argv.slice(2);
const updates = flag === '--update';

test('transcripts: a line that differs, is missing or is too many is noticed', () => {
  assert.ok(matches(['a', 'b.c'], ['a', 'b.c']));
  assert.ok(!matches(['a', 'b.c'], ['a', 'bxc']));
  assert.ok(!matches(['a'], ['a', 'b']));
  assert.ok(!matches(['a', 'b'], ['a']));
  assert.ok(!matches([], ['a']));
  assert.ok(!matches(['[2]'], ['[1]']));
  assert.ok(matches(['x,...,1'], ['x,0.25,1']));
  assert.ok(!matches(['x,...,1'], ['x,0.25', 'y,1']));
  assert.ok(matches(['a', '...', 'd'], ['a', 'b', 'c', 'd']));
  assert.ok(!matches(['a', '...', 'd'], ['a', 'b', 'c']));
});

test('transcripts: what is read is written again', () => {
  const text = '$ cat > a <<END\n1\nEND\n\n# One\n$ dp-ftrl x <<END\n2\nEND\nout\n[2]\n$ ls\na\n';
  assert.equal(textOf(parse(text)), text);
  assert.throws(() => parse('out\n'), /no command prints this/);
});

describe('transcripts', { concurrency: 2 }, () => {
  const all = readdirSync(FOLDER).map((file) => file.replace(/\.txt$/, ''));
  for (const name of all.filter((each) => names.length === 0 || names.includes(each))) {
    describe(name, { concurrency: 1 }, () => {
      const url = new URL(`${name}.txt`, FOLDER);
      const cwd = scratchFolder(`transcript-${name}`);
      const { files, sections } = parse(readFileSync(url, 'utf8'));
      for (const section of sections) {
        test(section.title, async () => {
          await runSection({ files, section }, cwd, (command, printed) => {
            if (matches(command.expected, printed)) return;
            if (!updates) assert.deepEqual(printed, command.expected, command.line);
            command.expected = printed;
          });
          if (updates) writeFileSync(url, textOf({ files, sections }));
        });
      }
    });
  }
});
