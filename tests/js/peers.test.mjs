// SPDX-License-Identifier: Apache-2.0

// The page that compares with other libraries, and its picture. Stage `generated` compares the file
// of the picture with what is drawn.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { comparisonsOf, draw } from '../../bench/peers/draw.mjs';
import { page, tablesOf, withPrinted } from '../../bench/peers/page.mjs';

const text = readFileSync(page, 'utf8');
const drawn = draw(text);

/** Rows of a picture: name -> classes and horizontal places of its dots. */
function rowsOf(svg) {
  const names = [...svg.matchAll(/<text x="16" y="[^"]*">([^<]*)<\/text>\n([^]*?)<text/g)];
  return names.map(([, name, marks]) => {
    const dots = [...marks.matchAll(/<circle class="(\w+)" cx="([\d.]+)"/g)];
    return { name, dots: dots.map(([, side, x]) => ({ side, x: Number(x) })) };
  });
}

const one = Number(/class="one" d="M([\d.]+),/.exec(drawn)[1]);

test('picture of peers: every comparison has a row, and a dot for each ratio', () => {
  const wanted = comparisonsOf(text).flatMap(({ rows }) => rows);
  assert.ok(wanted.length >= 20);
  assert.deepEqual(
    rowsOf(drawn).map(({ name, dots }) => [name, dots.length]),
    wanted.map(({ name, ratios }) => [name, ratios.length]),
  );
});

test('picture of peers: what is worse than a peer is left of the line and says so', () => {
  const dots = rowsOf(drawn).flatMap((row) => row.dots.map((dot) => ({ ...row, ...dot })));
  const sides = (side) => dots.filter((dot) => dot.side === side);
  assert.ok(sides('theirs').every(({ x }) => x < one));
  assert.ok(sides('ours').every(({ x }) => x > one));
  assert.ok(sides('equal').every(({ x }) => Math.abs(x - one) <= 0.1));
  const worse = sides('theirs').map(({ name }) => name);
  assert.ok(worse.includes('OpenDP, totals, branching 4'));
  assert.ok(worse.includes('TensorFlow.js, all of ours'));
});

test('picture of peers: another ratio moves its dot to the other side', () => {
  assert.match(text, /\| 1\.92 \|\n/);
  const slower = draw(text.replace('| 1.92 |', '| 0.52 |'));
  const [{ side, x }] = rowsOf(slower).find(({ name }) => name.startsWith('NumPy')).dots;
  assert.equal(side, 'theirs');
  assert.ok(x < one);
});

test('picture of peers: a missing table or number is an error', () => {
  const lost = text.replace('## Rows of noise', '## Rows');
  assert.throws(() => draw(lost), { message: "bench/PEERS.md has no table under 'Rows of noise'" });
  assert.throws(() => draw(text.replace('| 1.92 |', '| nan |')), {
    message: "bench/PEERS.md: there is no number in 'nan'",
  });
});

test('page of peers: printed tables replace those of their headings, and nothing else', () => {
  const table =
    '| other | ns | theirs | ratio |\n| --- | --- | --- | --- |\n| NumPy | 1 | 3 | 3 |\n';
  const printed = `2027-01-02, a machine, load 1 at the start\n\n## Rows of noise\n\n${table}`;
  const part = withPrinted(text, printed);
  assert.deepEqual(tablesOf(part).get('Rows of noise'), [['NumPy', '1', '3', '3']]);
  const others = (markdown) => [...tablesOf(markdown)].filter(([name]) => name !== 'Rows of noise');
  assert.deepEqual(others(part), others(text));
  assert.equal(part.replace(/^\|.*\n/gm, ''), text.replace(/^\|.*\n/gm, ''));

  const all = [...tablesOf(text).keys()].map((title) => `\n## ${title}\n\n${table}`).join('');
  const whole = withPrinted(text, `2027-01-02, a machine, load 1 at the start\n${all}`);
  assert.match(whole, /\n\n2027-01-02, a machine, load 1 at the start\.\n\n## Optimal/);
  assert.doesNotMatch(whole, /EPYC/);
  const unknown = printed.replace('Rows', 'Columns');
  assert.throws(() => withPrinted(text, unknown), {
    message: "bench/PEERS.md has no table under 'Columns of noise'",
  });
});

test('page of peers: compare.py prints tables under the headings of the page', () => {
  const program = readFileSync(new URL('../../bench/peers/compare.py', import.meta.url), 'utf8');
  const titles = Array.from(program.matchAll(/^ {4}return \(?"([^"]+)", (?:SOLVER_HEAD|\[)/gm));
  assert.deepEqual(titles.map(([, title]) => title).sort(), [...tablesOf(text).keys()].sort());
});
