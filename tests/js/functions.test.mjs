// SPDX-License-Identifier: Apache-2.0

// Functions of the package and the page are short enough to read at a glance.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';
import { root } from './support/consumer.mjs';

const MAX_LINES = 70;

/** Functions whose body has more lines: [place, lines]. */
function longFunctions(name, text) {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const lineOf = (place) => source.getLineAndCharacterOfPosition(place).line;
  const found = [];
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const first = lineOf(node.getStart());
      const lines = lineOf(node.end) - first + 1;
      if (lines > MAX_LINES) found.push([`${name}:${first + 1}`, lines]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test('functions: none has more than 70 lines', () => {
  const names = ['wasm/src', 'web/src'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(folder, name)),
  );
  assert.ok(names.length > 200);
  const all = names.flatMap((name) => longFunctions(name, readFileSync(join(root, name), 'utf8')));
  assert.deepEqual(all, []);
});

test('functions: a long one is found, whatever its kind', () => {
  const lines = (count) => 'f();\n'.repeat(count);
  const text = `const f = () => {\n${lines(MAX_LINES)}};\nfunction g() {\n${lines(68)}}\n`;
  assert.deepEqual(longFunctions('x.ts', text), [['x.ts:1', MAX_LINES + 2]]);
});
