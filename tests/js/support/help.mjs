// SPDX-License-Identifier: Apache-2.0

// The commands and their options, as the command itself lists them.

import assert from 'node:assert/strict';
import { dpFtrl } from './consumer.mjs';

/** Names of all commands, in the order of the main help. */
export async function commandNames() {
  const { stdout } = await dpFtrl(['--help']);
  return [...stdout.matchAll(/^ {2}dp-ftrl ([a-z]+) +(?![A-Z-])/gm)].map(([, name]) => name);
}

/** Options of a help text: names without dashes, and the placeholder of the value, if any. */
export function optionsIn(help) {
  const found = help.matchAll(/^ {2}--([a-z][a-z0-9-]*)(?: (\S+))?(?: {2}|$)/gm);
  return [...found].map(([, name, value]) => ({ name, value }));
}

/** Options of a command, as `--help all` lists them. */
export async function optionsOf(command) {
  return optionsIn((await dpFtrl([command, '--help', 'all'])).stdout);
}

/** Names of the commands that have an option. */
export async function commandsWith(option) {
  const all = [];
  for (const name of await commandNames())
    if ((await optionsOf(name)).some((own) => own.name === option)) all.push(name);
  return all;
}

/** Asserts that a test tries every command that has an option, except those of other tests. */
export async function requireCommandsWith(option, tried, others = []) {
  const all = await commandsWith(option);
  const missing = all.filter((name) => ![...tried, ...others].includes(name));
  assert.deepEqual(missing, [], `every command with --${option} needs a case in this test`);
}
