// SPDX-License-Identifier: Apache-2.0

// Every relative link of the documentation leads to an existing file, and every anchor to a
// heading.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { anchors, deadLinks, documented, fault, fileOf } from '../../scripts/check-links.mjs';
import { pages, read, relativeLinks } from '../../scripts/check-links.mjs';

test('links: every relative link leads to a file, and every anchor to a heading', () => {
  const targets = pages.flatMap((page) => relativeLinks(read(page)));
  assert.ok(targets.length > 150, `${targets.length}`);
  assert.ok(targets.some((target) => target.includes('#')));
  assert.deepEqual(deadLinks(), []);
});

test('links: dead ones are found', () => {
  assert.equal(fault('docs/README.md', 'guide/cpp.md#reference'), undefined);
  assert.equal(fault('docs/README.md', 'guide/cpp.md#referenc'), 'no such heading');
  assert.equal(fault('docs/README.md', 'guide/c.md'), 'no such file');
  assert.equal(fault('docs/README.md', '#mathematic'), 'no such heading');
  const text = 'A [b](c.md), an ![image](d.svg), `[code](e.md)`, [out](https://x.org).';
  assert.deepEqual(relativeLinks(`${text}\n\n    [f](g)\n`), ['c.md', 'd.svg']);
  assert.deepEqual([...anchors('# A, `b`: c-d\n## A\n## A\n')], ['a-b-c-d', 'a', 'a-1']);
});

test('links: every page of the documentation is reached from README', () => {
  const reached = new Set();
  const visit = (page) => {
    if (reached.has(page)) return;
    reached.add(page);
    const files = relativeLinks(read(page)).map((target) => fileOf(page, target));
    for (const file of files) if (pages.includes(file)) visit(file);
  };
  visit('README.md');
  assert.deepEqual(
    documented.filter((page) => !reached.has(page)),
    [],
  );
});
