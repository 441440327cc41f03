// SPDX-License-Identifier: Apache-2.0

// The map from the founding documents to this project leads somewhere. Its links are checked with
// those of all other pages, in links.test.mjs.

import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pages, read } from '../../scripts/check-links.mjs';
import { dpFtrl, importEntry, root } from './support/consumer.mjs';

const text = read('docs/sources.md').replace(/\s+/g, ' ');
const spans = Array.from(text.matchAll(/`([^`]+)`/g), ([, span]) => span);

/** Distinct first groups of a pattern in code spans. */
const named = (pattern) => [
  ...new Set(spans.flatMap((span) => Array.from(span.matchAll(pattern), ([, name]) => name))),
];

/** Value of a path of members; undefined if one is missing. */
const member = (object, path) => path.split('.').reduce((value, key) => value?.[key], object);

test('sources: the links are checked with those of the other pages', () => {
  assert.ok(pages.includes('docs/sources.md'));
});

test('sources: every command runs, and every command that is only named exists', async () => {
  const commands = named(/^(dp-ftrl \w+.*)$/g);
  const whole = commands.filter((command) => command.includes(' --'));
  assert.ok(whole.length > 10, `${whole.length}`);
  for (const command of whole) {
    const { code, stdout, stderr } = await dpFtrl(command.split(' ').slice(1));
    assert.equal(code, 0, `${command}\n${stderr}`);
    assert.notEqual(stdout, '', command);
  }
  const { stdout: help } = await dpFtrl(['--help']);
  for (const command of commands) {
    assert.match(help, new RegExp(`^ {2}${command.split(' ', 2).join(' ')} `, 'm'));
  }
});

test('sources: every function of the package exists', async () => {
  const { load } = await importEntry('dp-ftrl');
  const dp = await load();
  const functions = named(/\bdp\.([a-z][\w.]*)/gi);
  assert.ok(functions.length > 15, `${functions.length}`);
  const missing = functions.filter((path) => typeof member(dp, path) !== 'function');
  assert.deepEqual(missing, []);
  const reported = named(/^dp\.error\(\{ (\w+): true \}\)$/g);
  assert.ok(reported.length > 1, `${reported.length}`);
  for (const name of reported) {
    assert.ok(dp.error({ strategy: 'tree', steps: 4, [name]: true })[name], name);
  }
  assert.equal(member(dp, 'queries.linea'), undefined);
  assert.equal(member(dp, 'query.linear'), undefined);
});

test('sources: every scene and every figure is on the page', () => {
  const story = read('web/src/story/story.ts');
  const ids = Array.from(story.matchAll(/^ {4}id: '(\w+)',$/gm), ([, id]) => id);
  const scenes = named(/#scene=(\w+)/g);
  assert.ok(scenes.length > 5, `${scenes.length}`);
  assert.deepEqual(
    scenes.filter((scene) => !ids.includes(scene)),
    [],
  );
  const figures = new Set(Array.from(text.matchAll(/\bFigure (\d)/g), ([, number]) => number));
  assert.ok(figures.size > 3, `${figures.size}`);
  const page = read('web/index.html');
  for (const number of figures) {
    assert.ok(page.includes(`>Figure ${number}</span>`), number);
  }
  const labels = Array.from(text.matchAll(/"([^"]+)" at Figure \d/g), ([, label]) => label);
  assert.ok(labels.length > 1, `${labels.length}`);
  for (const label of labels) assert.match(page, new RegExp(`>\\s*${label}<`));
});

test('sources: every experiment and every folder that is named exists', () => {
  const experiments = named(/^npm run experiment ([\w-]+)$/g);
  assert.ok(experiments.length > 4, `${experiments.length}`);
  const all = readdirSync(join(root, 'bench/experiments'));
  assert.deepEqual(
    experiments.filter((name) => !all.includes(`${name}.ts`)),
    [],
  );
  const paths = named(/^((?:bench|examples)\/[\w./]+)$/g);
  assert.ok(paths.length > 1, `${paths.length}`);
  for (const path of paths) assert.ok(existsSync(join(root, path)), path);
});
