// SPDX-License-Identifier: Apache-2.0

// Pages of the documentation with runnable programs, the programs, and their expected output.

import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join } from 'node:path';
import { isRunnable } from '../../../scripts/site/blocks/modules.mjs';
import { cli, consumerWith, installed, root } from './consumer.mjs';

/** README and guides. */
export const guides = [
  'README.md',
  ...readdirSync(join(root, 'docs/guide'))
    .sort()
    .map((name) => `docs/guide/${name}`),
];

export const read = (page) => readFileSync(join(root, page), 'utf8');

/**
 * Programs of a page in order: `language`, `code`, and `output`, the text block before the next
 * program, if any.
 */
export function programs(text) {
  const found = [];
  for (const [, language, code] of text.matchAll(/^```(\w+)\n(.*?)^```$/gms)) {
    if (language !== 'text') found.push({ language, code });
    else found.at(-1).output = code;
  }
  return found;
}

/** Programs of a page that the documentation's site can run. */
export function programsOfSite(page) {
  return programs(read(page)).filter(({ language, code }) => language === 'js' && isRunnable(code));
}

/**
 * Makes a folder for programs of pages, with the package, its example tables, TensorFlow.js and an
 * `npx` for the command. The caller removes it.
 */
export function programFolder() {
  const folder = consumerWith('@tensorflow');
  symlinkSync(join(installed, 'examples'), join(folder, 'examples'));
  mkdirSync(join(folder, 'bin'));
  writeFileSync(join(folder, 'bin/npx'), `#!/bin/sh\nshift\nexec '${cli}' "$@"\n`);
  chmodSync(join(folder, 'bin/npx'), 0o755);
  const env = { ...process.env, PATH: `${join(folder, 'bin')}${delimiter}${process.env.PATH}` };
  return { folder, env };
}

/** Calls and commands that draw fresh noise in every run. */
const drawsNoise = {
  js: /\b(release|releaseMany|releaseBatch|end|endMany|learn|minimize|choose|winner|quantile|rounded)\(/,
  sh: /dp-ftrl (active|count|release|moments|histogram|learn|queries|choose|bench) /,
};

/** True if a program or command prints other numbers in every run. */
export function isRandom(language, code) {
  return drawsNoise[language].test(code) && !/insecureSeed|--seed/.test(code);
}

const masked = (text) => text.replace(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, '#');

/**
 * True if a program printed what its page shows; a last line `...` stands for at least one line.
 * With `random`, numbers may differ.
 */
export function showsOutput(shown, printed, random) {
  const lines = shown.trimEnd().split('\n');
  const all = printed.trimEnd().split('\n');
  const goesOn = lines.at(-1) === '...';
  if (goesOn) lines.pop();
  if (goesOn ? all.length <= lines.length : all.length !== lines.length) return false;
  const same = random ? (a, b) => masked(a) === masked(b) : (a, b) => a === b;
  return lines.every((line, i) => same(line.trimEnd(), all[i].trimEnd()));
}
